/* Where the energy of a world comes from, step by step, and whether it has more than that.
 *
 * Kinetic and elastic energy together may never exceed LEDGER_FACTOR times what was supplied, plus a floor:
 *   kinetic + elastic at time 0, and in every step what is positive of
 *   - the work of outside forces on each soft body: sum of thenar_sim_forces (loads, supports, bones, handles) times the
 *     motion of its nodes,
 *   - the work of the wrench applied to each rigid body, and of contact on each driven one,
 *   - the work of gravity,
 *   - the work of contacts that push what is inside another body out, at CONTACT_RECOVERY,
 *   - what is put into the springs of contact by penalty, by forces or by where bodies end (which turn on a circle, while
 *     their points were thought to go along its tangent),
 *   - what freezing the rotations of tets within a step does. The solve takes the elastic energy U of a tet for
 *       Q(x) = Vol (mu |e|^2 + lambda / 2 (tr e)^2),   e = sym(R^T G(x)) - 1,
 *     with the rotation R at the beginning of the step: its force is minus the gradient of Q, which is convex and equals U
 *     there. So implicit Euler, whatever else acts, has kinetic + Q at the end <= kinetic + U at the beginning + work, and
 *     U - Q at the end comes on top. That is what a body gains by turning: x + h v goes along the tangent, so that a tet
 *     that turns by a within a step is stretched by a^2 / 2 across its axis, which Q does not see. A soft body that spins
 *     freely swells by that, the more the stiffer it is damped; one of 12 mg that a load of 0.2 N turned over an edge by
 *     300 rad within a step (seed 375) was 300 times as large at its end, and had 17 kJ.
 * Implicit integration, contact and friction take energy away, so that a world has mostly much less. The factor covers
 * that work is computed with the force at the end of a step times the whole motion. Of a step that was done in pieces only the
 * last one's forces are reported, and none of its rotations: there forces count as often as there may be pieces, and U - Q is
 * a bound (ledger_turning_work). */
#ifndef ROBUST_RANDOM_LEDGER_H
#define ROBUST_RANDOM_LEDGER_H

#include "contact/constraint.h"
#include "contact/contact.h"
#include "core/vec3.h"
#include "thenar/thenar.h"
#include "poses.h"
#include "svd3_single.h"

#include <stdlib.h>
#include <string.h>

#define LEDGER_FACTOR 2.0
#define LEDGER_PIECES 16
#define LEDGER_FLOOR 1e-6    /* J */
#define LEDGER_JUMP 1e-3     /* m within a step: more is a jump */
#define LEDGER_TURN 0.05     /* rad */
#define LEDGER_TURN_MAX 3.15 /* rad: further, nothing turns within a step */

typedef struct ledger {
    const thenar_sim *sim;
    const double *lambda, *mu; /* Pa, of each body */
    double *before;            /* positions of all soft bodies, one after the other */
    double gravity;            /* J, of all that moves */
    double springs;            /* J, in contacts by penalty */
    double supplied;           /* J */
    double has;                /* J, kinetic and elastic */
    double worst;              /* has / supplied, the most that it was */
    double worst_time;
    uint64_t split; /* steps in pieces so far */
} ledger;

static inline bool ledger_moves(const thenar_model *model, int body) {
    return thenar_model_body_kind(model, body) == THENAR_BODY_SOFT ||
           thenar_model_motion(model, body) == THENAR_MOTION_DYNAMIC;
}

static inline void ledger_measure(const ledger *l, double *has, double *gravity) {
    const thenar_model *model = thenar_sim_model(l->sim);
    *has = *gravity = 0;
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        double kinetic, elastic, height;
        if (!ledger_moves(model, i)) continue;
        thenar_sim_energy(l->sim, i, &kinetic, &elastic, &height);
        *has += kinetic + elastic;
        *gravity += height;
    }
}

static inline bool ledger_open(ledger *l, const thenar_sim *sim, const double *lambda, const double *mu) {
    const thenar_model *model = thenar_sim_model(sim);
    size_t nodes = 0;
    for (int i = 0; i < thenar_model_body_count(model); i++)
        if (thenar_model_body_kind(model, i) == THENAR_BODY_SOFT)
            nodes += (size_t)thenar_model_mesh(model, i)->node_count;
    *l = (ledger){.sim = sim, .lambda = lambda, .mu = mu, .before = malloc((3 * nodes + 1) * sizeof(double))};
    if (!l->before) return false;
    double *before = l->before;
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        if (thenar_model_body_kind(model, i) != THENAR_BODY_SOFT) continue;
        size_t count = 3 * (size_t)thenar_model_mesh(model, i)->node_count;
        memcpy(before, thenar_sim_positions(sim, i), count * sizeof *before);
        before += count;
    }
    ledger_measure(l, &l->supplied, &l->gravity);
    return true;
}

