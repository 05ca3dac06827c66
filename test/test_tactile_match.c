/* The matching kernel against a grid, known planes and its own optimality. */
#include "test.h"

#include "random.h"
#include "tactile/tactile.h"

#define GROUPS 13

typedef struct fixture {
    f64x8 memory[8][GROUPS];
    match_problem problem;
} fixture;

/* A pad like a paraboloid, of which a plane (or a sphere, radius > 0) touches a part. */
static void make(fixture *f, random_source *random, const double plane[3], double radius) {
    match_points *points = &f->problem.points;
    points->group_count = GROUPS;
    for (int k = 0; k < 3; k++) points->target[k] = f->memory[k], points->skin[k] = f->memory[3 + k];
    points->touch = f->memory[6], points->free = f->memory[7];
    double n[3];
    match_normal(plane, n);
    for (int i = 0; i < 8 * GROUPS; i++) {
        int g = i / 8, l = i % 8;
        double x = random_uniform(random, -0.007, 0.007), y = random_uniform(random, -0.01, 0.01);
        double z = (x * x) / 0.014 + y * y / 0.03 + random_uniform(random, -5e-5, 5e-5);
        double top = plane[2] - (n[0] * x + n[1] * y) / n[2] - (radius > 0 ? (x * x + y * y) / (2 * radius) : 0);
        bool touches = z < top + 1e-4;
        const double at[3] = {x, y, touches ? top : z};
        for (int k = 0; k < 3; k++) f->memory[k][g][l] = f->memory[3 + k][g][l] = at[k];
        f->memory[6][g][l] = touches ? 3.5e-6 : 0;
        f->memory[7][g][l] = touches ? 0 : 3.5e-6;
    }
    f->problem.hold = 2e-8;
    f->problem.arm = 0.005;
    for (int k = 0; k < 3; k++) {
        f->problem.before[k] = random_uniform(random, -0.2, 0.2) * (k < 2 ? 1 : 0.005);
        f->problem.low[k] = k < 2 ? -0.5 : -0.003;
        f->problem.high[k] = k < 2 ? 0.5 : 0.004;
    }
}

static double grid_min(const match_problem *problem, int cells) {
    double min = INFINITY;
    for (int i = 0; i <= cells; i++)
        for (int j = 0; j <= cells; j++)
            for (int k = 0; k <= cells; k++) {
                const int at[3] = {i, j, k};
                double q[3];
                for (int c = 0; c < 3; c++)
                    q[c] = problem->low[c] + (problem->high[c] - problem->low[c]) * at[c] / cells;
                min = fmin(min, match_cost(problem, q));
            }
    return min;
}

static void the_optimum_is_never_worse_than_a_grid(void **state) {
    (void)state;
    random_source random = {5};
    static fixture f;
    for (int round = 0; round < (SANITIZED ? 4 : 20); round++) {
        const double plane[3] = {random_uniform(&random, -0.7, 0.7), random_uniform(&random, -0.7, 0.7),
                                 random_uniform(&random, -0.001, 0.003)};
        make(&f, &random, plane, round % 3 == 0 ? 0.015 : 0);
        match_result result = match_solve(&f.problem);
        double min = grid_min(&f.problem, 50);
        assert_true(result.cost <= min * 1.001);
        assert_true(result.cost == match_cost(&f.problem, result.pose));
    }
}

/* Derivatives by differences: zero inside, pointing out of the workspace at its edge. */
static void the_optimum_is_exact_at_active_bounds(void **state) {
    (void)state;
    random_source random = {6};
    static fixture f;
    int at_bounds = 0;
    for (int round = 0; round < 200; round++) {
        const double plane[3] = {random_uniform(&random, -0.8, 0.8), random_uniform(&random, -0.8, 0.8),
                                 random_uniform(&random, 0, 0.006)};
        make(&f, &random, plane, 0);
        match_result result = match_solve(&f.problem);
        for (int k = 0; k < 3; k++) {
            double step = k < 2 ? 1e-6 : 1e-8, low[3], high[3];
            memcpy(low, result.pose, sizeof low), memcpy(high, result.pose, sizeof high);
            low[k] -= step, high[k] += step;
            /* In units of the hold, so that all three compare. */
            double slope = (match_cost(&f.problem, high) - match_cost(&f.problem, low)) / (2 * step) /
                           (k < 2 ? 3.5e-4 * 2.5e-5 : 3.5e-4);
            bool at_low = result.pose[k] <= f.problem.low[k] + 1e-12,
                 at_high = result.pose[k] >= f.problem.high[k] - 1e-12;
            at_bounds += at_low || at_high;
            assert_int_equal((result.bounded >> k) & 1, at_low || at_high);
            if (!at_low) assert_true(slope < 2e-7);
            if (!at_high) assert_true(slope > -2e-7);
        }
    }
    assert_true(at_bounds > 50);
}

static void a_plane_is_found_from_points_on_it(void **state) {
    (void)state;
    random_source random = {7};
    static fixture f;
    for (int round = 0; round < 50; round++) {
        const double plane[3] = {random_uniform(&random, -0.43, 0.43), random_uniform(&random, -0.43, 0.43), 0.002};
        make(&f, &random, plane, 0);
        f.problem.hold = 1e-14; /* too weak to be seen */
        match_result result = match_solve(&f.problem);
        for (int k = 0; k < 3; k++) assert_near(result.pose[k], plane[k], 1e-6);
        assert_true(result.iterations <= 6);
    }
}

static void a_single_point_leaves_the_tilt_as_it_was(void **state) {
    (void)state;
    random_source random = {8};
    static fixture f;
    const double plane[3] = {0};
    make(&f, &random, plane, 0);
    memset(f.memory, 0, sizeof f.memory);
    f.memory[2][0][0] = 0.0005; /* at the middle, half a millimetre in */
    f.memory[6][0][0] = 3.5e-6;
    match_result result = match_solve(&f.problem);
    for (int k = 0; k < 2; k++) assert_near(result.pose[k], f.problem.before[k], 1e-6);
    /* The hold is 2e-8 beside the point's weight of 3.5e-6 cos^2. */
    assert_near(result.pose[2], 0.0005, 2e-5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_optimum_is_never_worse_than_a_grid),
    cmocka_unit_test(the_optimum_is_exact_at_active_bounds),
    cmocka_unit_test(a_plane_is_found_from_points_on_it),
    cmocka_unit_test(a_single_point_leaves_the_tilt_as_it_was),
};
TEST_MAIN(tests)
