/* The energy ledger: where the energy of a step came from, and whether there is more of it than that.
 *
 * A state has the energy
 *   E = T + U + G + S:  kinetic, elastic (soft_element.c), of weight, and of springs: those between flesh and bones, of
 *   joints and their limits, of couplings of bones and handles to their targets, and between handles and tools.
 * A step of implicit Euler minimizes, over the velocities v, the potential P of all that pulls with the targets of its end:
 *   1/2 |v - v0|^2_M + P(x0 + h v)   =>   T1 + P1 <= T0 + P0 - 1/2 |v - v0|^2_M - dampers.
 * So E grows by no more than what drivers put in. With dx = h v, f the forces at the end of the step, and P taken at x0:
 *   supports   f . dx of held nodes, and of the springs of supports
 *   applied    f . dx of loads and applied forces and wrenches
 *   driven     f . dx of the touched points of driven rigid bodies
 *   targets    P(x0; new target) - P(x0; old target) of joints and couplings; and h d (u - v) u of their dampers d, with
 *              the velocity u of the target, of which h d (u - v)^2 is lost and the rest moves the body
 *   contacts   f . du, with the relative displacement du of the point. Friction and impacts take energy. Contacts put in at
 *              most f_n times the depth at which they began; spring contacts what was in their springs, k/2 |u|^2.
 * What E gained beyond that,
 *   gain = E1 - E0 - supports - applied - driven - targets - min(contacts, what they may put in),
 * is what was dissipated if it is negative. If it is positive, it came from nowhere. There are four known reasons for small
 * gains, for which a step may gain
 *   FLOOR + SHARE (T0 + U0 + S0 + W) + min(turning, T0 + U0 + S0 + W),   W = sum of the magnitudes of all work:
 * - Turning. A step takes the rotations of tets as they were at its start: it minimizes Q(x), with Q = U at x0, instead of
 *   U(x) (soft_element.c). U - Q at its end is what a body gains by turning: x + h v goes along the tangent, so a tet that
 *   turns by a is stretched by a^2 / 2 across its axis. Implicit Euler takes it back within some steps.
 * - Strain limits and contacts hold to a tolerance, and push back what is beyond it.
 * - The split step of hands gives the bones an estimate of the flesh (hand/step.c) with an inertia of its own, that takes
 *   energy while a hand in contact accelerates and returns it later.
 * - Aggregated contacts displace bodies that overlap, without a force.
 * A step that gains more counts as a warning and is repeated in smaller substeps (step.c). The decision
 * depends on the state at the start of the step alone, so that a simulation continues bit for bit from a snapshot.
 *
 * The floor is for the third reason: a hand that catches letters gains up to 0.03 J in a step. A hand that blows up gains
 * 0.15, 0.26, 0.6 and 2 times T0 + U0 + S0 + W in successive steps (docs/reliability.md). */
#include "world/sim.h"

#include <string.h>

#define SHARE 0.25
#define FLOOR_SPEED 0.3 /* m/s: FLOOR is the kinetic energy of all that moves, at this speed */

static bool is_dynamic(const body_model *body) {
    return body->kind == &rigid_class && ((const rigid_model *)body)->motion == THENAR_MOTION_DYNAMIC;
}

void ledger_layout(energy_ledger *ledger, const thenar_model *model, arena *work) {
    ledger->hands = ARENA_ARRAY(work, ledger_hand, model->hand_count);
    ledger->handles = ARENA_ARRAY(work, skeleton_pose, model->handle_count);
    double mass = 0;
    for (int i = 0; i < model->body_count; i++)
        if (model->bodies[i]->kind == &soft_class || is_dynamic(model->bodies[i])) mass += model->bodies[i]->mass;
    for (int i = 0; i < model->hand_count; i++)
        for (int b = 0; b < HAND_BONES; b++) mass += model->hands[i]->skeleton.model->bones[b].mass;
    ledger->floor = 0.5 * mass * FLOOR_SPEED * FLOOR_SPEED;
}

/* ---- What is there ---- */

