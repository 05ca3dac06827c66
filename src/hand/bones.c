/* The bones of a hand as unknowns of the system that its flesh is in.
 *
 * Unknowns: the velocity of the wrist (the origin O of the palm's frame), the angular velocity of the palm, and the rates
 * of the 20 joint angles, in 12 blocks of three: two for the palm, two for each finger, whose second block has one angle
 * and two numbers that nothing moves. With the twist of bone b, V_b = V_palm + sum_j S_j rate_j over the joints j between
 * the palm and b, and the terms A_b, b_b of each bone and a_j, c_j of each joint (skeleton.c), the bones contribute
 *
 *   1/2 sum_b V_b^T A_b V_b - b_b^T V_b + 1/2 sum_j a_j rate_j^2 - c_j rate_j
 *
 * to the step: the composite-rigid-body algorithm, with couplings to a tracker as part of A_b and b_b.
 *
 * A node of the flesh inside a bone moves with it, x_i = sum_b w_ib (R_b X_ib + p_b). It is a dependent node
 * (sparse/reduction.h) of these unknowns with
 *   J_i = [1, -[x_i - O]x, sum_b w_ib s_j x (x_ib - o_j) for each joint j].
 * The coarse hand has no nodes inside its bones. There, a spring k_i, d_i of zero length attaches each node to the point
 * t_i(q) to which its bones would carry it; with kappa = h^2 k + h d it adds 1/2 kappa |v_i - J_i v_q|^2 - h k (t_i - x_i)
 * . (v_i - J_i v_q). Either way bones and flesh are one linear system, with contacts and strain limits in the same solve,
 * and there is no estimate of one for the other.
 *
 * At the end of the step bones move along their exact path and dependent nodes with them. A free node keeps what the
 * solve gave it relative to its bones: it is moved by the difference between exact and linear motion of the bones that
 * it follows, so that a hand that turns does not swell.
 *
 * Joint limits are terms of the augmented Lagrangian like strain limits: with the angle q and a scaled multiplier y,
 *   (w / 2) k delta^2,   delta = q + y - clamp(q + y),   w = h^2 rho.
 *
 * Muscles carry the flesh. A joint spring alone would stop where its torque k (q* - q) balances the flesh that the joint
 * bends, short of the asked angle q*; nobody feels such a resistance. So its target is q* + a, where k a follows the
 * torque of the flesh with the time constant T. The balance of a joint (virtual work of a motion in which the flesh
 * follows its bones) has the torques of the spring, of its damper, of couplings and contacts, of the flesh, and of inertia:
 *   k (q* + a - q) + d (q*' - q') + t_coupling + t_contact = t_flesh + t_inertia,   so
 *   T a' = (t_flesh + t_inertia) / k - a = q* - q + (d (q*' - q') + t_coupling + t_contact) / k.
 * Without contact and coupling a joint at rest has reached q*. With them, their torque at rest is k (q* - q): a grip has the
 * force of the joint springs, whatever the flesh. (An integral of q* - q that stops while a finger touches would keep what
 * it had at the touch, and the fingers of a fist touch each other all the time.) Inertia sums up to nothing between two
 * rests, so that a does not wind up in fast motions. k a is at most TORQUE_SHARE E r^3 for a first joint, r from the wrist
 * to the middle knuckle: flesh whose strain limits forbid the angle is not crushed. */
#include "hand/hand.h"

#include "core/hash.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_UNIT 500.0   /* rho at which the penalty of a joint limit is its limit_stiffness (NEWTON_RHO) */
#define MUSCLE_TIME 0.1    /* s: T */
#define MIDDLE_KNUCKLE 7   /* bone */
#define LARGEST_SHIFT 3.0  /* rad: 9 N m with the default stiffness, about what the flexors of a finger can bear */
#define TORQUE_SHARE 0.018 /* with 0.025, a fist of 10 kPa against strain limits of 0.9 and 1.1 does not come to rest */
#define FASTEST 1e9        /* m/s, rad/s: beyond this a step failed */
/* rad: a bone that turns farther relative to the bone before it, as after a jump of the tracker, is moved in smaller
 * steps: flesh moves linearly within a step, and would be crushed at the joint. */
#define FARTHEST_TURN 0.25

/* The unknown of a joint angle: block node and component. */
static int angle_node(int angle) {
    return BONES_PALM_NODES + 2 * (angle / HAND_FINGER_ANGLES) + angle % HAND_FINGER_ANGLES / 3;
}
static int angle_unknown(int angle) {
    return 3 * angle_node(angle) + angle % HAND_FINGER_ANGLES % 3;
}

static const skeleton_axis *axis_of(const skeleton_model *model, int angle) {
    int bone = 0;
    while (model->first_dof[bone + 1] <= angle) bone++;
    return &model->bones[bone].axes[angle - model->first_dof[bone]];
}

static const bones_model *bones_of(const bones_state *state) {
    return (const bones_model *)state->base.model;
}

/* ---- Model ---- */