/* G of a tet, and its volume at rest. */
static inline mat3 ledger_gradient(const thenar_tet_mesh *mesh, int tet, const double *x, double *volume) {
    const int *n = mesh->tets + 4 * tet;
    mat3 now = {0}, rest = {0};
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++) {
            now.m[3 * c + k] = x[3 * n[k + 1] + c] - x[3 * n[0] + c];
            rest.m[3 * c + k] = mesh->positions[3 * n[k + 1] + c] - mesh->positions[3 * n[0] + c];
        }
    *volume = fabs(mat3_determinant(rest)) / 6;
    return mat3_mul(now, mat3_inverse(rest));
}

/* U - Q of a body. */
static inline double ledger_frozen_work(const ledger *l, int body, const double *before) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(l->sim), body);
    double elastic, frozen = 0;
    thenar_sim_energy(l->sim, body, NULL, &elastic, NULL);
    for (int t = 0; t < mesh->tet_count; t++) {
        double volume, square = 0, trace = 0;
        mat3 R, S, G = ledger_gradient(mesh, t, thenar_sim_positions(l->sim, body), &volume);
        polar3(ledger_gradient(mesh, t, before, &volume), &R, &S);
        mat3 E = mat3_mul(mat3_transpose(R), G);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double e = 0.5 * (E.m[3 * i + j] + E.m[3 * j + i]) - (i == j);
                square += e * e;
                trace += i == j ? e : 0;
            }
        frozen += volume * (l->mu[body] * square + 0.5 * l->lambda[body] * trace * trace);
    }
    return elastic - frozen;
}

/* The angle by which a tet turned within the last step: h times the length of the spin of its velocity gradient. */
static inline double ledger_turn(const thenar_sim *sim, int body, int tet, const double *before, double *volume) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(sim), body);
    const double *v = thenar_sim_velocities(sim, body);
    const int *n = mesh->tets + 4 * tet;
    mat3 X = {0}, V = {0}, rest = {0};
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++) {
            X.m[3 * c + k] = before[3 * n[k + 1] + c] - before[3 * n[0] + c];
            V.m[3 * c + k] = v[3 * n[k + 1] + c] - v[3 * n[0] + c];
            rest.m[3 * c + k] = mesh->positions[3 * n[k + 1] + c] - mesh->positions[3 * n[0] + c];
        }
    *volume = fabs(mat3_determinant(rest)) / 6;
    mat3 L = mat3_mul(V, mat3_inverse(X));
    vec3 spin = vec3_make(L.m[7] - L.m[5], L.m[2] - L.m[6], L.m[3] - L.m[1]);
    double angle = 0.5 * thenar_sim_dt(sim) * vec3_length(spin);
    return angle < LEDGER_TURN_MAX ? angle : LEDGER_TURN_MAX; /* also of a tet that was flat */
}

/* A bound on U - Q where the rotations within the step are not known: a tet that turns by a within a step is stretched by
 * a^2 / 2, which works against the stress that is there, at most a^2 sqrt(2 C V U) + C V a^4 / 4 with the stiffest modulus
 * C, volume V and elastic energy U. */
static inline double ledger_turning_work(const ledger *l, int body, const double *before) {
    double elastic, sum = 0;
    double C = fmax(2 * l->mu[body], 3 * l->lambda[body] + 2 * l->mu[body]);
    thenar_sim_energy(l->sim, body, NULL, &elastic, NULL);
    for (int t = 0; t < thenar_model_mesh(thenar_sim_model(l->sim), body)->tet_count; t++) {
        double volume, angle = ledger_turn(l->sim, body, t, before, &volume);
        sum += volume * angle * angle * angle * angle;
    }
    return sqrt(2 * C * elastic * sum) + C * sum / 4;
}

static inline double ledger_soft_work(const thenar_sim *sim, int body, double *before) {
    int count = 3 * thenar_model_mesh(thenar_sim_model(sim), body)->node_count;
    const double *x = thenar_sim_positions(sim, body), *force = thenar_sim_forces(sim, body);
    double work = 0;
    for (int i = 0; i < count; i++) work += force[i] * (x[i] - before[i]);
    memcpy(before, x, (size_t)count * sizeof *before);
    return work;
}

