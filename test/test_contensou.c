/* Friction of a patch against sliding and spinning: the exact law of a disc, and that the projection is one. */
#include "test.h"

#include "random.h"
#include "contact/patch.h"

#define PI 3.14159265358979323846

/* Complete elliptic integrals of modulus k < 1 by the arithmetic-geometric mean. */
static void elliptic(double k, double *K, double *E) {
    double a = 1, b = sqrt(1 - k * k), c = k, power = 0.5, sum = 0.5 * k * k;
    while (fabs(c) > 1e-15) {
        double next = 0.5 * (a + b);
        c = 0.5 * (a - b);
        b = sqrt(a * b);
        a = next;
        power *= 2;
        sum += power * c * c;
    }
    *K = PI / (2 * a);
    *E = *K * (1 - sum);
}

/* A disc of radius a under uniform pressure that slides with v and spins with w, s = v / (a w): force of mu N, torque of
 * mu N a. */
static void exact_disc(double s, double *force, double *torque) {
    double K, E;
    if (s <= 1) {
        elliptic(s, &K, &E);
        if (s == 1) K = 0; /* (1 - s^2) K is 0 */
        *force = 4 / (3 * PI * s) * ((s * s + 1) * E - (1 - s * s) * K);
        *torque = 4 / (9 * PI) * ((4 - 2 * s * s) * E - (1 - s * s) * K);
        return;
    }
    elliptic(1 / s, &K, &E);
    *force = 4 / (3 * PI) * ((s * s + 1) * E - (s * s - 1) * K);
    *torque = 4 * s / (9 * PI) * ((4 - 2 * s * s) * E + (2 * s * s - 5 + 3 / (s * s)) * K);
}

/* By brute force over the disc, for a pressure that falls as sqrt(1 - r^2). */
static void hertz_disc(double s, double *force, double *torque) {
    double f = 0, m = 0, n = 0;
    for (int i = 0; i < 1000; i++)
        for (int j = 0; j < 720; j++) {
            double r = (i + 0.5) / 1000, angle = (j + 0.5) * PI / 360, p = r * sqrt(1 - r * r);
            double x = s - r * sin(angle), y = r * cos(angle), size = hypot(x, y);
            n += p;
            f += p * x / size;
            m += p * r * (cos(angle) * y - sin(angle) * x) / size;
        }
    *force = f / n;
    *torque = m / n;
}

/* About `wanted` points of a triangular lattice, turned so that it fits nothing, on a disc of that radius. */
static contensou lattice_disc(int wanted, double radius, bool hertz, int *count) {
    double(*place)[2] = malloc(16 * (size_t)wanted * sizeof *place),
    *share = malloc(16 * (size_t)wanted * sizeof *share);
    double spacing = radius * sqrt(2 * PI / (sqrt(3) * wanted)), sum = 0, centre[2] = {0, 0};
    int n = 0, reach = (int)(2 * radius / spacing) + 2;
    for (int i = -reach; i <= reach; i++)
        for (int j = -reach; j <= reach; j++) {
            double u = spacing * (i + 0.5 * j + 0.21), v = spacing * (sqrt(0.75) * j + 0.13);
            double x = cos(0.3) * u - sin(0.3) * v, y = sin(0.3) * u + cos(0.3) * v, r = hypot(x, y) / radius;
            if (r >= 1) continue;
            place[n][0] = x, place[n][1] = y;
            share[n] = hertz ? sqrt(1 - r * r) : 1;
            sum += share[n++];
        }
    for (int i = 0; i < n; i++) {
        share[i] /= sum;
        for (int k = 0; k < 2; k++) centre[k] += share[i] * place[i][k];
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) place[i][k] -= centre[k];
    contensou law = contensou_make(n, share, (const double(*)[2])place);
    if (count) *count = n;
    free(place);
    free(share);
    return law;
}

/* The largest error of force and torque over the ratios of sliding to spinning, of mu N and the largest torque. */
static double worst_error(const contensou *law, double radius, bool hertz, double torque_scale) {
    double worst = 0;
    for (int i = -12; i <= 12; i++) {
        double s = pow(10, i / 6.0), force, torque, gradient[3];
        if (i == 0) s = 1.0001;
        if (hertz)
            hertz_disc(s, &force, &torque);
        else
            exact_disc(s, &force, &torque);
        contensou_potential(law, (double[3]){s * radius, 0, 1}, gradient);
        worst = fmax(worst, fabs(gradient[0] - force));
        worst = fmax(worst, fabs(gradient[2] / radius - torque) / torque_scale);
    }
    return worst;
}

