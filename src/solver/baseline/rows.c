/* Rows C_k(x) >= 0 of the limits that are violated at x = x0 + h v, with J_k = dC_k/dx (12 numbers: a row touches the
 * four nodes of a tet), before them those of contacts (contact_rows.c; up to four nodes more, in a tail), and what is
 * made of them with A = P^T L L^T P:
 *
 *   lambda^T B lambda = |L^-1 P J^T lambda|^2,   D_k = |L^-1 P J_k^T|^2 (perez2016, Eq. 13),   B = J A^-1 J^T
 *
 * A held node (row.node = -1) has no unknown and contributes nothing. Rows are independent of each other, so threads
 * take pieces of the list; each piece has a view of the factor with a workspace of its own, and every number has one
 * owner: results do not depend on the number of threads. Vectors hold 3 numbers a node, eight right-hand sides 24. */
#include "solver/baseline/baseline.h"

#include <math.h>
#include <string.h>

#define GROUP 8 /* rows that are substituted at once */
/* A solve has diverged if it leaves the limits this many times more violated than at its start, and by at least this
 * much. No solver on rows is guaranteed to improve with each iteration: where a linearization is bad, they may
 * diverge. */
#define DIVERGED_FACTOR 2.0
#define DIVERGED_MIN 0.1 /* of a stretch */

int rows_limit(const solver_problem *problem) {
    int limit = contact_rows_each(problem) * contact_rows_max(problem);
    EACH_LIMITED (problem, k, limits) limit += ROW_AXES * limits->element_count(problem->bodies[k]->model);
    return limit;
}

static double *take_zeros(arena *work, size_t count) {
    double *values = ARENA_ARRAY(work, double, count);
    if (values) memset(values, 0, count * sizeof *values);
    return values;
}

void rows_layout(row_set *set, const solver_problem *problem, int max_contacts, arena *work) {
    const cholesky_plan *plan = problem->factor->plan;
    size_t nodes = (size_t)problem->pattern->node_count, limit = (size_t)rows_limit(problem);
    *set = (row_set){.rows = ARENA_ARRAY(work, constraint_row, limit),
                     .first_row = ARENA_ARRAY(work, int, problem->body_count + 1),
                     .diagonal = ARENA_ARRAY(work, double, limit),
                     .filled = ARENA_ARRAY(work, int, limit),
                     .fronts = ARENA_ARRAY(work, int, cholesky_plan_facts(plan).front_count),
                     .force = ARENA_ARRAY(work, double, 3 * nodes),
                     .half = ARENA_ARRAY(work, double, 3 * nodes),
                     .motion = ARENA_ARRAY(work, double, 3 * nodes),
                     .d = ARENA_ARRAY(work, double, 3 * nodes),
                     .free = ARENA_ARRAY(work, double, 3 * nodes),
                     .scratch = ARENA_ARRAY(work, row_scratch, ROWS_PIECES)};
    contact_rows_layout(&set->contacts, problem, max_contacts, work);
    EACH_LIMITED (problem, k, limits) set->impulse_size += 3 * limits->node_count(problem->bodies[k]->model);
    set->impulse = ARENA_ARRAY(work, double, set->impulse_size);
    for (int i = 0; i < ROWS_PIECES; i++) {
        row_scratch scratch;
        cholesky_view_layout(&scratch.view, plan, work);
        scratch.right = take_zeros(work, 24 * nodes);
        scratch.left = ARENA_ARRAY(work, double, 24 * nodes);
        scratch.nodes = ARENA_ARRAY(work, int, GROUP *nodes);
        scratch.reach = ARENA_ARRAY(work, cholesky_range, cholesky_plan_facts(plan).front_count);
        if (set->scratch) set->scratch[i] = scratch;
    }
}

/* Adds a contact to the solve; its D is not set yet. */
static void take_contact(row_set *set, const solver_problem *problem, int index) {
    row_contacts *contacts = &set->contacts;
    int i = contacts->count++, first = contacts->each * i;
    contacts->index[i] = index;
    contacts->taken[index] = true;
    contact_rows_make(contacts, problem, i, set->rows + first);
    memset(contacts->lambda + first, 0, (size_t)contacts->each * sizeof *contacts->lambda);
}

/* D of the contacts from the one given on. */
static void find_contact_diagonals(row_set *set, const solver_problem *problem, int from) {
    double *D = set->diagonal;
    int each = set->contacts.each;
    bool round = problem->friction == FRICTION_CONE || contact_rows_aggregated(problem);
    if (from == set->contacts.count) return;
    set->find_diagonal(set, problem, each * from, rows_of_contacts(set));
    /* On a disc both tangents need the same D, or friction would not oppose the slip. */
    for (int k = each * from; round && k < rows_of_contacts(set); k += each)
        D[k + 1] = D[k + 2] = fmax(D[k + 1], D[k + 2]);
}

