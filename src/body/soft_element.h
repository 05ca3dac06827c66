/* The element kernel of the soft body: eight tets at a time. See soft_element.c for the equations. */
#ifndef BODY_SOFT_ELEMENT_H
#define BODY_SOFT_ELEMENT_H

#include "body/soft_fibre.h"
#include "math/simd.h"

#include <limits.h>
#include <stdbool.h>

#define SOFT_PAIRS 10 /* node pairs (a, b) with a >= b of a tet: index a (a + 1) / 2 + b */

/* What the kernel leaves of each tet, for the gathering: ten blocks of A (9 doubles each, row-major, row node a, column
 * node b), the four nodes' parts of b, padded to whole SIMD registers. */
#define SOFT_RECORD 104
#define SOFT_RECORD_FORCE 90
#define SOFT_RECORD_FORCE_GROUP 88 /* the register of eight that the forces start in */

/* Offsets in the records are ints: so many tets can a body have, in whole batches. */
#define SOFT_TETS_MOST (INT_MAX / SOFT_RECORD / SIMD_LANES * SIMD_LANES)

#define SOFT_NO_LIMIT 1e30

/* Eight tets, structure of arrays. A tet's nodes are in ascending order, so that block (a, b) always lies in the lower
 * triangle. The last batch is padded with copies of its last tet that have no volume. */
typedef struct soft_batch {
    f64x8 gradient[9];  /* X0^-1: row a is the gradient of the shape function of node a + 1 */
    f64x8 lambda;       /* volume times Lame's first parameter, N m */
    f64x8 mu;           /* volume times shear modulus, N m */
    f64x8 beta;         /* Rayleigh beta, s */
    f64x8 s_min, s_max; /* strain limits; without one -+SOFT_NO_LIMIT */
    f64x8 stiffness;    /* volume times Young's modulus, N m: the unit of the limits' penalty */
    f64x8 edge;         /* mean edge length in the rest shape, m (perez2013, section 4.3) */
    int node[4][SIMD_LANES];
    int tet_count;             /* 1..8 real tets */
    bool has_held;             /* some node of some tet is held by a support */
    bool limited;              /* some tet has a strain limit */
    const soft_fibres *fibres; /* limits along directions, or NULL */
} soft_batch;

/* G = X X0^-1 of eight tets at x, row-major. */
void soft_element_gradient(const soft_batch *batch, const double *x, f64x8 G[9]);

/* SOFT_RECORD lanes of values to SIMD_LANES records, from entry `first` on (a multiple of SIMD_LANES). */
void soft_element_store(const f64x8 *values, int first, double *records);

/* U diag(s) V^T of G at x; V (in/out) is where the decomposition starts and ends. */
void soft_element_decompose(const soft_batch *batch, const double *x, f64x8 U[9], f64x8 s[3], f64x8 *V);

/* Rotations, elastic forces and warped stiffness of a batch.
 *   x: node positions; held_velocity: velocities of held nodes, 0 elsewhere; h: time step
 *   warm (9, in/out): V of the decomposition; rotation (9, out): R
 *   records: SIMD_LANES records, out. Returns how many tets are inverted. */
int soft_element_formulate(const soft_batch *batch, const double *x, const double *held_velocity, double h, f64x8 *warm,
                           f64x8 *rotation, double *records);

/* out = (h^2 + h beta) K w of each tet, w gathered from 3-vectors per node; out: 3 * 4 vectors, [3 * a + i]. */
void soft_element_stiffness_times(const soft_batch *batch, const f64x8 *rotation, const double *w, double h,
                                  f64x8 out[12]);

/* Signed singular values of a batch's deformation gradients at x, largest first. */
void soft_element_stretches(const soft_batch *batch, const double *x, f64x8 s[3]);

/* Elastic energy of a batch, J: the sum over its tets. */
double soft_element_energy(const soft_batch *batch, const double *x);

#endif
