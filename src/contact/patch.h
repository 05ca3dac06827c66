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
#ifndef CONTACT_PATCH_H
#define CONTACT_PATCH_H

#include "constraint/contensou.h"
#include "contact/contact.h"

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
    double leeway; /* m: by how much u_n is more than the gap, since the patch was inside when the step began */
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

/* The solve is done, and `contacts` were looked at where it ended: each gets its part of the patch's force and its state. */
void patches_spread(const patch *patches, int count, contact *contacts, int contact_count);

#endif