/* turning: adds U - Q; NULL: unknown, as before the first step. */
static void add_soft(const soft_state *state, vec3 gravity, thenar_energy *energy, double *turning) {
    const soft_model *body = soft_of(state);
    double kinetic = 0, raised = 0, elastic = 0, frozen = 0;
    for (int i = 0; i < body->mesh.node_count; i++) {
        vec3 v = vec3_load(state->v + 3 * i);
        kinetic += body->mass[i] * vec3_dot(v, v);
        raised -= body->mass[i] * vec3_dot(gravity, vec3_load(state->x + 3 * i));
    }
    for (int k = 0; k < body->batch_count; k++)
        elastic += soft_element_energy(&body->batches[k], state->x, state->rotation + 9 * k, turning ? &frozen : NULL);
    energy->kinetic += 0.5 * kinetic;
    energy->elastic += elastic;
    if (!body->weightless) energy->gravity += raised;
    if (turning) *turning += elastic - frozen;
}

static vec3 hold_point(const hand_attachment *flesh, int node, const skeleton_pose *pose, const mat3 *turn) {
    vec3 sum = {0};
    for (int k = flesh->hold_start[node]; k < flesh->hold_start[node + 1]; k++) {
        const hand_hold *hold = &flesh->holds[k];
        vec3 place = vec3_add(pose[hold->bone].position, mat3_mul_vec(turn[hold->bone], hold->local));
        sum = vec3_mul_add(sum, place, hold->weight);
    }
    return sum;
}

/* The springs between bones and flesh. */
static double hold_springs(const thenar_sim *sim, const hand_state *hand) {
    mat3 turn[HAND_BONES];
    double sum = 0;
    for (int b = 0; b < HAND_BONES; b++) turn[b] = quat_to_mat3(hand->skeleton.pose[b].orientation);
    for (int k = 0; k < hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &hand->model->flesh[k];
        const soft_state *soft = (const soft_state *)sim->bodies[flesh->body];
        const double *stiffness = soft_of(soft)->stiffness;
        for (int i = 0; i < flesh->node_count; i++) {
            if (!(stiffness[i] > 0)) continue;
            vec3 way = vec3_sub(hold_point(flesh, i, hand->skeleton.pose, turn), vec3_load(soft->x + 3 * i));
            sum += 0.5 * stiffness[i] * vec3_dot(way, way);
        }
    }
    return sum;
}

static skeleton_pose pose_of(const double pose[7]) {
    return (skeleton_pose){vec3_load(pose), rigid_orientation(pose + 3)};
}

/* The virtual coupling of a handle at a pose. */
static void handle_coupling(const handle_state *state, skeleton_pose pose, coupling_spring *linear,
                            coupling_spring *angular) {
    const skeleton_coupling *c = &handle_of(state)->coupling;
    skeleton_pose wanted = pose_of(state->kept->wanted);
    quat turn = quat_mul(wanted.orientation, quat_conjugate(pose.orientation));
    *linear = coupling_soften(vec3_sub(wanted.position, pose.position), c->stiffness, c->damping, c->max_force);
    *angular = coupling_soften(quat_to_rotation_vector(turn), c->turn_stiffness, c->turn_damping, c->max_torque);
}

static double handle_potential(const handle_state *state, skeleton_pose pose) {
    const skeleton_coupling *c = &handle_of(state)->coupling;
    coupling_spring linear, angular;
    handle_coupling(state, pose, &linear, &angular);
    return skeleton_spring_potential(vec3_length(linear.way), c->stiffness, c->max_force) +
           skeleton_spring_potential(vec3_length(angular.way), c->turn_stiffness, c->max_torque);
}

/* The springs between a handle and its tool. */
static double link_springs(const thenar_sim *sim, const handle_state *state) {
    const handle_model *handle = handle_of(state);
    skeleton_pose pose = pose_of(state->rigid.kept->pose);
    double sum = 0;
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        const soft_state *tool = (const soft_state *)sim->bodies[link->body];
        vec3 point = vec3_add(pose.position, quat_rotate(pose.orientation, link->local));
        vec3 way = vec3_sub(point, vec3_load(tool->x + 3 * link->node));
        sum += 0.5 * soft_of(tool)->stiffness[link->node] * vec3_dot(way, way);
    }
    return sum;
}

