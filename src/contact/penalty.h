/* Contact by springs: the anchored penalty method (perez2016, section II-B), implicit.
 *
 * A point that is delta deep inside pushes with a spring and a damper, and hangs on its anchor a, a point of the other
 * body, by a second spring and damper as stiff as the first; both are linear in where the step takes the point:
 *
 *   z(d) = -k u(d) - c u'(d),   u(d) = start + B d,   u'(d) = (known + B d) / h,   B d = F sum_k M_k d_k
 *
 * in the contact's frame (contact.h), u_n = -delta, u_t = x_t - a. The force on the skin's body is
 *
 *   open   z_n <= 0                f = 0
 *   stick  |z_t| <= mu z_n         f = z
 *   slip   otherwise               f_n = z_n,  f_t = mu z_n t,  t = z_t / |z_t|,
 *                                  and the anchor moves on until z_t = f_t: by (f_t - z_t) / k
 *
 * and its derivative -K, with rho = k + c / h, where the symmetric part is all that is kept (the normal force's part in
 * friction, mu rho t n^T, is left out: A stays symmetric)
 *
 *   stick  K = rho 1               slip  K = rho (n n^T + (mu z_n / |z_t|) (1 - n n^T - (1 - s) t t^T)),   s = 0
 *
 * So a contact is linear equations: h^2 B^T K B goes to A, and h B^T (f + K B d) to b, at the d where it was looked at.
 * Where the solution is in another state (what was thought to touch pulls, what was to stick slips), it is looked at
 * and solved again: Newton's method on the law, of which mostly one step is taken, since the first look is at what the
 * last step left. Without these steps, contacts that end within a step hold on to what leaves, and those that begin in
 * it are felt a step late, with h v of depth that is then shot out.
 *
 * What keeps these steps from going to and fro between stick and slip, open and closed:
 *
 * - A slip that turned round has passed through 0: it is taken to stick next, and slips again, if it must, to the side
 *   on which that is too much. Taken to slip the other way, it turns round for ever. When it slips again it begins with
 *   the secant (below), the longer the more often it turned.
 * - K has no stiffness along t, so that contacts of which it is not yet known whether they touch are carried far in and
 *   out. As long as some are found in the wrong state, s = 1 (the secant: f_t is a share of z_t, which bounds friction's
 *   potential from above and never goes too far, but converges slowly where springs are much stiffer than bodies);
 *   then ever less.
 * - Friction's bound mu z_n is that of the pass before. It goes all the way, until that swings it to and fro (what
 *   friction turns over is pressed less), then ever less. */
#ifndef CONTACT_PENALTY_H
#define CONTACT_PENALTY_H

#include "contact/constraint.h"

/* Stiffness and damping are given an area of skin, so that they do not depend on the mesh. */
typedef struct penalty_law {
    double stiffness; /* Pa/m */
    double damping;   /* Pa s/m */
} penalty_law;

#define PENALTY_RIGID_AREA 1e-4  /* m^2: what a point of a rigid body, which has no area, counts for */
#define PENALTY_SECANT_LEFT 0.25 /* of s, after a pass in which it was not asked for */
#define PENALTY_LEAST_AREA 1e-7  /* m^2: what a point of a soft one does at least; skin that is seen edge on has none */

typedef struct penalty_term {
    double k, rho;             /* N/m */
    vec3 still;                /* z where no unknown moves, N */
    cone_state state;          /* which the equations are of */
    double bound;              /* N: the normal force of which friction may have a share mu, as the equations have it */
    double share, last_change; /* of the way that the bound goes to the normal force; that way in the last pass, N */
    vec3 slip;                 /* t, if it slips */
    int turns;                 /* how often that turned round */
    double secant;             /* its own s, after that */
    mat3 K;                    /* N/m, in the frame */
    vec3 offset;               /* f + K B d, N: the equations say that the force is offset - K B d */
    vec3 motion;               /* B d where the term was looked at last, m */
    vec3 z;                    /* there, N */
} penalty_term;

/* Equations for the first look, where d would take the contact (the motion going on as it did, say): with the force
 * that it remembers, or without friction yet, if it remembers none and d takes it inside. */
void penalty_begin(penalty_term *term, const contact *c, const contact_point *point, const penalty_law *law, double h,
                   const double *d);

/* How well the equations fit the law where they were solved. */
typedef struct penalty_fit {
    bool same;     /* no contact pulls, none is passed over */
    double change; /* N: largest difference between the force of the equations and that of the law */
    double mean;   /* N: normal force of those that push */
    int active;
} penalty_fit;

/* Looks where d takes the contact, and adds it to the fit, `mean` being the sum until all were looked at. */
void penalty_look(penalty_term *term, const contact *c, const double *d, penalty_fit *fit);
/* New equations for where it was looked at; secant: s. */
void penalty_renew(penalty_term *term, const contact *c, double secant);
/* The step is done: the force that acted, by the equations, and what becomes of the anchor. */
void penalty_settle(const penalty_term *term, contact *c);

#endif
