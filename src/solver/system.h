/* The linear system A v = b of one body, or of an island of bodies that may touch.
 *
 * Bodies contribute nodes and blocks (body/body.h); the system owns the pattern, the ordering and the factor. */
#ifndef SOLVER_SYSTEM_H
#define SOLVER_SYSTEM_H

#include "body/body.h"
#include "contact/contact.h"
#include "solver/solver.h"
#include "sparse/cholesky.h"

typedef struct system_model {
    int body_count;
    int *bodies;     /* indices in the model */
    int *first_node; /* of each body */
    block_pattern pattern;
    cholesky_plan *plan;   /* NULL if nothing can move */
    int handle_nodes;      /* of the handles, which come last */
    coupled_model coupled; /* Schur complement of the handles, if there are any */
    bool limited;          /* some body has limits and can move */
    int max_contacts;      /* capacity; 0: its bodies touch nothing */
    bool couples_soft;     /* some contacts may be between soft bodies, or of one with itself */
} system_model;

typedef struct system_state {
    body_state *const *bodies; /* the states of its bodies, in its order */
    double *blocks;            /* 9 per block of the pattern: A */
    double *b;                 /* 3 per node, kg m/s */
    double *v;                 /* 3 per node, m/s */
    double *product;           /* 3 per node: A v, for the residual */
    double *untouched_blocks;  /* A and b without spring contacts; NULL if nothing may touch */
    double *untouched_b;
    contact_link *links; /* max_contacts: of spring contacts between soft bodies */
    int link_count;
    soft_coupling soft_coupling;
    cholesky_factor factor;
    coupled_state coupled; /* if handles are solved separately; else without a model */
    void *solver;          /* state of the solver, if the system is constrained */
    contact *contacts;     /* of this step */
    int contact_count;
    patch *patches; /* of this step, if contacts are aggregated; then the solver gets these and no contacts */
    int patch_count, max_patches, patch_rows;
    patch_forces stabilizer;
    double *displacement; /* 3 per node, m: position stabilization of patches, if is_displaced */
    bool is_displaced;
    bool is_due;          /* must be solved in this pass of the step */
    bool continues;       /* was solved in the last pass, with other spring contacts */
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
    int max_patches; /* of aggregated contacts; 0: contacts are not aggregated */
    int patch_rows;  /* rows per patch */
} system_choice;

/* Creates the system of some bodies of a model, and binds them to their blocks. Takes ownership of `bodies`. */
thenar_status system_create(body_model *const *all_bodies, int *bodies, int body_count, const contact_model *contacts,
                            system_model *out, thenar_error *error);
void system_free(system_model *system);

void system_layout(system_state *state, const system_model *system, const system_choice *choice,
                   body_state *const *bodies, arena *work);

/* Whether the system needs a solver: some body has limits or may touch another. */
static inline bool system_is_constrained(const system_model *system) {
    return system->limited || system->max_contacts > 0;
}

/* The view of the system for solvers. */
solver_problem system_problem(system_state *state, const system_model *system, const body_step *step);

/* The view of the system for its contacts. */
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
