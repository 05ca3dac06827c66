/* The decomposition of 3x3 matrices, compared with its definition: U and V are rotations, the values are in
 * order and U diag(s) V^T is G again. By Weyl's inequality s is then right to the same error; where matrices
 * are made from known singular values, and by the invariants of G in long double, that is checked on its own.
 */
#include "test.h"

#include "random.h"
#include "svd3_single.h"

#include <float.h>

/* What the header promises ("near 1e-15 of s1") with room for the rounding of the test's own matrices. */
#define TOLERANCE 5e-15

typedef struct sample {
    mat3 G;
    double s[3]; /* the singular values, if known */
    bool is_known;
} sample;

typedef sample (*family)(random_source *source);

static double power_of_ten(random_source *source, double low, double high) {
    return pow(10, random_uniform(source, low, high));
}

static double either_sign(random_source *source, double a) {
    return random_bits(source) & 1 ? a : -a;
}

static quat random_rotation(random_source *source) {
    for (;;) {
        double x = random_uniform(source, -1, 1), y = random_uniform(source, -1, 1);
        double z = random_uniform(source, -1, 1), w = random_uniform(source, -1, 1);
        double square = x * x + y * y + z * z + w * w;
        if (square > 0.01 && square < 1) return quat_unit((quat){x, y, z, w});
    }
}

/* A rotation matrix to the precision of long double. */
static void wide_rotation(random_source *source, long double m[3][3]) {
    quat q = random_rotation(source);
    long double x = q.x, y = q.y, z = q.z, w = q.w, k = 2 / (x * x + y * y + z * z + w * w);
    long double rows[3][3] = {{1 - k * (y * y + z * z), k * (x * y - z * w), k * (x * z + y * w)},
                              {k * (x * y + z * w), 1 - k * (x * x + z * z), k * (y * z - x * w)},
                              {k * (x * z - y * w), k * (y * z + x * w), 1 - k * (x * x + y * y)}};
    memcpy(m, rows, sizeof rows);
}

/* Random rotations on both sides of s1 >= s2 >= |s3|. */
static sample from_singular_values(random_source *source, double s1, double s2, double s3) {
    long double U[3][3], V[3][3], s[3] = {s1, s2, s3};
    wide_rotation(source, U);
    wide_rotation(source, V);
    sample made = {.s = {s1, s2, s3}, .is_known = true};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            long double sum = 0;
            for (int k = 0; k < 3; k++) sum += U[i][k] * s[k] * V[j][k];
            made.G.m[3 * i + j] = (double)sum;
        }
    return made;
}

static sample entries_at_random(random_source *source) {
    sample made = {0};
    for (int i = 0; i < 9; i++) made.G.m[i] = random_uniform(source, -1, 1);
    return made;
}

static sample any_rank(random_source *source) {
    double s1 = random_uniform(source, 0, 2), s2 = s1 * random_uniform(source, 0, 1);
    double s3 = either_sign(source, s2 * random_uniform(source, 0, 1));
    uint64_t rank = random_bits(source) % 4;
    return from_singular_values(source, rank > 0 ? s1 : 0, rank > 1 ? s2 : 0, rank > 2 ? s3 : 0);
}

static double random_gap(random_source *source) {
    int exponent = (int)(random_bits(source) % 18);
    return exponent == 17 ? 0 : pow(10, -exponent);
}

static sample nearly_equal_values(random_source *source) {
    double s2 = 1 - 0.5 * random_gap(source), s3 = s2 - 0.5 * s2 * random_gap(source);
    return from_singular_values(source, 1, s2, either_sign(source, s3));
}

static sample graded_values(random_source *source) {
    double s2 = power_of_ten(source, -20, 0), s3 = s2 * power_of_ten(source, -20, 0);
    return from_singular_values(source, 1, s2, either_sign(source, s3));
}