/* The contacts that pushed in the last step push again, unless something has limits: these start from nothing, contacts
 * without them push the free motion far over the limits, and those are never let go. (Two pads that squeeze a cube then
 * do so with 5.4 N instead of 4.7 with the njls, and with the sqp they explode.) */
static void push_contacts(row_set *set, const solver_problem *problem) {
    row_contacts *contacts = &set->contacts;
    bool limited = false;
    EACH_LIMITED (problem, k, limits) limited = true;
    contacts->count = 0;
    memset(contacts->taken, 0, (size_t)contact_rows_count(problem) * sizeof *contacts->taken);
    for (int i = 0; i < contact_rows_count(problem) && !limited; i++) {
        double start[MAX_CONTACT_ROWS];
        contact_rows_start(problem, i, start);
        if (!(start[0] > 0) || contacts->count == contacts->max) continue;
        take_contact(set, problem, i);
        double *lambda = contacts->lambda + rows_of_contacts(set) - contacts->each;
        for (int k = 0; k < contacts->each; k++) lambda[k] = problem->step->h * start[k];
        contact_rows_project(problem, i, lambda);
    }
    if (contacts->count == 0) return;
    find_contact_diagonals(set, problem, 0);
    rows_push(set, problem, contacts->lambda, rows_of_contacts(set));
    rows_move(set, problem);
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) problem->v[i] += set->motion[i];
}

void rows_begin(row_set *set, const solver_problem *problem, row_diagonal find_diagonal) {
    for (int i = 0; i < ROWS_PIECES; i++) cholesky_view_open(&set->scratch[i].view, problem->factor);
    EACH_LIMITED (problem, k, limits) {
        limits->begin(problem->bodies[k]);
        limits->rescale(problem->bodies[k], 0, INFINITY);
    }
    memset(set->impulse, 0, (size_t)set->impulse_size * sizeof *set->impulse);
    set->find_diagonal = find_diagonal;
    set->seen = 0;
    set->at_first = -1;
    memcpy(set->free, problem->v, 3 * (size_t)problem->pattern->node_count * sizeof *set->free);
    push_contacts(set, problem);
}

void rows_react(row_set *set, const solver_problem *problem, const double *lambda, double scale) {
    double *impulse = set->impulse;
    EACH_LIMITED (problem, k, limits) {
        int first = set->first_row[k];
        limits->react(problem->bodies[k], set->rows + first, lambda + first, scale, set->first_row[k + 1] - first,
                      impulse);
        impulse += 3 * limits->node_count(problem->bodies[k]->model);
    }
}

bool rows_agree(const row_set *set, const solver_problem *problem) {
    return set->violation <= problem->tolerance.violation &&
           set->contacts.error <= problem->tolerance.length * problem->step->h;
}

/* Without limits and contacts: nothing pushes, and bodies move freely. */
static void give_up(row_set *set, const solver_problem *problem) {
    memcpy(problem->v, set->free, 3 * (size_t)problem->pattern->node_count * sizeof *set->free);
    memset(set->impulse, 0, (size_t)set->impulse_size * sizeof *set->impulse);
    memset(set->contacts.lambda, 0, (size_t)rows_of_contacts(set) * sizeof *set->contacts.lambda);
}

bool rows_end(row_set *set, const solver_problem *problem, solver_report *report) {
    bool diverged = !(set->violation <= fmax(DIVERGED_MIN, DIVERGED_FACTOR * set->at_first));
    if (diverged && problem->step->last) give_up(set, problem);
    const double *impulse = set->impulse;
    EACH_LIMITED (problem, k, limits) {
        limits->hold(problem->bodies[k], impulse);
        impulse += 3 * limits->node_count(problem->bodies[k]->model);
    }
    contact_rows_end(&set->contacts, problem, set->diagonal);
    report->residual = diverged ? set->at_first : set->violation;
    report->rows = set->seen;
    report->converged = rows_agree(set, problem);
    return !diverged || problem->step->last;
}

