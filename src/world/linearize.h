/* What the simulation tells the haptic loop of one handle at the end of a step (garre2009 section 5): the force of the
 * tool on the handle and how it changes as the handle moves,
 *     F(x, v) = force - stiffness (x - pose) - damping (v - velocity).
 * Six numbers are linear first, angular second, in the world's axes, moments about the handle's origin; a small turn is
 * its rotation vector. Both matrices are symmetric and positive semidefinite, row after row. */
#ifndef WORLD_LINEARIZE_H
#define WORLD_LINEARIZE_H

#include "body/body.h"
#include "solver/solver.h"
#include "world/model.h"

#include <stdint.h>

struct haptic_linear {
    double position[3];    /* m, the handle's origin */
    double orientation[4]; /* xyzw */
    double velocity[6];    /* m/s, rad/s */
    double force[6];       /* N, N m */
    double stiffness[36];  /* N/m, N, N m */
    double damping[36];    /* N s/m, N s, N m s */
    double time;           /* s, simulated time at the end of the step */
    double step_length;    /* s, simulated */
    uint64_t step;         /* counts from 1; 0: nothing has been told yet */
    int64_t published_ns;  /* the monotonic clock (base/clock.h) when it was told */
    int contacts;          /* how many contacts the tool has; 0: the tool is free */
    double inertia[36];   /* kg, kg m, kg m^2: mass that goes along with the handle (the tool's, and of what it pushes).
                            * It is part of the matrices above: h^2 stiffness + h damping - inertia is what springs,
                            * dampers and contacts do over the step h, and is nearly zero while the tool is free. */
    double viscosity[36]; /* N s/m, N s, N m s: h viscosity of it is what dampers do; zeros: not known */
};

/* H x = r with contacts between soft bodies, or of one with itself, held all but firmly. The pattern of a system has no
 * blocks between their sides (solver/crossing.h); conjugate gradients would need the more steps the firmer they are.
 * But they are few, and held ones are rows: with M what the pattern has, J the rows and g = 1 / (h^2 w) by how much
 * each gives,
 *   H = M + J^T g^-1 J,   H^-1 = M^-1 - M^-1 J^T C^-1 J M^-1,   C = g + J M^-1 J^T,   J M^-1 J^T = |L^-1 P J^T|^2
 * costs half a solve a row, eight at once, and then two solves for each right-hand side. */

#define HELD_ROWS_MAX 512 /* at most */

/* One direction of a contact. */
typedef struct held_row {
    int contact;
    vec3 direction; /* unit, in the contact's frame */
    double give;    /* g, over kg */
} held_row;

typedef struct held_rows {
    int count, max; /* rows; most is a multiple of eight */
    held_row *rows;
    double *half;     /* L^-1 P J^T: for each eight rows, 8 numbers for each component */
    double *eight;    /* 8 for each component */
    double *C;        /* most x most: its Cholesky factor, below the diagonal */
    double *multiple; /* most */
    double *column;   /* 3 a node */
} held_rows;

/* What a handle's motion does to its tool and to the force between them, at the end of a step. See linearize.c. */

struct thenar_sim;

#define HANDLE_COLUMNS 6

/* Work, as large as the largest system with a handle needs it. */
typedef struct linearization {
    double *tangent;                /* 9 a block: A with the limits and contacts that pushed */
    double *column[HANDLE_COLUMNS]; /* 3 a node: X */
    double *eight;                  /* 8 for each of them: right-hand sides side by side */
    double *other[HANDLE_COLUMNS];  /* the same again: what contacts that cross take from them */
    held_rows held_rows;            /* these contacts */
} linearization;

/* Once a step, after all else. Handles that are not asked for, or whose system cannot be factored, have none. */
void linearize_handles(linearization *state, const thenar_model *model, struct thenar_sim *sim, const body_step *step);

void linearization_layout(linearization *state, const thenar_model *model, arena *work);

/* What of a handle's resistance over a step is mass, and what is dampers (linearize.c has S and X). */

#endif
