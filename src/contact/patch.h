/* Coulomb-Contensou friction: what a patch of contact can bear against sliding and spinning at once (talvas2015, section
 * 3.4, after Leine and Glocker 2003, A set-valued force law for spatial Coulomb-Contensou friction).
 *
 * A patch slides with v and turns with w about its normal, so its point i goes with v + w q_i, q_i = n x r_i, and bears
 * its share of mu N against that. With mu N = 1 the dissipation, the velocity potential of Eq. 17, is
 *
 *   Phi(v, w) = sum_i share_i |v + w q_i|
 *
 * and friction (two forces, one torque) lies in the convex set C that Phi is the support function of: inside, where the
 * patch sticks, at -grad Phi(v, w) where it moves (Eqs. 18 to 20; the printed stick condition of the torque tests the
 * tangential velocity and means the angular one). For a point alone C is Coulomb's disc.
 *
 * The ellipsoid that is often put in the place of C is up to 7 % off. But 64 cells do, however many points there are.
 * Each has the share and the centroid of its points; that these are not all there adds to their speed what is across
 * their motion, so the speed of a cell is |(v + w q, w spread)| with spread^2 half the mean square of their distances
 * from the centroid. */
#ifndef CONTACT_PATCH_H
#define CONTACT_PATCH_H

#include "contact/constraint.h"
#include "core/memory.h"
#include "core/simd.h"

#include <stdbool.h>

#define CONTENSOU_CELLS 64
#define CONTENSOU_BATCHES (CONTENSOU_CELLS / 8)

typedef struct contensou {
    int batches;   /* of eight cells that are in use; the last may end in shares of 0 */
    double radius; /* of gyration, m: 0 for a point, which has no torque */
    double torque; /* a torque without force that is surely in C, N m */
    f64x8 share[CONTENSOU_BATCHES];
    f64x8 x[CONTENSOU_BATCHES], y[CONTENSOU_BATCHES]; /* q, m */
    f64x8 spread[CONTENSOU_BATCHES];                  /* of a cell's points about there, m */
} contensou;

/* The law of `count` points: shares that add up to 1, places r in the plane of the patch (x, y of each), about their
 * common centre. */
contensou contensou_make(int count, const double *share, const double (*place)[2]);

/* Phi and its gradient at (v_x, v_y, w). Where a point does not move it adds nothing to the gradient. */
double contensou_potential(const contensou *law, const double motion[3], double gradient[3]);

/* The point of bound C that is nearest to z, in the norm |f|^2 + (torque / arm)^2. start: three numbers that the next
 * call for the same patch begins from; zeros at first. True if z is in bound C, so that the patch sticks. */
bool contensou_project(const contensou *law, double bound, double arm, const double z[3], double start[3],
                       double out[3]);

/* A patch: all contact points of one phalanx, or of one connected spot of another soft body, against one other body, as
 * four constraints instead of three a point (talvas2015, section 3). See patch_make.c for how it is made.
 *
 * Its point i has a share of the pressure (shares add up to 1), a normal n_i and a place x_i; the patch has the normal n,
 * the tangents t and s, and its centre of pressure, from which r_i counts. With m_i what the step's unknowns d move the
 * point against the other body, and 1_i = 1 - n_i n_i^T,
 *
 *   u_n = start_n + sum_i share_i n_i . m_i                        the gap, as a mean: the penetration volume over the area
 *   u_t = start_t + sum_i share_i t . 1_i m_i, u_s likewise        the way that it slid
 *   u_w = start_w + sum_i g_i . 1_i m_i                            the angle by which it turned
 *   g_i = share_i (n x r_i) / sum_k share_k |n x r_k|^2
 *
 * These are the paper's four. Two more, with y_i and z_i the parts of r_i along t and s,
 *
 *   u_a = start_a + sum_i share_i y_i n_i . m_i / sum_k share_k y_k^2, u_b likewise with z      the slopes of the gap
 *
 * let the pressure shift within the step: with fixed shares nothing but the next step's shares resists tilting, which is a
 * stiff spring integrated explicitly (a cube of 2 cm between two flat pads rocks for ever at h = 10 ms). Their torques are
 * bounded so that the pressure pulls at no point.
 *
 * The force lambda = (normal force, two forces of friction, torque, two torques of the pressure) acts on the points by the transpose of that: lambda_n
 * spreads as the pressure does, and the torque is exactly lambda_w. (Eqs. 12 to 16 have areas in the place of shares
 * in the last three; with uniform weights they are the same. g is the angular velocity that fits the points' motion best;
 * Eq. 16 is the mean of each one's own, the same where they turn as one.) A point's friction stays in its own tangent plane. */

#define PATCH_ROWS 6         /* the gap, two tangents, the twist, two slopes */
#define PATCH_ROWS_PRINTED 4 /* without the slopes */
#define PATCH_RIM 16         /* corners of the polygon around its points */

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
    int *node;      /* leg_count: unknowns of the system that move it, ascending */
    vec3 *gradient; /* PATCH_ROWS times leg_count: of each row */
    /* By how much a unit of each u moves the patch's points, in the mean square: 1, 1, 1, and m. 0 for rows that so narrow a patch
     * does not have. */
    double arm[PATCH_ROWS];
    /* 1/m: torques (a, b) of the pressure with lambda_n + rim . (a, b) >= 0 pull at no point */
    double rim[PATCH_RIM][2];
    double start[PATCH_ROWS]; /* u where no unknown moves; m, m, m, rad, rad, rad */
    double
        allowed_penetration; /* m: by how much u_n is more than the gap, since the patch was inside when the step began */
    double lambda[PATCH_ROWS]; /* on the skin's body; N, N, N, N m, N m, N m */
    double guess[3];           /* where the next projection begins */
    double u[PATCH_ROWS];      /* where it was looked at last */
    cone_state settled;
} patch;