static int finger_of(int bone) {
    return bone == 0 ? -1 : (bone - 1) / 3;
}

void bones_carriers(const hand_attachment *flesh, int node, int out[REDUCTION_CARRIERS]) {
    int count = BONES_PALM_NODES;
    out[0] = BONES_LINEAR, out[1] = BONES_ANGULAR;
    for (int finger = 0; finger < HAND_FINGERS && count + 2 <= REDUCTION_CARRIERS; finger++) {
        bool follows = false;
        for (int k = flesh->hold_start[node]; k < flesh->hold_start[node + 1]; k++)
            follows = follows || finger_of(flesh->holds[k].bone) == finger;
        if (!follows) continue;
        out[count++] = BONES_PALM_NODES + 2 * finger;
        out[count++] = BONES_PALM_NODES + 2 * finger + 1;
    }
    while (count < REDUCTION_CARRIERS) out[count++] = -1;
}

thenar_status bones_model_create(const hand_model *hand, int number, bones_model **out, thenar_error *error) {
    bones_model *bones = MEMORY_ARRAY(bones_model, 1);
    char *name = memory_string(hand->name);
    if (!bones || !name) {
        free(bones);
        free(name);
        return error_memory(error, hand->name);
    }
    bones->base = (body_model){
        .kind = &bones_class, .name = name, .system_node_count = BONES_NODES, .limited = true, .family = number + 1};
    for (int b = 0; b < HAND_BONES; b++) bones->base.mass += hand->skeleton.model->bones[b].mass;
    bones->hand = number;
    bones->skeleton = hand->skeleton.model;
    *out = bones;
    return THENAR_OK;
}

thenar_status bones_add_springs(bones_model *bones, int flesh, const hand_attachment *attachment,
                                const soft_model *soft, thenar_error *error) {
    bones_springs *springs = &bones->springs[flesh];
    springs->spring = MEMORY_ARRAY(bones_spring, attachment->node_count);
    if (!springs->spring) return error_memory(error, bones->base.name);
    for (int i = 0; i < attachment->node_count; i++) {
        if (!(soft->stiffness[i] > 0)) continue;
        bones_spring *spring = &springs->spring[springs->count++];
        spring->node = i;
        bones_carriers(attachment, i, spring->carrier);
    }
    return THENAR_OK;
}

static void bones_free(body_model *base) {
    for (int k = 0; k < HAND_BONES; k++) free(((bones_model *)base)->springs[k].spring);
    free(base->name);
    free(base);
}

static uint64_t bones_hash(const body_model *base) {
    const bones_model *bones = (const bones_model *)base;
    return hash_bytes(hash_bytes(0, base->name, strlen(base->name)), &bones->hand, sizeof bones->hand);
}

/* The palm with each finger. */
static bool bones_couple(const body_model *base, int first_node, body_couplings *couplings) {
    (void)base;
    bool enough = true;
    for (int f = 0; f < HAND_FINGERS && enough; f++) {
        enough = ARRAY_PUSH(&couplings->start, (int)couplings->node.count);
        const int nodes[] = {BONES_LINEAR, BONES_ANGULAR, BONES_PALM_NODES + 2 * f, BONES_PALM_NODES + 2 * f + 1};
        for (int k = 0; k < 4 && enough; k++) enough = ARRAY_PUSH(&couplings->node, first_node + nodes[k]);
    }
    return enough;
}

static thenar_status bones_bind(body_model *base, const block_pattern *pattern, int first_node, thenar_error *error) {
    (void)error;
    bones_model *bones = (bones_model *)base;
    for (int row = 0; row < BONES_NODES; row++)
        for (int column = 0; column <= row; column++)
            bones->blocks[row][column] = block_pattern_find(pattern, first_node + row, first_node + column);
    return THENAR_OK;
}

/* ---- State ---- */

static void bones_layout(body_state *base, arena *kept, arena *work) {
    bones_state *state = (bones_state *)base;
    (void)work;
    state->kept = ARENA_ARRAY(kept, bones_kept, 1);
}

void bones_open(bones_state *state, hand_state *hand, body_state *const *bodies, const reduction *dependent,
                const int *first_node) {
    state->hand = hand;
    state->bodies = bodies;
    state->dependent = dependent;
    state->first_node = first_node;
    hand->bones = state;
}

static void bones_reset(body_state *base) {
    *((bones_state *)base)->kept = (bones_kept){0};
}

static bool bones_is_finite(const body_state *base) {
    const bones_kept *kept = ((const bones_state *)base)->kept;
    return body_within((const double *)kept, sizeof *kept / sizeof(double), DBL_MAX);
}

static void bones_rest(body_state *base) {
    *((bones_state *)base)->kept = (bones_kept){0};
}

static void bones_velocity(const body_state *base, double *v) {
    memcpy(v, ((const bones_state *)base)->kept->v, sizeof(double[BONES_UNKNOWNS]));
}

static void bones_change(const body_state *base, double *v) {
    memcpy(v, ((const bones_state *)base)->kept->change, sizeof(double[BONES_UNKNOWNS]));
}

