/* Handle-space linearization (garre2009, section 3, after their World Haptics paper).
 *
 * Over one step the velocities v_t of the tool respond to those v_h of a handle by X = dv_t / dv_h. With the
 * springs' kappa = h^2 k + h d, the velocity w J v_h of their points (w = 1 except for bones), and the active limits
 * and contacts as equalities,
 *   H_t X = B,   B = kappa w J at the attached nodes,   H_t = A_t + rho sum_a J_a^T J_a,   rho -> infinity,
 * the force of the tool on the handle changes by -(h K_c + D_c) dv_h,
 *   K_c = sum k w J^T (w J - X),   D_c = sum d w J^T (w J - X).
 * k and d have the same ratio at all nodes of a handle, so both are shares of S = sum kappa w J^T (w J - X), the
 * Schur complement of the tool in the handle, symmetric and positive semidefinite.
 *
 * The penalty rho is finite: limits are LIMIT_FACTOR times as stiff as in newton.c, contacts CONTACT_FACTOR
 * times, which leaves errors of 1e-5 or less. The curvature of limits is that of newton's Hessian. A sticking
 * contact is held in all three directions. A slipping one is held along its normal and, since its friction turns
 * with the direction of slip, across that direction with mu f_n / |u_t|; the change of friction with the normal
 * force has no symmetric form and is left out. Contacts between soft bodies are separate rows (held_rows), up to
 * HELD_ROWS_MAX; beyond that each side is held as if the other were fixed. Spring contacts (--contact penalty) are
 * in A. Solvers on rows keep no multipliers, so with them limits are left out.
 *
 * S = X^T M X + h V + h^2 E: inertia, damping (V: Rayleigh damping and all dampers), and elasticity with everything
 * held. The haptic loop gets the parts separately, since between two steps they act differently.
 *
 * A handle with unknowns is the last part of H. With E its six unit columns, H Y = E gives Y_h = S'^-1 and X = Y_t
 * Y_h^-1, from the same factor for all handles of an island. Other handles are not held: they respond through their
 * own couplings, as in the step.
 *
 * The handle of a bone that is coupled with its flesh (hand/bones.c) is the bone: with the unit wrenches on it as columns,
 * H Y = J_b^T gives its compliance Y_b = J_b Y, X = Y Y_b^-1, and S = Y_b^-1 without the bone's own coupling and without
 * the handle's mass, that of the bones beyond it. Other bones respond by their joints. Where bones are solved before the flesh, the handle of a bone moves rigidly with the bones beyond
 * it, and all other bones are held. */
#include "world/sim.h"

#include "body/rigid.h"
#include "body/soft.h"
#include "core/dense.h"
#include "core/simd.h"
#include "core/spatial.h"
#include "solver/newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

static void add_soft_mass(double *const X[6], const soft_model *soft, const double *mass, int first, double sum[36]) {
    for (int node = 0; node < soft->mesh.node_count; node++) {
        int at = 3 * (first + soft->system_node[node]);
        if (soft->system_node[node] < 0) continue;
        for (int i = 0; i < 36; i++)
            sum[i] += mass[node] * vec3_dot(vec3_load(X[i / 6] + at), vec3_load(X[i % 6] + at));
    }
}

/* Adds X^T M X of one body, whose unknowns start at node `first`, to a 6x6 matrix; X has six columns. */
static void add_inertia(double *const X[6], const body_model *body, const body_state *state, int first,
                        double sum[36]) {
    if (body->kind == &soft_class) {
        add_soft_mass(X, (const soft_model *)body, ((const soft_model *)body)->mass, first, sum);
        return;
    }
    const rigid_model *rigid = (const rigid_model *)body;
    mat3 R = quat_to_mat3(rigid_orientation(((const rigid_state *)state)->kept->orientation));
    mat3 inertia = mat3_mul(mat3_mul(R, rigid->inertia), mat3_transpose(R));
    int at = 3 * first;
    for (int i = 0; i < 36; i++) {
        vec3 turn = mat3_mul_vec(inertia, vec3_load(X[i % 6] + at + 3));
        sum[i] += rigid->base.mass * vec3_dot(vec3_load(X[i / 6] + at), vec3_load(X[i % 6] + at)) +
                  vec3_dot(vec3_load(X[i / 6] + at + 3), turn);
    }
}

