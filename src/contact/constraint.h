/* A contact point as a constraint: non-penetration and Coulomb friction between two bodies (perez2013, section 4.2),
 * formulated as a term of the augmented Lagrangian that newton.c minimizes.
 *
 * u(d) = start + F sum_k M_k d_k is the relative position of the point at the end of the step, in the contact's
 * frame F = [n; t1; t2]. d has 3 numbers per node of the linear system. u_n is the gap. u_t is the distance slid
 * from the anchor, the point of the other body that it sticks to. The force f on the body of the skin obeys
 *
 *   f in K = { |f_t| <= mu f_n },   u_n >= 0,   f_n u_n = 0,   u_t = 0 or f_t = -mu f_n u_t / |u_t|
 *
 * which is f = P(f - rho (u + s e_n)) for any rho > 0, with s = mu |u_t| where the contact slips. (Without this
 * shift of De Saxce, the projection P on the cone would lift a sliding point off the surface.) The term of the
 * contact is
 *
 *   |P(z)|^2 / (2 rho),   z = lambda - rho (u + s e_n),   gradient -J^T P,   Hessian rho J^T D J,   J = F M
 *
 * and the multiplier step is lambda <- P, s <- mu |u_t|.
 *
 * P(z) is the point of the cone K that is nearest to z. Its derivative D = dP/dz is symmetric and positive
 * semidefinite:
 *   stick  |z_t| <= mu z_n      P = z,                                  D = 1
 *   open   mu |z_t| <= -z_n     P = 0,                                  D = 0
 *   slip   otherwise            P = alpha w,  w = (1, mu t), t = z_t / |z_t|,  alpha = (z_n + mu |z_t|) / (1 + mu^2)
 *                               D = w w^T / (1 + mu^2) + (mu alpha / |z_t|) (1_t - t t^T) */
#ifndef CONTACT_CONSTRAINT_H
#define CONTACT_CONSTRAINT_H

#include "contact/find.h"
#include "core/vec3.h"
#include "sparse/cholesky.h"
#include "sparse/reduction.h"

typedef enum cone_state { CONE_OPEN, CONE_STICK, CONE_SLIP } cone_state;

static inline double cone_tangential(vec3 z) {
    return hypot(z.y, z.z);
}