/* ---- Flesh that moves with bones ---- */

/* J_i of the point to which its bones carry a node. carrier: of the node. */
static void point_jacobian(const skeleton_state *bones, const hand_attachment *flesh, int node, const int *carrier,
                           mat3 J[REDUCTION_CARRIERS]) {
    vec3 arm = {0}, column[HAND_ANGLES] = {{0}};
    for (int m = flesh->hold_start[node]; m < flesh->hold_start[node + 1]; m++) {
        const hand_hold *hold = &flesh->holds[m];
        const skeleton_pose *pose = &bones->pose[hold->bone];
        vec3 r = vec3_sub(vec3_add(pose->position, quat_rotate(pose->orientation, hold->local)), bones->origin);
        arm = vec3_mul_add(arm, r, hold->weight);
        if (hold->bone == 0) continue;
        for (int a = HAND_FINGER_ANGLES * finger_of(hold->bone); a < bones->model->first_dof[hold->bone + 1]; a++)
            column[a] = vec3_mul_add(column[a], spatial_motion_point(bones->axis[a], r), hold->weight);
    }
    J[0] = mat3_identity();
    J[1] = mat3_scale(mat3_skew(arm), -1);
    for (int c = BONES_PALM_NODES; c < REDUCTION_CARRIERS && carrier[c] >= 0; c += 2) {
        const vec3 *own = column + HAND_FINGER_ANGLES * ((carrier[c] - BONES_PALM_NODES) / 2);
        J[c] = mat3_columns(own[0], own[1], own[2]);
        J[c + 1] = mat3_columns(own[3], (vec3){0}, (vec3){0});
    }
}

/* ---- Springs between flesh and bones ---- */

bool bones_couple_springs(const bones_model *bones, const soft_model *soft, int flesh, int first_node, int soft_first,
                          body_couplings *couplings) {
    const bones_springs *springs = &bones->springs[flesh];
    bool enough = true;
    for (int s = 0; s < springs->count && enough; s++) {
        const bones_spring *spring = &springs->spring[s];
        enough = ARRAY_PUSH(&couplings->start, (int)couplings->node.count) &&
                 ARRAY_PUSH(&couplings->node, soft_first + soft->system_node[spring->node]);
        for (int c = 0; c < REDUCTION_CARRIERS && spring->carrier[c] >= 0 && enough; c++)
            enough = ARRAY_PUSH(&couplings->node, first_node + spring->carrier[c]);
    }
    return enough;
}

void bones_bind_springs(bones_model *bones, const soft_model *soft, int flesh, const block_pattern *pattern,
                        int first_node, int soft_first) {
    bones_springs *springs = &bones->springs[flesh];
    for (int s = 0; s < springs->count; s++) {
        bones_spring *spring = &springs->spring[s];
        for (int c = 0; c < REDUCTION_CARRIERS && spring->carrier[c] >= 0; c++)
            spring->block[c] = block_pattern_find(pattern, first_node + spring->carrier[c],
                                                  soft_first + soft->system_node[spring->node]);
    }
}

/* Pulls the node where its bones are at the start of the step. */
static void pull_springs(bones_state *state) {
    const bones_model *bones = bones_of(state);
    for (int k = 0; k < state->hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &state->hand->model->flesh[k];
        soft_state *soft = (soft_state *)state->bodies[flesh->body];
        for (int s = 0; s < bones->springs[k].count; s++) {
            int i = bones->springs[k].spring[s].node;
            vec3 way = vec3_sub(hand_skinned_point(flesh, i, state->hand->skeleton.pose), vec3_load(soft->x + 3 * i));
            vec3_store(soft->spring_pull + 3 * i, vec3_scale(way, soft_of(soft)->stiffness[i]));
        }
    }
}

static void add_block(double *block, const mat3 *value, double scale) {
    for (int e = 0; e < 9; e++) block[e] += scale * value->m[e];
}

/* Terms of one spring in the unknowns of the bones, and between them and the node; the node's own are its body's. */
static void formulate_spring(const bones_model *bones, const bones_spring *spring, const mat3 J[REDUCTION_CARRIERS],
                             double kappa, vec3 impulse, double *blocks, double *b) {
    for (int c = 0; c < REDUCTION_CARRIERS && spring->carrier[c] >= 0; c++) {
        mat3 turned = mat3_transpose(J[c]), across = mat3_scale(turned, -kappa);
        memcpy(blocks + 9 * (size_t)spring->block[c], across.m, sizeof across.m);
        for (int e = 0; e <= c; e++) {
            mat3 own = mat3_mul(turned, J[e]);
            add_block(blocks + 9 * (size_t)bones->blocks[spring->carrier[c]][spring->carrier[e]], &own, kappa);
        }
        double *to = b + 3 * spring->carrier[c];
        vec3_store(to, vec3_sub(vec3_load(to), mat3_mul_vec(turned, impulse)));
    }
}

