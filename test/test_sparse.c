#include "test.h"

#include "allocations.h"
#include "box_mesh.h"
#include "sparse/cholesky.h"

#include <cholmod.h>

/* A pattern, a matrix on it, its plan and a factor. */
typedef struct system_case {
    block_pattern pattern;
    double *blocks;
    cholesky_plan *plan;
    cholesky_factor factor;
    void *memory;
    int n; /* scalars */
} system_case;

static void case_finish(system_case *s, const cholesky_options *options) {
    thenar_error error;
    assert_ok(cholesky_plan_create(&s->pattern, options, &s->plan, &error), error);
    arena measure = {0};
    cholesky_factor_layout(&s->factor, s->plan, &measure);
    s->memory = memory_aligned(measure.used);
    memset(s->memory, 0xff, measure.used); /* NaN everywhere: what is read must have been written */
    arena carve = arena_on(s->memory, measure.used);
    cholesky_factor_layout(&s->factor, s->plan, &carve);
    s->n = 3 * s->pattern.node_count;
}

static system_case case_from_groups(int nodes, int groups, const int *start, const int *node,
                                    const cholesky_options *options) {
    system_case s = {0};
    thenar_error error;
    assert_ok(block_pattern_create(nodes, groups, start, node, &s.pattern, &error), error);
    s.blocks = random_matrix(&s.pattern, 7);
    case_finish(&s, options);
    return s;
}

static system_case case_from_mesh(box_mesh mesh, const cholesky_options *options) {
    system_case s = case_from_groups(mesh.node_count, mesh.tet_count, mesh.start, mesh.tets, options);
    box_mesh_free(&mesh);
    return s;
}

/* Random pairs: `degree` neighbours a node, no geometry. */
static system_case case_random(int nodes, int degree, uint64_t seed, const cholesky_options *options) {
    random_source source = {seed};
    int *start = MEMORY_ARRAY(int, nodes *degree + 1), *node = MEMORY_ARRAY(int, 2 * nodes * degree);
    for (int e = 0; e < nodes * degree; e++) {
        node[2 * e] = e / degree;
        node[2 * e + 1] = (int)(random_bits(&source) % (uint64_t)nodes);
        if (node[2 * e + 1] == node[2 * e]) node[2 * e + 1] = (node[2 * e] + 1) % nodes;
        start[e + 1] = 2 * (e + 1);
    }
    system_case s = case_from_groups(nodes, nodes > 1 ? nodes * degree : 0, start, node, options);
    free(start);
    free(node);
    return s;
}

static void case_free(system_case *s) {
    block_pattern_free(&s->pattern);
    free(s->blocks);
    cholesky_plan_free(s->plan);
    free(s->memory);
}

static double *random_vector(int count, uint64_t seed) {
    random_source source = {seed};
    double *x = MEMORY_ARRAY(double, count);
    for (int i = 0; i < count; i++) x[i] = random_uniform(&source, -1, 1);
    return x;
}

static double greatest(const double *x, int count) {
    double max = 0;
    for (int i = 0; i < count; i++) max = fmax(max, fabs(x[i]));
    return max;
}

/* The cases that a promise about any matrix is held against. */
#define CASE_COUNT 12
static system_case any_case(int index, const cholesky_options *options) {
    static const int dense_nodes[20] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    switch (index) {
    case 0:
        return case_from_mesh(box_mesh_create(10, 2, 2, NULL), options);
    case 1:
        return case_from_mesh(box_mesh_create(11, 9, 2, box_mesh_hand), options);
    case 2:
        return case_from_mesh(box_mesh_create(5, 4, 4, NULL), options);
    case 3:
        return case_from_groups(1, 0, (int[]){0}, NULL, options);
    case 4:
        return case_from_groups(2, 1, (int[]){0, 2}, (int[]){1, 0}, options);
    case 5:
        return case_from_groups(20, 1, (int[]){0, 20}, dense_nodes, options);
    case 6:
        return case_from_groups(7, 2, (int[]){0, 3, 5}, (int[]){6, 1, 3, 0, 4}, options); /* disconnected */
    case 7:
        return case_from_groups(50, 0, (int[]){0}, NULL, options); /* diagonal */
    case 8:
        return case_random(60, 1, 3, options);
    case 9:
        return case_random(60, 3, 4, options);
    case 10:
        return case_random(200, 2, 5, options);
    default:
        return case_from_mesh(box_mesh_create(20, 1, 1, NULL), options);
    }
}