/* Springs of joints and couplings at the given poses of hands and handles, with the current targets. */
static double target_springs(const thenar_sim *sim, bool before) {
    double sum = 0;
    for (int i = 0; i < sim->model->hand_count; i++) {
        skeleton_state bones = sim->hands[i].skeleton;
        if (before) bones.pose = sim->ledger.hands[i].pose, bones.q = sim->ledger.hands[i].q;
        sum += skeleton_springs(&bones);
    }
    for (int i = 0; i < sim->model->handle_count; i++) {
        const handle_state *handle = sim_handle(sim, i);
        if (handle_is_bone(handle_of(handle))) continue;
        sum += handle_potential(handle, before ? sim->ledger.handles[i] : pose_of(handle->rigid.kept->pose));
    }
    return sum;
}

/* Sets the four energies. */
static void measure(thenar_sim *sim, thenar_energy *energy, double *turning) {
    const thenar_model *model = sim->model;
    energy->kinetic = energy->elastic = energy->gravity = 0;
    energy->springs = target_springs(sim, false);
    for (int i = 0; i < model->body_count; i++) {
        if (model->bodies[i]->kind == &soft_class)
            add_soft((const soft_state *)sim->bodies[i], model->gravity, energy, turning);
        if (!is_dynamic(model->bodies[i])) continue;
        double kinetic, raised;
        rigid_class.energy(sim->bodies[i], model->gravity, &kinetic, NULL, &raised);
        energy->kinetic += kinetic;
        energy->gravity += raised;
    }
    for (int i = 0; i < model->hand_count; i++) {
        const hand_state *hand = &sim->hands[i];
        energy->kinetic += skeleton_kinetic(&hand->skeleton);
        if (hand->model->weight) energy->gravity += skeleton_weight(&hand->skeleton, model->gravity);
        energy->springs += hold_springs(sim, hand);
    }
    for (int i = 0; i < model->handle_count; i++) {
        double kinetic;
        const handle_state *handle = sim_handle(sim, i);
        if (handle_is_bone(handle_of(handle))) continue;
        rigid_class.energy(&handle->rigid.base, model->gravity, &kinetic, NULL, NULL);
        energy->kinetic += kinetic;
        energy->springs += link_springs(sim, handle);
    }
}

/* ---- What came and went ---- */

static bool is_flesh(const thenar_sim *sim, int body) {
    for (int i = 0; i < sim->model->hand_count; i++) {
        const hand_model *hand = sim->model->hands[i];
        for (int k = 0; k < hand->flesh_count; k++)
            if (hand->flesh[k].body == body) return true;
    }
    return false;
}

static void add_soft_work(const thenar_sim *sim, int body, double h, thenar_energy *energy) {
    const soft_state *state = (const soft_state *)sim->bodies[body];
    const soft_model *model = soft_of(state);
    double applied = 0, supports = 0;
    bool springs_are_inner = is_flesh(sim, body);
    for (int i = 0; i < model->mesh.node_count; i++) {
        vec3 v = vec3_load(state->v + 3 * i), force = vec3_load(state->force + 3 * i);
        vec3 outside = vec3_add(vec3_load(state->applied + 3 * i), vec3_load(model->load + 3 * i));
        applied += vec3_dot(outside, v);
        if (model->system_node[i] < 0)
            supports += vec3_dot(force, v);
        else if (model->stiffness[i] > 0 && !springs_are_inner)
            supports += vec3_dot(vec3_sub(force, outside), v);
    }
    energy->applied += h * applied;
    energy->supports += h * supports;
}

static void add_hand_work(const thenar_sim *sim, int i, double h, thenar_energy *energy) {
    const ledger_hand *before = &sim->ledger.hands[i];
    const skeleton_state *bones = &sim->hands[i].skeleton;
    skeleton_state start = *bones;
    start.pose = (skeleton_pose *)before->pose, start.q = (double *)before->q;
    energy->targets +=
        skeleton_damper_work(&start, bones, before->target, hand_joint_reserve(sim->hands[i].model, h) / h, h);
    for (int b = 0; b < HAND_BONES; b++)
        energy->applied += h * (vec3_dot(bones->wrench[b].force, bones->motion[b].velocity) +
                                vec3_dot(bones->wrench[b].torque, bones->motion[b].spin));
}

