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
 *   over is pressed less), then with more and more damping.
 *
 * Each contact is one penalty_term; the functions at the end work on the terms of one linear system. */
#include "contact/contact.h"

#include <string.h>

#define SECANT_LEFT 0.25 /* factor of s after a pass without wrong states */

/* Linearizes the law in a given state, with friction up to mu times the bound. */
static void linearize(penalty_term *term, cone_state state, double mu, double secant) {
    term->state = state;
    term->K = (mat3){{0}};
    term->offset = term->slip = vec3_make(0, 0, 0);
    if (state == CONE_OPEN) return;
    term->K = mat3_diagonal(term->rho, term->rho, term->rho);
    term->offset = term->still;
    if (state == CONE_STICK) return;
    double size = cone_tangential(term->z), max = mu * term->bound, across = size > 0 ? term->rho * max / size : 0;
    if (size > 0) term->slip = vec3_make(0, term->z.y / size, term->z.z / size);
    mat3 along = mat3_scale(mat3_outer(term->slip, term->slip), across * (secant - 1));
    term->K = mat3_add(mat3_diagonal(term->rho, across, across), along);
    vec3 back = mat3_mul_vec(term->K, term->motion);
    term->offset.y = max * term->slip.y + back.y;
    term->offset.z = max * term->slip.z + back.z;
}

static cone_state state_of(vec3 z, double mu, double bound) {
    return mu > 0 && cone_tangential(z) <= mu * bound ? CONE_STICK : CONE_SLIP;
}

static void evaluate(penalty_term *term, const contact *c, const double *d) {
    term->motion = contact_motion(c, d);
    term->z = vec3_mul_add(term->still, term->motion, -term->rho);
}

void penalty_begin(penalty_term *term, const contact *c, const contact_point *point, const penalty_law *law, double h,
                   const double *d) {
    double area = point->node[0] < 0 ? PENALTY_RIGID_AREA : fmax(point->area, PENALTY_AREA_MIN);
    double rate = area * law->damping / h;
    term->k = area * law->stiffness;
    term->rho = term->k + rate;
    vec3 u = {c->start.x - c->allowed_penetration, c->start.y, c->start.z};
    term->still = vec3_sub(vec3_scale(u, -term->k), vec3_scale(c->known, rate));
    evaluate(term, c, d);
    term->bound = fmax(0, c->lambda.x);
    term->share = 1;
    term->last_change = term->secant = 0;
    term->turns = 0;
    bool touches = c->lambda.x > 0 || term->z.x > 0;
    linearize(term, touches ? state_of(term->z, c->mu, term->bound) : CONE_OPEN, c->mu, 0);
}

/* K in world axes, N/m. */
static mat3 penalty_stiffness(const penalty_term *term, const contact *c) {
    return mat3_mul(mat3_mul(mat3_transpose(c->frame), term->K), c->frame);
}

/* Adds the term to A (blocks) and b, except for the blocks between two soft sides. */
static void penalty_add(const penalty_term *term, const contact *c, double h, double *blocks, double *b) {
    if (term->state == CONE_OPEN) return;
    contact_add_force(c, vec3_scale(mat3_mul_vec_transposed(c->frame, term->offset), h), b);
    contact_add_blocks(c, mat3_scale(penalty_stiffness(term, c), h * h), blocks);
}

/* The linearized force at the last evaluation. */
static vec3 linearized_force(const penalty_term *term) {
    return vec3_sub(term->offset, mat3_mul_vec(term->K, term->motion));
}

static vec3 exact_force(vec3 z, double mu) {
    if (!(z.x > 0)) return vec3_make(0, 0, 0);
    cone_state state = state_of(z, mu, z.x);
    double size = cone_tangential(z), along = state == CONE_STICK ? 1 : size > 0 ? mu * z.x / size : 0;
    return vec3_make(z.x, along * z.y, along * z.z);
}

void penalty_evaluate(penalty_term *term, const contact *c, const double *d, penalty_fit *fit) {
    evaluate(term, c, d);
    vec3 force = exact_force(term->z, c->mu);
    fit->same = fit->same && (force.x > 0) == (term->state != CONE_OPEN);
    fit->change = fmax(fit->change, vec3_distance(force, linearized_force(term)));
    fit->mean += force.x;
    fit->active += force.x > 0;
}

static void move_bound(penalty_term *term) {
    double change = fmax(0, term->z.x) - term->bound;
    term->share = change * term->last_change < 0 ? 0.5 * term->share : fmin(1, 2 * term->share);
    term->bound += term->share * change;
    term->last_change = change;
}

