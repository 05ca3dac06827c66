/* One step solved by IPOPT, which shares nothing with Thenar's solvers:
 *
 *   minimize 1/2 (v - v*)^T A (v - v*)  subject to  s_min <= s_i(G) <= s_max,  n . (x - p) >= 0,  x = x0 + h v
 *
 * Singular values are not smooth where two of them are equal, and at the optimum two of a tet often are, both at the
 * limit. Polynomials in G^T G that say the same (minors of s_max^2 1 - G^T G) have no gradient there. So the limits are
 * written as what they mean: no direction w of the rest shape is stretched by more or less than is allowed,
 *
 *   s_min^2 <= |G w|^2 <= s_max^2  for all unit w,   det G > 0
 *
 * where each w gives a quadratic whose gradient never vanishes. Of the infinitely many w IPOPT is given some; where its
 * optimum breaks the limits, the singular vectors of G join them, until none is broken by more than IPOPT_BROKEN: the
 * exchange method of semi-infinite optimization [Blankenship, Falk 1976, Infinitely constrained optimization problems,
 * J. Optim. Theory Appl. 19]. Some of the constraints are fewer than all, so an optimum of these that keeps all of them
 * is one of the whole. It is a local one: the lower limits are not convex. det G > 0 is not given to IPOPT; it starts
 * at x0, where that holds, and every round is checked to end where it does. */
#ifndef TEST_IPOPT_STEP_H
#define TEST_IPOPT_STEP_H

#include "dense_step.h"
#include "svd3_single.h"

#include <IpStdCInterface.h>

#define IPOPT_BROKEN 1e-9 /* of a stretch */
#define IPOPT_ROUNDS 60
#define IPOPT_CUTS 4000

/* A direction of a tet. */
typedef struct ipopt_cut {
    int tet;
    vec3 w;
} ipopt_cut;

typedef struct ipopt_step {
    const dense_step *dense;
    bool has_limits;
    double s_min, s_max;
    bool has_plane;
    vec3 normal, point; /* of the plane */
    double scale;       /* of the objective, 1/J: IPOPT's tolerances are absolute */
    int node_count;     /* free nodes: each must be above the plane, wherever it is */
    int *nodes;
    int cut_count;
    ipopt_cut *cuts;
    /* What came out. */
    double *v;
    double *multiplier; /* of the nodes, then of the cuts; positive at an upper bound */
    int rounds, iterations;
} ipopt_step;

static inline Bool ipopt_f(Index n, Number *v, Bool is_new, Number *value, UserDataPtr data) {
    (void)n, (void)is_new;
    const ipopt_step *step = data;
    *value = step->scale * dense_objective(step->dense, v);
    return TRUE;
}

static inline Bool ipopt_gradient(Index n, Number *v, Bool is_new, Number *gradient, UserDataPtr data) {
    (void)is_new;
    const ipopt_step *step = data;
    dense_residual(step->dense, v, gradient);
    for (int i = 0; i < n; i++) gradient[i] *= step->scale;
    return TRUE;
}

/* d(G w) / dv of corner a of the tet is this times the identity. */
static inline double ipopt_lever(const ipopt_step *step, const ipopt_cut *cut, int a) {
    return step->dense->h * vec3_dot(step->dense->gradient[cut->tet][a], cut->w);
}

/* G w */
static inline vec3 ipopt_stretched(const ipopt_step *step, const ipopt_cut *cut, const double *v) {
    vec3 sum = {0};
    for (int a = 0; a < 4; a++)
        sum = vec3_mul_add(sum, dense_position(step->dense, step->dense->mesh->tets[4 * cut->tet + a], v),
                           vec3_dot(step->dense->gradient[cut->tet][a], cut->w));
    return sum;
}

/* Heights over the plane are in units of h m, so that their gradients by v are unit vectors. */
static inline Bool ipopt_g(Index n, Number *v, Bool is_new, Index m, Number *g, UserDataPtr data) {
    (void)n, (void)is_new;
    const ipopt_step *step = data;
    for (int k = 0; k < step->node_count; k++) {
        vec3 x = dense_position(step->dense, step->nodes[k], v);
        g[k] = vec3_dot(step->normal, vec3_sub(x, step->point)) / step->dense->h;
    }
    for (int k = step->node_count; k < m; k++) {
        const ipopt_cut *cut = &step->cuts[k - step->node_count];
        vec3 stretched = ipopt_stretched(step, cut, v);
        g[k] = vec3_dot(stretched, stretched);
    }
    return TRUE;
}

