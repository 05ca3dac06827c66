/* What a handle's motion does to its tool and to the force between them, at the end of a step. See linearize.c. */
#ifndef WORLD_LINEARIZE_H
#define WORLD_LINEARIZE_H

#include "world/model.h"

struct thenar_sim;

#define HANDLE_COLUMNS 6

/* Work, as large as the largest system with a handle needs it. */
typedef struct linearization {
    double *tangent;                /* 9 a block: A with the limits and contacts that pushed */
    double *column[HANDLE_COLUMNS]; /* 3 a node: X */
    double *eight;                  /* 8 for each of them: right-hand sides side by side */
    /* of conjugate gradients, 3 a node: residual, that solved, direction, its product without and with what crosses */
    double *r[HANDLE_COLUMNS], *z[HANDLE_COLUMNS], *p[HANDLE_COLUMNS], *m[HANDLE_COLUMNS], *q;
    mat3 *stiffness; /* of the contacts that cross, N/m */
    int *crossing;   /* which these are */
    int crossing_count;
} linearization;

/* Once a step, after all else. Handles that are not asked for, or whose system cannot be factored, have none. */
void linearize_handles(linearization *state, const thenar_model *model, struct thenar_sim *sim, const body_step *step);

void linearization_layout(linearization *state, const thenar_model *model, arena *work);

#endif