static sample a_rotation_nearly(random_source *source) {
    sample made = from_singular_values(source, 1, 1, either_sign(source, 1));
    double noise = power_of_ten(source, -18, -1);
    for (int i = 0; i < 9; i++) made.G.m[i] += random_uniform(source, -noise, noise);
    made.is_known = false;
    return made;
}

static sample of_any_scale(random_source *source) {
    sample made = random_bits(source) & 1 ? graded_values(source) : any_rank(source);
    int exponent = (int)(random_bits(source) % 2000) - 1000;
    for (int i = 0; i < 9; i++) made.G.m[i] = ldexp(made.G.m[i], exponent);
    for (int i = 0; i < 3; i++) made.s[i] = ldexp(made.s[i], exponent);
    return made;
}

static sample denormal(random_source *source) {
    sample made = {0};
    uint64_t max = 1 + (random_bits(source) >> (13 + random_bits(source) % 50));
    for (int i = 0; i < 9; i++) made.G.m[i] = either_sign(source, (double)(random_bits(source) % max) * 0x1p-1074);
    return made;
}

static int by_size_downwards(const void *a, const void *b) {
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x < y) - (x > y);
}

/* One entry a row and column: diagonal matrices, permutations, reflections, with equal and zero entries among
 * them. */
static sample permuted_diagonal(random_source *source) {
    static const int permutations[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}};
    uint64_t which = random_bits(source) % 6;
    sample made = {.is_known = true};
    for (int i = 0; i < 3; i++) {
        double choices[] = {0, 1, 1, 2, random_uniform(source, 0, 2), power_of_ten(source, -150, 150)};
        double entry = either_sign(source, choices[random_bits(source) % 6]);
        made.G.m[3 * i + permutations[which][i]] = entry;
        made.s[i] = entry;
    }
    double sign = which < 3 ? 1 : -1;
    for (int i = 0; i < 3; i++) sign *= made.s[i] < 0 ? -1 : 1;
    qsort(made.s, 3, sizeof made.s[0], by_size_downwards);
    for (int i = 0; i < 3; i++) made.s[i] = fabs(made.s[i]);
    made.s[2] *= sign;
    return made;
}

static sample small_integers(random_source *source) {
    sample made = {0};
    for (int i = 0; i < 9; i++) made.G.m[i] = (double)(random_bits(source) % 3) - 1;
    return made;
}

/* An element crushed to a plane, then sheared in it and across it. */
static sample sheared_flat(random_source *source) {
    mat3 shear = mat3_identity();
    for (int i = 0; i < 9; i++)
        if (i % 4 != 0 && random_bits(source) & 1) shear.m[i] = either_sign(source, power_of_ten(source, -3, 6));
    mat3 rotation = quat_to_mat3(random_rotation(source));
    if (random_bits(source) & 1) rotation = mat3_identity();
    mat3 flat = mat3_diagonal(1, 1, random_bits(source) & 1 ? 0 : either_sign(source, power_of_ten(source, -17, 0)));
    return (sample){.G = mat3_mul(rotation, mat3_mul(shear, mat3_mul(flat, mat3_transpose(rotation))))};
}

/* Columns that agree but for a perturbation: rank 1 or 2 up to rounding. */
static sample columns_alike(random_source *source) {
    sample made = entries_at_random(source);
    double noise = power_of_ten(source, -18, -6), k = random_uniform(source, -2, 2);
    for (int i = 0; i < 3; i++) {
        double *row = &made.G.m[3 * i];
        row[1] = k * row[0] + random_uniform(source, -noise, noise);
        if (random_bits(source) & 1) row[2] = row[0] - k * row[1];
    }
    return made;
}

static const family families[] = {entries_at_random, any_rank, nearly_equal_values, graded_values,  a_rotation_nearly,
                                  of_any_scale,      denormal, permuted_diagonal,   small_integers, sheared_flat,
                                  columns_alike};
#define FAMILIES (sizeof families / sizeof families[0])

