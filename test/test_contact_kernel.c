/* The pieces that contact is made of, against brute force and finite differences. */
#include "test.h"

#include "random.h"
#include "contact/constraint.h"

static vec3 random_vector(random_source *random, double size) {
    return vec3_make(random_uniform(random, -size, size), random_uniform(random, -size, size),
                     random_uniform(random, -size, size));
}

static vec3 project(vec3 z, double mu) {
    return cone_project(z, mu, cone_state_of(z, mu));
}

static const double frictions[] = {0, 0.1, 0.6, 1, 10};
#define FRICTIONS (int)(sizeof frictions / sizeof *frictions)

static void the_projection_lies_in_the_cone_and_stays_there(void **unused) {
    (void)unused;
    random_source random = {1};
    int met[3] = {0};
    for (int k = 0; k < 20000; k++) {
        double mu = frictions[k % FRICTIONS];
        vec3 z = random_vector(&random, 2), p = project(z, mu);
        met[cone_state_of(z, mu)]++;
        assert_true(p.x >= 0 && cone_tangential(p) <= mu * p.x + 1e-14);
        assert_true(vec3_distance(project(p, mu), p) < 1e-14);
    }
    for (int i = 0; i < 3; i++) assert_true(met[i] > 1000);
}

/* The nearest point of the cone is the one for which no other point of it is on the far side: (z - p).(k - p) <= 0 for
 * all k in K; and no random point of K is nearer. */
static void the_projection_is_the_nearest_point_of_the_cone(void **unused) {
    (void)unused;
    random_source random = {2};
    for (int k = 0; k < 500; k++) {
        double mu = frictions[k % FRICTIONS];
        vec3 z = random_vector(&random, 2), p = project(z, mu), off = vec3_sub(z, p);
        for (int i = 0; i < 400; i++) {
            double n = random_uniform(&random, 0, 6), angle = random_uniform(&random, 0, 6.3);
            double t = i % 2 ? mu * n : random_uniform(&random, 0, mu * n);
            vec3 other = {n, t * cos(angle), t * sin(angle)};
            assert_true(vec3_distance(z, other) >= vec3_length(off) - 1e-12);
            assert_true(vec3_dot(off, vec3_sub(other, p)) <= 1e-12);
        }
    }
}

static void the_derivative_of_the_projection_is_that_of_finite_differences(void **unused) {
    (void)unused;
    random_source random = {3};
    int met[3] = {0};
    const double e = 1e-6;
    for (int k = 0; k < 20000; k++) {
        double mu = frictions[k % FRICTIONS];
        vec3 z = random_vector(&random, 2);
        cone_state state = cone_state_of(z, mu);
        mat3 D = cone_derivative(z, mu, state);
        vec3 direction = vec3_unit(random_vector(&random, 1));
        vec3 ahead = vec3_mul_add(z, direction, e), behind = vec3_mul_add(z, direction, -e);
        if (cone_state_of(ahead, mu) != state || cone_state_of(behind, mu) != state || cone_tangential(z) < 0.05)
            continue;
        met[state]++;
        vec3 expected = vec3_scale(vec3_sub(project(ahead, mu), project(behind, mu)), 1 / (2 * e));
        assert_true(vec3_distance(mat3_mul_vec(D, direction), expected) < 1e-7);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < i; j++) assert_near(D.m[3 * i + j], D.m[3 * j + i], 1e-15);
        assert_true(vec3_dot(direction, mat3_mul_vec(D, direction)) >= -1e-14);
    }
    for (int i = 0; i < 3; i++) assert_true(met[i] > 1000);
}

static void nothing_sticks_without_friction(void **unused) {
    (void)unused;
    vec3 z = {2, 1, -1}, p = project(z, 0);
    assert_near(p.x, 2, 0);
    assert_near(cone_tangential(p), 0, 0);
    assert_int_equal(cone_state_of(vec3_make(2, 0, 0), 0), CONE_SLIP);
    assert_int_equal(cone_state_of(vec3_make(-2, 0.1, 0), 0), CONE_OPEN);
}

static void the_frame_is_right_handed_for_every_normal(void **unused) {
    (void)unused;
    random_source random = {4};
    for (int k = 0; k < 3000; k++) {
        vec3 n = random_vector(&random, 1);
        /* Axes, and normals that are nearly axes, on both sides of where the sign changes. */
        if (k < 600) {
            double tiny = k % 5 == 0 ? 0 : pow(10, -3 * (k % 5));
            n = vec3_scale(n, tiny);
            double sign = k & 1 ? 1 : -1;
            if (k % 3 == 0) n.x += sign;
            if (k % 3 == 1) n.y += sign;
            if (k % 3 == 2) n.z += sign;
        }
        n = vec3_unit(n);
        mat3 F = contact_frame(n);
        vec3 t1 = mat3_row(F, 1), t2 = mat3_row(F, 2);
        assert_true(vec3_distance(mat3_row(F, 0), n) == 0);
        assert_near(vec3_length(t1), 1, 1e-14);
        assert_near(vec3_length(t2), 1, 1e-14);
        assert_near(vec3_dot(n, t1), 0, 1e-14);
        assert_near(vec3_dot(n, t2), 0, 1e-14);
        assert_true(vec3_distance(vec3_cross(n, t1), t2) < 1e-14);
    }
}