static void formulate_springs(bones_state *state, double h, double *blocks, double *b) {
    const bones_model *bones = bones_of(state);
    for (int k = 0; k < state->hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &state->hand->model->flesh[k];
        const soft_state *soft = (const soft_state *)state->bodies[flesh->body];
        for (int s = 0; s < bones->springs[k].count; s++) {
            const bones_spring *spring = &bones->springs[k].spring[s];
            mat3 J[REDUCTION_CARRIERS];
            int i = spring->node;
            point_jacobian(&state->hand->skeleton, flesh, i, spring->carrier, J);
            formulate_spring(bones, spring, J, h * (h * soft_of(soft)->stiffness[i] + soft_of(soft)->damping[i]),
                             vec3_scale(vec3_load(soft->spring_pull + 3 * i), h), blocks, b);
        }
    }
}

/* The pull on nodes becomes that of bones that moved in the step, as soft bodies and handles publish it. */
static void settle_springs(bones_state *state, const double *carried, double h) {
    const bones_model *bones = bones_of(state);
    for (int k = 0; k < state->hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &state->hand->model->flesh[k];
        soft_state *soft = (soft_state *)state->bodies[flesh->body];
        for (int s = 0; s < bones->springs[k].count; s++) {
            int i = bones->springs[k].spring[s].node;
            vec3 moved = vec3_sub(vec3_load(carried + 3 * i), hand_skinned_point(flesh, i, state->hand->skeleton.pose));
            double gain = soft_of(soft)->stiffness[i] + soft_of(soft)->damping[i] / h;
            double *pull = soft->spring_pull + 3 * i;
            vec3_store(pull, vec3_mul_add(vec3_load(pull), moved, gain));
        }
        carried += 3 * (size_t)flesh->node_count;
    }
}

void bones_begin(bones_state *state, double h) {
    const hand_state *hand = state->hand;
    const skeleton_state *bones = &hand->skeleton;
    const reduction_model *dependent = state->dependent->model;
    for (int k = 0; k < hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &hand->model->flesh[k];
        const soft_model *soft = soft_of((const soft_state *)state->bodies[flesh->body]);
        int first = state->first_node[flesh->body];
        for (int i = 0; i < flesh->node_count; i++)
            if (soft->carriers[i][0] >= 0)
                point_jacobian(bones, flesh, i, soft->carriers[i],
                               state->dependent->J[dependent->index[first + soft->system_node[i]]]);
    }
    for (int b = 0; b < HAND_BONES; b++) {
        state->inertia[b] = skeleton_inertia(bones, b);
        state->arm[b] = vec3_sub(bones->pose[b].position, bones->origin);
        skeleton_coupling_kappa(bones, b, h, state->kappa[b]);
    }
    pull_springs(state);
}

/* ---- Muscles that carry the flesh ---- */

/* Torque of a force on a point of a bone, about the joints between it and the palm. */
static void add_torques(const skeleton_state *bones, int bone, spatial_force force, double torque[HAND_ANGLES]) {
    if (bone == 0) return;
    for (int i = HAND_FINGER_ANGLES * finger_of(bone); i < bones->model->first_dof[bone + 1]; i++)
        torque[i] += spatial_dot(bones->axis[i], force);
}

/* Torques of contacts and applied forces on the flesh, as if it moved with its bones. */
static void outer_torques(const bones_state *state, double torque[HAND_ANGLES]) {
    const skeleton_state *bones = &state->hand->skeleton;
    for (int k = 0; k < state->hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &state->hand->model->flesh[k];
        const soft_state *soft = (const soft_state *)state->bodies[flesh->body];
        for (int i = 0; i < flesh->node_count; i++) {
            vec3 force = vec3_add(vec3_load(soft->contact_force + 3 * i), vec3_load(soft->applied + 3 * i));
            if (force.x == 0 && force.y == 0 && force.z == 0) continue;
            for (int m = flesh->hold_start[i]; m < flesh->hold_start[i + 1]; m++) {
                const hand_hold *hold = &flesh->holds[m];
                const skeleton_pose *pose = &bones->pose[hold->bone];
                vec3 place = vec3_add(pose->position, quat_rotate(pose->orientation, hold->local));
                vec3 r = vec3_sub(place, bones->origin);
                add_torques(bones, hold->bone, spatial_force_at((vec3){0}, vec3_scale(force, hold->weight), r), torque);
            }
        }
    }
}

/* Of a first joint; in proportion to their stiffness for the others. */
static double largest_torque(const hand_model *hand) {
    double reach = vec3_length(hand->skeleton.model->bones[MIDDLE_KNUCKLE].offset);
    return TORQUE_SHARE * hand->young * reach * reach * reach;
}