/* Adds X^T beta K X of eight tets: column c against the columns up to it. */
static void add_batch(const soft_batch *batch, const soft_model *soft, const f64x8 product[12], double *const X[6],
                      int first, int c, double h, double sum[36]) {
    for (int l = 0; l < batch->tet_count; l++) {
        double beta = batch->beta[l], share = beta / (h * (h + beta)); /* the product is (h^2 + h beta) K X */
        for (int a = 0; a < 4; a++) {
            int own = soft->system_node[batch->node[a][l]];
            if (own < 0) continue;
            vec3 force = {share * product[3 * a][l], share * product[3 * a + 1][l], share * product[3 * a + 2][l]};
            for (int i = 0; i <= c; i++) {
                double part = vec3_dot(vec3_load(X[i] + 3 * (first + own)), force);
                sum[6 * i + c] += part;
                if (i < c) sum[6 * c + i] += part;
            }
        }
    }
}

/* Adds X^T (alpha M + beta K) X of a soft body, and X^T d X of the dampers that attach its nodes to fixed points.
 * Overwrites soft_state.free_velocity. */
static void add_viscosity(double *const X[6], body_state *state, int first, double h, double sum[36]) {
    soft_state *of_soft = (soft_state *)state;
    const soft_model *soft = soft_of(of_soft);
    add_soft_mass(X, soft, soft->damped_mass, first, sum);
    add_soft_mass(X, soft, soft->damping, first, sum);
    for (int c = 0; c < 6; c++) {
        double *w = of_soft->free_velocity;
        for (int node = 0; node < soft->mesh.node_count; node++) {
            int own = soft->system_node[node];
            vec3_store(w + 3 * node, own < 0 ? vec3_make(0, 0, 0) : vec3_load(X[c] + 3 * (first + own)));
        }
        for (int k = 0; k < soft->batch_count; k++) {
            f64x8 product[12];
            soft_element_stiffness_times(&soft->batches[k], of_soft->rotation + 9 * k, w, h, product);
            add_batch(&soft->batches[k], soft, product, X, first, c, h, sum);
        }
    }
}

static int size_of(const solver_problem *problem) {
    return 3 * problem->pattern->node_count;
}

/* contacts: maximum number of contacts between soft bodies. */
static void held_rows_layout(held_rows *state, size_t components, int contacts, arena *work) {
    int max = contacts < HELD_ROWS_MAX / 3 ? (3 * contacts + 7) / 8 * 8 : HELD_ROWS_MAX;
    size_t rows = (size_t)max, own = max > 0 ? components : 0;
    *state = (held_rows){.max = max,
                         .rows = ARENA_ARRAY(work, held_row, rows),
                         .half = ARENA_ARRAY(work, double, rows *own),
                         .eight = ARENA_ARRAY(work, double, 8 * own),
                         .C = ARENA_ARRAY(work, double, rows *rows),
                         .multipliers = ARENA_ARRAY(work, double, rows),
                         .column = ARENA_ARRAY(work, double, own)};
}

/* Adds J_i^T times a number to `sum`. */
static void add_row(const held_row *row, const solver_problem *problem, double scale, double *sum) {
    const contact *c = &problem->contacts[row->contact];
    contact_add_force(c, vec3_scale(mat3_mul_vec_transposed(c->frame, row->direction), scale), sum);
}

/* Eight rows of L^-1 P J^T; zero beyond the last row. */
static void solve_half(held_rows *state, const solver_problem *problem, int first) {
    int n = size_of(problem);
    memset(state->eight, 0, 8 * (size_t)n * sizeof *state->eight);
    for (int s = 0; s < 8 && first + s < state->count; s++) {
        memset(state->column, 0, (size_t)n * sizeof *state->column);
        add_row(&state->rows[first + s], problem, 1, state->column);
        solver_fold(problem, state->column);
        for (int i = 0; i < n; i++) state->eight[8 * i + s] = state->column[i];
    }
    cholesky_forward_eight(problem->factor, state->eight, state->half + (size_t)first * (size_t)n);
}

/* The 8x8 block of C at rows a and b. */
static void multiply_halves(held_rows *state, int n, int a, int b) {
    const double *x = state->half + (size_t)a * (size_t)n, *y = state->half + (size_t)b * (size_t)n;
    f64x8 sum[8];
    for (int s = 0; s < 8; s++) sum[s] = f64x8_set(0);
    for (int i = 0; i < n; i++) {
        f64x8 row = f64x8_load(y + 8 * i);
        for (int s = 0; s < 8; s++) sum[s] = f64x8_fma(f64x8_set(x[8 * i + s]), row, sum[s]);
    }
    for (int s = 0; s < 8; s++) f64x8_store(state->C + (size_t)(a + s) * (size_t)state->max + (size_t)b, sum[s]);
}