static inline cone_state cone_state_of(vec3 z, double mu) {
    double size = cone_tangential(z);
    if (mu * size <= -z.x) return CONE_OPEN;
    /* A contact without friction always slips. */
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

/* The maximum: four nodes of a soft body, and two of a dynamic rigid body or four of another soft body. */
#define CONTACT_LEGS 8
#define CONTACT_RECOVERY 0.5 /* m/s: the speed at which penetration is corrected */
#define CONTACT_BLOCKS (CONTACT_LEGS * (CONTACT_LEGS + 1) / 2)

/* One node that moves the contact: M d = weight d, or weight (d x arm) where d is the rotation of a rigid body. */
typedef struct contact_leg {
    int node;      /* of the system */
    double weight; /* positive on the side of the skin, negative on the other */
    bool turns;
    bool other; /* on the other body's side */
    vec3 arm;   /* from the centre of mass to the point, m */
} contact_leg;

typedef struct contact {
    int point; /* index of its contact_point */
    double mu;
    mat3 frame;                 /* rows n, t1, t2; world axes */
    vec3 start;                 /* u at d = 0, m */
    vec3 known;                 /* the part of start that held nodes and driven bodies cover within the step, m */
    double allowed_penetration; /* m: penetration allowed to remain this step; u_n is the gap plus this */
    int leg_count;
    bool couples_soft; /* both sides are soft: the pattern of A has no blocks between them (solver/soft_coupling.c) */
    contact_leg legs[CONTACT_LEGS]; /* by ascending node; where a body touches itself, a node may occur twice */
    /* Blocks of the pattern for the pairs of legs (i, j <= i), row by row; -1 between two soft sides. */
    int blocks[CONTACT_BLOCKS];
    double rho;                /* N/m, fixed within a step */
    double max;                /* N: maximum normal force of lambda (LARGEST_ACCELERATION) */
    bool stuck;                /* at the end of the last step: u_t is measured from the anchor */
    vec3 lambda;               /* force on the skin's body in the frame, N */
    double shift;              /* s, m */
    double share, last_change; /* damping of the update of s; its last change, m */
    cone_state settled;        /* the state of the last multiplier step */
    bool anchored;             /* keeps its anchor while it slips, too (penalty.c) */
    vec3 slide;                /* displacement of that anchor at the end of the step, in the frame, m */
    /* The last evaluation. */
    vec3 u; /* m */
    vec3 z; /* N */
    cone_state state;
    vec3 force; /* P(z), N */
} contact;

/* Residuals of the optimality conditions of all contacts. */
typedef struct contact_measures {
    double length; /* m: largest |P - lambda| / rho and |mu |u_t| - s| of the active contacts */
    double force;  /* N: largest |P - lambda| */
    double mean;   /* N: mean normal force of the active contacts */
    int active;    /* number of contacts with a force */
} contact_measures;

/* M_k^T direction: the gradient, at a leg's node, of the motion along a direction. */
static inline vec3 contact_leg_gradient(const contact_leg *leg, vec3 direction) {
    return vec3_scale(leg->turns ? vec3_cross(leg->arm, direction) : direction, leg->weight);
}

/* F sum_k M_k d_k: the motion of the contact in its frame, m. */
vec3 contact_motion(const contact *c, const double *d);
/* Adds M_k^T force at the nodes of its legs; world axes. */
void contact_add_force(const contact *c, vec3 force, double *sum);
/* Adds M_i^T W M_j to the blocks of its legs; W is symmetric, in world axes. */
void contact_add_blocks(const contact *c, mat3 W, double *blocks);

/* The functions below take all contacts of one system; d has 3 numbers per node of the system, m. */

/* Sets u at d, and nothing else. */
void contact_set_gaps(contact *contacts, int count, const double *d);
/* Sets u, z, the state and the force at d. */
void contact_evaluate(contact *contacts, int count, const double *d);
/* Initializes s at the current u, for contacts that do not stick. */
void contact_guess_shift(contact *contacts, int count);
/* The sum of the terms, N m. */
double contact_energy(const contact *contacts, int count);
contact_measures contact_measure(const contact *contacts, int count);
/* Add weight times the gradient, or weight times the Hessian. */
void contact_add_gradient(const contact *contacts, int count, double weight, double *gradient);
void contact_add_hessian(const contact *contacts, int count, double weight, double *blocks);
/* rho D in world axes: W of the Hessian J^T W J of one contact, N/m. */
mat3 contact_stiffness(const contact *c);
/* y += weight times the part of the Hessian between the two soft sides of a contact, times x. contact_add_hessian
 * leaves this part out. stiffness: as above. */
void contact_add_soft_coupling(const contact *c, const mat3 *stiffness, double weight, const double *x, double *y);
/* The multiplier step, and a new evaluation at the same u. */
void contact_update(contact *contacts, int count);

/* Finds the blocks of the legs; false if the pattern lacks one. Blocks between two soft sides are not needed. */
bool contact_bind(contact *c, const block_pattern *pattern);

/* Two tangents that make a right-handed frame with a unit normal. */
mat3 contact_frame(vec3 normal);

/* Construction of a contact from a contact point: frame, legs on both bodies, penalty, and memory. */

/* A body, and the first node of its unknowns in the system. */
typedef struct contact_side {
    const body_state *body;
    int first_node;
    const contact_skin_state *skin; /* of a soft body on the other side; else NULL */
} contact_side;

/* What an active contact stores for the next step. The struct is hashed, so it has no padding. */
typedef struct contact_memory {
    int pair, index;  /* which pair, and which point of the skin; entries are sorted by both */
    int stuck;        /* 1: it did not slip */
    int face;         /* triangle of a soft other body that it sticks to; else 0 */
    double force[3];  /* on the body of the skin, in the frame of the other body or of that triangle, N */
    double anchor[3]; /* the point that it sticks to, in that frame, m; for a rolling point, the distance from it; on a
                         triangle, barycentric coordinates */
} contact_memory;

/* A spring contact between two soft sides also adds h^2 times its stiffness to A outside the pattern. */
typedef struct contact_link {
    const contact *contact;
    mat3 stiffness; /* W in world axes, N/m */
} contact_link;

/* What contacts read and write of one linear system A v = b, whose arrays the solver owns (solver/solver.h). */
typedef struct contact_equations {
    const block_pattern *pattern;
    double *blocks;                         /* A, 9 per block */
    double *b;                              /* 3 per node, kg m/s */
    const double *v;                        /* 3 per node, m/s: the solution */
    double *untouched_blocks, *untouched_b; /* room for A and b without contacts */
    double *scratch;                        /* 3 per node */
    cholesky_factor *factor;                /* of A */
    const reduction *reduction;             /* if nodes depend on others, else NULL */
    int body_count;
    const int *body;           /* body_count: indices in the model */
    body_state *const *bodies; /* body_count: their states */
    const int *first_node;     /* body_count: where their unknowns start */
    contact_link *links;       /* room for one per contact where soft bodies may touch */
    const body_step *step;
} contact_equations;

/* memory: of the same point in the last step, or NULL. False if nothing at the contact can move. */
bool contact_make(contact *c, const contact_point *point, const contact_memory *memory, contact_side skin,
                  contact_side other, double mu, const contact_equations *equations);

/* The memory for the next step. Force and anchor are in the frame that the other body had at the start of this step. */
contact_memory contact_remember(const contact *c, const contact_point *point, const contact_memory *before,
                                contact_side other);

#endif
