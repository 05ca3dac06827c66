/* The soft body: linear corotational finite elements on tets (perez2013, section 3.1), lumped mass, Rayleigh damping,
 * implicit Euler with linearized forces (perez2013, Eq. 12), and strain limits.
 *
 * Nodes held by supports are not unknowns: the system contains the free nodes only, in mesh order. soft_model.c builds
 * the model, soft_element.c has the element kernel, soft_limit.c the strain limits, soft_step.c the stages of a step.
 * Kernels work on eight tets at a time. */
#ifndef BODY_SOFT_H
#define BODY_SOFT_H

#include "body/body.h"
#include "core/error.h"
#include "core/simd.h"
#include "sparse/reduction.h"

#include "thenar/model.h"

#include <limits.h>
#include <stdbool.h>

/* Limits on the stretch along given rest directions (fibres): the anisotropic part of the strain limits.
 *
 * For a unit direction e of the rest shape and a scaled multiplier y, t = G e + y, r = |t|, n = t / r:
 *   term (w / 2) delta^2,   delta = r - clamp(r),   w = h^2 rho Vol
 *   gradient at node a:  w delta n (e . g_a)
 *   Hessian between nodes a and b:  w (e . g_a)(e . g_b) (1[delta != 0] n n^T + max(0, delta / r)(I - n n^T))
 *   as a row (perez2013 Eq. 11 for |G e| instead of s): dC/dx_a = +-(e . g_a) n
 * Up to SOFT_FIBRES directions per tet. */
#define SOFT_FIBRES 3

typedef struct soft_fibres {
    f64x8 direction[SOFT_FIBRES][3]; /* unit; zero where a tet has none */
    f64x8 min[SOFT_FIBRES], max[SOFT_FIBRES];
} soft_fibres;

typedef struct soft_fibre_point {
    f64x8 n[SOFT_FIBRES][3], r[SOFT_FIBRES], delta[SOFT_FIBRES];
} soft_fibre_point;

/* G row-major; Y: 3 per fibre. */
SIMD_INLINE void soft_fibre_evaluate(const soft_fibres *fibres, const f64x8 G[9], const f64x8 *Y,
                                     soft_fibre_point *point) {
    SIMD_FOR (k, 0, SOFT_FIBRES) {
        const f64x8 *e = fibres->direction[k];
        f64x8 t[3], square = f64x8_set(0);
        SIMD_FOR (i, 0, 3) {
            t[i] = f64x8_fma(G[3 * i], e[0], f64x8_fma(G[3 * i + 1], e[1], G[3 * i + 2] * e[2])) + Y[3 * k + i];
            square = f64x8_fma(t[i], t[i], square);
        }
        f64x8 r = f64x8_sqrt(square);
        i64x8 some = r > f64x8_set(1e-12); /* a fibre collapsed to a point has no direction */
        f64x8 scale = f64x8_select(some, 1.0 / f64x8_select(some, r, f64x8_set(1)), f64x8_set(0));
        SIMD_FOR (i, 0, 3) point->n[k][i] = scale * t[i];
        point->r[k] = r;
        point->delta[k] = f64x8_select(some, r - f64x8_max(fibres->min[k], f64x8_min(fibres->max[k], r)), f64x8_set(0));
    }
}

/* Lanes of the sum over the fibres of delta^2. */
SIMD_INLINE f64x8 soft_fibre_squares(const soft_fibre_point *point) {
    f64x8 sum = f64x8_set(0);
    SIMD_FOR (k, 0, SOFT_FIBRES) sum = f64x8_fma(point->delta[k], point->delta[k], sum);
    return sum;
}

/* e . g_a of the four nodes. */
SIMD_INLINE void soft_fibre_along(const f64x8 e[3], const f64x8 gradient[9], f64x8 along[4]) {
    SIMD_FOR (a, 1, 4) {
        const f64x8 *g = gradient + 3 * (a - 1);
        along[a] = f64x8_fma(e[0], g[0], f64x8_fma(e[1], g[1], e[2] * g[2]));
    }
    along[0] = -(along[1] + along[2] + along[3]);
}

