/* Aggregated contact: patches instead of points (talvas2015, section 3). patch.c makes the patches of a step,
 * patch_law.c has the distribution of pressure and the law of friction.
 *
 * Coulomb-Contensou friction: what a patch can bear against sliding and spinning at once (talvas2015, section 3.4,
 * after Leine and Glocker 2003, A set-valued force law for spatial Coulomb-Contensou friction).
 *
 * A patch slides with velocity v and spins with w about its normal, so its point i moves with v + w q_i, q_i = n x
 * r_i, and bears its share of mu N against that. With mu N = 1 the dissipation, the velocity potential of Eq. 17, is
 *
 *   Phi(v, w) = sum_i share_i |v + w q_i|
 *
 * Friction (two forces, one torque) lies in the convex set C whose support function is Phi: inside if the patch
 * sticks, at -grad Phi(v, w) if it moves (Eqs. 18 to 20; the printed stick condition of the torque tests the
 * tangential velocity but means the angular one). For a single point C is Coulomb's disc.
 *
 * An ellipsoid, the usual approximation of C, is up to 7 % off. But 64 cells are enough for any number of points.
 * Each cell has the share and the centroid of its points. The points of a cell are spread about the centroid, which
 * adds to their speed across their motion, so the speed of a cell is |(v + w q, w spread)| with spread^2 half the
 * mean square of their distances from the centroid. */
#ifndef CONTACT_PATCH_H
#define CONTACT_PATCH_H

#include "contact/constraint.h"
#include "core/memory.h"
#include "core/simd.h"

#include <stdbool.h>

#define CONTENSOU_CELLS 64
#define CONTENSOU_BATCHES (CONTENSOU_CELLS / 8)

typedef struct contensou {
    int batches;   /* of eight cells in use; the last may end in shares of 0 */
    double radius; /* of gyration, m: 0 for a point, which bears no torque */
    double torque; /* a pure torque known to be in C, N m */
    f64x8 share[CONTENSOU_BATCHES];
    f64x8 x[CONTENSOU_BATCHES], y[CONTENSOU_BATCHES]; /* q, m */
    f64x8 spread[CONTENSOU_BATCHES];                  /* of a cell's points about there, m */
} contensou;

/* The law of `count` points: shares with sum 1, and positions r in the plane of the patch, about their common
 * centre. */
contensou contensou_make(int count, const double *share, const double (*place)[2]);

/* Phi and its gradient at (v_x, v_y, w). Points that do not move contribute nothing to the gradient. */
double contensou_potential(const contensou *law, const double motion[3], double gradient[3]);

/* The point of bound C nearest to z, in the norm |f|^2 + (torque / arm)^2. start: three numbers from the last call
 * for the same patch, zeros at first. True if z is in bound C: the patch sticks. */
bool contensou_project(const contensou *law, double bound, double arm, const double z[3], double start[3],
                       double out[3]);

/* A patch: all contact points of one phalanx, or of one connected region of another soft body, against one other
 * body, with four constraints instead of three per point (talvas2015, section 3).
 *
 * Point i has a share of the pressure (shares have sum 1), a normal n_i and a position x_i. The patch has the normal
 * n, the tangents t and s, and its centre of pressure, from which r_i is measured. With m_i the motion of the point
 * relative to the other body under d, and 1_i = 1 - n_i n_i^T,
 *
 *   u_n = start_n + sum_i share_i n_i . m_i                        the mean gap: penetration volume over area
 *   u_t = start_t + sum_i share_i t . 1_i m_i, u_s likewise        the distance slid
 *   u_w = start_w + sum_i g_i . 1_i m_i                            the angle turned
 *   g_i = share_i (n x r_i) / sum_k share_k |n x r_k|^2
 *
 * These are the four of the paper. Two more, with y_i and z_i the coordinates of r_i along t and s,
 *
 *   u_a = start_a + sum_i share_i y_i n_i . m_i / sum_k share_k y_k^2, u_b likewise with z      the slopes of the gap
 *
 * let the pressure shift within the step. With fixed shares only the shares of the next step resist tilting, which
 * is a stiff spring integrated explicitly: a cube of 2 cm between two flat pads never stops rocking at h = 10 ms.
 * Their torques are bounded so that no point is pulled.
 *
 * The force lambda = (normal force, two friction forces, friction torque, two torques of the pressure) acts on the
 * points by the transpose: lambda_n is distributed as the pressure is, and the torque is exactly lambda_w. (Eqs. 12
 * to 16 have areas instead of shares in the last three; with uniform weights they are the same. g is the angular
 * velocity that fits the motion of the points best; Eq. 16 is the mean of the points' own, equal where they rotate
 * together.) The friction of a point stays in its own tangent plane. */

#define PATCH_ROWS 6         /* the gap, two tangents, the twist, two slopes */
#define PATCH_ROWS_PRINTED 4 /* without the slopes */
#define PATCH_RIM 16         /* corners of the polygon around the points */

typedef struct patch_member {
    int contact; /* of the system's */
    double share;
    vec3 twist;      /* g_i, 1/m */
    double slope[2]; /* share_i y_i / sum, and of z, 1/m */
} patch_member;

