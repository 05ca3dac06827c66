/* The linearization of the force on a handle, which the simulation publishes to the haptic loop at the end of a step
 * (garre2009, section 5): the force of the tool on the handle and its derivatives with respect to the motion of the
 * handle,
 *     F(x, v) = force - stiffness (x - pose) - damping (v - velocity).
 * Vectors of six are linear first, angular second, in world axes, with moments about the origin of the handle; a
 * small rotation is its rotation vector. Both matrices are symmetric and positive semidefinite, row-major. */
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
    double *half;     /* L^-1 P J^T: for each eight rows, 8 numbers per component */
    double *eight;    /* 8 per component */
    double *C;        /* max x max: C, then its Cholesky factor in the lower triangle */
    double *multiple; /* max */
    double *column;   /* 3 per node */
} held_rows;

/* The response of a tool, and of the force on its handle, to the motion of the handle at the end of a step. See
 * linearize.c. */

struct thenar_sim;

#define HANDLE_COLUMNS 6

/* Scratch for the largest system with a handle. */
typedef struct linearization {
    double *tangent;                /* 9 per block: A with the active limits and contacts */
    double *column[HANDLE_COLUMNS]; /* 3 per node: X */
    double *eight;                  /* 8 per component: interleaved right-hand sides */
    double *other[HANDLE_COLUMNS];  /* 3 per node: correction by the held rows */
    held_rows held_rows;            /* of contacts between soft bodies */
} linearization;

/* Runs once per step, after everything else. Handles without a device, or whose system cannot be factored, get none. */
void linearize_handles(linearization *state, const thenar_model *model, struct thenar_sim *sim, const body_step *step);

void linearization_layout(linearization *state, const thenar_model *model, arena *work);

#endif
