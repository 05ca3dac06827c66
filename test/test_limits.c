/* Strain limits and the default solver. */
#include "soft_tools.h"

#include "body/soft.h"
#include "world/sim.h"
#include "poses.h"

/* Three fibres across each other, with limits 0.95..1.05. */
static soft_fibres three_fibres(void) {
    const double e[SOFT_FIBRES][3] = {{1, 0, 0}, {0, 0.6, 0.8}, {0.48, -0.6, 0.64}};
    soft_fibres fibres;
    for (int k = 0; k < SOFT_FIBRES; k++) {
        for (int i = 0; i < 3; i++) fibres.direction[k][i] = f64x8_set(e[k][i]);
        fibres.min[k] = f64x8_set(0.95);
        fibres.max[k] = f64x8_set(1.05);
    }
    return fibres;
}

/* A unit tet in every lane, moved at random; limits 0.9..1.1. */
static soft_batch one_batch(void) {
    soft_batch batch = {.tet_count = SIMD_LANES, .limited = true};
    for (int i = 0; i < 9; i++) batch.gradient[i] = f64x8_set(i % 4 == 0);
    batch.stiffness = f64x8_set(2.5);
    batch.s_min = f64x8_set(0.9);
    batch.s_max = f64x8_set(1.1);
    for (int a = 0; a < 4; a++)
        for (int l = 0; l < SIMD_LANES; l++) batch.node[a][l] = 4 * l + a;
    return batch;
}

static void cold_start(f64x8 V[9]) {
    for (int i = 0; i < 9; i++) V[i] = f64x8_set(i % 4 == 0);
}

/* The sum over the lanes is the sum of eight independent energies, so one difference per node component will do. */
static double energy_at(const soft_batch *batch, const double *x, const f64x8 *Y) {
    soft_limit_point point = {0};
    cold_start(point.V);
    soft_limit_decompose(batch, x, Y, &point);
    return soft_limit_energy(batch, &point);
}

static void gradient_at(const soft_batch *batch, const double *x, const f64x8 *Y, double *records) {
    soft_limit_point point = {0};
    cold_start(point.V);
    soft_limit_decompose(batch, x, Y, &point);
    soft_limit_blocks(batch, &point, 1, true, records);
}

static void random_positions(random_source *random, double *x, double size) {
    static const double rest[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int i = 0; i < 12 * SIMD_LANES; i++) x[i] = rest[i % 12] + random_uniform(random, -size, size);
}

static void the_limits_gradient_is_that_of_their_energy(void **unused) {
    (void)unused;
    random_source random = {11};
    soft_batch batch = one_batch();
    soft_fibres fibres = three_fibres();
    double x[12 * SIMD_LANES], records[SIMD_LANES * SOFT_RECORD];
    for (int trial = 0; trial < 20; trial++) {
        f64x8 Y[SOFT_MULTIPLIERS];
        batch.fibres = trial % 2 ? &fibres : NULL;
        for (int i = 0; i < SOFT_MULTIPLIERS; i++)
            for (int l = 0; l < SIMD_LANES; l++) Y[i][l] = random_uniform(&random, -0.1, 0.1);
        random_positions(&random, x, trial < 10 ? 0.2 : 1);
        gradient_at(&batch, x, Y, records);
        for (int c = 0; c < 12 * SIMD_LANES; c++) {
            const double step = 1e-6;
            double kept = x[c];
            x[c] = kept + step;
            double up = energy_at(&batch, x, Y);
            x[c] = kept - step;
            double down = energy_at(&batch, x, Y);
            x[c] = kept;
            /* Records hold minus the gradient. Central difference of a function with curvature about 2.5 whose third
             * derivative is bounded by the curvature of the limits: 1e-6 is rounding of energies of about 10. */
            double gradient = -records[c / 12 * SOFT_RECORD + SOFT_RECORD_FORCE + c % 12];
            assert_near(gradient, (up - down) / (2 * step), 1e-6);
        }
    }
}

/* Where no singular value is at a kink of the clamp, the Hessian is the derivative of the gradient, up to the negative
 * curvature that is dropped: then it is larger, never smaller. */