/* Adds the negative gradient to nodal[3 a + i]. */
SIMD_INLINE void soft_fibre_add_forces(const soft_fibres *fibres, const soft_fibre_point *point,
                                       const f64x8 gradient[9], f64x8 w, f64x8 *nodal) {
    SIMD_FOR (k, 0, SOFT_FIBRES) {
        f64x8 along[4];
        soft_fibre_along(fibres->direction[k], gradient, along);
        SIMD_FOR (a, 0, 4)
            SIMD_FOR (i, 0, 3) nodal[3 * a + i] -= w * point->delta[k] * along[a] * point->n[k][i];
    }
}

/* Adds the Hessian to ten blocks. convex: without max(0, .) it is exact, and may be indefinite. */
SIMD_INLINE void soft_fibre_add_blocks(const soft_fibres *fibres, const soft_fibre_point *point,
                                       const f64x8 gradient[9], f64x8 w, bool convex, f64x8 *blocks) {
    const f64x8 zero = f64x8_set(0), one = f64x8_set(1);
    for (int k = 0; k < SOFT_FIBRES; k++) {
        f64x8 along[4], core[9];
        soft_fibre_along(fibres->direction[k], gradient, along);
        const f64x8 *n = point->n[k];
        f64x8 radial = f64x8_select(point->delta[k] != zero, w, zero);
        i64x8 curved = convex ? point->delta[k] > zero : point->r[k] > f64x8_set(0.01);
        f64x8 across = f64x8_select(curved, w * point->delta[k] / f64x8_select(curved, point->r[k], one), zero);
        SIMD_FOR (i, 0, 3)
            SIMD_FOR (j, 0, 3) core[3 * i + j] = (radial - across) * n[i] * n[j] + (i == j ? across : zero);
        SIMD_FOR (a, 0, 4)
            SIMD_FOR (b, 0, a + 1) {
                f64x8 scale = along[a] * along[b];
                SIMD_FOR (i, 0, 9) {
                    f64x8 *entry = &blocks[9 * (a * (a + 1) / 2 + b) + i];
                    *entry = f64x8_fma(scale, core[i], *entry);
                }
            }
    }
}

/* The element kernel; see soft_element.c for the equations. */

/* Output of the kernel per tet, for gathering: the blocks of A of its ten pairs of nodes a >= b, at index
 * a (a + 1) / 2 + b (9 doubles each, row-major, row node a, column node b),
 * and the four nodes' parts of b, padded to whole SIMD registers. */
#define SOFT_RECORD 104
#define SOFT_RECORD_FORCE 90
#define SOFT_RECORD_FORCE_GROUP 88 /* the register of eight in which the forces start */

/* Offsets in the records are ints, which bounds the number of tets of a body, in whole batches. */
#define SOFT_TETS_MAX (INT_MAX / SOFT_RECORD / SIMD_LANES * SIMD_LANES)

#define SOFT_NO_LIMIT 1e30

/* Eight tets, structure of arrays. The nodes of a tet are in ascending order, so that block (a, b) always lies in the
 * lower triangle. The last batch is padded with copies of its last tet that have zero volume. */
typedef struct soft_batch {
    f64x8 gradient[9];  /* X0^-1: row a is the gradient of the shape function of node a + 1 */
    f64x8 lambda;       /* volume times Lame's first parameter, N m */
    f64x8 mu;           /* volume times shear modulus, N m */
    f64x8 beta;         /* Rayleigh beta, s */
    f64x8 s_min, s_max; /* strain limits; without one -+SOFT_NO_LIMIT */
    f64x8 stiffness;    /* volume times Young's modulus (at least 30 kPa), N m: the unit of the limit penalty */
    f64x8 edge;         /* mean edge length in the rest shape, m (perez2013, section 4.3) */
    int node[4][SIMD_LANES];
    int tet_count;             /* 1..8 real tets */
    bool has_held;             /* some node of some tet is held by a support */
    bool limited;              /* some tet has a strain limit */
    const soft_fibres *fibres; /* limits along directions, or NULL */
} soft_batch;

/* G = X X0^-1 of eight tets at x, row-major. */
void soft_element_gradient(const soft_batch *batch, const double *x, f64x8 G[9]);

/* Stores SOFT_RECORD lanes of values in SIMD_LANES records, from entry `first` on (a multiple of SIMD_LANES). */
void soft_element_store(const f64x8 *values, int first, double *records);

/* U diag(s) V^T of G at x. V (in/out) is the start and the result of the decomposition. */
void soft_element_decompose(const soft_batch *batch, const double *x, f64x8 U[9], f64x8 s[3], f64x8 *V);

