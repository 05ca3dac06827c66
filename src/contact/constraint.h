/* Coulomb's cone K = { f : |f_t| <= mu f_n } in a contact's frame (x the normal, y and z the tangents).
 *
 * P(z), the point of K that is nearest to z, and its derivative D = dP/dz, symmetric and positive semidefinite:
 *   stick  |z_t| <= mu z_n      P = z,                                  D = 1
 *   open   mu |z_t| <= -z_n     P = 0,                                  D = 0
 *   slip   otherwise            P = alpha w,  w = (1, mu t), t = z_t / |z_t|,  alpha = (z_n + mu |z_t|) / (1 + mu^2)
 *                               D = w w^T / (1 + mu^2) + (mu alpha / |z_t|) (1_t - t t^T) */
#ifndef CONTACT_CONSTRAINT_H
#define CONTACT_CONSTRAINT_H

#include "contact/find.h"
#include "core/vec3.h"
#include "sparse/cholesky.h"

typedef enum cone_state { CONE_OPEN, CONE_STICK, CONE_SLIP } cone_state;

static inline double cone_tangential(vec3 z) {
    return hypot(z.y, z.z);
}

static inline cone_state cone_state_of(vec3 z, double mu) {
    double size = cone_tangential(z);
    if (mu * size <= -z.x) return CONE_OPEN;
    /* Without friction nothing sticks. */
    return size <= mu * z.x && mu > 0 ? CONE_STICK : CONE_SLIP;
}

static inline vec3 cone_project(vec3 z, double mu, cone_state state) {
    if (state == CONE_OPEN) return vec3_make(0, 0, 0);
    if (state == CONE_STICK) return z;
    double size = cone_tangential(z), alpha = (z.x + mu * size) / (1 + mu * mu);
    double along = size > 0 ? mu * alpha / size : 0;
    return vec3_make(alpha, along * z.y, along * z.z);
}

static inline mat3 cone_derivative(vec3 z, double mu, cone_state state) {
    if (state == CONE_OPEN) return (mat3){{0}};
    if (state == CONE_STICK) return mat3_identity();
    double size = cone_tangential(z), alpha = (z.x + mu * size) / (1 + mu * mu);
    if (!(size > 0)) return mat3_diagonal(1 / (1 + mu * mu), 0, 0);
    double y = z.y / size, x = z.z / size, across = mu * alpha / size;
    vec3 w = {1, mu * y, mu * x};
    mat3 D = mat3_scale(mat3_outer(w, w), 1 / (1 + mu * mu));
    D.m[4] += across * x * x, D.m[5] -= across * x * y;
    D.m[7] -= across * x * y, D.m[8] += across * y * y;
    return D;
}

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
    mat3 frame; /* rows n, t1, t2; world axes */
    vec3 start; /* u where no unknown moves, m */
    vec3 known; /* the part of the way to there that lies within the step, m: of held nodes and driven bodies */
    double
        allowed_penetration; /* m: by how much u_n is more than the gap, for a point that was too deep inside to be out at once */
    int leg_count;
    bool
        couples_soft; /* both sides are soft: the pattern of the system has no blocks between them (solver/crossing.h) */
    contact_leg legs[CONTACT_LEGS]; /* by ascending node; of a body that touches itself, a node may come twice */
    int blocks[CONTACT_BLOCKS];     /* of the pattern, the pairs of legs (i, j <= i) row by row; -1 between sides */
    double rho;                     /* N/m, fixed within a step */
    double max;                     /* N: the largest normal force that lambda may stand for; see contact_make.c */
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
void contact_set_gaps(contact *contacts, int count, const double *d);
/* The contacts are looked at there. */
void contact_evaluate(contact *contacts, int count, const double *d);
/* The shift that fits d, where the solve starts, for those that do not stick. */
void contact_guess_shift(contact *contacts, int count);
/* Sum of the terms, N m. */
double contact_energy(const contact *contacts, int count);
contact_measures contact_measure(const contact *contacts, int count);
/* Adds weight times the gradient, and weight times the Hessian. */
void contact_add_gradient(const contact *contacts, int count, double weight, double *gradient);
void contact_add_hessian(const contact *contacts, int count, double weight, double *blocks);
/* rho D in world axes: W of the Hessian J^T W J of one contact, N/m. */
mat3 contact_stiffness(const contact *c);
/* Adds weight times the part of the Hessian's product with x that lies between the sides of a contact that crosses,
 * which contact_add_hessian leaves out: stiffness as above. */
void contact_add_soft_coupling(const contact *c, const mat3 *stiffness, double weight, const double *x, double *y);
/* The multipliers' step, after which the contacts are looked at anew. */
void contact_update(contact *contacts, int count);

/* Finds the blocks of the legs; false if the pattern has no room for one. Between the two sides of a contact that
 * crosses none is asked for. */
bool contact_bind(contact *c, const block_pattern *pattern);

/* Two tangents that make a right-handed frame with a unit normal. */
mat3 contact_frame(vec3 normal);

/* From a contact point to a contact: its frame, its legs on both bodies, its penalty, and what it remembers. */

/* A body and where its unknowns start in the system. */
typedef struct contact_side {
    const body_state *body;
    int first_node;
    const contact_skin_state *skin; /* of a soft body on the other side; else NULL */
} contact_side;

/* What a contact that pushes leaves to the next step. No padding: it is hashed. */
typedef struct contact_memory {
    int pair, index;  /* of the point: which pair, and which point of the skin; ascending */
    int stuck;        /* 1: it did not slip */
    int face;         /* the triangle of a soft other body that it sticks to; else 0 */
    double force[3];  /* on the skin's body, in the frame of the other one, or of that triangle, N */
    double anchor[3]; /* the point of the other body that it sticks to, in that frame, m; of a point that rolls: how far
                         from there it is; on a triangle: barycentric coordinates */
} contact_memory;

/* A spring contact between two soft sides also adds h^2 times its stiffness to A outside the pattern. */
typedef struct contact_link {
    const contact *contact;
    mat3 stiffness; /* W in world axes, N/m */
} contact_link;

/* What contacts read and write of one linear system A v = b, whose arrays the solver owns (solver/system.h). */
typedef struct contact_equations {
    const block_pattern *pattern;
    double *blocks;                         /* A, 9 per block */
    double *b;                              /* 3 per node, kg m/s */
    const double *v;                        /* 3 per node, m/s: the solution */
    double *untouched_blocks, *untouched_b; /* room for A and b without contacts */
    double *scratch;                        /* 3 per node */
    cholesky_factor *factor;                /* of A */
    int body_count;
    const int *body;           /* body_count: indices in the model */
    body_state *const *bodies; /* body_count: their states */
    const int *first_node;     /* body_count: where their unknowns start */
    contact_link *links;       /* room for one per contact where soft bodies may touch */
    const body_step *step;
} contact_equations;

/* memory: of the same point in the last step, or NULL. False if nothing that it touches can move. */
bool contact_make(contact *c, const contact_point *point, const contact_memory *memory, contact_side skin,
                  contact_side other, double mu, const contact_equations *equations);

/* What is left to the next step. The force and the anchor are in the frame of the other body where the step began. */
contact_memory contact_remember(const contact *c, const contact_point *point, const contact_memory *before,
                                contact_side other);

#endif