static void the_limits_hessian_is_the_derivative_of_their_gradient(void **unused) {
    (void)unused;
    random_source random = {12};
    soft_batch batch = one_batch();
    double x[12 * SIMD_LANES], records[SIMD_LANES * SOFT_RECORD], shifted[SIMD_LANES * SOFT_RECORD];
    f64x8 Y[SOFT_MULTIPLIERS];
    soft_fibres fibres = three_fibres();
    for (int i = 0; i < SOFT_MULTIPLIERS; i++) Y[i] = f64x8_set(0);
    for (int trial = 0; trial < 50; trial++) {
        batch.fibres = trial % 2 ? &fibres : NULL;
        random_positions(&random, x, 0.1);
        /* All stretched well beyond the limit: outward curvature only, nothing is dropped. */
        for (int i = 0; i < 12 * SIMD_LANES; i++) x[i] *= 1.6;
        gradient_at(&batch, x, Y, records);
        for (int c = 0; c < 12; c++) { /* the same component of all lanes at once: lanes do not see each other */
            const double step = 1e-6;
            for (int l = 0; l < SIMD_LANES; l++) x[12 * l + c] += step;
            gradient_at(&batch, x, Y, shifted);
            for (int l = 0; l < SIMD_LANES; l++) x[12 * l + c] -= step;
            for (int l = 0; l < SIMD_LANES; l++)
                for (int r = 0; r < 12; r++) {
                    int a = r / 3, b = c / 3, i = r % 3, j = c % 3;
                    const double *record = records + l * SOFT_RECORD;
                    double entry = a >= b ? record[9 * (a * (a + 1) / 2 + b) + 3 * i + j]
                                          : record[9 * (b * (b + 1) / 2 + a) + 3 * j + i];
                    int at = l * SOFT_RECORD + SOFT_RECORD_FORCE + r;
                    /* Forward difference: error step times the third derivative, about 1e-5. */
                    assert_near(entry, -(shifted[at] - records[at]) / step, 1e-4);
                }
        }
    }
}

static thenar_soft_def limited_def(const thenar_tet_mesh *mesh, const thenar_support *clamp) {
    thenar_soft_def def = thenar_soft_def_default();
    def.name = "beam";
    def.mesh = mesh;
    def.material = (thenar_material){.young = 0.2e6,
                                     .poisson = 0.4,
                                     .density = 1000,
                                     .damping_stiffness = 0.01,
                                     .stretch_min = 0.9,
                                     .stretch_max = 1.1};
    def.supports = clamp;
    def.support_count = clamp ? 1 : 0;
    return def;
}

static const thenar_support beam_clamp = {.region = {.kind = THENAR_REGION_BOX, .box_max = {0, 0.2, 0.2}}};

static double largest_violation(const thenar_sim *sim, int tets) {
    double *stretches = malloc(3 * (size_t)tets * sizeof *stretches), max = 0;
    thenar_sim_stretches(sim, 0, stretches);
    for (int i = 0; i < 3 * tets; i++) max = fmax(max, fmax(stretches[i] - 1.1, 0.9 - stretches[i]));
    free(stretches);
    return max;
}

static void no_limit_is_violated_by_more_than_the_tolerance(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_soft_def def = limited_def(&mesh, &beam_clamp);
    const double strength[] = {-9.81, -50, -300};
    for (int k = 0; k < 3; k++) {
        thenar_model *model = tools_model(&def, strength[k]);
        for (int dt = 0; dt < 2; dt++) {
            thenar_sim *sim = tools_sim(model, dt ? 1e-3 : 1e-2, 1);
            int max = 0;
            for (int i = 0; i < 200; i++) {
                tools_run(sim, 1);
                assert_true(largest_violation(sim, mesh.tet_count) <= SOLVER_TOLERANCES.violation * (1 + 1e-9));
                if (thenar_sim_stats(sim)->active_constraints > max) max = thenar_sim_stats(sim)->active_constraints;
            }
            print_message("gravity %g, dt %g: up to %d of 600 limits active, %d steps not converged\n", strength[k],
                          thenar_sim_dt(sim), max, (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED));
            assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED), 0);
            thenar_sim_free(sim);
        }
        thenar_model_free(model);
    }
    thenar_tet_mesh_free(&mesh);
}