/* Rotations, elastic forces and warped stiffness of a batch.
 *   x: node positions; held_velocity: velocities of held nodes, 0 elsewhere; h: time step
 *   warm (9, in/out): V of the decomposition; rotation (9, out): R
 *   records: SIMD_LANES records, out. Returns the number of inverted tets. */
int soft_element_formulate(const soft_batch *batch, const double *x, const double *held_velocity, double h, f64x8 *warm,
                           f64x8 *rotation, double *records);

/* out = (h^2 + h beta) K w of each tet, w gathered from 3-vectors per node; out: 3 * 4 vectors, [3 * a + i]. */
void soft_element_stiffness_times(const soft_batch *batch, const f64x8 *rotation, const double *w, double h,
                                  f64x8 out[12]);

/* Signed singular values of the deformation gradients of a batch at x, largest first. */
void soft_element_stretches(const soft_batch *batch, const double *x, f64x8 s[3]);

/* Elastic energy of a batch at x, J. frozen: adds the energy that a step takes for it, with the rotation (9) of its start;
 * NULL: is not computed. */
double soft_element_energy(const soft_batch *batch, const double *x, const f64x8 *rotation, double *frozen);

/* Strain limits; see soft_limit.c for the equations. */

/* F = G(x) + Y = U diag(f) V^T of eight tets, and the violation d = f - clamp(f). */
typedef struct soft_limit_point {
    f64x8 U[9], V[9], f[3], d[3];
    soft_fibre_point fibre; /* if the batch has fibres; zero otherwise */
} soft_limit_point;

#define SOFT_MULTIPLIERS 18 /* per batch: the 9 of Y, then 3 per fibre */

/* Evaluates the limits at x with scaled multipliers Y (SOFT_MULTIPLIERS). point->V is the start and the result of the
 * decomposition. */
void soft_limit_decompose(const soft_batch *batch, const double *x, const f64x8 *Y, soft_limit_point *point);

/* Sum of the tets' terms of the augmented Lagrangian, divided by weight = h^2 rho / E (s^2): N m. */
double soft_limit_energy(const soft_batch *batch, const soft_limit_point *point);

/* How far eight tets are from the optimum. |G - P(F)| = |D - Y| bounds both the violation of the limits (P lies within
 * them) and the complementarity error of the multipliers. */
typedef struct soft_limit_measures {
    double distance; /* largest |G - P(F)| */
    int active;      /* singular values held at a limit */
} soft_limit_measures;

/* The negative gradient and the ten blocks of the Hessian: whole records. convex: with max(0, .), without negative
 * directions; otherwise exact. */
void soft_limit_blocks(const soft_batch *batch, const soft_limit_point *point, double weight, bool convex,
                       double *records);

typedef struct soft_model {
    body_model base;
    thenar_tet_mesh mesh;
    thenar_surface surface;
    thenar_embedding embedding;
    double *contact_spacing; /* of each vertex: target spacing of contact points, m; NULL: every vertex is one */
    int *contact_groups;     /* of each vertex of the surface: its label for contact patches; NULL: all the same */

    double *mass;         /* node_count, kg */
    double *damped_mass;  /* node_count: mass times Rayleigh alpha, kg/s */
    double *load;         /* 3 node_count: constant forces, N */
    double *velocity;     /* 3 node_count: at time 0, m/s */
    double *stiffness;    /* node_count: of the spring to its support, N/m; 0 without one */
    double *damping;      /* node_count: of that spring, N s/m */
    double volume;        /* of the filled part, m^3 */
    bool weightless;      /* gravity does not act on it */
    double self_distance; /* m; 0: no self-contact */

    int batch_count;
    soft_batch *batches;
    soft_fibres *fibres; /* batch_count, or NULL: limits along fibres */

    int support_count;
    support_model *supports;
    /* Of each node, if it moves with bones: nodes of `carrier_body`, counted within that body, -1 after the last. Such a
     * node is an unknown of the system, but depends on these (sparse/reduction.h). NULL: all nodes move by themselves. */
    int (*carriers)[REDUCTION_CARRIERS];
    int carrier_body; /* index in the world's model */
    int *system_node; /* node_count: unknown of a node, counted within the body, or -1 if it is held */

    /* Assembly by gathering: block i of the body is the sum of the element blocks block_source[block_start[i]] up to
     * block_start[i + 1], in ascending order of tets; likewise for the force on free node i. Each sum has one owner
     * and one order, so it is the same for any number of threads. */
    int block_count;
    int *block_target;    /* block_count: index of the block in the system */
    int *block_start;     /* block_count + 1 */
    int *block_source;    /* offset of an element block in the records */
    int *diagonal_node;   /* block_count: the mesh node of a diagonal block, -1 for others */
    int *force_start;     /* node_count + 1 */
    int *force_source;    /* offset of an element's nodal force in the records */
    int (*tet_block)[10]; /* per tet: indices of its blocks in the system, -1 at held nodes */
} soft_model;