/* Computes C and its factor, with the problem's factor being that of M. False: C is not positive definite. */
static bool held_rows_factor(held_rows *state, const solver_problem *problem) {
    int n = size_of(problem), max = state->max;
    for (int a = 0; a < state->count; a += 8) {
        solve_half(state, problem, a);
        for (int b = 0; b <= a; b += 8) multiply_halves(state, n, a, b);
    }
    for (int i = 0; i < state->count; i++) state->C[(size_t)i * (size_t)(max + 1)] += state->rows[i].compliance;
    return dense_cholesky(state->C, state->count, max, 0) == 0;
}

/* out = J^T C^-1 J x for x = M^-1 r. The caller solves M y = out; H^-1 r is x - y. */
static void held_rows_correction(held_rows *state, const solver_problem *problem, const double *x, double *out) {
    int count = state->count;
    double *m = state->multipliers;
    for (int i = 0; i < count; i++) {
        const held_row *row = &state->rows[i];
        m[i] = vec3_dot(row->direction, contact_motion(&problem->contacts[row->contact], x));
    }
    dense_cholesky_solve(state->C, count, state->max, m);
    memset(out, 0, (size_t)size_of(problem) * sizeof *out);
    for (int i = 0; i < count; i++) add_row(&state->rows[i], problem, m[i], out);
}

#define LIMIT_FACTOR 65536.0
#define CONTACT_FACTOR 16384.0

/* The mover that is the bones of a handle, if these are coupled with their flesh; else -1. */
static int bones_of_handle(const thenar_model *model, const handle_model *handle) {
    for (int k = 0; handle_is_bone(handle) && k < model->bones_count; k++)
        if (model_bones(model, k)->hand == handle->hand) return model->body_count + model->handle_count + k;
    return -1;
}

static bool has_links_in(const thenar_model *model, const handle_model *handle, int s) {
    int bones = bones_of_handle(model, handle);
    if (bones >= 0) return model->system_of[bones] == s;
    int first, count = handle_is_bone(handle) ? model->hands[handle->hand]->flesh_count : 1;
    first = handle->body;
    for (int i = first; i < first + count; i++)
        if (model->system_of[i] == s) return true;
    return false;
}

void linearization_layout(linearization *state, const thenar_model *model, arena *work) {
    size_t blocks = 0, components = 0, soft_coupling_components = 0;
    int soft_couplings = 0;
    for (int s = 0; s < model->system_count; s++) {
        const system_model *system = &model->systems[s];
        bool any = false;
        for (int i = 0; i < model->handle_count && !any; i++) any = has_links_in(model, model_handle(model, i), s);
        if (!any) continue;
        size_t own = 3 * (size_t)system->pattern.node_count;
        if ((size_t)system->pattern.block_count > blocks) blocks = (size_t)system->pattern.block_count;
        if (own > components) components = own;
        if (!system->couples_soft) continue;
        if (own > soft_coupling_components) soft_coupling_components = own;
        if (system->max_contacts > soft_couplings) soft_couplings = system->max_contacts;
    }
    *state = (linearization){.tangent = ARENA_ARRAY(work, double, 9 * blocks),
                             .eight = ARENA_ARRAY(work, double, 8 * components)};
    for (int c = 0; c < HANDLE_COLUMNS; c++) {
        state->column[c] = ARENA_ARRAY(work, double, components);
        state->other[c] = ARENA_ARRAY(work, double, soft_coupling_components);
    }
    held_rows_layout(&state->held_rows, soft_coupling_components, soft_couplings, work);
}

/* Directions in which an active contact is held, in its frame, and their stiffness, N/m. Returns how many. */
static int held_directions(const contact *c, vec3 direction[3], double weight[3]) {
    double stiff = CONTACT_FACTOR * c->rho, slip_speed = cone_tangential(c->u);
    weight[0] = weight[1] = weight[2] = stiff;
    direction[0] = vec3_make(1, 0, 0), direction[1] = vec3_make(0, 1, 0), direction[2] = vec3_make(0, 0, 1);
    if (c->settled == CONE_STICK) return 3;
    double turn_stiffness = slip_speed > 0 ? fmin(stiff, c->mu * c->lambda.x / slip_speed) : 0;
    if (!(turn_stiffness > 0)) return 1;
    weight[1] = turn_stiffness;
    direction[1] = vec3_make(0, -c->u.z / slip_speed, c->u.y / slip_speed);
    return 2;
}