/* A^-1 b by CHOLMOD. */
static double *oracle_solve(const system_case *s, const double *b) {
    cholmod_common common;
    cholmod_start(&common);
    size_t n = (size_t)s->n;
    cholmod_triplet *triplets =
        cholmod_allocate_triplet(n, n, 9 * (size_t)s->pattern.block_count, -1, CHOLMOD_REAL, &common);
    int *row = triplets->i, *column = triplets->j;
    double *value = triplets->x;
    for (int j = 0; j < s->pattern.node_count; j++)
        for (int k = s->pattern.column_start[j]; k < s->pattern.column_start[j + 1]; k++)
            for (int e = 0; e < 9; e++) {
                int r = 3 * s->pattern.row[k] + e / 3, c = 3 * j + e % 3;
                if (r < c) continue;
                row[triplets->nnz] = r;
                column[triplets->nnz] = c;
                value[triplets->nnz++] = s->blocks[9 * k + e];
            }
    cholmod_sparse *matrix = cholmod_triplet_to_sparse(triplets, 0, &common);
    cholmod_factor *factor = cholmod_analyze(matrix, &common);
    cholmod_factorize(matrix, factor, &common);
    cholmod_dense *right = cholmod_allocate_dense(n, 1, n, CHOLMOD_REAL, &common);
    memcpy(right->x, b, n * sizeof *b);
    cholmod_dense *solution = cholmod_solve(CHOLMOD_A, factor, right, &common);
    double *x = memory_copy(solution->x, n * sizeof *x);
    cholmod_free_dense(&solution, &common);
    cholmod_free_dense(&right, &common);
    cholmod_free_factor(&factor, &common);
    cholmod_free_sparse(&matrix, &common);
    cholmod_free_triplet(&triplets, &common);
    cholmod_finish(&common);
    return x;
}

/* The matrices have condition numbers below 1e3: 1e-10 leaves room for growth with n, and none for a mistake.
 */
#define TOLERANCE 1e-10

static void solutions_equal_those_of_cholmod(void **state) {
    (void)state;
    for (int ordering = CHOLESKY_ORDERING_BEST; ordering <= CHOLESKY_ORDERING_NATURAL; ordering++)
        for (int index = 0; index < CASE_COUNT; index++) {
            system_case s = any_case(index, &(cholesky_options){.ordering = (cholesky_ordering)ordering});
            double *x = random_vector(s.n, 11), *expected = oracle_solve(&s, x);
            assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
            cholesky_solve(&s.factor, x);
            double scale = greatest(expected, s.n);
            for (int i = 0; i < s.n; i++) assert_near(x[i], expected[i], TOLERANCE * scale);
            free(x);
            free(expected);
            case_free(&s);
        }
}

static void eight_right_hand_sides_equal_eight_solves(void **state) {
    (void)state;
    for (int index = 0; index < CASE_COUNT; index++) {
        system_case s = any_case(index, NULL);
        double *eight = random_vector(8 * s.n, 12), *one = MEMORY_ARRAY(double, 8 * s.n);
        for (int c = 0; c < 8; c++)
            for (int i = 0; i < s.n; i++) one[c * s.n + i] = eight[8 * i + c];
        assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
        cholesky_solve_eight(&s.factor, eight);
        for (int c = 0; c < 8; c++) {
            cholesky_solve(&s.factor, one + c * s.n);
            for (int i = 0; i < s.n; i++) assert_near(eight[8 * i + c], one[c * s.n + i], TOLERANCE);
        }
        free(eight);
        free(one);
        case_free(&s);
    }
}