typedef struct group {
    f64x8 G[9], U[9], s[3], V[9];
} group;

static mat3 lane_of(const f64x8 m[9], int lane) {
    mat3 out;
    for (int i = 0; i < 9; i++) out.m[i] = m[i][lane];
    return out;
}

static void set_lane(f64x8 m[9], int lane, mat3 a) {
    for (int i = 0; i < 9; i++) m[i][lane] = a.m[i];
}

static void start_cold(group *g) {
    for (int i = 0; i < 9; i++) g->V[i] = f64x8_set(i % 4 == 0);
}

/* Largest entry of a^T a - I; a determinant of -1 counts as 1. */
static double rotation_error(mat3 a) {
    mat3 product = mat3_mul(mat3_transpose(a), a);
    double worst = mat3_determinant(a) > 0 ? 0 : 1;
    for (int i = 0; i < 9; i++) {
        double error = fabs(product.m[i] - (i % 4 == 0));
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static double rebuilding_error(mat3 G, mat3 U, const double s[3], mat3 V) {
    double worst = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += U.m[3 * i + k] * s[k] * V.m[3 * j + k];
            double error = fabs(sum - G.m[3 * i + j]);
            if (!(error <= worst)) worst = error;
        }
    return worst;
}

/* |G|^2, |cofactors of G|^2 and det G in long double beside the same of diag(s), both divided by powers of
 * s1. */
static double invariants_error(mat3 G, const double s[3]) {
    long double m[9], x = (long double)s[1] / s[0], y = (long double)s[2] / s[0], frobenius = 0, cofactors = 0;
    for (int i = 0; i < 9; i++) {
        m[i] = (long double)G.m[i] / s[0];
        frobenius += m[i] * m[i];
    }
    long double determinant = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const long double *a = m + 3 * ((i + 1) % 3), *b = m + 3 * ((i + 2) % 3);
            int k = (j + 1) % 3, l = (j + 2) % 3;
            long double cofactor = a[k] * b[l] - a[l] * b[k];
            cofactors += cofactor * cofactor;
            if (i == 0) determinant += m[j] * cofactor;
        }
    long double error = fabsl(frobenius - (1 + x * x + y * y));
    error = fmaxl(error, fabsl(cofactors - (x * x + y * y + x * x * y * y)));
    return (double)fmaxl(error, fabsl(determinant - x * y));
}

static void fail_on(mat3 G, const double s[3], const char *what, double error) {
    for (int i = 0; i < 3; i++) print_error("%a %a %a\n", G.m[3 * i], G.m[3 * i + 1], G.m[3 * i + 2]);
    print_error("s = %.17g %.17g %.17g: %s off by %.3g\n", s[0], s[1], s[2], what, error);
    fail();
}

static void check_decomposition(const sample *given, mat3 U, const double s[3], mat3 V) {
    /* A denormal s is rounded to a multiple of the smallest number there is. */
    double allowed = TOLERANCE * s[0] + 0x1p-1072, error;
    if (!((error = rotation_error(U)) <= TOLERANCE)) fail_on(given->G, s, "U^T U", error);
    if (!((error = rotation_error(V)) <= TOLERANCE)) fail_on(given->G, s, "V^T V", error);
    if (!(s[0] >= s[1] && s[1] >= fabs(s[2]))) fail_on(given->G, s, "order", 0);
    if (!((error = rebuilding_error(given->G, U, s, V)) <= allowed)) fail_on(given->G, s, "U s V^T", error);
    if (s[0] > 1e-300 && !((error = invariants_error(given->G, s)) <= 3 * TOLERANCE))
        fail_on(given->G, s, "invariants", error);
    for (int i = 0; i < 3 && given->is_known; i++)
        if (!((error = fabs(s[i] - given->s[i])) <= allowed)) fail_on(given->G, s, "known values", error);
}