void bones_compensate(bones_state *state, const double asked[HAND_ANGLES], const double last[HAND_ANGLES], double h) {
    skeleton_state *bones = &state->hand->skeleton;
    double outside[HAND_ANGLES] = {0};
    outer_torques(state, outside);
    double max = fmin(LARGEST_SHIFT, largest_torque(state->hand->model) / axis_of(bones->model, 0)->stiffness);
    for (int i = 0; i < HAND_ANGLES; i++) {
        const skeleton_axis *axis = axis_of(bones->model, i);
        double before = state->kept->shift[i];
        double load = state->kept->error[i] + outside[i] / axis->stiffness;
        double shift = fmax(-max, fmin(max, before + fmin(h / MUSCLE_TIME, 1) * load));
        state->kept->shift[i] = shift;
        state->target_rate[i] = (asked[i] - last[i]) / h;
        bones->target[i] += shift;
        bones->dof_momentum[i] += h * axis->stiffness * shift + axis->damping * (shift - before);
    }
}

/* After the motion of the step: k error = torque of the joint's spring without its shift, of its damper, and of the
 * couplings of the bones beyond it. */
static void measure_load(bones_state *state) {
    const skeleton_state *bones = &state->hand->skeleton;
    double coupling[HAND_ANGLES] = {0};
    for (int b = 1; b < HAND_BONES; b++) {
        const skeleton_coupling *c = &bones->coupling[b];
        if (!(c->stiffness > 0 || c->damping > 0 || c->turn_stiffness > 0 || c->turn_damping > 0)) continue;
        skeleton_wrench pull = skeleton_coupling_wrench(bones, b);
        vec3 r = vec3_sub(bones->pose[b].position, bones->origin);
        add_torques(bones, b, spatial_force_at(pull.torque, pull.force, r), coupling);
    }
    for (int i = 0; i < HAND_ANGLES; i++) {
        const skeleton_axis *axis = axis_of(bones->model, i);
        double way = bones->target[i] - state->kept->shift[i] - bones->q[i];
        double torque = axis->damping * (state->target_rate[i] - bones->rate[i]) + coupling[i];
        state->kept->error[i] = way + torque / axis->stiffness;
    }
}

/* ---- The stages of a step ---- */

static void bones_drive(body_state *base, const body_step *step) {
    (void)base, (void)step; /* hand_advance follows the targets */
}

static void add_entry(const bones_model *bones, double *blocks, int row, int column, double value) {
    if (row < column) {
        int swap = row;
        row = column, column = swap;
    }
    double *block = blocks + 9 * (size_t)bones->blocks[row / 3][column / 3];
    block[3 * (row % 3) + column % 3] += value;
    if (row / 3 == column / 3 && row != column) block[3 * (column % 3) + row % 3] += value;
}

static void bones_formulate(body_state *base, const body_step *step, double *blocks, double *b) {
    bones_state *state = (bones_state *)base;
    const bones_model *own = bones_of(state);
    const skeleton_state *bones = &state->hand->skeleton;
    const skeleton_model *model = bones->model;
    for (int row = 0; row < BONES_NODES; row++)
        for (int column = 0; column <= row; column++)
            if (own->blocks[row][column] >= 0)
                memset(blocks + 9 * (size_t)own->blocks[row][column], 0, 9 * sizeof *blocks);
    memset(b, 0, BONES_UNKNOWNS * sizeof *b);
    spatial_inertia beyond[HAND_BONES];
    spatial_force momentum[HAND_BONES];
    memcpy(beyond, bones->inertia, sizeof beyond);
    memcpy(momentum, bones->momentum, sizeof momentum);
    for (int bone = HAND_BONES - 1; bone > 0; bone--) {
        for (int i = model->first_dof[bone]; i < model->first_dof[bone + 1]; i++) {
            spatial_force U = spatial_inertia_mul(&beyond[bone], bones->axis[i]);
            int unknown = angle_unknown(i);
            double force[6];
            vec3_store(force, U.force);
            vec3_store(force + 3, U.torque);
            for (int c = 0; c < 6; c++) add_entry(own, blocks, unknown, c, force[c]);
            for (int j = i - i % HAND_FINGER_ANGLES; j <= i; j++)
                add_entry(own, blocks, unknown, angle_unknown(j), spatial_dot(bones->axis[j], U));
            add_entry(own, blocks, unknown, unknown, bones->dof_inertia[i]);
            b[unknown] = spatial_dot(bones->axis[i], momentum[bone]) + bones->dof_momentum[i];
        }
        int parent = model->bones[bone].parent;
        beyond[parent] = spatial_inertia_add(beyond[parent], beyond[bone]);
        momentum[parent] = spatial_force_add(momentum[parent], momentum[bone]);
    }
    memcpy(blocks + 9 * (size_t)own->blocks[BONES_LINEAR][BONES_LINEAR], beyond[0].linear.m, 9 * sizeof *blocks);
    memcpy(blocks + 9 * (size_t)own->blocks[BONES_ANGULAR][BONES_LINEAR], beyond[0].coupling.m, 9 * sizeof *blocks);
    memcpy(blocks + 9 * (size_t)own->blocks[BONES_ANGULAR][BONES_ANGULAR], beyond[0].angular.m, 9 * sizeof *blocks);
    vec3_store(b + 3 * BONES_LINEAR, momentum[0].force);
    vec3_store(b + 3 * BONES_ANGULAR, momentum[0].torque);
    /* The unused unknowns of each finger. */
    for (int f = 0; f < HAND_FINGERS; f++) {
        int node = BONES_PALM_NODES + 2 * f + 1;
        double *block = blocks + 9 * (size_t)own->blocks[node][node];
        block[4] = block[8] = 1;
    }
    formulate_springs(state, step->h, blocks, b);
}