typedef struct soft_state {
    body_state base;
    /* Saved state. */
    double *x;             /* 3 node_count, m */
    double *v;             /* 3 node_count, m/s */
    double *change;        /* 3 node_count, m/s: change of v in the last step */
    double *applied;       /* 3 node_count, N */
    double *force;         /* 3 node_count, N: as returned by thenar_sim_forces */
    double *touched;       /* node_count: weight of active contacts on a node in the last step, 0 to 1 */
    double *contact_force; /* 3 node_count, N: of contacts on a node in the last step; only of flesh on bones */
    f64x8 *warm;           /* 9 per batch: V of the last decomposition, the start of the next one */
    f64x8 *multiplier;     /* 9 per batch: scaled multipliers Y of the strain limits, if there are any */
    support_state *support_states;
    /* Work memory. */
    double *target_velocity;   /* 3 node_count: of held nodes; 0 for free ones */
    double *spring_pull;       /* 3 node_count: force of a spring on a node that does not move within the step, N */
    double *previous_velocity; /* 3 node_count: at the start of the step */
    double *free_velocity;     /* 3 node_count: of free nodes at the end of the step; 0 for held ones */
    f64x8 *rotation;           /* 9 per batch */
    double *records;           /* SOFT_RECORD per tet (padded to whole batches) */
    int *inverted;             /* per batch: inverted tets found by formulate */
    /* Work memory, if there are strain limits. */
    double *trial;                  /* 3 node_count: evaluation point of the limits */
    soft_limit_point *limit_points; /* per batch: G + Y at trial */
    bool *limit_warm;               /* per batch: some multiplier is nonzero, or is treated so */
    bool *limit_quiet;              /* per batch: far from its limits at trial; its limit_points are not evaluated */
    unsigned *limit_pushes;         /* per batch, a bit for each tet: some limit is active */
    double *limit_records;          /* of tets with an active limit: its gradient and Hessian, as records */
    double *limit_impulse;          /* 3 node_count: on held nodes, from solvers that work on rows, kg m/s */
} soft_state;

/* Checks the definition and builds the model. The caller keeps the definition. */
thenar_status soft_model_create(const thenar_soft_def *def, soft_model **out, thenar_error *error);

extern const body_class soft_class;
extern const body_limits soft_limits;

static inline const soft_model *soft_of(const soft_state *state) {
    return (const soft_model *)state->base.model;
}

/* Readers behind the public API. */
void soft_stretches(const soft_state *state, double *values);
void soft_support_wrench(const soft_state *state, int support, vec3 *force, vec3 *torque);

/* Parallel work is split into pieces of 15 to 30 us on one core, so that distributing them (some us) pays off: a hand
 * of 600 tets is two pieces, a bunny of 5,800 about twenty. With one thread it makes no difference; with two threads
 * on free cores a hand is formulated in 32 us instead of 50. */
#define SOFT_BATCHES_PER_PIECE 40
#define SOFT_BLOCKS_PER_PIECE 768

static inline int soft_piece_count(int items, int per_piece) {
    return (items + per_piece - 1) / per_piece;
}

/* First item of a piece when `items` are distributed evenly. */
static inline int soft_share(int items, int piece, int pieces) {
    return (int)((long long)items * piece / pieces);
}

/* The strain limits of a soft body as rows; the functions are those of body_limits (body/body.h). */

/* Couplings of the elements and their blocks in the system. */

bool soft_couple(const body_model *base, int first_node, body_couplings *couplings);
thenar_status soft_bind(body_model *base, const block_pattern *pattern, int first_node, thenar_error *error);

#endif