/* ---- gradient and Hessian of the contacts' term ---- */

#define NODES 8
#define SIZE (3 * NODES)

/* All nodes coupled. */
static block_pattern full_pattern(void) {
    thenar_error error;
    int start[2] = {0, NODES}, nodes[NODES];
    for (int i = 0; i < NODES; i++) nodes[i] = i;
    block_pattern pattern;
    assert_ok(block_pattern_create(NODES, 1, start, nodes, &pattern, &error), error);
    return pattern;
}

typedef enum leg_kind { SOFT_ALONE, INTERPOLATED, SOFT_ON_RIGID, RIGID_ON_RIGID, INTERPOLATED_ON_RIGID } leg_kind;
#define LEG_KINDS 5

/* A contact of random place and state; its legs stand by ascending node, as contact_make leaves them. */
static contact random_contact(random_source *random, leg_kind kind, double mu, const block_pattern *pattern) {
    contact c = {.mu = mu,
                 .share = 1,
                 .frame = contact_frame(vec3_unit(random_vector(random, 1))),
                 .start = random_vector(random, 1),
                 .rho = random_uniform(random, 0.5, 5),
                 .max = INFINITY,
                 .lambda = random_vector(random, 1),
                 .shift = random_uniform(random, 0, 0.5)};
    double weights[4] = {0.4, 0.3, 0.2, 0.1};
    int soft = kind == SOFT_ALONE || kind == SOFT_ON_RIGID ? 1 : kind == RIGID_ON_RIGID ? 0 : 4;
    if (soft == 1) weights[0] = 1;
    for (int k = 0; k < soft; k++) c.legs[c.leg_count++] = (contact_leg){.node = k, .weight = weights[k]};
    for (int side = 0; side < 2; side++) {
        bool of_skin = side == 0;
        if (of_skin ? kind != RIGID_ON_RIGID : kind < SOFT_ON_RIGID) continue;
        double weight = of_skin ? 1 : -1;
        c.legs[c.leg_count++] = (contact_leg){.node = 4 + 2 * side, .weight = weight};
        c.legs[c.leg_count++] =
            (contact_leg){.node = 5 + 2 * side, .weight = weight, .turns = true, .arm = random_vector(random, 1)};
    }
    assert_true(contact_bind(&c, pattern));
    return c;
}

static double energy_at(contact *c, const double *d) {
    contact_evaluate(c, 1, d);
    return contact_energy(c, 1);
}

static void gradient_at(contact *c, const double *d, double *gradient) {
    memset(gradient, 0, SIZE * sizeof *gradient);
    contact_evaluate(c, 1, d);
    contact_add_gradient(c, 1, 1, gradient);
}

static void gradient_and_hessian_are_those_of_finite_differences(void **unused) {
    (void)unused;
    random_source random = {5};
    block_pattern pattern = full_pattern();
    double *blocks = calloc(9 * (size_t)pattern.block_count, sizeof *blocks), worst_gradient = 0, worst_hessian = 0;
    int met[3][LEG_KINDS] = {{0}};
    const double e = 1e-6;
    for (int k = 0; k < 3000; k++) {
        leg_kind kind = (leg_kind)(k % LEG_KINDS);
        contact c = random_contact(&random, kind, frictions[k / LEG_KINDS % FRICTIONS], &pattern);
        double d[SIZE], along[SIZE], at[SIZE], gradient[SIZE], ahead[SIZE], behind[SIZE], product[SIZE];
        for (int i = 0; i < SIZE; i++) d[i] = random_uniform(&random, -0.5, 0.5);
        for (int i = 0; i < SIZE; i++) along[i] = random_uniform(&random, -1, 1);
        gradient_at(&c, d, gradient);
        cone_state state = c.state;
        if (cone_tangential(c.z) < 0.1) continue;
        memset(blocks, 0, 9 * (size_t)pattern.block_count * sizeof *blocks);
        contact_add_hessian(&c, 1, 1, blocks);
        block_pattern_multiply(&pattern, blocks, along, product);
        for (int i = 0; i < SIZE; i++) at[i] = d[i] + e * along[i];
        gradient_at(&c, at, ahead);
        bool same = c.state == state;
        double energy = energy_at(&c, at);
        for (int i = 0; i < SIZE; i++) at[i] = d[i] - e * along[i];
        gradient_at(&c, at, behind);
        if (!same || c.state != state) continue;
        double slope = 0, expected = (energy - energy_at(&c, at)) / (2 * e);
        for (int i = 0; i < SIZE; i++) slope += gradient[i] * along[i];
        worst_gradient = fmax(worst_gradient, fabs(slope - expected));
        for (int i = 0; i < SIZE; i++)
            worst_hessian = fmax(worst_hessian, fabs(product[i] - (ahead[i] - behind[i]) / (2 * e)));
        met[state][kind]++;
    }
    print_message("  gradient off by %.1e, Hessian by %.1e\n", worst_gradient, worst_hessian);
    assert_true(worst_gradient < 1e-7 && worst_hessian < 1e-6);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < LEG_KINDS; j++) assert_true(met[i][j] > 20);
    free(blocks);
    block_pattern_free(&pattern);
}

