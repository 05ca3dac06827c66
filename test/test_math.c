/* Vectors, matrices and quaternions against textbook formulas. The singular value decomposition is in
 * test_svd3.c. */
#include "test.h"

#include "random.h"
#include "core/dense.h"
#include "core/same.h"
#include "core/simd.h"
#include "core/vec3.h"

static vec3 random_vector(random_source *source) {
    double x = random_uniform(source, -1, 1), y = random_uniform(source, -1, 1);
    return vec3_make(x, y, random_uniform(source, -1, 1));
}

static mat3 random_matrix(random_source *source) {
    mat3 a;
    for (int i = 0; i < 9; i++) a.m[i] = random_uniform(source, -1, 1);
    return a;
}

static void assert_vectors_near(vec3 a, vec3 b, double tolerance) {
    assert_near(a.x, b.x, tolerance);
    assert_near(a.y, b.y, tolerance);
    assert_near(a.z, b.z, tolerance);
}

static void assert_matrices_near(mat3 a, mat3 b, double tolerance) {
    for (int i = 0; i < 9; i++) assert_near(a.m[i], b.m[i], tolerance);
}

static void the_cross_product_is_perpendicular_and_has_the_area_for_length(void **state) {
    (void)state;
    random_source source = {1};
    assert_vectors_near(vec3_cross(vec3_make(1, 0, 0), vec3_make(0, 1, 0)), vec3_make(0, 0, 1), 0);
    for (int i = 0; i < 1000; i++) {
        vec3 a = random_vector(&source), b = random_vector(&source), c = vec3_cross(a, b);
        assert_near(vec3_dot(a, c), 0, 1e-15);
        assert_near(vec3_dot(b, c), 0, 1e-15);
        double ab = vec3_dot(a, b); /* Lagrange's identity */
        assert_near(vec3_dot(c, c), vec3_dot(a, a) * vec3_dot(b, b) - ab * ab, 1e-14);
        assert_vectors_near(mat3_mul_vec(mat3_skew(a), b), c, 1e-15);
    }
}

static void a_unit_vector_has_length_one_and_zero_stays_zero(void **state) {
    (void)state;
    assert_near(vec3_length(vec3_unit(vec3_make(3, -4, 12))), 1, 1e-15);
    assert_vectors_near(vec3_unit(vec3_make(0, 0, 0)), vec3_make(0, 0, 0), 0);
    assert_near(vec3_distance(vec3_make(1, 2, 3), vec3_make(4, 6, 3)), 5, 1e-15);
}

static void a_matrix_times_its_inverse_is_the_identity(void **state) {
    (void)state;
    random_source source = {2};
    for (int i = 0; i < 1000; i++) {
        mat3 a = random_matrix(&source);
        double determinant = mat3_determinant(a);
        if (fabs(determinant) < 1e-3) continue;
        assert_matrices_near(mat3_mul(a, mat3_inverse(a)), mat3_identity(), 1e-14 / fabs(determinant));
        assert_near(mat3_determinant(mat3_inverse(a)) * determinant, 1, 1e-12 / fabs(determinant));
    }
}

static void matrix_products_follow_rows_and_columns(void **state) {
    (void)state;
    random_source source = {3};
    for (int i = 0; i < 1000; i++) {
        mat3 a = random_matrix(&source), b = random_matrix(&source);
        vec3 v = random_vector(&source), w = random_vector(&source);
        assert_vectors_near(mat3_mul_vec(mat3_mul(a, b), v), mat3_mul_vec(a, mat3_mul_vec(b, v)), 1e-14);
        assert_vectors_near(mat3_mul_vec_transposed(a, v), mat3_mul_vec(mat3_transpose(a), v), 1e-15);
        assert_vectors_near(mat3_mul_vec(mat3_outer(v, w), v), vec3_scale(v, vec3_dot(w, v)), 1e-14);
        assert_near(mat3_determinant(mat3_mul(a, b)), mat3_determinant(a) * mat3_determinant(b), 1e-14);
        assert_near(mat3_trace(mat3_mul(a, b)), mat3_trace(mat3_mul(b, a)), 1e-14);
        mat3 columns = mat3_columns(mat3_column(a, 0), mat3_column(a, 1), mat3_column(a, 2));
        assert_matrices_near(columns, a, 0);
    }
}

/* Rodrigues: I + sin(angle) K + (1 - cos(angle)) K^2, K the skew matrix of the axis. */
static mat3 rodrigues(vec3 axis, double angle) {
    mat3 k = mat3_skew(axis);
    return mat3_add(mat3_identity(), mat3_add(mat3_scale(k, sin(angle)), mat3_scale(mat3_mul(k, k), 1 - cos(angle))));
}