/* Tip height of a beam at rest, with E and limits, under gravity times `load`. */
static double tip_at_rest(double young, bool limits, double load) {
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_soft_def def = limited_def(&mesh, &beam_clamp);
    def.material.young = young;
    def.material.damping_mass = 5;
    if (!limits) def.material.stretch_min = def.material.stretch_max = 0;
    thenar_model *model = tools_model(&def, -9.81 * load);
    thenar_sim *sim = tools_sim(model, 0.02, 1);
    tools_run(sim, 600);
    double tip = thenar_sim_positions(sim, 0)[3 * (mesh.node_count - 1) + 1] - 0.2;
    tools_free(sim, model, &mesh);
    return tip;
}

/* perez2013, Fig. 2 in kind: soft under small loads, near the stiff beam under large ones. */
static void a_limited_beam_is_soft_at_first_and_then_stiff(void **unused) {
    (void)unused;
    double soft_small = tip_at_rest(0.2e6, false, 0.02), limited_small = tip_at_rest(0.2e6, true, 0.02);
    assert_near(limited_small, soft_small, 1e-9);
    double soft = tip_at_rest(0.2e6, false, 1), stiff = tip_at_rest(2e6, false, 1),
           limited = tip_at_rest(0.2e6, true, 1);
    print_message("tip under its weight: soft %.3f, limited %.3f, stiff %.3f m\n", soft, limited, stiff);
    assert_true(soft < limited - 0.2 && limited < stiff);
}

/* A bar pulled along x with a limit along x only: it stops there, and stays free to thin across. */
static void a_fibre_limits_the_stretch_along_its_own_direction_only(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_load pull = {.region = {.kind = THENAR_REGION_BOX, .box_min = {1, 0, 0}, .box_max = {1, 0.2, 0.2}},
                        .force = {2000, 0, 0}};
    thenar_soft_def def = limited_def(&mesh, &beam_clamp);
    def.material.stretch_min = def.material.stretch_max = 0;
    def.material.damping_mass = 20;
    def.loads = &pull;
    def.load_count = 1;
    double end[3], width[3];
    for (int k = 0; k < 3; k++) { /* no limit; along x; along y */
        def.material.fibres[0] = (thenar_fibre){.direction = {k == 1, k == 2, 0}, .stretch_max = k ? 1.05 : 0};
        thenar_model *model = tools_model(&def, 0);
        thenar_sim *sim = tools_sim(model, 0.02, 1);
        tools_run(sim, 600);
        const double *x = thenar_sim_positions(sim, 0);
        int middle = 0; /* a node halfway along, at y = 0; the one above it at y = 0.2 */
        for (int i = 0; i < mesh.node_count; i++)
            if (fabs(mesh.positions[3 * i] - 0.5) < 1e-9 && mesh.positions[3 * i + 1] == 0 &&
                mesh.positions[3 * i + 2] == 0)
                middle = i;
        int above = middle;
        for (int i = 0; i < mesh.node_count; i++)
            if (fabs(mesh.positions[3 * i] - 0.5) < 1e-9 && mesh.positions[3 * i + 1] > 0.2 - 1e-9 &&
                mesh.positions[3 * i + 2] == 0)
                above = i;
        end[k] = x[3 * (mesh.node_count - 1)];
        width[k] = x[3 * above + 1] - x[3 * middle + 1];
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
    print_message("length %.3f free, %.3f limited along, %.3f limited across; width %.4f, %.4f, %.4f m\n", end[0],
                  end[1], end[2], width[0], width[1], width[2]);
    /* F / (E A) = 0.25 of stretch without a limit; 1.05 with it, everywhere. */
    assert_true(end[0] > 1.2);
    assert_near(end[1], 1.05, 2e-3);
    assert_near(end[2], end[0], 1e-6);
    assert_true(width[1] < 0.2 && width[1] > width[0]);
    thenar_tet_mesh_free(&mesh);
}

static void a_clamp_carries_the_weight_of_a_limited_beam(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_soft_def def = limited_def(&mesh, &beam_clamp);
    def.material.damping_mass = 5;
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.02, 1);
    tools_run(sim, 1000);
    double force[3], torque[3];
    thenar_sim_support_wrench(sim, 0, 0, force, torque);
    assert_true(thenar_sim_stats(sim)->active_constraints > 10);
    /* 40 kg; the solver is content with a gradient of 2 % of what the limits do, which is what may be missing here. */
    assert_near(force[1], 40 * 9.81, 0.02 * 40 * 9.81);
    tools_free(sim, model, &mesh);
}