static void the_square_of_a_forward_solve_is_the_energy(void **state) {
    (void)state;
    for (int index = 0; index < CASE_COUNT; index++) {
        system_case s = any_case(index, NULL);
        double *b = random_vector(s.n, 13), *x = memory_copy(b, (size_t)s.n * sizeof *b);
        double *y = MEMORY_ARRAY(double, s.n), *back = MEMORY_ARRAY(double, s.n), energy = 0, square = 0;
        assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
        cholesky_solve(&s.factor, x);
        cholesky_forward(&s.factor, b, y);
        cholesky_backward(&s.factor, y, back);
        for (int i = 0; i < s.n; i++) {
            energy += b[i] * x[i];
            square += y[i] * y[i];
            assert_near(back[i], x[i], TOLERANCE);
        }
        assert_near(square, energy, TOLERANCE * energy);
        free(b), free(x), free(y), free(back);
        case_free(&s);
    }
}

static void a_reach_solve_equals_a_full_one_and_visits_less(void **state) {
    (void)state;
    for (int index = 0; index < CASE_COUNT; index++) {
        system_case s = any_case(index, NULL);
        int nodes[2] = {0, s.pattern.node_count / 2};
        const int *position = cholesky_plan_position(s.plan);
        double *b = MEMORY_ARRAY(double, 8 * s.n), *y = MEMORY_ARRAY(double, 8 * s.n);
        double *full = MEMORY_ARRAY(double, 8 * s.n), *values = random_vector(48, 14);
        for (int i = 0; i < 2; i++) {
            memcpy(b + 24 * nodes[i], values + 24 * i, 24 * sizeof *b);
            memcpy(y + 24 * position[nodes[i]], values + 24 * i, 24 * sizeof *b);
        }
        cholesky_range *reach = MEMORY_ARRAY(cholesky_range, cholesky_plan_facts(s.plan).front_count);
        assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
        cholesky_forward_eight(&s.factor, b, full);
        for (int round = 0; round < 2; round++) {
            if (round == 1) {
                memset(y, 0, 8 * (size_t)s.n * sizeof *y);
                for (int i = 0; i < 2; i++) memcpy(y + 24 * position[nodes[i]], values + 24 * i, 24 * sizeof *b);
            }
            int count = cholesky_forward_reach(&s.factor, nodes, 2, y, reach), rows = 0;
            for (int i = 0; i < count; i++) {
                if (i > 0) assert_true(reach[i].first >= reach[i - 1].first + reach[i - 1].count);
                rows += reach[i].count;
            }
            if (index == 1) assert_true(rows < s.n / 2);
            for (int i = 0; i < 8 * s.n; i++) assert_near(y[i], full[i], 0);
            bool *inside = MEMORY_ARRAY(bool, s.n);
            for (int i = 0; i < count; i++)
                for (int r = 0; r < reach[i].count; r++) inside[reach[i].first + r] = true;
            for (int i = 0; i < 8 * s.n; i++)
                if (!inside[i / 8]) assert_near(full[i], 0, 0);
            free(inside);
        }
        free(b), free(y), free(full), free(values), free(reach);
        case_free(&s);
    }
}

static void a_solve_at_some_nodes_equals_a_whole_one_there(void **state) {
    (void)state;
    for (int index = 0; index < CASE_COUNT; index++) {
        system_case s = any_case(index, NULL);
        int nodes[3] = {s.pattern.node_count - 1, s.pattern.node_count / 2, s.pattern.node_count / 2};
        double *x = MEMORY_ARRAY(double, s.n), *full = MEMORY_ARRAY(double, s.n), *values = random_vector(6, 15);
        assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
        for (int round = 0; round < 2; round++) { /* the second finds what the first left in the workspace */
            memset(full, 0, (size_t)s.n * sizeof *full);
            for (int i = 0; i < s.n; i++) x[i] = 1e30; /* neither read nor written */
            for (int i = 0; i < 2; i++) {
                memcpy(x + 3 * nodes[i], values + 3 * i, 3 * sizeof *x);
                memcpy(full + 3 * nodes[i], values + 3 * i, 3 * sizeof *x);
            }
            cholesky_solve(&s.factor, full);
            cholesky_solve_at(&s.factor, nodes, 3, x);
            for (int i = 0; i < s.n; i++) {
                bool asked = i / 3 == nodes[0] || i / 3 == nodes[1];
                assert_near(x[i], asked ? full[i] : 1e30, 0);
            }
        }
        double *y = random_vector(8 * s.n, 16), *whole = MEMORY_ARRAY(double, 8 * s.n),
               *some = MEMORY_ARRAY(double, 8 * s.n);
        int *fronts = MEMORY_ARRAY(int, cholesky_plan_facts(s.plan).front_count);
        for (int i = 0; i < s.pattern.node_count; i++) cholesky_reach_mark(&s.factor, &i, 1);
        cholesky_backward_eight_on(&s.factor, fronts, cholesky_reach_list(&s.factor, fronts), y, whole);
        for (int i = 0; i < 8 * s.n; i++) some[i] = 1e30;
        for (int i = 0; i < 2; i++) cholesky_reach_mark(&s.factor, &nodes[i], 1);
        cholesky_backward_eight_on(&s.factor, fronts, cholesky_reach_list(&s.factor, fronts), y, some);
        for (int i = 0; i < 8 * s.n; i++) {
            bool asked = i / 24 == nodes[0] || i / 24 == nodes[1];
            if (asked || some[i] != 1e30) assert_near(some[i], whole[i], 0);
        }
        assert_int_equal(cholesky_reach_list(&s.factor, fronts), 0);
        free(x), free(full), free(values), free(y), free(whole), free(some), free(fronts);
        case_free(&s);
    }
}