static void check_group(const sample given[SIMD_LANES], const group *g) {
    for (int lane = 0; lane < SIMD_LANES; lane++) {
        double s[3] = {g->s[0][lane], g->s[1][lane], g->s[2][lane]};
        check_decomposition(&given[lane], lane_of(g->U, lane), s, lane_of(g->V, lane));
    }
}

static void a_million_matrices_of_every_kind_are_decomposed(void **state) {
    (void)state;
    random_source source = {11};
    for (int n = 0; n < 1100000 / SIMD_LANES; n++) {
        sample given[SIMD_LANES];
        group g;
        start_cold(&g);
        for (int lane = 0; lane < SIMD_LANES; lane++) {
            given[lane] = families[(n + lane) % (int)FAMILIES](&source);
            set_lane(g.G, lane, given[lane].G);
        }
        svd3_batch(g.G, g.U, g.s, g.V);
        check_group(given, &g);
    }
}

static void any_rotation_will_do_to_start_from(void **state) {
    (void)state;
    random_source source = {12};
    for (int n = 0; n < 20000; n++) {
        sample given[SIMD_LANES];
        group g;
        for (int lane = 0; lane < SIMD_LANES; lane++) {
            given[lane] = families[(n + lane) % (int)FAMILIES](&source);
            set_lane(g.G, lane, given[lane].G);
            set_lane(g.V, lane, quat_to_mat3(random_rotation(&source)));
        }
        svd3_batch(g.G, g.U, g.s, g.V);
        check_group(given, &g);
        svd3_batch(g.G, g.U, g.s, g.V);
        check_group(given, &g);
    }
}

static void the_sign_of_the_last_value_is_that_of_the_determinant(void **state) {
    (void)state;
    random_source source = {13};
    for (int n = 0; n < 20000; n++) {
        sample given = n & 1 ? small_integers(&source) : entries_at_random(&source);
        mat3 U, V;
        double s[3], determinant = mat3_determinant(given.G);
        svd3(given.G, &U, s, &V);
        if (fabs(determinant) > 1e-14) assert_true((s[2] < 0) == (determinant < 0));
        svd3(mat3_scale(given.G, -1), &U, s, &V);
        if (fabs(determinant) > 1e-14) assert_true((s[2] > 0) == (determinant < 0));
    }
}

/* A lane with its neighbours, and the same lane among others. */
static void a_lane_has_the_same_bits_whatever_its_neighbours_hold(void **state) {
    (void)state;
    random_source source = {14};
    for (int n = 0; n < 20000; n++) {
        group g, alone = {0};
        for (int lane = 0; lane < SIMD_LANES; lane++) {
            set_lane(g.G, lane, families[random_bits(&source) % FAMILIES](&source).G);
            set_lane(g.V, lane, n & 1 ? mat3_identity() : quat_to_mat3(random_rotation(&source)));
        }
        int lane = (int)(random_bits(&source) % SIMD_LANES);
        start_cold(&alone);
        set_lane(alone.G, lane, lane_of(g.G, lane));
        set_lane(alone.V, lane, lane_of(g.V, lane));
        svd3_batch(g.G, g.U, g.s, g.V);
        svd3_batch(alone.G, alone.U, alone.s, alone.V);
        mat3 a = lane_of(g.U, lane), b = lane_of(alone.U, lane), c = lane_of(g.V, lane), d = lane_of(alone.V, lane);
        for (int i = 0; i < 9; i++) assert_true(a.m[i] == b.m[i] && c.m[i] == d.m[i]);
        for (int i = 0; i < 3; i++) assert_true(g.s[i][lane] == alone.s[i][lane]);
    }
}

static void padding_comes_out_as_identities(void **state) {
    (void)state;
    group g = {0};
    start_cold(&g);
    svd3_batch(g.G, g.U, g.s, g.V);
    for (int lane = 0; lane < SIMD_LANES; lane++)
        for (int i = 0; i < 9; i++) {
            assert_near(g.U[i][lane], i % 4 == 0, 0);
            assert_near(g.V[i][lane], i % 4 == 0, 0);
            assert_near(g.s[i / 3][lane], 0, 0);
        }
}