/* The unknown of corner a, or -1. */
static inline int ipopt_corner(const ipopt_step *step, const ipopt_cut *cut, int a) {
    return step->dense->unknown[step->dense->mesh->tets[4 * cut->tet + a]];
}

/* Three entries a node, twelve a cut; a held corner has zeros, in column 0. */
static inline Bool ipopt_jacobian(Index n, Number *v, Bool is_new, Index m, Index count, Index *row, Index *column,
                                  Number *values, UserDataPtr data) {
    (void)n, (void)is_new;
    const ipopt_step *step = data;
    int entry = 0;
    for (int k = 0; k < m; k++) {
        const ipopt_cut *cut = k < step->node_count ? NULL : &step->cuts[k - step->node_count];
        vec3 stretched = {0};
        if (cut && values) stretched = ipopt_stretched(step, cut, v);
        for (int a = 0; a < (cut ? 4 : 1); a++) {
            int unknown = cut ? ipopt_corner(step, cut, a) : step->dense->unknown[step->nodes[k]];
            double g[3];
            if (values) vec3_store(g, cut ? vec3_scale(stretched, 2 * ipopt_lever(step, cut, a)) : step->normal);
            for (int i = 0; i < 3; i++, entry++) {
                if (values) values[entry] = unknown < 0 ? 0 : g[i];
                if (!values) row[entry] = k, column[entry] = unknown < 0 ? 0 : 3 * unknown + i;
            }
        }
    }
    assert_int_equal(entry, count);
    return TRUE;
}

/* The lower triangle of A, and of every cut 2 (g_a . w)(g_b . w) h^2 1 between corners a and b. */
static inline Bool ipopt_hessian(Index n, Number *v, Bool is_new, Number factor, Index m, Number *lambda,
                                 Bool is_new_lambda, Index count, Index *row, Index *column, Number *values,
                                 UserDataPtr data) {
    (void)v, (void)is_new, (void)m, (void)is_new_lambda, (void)count;
    const ipopt_step *step = data;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            int entry = i * (i + 1) / 2 + j;
            if (values) values[entry] = factor * step->scale * step->dense->A[i * n + j];
            if (!values) row[entry] = i, column[entry] = j;
        }
    for (int k = 0; values && k < step->cut_count; k++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                const ipopt_cut *cut = &step->cuts[k];
                int p = ipopt_corner(step, cut, a), q = ipopt_corner(step, cut, b);
                if (p < 0 || q < 0 || q > p) continue;
                double product =
                    2 * lambda[step->node_count + k] * ipopt_lever(step, cut, a) * ipopt_lever(step, cut, b);
                for (int i = 0; i < 3; i++) values[(3 * p + i) * (3 * p + i + 1) / 2 + 3 * q + i] += product;
            }
    return TRUE;
}

static inline Bool ipopt_count(Index phase, Index iteration, Number objective, Number primal, Number dual, Number mu,
                               Number step_size, Number regularization, Number alpha_dual, Number alpha_primal,
                               Index trials, UserDataPtr data) {
    (void)phase, (void)objective, (void)primal, (void)dual, (void)mu, (void)step_size, (void)regularization;
    (void)alpha_dual, (void)alpha_primal, (void)trials;
    if (iteration > 0) ((ipopt_step *)data)->iterations++;
    return TRUE;
}