/* Rows on a few nodes each, some on none, against J A^-1 J^T by whole solves; with room for all halves, and for hardly one
 * group of eight at a time. */
static void products_of_halves_equal_those_of_whole_solves(void **state) {
    (void)state;
    enum { ROWS = 45, MAX = 4, STRIDE = 48 };
    for (int index = 0; index < CASE_COUNT; index++)
        for (int tight = 0; tight < 2; tight++) {
            system_case s = any_case(index, NULL);
            random_source random = {(uint64_t)index + 1};
            int node[ROWS][MAX];
            vec3 gradient[ROWS][MAX];
            compliance_row rows[ROWS];
            for (int i = 0; i < ROWS; i++) {
                int count = i % 7 == 3 ? 0 : 1 + i % MAX, max = s.pattern.node_count;
                rows[i] = (compliance_row){count < max ? count : max, node[i], gradient[i]};
                int first = (int)(random_bits(&random) % (uint64_t)max);
                for (int k = 0; k < rows[i].count; k++) {
                    node[i][k] = (first + k) % max;
                    gradient[i][k] = vec3_make(random_uniform(&random, -1, 1), random_uniform(&random, -1, 1),
                                               random_uniform(&random, -1, 1));
                }
            }
            arena measure = {0};
            row_compliance g;
            row_compliance_layout(&g, s.plan, s.pattern.node_count, ROWS, &measure);
            void *memory = memory_aligned(measure.used);
            memset(memory, 0xff, measure.used);
            arena carve = arena_on(memory, measure.used);
            row_compliance_layout(&g, s.plan, s.pattern.node_count, ROWS, &carve);
            if (tight) g.room = 8 * (size_t)s.n;
            static double W[ROWS * STRIDE];
            memset(W, 0xff, sizeof W);
            assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
            for (int round = 0; round < 2; round++) row_compliance_product(&g, &s.factor, rows, ROWS, W, STRIDE);
            double *x = MEMORY_ARRAY(double, s.n), max = 0;
            for (int j = 0; j < ROWS; j++) {
                memset(x, 0, (size_t)s.n * sizeof *x);
                for (int k = 0; k < rows[j].count; k++) vec3_store(x + 3 * node[j][k], gradient[j][k]);
                cholesky_solve(&s.factor, x);
                for (int i = 0; i < ROWS; i++) {
                    double sum = 0;
                    for (int k = 0; k < rows[i].count; k++)
                        sum += vec3_dot(gradient[i][k], vec3_load(x + 3 * node[i][k]));
                    max = fmax(max, fabs(sum));
                    assert_near(W[i * STRIDE + j], sum, 1e-12 * fmax(1, max));
                    assert_near(W[i * STRIDE + j], W[j * STRIDE + i], 0);
                }
                for (int i = ROWS; i < STRIDE; i++) assert_near(W[j * STRIDE + i], 0, 0);
            }
            free(x);
            free(memory);
            case_free(&s);
        }
}