/* Twists of the bones and rates of the joints at the end of the step. */
static bool take_solution(bones_state *state, const double *v) {
    skeleton_state *bones = &state->hand->skeleton;
    const skeleton_model *model = bones->model;
    if (!body_within(v, BONES_UNKNOWNS, FASTEST)) return false;
    for (int i = 0; i < model->dof_count; i++) bones->next_rate[i] = v[angle_unknown(i)];
    bones->twist[0] = (spatial_motion){vec3_load(v + 3 * BONES_ANGULAR), vec3_load(v + 3 * BONES_LINEAR)};
    for (int b = 1; b < HAND_BONES; b++) {
        bones->twist[b] = bones->twist[model->bones[b].parent];
        for (int i = model->first_dof[b]; i < model->first_dof[b + 1]; i++)
            bones->twist[b] = spatial_motion_mul_add(bones->twist[b], bones->axis[i], bones->next_rate[i]);
    }
    for (int i = 0; i < BONES_UNKNOWNS; i++) state->kept->change[i] = v[i] - state->kept->v[i];
    memcpy(state->kept->v, v, sizeof state->kept->v);
    return true;
}

/* Where the linear motion of the step carries the nodes of the flesh. */
static void carry_linearly(bones_state *state, double h, double *carried) {
    const hand_state *hand = state->hand;
    const skeleton_state *bones = &hand->skeleton;
    for (int k = 0; k < hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &hand->model->flesh[k];
        for (int i = 0; i < flesh->node_count; i++, carried += 3) {
            vec3 sum = {0};
            for (int m = flesh->hold_start[i]; m < flesh->hold_start[i + 1]; m++) {
                const hand_hold *hold = &flesh->holds[m];
                const skeleton_pose *pose = &bones->pose[hold->bone];
                vec3 place = vec3_add(pose->position, quat_rotate(pose->orientation, hold->local));
                vec3 speed = spatial_motion_point(bones->twist[hold->bone], vec3_sub(place, bones->origin));
                sum = vec3_mul_add(sum, vec3_mul_add(place, speed, h), hold->weight);
            }
            vec3_store(carried, sum);
        }
    }
}

/* Moves dependent nodes to where their bones are, and free nodes by what the linear motion of their bones misses. */
static bool carry_exactly(bones_state *state, const double *carried) {
    const hand_state *hand = state->hand;
    for (int k = 0; k < hand->model->flesh_count; k++) {
        const hand_attachment *flesh = &hand->model->flesh[k];
        soft_state *soft = (soft_state *)state->bodies[flesh->body];
        for (int i = 0; i < flesh->node_count; i++, carried += 3) {
            vec3 place = hand_skinned_point(flesh, i, hand->skeleton.pose), x = vec3_load(soft->x + 3 * i);
            bool depends = soft_of(soft)->carriers[i][0] >= 0;
            x = depends ? place : vec3_add(x, vec3_sub(place, vec3_load(carried)));
            if (!body_is_near(x)) return false;
            vec3_store(soft->x + 3 * i, x);
        }
    }
    return true;
}

/* The flesh, which comes before its bones in the system, was moved linearly. */
static bool bones_integrate(body_state *base, const body_step *step, const double *v) {
    bones_state *state = (bones_state *)base;
    for (int i = 0; i < HAND_ANGLES && !step->last; i++)
        if (fabs(step->h * v[angle_unknown(i)]) > FARTHEST_TURN) return false;
    if (!take_solution(state, v)) return false;
    carry_linearly(state, step->h, state->hand->before);
    settle_springs(state, state->hand->before, step->h);
    skeleton_integrate(&state->hand->skeleton, step->h);
    measure_load(state);
    return carry_exactly(state, state->hand->before);
}

/* Stabilization of patches moves nodes without velocity; bones stay. */
static bool bones_displace(body_state *base, const double *dq) {
    (void)base, (void)dq;
    return true;
}

static void bones_publish(body_state *base, const body_step *step) {
    (void)base, (void)step;
}

/* ---- Linearization of handles on bones ---- */

/* The twists of all bones in one column. */
static void twists_of(const bones_state *state, const double *v, spatial_motion twist[HAND_BONES]) {
    const skeleton_state *bones = &state->hand->skeleton;
    const skeleton_model *model = bones->model;
    twist[0] = (spatial_motion){vec3_load(v + 3 * BONES_ANGULAR), vec3_load(v + 3 * BONES_LINEAR)};
    for (int b = 1; b < HAND_BONES; b++) {
        twist[b] = twist[model->bones[b].parent];
        for (int i = model->first_dof[b]; i < model->first_dof[b + 1]; i++)
            twist[b] = spatial_motion_mul_add(twist[b], bones->axis[i], v[angle_unknown(i)]);
    }
}