static void quaternions_rotate_as_rodrigues_formula_does(void **state) {
    (void)state;
    random_source source = {4};
    for (int i = 0; i < 1000; i++) {
        vec3 axis = vec3_unit(random_vector(&source)), v = random_vector(&source);
        double angle = random_uniform(&source, -7, 7);
        mat3 expected = rodrigues(axis, angle);
        quat q = quat_from_rotation_vector(vec3_scale(axis, angle));
        assert_matrices_near(quat_to_mat3(q), expected, 2e-15);
        assert_vectors_near(quat_rotate(q, v), mat3_mul_vec(expected, v), 2e-15);
        assert_vectors_near(quat_rotate(quat_conjugate(q), v), mat3_mul_vec_transposed(expected, v), 2e-15);
    }
}

static void a_product_of_quaternions_rotates_by_the_second_first(void **state) {
    (void)state;
    random_source source = {5};
    for (int i = 0; i < 1000; i++) {
        quat a = quat_from_rotation_vector(vec3_scale(random_vector(&source), 3));
        quat b = quat_from_rotation_vector(vec3_scale(random_vector(&source), 3));
        assert_matrices_near(quat_to_mat3(quat_mul(a, b)), mat3_mul(quat_to_mat3(a), quat_to_mat3(b)), 2e-15);
    }
}

static void the_logarithm_of_a_rotation_undoes_the_exponential(void **state) {
    (void)state;
    random_source source = {6};
    for (double angle = 1e-18; angle < 3.14; angle = angle < 1e-3 ? angle * 3 : angle + 1e-3) {
        vec3 r = vec3_scale(vec3_unit(random_vector(&source)), angle);
        quat q = quat_from_rotation_vector(r), negative = {-q.x, -q.y, -q.z, -q.w};
        assert_vectors_near(quat_to_rotation_vector(q), r, 4e-16 * angle + 4e-16 * angle * angle);
        assert_vectors_near(quat_to_rotation_vector(negative), quat_to_rotation_vector(q), 0);
    }
    assert_vectors_near(quat_to_rotation_vector(quat_identity()), vec3_make(0, 0, 0), 0);
    /* Beyond half a turn the short way round comes back. */
    vec3 back = quat_to_rotation_vector(quat_from_rotation_vector(vec3_make(0, 4, 0)));
    assert_vectors_near(back, vec3_make(0, 4 - 6.283185307179586, 0), 2e-15);
}

static void the_zero_quaternion_becomes_the_identity(void **state) {
    (void)state;
    quat q = quat_unit((quat){0, 0, 0, 0});
    assert_near(q.w, 1, 0);
    q = quat_unit((quat){1, 2, 3, 4});
    assert_near(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w, 1, 1e-15);
}

static void every_lane_of_eight_computes_what_one_number_would(void **state) {
    (void)state;
    double x[SIMD_LANES + 1], y[SIMD_LANES], out[SIMD_LANES];
    random_source source = {7};
    for (int i = 0; i < SIMD_LANES; i++) {
        x[i + 1] = random_uniform(&source, -1, 1);
        y[i] = random_uniform(&source, -1, 1);
    }
    f64x8 a = f64x8_load(x + 1), b = f64x8_load(y);
    f64x8_store(out, f64x8_min(a, b));
    for (int i = 0; i < SIMD_LANES; i++) assert_near(out[i], fmin(x[i + 1], y[i]), 0);
    f64x8_store(out, f64x8_max(a, b));
    for (int i = 0; i < SIMD_LANES; i++) assert_near(out[i], fmax(x[i + 1], y[i]), 0);
    f64x8_store(out, f64x8_sqrt(f64x8_abs(a)));
    for (int i = 0; i < SIMD_LANES; i++) assert_near(out[i], sqrt(fabs(x[i + 1])), 0);
    f64x8_store(out, f64x8_fma(a, b, f64x8_set(0.25)));
    for (int i = 0; i < SIMD_LANES; i++) assert_near(out[i], x[i + 1] * y[i] + 0.25, 3e-16);
    f64x8_store(out, f64x8_select(a < b, f64x8_set(1), f64x8_set(2)));
    for (int i = 0; i < SIMD_LANES; i++) assert_near(out[i], x[i + 1] < y[i] ? 1 : 2, 0);
}

static void a_mask_holds_in_any_lane_or_in_none(void **state) {
    (void)state;
    f64x8 a = f64x8_set(0);
    assert_false(i64x8_any(a > f64x8_set(0)));
    for (int i = 0; i < SIMD_LANES; i++) {
        f64x8 b = a;
        b[i] = 1;
        assert_true(i64x8_any(b > f64x8_set(0)));
    }
    assert_false(i64x8_any(f64x8_set(NAN) > a));
}

/* B B^T + 0.1 of random numbers; only the lower triangle is filled. */
static void random_definite(random_source *source, int n, int stride, double *A) {
    double B[12][12];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) B[i][j] = random_uniform(source, -1, 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            A[i * stride + j] = i == j ? 0.1 : 0;
            for (int k = 0; k < n; k++) A[i * stride + j] += B[i][k] * B[j][k];
        }
}