/* Singular values may be beyond the largest double then, but never not a number. */
static void the_largest_numbers_there_are_give_rotations(void **state) {
    (void)state;
    random_source source = {20};
    for (int n = 0; n < 2000; n++) {
        mat3 G, U, V;
        double s[3];
        for (int i = 0; i < 9; i++) G.m[i] = either_sign(&source, random_bits(&source) % 3 ? DBL_MAX : DBL_MIN);
        svd3(G, &U, s, &V);
        assert_true(rotation_error(U) <= TOLERANCE);
        assert_true(rotation_error(V) <= TOLERANCE);
        assert_true(s[0] >= s[1] && s[1] >= fabs(s[2]));
    }
}

static void what_is_not_finite_ends_and_leaves_a_rotation_to_start_from(void **state) {
    (void)state;
    random_source source = {15};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int n = 0; n < 5000; n++) {
        group g;
        sample given[SIMD_LANES];
        for (int lane = 0; lane < SIMD_LANES; lane++) {
            given[lane] = families[(n + lane) % (int)FAMILIES](&source);
            mat3 G = given[lane].G;
            for (uint64_t k = 1 + random_bits(&source) % 9; k > 0; k--)
                G.m[random_bits(&source) % 9] = bad[random_bits(&source) % 3];
            set_lane(g.G, lane, G);
            set_lane(g.V, lane, quat_to_mat3(random_rotation(&source)));
        }
        svd3_batch(g.G, g.U, g.s, g.V);
        for (int lane = 0; lane < SIMD_LANES; lane++) {
            assert_true(rotation_error(lane_of(g.V, lane)) <= TOLERANCE);
            set_lane(g.G, lane, given[lane].G);
        }
        svd3_batch(g.G, g.U, g.s, g.V);
        check_group(given, &g);
    }
}

/* Eight elements that breathe, flatten and turn inside out along axes that turn in them, with V handed on for
 * a million steps; the slowest by a ten-thousandth of a radian a step, the fastest by a tenth. */
static void a_warm_start_does_not_drift_in_a_million_steps(void **state) {
    (void)state;
    random_source source = {16};
    sample given[SIMD_LANES];
    quat axes[SIMD_LANES], turn[SIMD_LANES];
    group g;
    start_cold(&g);
    for (int lane = 0; lane < SIMD_LANES; lane++) {
        vec3 r = vec3_make(random_uniform(&source, -1, 1), random_uniform(&source, -1, 1), 1);
        turn[lane] = quat_from_rotation_vector(vec3_scale(vec3_unit(r), pow(10, -4 + 3 * lane / 7.0)));
        axes[lane] = random_rotation(&source);
    }
    for (int step = 0; step < 1000000; step++) {
        for (int lane = 0; lane < SIMD_LANES; lane++) {
            double t = 1e-3 * (lane + 1) * step, c = cos(t), s = sin(t);
            axes[lane] = quat_unit(quat_mul(turn[lane], axes[lane]));
            mat3 stretch = mat3_diagonal(1 + 0.3 * c, 1 + 0.3 * s, lane & 1 ? c : 1);
            given[lane] = (sample){.G = mat3_mul(stretch, quat_to_mat3(axes[lane]))};
            set_lane(g.G, lane, given[lane].G);
        }
        svd3_batch(g.G, g.U, g.s, g.V);
        if (step % 97 == 0 || step > 999000) check_group(given, &g);
    }
}

static double trace_of_product(mat3 a, mat3 b) {
    return mat3_trace(mat3_mul(mat3_transpose(a), b));
}

