/* What forces a patch may have, and how it finds its own while those of others stand still: each solver's step of one patch. */
#ifndef CONTACT_PATCH_LAW_H
#define CONTACT_PATCH_LAW_H

#include "contact/patch.h"

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

#endif