/* The dense inverse, a column at a time. */
static double *dense_inverse(system_case *s) {
    double *z = MEMORY_ARRAY(double, (size_t)s->n *(size_t)s->n);
    for (int j = 0; j < s->n; j++) {
        z[(size_t)j * (size_t)s->n + (size_t)j] = 1;
        cholesky_solve(&s->factor, z + (size_t)j * (size_t)s->n);
    }
    return z;
}

static void the_selected_inverse_equals_the_dense_one_on_the_pattern(void **state) {
    (void)state;
    for (int ordering = CHOLESKY_ORDERING_BEST; ordering <= CHOLESKY_ORDERING_NATURAL; ordering++)
        for (int index = 0; index < CASE_COUNT; index++) {
            system_case s = any_case(index, &(cholesky_options){.ordering = (cholesky_ordering)ordering});
            assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
            double *z = dense_inverse(&s), scale = greatest(z, s.n * s.n);
            cholesky_inverse(&s.factor, NULL);
            int found = 0, nodes = s.pattern.node_count;
            for (int j = 0; j < nodes; j++)
                for (int i = 0; i < nodes; i++) {
                    double block[9];
                    bool coupled = block_pattern_find(&s.pattern, i > j ? i : j, i > j ? j : i) >= 0;
                    bool there = cholesky_inverse_block(&s.factor, i, j, block);
                    assert_true(there || !coupled);
                    found += there;
                    for (int e = 0; there && e < 9; e++)
                        assert_near(block[e], z[(3 * j + e % 3) * s.n + 3 * i + e / 3], TOLERANCE * scale);
                }
            assert_true(found >= 2 * s.pattern.block_count - nodes);
            free(z);
            case_free(&s);
        }
}

static void the_quadratic_form_of_a_tet_takes_its_nodes_in_the_order_given(void **state) {
    (void)state;
    box_mesh mesh = box_mesh_create(5, 4, 4, NULL);
    system_case s = case_from_groups(mesh.node_count, mesh.tet_count, mesh.start, mesh.tets, NULL);
    assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
    double *z = dense_inverse(&s), scale = greatest(z, s.n * s.n);
    cholesky_inverse(&s.factor, NULL);
    for (int t = 0; t < mesh.tet_count; t++) {
        const int *nodes = mesh.tets + 4 * t;
        cholesky_location location;
        double *g = random_vector(12, (uint64_t)t), expected = 0;
        for (int e = 0; e < 144; e++) {
            int row = 3 * nodes[e / 12 / 3] + e / 12 % 3, column = 3 * nodes[e % 12 / 3] + e % 12 % 3;
            expected += g[e / 12] * z[column * s.n + row] * g[e % 12];
        }
        assert_true(cholesky_locate(s.plan, nodes, &location));
        assert_near(cholesky_inverse_form(&s.factor, &location, g), expected, 144 * TOLERANCE * scale);
        free(g);
    }
    free(z);
    box_mesh_free(&mesh);
    case_free(&s);
}

static void the_last_nodes_are_eliminated_last_in_their_order(void **state) {
    (void)state;
    for (int ordering = CHOLESKY_ORDERING_BEST; ordering <= CHOLESKY_ORDERING_NATURAL; ordering++)
        for (int index = 0; index < CASE_COUNT; index++)
            for (int last = 1; last <= 12; last += 5) {
                system_case whole = any_case(index, NULL);
                int nodes = whole.pattern.node_count;
                case_free(&whole);
                if (last > nodes) continue;
                cholesky_options options = {(cholesky_ordering)ordering, last};
                system_case s = any_case(index, &options);
                const int *position = cholesky_plan_position(s.plan);
                for (int i = nodes - last; i < nodes; i++) assert_int_equal(position[i], i);
                double *x = random_vector(s.n, 15), *expected = oracle_solve(&s, x);
                assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
                cholesky_solve(&s.factor, x);
                for (int i = 0; i < s.n; i++) assert_near(x[i], expected[i], TOLERANCE * greatest(expected, s.n));
                free(x);
                free(expected);
                case_free(&s);
            }
}