static void the_exact_law_agrees_with_brute_force(void **state) {
    (void)state;
    for (int i = -4; i <= 4; i++) {
        double s = pow(3, i) * 1.01, force, torque, f = 0, m = 0;
        int n = 0;
        exact_disc(s, &force, &torque);
        for (int j = 0; j < 2000; j++)
            for (int k = 0; k < 720; k++, n++) {
                double r = sqrt((j + 0.5) / 2000), angle = (k + 0.5) * PI / 360;
                double x = s - r * sin(angle), y = r * cos(angle), size = hypot(x, y);
                f += x / size;
                m += r * (cos(angle) * y - sin(angle) * x) / size;
            }
        assert_near(f / n, force, 1e-4);
        assert_near(m / n, torque, 1e-4);
    }
}

static void uniform_and_hertz_discs_agree_to_two_percent(void **state) {
    (void)state;
    double radius = 0.006;
    for (int hertz = 0; hertz <= 1; hertz++) {
        double torque = hertz ? 3 * PI / 16 : 2.0 / 3, last = 1;
        for (int wanted = 20; wanted <= 20480; wanted *= 4) {
            int count;
            contensou law = lattice_disc(wanted, radius, hertz, &count);
            double error = worst_error(&law, radius, hertz, torque);
            print_message("%s disc of %5d points: %.2f %% off at most\n", hertz ? "Hertz's" : "uniform", count,
                          100 * error);
            if (wanted >= 80) assert_true(error <= 0.02);
            if (wanted == 80) assert_true(error < last);
            last = error;
        }
    }
}

static void random_point(random_source *random, double scale, double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = random_uniform(random, -scale, scale);
}

static void the_projection_is_the_nearest_point(void **state) {
    (void)state;
    random_source random = {5};
    double radius = 0.006;
    contensou discs[3] = {lattice_disc(40, radius, true, NULL), lattice_disc(500, radius, false, NULL)};
    discs[2] = contensou_make(2, (double[2]){0.3, 0.7}, (const double[2][2]){{0.007, 0}, {-0.003, 0}});
    for (int i = 0; i < 3000; i++) {
        const contensou *law = &discs[i % 3];
        double z[3], out[3], start[3] = {0}, bound = random_uniform(&random, 0.1, 1.1),
                             arm = law->radius * random_uniform(&random, 0.3, 2.3);
        random_point(&random, 2.0, z);
        z[2] *= law->radius;
        bool inside = contensou_project(law, bound, arm, z, start, out);
        double off[3] = {z[0] - out[0], z[1] - out[1], (z[2] - out[2]) / (arm * arm)}, size = 0;
        for (int k = 0; k < 3; k++) size += off[k] * (z[k] - out[k]);
        if (inside) assert_true(size == 0);
        /* No point c of the set, each the gradient at some motion, is further along z - P(z) than P(z). */
        double furthest = -INFINITY, at = off[0] * out[0] + off[1] * out[1] + off[2] * out[2];
        for (int k = 0; k < 40; k++) {
            double motion[3], c[3];
            random_point(&random, 1, motion);
            motion[2] /= law->radius;
            contensou_potential(law, motion, c);
            furthest = fmax(furthest, bound * (off[0] * c[0] + off[1] * c[1] + off[2] * c[2]));
            /* P(z) is in the set: the support function bounds it along every motion. */
            double phi = contensou_potential(law, motion, c);
            assert_true(motion[0] * out[0] + motion[1] * out[1] + motion[2] * out[2] <=
                        bound * phi * (1 + 1e-3) + 1e-9);
        }
        assert_true(furthest <= at + 1e-3 * sqrt(size) * bound + 1e-12);
        /* From where the last call ended, the result is the same. */
        double again[3];
        assert_int_equal(contensou_project(law, bound, arm, z, start, again), inside);
        for (int k = 0; k < 3; k++) assert_near(again[k], out[k], 1e-3 * bound * (k < 2 ? 1 : arm));
    }
}

static void a_point_alone_has_coulombs_disc(void **state) {
    (void)state;
    double start[3] = {0}, out[3], share = 1;
    contensou law = contensou_make(1, &share, (const double[1][2]){{0, 0}});
    assert_true(contensou_project(&law, 1, 1e-3, (double[3]){0.6, 0.7, 0}, start, out));
    assert_false(contensou_project(&law, 1, 1e-3, (double[3]){3, 4, 0.1}, start, out));
    assert_near(out[0], 0.6, 1e-12);
    assert_near(out[1], 0.8, 1e-12);
    assert_near(out[2], 0, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_exact_law_agrees_with_brute_force),
    cmocka_unit_test(uniform_and_hertz_discs_agree_to_two_percent),
    cmocka_unit_test(the_projection_is_the_nearest_point),
    cmocka_unit_test(a_point_alone_has_coulombs_disc),
};
TEST_MAIN(tests)