/* The optimum with the directions that there are, from v on. */
static inline void ipopt_round(ipopt_step *step) {
    int n = step->dense->n, m = step->node_count + step->cut_count;
    double *low = calloc((size_t)(n + m), sizeof *low), *high = calloc((size_t)(n + m), sizeof *high);
    for (int i = 0; i < n + m; i++) {
        low[i] = i < n ? -INFINITY : i < n + step->node_count ? 0 : step->s_min * step->s_min;
        high[i] = i < n + step->node_count ? INFINITY : step->s_max * step->s_max;
    }
    IpoptProblem problem =
        CreateIpoptProblem(n, low, high, m, low + n, high + n, 3 * step->node_count + 12 * step->cut_count,
                           n * (n + 1) / 2, 0, ipopt_f, ipopt_g, ipopt_gradient, ipopt_jacobian, ipopt_hessian);
    assert_non_null(problem);
    assert_true(AddIpoptIntOption(problem, "print_level", 0) && AddIpoptStrOption(problem, "sb", "yes") &&
                AddIpoptStrOption(problem, "nlp_scaling_method", "none") &&
                AddIpoptNumOption(problem, "bound_relax_factor", 0) && AddIpoptNumOption(problem, "tol", 1e-10) &&
                AddIpoptIntOption(problem, "max_iter", 500) && SetIntermediateCallback(problem, ipopt_count));
    enum ApplicationReturnStatus status = IpoptSolve(problem, step->v, NULL, NULL, step->multiplier, NULL, NULL, step);
    if (status != Solve_Succeeded) fail_msg("IPOPT ended with status %d", (int)status);
    FreeIpoptProblem(problem);
    free(low);
    free(high);
}

/* The singular vectors join whose values are out of the limits by more than this. How many did. */
static inline int ipopt_add_cuts(ipopt_step *step, double broken) {
    int before = step->cut_count;
    for (int t = 0; t < step->dense->mesh->tet_count; t++) {
        mat3 U, V;
        double s[3];
        svd3(dense_deformation(step->dense, t, step->v), &U, s, &V);
        assert_true(s[2] > 0);
        for (int i = 0; i < 3; i++) {
            if (s[i] >= step->s_min - broken && s[i] <= step->s_max + broken) continue;
            assert_true(step->cut_count < IPOPT_CUTS);
            step->cuts[step->cut_count++] = (ipopt_cut){.tet = t, .w = mat3_column(V, i)};
        }
    }
    return step->cut_count - before;
}

/* Solves the step from x0 on, with has_limits, s_min, s_max, has_plane, normal and point as they are. */
static inline void ipopt_solve(ipopt_step *step, const dense_step *dense) {
    int nodes = dense->mesh->node_count;
    step->dense = dense;
    step->nodes = calloc((size_t)nodes, sizeof *step->nodes);
    for (int i = 0; i < nodes && step->has_plane; i++)
        if (dense->unknown[i] >= 0) step->nodes[step->node_count++] = i;
    step->cuts = calloc(IPOPT_CUTS, sizeof *step->cuts);
    step->multiplier = calloc((size_t)(nodes + IPOPT_CUTS), sizeof *step->multiplier);
    step->v = calloc((size_t)dense->n, sizeof *step->v);
    step->scale = 1 / dense_objective(dense, step->v);
    if (step->has_limits) ipopt_add_cuts(step, -INFINITY);
    do {
        assert_true(step->rounds++ < IPOPT_ROUNDS);
        ipopt_round(step);
    } while (step->has_limits && ipopt_add_cuts(step, IPOPT_BROKEN) > 0);
}

static inline void ipopt_free(ipopt_step *step) {
    free(step->nodes);
    free(step->cuts);
    free(step->multiplier);
    free(step->v);
}

/* N: what the plane pushes node k of `nodes` with. The gradient of its constraint by v is n, so its multiplier is an
 * impulse. */
static inline double ipopt_contact_force(const ipopt_step *step, int k) {
    return -step->multiplier[k] / (step->scale * step->dense->h);
}

/* N: what the limits push every node of the mesh with. */
static inline void ipopt_limit_forces(const ipopt_step *step, vec3 *force) {
    for (int k = 0; k < step->cut_count; k++) {
        const ipopt_cut *cut = &step->cuts[k];
        vec3 stretched = ipopt_stretched(step, cut, step->v);
        double share = -2 * step->multiplier[step->node_count + k] / (step->scale * step->dense->h);
        for (int a = 0; a < 4; a++) {
            int node = step->dense->mesh->tets[4 * cut->tet + a];
            force[node] = vec3_mul_add(force[node], stretched, share * ipopt_lever(step, cut, a));
        }
    }
}

#endif