/* Where a bone's frame was at the start of the step, from O; axes and inertias belong to that time. */
static vec3 bone_arm(const bones_state *state, int bone) {
    return state->arm[bone];
}

void bones_add_wrenches(const bones_state *state, int bone, int first_node, double *const X[6]) {
    const skeleton_state *bones = &state->hand->skeleton;
    vec3 r = bone_arm(state, bone);
    int finger = finger_of(bone);
    for (int c = 0; c < 6; c++) {
        double *b = X[c] + 3 * (size_t)first_node;
        vec3 axis = {c % 3 == 0, c % 3 == 1, c % 3 == 2};
        spatial_force unit =
            c < 3 ? spatial_force_at((vec3){0}, axis, r) : (spatial_force){.torque = axis, .force = {0}};
        vec3_store(b + 3 * BONES_LINEAR, vec3_add(vec3_load(b + 3 * BONES_LINEAR), unit.force));
        vec3_store(b + 3 * BONES_ANGULAR, vec3_add(vec3_load(b + 3 * BONES_ANGULAR), unit.torque));
        for (int i = HAND_FINGER_ANGLES * finger; finger >= 0 && i < bones->model->first_dof[bone + 1]; i++)
            b[angle_unknown(i)] += spatial_dot(bones->axis[i], unit);
    }
}

void bones_motion(const bones_state *state, int bone, int first_node, double *const X[6], double out[36]) {
    for (int c = 0; c < 6; c++) {
        spatial_motion twist[HAND_BONES];
        double motion[6];
        twists_of(state, X[c] + 3 * (size_t)first_node, twist);
        vec3_store(motion, spatial_motion_point(twist[bone], bone_arm(state, bone)));
        vec3_store(motion + 3, twist[bone].angular);
        for (int i = 0; i < 6; i++) out[6 * i + c] = motion[i];
    }
}

void bones_mass(const bones_state *state, int bone, const bool carries[HAND_BONES], double M[36]) {
    spatial_motion unit[6];
    vec3 r = bone_arm(state, bone);
    for (int c = 0; c < 6; c++) {
        vec3 axis = {c % 3 == 0, c % 3 == 1, c % 3 == 2};
        unit[c] = c < 3 ? (spatial_motion){.angular = {0}, .linear = axis} : spatial_motion_turn(axis, r);
    }
    memset(M, 0, 36 * sizeof *M);
    for (int b = 0; b < HAND_BONES; b++)
        for (int i = 0; i < 36 && carries[b]; i++)
            M[i] += spatial_dot(unit[i / 6], spatial_inertia_mul(&state->inertia[b], unit[i % 6]));
}

void bones_add_inertia(const bones_state *state, int first_node, double *const X[6], double sum[36]) {
    spatial_motion twist[6][HAND_BONES];
    for (int c = 0; c < 6; c++) twists_of(state, X[c] + 3 * (size_t)first_node, twist[c]);
    for (int b = 0; b < HAND_BONES; b++)
        for (int i = 0; i < 36; i++)
            sum[i] += spatial_dot(twist[i / 6][b], spatial_inertia_mul(&state->inertia[b], twist[i % 6][b]));
}

void bones_add_viscosity(const bones_state *state, int except, int first_node, double *const X[6], double sum[36]) {
    const skeleton_state *bones = &state->hand->skeleton;
    spatial_motion twist[6][HAND_BONES];
    for (int c = 0; c < 6; c++) twists_of(state, X[c] + 3 * (size_t)first_node, twist[c]);
    for (int i = 0; i < 36; i++) {
        const double *x = X[i / 6] + 3 * (size_t)first_node, *y = X[i % 6] + 3 * (size_t)first_node;
        for (int j = 0; j < HAND_ANGLES; j++)
            sum[i] += axis_of(bones->model, j)->damping * x[angle_unknown(j)] * y[angle_unknown(j)];
        for (int b = 0; b < HAND_BONES; b++) {
            const skeleton_coupling *c = &bones->coupling[b];
            vec3 r = bone_arm(state, b);
            if (b == except) continue;
            sum[i] += c->damping *
                          vec3_dot(spatial_motion_point(twist[i / 6][b], r), spatial_motion_point(twist[i % 6][b], r)) +
                      c->turn_damping * vec3_dot(twist[i / 6][b].angular, twist[i % 6][b].angular);
        }
    }
}

/* ---- Joint limits ---- */

static double beyond_limits(const skeleton_axis *axis, double q) {
    return q > axis->upper ? q - axis->upper : q < axis->lower ? q - axis->lower : 0;
}

static bool limits_warm(const body_state *base) {
    const bones_kept *kept = ((const bones_state *)base)->kept;
    for (int i = 0; i < HAND_ANGLES; i++)
        if (kept->multiplier[i] != 0) return true;
    return false;
}