/* Evaluates the contacts at set->d; adds those that are violated. */
static void collect_contacts(row_set *set, const solver_problem *problem) {
    row_contacts *contacts = &set->contacts;
    int before = contacts->count;
    int count = contact_rows_count(problem), each = contacts->each;
    double u[MAX_CONTACT_ROWS], w[MAX_CONTACT_ROWS];
    contact_evaluate(problem->contacts, problem->contact_count, set->d);
    patch_evaluate(problem->patches, problem->patch_count, set->d);
    bool all = contacts->all || contact_rows_aggregated(problem);
    for (int asked = 1; asked >= (all ? 0 : 1); asked--)
        for (int i = 0; i < count && contacts->count < contacts->max; i++)
            if (!contacts->taken[i] && (!asked || contact_rows_values(problem, i, u) < 0))
                take_contact(set, problem, i);
    find_contact_diagonals(set, problem, before);
    contacts->error = contacts->square = 0;
    for (int i = 0; i < contacts->count; i++) {
        int k = each * i;
        contact_rows_values(problem, contacts->index[i], u);
        for (int axis = 0; axis < each; axis++) {
            set->rows[k + axis].value = u[axis];
            w[axis] = u[axis] / problem->step->h;
        }
        double error = contact_rows_error(problem, contacts->index[i], contacts->lambda + k, w, set->diagonal + k);
        contacts->error = fmax(contacts->error, error);
        contacts->square += error * error;
    }
    for (int i = 0; i < count; i++)
        if (!contacts->taken[i]) contacts->error = fmax(contacts->error, -contact_rows_values(problem, i, u));
}

void rows_collect(row_set *set, const solver_problem *problem) {
    double h = problem->step->h;
    for (int i = 0; i < 3 * problem->pattern->node_count; i++) set->d[i] = h * problem->v[i];
    collect_contacts(set, problem);
    set->count = rows_of_contacts(set);
    for (int k = 0; k < problem->body_count; k++) {
        const body_limits *limits = solver_limits(problem, k);
        set->first_row[k] = set->count;
        if (!limits) continue;
        limits->move(problem->bodies[k], problem->step, set->d + 3 * problem->first_node[k]);
        set->count += limits->rows(problem->bodies[k], problem->step, problem->first_node[k], set->rows + set->count);
    }
    set->first_row[problem->body_count] = set->count;
    set->seen = set->count > set->seen ? set->count : set->seen;
    set->violation = 0;
    for (int i = rows_of_contacts(set); i < set->count; i++) set->violation = fmax(set->violation, -set->rows[i].value);
    if (set->at_first < 0) set->at_first = set->violation;
}

void rows_linearize_at_start(row_set *set, const solver_problem *problem) {
    memset(set->d, 0, 3 * (size_t)problem->pattern->node_count * sizeof *set->d);
    EACH_LIMITED (problem, k, limits) {
        limits->move(problem->bodies[k], problem->step, set->d + 3 * problem->first_node[k]);
        limits->relinearize(problem->bodies[k], problem->first_node[k], set->rows + set->first_row[k],
                            set->first_row[k + 1] - set->first_row[k]);
    }
}

double row_times(const constraint_row *row, const double *x) {
    double sum = 0;
    for (int a = 0; a < ROW_NODES; a++)
        if (row->node[a] >= 0) sum += vec3_dot(row->gradient[a], vec3_load(x + 3 * row->node[a]));
    for (int a = 0; row->tail && a < row->tail->count; a++)
        sum += vec3_dot(row->tail->gradient[a], vec3_load(x + 3 * row->tail->node[a]));
    return sum;
}

double rows_dot(const double *a, const double *b, int count) {
    f64x8 sums = f64x8_set(0), more = sums;
    int i = 0;
    for (; i + 16 <= count; i += 16) {
        sums = f64x8_fma(f64x8_load(a + i), f64x8_load(b + i), sums);
        more = f64x8_fma(f64x8_load(a + i + 8), f64x8_load(b + i + 8), more);
    }
    double rest = 0;
    for (; i < count; i++) rest += a[i] * b[i];
    sums += more;
    return (((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))) + rest;
}

double rows_norm(const row_set *set, const solver_problem *problem) {
    double scale = problem->tolerance.violation / (problem->tolerance.length * problem->step->h);
    double sum = set->contacts.count > 0 ? scale * scale * set->contacts.square : 0;
    for (int i = rows_of_contacts(set); i < set->count; i++) sum += set->rows[i].value * set->rows[i].value;
    return sqrt(sum);
}

static void add_at(double *x, int node, vec3 gradient, double scale) {
    if (node >= 0) vec3_store(x + 3 * node, vec3_mul_add(vec3_load(x + 3 * node), gradient, scale));
}