static void hold_contact(linearization *state, const solver_problem *problem, int index) {
    const contact *c = &problem->contacts[index];
    double h = problem->step->h, weight[3];
    vec3 direction[3];
    int count = held_directions(c, direction, weight);
    bool has_rows = c->couples_soft && state->held_rows.count + count <= state->held_rows.max;
    for (int i = 0; i < count; i++) {
        if (has_rows) {
            state->held_rows.rows[state->held_rows.count++] = (held_row){index, direction[i], 1 / (h * h * weight[i])};
            continue;
        }
        vec3 n = mat3_mul_vec_transposed(c->frame, direction[i]);
        contact_add_blocks(c, mat3_scale(mat3_outer(n, n), h * h * weight[i]), state->tangent);
    }
}

/* Assembles H, and the held rows of contacts between soft bodies. */
static void assemble(linearization *state, const solver_problem *problem, bool convex) {
    double h = problem->step->h;
    memcpy(state->tangent, problem->A, 9 * (size_t)problem->pattern->block_count * sizeof *state->tangent);
    EACH_LIMITED (problem, k, limits)
        if (limits->warm(problem->bodies[k]))
            limits->tangent(problem->bodies[k], problem->step, h * h * NEWTON_RHO, LIMIT_FACTOR, convex,
                            state->tangent);
    state->held_rows.count = 0;
    for (int i = 0; i < problem->contact_count; i++)
        if (problem->contacts[i].lambda.x > 0) hold_contact(state, problem, i);
}

/* Solves six columns with the factor of H, without the held rows. */
static void solve_columns(linearization *state, const solver_problem *problem, double *const x[HANDLE_COLUMNS]) {
    int n = 3 * problem->pattern->node_count;
    memset(state->eight, 0, 8 * (size_t)n * sizeof *state->eight);
    for (int c = 0; c < HANDLE_COLUMNS; c++) solver_fold(problem, x[c]);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < HANDLE_COLUMNS; c++) state->eight[8 * i + c] = x[c][i];
    cholesky_solve_eight(problem->factor, state->eight);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < HANDLE_COLUMNS; c++) x[c][i] = state->eight[8 * i + c];
    for (int c = 0; c < HANDLE_COLUMNS; c++) solver_expand(problem, x[c]);
}

/* Adds the correction of the held rows. */
static void solve_held_rows(linearization *state, const solver_problem *problem) {
    int n = 3 * problem->pattern->node_count;
    solve_columns(state, problem, state->column);
    if (state->held_rows.count == 0) return;
    for (int c = 0; c < HANDLE_COLUMNS; c++)
        held_rows_correction(&state->held_rows, problem, state->column[c], state->other[c]);
    solve_columns(state, problem, state->other);
    for (int c = 0; c < HANDLE_COLUMNS; c++)
        for (int i = 0; i < n; i++) state->column[c][i] -= state->other[c][i];
}

/* A spring of a handle in one system. */
typedef struct handle_spring {
    int unknown;        /* first of the three of the node */
    double k, d, kappa; /* of the spring */
    double weight;
    vec3 arm;
} handle_spring;

/* False: the link is not in this system. */
static bool find_spring(const thenar_model *model, const handle_state *state, int link_index, int s, double h,
                        handle_spring *out) {
    const handle_link *link = &handle_of(state)->links[link_index];
    if (model->system_of[link->body] != s) return false;
    const soft_model *tool = model_soft(model, link->body);
    double k = tool->stiffness[link->node], d = tool->damping[link->node];
    *out = (handle_spring){.unknown = 3 * (model->first_node_of[link->body] + tool->system_node[link->node]),
                           .k = k,
                           .d = d,
                           .kappa = h * (h * k + d),
                           .weight = link->weight,
                           .arm = vec3_load(state->arms + 3 * link_index)};
    return true;
}

/* Column c of w J: how the point moves with the handle. */
static vec3 point_motion(const handle_spring *t, int c) {
    vec3 axis = vec3_make(c % 3 == 0, c % 3 == 1, c % 3 == 2);
    return vec3_scale(c < 3 ? axis : vec3_cross(axis, t->arm), t->weight);
}

/* X = Y_t Y_h^-1 in place of Y in the columns. Y_h: entry 6 i + c is component i of column c. False: it is not positive
 * definite. */
