/* A system: the linear equations A v = b of one body, or of an island of bodies that touch.
 *
 * Bodies contribute block nodes and blocks (body/body.h); the system owns the pattern, the ordering and the factor. */
#ifndef SOLVER_SYSTEM_H
#define SOLVER_SYSTEM_H

#include "body/body.h"
#include "contact/contact.h"
#include "solver/solver.h"
#include "sparse/cholesky.h"

typedef struct system_model {
    int body_count;
    int *bodies;     /* indices in the model */
    int *first_node; /* of each body's unknowns */
    block_pattern pattern;
    cholesky_plan *plan;   /* NULL when nothing is free to move */
    int handle_nodes;      /* of the handles, the last ones */
    coupled_model coupled; /* the handles apart from the rest, if there are any */
    bool limited;          /* some body has limits and is free to move */
    int max_contacts;      /* that its bodies can have at a time; 0: they touch nothing */
    bool couples_soft;     /* some of these are between soft bodies, or of one with itself */
} system_model;

typedef struct system_state {
    body_state *const *bodies; /* the states of its bodies, in its order */
    double *blocks;            /* 9 per block of the pattern: A */
    double *b;                 /* 3 per node, kg m/s */
    double *v;                 /* 3 per node, m/s */
    double *product;           /* 3 per node: A v, for the residual */
    double *untouched_blocks;  /* A and b without contacts by springs; NULL where nothing touches */
    double *untouched_b;
    contact_link *links; /* max_contacts: of contacts by springs that cross */
    int link_count;
    soft_coupling soft_coupling;
    cholesky_factor factor;
    coupled_state coupled; /* where handles are solved apart; else it has no model */
    void *solver;          /* the solver's own state, if there is work for it */
    contact *contacts;     /* of this step */
    int contact_count;
    patch *patches; /* of this step, where contacts are aggregated: then the solver sees these, and no contacts */
    int patch_count, max_patches, patch_rows;
    patch_forces stabilizer;
    double *displacement; /* 3 per node, m: by which patches come out of what they are in, or is_displaced is false */
    bool is_displaced;
    bool is_due;          /* to be solved in this pass of the step */
    bool continues;       /* it was in the last one too, with other springs */
    solver_report report; /* of its last solve */
    solver_tolerances tolerance;
    solver_friction friction;
    bool uncondensed;          /* see solver_problem */
    const solver_trace *trace; /* or NULL */
} system_state;

/* How a simulation solves its systems. */
typedef struct system_choice {
    const solver_class *solver;
    coupling_method coupling;
    int max_patches; /* that contacts are aggregated to; 0: they are not */
    int patch_rows;  /* of each */
} system_choice;

/* The system of some bodies of a model, which remember where their blocks are. `bodies` is taken over. */
thenar_status system_create(body_model *const *all_bodies, int *bodies, int body_count, const contact_model *contacts,
                            system_model *out, thenar_error *error);
void system_free(system_model *system);

void system_layout(system_state *state, const system_model *system, const system_choice *choice,
                   body_state *const *bodies, arena *work);

/* A solver has work: some body has limits or may touch another. */
static inline bool system_is_constrained(const system_model *system) {
    return system->limited || system->max_contacts > 0;
}

/* The system as a solver sees it. */
solver_problem system_problem(system_state *state, const system_model *system, const body_step *step);

/* The system as its contacts see it. */
contact_equations system_equations(system_state *state, const system_model *system, const body_step *step);

/* Position stabilization of the patches after the solve: sets the displacement, if one is needed (talvas2015, section
 * 3.2; adaptive patches do without). */
void system_displace_patches(system_state *state, const system_model *system, const body_step *step);

/* A = L L^T; false if A is not positive definite. */
bool system_factor(system_state *state, const system_model *system, workers *pool);

/* v = A^-1 b */
void system_solve(system_state *state, const system_model *system, const body_step *step);

/* |A v - b| / |b|, 0 if b is. */
double system_residual(system_state *state, const system_model *system, const body_step *step);

#endif
