/* The state of a simulation: thenar_sim. */
#ifndef WORLD_SIM_H
#define WORLD_SIM_H

#include "core/shared.h"
#include "world/model.h"

#include "thenar/sim.h"

#include <stdint.h>

/* ---- Linearization of handles (linearize.c) ---- */

/* The linearization of the force on a handle, which the simulation publishes to the haptic loop at the end of a step
 * (garre2009, section 5): the force of the tool on the handle and its derivatives with respect to the motion of the
 * handle,
 *     F(x, v) = force - stiffness (x - pose) - damping (v - velocity).
 * Vectors of six are linear first, angular second, in world axes, with moments about the origin of the handle; a
 * small rotation is its rotation vector. Both matrices are symmetric and positive semidefinite, row-major. */
struct haptic_linear {
    double position[3];    /* m, the handle's origin */
    double orientation[4]; /* xyzw */
    double velocity[6];    /* m/s, rad/s */
    double force[6];       /* N, N m */
    double stiffness[36];  /* N/m, N, N m */
    double damping[36];    /* N s/m, N s, N m s */
    double time;           /* s, simulated time at the end of the step */
    double step_length;    /* s, simulated */
    uint64_t step;         /* counts from 1; 0: nothing is published yet */
    int64_t published_ns;  /* time of publication on the monotonic clock (core/threads.h) */
    int contacts;          /* number of contacts of the tool; 0: it is free */
    /* kg, kg m, kg m^2: inertia that moves with the handle (of the tool, and of what it pushes). It is part of the
     * matrices above: h^2 stiffness + h damping - inertia is the effect of springs, dampers and contacts over the step
     * h, nearly zero while the tool is free. */
    double inertia[36];
    /* N s/m, N s, N m s: h viscosity of it is the effect of dampers; zeros: unknown. */
    double viscosity[36];
};

/* H x = r with contacts between soft bodies, or of one with itself, held almost rigidly. The pattern of a system has
 * no blocks between their sides (solver/soft_coupling.c), and the stiffer they are, the more iterations conjugate
 * gradients would need. But they are few, and held contacts are rows: with M what the pattern has, J the rows and g
 * = 1 / (h^2 w) the compliance of each,
 *   H = M + J^T g^-1 J,   H^-1 = M^-1 - M^-1 J^T C^-1 J M^-1,   C = g + J M^-1 J^T,   J M^-1 J^T = |L^-1 P J^T|^2
 * costs half a solve per row, eight at once, and then two solves for each right-hand side. */

#define HELD_ROWS_MAX 512 /* maximum number of rows */

/* One direction of a contact. */
typedef struct held_row {
    int contact;
    vec3 direction;    /* unit, in the contact's frame */
    double compliance; /* g, 1/kg */
} held_row;

typedef struct held_rows {
    int count, max; /* rows; max is a multiple of eight */
    held_row *rows;
    double *half;        /* L^-1 P J^T: for each eight rows, 8 numbers per component */
    double *eight;       /* 8 per component */
    double *C;           /* max x max: C, then its Cholesky factor in the lower triangle */
    double *multipliers; /* max */
    double *column;      /* 3 per node */
} held_rows;

#define HANDLE_COLUMNS 6

/* Scratch for the largest system with a handle. */
typedef struct linearization {
    double *tangent;                /* 9 per block: A with the active limits and contacts */
    double *column[HANDLE_COLUMNS]; /* 3 per node: X */
    double *eight;                  /* 8 per component: interleaved right-hand sides */
    double *other[HANDLE_COLUMNS];  /* 3 per node: correction by the held rows */
    held_rows held_rows;            /* of contacts between soft bodies */
} linearization;

/* ---- Energy ledger (ledger.c) ---- */

/* A hand at the start of a step. */
typedef struct ledger_hand {
    skeleton_pose pose[HAND_BONES];
    double q[HAND_ANGLES], target[HAND_ANGLES];
} ledger_hand;

typedef struct energy_ledger {
    bool is_current;        /* `sum` has the energies of the current state */
    thenar_energy step;     /* of the current step, over its substeps */
    thenar_energy sum;      /* since time 0 */
    double floor;           /* J: gains below are never counted */
    double gain;            /* of the current step, without a source; negative: dissipated, J */
    double scale;           /* energy at its start and magnitudes of all work in it, J */
    uint64_t warnings;      /* THENAR_WARNING_ENERGY; not in the clock, whose warnings are hashed */
    double target_springs;  /* of joints and couplings at the start of the substep, J */
    ledger_hand *hands;     /* work, of each hand */
    skeleton_pose *handles; /* work, of each handle: its pose at the start of the step */
} energy_ledger;

/* ---- The simulation ---- */

#define KEPT_WARNINGS THENAR_WARNING_ENERGY /* the first ones are part of the state */

/* The part of the kept state that belongs to no body. */
typedef struct sim_clock {
    double time;
    uint64_t step_count;
    double first_time; /* time = first_time + (step_count - first_step) dt: no accumulated rounding */
    uint64_t first_step;
    uint64_t warnings[KEPT_WARNINGS];
    uint64_t max_iterations; /* per solve; 0: the maximum of the solver */
} sim_clock;

/* This struct and all arrays are one allocation. `kept` is a part of it: a snapshot copies it, the state hash covers it, and
 * a failed step restores it from `backup`. */
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
    body_state **members; /* states of the bodies in the order of the systems */
    system_state *systems;
    contact_state contacts;
    linearization linearization;
    energy_ledger ledger;
    sim_clock *clock; /* in kept */
    thenar_stats stats;
    char *kept;
    char *backup;
    size_t kept_size;
};

/* The soft body, rigid body, hand or handle of that index; a wrong index is an assert. */
soft_state *sim_soft(const thenar_sim *sim, int body);
rigid_state *sim_rigid(const thenar_sim *sim, int body) SHARED(sim_rigid);
hand_state *sim_hand(const thenar_sim *sim, int hand);
handle_state *sim_handle(const thenar_sim *sim, int handle) SHARED(sim_handle);
bones_state *sim_bones(const thenar_sim *sim, int bones);

/* Whether all kept numbers are finite, and no body is too far away. */
bool sim_is_finite(const thenar_sim *sim);

/* Replaces the kept state, or rejects the new one and changes nothing. what: begins the error message. */
thenar_status sim_take_state(thenar_sim *sim, const char *state, const char *what, thenar_error *error)
    SHARED(sim_take_state);

/* A handle for the haptic loop; its matrices are zero if it is not linearized. */
void sim_handle_linear(const thenar_sim *sim, int handle, struct haptic_linear *linear) SHARED(sim_handle_linear);

/* The last stage of a step. Handles that are not linearized, or whose system cannot be factored, get no result. */
void linearize_handles(linearization *state, const thenar_model *model, thenar_sim *sim, const body_step *step);
void linearization_layout(linearization *state, const thenar_model *model, arena *work);

void ledger_layout(energy_ledger *ledger, const thenar_model *model, arena *work);
/* Starts an attempt at a whole step. */
void ledger_start(thenar_sim *sim);
/* Before and after a substep; `after` when the forces are published. */
void ledger_before(thenar_sim *sim);
void ledger_after(thenar_sim *sim, const body_step *step);
/* Whether the attempt gained more energy than a step may. */
bool ledger_gains(const thenar_sim *sim);
/* Adds the attempt to the statistics and sums. */
void ledger_take(thenar_sim *sim);

#endif