static bool divide_by_handle(linearization *state, const double Y_h[36], int n) {
    double L[36];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) L[6 * i + j] = 0.5 * (Y_h[6 * i + j] + Y_h[6 * j + i]);
    if (dense_cholesky(L, 6, 6, 0) > 0) return false;
    for (int row = 0; row < n; row++) {
        double x[6];
        for (int i = 0; i < 6; i++) x[i] = state->column[i][row];
        dense_cholesky_solve(L, 6, 6, x);
        for (int i = 0; i < 6; i++) state->column[i][row] = x[i];
    }
    return true;
}

/* Computes X of one handle in the columns. */
static bool solve_response(linearization *state, const thenar_model *model, const solver_problem *problem, int s,
                           const handle_state *handle, int mover) {
    int n = 3 * problem->pattern->node_count, own = 3 * model->first_node_of[mover];
    bool is_bone = handle_is_bone(handle_of(handle));
    for (int c = 0; c < HANDLE_COLUMNS; c++) {
        memset(state->column[c], 0, (size_t)n * sizeof(double));
        if (!is_bone) state->column[c][own + c] = 1;
    }
    for (int k = 0; k < handle_of(handle)->link_count && is_bone; k++) {
        handle_spring t;
        if (!find_spring(model, handle, k, s, problem->step->h, &t)) continue;
        for (int c = 0; c < HANDLE_COLUMNS; c++) {
            double *at = state->column[c] + t.unknown;
            vec3_store(at, vec3_mul_add(vec3_load(at), point_motion(&t, c), t.kappa));
        }
    }
    solve_held_rows(state, problem);
    double Y_h[36];
    for (int i = 0; i < 36 && !is_bone; i++) Y_h[i] = state->column[i % 6][own + i / 6];
    return is_bone || divide_by_handle(state, Y_h, n);
}

/* The same for a bone that is coupled with its flesh, and its S, which is added. */
static bool respond_with_bone(linearization *state, const thenar_sim *sim, const solver_problem *problem,
                              const handle_state *handle, int bones, double S[36], double inertia[36], double sums[3]) {
    int n = 3 * problem->pattern->node_count, first = sim->model->first_node_of[bones], bone = handle_of(handle)->bone;
    const bones_state *own = (const bones_state *)sim->bodies[bones];
    double h = problem->step->h, Y[36], inverse[36] = {0};
    for (int c = 0; c < HANDLE_COLUMNS; c++) memset(state->column[c], 0, (size_t)n * sizeof(double));
    bones_add_wrenches(own, bone, first, state->column);
    solve_held_rows(state, problem);
    bones_motion(own, bone, first, state->column, Y);
    if (!divide_by_handle(state, Y, n)) return false;
    double L[36];
    for (int i = 0; i < 36; i++) L[i] = 0.5 * (Y[i] + Y[6 * (i % 6) + i / 6]);
    if (dense_cholesky(L, 6, 6, 0) > 0) return false;
    double M[36];
    bones_mass(own, bone, handle_of(handle)->carries, M);
    for (int i = 0; i < 6; i++) {
        double x[6] = {0};
        x[i] = 1;
        dense_cholesky_solve(L, 6, 6, x);
        for (int j = 0; j < 6; j++) inverse[6 * j + i] = x[j];
        inverse[7 * i] -= own->kappa[bone][i / 3];
    }
    for (int i = 0; i < 36; i++) S[i] += inverse[i] - M[i], inertia[i] -= M[i];
    const skeleton_coupling *c = handle_bone_coupling(handle_of(handle), own->hand->model);
    sums[0] = c->stiffness, sums[1] = c->damping, sums[2] = h * (h * c->stiffness + c->damping);
    return true;
}

/* Adds the contribution of one system to S and to the sums of k, d and kappa. V of the tool has the dampers of the
 * springs as if the handle were fixed; their motion with the handle is added here. */
static void add_springs(const linearization *state, const thenar_model *model, const handle_state *handle, int s,
                        double h, double S[36], double V[36], double sums[3]) {
    for (int k = 0; k < handle_of(handle)->link_count; k++) {
        handle_spring t;
        if (!find_spring(model, handle, k, s, h, &t)) continue;
        vec3 motion[HANDLE_COLUMNS], tool[HANDLE_COLUMNS], force[HANDLE_COLUMNS];
        for (int c = 0; c < HANDLE_COLUMNS; c++) {
            motion[c] = point_motion(&t, c);
            tool[c] = vec3_load(state->column[c] + t.unknown);
            force[c] = vec3_scale(vec3_sub(motion[c], tool[c]), t.kappa);
        }
        for (int i = 0; i < 36; i++) {
            vec3 a = motion[i / 6], b = motion[i % 6];
            S[i] += vec3_dot(a, force[i % 6]);
            V[i] += t.d * (vec3_dot(a, b) - vec3_dot(a, tool[i % 6]) - vec3_dot(tool[i / 6], b));
        }
        sums[0] += t.k, sums[1] += t.d, sums[2] += t.kappa;
    }
}