typedef struct patch {
    int member_count;
    patch_member *members;
    double mu;
    mat3 frame;  /* rows n, t, s; world axes */
    vec3 centre; /* m */
    contensou law;
    int leg_count;
    int *node;      /* leg_count: nodes of the system that move it, ascending */
    vec3 *gradient; /* PATCH_ROWS times leg_count: of each row */
    /* Root mean square motion of the points for a unit of each u: 1, 1, 1, and m. 0 for rows that a patch this
     * narrow does not have. */
    double arm[PATCH_ROWS];
    /* 1/m: torques (a, b) of the pressure with lambda_n + rim . (a, b) >= 0 pull no point */
    double rim[PATCH_RIM][2];
    double start[PATCH_ROWS];   /* u at d = 0; m, m, m, rad, rad, rad */
    double allowed_penetration; /* m: penetration allowed to remain this step; u_n is the gap plus this */
    double lambda[PATCH_ROWS];  /* on the body of the skin; N, N, N, N m, N m, N m */
    double guess[3];            /* start of the next projection */
    double u[PATCH_ROWS];       /* of the last evaluation */
    cone_state settled;
} patch;

/* Sets u at d. */
void patch_evaluate(patch *patches, int count, const double *d);
/* Adds weight J^T lambda of all patches. */
void patch_add_forces(const patch *patches, int count, double weight, double *sum);
/* Sum of lambda^T u, N m. */
double patch_work(const patch *patches, int count);

/* The step of one patch while the forces of the others are fixed. */

/* Response of the rows of a patch to its own force; B is its block of the row compliance. */
typedef struct patch_response {
    /* Motion of each row per unit of its own force; 0 for rows that cannot move. The three of friction step
     * together, as do the two torques of the pressure, so D bounds their blocks by the largest row sum of the block
     * scaled by its diagonal. Both tangents have the larger D, or friction would not oppose the slip. */
    double D[PATCH_ROWS];
    double L[PATCH_ROWS][PATCH_ROWS]; /* B = L L^T, without rows that cannot move */
    bool is_definite;                 /* L is set */
} patch_response;

/* B: `scale` times the block of `rows` rows that starts at `block`. */
patch_response patch_respond(const double *block, int stride, int rows, double scale);

/* lambda <- lambda - B^-1 u, which stops all rows of the patch, if that is admissible: it pushes, pulls no point,
 * and sticks. False, and lambda unchanged, if not. */
bool patch_settle(patch *p, const patch_response *response, const double u[PATCH_ROWS], double lambda[PATCH_ROWS]);

/* Projects the torques of the pressure on those that the normal force allows, in the norm D_a a^2 + D_b b^2. */
void patch_confine_pressure(const patch *p, double normal, const double D[PATCH_ROWS], double lambda[PATCH_ROWS]);

/* Projects the friction lambda[1..3] - u / D on the law of the patch; bound: mu times the normal force. True if it
 * sticks. */
bool patch_friction(patch *p, double bound, const double D[PATCH_ROWS], const double u[PATCH_ROWS],
                    double lambda[PATCH_ROWS]);

#define PATCHES_MAX 256 /* maximum of a world: the matrix of their rows is dense */

/* The patches of all systems of a step, and scratch for making them. */
typedef struct patch_set {
    int max; /* patches */
    int max_nodes, max_points;
    patch *patches;
    int count;
    patch_member *members; /* of all patches, one per contact */
    int member_count;
    int *node;      /* CONTACT_LEGS per contact */
    vec3 *gradient; /* PATCH_ROWS times that */
    int leg_count;
    int lost; /* contacts beyond the capacity */
    /* one per contact: */
    double *depth, *gap, *share, *compliance, *force, *change, *motion; /* see patch_law.c */
    double *load;                                                       /* one per node of a system */
    int *nodes;                                                         /* nodes of the contacts */
    vec3 (*sum)[PATCH_ROWS];                                            /* gradients of each leg of the current patch */
    double (*place)[2];
    int *group, *order;
    int *ends;          /* of each group in `order` */
    box *box;           /* of each group, at its first contact */
    vec3 *normal;       /* likewise */
    int *slot_of_node;  /* leg of each node in the current patch, or -1 */
    int *slot_of_point; /* contact of each point of a skin, or -1 */
} patch_set;

void patch_set_layout(patch_set *set, int max_contacts, int max_nodes, int max_points, arena *work);
/* Initializes the set, once it has its memory. */
void patch_set_open(patch_set *set);
void patch_set_clear(patch_set *set);

/* Whether the surface around a point of a skin recedes from the plane through it across `normal`: the point is a local
 * minimum of the distance to the other body, or nearly so (it is within the extended normal cone). */
bool patch_is_proximity(const contact_skin_state *skin, int index, vec3 normal);

/* Adaptive pressure. Starts with the remembered forces set->force of the contacts that are in a group, N. */
void patch_pressure_start(patch_set *set, const contact *contacts, int count, const block_pattern *pattern,
                          const double *blocks, double h);
/* Sets set->change, the change of the forces that would close set->gap. False if no force should change. */
bool patch_pressure_find_changes(patch_set *set, int count, int groups);
/* Applies the best fraction of the changes to forces and gaps; set->motion: motion of each contact under the full
 * change, m. */
void patch_pressure_apply(patch_set *set, int groups);

/* Shares of the contacts in `list`, in its order. Their sum is 1; some may be 0. */
void patch_find_shares(const patch_set *set, thenar_contact_pressure pressure, const contact *contacts,
                       const contact_point *points, const int *list, int count, double *share);

#endif