static void a_pivot_that_is_not_positive_is_reported_with_its_node(void **state) {
    (void)state;
    const double bad[] = {0, -1, NAN, INFINITY, -INFINITY, 1e-310};
    for (int index = 0; index < CASE_COUNT; index++) {
        system_case s = any_case(index, NULL);
        for (int node = 0; node < s.pattern.node_count; node += 7)
            for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
                double *diagonal = s.blocks + 9 * s.pattern.column_start[node] + 4, kept = *diagonal;
                *diagonal = bad[b];
                assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), node);
                *diagonal = kept;
            }
        assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
        case_free(&s);
    }
}

/* A NaN off the diagonal spoils the pivots of its two nodes, the later one at the latest. */
static void a_nan_off_the_diagonal_is_never_missed(void **state) {
    (void)state;
    system_case s = any_case(1, NULL);
    const int *position = cholesky_plan_position(s.plan);
    for (int j = 0; j < s.pattern.node_count; j++)
        for (int k = s.pattern.column_start[j] + 1; k < s.pattern.column_start[j + 1]; k++) {
            double kept = s.blocks[9 * k + 5];
            s.blocks[9 * k + 5] = NAN;
            int node = cholesky_factorize(&s.factor, s.blocks, NULL), i = s.pattern.row[k];
            assert_int_equal(node, position[i] > position[j] ? i : j);
            s.blocks[9 * k + 5] = kept;
        }
    case_free(&s);
}

static void results_are_the_same_bits_with_any_number_of_threads(void **state) {
    (void)state;
    system_case s = case_from_mesh(box_mesh_create(16, 9, 8, NULL), NULL);
    assert_true(cholesky_plan_facts(s.plan).piece_count > 4);
    size_t bytes = (size_t)s.n * sizeof(double);
    double *first = NULL, block[9], first_block[9] = {0};
    int bad_node = -1;
    for (int threads = 1; threads <= 4; threads *= 2) {
        workers *pool;
        thenar_error error;
        assert_ok(workers_create(threads, &pool, &error), error);
        for (int round = 0; round < 5; round++) {
            double *x = random_vector(s.n, 16), inverse_sum = 0;
            assert_int_equal(cholesky_factorize(&s.factor, s.blocks, pool), CHOLESKY_DONE);
            cholesky_solve(&s.factor, x);
            cholesky_inverse(&s.factor, pool);
            for (int i = 0; i < s.pattern.node_count; i++) {
                assert_true(cholesky_inverse_block(&s.factor, i, i, block));
                inverse_sum += block[i % 9];
            }
            block[0] = inverse_sum;
            if (!first) {
                first = memory_copy(x, bytes);
                memcpy(first_block, block, sizeof block);
            }
            assert_memory_equal(x, first, bytes);
            assert_memory_equal(block, first_block, sizeof block);
            free(x);
        }
        double *diagonals[2] = {s.blocks + 9 * s.pattern.column_start[100], s.blocks + 9 * s.pattern.column_start[900]};
        double kept[2] = {*diagonals[0], *diagonals[1]};
        *diagonals[0] = *diagonals[1] = -1;
        int node = cholesky_factorize(&s.factor, s.blocks, pool);
        if (bad_node < 0) bad_node = node;
        assert_true(node == 100 || node == 900);
        assert_int_equal(node, bad_node);
        *diagonals[0] = kept[0], *diagonals[1] = kept[1];
        workers_free(pool);
    }
    free(first);
    case_free(&s);
}

static void a_large_system_agrees_with_cholmod_and_its_own_inverse(void **state) {
    (void)state;
    system_case s = case_from_mesh(box_mesh_create(16, 9, 8, NULL), NULL);
    double *x = random_vector(s.n, 17), *expected = oracle_solve(&s, x);
    assert_int_equal(cholesky_factorize(&s.factor, s.blocks, NULL), CHOLESKY_DONE);
    cholesky_solve(&s.factor, x);
    for (int i = 0; i < s.n; i++) assert_near(x[i], expected[i], TOLERANCE * greatest(expected, s.n));
    cholesky_inverse(&s.factor, NULL);
    for (int j = 0; j < s.pattern.node_count; j += 31) {
        memset(x, 0, (size_t)s.n * sizeof *x);
        x[3 * j + 1] = 1;
        cholesky_solve(&s.factor, x);
        for (int i = 0; i < s.pattern.node_count; i++) {
            double block[9];
            if (!cholesky_inverse_block(&s.factor, i, j, block)) continue;
            for (int r = 0; r < 3; r++) assert_near(block[3 * r + 1], x[3 * i + r], TOLERANCE);
        }
    }
    free(x);
    free(expected);
    case_free(&s);
}