void penalty_renew(penalty_term *term, const contact *c, double secant) {
    /* For an open contact, z belongs to a depth that it would never reach. */
    if (term->state != CONE_OPEN) move_bound(term);
    cone_state state = term->z.x > 0 ? state_of(term->z, c->mu, term->bound) : CONE_OPEN;
    bool turned = state == CONE_SLIP && c->mu * term->bound > 0 && vec3_dot(term->z, term->slip) < 0;
    if (turned) {
        term->turns++;
        term->secant = 1;
    } else if (term->state == CONE_SLIP && term->turns > 0) {
        term->secant *= 1 - (1 - SECANT_LEFT) / term->turns;
    }
    linearize(term, turned ? CONE_STICK : state, c->mu, fmax(secant, term->secant));
}

void penalty_settle(const penalty_term *term, contact *c) {
    vec3 force = linearized_force(term);
    c->u = vec3_add(c->start, term->motion);
    c->z = term->z;
    /* A contact still pulls if the step ended before the passes converged; the law says that it is open. */
    bool pulls = !(force.x > 0);
    c->settled = c->state = pulls ? CONE_OPEN : term->state;
    c->lambda = c->force = pulls ? vec3_make(0, 0, 0) : force;
    c->anchored = true;
    if (c->settled == CONE_SLIP)
        c->slide = vec3_make(0, (force.y - term->z.y) / term->k, (force.z - term->z.z) / term->k);
}

/* d = h v of the last step. */
static void predict(const contact_equations *equations, double *d) {
    for (int k = 0; k < equations->body_count; k++) {
        const body_state *body = equations->bodies[k];
        body->model->kind->velocity(body, d + 3 * equations->first_node[k]);
    }
    for (int i = 0; i < 3 * equations->pattern->node_count; i++) d[i] *= equations->step->h;
}

static int add_terms(const contact_state *state, int s, const contact_equations *equations) {
    double h = equations->step->h;
    int link_count = 0;
    for (int i = state->system_start[s]; i < state->system_start[s + 1]; i++) {
        const penalty_term *term = &state->terms[i];
        const contact *c = &state->contacts[i];
        penalty_add(term, c, h, equations->blocks, equations->b);
        if (c->couples_soft && term->state != CONE_OPEN)
            equations->links[link_count++] = (contact_link){.contact = c, .stiffness = penalty_stiffness(term, c)};
    }
    return link_count;
}

int contact_penalize(contact_state *state, const contact_model *contacts, int s, const contact_equations *equations) {
    int first = state->system_start[s], end = state->system_start[s + 1];
    state->secant[s] = 0;
    if (first == end) return 0;
    size_t nodes = (size_t)equations->pattern->node_count, blocks = (size_t)equations->pattern->block_count;
    memcpy(equations->untouched_blocks, equations->blocks, 9 * blocks * sizeof *equations->blocks);
    memcpy(equations->untouched_b, equations->b, 3 * nodes * sizeof *equations->b);
    predict(equations, equations->scratch);
    for (int i = first; i < end; i++)
        penalty_begin(&state->terms[i], &state->contacts[i], &state->points[state->contacts[i].point], &contacts->law,
                      equations->step->h, equations->scratch);
    return add_terms(state, s, equations);
}

bool contact_penalty_fits(contact_state *state, int s, const contact_equations *equations, double tolerance, int pass) {
    double *d = equations->scratch;
    for (int i = 0; i < 3 * equations->pattern->node_count; i++) d[i] = equations->step->h * equations->v[i];
    penalty_fit fit = {.same = true};
    for (int i = state->system_start[s]; i < state->system_start[s + 1]; i++)
        penalty_evaluate(&state->terms[i], &state->contacts[i], d, &fit);
    if (fit.active > 0) fit.mean /= fit.active;
    /* The first linearization is a guess: that it is wrong means nothing yet. */
    if (pass > 1) state->secant[s] = fit.same ? state->secant[s] * SECANT_LEFT : 1;
    return fit.same && fit.change <= tolerance * fit.mean;
}

int contact_penalty_renew(contact_state *state, int s, const contact_equations *equations) {
    size_t nodes = (size_t)equations->pattern->node_count, blocks = (size_t)equations->pattern->block_count;
    memcpy(equations->blocks, equations->untouched_blocks, 9 * blocks * sizeof *equations->blocks);
    memcpy(equations->b, equations->untouched_b, 3 * nodes * sizeof *equations->b);
    for (int i = state->system_start[s]; i < state->system_start[s + 1]; i++)
        penalty_renew(&state->terms[i], &state->contacts[i], state->secant[s]);
    return add_terms(state, s, equations);
}

void contact_penalty_settle(contact_state *state) {
    for (int i = 0; i < state->system_start[state->system_count]; i++)
        penalty_settle(&state->terms[i], &state->contacts[i]);
}