static void add_handle_work(const thenar_sim *sim, int i, double h, thenar_energy *energy) {
    const handle_state *state = sim_handle(sim, i);
    const handle_model *handle = handle_of(state);
    if (handle_is_bone(handle)) return;
    const double *motion = state->kept->motion, *wanted = state->kept->wanted_motion;
    coupling_spring linear, angular;
    handle_coupling(state, sim->ledger.handles[i], &linear, &angular);
    energy->targets += coupling_damper_work(linear, vec3_scale(vec3_load(motion), h), vec3_load(wanted), h) +
                       coupling_damper_work(angular, vec3_scale(vec3_load(motion + 3), h), vec3_load(wanted + 3), h);
    const double *force = state->rigid.kept->force, *torque = state->rigid.kept->torque;
    energy->applied +=
        h * (vec3_dot(vec3_load(force), vec3_load(motion)) + vec3_dot(vec3_load(torque), vec3_load(motion + 3)));
    /* The springs of its links are no support. */
    for (int k = 0; k < handle->link_count; k++) {
        const handle_link *link = &handle->links[k];
        const soft_state *tool = (const soft_state *)sim->bodies[link->body];
        int n = 3 * link->node;
        vec3 outside = vec3_add(vec3_load(tool->applied + n), vec3_load(soft_of(tool)->load + n));
        energy->supports -= h * vec3_dot(vec3_sub(vec3_load(tool->force + n), outside), vec3_load(tool->v + n));
    }
}

static void add_rigid_work(const thenar_sim *sim, double h, thenar_energy *energy) {
    for (int s = 0; s < sim->model->system_count; s++) {
        const system_model *system = &sim->model->systems[s];
        for (int k = 0; k < system->body_count; k++) {
            int body = system->bodies[k];
            if (!is_dynamic(sim->model->bodies[body])) continue;
            const rigid_kept *kept = ((const rigid_state *)sim->bodies[body])->kept;
            const double *v = sim->systems[s].v + 3 * system->first_node[k];
            energy->applied += h * (vec3_dot(vec3_load(kept->force), vec3_load(v + 3 * RIGID_LINEAR)) +
                                    vec3_dot(vec3_load(kept->torque), vec3_load(v + 3 * RIGID_ANGULAR)));
        }
    }
}

/* Displacement of a contact by the held nodes of a soft body. */
static vec3 held_motion(const body_state *body, const int node[4], const double weights[4], double h) {
    vec3 sum = {0};
    if (body->model->kind != &soft_class) return sum;
    const soft_state *state = (const soft_state *)body;
    for (int k = 0; k < 4; k++)
        if (weights[k] != 0 && soft_of(state)->system_node[node[k]] < 0)
            sum = vec3_mul_add(sum, vec3_load(state->target_velocity + 3 * node[k]), h * weights[k]);
    return sum;
}

/* Adds the work of contacts; returns how much of it may be positive. */
static double add_contact_work(const thenar_sim *sim, double h, thenar_energy *energy) {
    const contact_state *contacts = &sim->contacts;
    double recovery = 0;
    if (sim->model->contacts.pair_count == 0) return 0;
    for (int s = 0; s < sim->model->system_count; s++)
        for (int i = contacts->system_start[s]; i < contacts->system_start[s + 1]; i++) {
            const contact *c = &contacts->contacts[i];
            if (!(c->lambda.x > 0)) continue;
            const contact_point *point = &contacts->points[c->point];
            const int *pair = sim->model->contacts.pairs[point->pair].body;
            vec3 force = mat3_mul_vec_transposed(c->frame, c->lambda);
            vec3 moved = vec3_mul_add(c->known, contact_motion(c, sim->systems[s].v), h);
            vec3 held = vec3_sub(held_motion(sim->bodies[pair[0]], point->node, point->weights, h),
                                 held_motion(sim->bodies[pair[1]], point->other_node, point->other_weights, h));
            double work = vec3_dot(c->lambda, moved), share = c->lambda.x * fmax(0, -point->gap);
            if (sim->contact == CONTACT_PENALTY) {
                vec3 u = vec3_sub(c->start, c->known);
                share = 0.5 * contacts->terms[i].k * vec3_dot(u, u);
            }
            /* A driven body that jumps or turns far in a step does not push where the contact was found. */
            double driven = vec3_dot(force, held) - vec3_dot(c->lambda, c->known), beyond = fmax(0, work - share);
            if (driven == 0) beyond = 0;
            energy->driven += driven + beyond;
            energy->contacts += work - beyond;
            recovery += share;
        }
    return recovery;
}