double rows_push(row_set *set, const solver_problem *problem, const double *lambda, int count) {
    int components = 3 * problem->pattern->node_count;
    memset(set->force, 0, (size_t)components * sizeof *set->force);
    for (int i = 0; i < count; i++) {
        const constraint_row *row = &set->rows[i];
        if (lambda[i] == 0) continue;
        for (int a = 0; a < ROW_NODES; a++) add_at(set->force, row->node[a], row->gradient[a], lambda[i]);
        for (int a = 0; row->tail && a < row->tail->count; a++)
            add_at(set->force, row->tail->node[a], row->tail->gradient[a], lambda[i]);
    }
    cholesky_forward(problem->factor, set->force, set->half);
    return rows_dot(set->half, set->half, components);
}

void rows_move(row_set *set, const solver_problem *problem) {
    cholesky_backward(problem->factor, set->half, set->motion);
}

/* A job over groups of the rows [first, end), for workers_run. */
typedef struct row_job {
    row_set *set;
    const solver_problem *problem;
    void (*group)(const struct row_job *job, row_scratch *scratch, int first, int count);
    int first, end;
    int min; /* groups that make a piece worth handing out: about 50 us */
    int groups, pieces;
    double *B;
    int stride;
    int front_count; /* of set->fronts */
} row_job;

static void run_piece(void *context, int piece) {
    const row_job *job = context;
    int end = job->groups * (piece + 1) / job->pieces;
    for (int g = job->groups * piece / job->pieces; g < end; g++) {
        int first = job->first + GROUP * g, left = job->end - first;
        job->group(job, &job->set->scratch[piece], first, left < GROUP ? left : GROUP);
    }
}

static void run_groups(row_job *job) {
    job->groups = (job->end - job->first + GROUP - 1) / GROUP;
    job->pieces = (job->groups + job->min - 1) / job->min;
    if (job->pieces > ROWS_PIECES) job->pieces = ROWS_PIECES;
    workers_run(job->problem->step->pool, job->pieces, run_piece, job);
}

/* scale J_k^T; no two nodes of a row are the same. */
static void scatter(const constraint_row *row, double *x, double scale) {
    for (int a = 0; a < ROW_NODES; a++)
        if (row->node[a] >= 0) vec3_store(x + 3 * row->node[a], vec3_scale(row->gradient[a], scale));
    for (int a = 0; row->tail && a < row->tail->count; a++)
        vec3_store(x + 3 * row->tail->node[a], vec3_scale(row->tail->gradient[a], scale));
}

static void diagonal_group(const row_job *job, row_scratch *scratch, int first, int count) {
    int components = 3 * job->problem->pattern->node_count;
    for (int i = first; i < first + count; i++) {
        const constraint_row *row = &job->set->rows[i];
        scatter(row, scratch->right, 1);
        cholesky_forward(&scratch->view, scratch->right, scratch->left);
        job->set->diagonal[i] = rows_dot(scratch->left, scratch->left, components);
        scatter(row, scratch->right, 0);
    }
}

void rows_diagonal(row_set *set, const solver_problem *problem, int first, int end) {
    run_groups(
        &(row_job){.set = set, .problem = problem, .group = diagonal_group, .first = first, .end = end, .min = 2});
}

/* One of eight interleaved right-hand sides. */
static void place(double *right, vec3 gradient) {
    right[0] = gradient.x, right[8] = gradient.y, right[16] = gradient.z;
}

static bool is_empty(const constraint_row *row) {
    for (int a = 0; a < ROW_NODES; a++)
        if (row->node[a] >= 0) return false;
    return !row->tail || row->tail->count == 0;
}

/* The rows [first, end) that move something go to set->filled; returns how many. */
static int list_filled(row_set *set, int first, int end) {
    int count = 0;
    for (int i = first; i < end; i++)
        if (!is_empty(&set->rows[i])) set->filled[count++] = i;
    return count;
}

/* L^-1 P J^T of up to eight rows of the list to scratch->right, in elimination order; returns the number of ranges
 * that are not zero. */
static int substitute(const row_job *job, row_scratch *scratch, int first, int count) {
    const int *position = cholesky_plan_position(job->problem->factor->plan);
    int *nodes = scratch->nodes, node_count = 0;
    for (int lane = 0; lane < count; lane++) {
        const constraint_row *row = &job->set->rows[job->set->filled[first + lane]];
        for (int a = 0; a < ROW_NODES; a++) {
            if (row->node[a] < 0) continue;
            place(scratch->right + 24 * (size_t)position[row->node[a]] + lane, row->gradient[a]);
            nodes[node_count++] = row->node[a];
        }
        for (int a = 0; row->tail && a < row->tail->count; a++) {
            place(scratch->right + 24 * (size_t)position[row->tail->node[a]] + lane, row->tail->gradient[a]);
            nodes[node_count++] = row->tail->node[a];
        }
    }
    return cholesky_forward_reach(&scratch->view, nodes, node_count, scratch->right, scratch->reach);
}