/* One handle in one system: adds to S (in linear->stiffness until all systems are done) and to the sums. */
static bool linearize_handle_in(linearization *state, const thenar_sim *sim, int number, int s,
                                const solver_problem *problem, double sums[3]) {
    const thenar_model *model = sim->model;
    const handle_state *handle = sim_handle(sim, number);
    int mover = model->body_count + number, bones = bones_of_handle(model, handle_of(handle));
    if (bones >= 0) {
        if (!respond_with_bone(state, sim, problem, handle, bones, handle->linear->stiffness, handle->linear->inertia,
                               sums))
            return false;
    } else {
        if (!solve_response(state, model, problem, s, handle, mover)) return false;
        add_springs(state, model, handle, s, problem->step->h, handle->linear->stiffness, handle->linear->viscosity,
                    sums);
    }
    const system_model *system = &model->systems[s];
    for (int k = 0; k < system->body_count; k++) {
        const body_model *body = model->bodies[system->bodies[k]];
        if (system->bodies[k] == mover || body->system_node_count == 0) continue;
        body_state *of_body = sim->bodies[system->bodies[k]];
        if (body->kind == &bones_class) {
            bones_add_inertia((const bones_state *)of_body, system->first_node[k], state->column,
                              handle->linear->inertia);
            bones_add_viscosity((const bones_state *)of_body, system->bodies[k] == bones ? handle_of(handle)->bone : -1,
                                system->first_node[k], state->column, handle->linear->viscosity);
            continue;
        }
        add_inertia(state->column, body, of_body, system->first_node[k], handle->linear->inertia);
        if (body->kind == &soft_class)
            add_viscosity(state->column, of_body, system->first_node[k], problem->step->h, handle->linear->viscosity);
    }
    return true;
}

/* Flesh at its limits under pressure has negative eigenvalues; usually A outweighs them. */
static bool factor_tangent(linearization *state, const solver_problem *problem) {
    for (int convex = 0; convex < 2; convex++) {
        assemble(state, problem, convex);
        if (solver_factor(problem, state->tangent) && held_rows_factor(&state->held_rows, problem)) return true;
    }
    return false;
}

static void finish(handle_linear *linear, const double sums[3]) {
    double S[36];
    memcpy(S, linear->stiffness, sizeof S);
    linear->is_there = linear->is_there && sums[2] > 0 && body_within(S, 36, DBL_MAX) &&
                       body_within(linear->inertia, 36, DBL_MAX) && body_within(linear->viscosity, 36, DBL_MAX);
    if (!linear->is_there) return;
    sym6_make_semidefinite(S);
    for (int i = 0; i < 36; i++) {
        linear->stiffness[i] = S[i] * (sums[0] / sums[2]);
        linear->damping[i] = S[i] * (sums[1] / sums[2]);
    }
}

void linearize_handles(linearization *state, const thenar_model *model, thenar_sim *sim, const body_step *step) {
    for (int i = 0; i < model->handle_count; i++) {
        handle_state *handle = sim_handle(sim, i);
        *handle->linear = (handle_linear){.is_there = handle->linearize};
    }
    for (int s = 0; s < model->system_count; s++) {
        bool is_ready = false, is_good = true;
        solver_problem problem = system_problem(&sim->systems[s], &model->systems[s], step);
        problem.coupled =
            NULL; /* always the direct factor: conjugate gradients would not converge with such stiff penalties */
        for (int i = 0; i < model->handle_count; i++) {
            handle_state *handle = sim_handle(sim, i);
            if (!handle->linear->is_there || !has_links_in(model, handle_of(handle), s)) continue;
            if (!is_ready) is_good = factor_tangent(state, &problem);
            is_ready = true;
            handle->linear->is_there = is_good && linearize_handle_in(state, sim, i, s, &problem, handle->linear->sums);
        }
    }
    for (int i = 0; i < model->handle_count; i++) {
        handle_linear *linear = sim_handle(sim, i)->linear;
        finish(linear, linear->sums);
    }
}
