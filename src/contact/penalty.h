/* Spring contacts: the anchored penalty method (perez2016, section II-B), integrated implicitly.
 *
 * A point at depth delta is pushed out by a spring and a damper. A second spring and damper of the same stiffness
 * attach it to its anchor a, a point of the other body. Both are linear in the displacement d of the step:
 *
 *   z(d) = -k u(d) - c u'(d),   u(d) = start + B d,   u'(d) = (known + B d) / h,   B d = F sum_k M_k d_k
 *
 * in the contact's frame (constraint.h), with u_n = -delta, u_t = x_t - a. The force on the body of the skin is
 *
 *   open   z_n <= 0                f = 0
 *   stick  |z_t| <= mu z_n         f = z
 *   slip   otherwise               f_n = z_n,  f_t = mu z_n t,  t = z_t / |z_t|,
 *                                  and the anchor slides by (f_t - z_t) / k, so that z_t = f_t
 *
 * Its derivative is -K, with rho = k + c / h. Only the symmetric part is kept, so that A stays symmetric; this
 * leaves out mu rho t n^T, the effect of the normal force on friction.
 *
 *   stick  K = rho 1               slip  K = rho (n n^T + (mu z_n / |z_t|) (1 - n n^T - (1 - s) t t^T)),   s = 0
 *
 * A contact thus adds h^2 B^T K B to A and h B^T (f + K B d) to b, linearized at d. If the solution is in another
 * state (a closed contact pulls, a sticking one slips), the law is linearized there and solved again: Newton's
 * method. Usually one solve is enough, since the first linearization is that of the last step. Without the further
 * solves, contacts that end within a step would hold back what leaves, and those that begin in it would act a step
 * late, at depth h v, and throw the body out.
 *
 * Three measures keep the iteration from oscillating between stick and slip, open and closed:
 *
 * - A slip direction that reversed has passed through 0: the contact sticks in the next pass, and slips again if that
 *   exceeds the bound. Taken to slip in the other direction at once, it would reverse in every pass. When it slips
 *   again it starts with the secant (s = 1, below), for longer the more often it reversed.
 * - K has no stiffness along t, so contacts whose state is not yet known move far in and out. As long as some are in
 *   the wrong state, s = 1: the secant, which makes f_t proportional to z_t. It bounds the potential of friction from
 *   above and never overshoots, but converges slowly where springs are much stiffer than bodies; then s decreases.
 * - The bound of friction mu z_n is that of the pass before. It follows fully until it oscillates (what friction tips
 *   over is pressed less), then with more and more damping. */
#ifndef CONTACT_PENALTY_H
#define CONTACT_PENALTY_H

#include "contact/constraint.h"

/* Stiffness and damping per area of skin, so that they do not depend on the mesh. */
typedef struct penalty_law {
    double stiffness; /* Pa/m */
    double damping;   /* Pa s/m */
} penalty_law;

#define PENALTY_RIGID_AREA 1e-4  /* m^2: area of a point of a rigid body */
#define PENALTY_SECANT_LEFT 0.25 /* factor of s after a pass without wrong states */
#define PENALTY_AREA_MIN 1e-7    /* m^2: minimum of a soft point; skin seen edge on has none */

typedef struct penalty_term {
    double k, rho;             /* N/m */
    vec3 still;                /* z at d = 0, N */
    cone_state state;          /* of the linearization */
    double bound;              /* N: friction is limited to mu times this */
    double share, last_change; /* damping of the update of the bound; its last change, N */
    vec3 slip;                 /* t, if it slips */
    int turns;                 /* how often that reversed */
    double secant;             /* its own s, after that */
    mat3 K;                    /* N/m, in the frame */
    vec3 offset;               /* f + K B d, N: the linearized force is offset - K B d */
    vec3 motion;               /* B d of the last evaluation, m */
    vec3 z;                    /* of the last evaluation, N */
} penalty_term;

/* Linearizes the law for the first solve, at d (the continued motion, say): with the remembered force or, if there is
 * none and d leads inside, without friction. */
void penalty_begin(penalty_term *term, const contact *c, const contact_point *point, const penalty_law *law, double h,
                   const double *d);

/* How well the linearized forces agree with the law at the solution. */
typedef struct penalty_fit {
    bool same;     /* no contact pulls, and none that touches was left open */
    double change; /* N: largest difference between linearized force and law */
    double mean;   /* N: mean normal force of the active contacts */
    int active;
} penalty_fit;

/* Evaluates the contact at d and adds it to the fit; `mean` is a sum until all are added. */
void penalty_evaluate(penalty_term *term, const contact *c, const double *d, penalty_fit *fit);
/* Linearizes the law at the last evaluation; secant: s. */
void penalty_renew(penalty_term *term, const contact *c, double secant);
/* The end of the step: sets the contact's force, by the linearization, and moves its anchor. */
void penalty_settle(const penalty_term *term, contact *c);

#endif