static void clear(row_scratch *scratch, int ranges) {
    for (int r = 0; r < ranges; r++)
        memset(scratch->right + 8 * (size_t)scratch->reach[r].first, 0,
               8 * (size_t)scratch->reach[r].count * sizeof *scratch->right);
}

static void diagonal_group_by_reach(const row_job *job, row_scratch *scratch, int first, int count) {
    int ranges = substitute(job, scratch, first, count);
    f64x8 sums = f64x8_set(0);
    for (int r = 0; r < ranges; r++) {
        const double *y = scratch->right + 8 * (size_t)scratch->reach[r].first;
        for (int i = 0; i < scratch->reach[r].count; i++, y += 8) {
            f64x8 values = f64x8_load(y);
            sums = f64x8_fma(values, values, sums);
        }
    }
    for (int lane = 0; lane < count; lane++) job->set->diagonal[job->set->filled[first + lane]] = sums[lane];
    clear(scratch, ranges);
}

void rows_diagonal_by_reach(row_set *set, const solver_problem *problem, int first, int end) {
    for (int i = first; i < end; i++) set->diagonal[i] = 0;
    int count = list_filled(set, first, end);
    run_groups(&(row_job){.set = set, .problem = problem, .group = diagonal_group_by_reach, .end = count, .min = 12});
}

/* sum + g . x, of eight x at once. */
static inline f64x8 add_product(f64x8 sum, const double *x, vec3 g) {
    sum = f64x8_fma(f64x8_load(x), f64x8_set(g.x), sum);
    sum = f64x8_fma(f64x8_load(x + 8), f64x8_set(g.y), sum);
    return f64x8_fma(f64x8_load(x + 16), f64x8_set(g.z), sum);
}

/* Eight columns of B: J_k times A^-1 J^T of eight rows. */
static void matrix_group(const row_job *job, row_scratch *scratch, int first, int count) {
    int ranges = substitute(job, scratch, first, count);
    cholesky_backward_eight_on(&scratch->view, job->set->fronts, job->front_count, scratch->right, scratch->left);
    clear(scratch, ranges);
    const int *column = job->set->filled + first;
    bool side_by_side = count == GROUP && column[GROUP - 1] == column[0] + GROUP - 1;
    double *B = job->B;
    for (int k = 0; k < job->set->count; k++, B += job->stride) {
        const constraint_row *row = &job->set->rows[k];
        f64x8 sum = f64x8_set(0);
        for (int a = 0; a < ROW_NODES; a++) {
            if (row->node[a] < 0) continue;
            sum = add_product(sum, scratch->left + 24 * (size_t)row->node[a], row->gradient[a]);
        }
        for (int a = 0; row->tail && a < row->tail->count; a++) {
            sum = add_product(sum, scratch->left + 24 * (size_t)row->tail->node[a], row->tail->gradient[a]);
        }
        if (side_by_side) f64x8_store(B + column[0], sum);
        for (int lane = 0; lane < count && !side_by_side; lane++) B[column[lane]] = sum[lane];
    }
}

/* The fronts of all rows' nodes, where columns of A^-1 J^T are needed, go to set->fronts; returns how many. */
static int list_fronts(row_set *set, const solver_problem *problem, int filled) {
    for (int i = 0; i < filled; i++) {
        const constraint_row *row = &set->rows[set->filled[i]];
        for (int a = 0; a < ROW_NODES; a++)
            if (row->node[a] >= 0) cholesky_reach_mark(problem->factor, &row->node[a], 1);
        if (row->tail) cholesky_reach_mark(problem->factor, row->tail->node, row->tail->count);
    }
    return cholesky_reach_list(problem->factor, set->fronts);
}

void rows_matrix(row_set *set, const solver_problem *problem, double *B, int stride) {
    int count = list_filled(set, 0, set->count), padded = (set->count + GROUP - 1) / GROUP * GROUP;
    for (int k = 0; k < set->count; k++) {
        double *row = B + (size_t)k * (size_t)stride;
        if (count < set->count) memset(row, 0, (size_t)set->count * sizeof *row);
        for (int i = set->count; i < padded; i++) row[i] = 0;
    }
    run_groups(&(row_job){.set = set,
                          .problem = problem,
                          .group = matrix_group,
                          .end = count,
                          .front_count = list_fronts(set, problem, count),
                          .min = 3,
                          .B = B,
                          .stride = stride});
}