/* The limits never add energy: a free body thrown out of shape comes to rest, and no step has more energy than the one
 * before by more than what the tolerances leave. */
static void limits_do_not_pump_energy(void **unused) {
    (void)unused;
    random_source random = {13};
    thenar_tet_mesh mesh = tools_box(0.4, 0.2, 0.2, 4, 2, 2);
    thenar_soft_def def = limited_def(&mesh, NULL);
    thenar_model *model = tools_model(&def, 0);
    thenar_sim *sim = tools_sim(model, 5e-3, 1);
    double *v = malloc(3 * (size_t)mesh.node_count * sizeof *v);
    for (int i = 0; i < 3 * mesh.node_count; i++) v[i] = random_uniform(&random, -3, 3);
    thenar_sim_set_state(sim, 0, NULL, v);
    double kinetic, elastic, first = 0, before = 0;
    for (int i = 0; i <= 400; i++) {
        thenar_sim_energy(sim, 0, &kinetic, &elastic, NULL);
        if (i == 0) first = before = kinetic + elastic;
        assert_true(kinetic + elastic <= before + 1e-3 * first);
        before = kinetic + elastic;
        tools_run(sim, 1);
    }
    print_message("energy %.4g J at first, kinetic %.4g and elastic %.4g J after 2 s\n", first, kinetic, elastic);
    /* What is left is rigid motion, which nothing damps, and the little stretch that goes with its spin. */
    assert_true(elastic < 1e-3 * first);
    free(v);
    tools_free(sim, model, &mesh);
}

static void pulling_and_teleporting_break_nothing(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_soft_def def = limited_def(&mesh, &beam_clamp);
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    const double strong[3] = {0, -1e4, 3e3}, none[3] = {0, 0, 0}, jump[3] = {0.1, 0.1, 0}, turn[3] = {0, 0, 0};
    thenar_sim_apply_force(sim, 0, mesh.node_count - 1, strong);
    for (int i = 0; i < 50; i++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    drive_support(sim, 0, 0, jump, turn);
    for (int i = 0; i < 50; i++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    thenar_sim_apply_force(sim, 0, mesh.node_count - 1, none);
    tools_run(sim, 500);
    for (int i = 0; i < 3 * mesh.node_count; i++) assert_true(fabs(thenar_sim_positions(sim, 0)[i]) < 3);
    assert_true(largest_violation(sim, mesh.tet_count) <= SOLVER_TOLERANCES.violation * (1 + 1e-9));
    assert_int_equal(thenar_sim_stats(sim)->inverted_tets, 0);
    tools_free(sim, model, &mesh);
}

static void a_snapshot_at_the_limits_continues_bit_for_bit(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 10, 2, 2);
    thenar_soft_def def = limited_def(&mesh, &beam_clamp);
    thenar_model *model = tools_model(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1), *other = tools_sim(model, 0.01, 2);
    tools_run(sim, 60);
    assert_true(thenar_sim_stats(sim)->active_constraints > 10);
    char *bytes = malloc(thenar_sim_snapshot_size(sim));
    thenar_sim_snapshot(sim, bytes);
    tools_run(other, 7);
    assert_ok(thenar_sim_restore(other, bytes, thenar_sim_snapshot_size(sim), &error), error);
    for (int i = 0; i < 60; i++) {
        tools_run(sim, 1);
        tools_run(other, 1);
        assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
    }
    free(bytes);
    thenar_sim_free(other);
    tools_free(sim, model, &mesh);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_limits_gradient_is_that_of_their_energy),
    cmocka_unit_test(the_limits_hessian_is_the_derivative_of_their_gradient),
    cmocka_unit_test(no_limit_is_violated_by_more_than_the_tolerance),
    cmocka_unit_test(a_limited_beam_is_soft_at_first_and_then_stiff),
    cmocka_unit_test(a_fibre_limits_the_stretch_along_its_own_direction_only),
    cmocka_unit_test(a_clamp_carries_the_weight_of_a_limited_beam),
    cmocka_unit_test(limits_do_not_pump_energy),
    cmocka_unit_test(pulling_and_teleporting_break_nothing),
    cmocka_unit_test(a_snapshot_at_the_limits_continues_bit_for_bit),
};

TEST_MAIN(tests)