static void numeric_calls_allocate_nothing(void **state) {
    (void)state;
    system_case s = case_from_mesh(box_mesh_create(16, 9, 8, NULL), NULL);
    double *x = random_vector(8 * s.n, 18), *y = MEMORY_ARRAY(double, 8 * s.n);
    cholesky_range *reach = MEMORY_ARRAY(cholesky_range, cholesky_plan_facts(s.plan).front_count);
    workers *pool;
    thenar_error error;
    assert_ok(workers_create(2, &pool, &error), error);
    long calls = allocation_count;
    free(memory_array(1, 1));
    assert_int_equal(allocation_count, calls + 1); /* the counter counts */
    calls = allocation_count;
    assert_int_equal(cholesky_factorize(&s.factor, s.blocks, pool), CHOLESKY_DONE);
    cholesky_solve(&s.factor, x);
    cholesky_solve_eight(&s.factor, x);
    cholesky_forward(&s.factor, x, y);
    cholesky_backward(&s.factor, y, x);
    cholesky_forward_reach(&s.factor, (int[]){3, 900, 17}, 3, y, reach);
    cholesky_inverse(&s.factor, pool);
    assert_int_equal(allocation_count, calls);
    workers_free(pool);
    free(x), free(y), free(reach);
    case_free(&s);
}

static void a_plan_of_the_same_pattern_is_the_same(void **state) {
    (void)state;
    system_case a = any_case(2, NULL), b = any_case(2, NULL);
    for (int i = 0; i < a.pattern.node_count; i++)
        assert_int_equal(cholesky_plan_position(a.plan)[i], cholesky_plan_position(b.plan)[i]);
    case_free(&a);
    case_free(&b);
}

/* METIS draws from rand(), which belongs to the program. */
static void a_plan_does_not_depend_on_rand_nor_disturb_it(void **state) {
    (void)state;
    system_case cases[3];
    for (int k = 0; k < 3; k++) {
        srand((unsigned)k + 1);
        for (int i = 0; i < 100 * k; i++) rand();
        cases[k] = any_case(2, NULL);
        int after = rand();
        srand((unsigned)k + 1);
        for (int i = 0; i < 100 * k; i++) rand();
        assert_int_equal(after, rand());
        for (int i = 0; i < cases[0].pattern.node_count; i++)
            assert_int_equal(cholesky_plan_position(cases[k].plan)[i], cholesky_plan_position(cases[0].plan)[i]);
    }
    for (int k = 0; k < 3; k++) case_free(&cases[k]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(solutions_equal_those_of_cholmod),
    cmocka_unit_test(eight_right_hand_sides_equal_eight_solves),
    cmocka_unit_test(the_square_of_a_forward_solve_is_the_energy),
    cmocka_unit_test(a_reach_solve_equals_a_full_one_and_visits_less),
    cmocka_unit_test(a_solve_at_some_nodes_equals_a_whole_one_there),
    cmocka_unit_test(products_of_halves_equal_those_of_whole_solves),
    cmocka_unit_test(the_selected_inverse_equals_the_dense_one_on_the_pattern),
    cmocka_unit_test(the_quadratic_form_of_a_tet_takes_its_nodes_in_the_order_given),
    cmocka_unit_test(the_last_nodes_are_eliminated_last_in_their_order),
    cmocka_unit_test(a_pivot_that_is_not_positive_is_reported_with_its_node),
    cmocka_unit_test(a_nan_off_the_diagonal_is_never_missed),
    cmocka_unit_test(results_are_the_same_bits_with_any_number_of_threads),
    cmocka_unit_test(a_large_system_agrees_with_cholmod_and_its_own_inverse),
    cmocka_unit_test(numeric_calls_allocate_nothing),
    cmocka_unit_test(a_plan_of_the_same_pattern_is_the_same),
    cmocka_unit_test(a_plan_does_not_depend_on_rand_nor_disturb_it),
};

TEST_MAIN(tests)
