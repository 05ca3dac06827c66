/* A solver behind one small interface; `--solver NAME` chooses it. One file each; the table is in solver.c. */
#ifndef SOLVER_SOLVER_H
#define SOLVER_SOLVER_H

#include "solver/problem.h"

#define SOLVER_STATE_LARGEST 1024 /* bytes: a state holds pointers and a few numbers */

typedef struct solver_class {
    const char *name;
    const char *summary; /* one line for --help */
    size_t state_size;   /* of the solver's own struct, at most SOLVER_STATE_LARGEST */
    bool takes_links;    /* of the problem; one that knows A by its factor alone never ends well with them */
    int hurried; /* iterations that leave the next step a good start, where time is short; 0: it must not be cut short */
    /* Takes the arrays of a state from the arena, which may be measuring (base/arena.h). problem: pattern, bodies,
     * first_node and the factor's plan are set, the rest is not. Nothing is allocated later. */
    void (*layout)(void *state, const solver_problem *problem, arena *work);
    /* Whether A must be factored and v be the free motion before solve is called; NULL: always. */
    bool (*needs_free_motion)(const solver_problem *problem);
    /* False if the step cannot be done (a factorization failed); otherwise v and the report are set. */
    bool (*solve)(void *state, const solver_problem *problem, solver_report *report);
} solver_class;

/* The default is the first. */
extern const solver_class *const solver_table[];
extern const int solver_count;

/* The solver of that name, or NULL. */
const solver_class *solver_find(const char *name);

#endif
