/* A contact point as a constraint: non-penetration and Coulomb friction on both bodies (perez2013, section 4.2), as a
 * term of the augmented Lagrangian (METHODS: contact and friction in the same Newton solve).
 *
 * u(d) = start + F sum_k M_k d_k is where the point is at the end of the step, in the contact's frame F = [n; t1; t2]:
 * u_n is the gap, u_t the way from the point of the other body that it sticks to (its anchor). The force f on the
 * skin's body obeys
 *
 *   f in K = { |f_t| <= mu f_n },   u_n >= 0,   f_n u_n = 0,   u_t = 0 or f_t = -mu f_n u_t / |u_t|
 *
 * which is f = P(f - rho (u + s e_n)) for any rho > 0, with s = mu |u_t| where it slips (De Saxce: without the shift s
 * the normal cone of K would lift what slides). The term of the contact is
 *
 *   |P(z)|^2 / (2 rho),   z = lambda - rho (u + s e_n),   gradient -J^T P,   Hessian rho J^T D J
 *
 * and lambda <- P, s <- towards mu |u_t| is the multipliers' step. */
#ifndef CONTACT_CONTACT_H
#define CONTACT_CONTACT_H

#include "constraint/cone.h"
#include "contact/points.h"
#include "sparse/block_pattern.h"

/* Four nodes of a soft body, and the two of a dynamic rigid one or four of another soft one. */
#define CONTACT_LEGS 8
#define CONTACT_RECOVERY 0.5 /* m/s, at which what is inside another body is asked out */
#define CONTACT_BLOCKS (CONTACT_LEGS * (CONTACT_LEGS + 1) / 2)

/* One unknown that moves the contact: M d = weight d, or weight (d x arm) where d turns a rigid body. */
typedef struct contact_leg {
    int node;      /* of the system */
    double weight; /* positive on the skin's side, negative on the other's */
    bool turns;
    bool other; /* on the other body's side */
    vec3 arm;   /* from the centre of mass to the point, m */
} contact_leg;

typedef struct contact {
    int point; /* index of the contact_point it was made of */
    double mu;
    mat3 frame;    /* rows n, t1, t2; world axes */
    vec3 start;    /* u where no unknown moves, m */
    vec3 known;    /* the part of the way to there that lies within the step, m: of held nodes and driven bodies */
    double leeway; /* m: by how much u_n is more than the gap, for a point that was too deep inside to be out at once */
    int leg_count;
    bool crosses; /* both sides are soft: the pattern of the system has no blocks between them (solver/crossing.h) */
    contact_leg legs[CONTACT_LEGS]; /* by ascending node; of a body that touches itself, a node may come twice */
    int blocks[CONTACT_BLOCKS];     /* of the pattern, the pairs of legs (i, j <= i) row by row; -1 between sides */
    double rho;                     /* N/m, fixed within a step */
    double most;                    /* N: the largest normal force that lambda may stand for; see contact_make.c */
    bool stuck;                     /* when the last step ended: u_t counts from where it stuck */
    vec3 lambda;                    /* force on the skin's body in the frame, N */
    double shift;                   /* s, m */
    double share, last_change;      /* of the way that the shift goes in a multipliers' step; the way in the last one */
    cone_state settled;             /* that lambda came from */
    bool anchored;                  /* it keeps an anchor whether it sticks or slips (penalty.h) */
    vec3 slide;                     /* by which that anchor moves on at the end of the step, in the frame, m */
    /* Where the contact is looked at. */
    vec3 u; /* m */
    vec3 z; /* N */
    cone_state state;
    vec3 force; /* P(z), N */
} contact;

/* How far contacts are from the optimum. */
typedef struct contact_measures {
    double length; /* m: largest |P - lambda| / rho and |mu |u_t| - s| of a contact that pushes */
    double force;  /* N: largest |P - lambda| */
    double mean;   /* N: normal force of those that push */
    int active;    /* how many push */
} contact_measures;

/* F_axis M_k: how the unknown of a leg moves the contact along a direction. */
static inline vec3 contact_leg_gradient(const contact_leg *leg, vec3 direction) {
    return vec3_scale(leg->turns ? vec3_cross(leg->arm, direction) : direction, leg->weight);
}

/* How far d moves the contact, in its frame: F sum_k M_k d_k, m. */
vec3 contact_motion(const contact *c, const double *d);
/* Adds M_k^T force to the parts of its legs; world axes. */
void contact_add_force(const contact *c, vec3 force, double *sum);
/* Adds M_i^T W M_j to the blocks of its legs; W is symmetric, in world axes. */
void contact_add_blocks(const contact *c, mat3 W, double *blocks);

/* All of these take the contacts of one system and work on d, 3 numbers a node of the system, m. */

/* u: where d takes the contacts. */
void contacts_take(contact *contacts, int count, const double *d);
/* The contacts are looked at there. */
void contacts_move(contact *contacts, int count, const double *d);
/* The shift that fits d, where the solve starts, for those that do not stick. */
void contacts_guess_shift(contact *contacts, int count);
/* Sum of the terms, N m. */
double contacts_energy(const contact *contacts, int count);
contact_measures contacts_measure(const contact *contacts, int count);
/* Adds weight times the gradient, and weight times the Hessian. */
void contacts_gradient(const contact *contacts, int count, double weight, double *gradient);
void contacts_hessian(const contact *contacts, int count, double weight, double *blocks);
/* rho D in world axes: W of the Hessian J^T W J of one contact, N/m. */
mat3 contact_stiffness(const contact *c);
/* Adds weight times the part of the Hessian's product with x that lies between the sides of a contact that crosses,
 * which contacts_hessian leaves out: stiffness as above. */
void contact_add_crossing(const contact *c, const mat3 *stiffness, double weight, const double *x, double *y);
/* The multipliers' step, after which the contacts are looked at anew. */
void contacts_update(contact *contacts, int count);

/* Finds the blocks of the legs; false if the pattern has no room for one. Between the two sides of a contact that
 * crosses none is asked for. */
bool contact_bind(contact *c, const block_pattern *pattern);

/* Two tangents that make a right-handed frame with a unit normal. */
mat3 contact_frame(vec3 normal);

#endif