static void limits_rescale(body_state *base, double factor, double max) {
    (void)max; /* a bound of strain multipliers; a joint limit can always be met */
    bones_kept *kept = ((bones_state *)base)->kept;
    for (int i = 0; i < HAND_ANGLES; i++) kept->multiplier[i] *= factor;
}

static void limits_begin(body_state *base) {
    memset(((bones_state *)base)->delta, 0, sizeof(double[HAND_ANGLES]));
}

static void limits_nothing(body_state *base) {
    (void)base; /* multipliers of angles do not turn with anything */
}

static void limits_move(body_state *base, const body_step *step, const double *d) {
    (void)step;
    bones_state *state = (bones_state *)base;
    for (int i = 0; i < HAND_ANGLES; i++) state->angle[i] = state->hand->skeleton.q[i] + d[angle_unknown(i)];
}

static void limits_evaluate(body_state *base, const body_step *step) {
    (void)step;
    bones_state *state = (bones_state *)base;
    const skeleton_model *model = bones_of(state)->skeleton;
    for (int i = 0; i < HAND_ANGLES; i++)
        state->delta[i] = beyond_limits(axis_of(model, i), state->angle[i] + state->kept->multiplier[i]);
}

static double limit_unit(const skeleton_axis *axis) {
    return axis->limit_stiffness / LIMIT_UNIT;
}

static double limits_energy(const body_state *base) {
    const bones_state *state = (const bones_state *)base;
    double sum = 0;
    for (int i = 0; i < HAND_ANGLES; i++)
        sum += 0.5 * limit_unit(axis_of(bones_of(state)->skeleton, i)) * state->delta[i] * state->delta[i];
    return sum;
}

static body_limit_measures limits_measure(const body_state *base) {
    const bones_state *state = (const bones_state *)base;
    body_limit_measures all = {0};
    for (int i = 0; i < HAND_ANGLES; i++) {
        all.distance = fmax(all.distance, fabs(state->delta[i] - state->kept->multiplier[i]));
        all.active += state->delta[i] != 0;
    }
    return all;
}

static void limits_gradient(body_state *base, const body_step *step, double weight, double *gradient) {
    (void)step;
    const bones_state *state = (const bones_state *)base;
    for (int i = 0; i < HAND_ANGLES; i++)
        gradient[angle_unknown(i)] += weight * limit_unit(axis_of(bones_of(state)->skeleton, i)) * state->delta[i];
}

static void limits_hessian(body_state *base, const body_step *step, double weight, double *blocks) {
    (void)step;
    const bones_state *state = (const bones_state *)base;
    for (int i = 0; i < HAND_ANGLES; i++) {
        int unknown = angle_unknown(i);
        if (state->delta[i] != 0)
            add_entry(bones_of(state), blocks, unknown, unknown,
                      weight * limit_unit(axis_of(bones_of(state)->skeleton, i)));
    }
}

static void limits_update(body_state *base, double factor, double max) {
    (void)max;
    bones_state *state = (bones_state *)base;
    for (int i = 0; i < HAND_ANGLES; i++) state->kept->multiplier[i] = factor * state->delta[i];
}

static void limits_tangent(body_state *base, const body_step *step, double weight, double stiffer, bool convex,
                           double *blocks) {
    (void)step, (void)convex;
    const bones_state *state = (const bones_state *)base;
    for (int i = 0; i < HAND_ANGLES; i++) {
        int unknown = angle_unknown(i);
        if (state->kept->multiplier[i] != 0)
            add_entry(bones_of(state), blocks, unknown, unknown,
                      stiffer * weight * limit_unit(axis_of(bones_of(state)->skeleton, i)));
    }
}

static const body_limits joint_limits = {.warm = limits_warm,
                                         .rescale = limits_rescale,
                                         .begin = limits_begin,
                                         .take_up = limits_nothing,
                                         .put_away = limits_nothing,
                                         .move = limits_move,
                                         .evaluate = limits_evaluate,
                                         .energy = limits_energy,
                                         .measure = limits_measure,
                                         .gradient = limits_gradient,
                                         .hessian = limits_hessian,
                                         .update = limits_update,
                                         .tangent = limits_tangent};

/* Functions for visible bodies, and those of solvers on rows, which move bones and flesh one after the other, are
 * absent. */
const body_class bones_class = {
    .name = "bones",
    .state_size = sizeof(bones_state),
    .couple = bones_couple,
    .bind = bones_bind,
    .hash = bones_hash,
    .free = bones_free,
    .layout = bones_layout,
    .reset = bones_reset,
    .drive = bones_drive,
    .formulate = bones_formulate,
    .integrate = bones_integrate,
    .displace = bones_displace,
    .publish = bones_publish,
    .is_finite = bones_is_finite,
    .rest = bones_rest,
    .velocity = bones_velocity,
    .change = bones_change,
    .limits = &joint_limits,
};