/* The work of the wrench that is applied to a rigid body. */
static inline double ledger_wrench_work(const thenar_sim *sim, int body) {
    double force[3], torque[3], velocity[3], spin[3];
    body_twist(sim, body, velocity, spin);
    thenar_sim_wrench(sim, body, force, torque);
    double h = thenar_sim_dt(sim), w = vec3_length(vec3_load(spin)),
           turned = vec3_dot(vec3_load(torque), vec3_load(spin));
    /* The reported spin has turned with the body. */
    if (h * w > LEDGER_TURN) turned = w * vec3_length(vec3_load(torque));
    return h * (vec3_dot(vec3_load(force), vec3_load(velocity)) + turned);
}

/* The work that a driven body does by contact. Where it jumps, contacts are reported where they end, not where they push:
 * there it is each force times the way of the body's fastest point. */
static inline double ledger_driven_work(const thenar_sim *sim, int body) {
    double force[3], torque[3], centre[3], turn[4], velocity[3], spin[3], h = thenar_sim_dt(sim);
    body_twist(sim, body, velocity, spin);
    body_pose(sim, body, centre, turn);
    double way = h * vec3_length(vec3_load(velocity)), angle = h * vec3_length(vec3_load(spin));
    if (way < LEDGER_JUMP && angle < LEDGER_TURN) {
        thenar_sim_contact_wrench(sim, body, force, torque, NULL);
        vec3 f = vec3_load(force), t = vec3_sub(vec3_load(torque), vec3_cross(vec3_load(centre), f));
        return -h * (vec3_dot(f, vec3_load(velocity)) + vec3_dot(t, vec3_load(spin)));
    }
    double radius = 0, sum = 0;
    const thenar_surface *surface = thenar_model_surface(thenar_sim_model(sim), body);
    for (int i = 0; i < surface->vertex_count; i++)
        radius = fmax(radius, vec3_length(vec3_load(surface->positions + 3 * i)));
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &thenar_sim_contacts(sim)[i];
        if (c->body[0] == body || c->body[1] == body) sum += hypot(c->force, vec3_length(vec3_load(c->friction)));
    }
    return sum * (way + angle * radius);
}

static inline double ledger_contact_work(ledger *l, double stiffness) {
    const thenar_contact *contacts = thenar_sim_contacts(l->sim);
    bool by_springs = thenar_sim_contact_method(l->sim) == THENAR_CONTACT_PENALTY;
    double work = 0, springs = 0, h = thenar_sim_dt(l->sim);
    for (int i = 0; i < thenar_sim_contact_count(l->sim); i++) {
        const thenar_contact *c = &contacts[i];
        vec3 slide = vec3_load(c->friction);
        double area = c->area > 0 ? fmax(c->area, PENALTY_AREA_MIN) : PENALTY_RIGID_AREA;
        if (by_springs)
            springs += fmax((c->force * c->force + vec3_dot(slide, slide)) / (2 * stiffness * area),
                            0.5 * stiffness * area * fmin(0, c->gap) * fmin(0, c->gap));
        else if (c->gap < 0)
            work += c->force * CONTACT_RECOVERY * h;
    }
    work += fmax(0, springs - l->springs);
    l->springs = springs;
    return work;
}

/* After a step. Returns whether the bound holds. */
static inline bool ledger_step(ledger *l, double contact_stiffness) {
    const thenar_model *model = thenar_sim_model(l->sim);
    double *before = l->before, gravity, supplied = l->supplied;
    uint64_t split = thenar_sim_warning_count(l->sim, THENAR_WARNING_STEP_SPLIT);
    bool is_split = split > l->split;
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        if (thenar_model_body_kind(model, i) == THENAR_BODY_SOFT) {
            double frozen = fmax(0, ledger_frozen_work(l, i, before));
            l->supplied += is_split ? fmax(frozen, ledger_turning_work(l, i, before)) : frozen;
            l->supplied += fmax(0, ledger_soft_work(l->sim, i, before));
            before += 3 * (size_t)thenar_model_mesh(model, i)->node_count;
        } else if (thenar_model_motion(model, i) == THENAR_MOTION_DYNAMIC) {
            l->supplied += fmax(0, ledger_wrench_work(l->sim, i));
        } else {
            l->supplied += fmax(0, ledger_driven_work(l->sim, i));
        }
    }
    l->supplied += ledger_contact_work(l, contact_stiffness);
    if (is_split) l->supplied += (LEDGER_PIECES - 1) * (l->supplied - supplied);
    l->split = split;
    ledger_measure(l, &l->has, &gravity);
    l->supplied += fmax(0, l->gravity - gravity);
    l->gravity = gravity;
    double share = l->has / (l->supplied + LEDGER_FLOOR);
    if (!(share <= l->worst)) {
        l->worst = share;
        l->worst_time = thenar_sim_time(l->sim);
    }
    return l->has <= LEDGER_FACTOR * l->supplied + LEDGER_FLOOR;
}

#endif