/* The patches are looked at where d takes them. */
void patches_move(patch *patches, int count, const double *d);
/* Adds weight J^T lambda of all of them. */
void patches_add_force(const patch *patches, int count, double weight, double *sum);
/* Sum of lambda^T u, N m. */
double patches_work(const patch *patches, int count);

/* What forces a patch may have, and how it finds its own while those of others stand still: each solver's step of one patch. */

/* What a patch's force does to its own rows, whose block of a matrix of rows is `B`. */
typedef struct patch_response {
    /* How far a unit of each part of lambda moves its own row; 0 for parts that move nothing. Friction's three take their step at
     * once, as do the two torques of the pressure, so D bounds their blocks, by the largest row sum of the block scaled by its
     * diagonal; and both tangents have the larger D, or friction would not oppose the slip. */
    double D[PATCH_ROWS];
    double L[PATCH_ROWS][PATCH_ROWS]; /* B = L L^T, without the rows that move nothing */
    bool is_definite;                 /* L is there */
} patch_response;

/* B: `scale` times the block of `rows` rows that begins at `block`. */
patch_response patch_respond(const double *block, int stride, int rows, double scale);

/* lambda <- lambda - B^-1 u, after which no row of the patch moves, if it may: it pushes, pulls at no point and sticks. False, and
 * lambda as it was, if not. */
bool patch_settle(patch *p, const patch_response *response, const double u[PATCH_ROWS], double lambda[PATCH_ROWS]);

/* Torques of the pressure go to the nearest that the normal force allows, in the norm D_a a^2 + D_b b^2. */
void patch_confine_pressure(const patch *p, double normal, const double D[PATCH_ROWS], double lambda[PATCH_ROWS]);

/* Friction at the way and angle in u, with the normal force that `bound` is mu times of, given D: lambda[1] to [3] go to the
 * point that the patch's law allows nearest to lambda - u / D. Whether the patch sticks. */
bool patch_friction(patch *p, double bound, const double D[PATCH_ROWS], const double u[PATCH_ROWS],
                    double lambda[PATCH_ROWS]);

/* From the contact points of a system to patches. See patch_make.c. */

#define PATCHES_MAX 256 /* of a world at a time: the matrix of their rows is dense */

/* The patches of all systems of a step and what making them needs. */
typedef struct patch_set {
    int max; /* patches */
    int max_nodes, max_points;
    patch *patches;
    int count;
    patch_member *members; /* a contact each, of all patches one after the other */
    int member_count;
    int *node;      /* CONTACT_LEGS a contact */
    vec3 *gradient; /* PATCH_ROWS times that */
    int leg_count;
    int lost; /* contacts for which there was no room */
    /* a contact each: */
    double *depth, *gap, *share, *compliance, *force, *change, *motion; /* see patch_pressure.h */
    double *load;                                                       /* a node of a system each */
    int *nodes;                                                         /* those that contacts hang on */
    vec3 (*sum)[PATCH_ROWS];                                            /* a leg of the patch at hand: its gradients */
    double (*place)[2];
    int *group, *order;
    int *ends;          /* of each group in `order` */
    box *box;           /* of a group, at its first contact */
    vec3 *normal;       /* likewise */
    int *slot_of_node;  /* a node of a system: its leg in the patch at hand, or -1 */
    int *slot_of_point; /* a point of a skin: its contact, or -1 */
} patch_set;

void patch_set_layout(patch_set *set, int max_contacts, int max_nodes, int max_points, arena *work);
/* Once it has its memory. */
void patch_set_open(patch_set *set);
void patch_set_clear(patch_set *set);

/* Which contacts make a patch together. See patch_group.c. */

/* Whether the surface around a point of a skin recedes from a plane across `normal` through it: the point is nearest to the
 * other body among its neighbours, or nearly so (a local minimum distance, within the extended normal cone). */
bool patch_is_proximity(const contact_skin_state *skin, int index, vec3 normal);

/* What share of a patch's force each of its points bears. See patch_pressure.c. */

/* Adapted pressures. Contacts that are in a group push with set->force, at first what they remember, N. */
void patch_pressure_open(patch_set *set, const contact *contacts, int count, const block_pattern *pattern,
                         const double *blocks, double h);
/* set->change: by how much the forces ought to change, to close set->gap. Whether any should. */
bool patch_pressure_wish(patch_set *set, int count, int groups);
/* The forces change as far as is of use, and the gaps, where set->motion is how far a whole change moves each contact, m. */
void patch_pressure_change(patch_set *set, int groups);

/* Shares of the contacts in `list`, in its order. They add up to 1; some may be 0. */
void patch_find_shares(const patch_set *set, thenar_contact_pressure pressure, const contact *contacts,
                       const contact_point *points, const int *list, int count, double *share);

#endif
