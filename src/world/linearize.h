/* What a handle's motion does to its tool and to the force between them, at the end of a step. See linearize.c. */
#ifndef WORLD_LINEARIZE_H
#define WORLD_LINEARIZE_H

#include "solver/pinned.h"
#include "world/model.h"

struct thenar_sim;

#define HANDLE_COLUMNS 6

/* Work, as large as the largest system with a handle needs it. */
typedef struct linearization {
    double *tangent;                /* 9 a block: A with the limits and contacts that pushed */
    double *column[HANDLE_COLUMNS]; /* 3 a node: X */
    double *eight;                  /* 8 for each of them: right-hand sides side by side */
    double *other[HANDLE_COLUMNS];  /* the same again: what contacts that cross take from them */
    pinned pinned;                  /* these contacts */
} linearization;

/* Once a step, after all else. Handles that are not asked for, or whose system cannot be factored, have none. */
void linearize_handles(linearization *state, const thenar_model *model, struct thenar_sim *sim, const body_step *step);

void linearization_layout(linearization *state, const thenar_model *model, arena *work);

#endif
