/* The state behind thenar_sim. */
#ifndef WORLD_SIM_H
#define WORLD_SIM_H

#include "core/shared.h"
#include "world/linearize.h"
#include "world/model.h"

#include "thenar/sim.h"

/* The part of the kept state that belongs to no body. */
typedef struct sim_clock {
    double time;
    uint64_t step_count;
    double first_time; /* time = first_time + (step_count - first_step) dt: no accumulated rounding */
    uint64_t first_step;
    uint64_t warnings[THENAR_WARNING_COUNT];
    uint64_t max_iterations; /* of a solve; 0: the maximum of the solver */
} sim_clock;

/* One allocation has this struct and every array. `kept` is one part of it: what a snapshot copies, what the state hash
 * covers, and what a failed step restores (from `backup`). */
struct thenar_sim {
    const thenar_model *model;
    workers *pool;
    const solver_class *solver;
    contact_method contact;
    thenar_friction friction;
    coupling_method coupling;
    double dt;
    int pass;            /* of the current step, from 1 (step.c) */
    body_state **bodies; /* as in the model: bodies, then handles */
    hand_state *hands;
    body_state **members; /* the bodies' states in the order of the systems */
    system_state *systems;
    contact_state contacts;
    linearization linearization;
    sim_clock *clock; /* in kept */
    thenar_stats stats;
    char *kept;
    char *backup;
    size_t kept_size;
};

/* The soft or rigid body, the hand or the handle of that index; misuse is an assert. */
soft_state *sim_soft(const thenar_sim *sim, int body);
rigid_state *sim_rigid(const thenar_sim *sim, int body) SHARED(sim_rigid);
/* Whether all kept numbers are finite, and no body is too far away. */
bool sim_is_finite(const thenar_sim *sim);
hand_state *sim_hand(const thenar_sim *sim, int hand);
handle_state *sim_handle(const thenar_sim *sim, int handle) SHARED(sim_handle);

/* Replaces the kept state by one from outside, or rejects it and changes nothing. what: starts the error message. */
thenar_status sim_take_state(thenar_sim *sim, const char *state, const char *what, thenar_error *error)
    SHARED(sim_take_state);

/* The pose, velocity and force of a handle for the haptic loop, with zero matrices. */
void sim_handle_linear(const thenar_sim *sim, int handle, struct haptic_linear *linear) SHARED(sim_handle_linear);

#endif
