/* Whether all that can be read of a simulation is a number. */
#ifndef TEST_FINITE_H
#define TEST_FINITE_H

#include "thenar/thenar.h"
#include "poses.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool are_finite(const double *values, int count) {
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

/* What is not a number; NULL: nothing. */
static inline const char *finite_bodies(const thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        double n[15];
        thenar_sim_energy(sim, i, n, n + 1, n + 2);
        if (!are_finite(n, 3)) return "an energy";
        if (thenar_model_body_kind(model, i) == THENAR_BODY_RIGID) {
            body_pose(sim, i, n, n + 3);
            body_twist(sim, i, n + 7, n + 10);
            if (!are_finite(n, 13)) return "a pose or twist";
            continue;
        }
        int count = 3 * thenar_model_mesh(model, i)->node_count;
        if (!are_finite(thenar_sim_positions(sim, i), count)) return "a position";
        if (!are_finite(thenar_sim_velocities(sim, i), count)) return "a velocity";
        if (!are_finite(thenar_sim_forces(sim, i), count)) return "a force";
    }
    return NULL;
}

static inline const char *finite_contacts(const thenar_sim *sim) {
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &thenar_sim_contacts(sim)[i];
        if (!are_finite(c->position, 3) || !are_finite(c->normal, 3) || !are_finite(c->friction, 3) ||
            !isfinite(c->gap) || !isfinite(c->force) || !isfinite(c->area))
            return "a contact";
    }
    for (int i = 0; i < thenar_sim_contact_pair_count(sim); i++) {
        const thenar_contact_pair *p = &thenar_sim_contact_pairs(sim)[i];
        if (!are_finite(p->force, 3) || !are_finite(p->torque, 3) || !are_finite(p->centre, 3) ||
            !isfinite(p->normal_force) || !isfinite(p->pressure))
            return "a pair of bodies";
    }
    return NULL;
}

static inline const char *finite_held(const thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    for (int i = 0; i < thenar_model_hand_count(model); i++) {
        double joints[7 * THENAR_HAND_JOINTS], angles[THENAR_HAND_ANGLES], torques[THENAR_HAND_ANGLES], wrench[6];
        thenar_sim_hand_joints(sim, i, joints);
        thenar_sim_hand_angles(sim, i, angles, torques);
        thenar_sim_hand_coupling(sim, i, 0, wrench, wrench + 3);
        if (!are_finite(joints, 7 * THENAR_HAND_JOINTS) || !are_finite(angles, THENAR_HAND_ANGLES) ||
            !are_finite(torques, THENAR_HAND_ANGLES) || !are_finite(wrench, 6))
            return "a hand";
    }
    for (int i = 0; i < thenar_model_handle_count(model); i++) {
        thenar_handle_state state;
        thenar_sim_handle(sim, i, &state);
        if (!are_finite(state.pose, 7) || !are_finite(state.velocity, 6) || !are_finite(state.force, 6) ||
            !are_finite(state.coupling, 6) || !are_finite(state.stiffness, 36) || !are_finite(state.damping, 36) ||
            !are_finite(state.inertia, 36))
            return "a handle";
    }
    return NULL;
}

static inline const char *find_nonsense(const thenar_sim *sim) {
    const char *what = finite_bodies(sim);
    if (!what) what = finite_contacts(sim);
    if (!what) what = finite_held(sim);
    return what ? what : isfinite(thenar_sim_stats(sim)->residual) ? NULL : "the residual";
}

#endif