/* ---- The step ---- */

static double stored(const thenar_energy *e) {
    return e->kinetic + e->elastic + e->springs;
}

static void copy_energies(thenar_energy *to, const thenar_energy *from) {
    to->kinetic = from->kinetic;
    to->elastic = from->elastic;
    to->gravity = from->gravity;
    to->springs = from->springs;
}

/* Adds work, dissipation and excess. */
static void add_balance(thenar_energy *sum, const thenar_energy *e) {
    sum->supports += e->supports;
    sum->driven += e->driven;
    sum->targets += e->targets;
    sum->applied += e->applied;
    sum->contacts += e->contacts;
    sum->turning += fmax(0, e->turning);
    sum->dissipated += e->dissipated;
    sum->excess += e->excess;
}

void ledger_start(thenar_sim *sim) {
    energy_ledger *l = &sim->ledger;
    if (!l->is_current) measure(sim, &l->sum, NULL);
    l->is_current = true;
    l->step = (thenar_energy){0};
    copy_energies(&l->step, &l->sum);
    l->gain = 0;
    l->scale = stored(&l->step);
}

void ledger_before(thenar_sim *sim) {
    energy_ledger *l = &sim->ledger;
    for (int i = 0; i < sim->model->hand_count; i++) {
        const skeleton_state *bones = &sim->hands[i].skeleton;
        memcpy(l->hands[i].pose, bones->pose, sizeof l->hands[i].pose);
        memcpy(l->hands[i].q, bones->q, sizeof l->hands[i].q);
        memcpy(l->hands[i].target, bones->target, sizeof l->hands[i].target);
    }
    for (int i = 0; i < sim->model->handle_count; i++) l->handles[i] = pose_of(sim_handle(sim, i)->rigid.kept->pose);
    l->target_springs = target_springs(sim, false);
}

void ledger_after(thenar_sim *sim, const body_step *step) {
    energy_ledger *l = &sim->ledger;
    thenar_energy e = {0};
    double h = step->h;
    measure(sim, &e, &e.turning);
    e.targets = target_springs(sim, true) - l->target_springs;
    /* Before the first step there are no targets yet. */
    if (sim->clock->step_count == 0) l->step.springs += e.targets, e.targets = 0;
    for (int i = 0; i < sim->model->body_count; i++)
        if (sim->model->bodies[i]->kind == &soft_class) add_soft_work(sim, i, h, &e);
    for (int i = 0; i < sim->model->hand_count; i++) add_hand_work(sim, i, h, &e);
    for (int i = 0; i < sim->model->handle_count; i++) add_handle_work(sim, i, h, &e);
    add_rigid_work(sim, h, &e);
    double recovery = add_contact_work(sim, h, &e), fallen = l->step.gravity - e.gravity;
    e.contacts = fmin(e.contacts, recovery);
    double work = e.supports + e.driven + e.targets + e.applied + e.contacts;
    l->gain += stored(&e) - stored(&l->step) - fallen - work;
    l->scale += fabs(e.supports) + fabs(e.driven) + fabs(e.targets) + fabs(e.applied) + fabs(e.contacts) + fabs(fallen);
    add_balance(&l->step, &e);
    copy_energies(&l->step, &e);
}

bool ledger_gains(const thenar_sim *sim) {
    const energy_ledger *l = &sim->ledger;
    return l->gain > l->floor + SHARE * l->scale + fmin(l->step.turning, l->scale);
}

void ledger_take(thenar_sim *sim) {
    energy_ledger *l = &sim->ledger;
    l->step.dissipated = fmax(0, -l->gain);
    l->step.excess = fmax(0, l->gain);
    /* Products of numbers near the bounds of the world may overflow. */
    double *values = &l->step.kinetic;
    for (size_t i = 0; i < sizeof l->step / sizeof *values; i++)
        if (!isfinite(values[i])) values[i] = 0;
    sim->stats.energy = l->step;
    copy_energies(&l->sum, &l->step);
    add_balance(&l->sum, &l->step);
}