static void a_dense_cholesky_factor_solves_what_it_is_the_factor_of(void **state) {
    (void)state;
    random_source source = {7};
    for (int n = 1; n <= 12; n++) {
        double A[12 * 14], L[12 * 14], x[12], b[12];
        int stride = n + 2;
        for (int i = 0; i < n * stride; i++) A[i] = NAN; /* the upper triangle is not read */
        random_definite(&source, n, stride, A);
        memcpy(L, A, sizeof L);
        assert_int_equal(dense_cholesky(L, n, stride, 0), 0);
        for (int i = 0; i < n; i++) x[i] = b[i] = random_uniform(&source, -1, 1);
        dense_cholesky_solve(L, n, stride, x);
        /* |x| <= |b| / 0.1, so rounding leaves some 12 |A| |x| 2^-53 of b. */
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += A[i > j ? i * stride + j : j * stride + i] * x[j];
            assert_near(sum, b[i], 1e-12);
        }
    }
}

static void rows_without_a_positive_pivot_are_left_out_of_a_dense_factor(void **state) {
    (void)state;
    double indefinite[4] = {1, 0, 2, 1}; /* [1 2; 2 1] */
    assert_int_equal(dense_cholesky(indefinite, 2, 2, 0), 1);
    /* A row of zeros between two others: the rest is solved as if it were not there. */
    double A[9] = {4, 0, 0, 0, 0, 0, 2, 0, 5}, x[3] = {8, 3, 9}, small[4] = {4, 0, 2, 5}, y[2] = {8, 9};
    assert_int_equal(dense_cholesky(A, 3, 3, 1e-9), 1);
    assert_int_equal(dense_cholesky(small, 2, 2, 1e-9), 0);
    dense_cholesky_solve(A, 3, 3, x);
    dense_cholesky_solve(small, 2, 2, y);
    assert_true(x[0] == y[0] && x[1] == 0 && x[2] == y[1]);
    /* The tolerance is relative to the row's own diagonal. */
    double near[4] = {1, 0, 1, 1 + 1e-12};
    assert_int_equal(dense_cholesky(near, 2, 2, 1e-9), 1);
}

static void the_transpose_of_eight_vectors_swaps_rows_and_columns(void **state) {
    (void)state;
    f64x8 in[8], out[8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) in[i][j] = 8 * i + j;
    f64x8_transpose(in, out);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) assert_near(out[i][j], 8 * j + i, 0);
}

/* Within one unit in the last place; the references are long doubles, which have more digits. */
static void hypotenuses_and_cube_roots_are_right_to_the_last_digit_at_any_size(void **state) {
    (void)state;
    random_source source = {11};
    for (int i = 0; i < 20000; i++) {
        double x = ldexp(random_uniform(&source, 0.5, 1), i % 2000 - 1000), y = x * random_uniform(&source, -2, 2);
        long double expected = sqrtl((long double)x * x + (long double)y * y), root = cbrtl(x);
        assert_near((double)(hypot(x, y) / expected), 1, 3e-16);
        assert_true(hypot(x, y) == hypot(-y, x));
        assert_near((double)(cbrt(x) / root), 1, 3e-16);
        assert_true(cbrt(-x) == -cbrt(x));
    }
    assert_true(hypot(3e300, 4e300) == 5e300 && hypot(0, -2) == 2 && hypot(NAN, -INFINITY) == INFINITY);
    assert_true(isnan(hypot(NAN, 1)) && isnan(cbrt(NAN)) && cbrt(-INFINITY) == -INFINITY);
    assert_true(cbrt(0x1p-1074) == 0x1p-358 && cbrt(27) == 3 && signbit(cbrt(-0.0)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_cross_product_is_perpendicular_and_has_the_area_for_length),
    cmocka_unit_test(a_unit_vector_has_length_one_and_zero_stays_zero),
    cmocka_unit_test(a_matrix_times_its_inverse_is_the_identity),
    cmocka_unit_test(matrix_products_follow_rows_and_columns),
    cmocka_unit_test(quaternions_rotate_as_rodrigues_formula_does),
    cmocka_unit_test(a_product_of_quaternions_rotates_by_the_second_first),
    cmocka_unit_test(the_logarithm_of_a_rotation_undoes_the_exponential),
    cmocka_unit_test(the_zero_quaternion_becomes_the_identity),
    cmocka_unit_test(a_dense_cholesky_factor_solves_what_it_is_the_factor_of),
    cmocka_unit_test(rows_without_a_positive_pivot_are_left_out_of_a_dense_factor),
    cmocka_unit_test(every_lane_of_eight_computes_what_one_number_would),
    cmocka_unit_test(a_mask_holds_in_any_lane_or_in_none),
    cmocka_unit_test(the_transpose_of_eight_vectors_swaps_rows_and_columns),
    cmocka_unit_test(hypotenuses_and_cube_roots_are_right_to_the_last_digit_at_any_size),
};
TEST_MAIN(tests)