static void the_polar_rotation_is_the_closest_one(void **state) {
    (void)state;
    random_source source = {17};
    for (int n = 0; n < 20000; n++) {
        family made[] = {entries_at_random, any_rank, nearly_equal_values, small_integers, a_rotation_nearly};
        mat3 G = made[n % 5](&source).G, R, S;
        polar3(G, &R, &S);
        assert_true(rotation_error(R) <= 2 * TOLERANCE);
        mat3 rebuilt = mat3_mul(R, S);
        for (int i = 0; i < 9; i++) {
            assert_near(rebuilt.m[i], G.m[i], 2e-14);
            assert_near(S.m[i], mat3_transpose(S).m[i], 2e-14);
        }
        /* |G - Q|^2 = |G|^2 + 3 - 2 tr(Q^T G): no rotation Q, near or far, has a larger trace. */
        double best = trace_of_product(R, G);
        for (int k = 0; k < 12; k++) {
            vec3 axis = vec3_scale(vec3_unit(vec3_make(k % 3 - 0.9, k % 2 - 0.4, k % 5 - 2.1)), pow(10, -k % 6));
            mat3 near = mat3_mul(quat_to_mat3(quat_from_rotation_vector(axis)), R);
            assert_true(trace_of_product(near, G) <= best + 2e-14);
            assert_true(trace_of_product(quat_to_mat3(random_rotation(&source)), G) <= best + 2e-14);
        }
    }
}

/* X <- (X + X^-T) / 2 converges to the orthogonal polar factor (Higham 1986), a rotation where det G > 0. */
static void the_polar_rotation_is_where_newtons_iteration_ends(void **state) {
    (void)state;
    random_source source = {18};
    for (int n = 0; n < 20000; n++) {
        double s2 = random_uniform(&source, 0.05, 1), s3 = s2 * random_uniform(&source, 0.05, 1);
        mat3 G = from_singular_values(&source, 1, s2, s3).G, X = G, R, S;
        polar3(G, &R, &S);
        for (int k = 0; k < 20; k++) X = mat3_scale(mat3_add(X, mat3_transpose(mat3_inverse(X))), 0.5);
        /* Conditioning: 1 / (s2 + s3) for R, 1 / s3 for the first inverse. */
        for (int i = 0; i < 9; i++) assert_near(R.m[i], X.m[i], 4e-15 / s3);
    }
}

static void the_rotation_of_a_group_is_that_of_each_matrix(void **state) {
    (void)state;
    random_source source = {19};
    for (int n = 0; n < 1000; n++) {
        group g;
        f64x8 R[9];
        start_cold(&g);
        for (int lane = 0; lane < SIMD_LANES; lane++) set_lane(g.G, lane, entries_at_random(&source).G);
        svd3_batch(g.G, g.U, g.s, g.V);
        svd3_rotation(g.U, g.V, R);
        for (int lane = 0; lane < SIMD_LANES; lane++) {
            mat3 expected, S, got = lane_of(R, lane);
            polar3(lane_of(g.G, lane), &expected, &S);
            for (int i = 0; i < 9; i++) assert_near(got.m[i], expected.m[i], 1e-15);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_million_matrices_of_every_kind_are_decomposed),
    cmocka_unit_test(any_rotation_will_do_to_start_from),
    cmocka_unit_test(the_sign_of_the_last_value_is_that_of_the_determinant),
    cmocka_unit_test(a_lane_has_the_same_bits_whatever_its_neighbours_hold),
    cmocka_unit_test(padding_comes_out_as_identities),
    cmocka_unit_test(the_largest_numbers_there_are_give_rotations),
    cmocka_unit_test(what_is_not_finite_ends_and_leaves_a_rotation_to_start_from),
    cmocka_unit_test(a_warm_start_does_not_drift_in_a_million_steps),
    cmocka_unit_test(the_polar_rotation_is_the_closest_one),
    cmocka_unit_test(the_polar_rotation_is_where_newtons_iteration_ends),
    cmocka_unit_test(the_rotation_of_a_group_is_that_of_each_matrix),
};
TEST_MAIN(tests)