/* Newton's third law: what the skin's side gets, the other side gives, torque about the point included. */
static void the_legs_of_both_sides_get_opposite_forces(void **unused) {
    (void)unused;
    random_source random = {6};
    block_pattern pattern = full_pattern();
    for (int k = 0; k < 300; k++) {
        contact c = random_contact(&random, k % 2 ? SOFT_ON_RIGID : RIGID_ON_RIGID, 0.5, &pattern);
        double d[SIZE] = {0}, gradient[SIZE];
        c.start.x = -2;
        gradient_at(&c, d, gradient);
        vec3 sum = {0};
        for (int i = 0; i < NODES; i++)
            if (i < 5 || i == 6) sum = vec3_add(sum, vec3_load(gradient + 3 * i));
        assert_true(vec3_length(sum) < 1e-13);
    }
    block_pattern_free(&pattern);
}

/* A point mass m that is pressed on a plane by g and pulled along it by f: lambda and u that the multipliers' steps
 * come to are Coulomb's: it sticks for f < mu m g, else it slips against mu m g, and is not lifted. */
static void multipliers_steps_come_to_coulombs_law(void **unused) {
    (void)unused;
    block_pattern pattern = full_pattern();
    const double m = 2, h = 0.01, g = 9.81;
    for (int k = 0; k <= 40; k++) {
        double mu = 0.5, pull = m * g * mu * k / 20.0;
        contact c = {
            .mu = mu, .share = 1, .frame = contact_frame(vec3_make(0, 1, 0)), .rho = 3 * m / (h * h), .max = INFINITY};
        c.legs[c.leg_count++] = (contact_leg){.node = 0, .weight = 1};
        assert_true(contact_bind(&c, &pattern));
        double d[SIZE] = {0};
        vec3 outside = {pull, -m * g, 0};
        for (int update = 0; update < 60; update++) {
            contact_evaluate(&c, 1, d);
            for (int newton = 0; newton < 30; newton++) {
                /* (m / h^2 + rho D) step = outside + P - m d / h^2 */
                vec3 at = vec3_load(d);
                vec3 force = vec3_add(outside, mat3_mul_vec_transposed(c.frame, c.force));
                vec3 left = vec3_mul_add(force, at, -m / (h * h));
                mat3 D = mat3_mul(mat3_transpose(c.frame), mat3_mul(cone_derivative(c.z, mu, c.state), c.frame));
                mat3 H = mat3_add(mat3_scale(D, c.rho), mat3_diagonal(m / (h * h), m / (h * h), m / (h * h)));
                vec3_store(d, vec3_add(at, mat3_mul_vec(mat3_inverse(H), left)));
                contact_evaluate(&c, 1, d);
                if (vec3_length(left) < 1e-12) break;
            }
            contact_update(&c, 1);
        }
        double slip = k <= 20 ? 0 : h * h * (pull - mu * m * g) / m;
        assert_near(d[0], slip, 1e-9);
        assert_near(d[1], 0, 1e-9);
        assert_near(c.lambda.x, m * g, 1e-6);
        assert_near(cone_tangential(c.lambda), fmin(pull, mu * m * g), 1e-6);
    }
    block_pattern_free(&pattern);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_projection_lies_in_the_cone_and_stays_there),
    cmocka_unit_test(the_projection_is_the_nearest_point_of_the_cone),
    cmocka_unit_test(the_derivative_of_the_projection_is_that_of_finite_differences),
    cmocka_unit_test(nothing_sticks_without_friction),
    cmocka_unit_test(the_frame_is_right_handed_for_every_normal),
    cmocka_unit_test(gradient_and_hessian_are_those_of_finite_differences),
    cmocka_unit_test(the_legs_of_both_sides_get_opposite_forces),
    cmocka_unit_test(multipliers_steps_come_to_coulombs_law),
};

TEST_MAIN(tests)
