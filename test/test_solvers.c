/* The constraint solvers on a small limited box: each keeps the limits or says that it did not, and newton is at the
 * optimum of perez2016's Eq. 1, which an independent method finds here. */
#include "allocations.h"
#include "dense_step.h"
#include "svd3_single.h"

#include "solver/baseline/baseline.h"

#define S_MIN 0.9
#define S_MAX 1.1
#define BOX_X 0.06
#define BOX_Y 0.02
#define STEP 0.01

/* A bar held at one end and bent by a load at the other, which takes its free motion far over the limits. */
static thenar_model *bar(thenar_tet_mesh *mesh, int cells, int across) {
    *mesh = tools_box(BOX_X, BOX_Y, BOX_Y, cells, across, across);
    thenar_soft_def def = thenar_soft_def_default();
    thenar_support wall = {.region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(0, 1, 1))};
    thenar_load load = {.region = tools_box_region(vec3_make(0.9 * BOX_X, -1, -1), vec3_make(1, 1, 1)),
                        .force = {1, -6, 2}};
    def.name = "bar";
    def.mesh = mesh;
    def.material.young = 0.2e6;
    def.material.stretch_min = S_MIN;
    def.material.stretch_max = S_MAX;
    def.supports = &wall;
    def.support_count = 1;
    def.loads = &load;
    def.load_count = 1;
    return tools_model(&def, -9.81);
}

static thenar_sim *sim_with(const thenar_model *model, const char *solver, int threads) {
    thenar_error error;
    thenar_sim *sim;
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .dt = STEP,
                                  .threads = threads,
                                  .solver = solver ? (thenar_solver)thenar_solver_find(solver) : THENAR_SOLVER_NEWTON,
                                  .contact = THENAR_CONTACT_OF_MODEL};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    return sim;
}

/* By how much the worst singular value is outside the limits. */
static double worst_violation(const thenar_sim *sim, const thenar_tet_mesh *mesh) {
    double *s = calloc((size_t)(3 * mesh->tet_count), sizeof *s), worst = 0;
    thenar_sim_stretches(sim, 0, s);
    for (int i = 0; i < 3 * mesh->tet_count; i++) worst = fmax(worst, fmax(s[i] - S_MAX, S_MIN - s[i]));
    free(s);
    return worst;
}

/* A bar pulled along x by twice what takes it to its limit along x: it stops there, with every solver, and where
 * nothing holds it, it does not. */
static void every_solver_stops_at_the_limits_of_fibres(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh = tools_box(BOX_X, BOX_Y, BOX_Y, 6, 2, 2);
    thenar_soft_def def = thenar_soft_def_default();
    thenar_support wall = {.region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(0, 1, 1))};
    thenar_load pull = {.region = tools_box_region(vec3_make(BOX_X, -1, -1), vec3_make(1, 1, 1)), .force = {8, 0, 0}};
    def.name = "bar";
    def.mesh = &mesh;
    def.material.young = 0.2e6;
    def.material.damping_mass = 20;
    def.supports = &wall;
    def.support_count = 1;
    def.loads = &pull;
    def.load_count = 1;
    for (int i = -1; i < solver_count; i++) {
        def.material.fibres[0] = (thenar_fibre){.direction = {1, 0, 0}, .stretch_max = i < 0 ? 0 : 1.05};
        thenar_model *model = tools_model(&def, 0);
        thenar_sim *sim = sim_with(model, i < 0 ? "newton" : solver_table[i]->name, 1);
        tools_run(sim, 60);
        double length = thenar_sim_positions(sim, 0)[3 * (mesh.node_count - 1)] / BOX_X;
        print_message("%s: %.4f\n", i < 0 ? "no limits" : solver_table[i]->name, length);
        if (i < 0)
            assert_true(length > 1.08);
        else /* those by Jacobi end a little inside */
            assert_true(length <= 1.05 + 1e-3 && length >= 1.05 - 4e-3);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
    thenar_tet_mesh_free(&mesh);
}

static void every_solver_keeps_the_limits_or_says_that_it_did_not(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 6, 2);
    for (int i = 0; i < solver_count; i++) {
        thenar_sim *sim = sim_with(model, solver_table[i]->name, 1);
        int steps_at_limits = 0, unconverged = 0;
        for (int k = 0; k < 30; k++) {
            assert_int_equal(thenar_sim_step(sim), THENAR_OK);
            const thenar_stats *stats = thenar_sim_stats(sim);
            /* 1e-9: the decompositions start from different V. What newton reports is a bound (solver.h). */
            double violation = worst_violation(sim, &mesh);
            assert_true(fmax(violation, 0) <= stats->residual + 1e-9);
            if (i > 0) assert_near(fmax(violation, 0), stats->residual, 1e-9);
            assert_true(stats->unconverged > 0 || violation <= SOLVER_TOLERANCES.violation + 1e-9);
            steps_at_limits += stats->active_constraints > 0;
            unconverged += stats->unconverged;
        }
        assert_true(steps_at_limits > 20);
        /* One linearization is not enough for pgs; the others iterate until it is. */
        if (strcmp(solver_table[i]->name, "pgs") != 0) assert_int_equal(unconverged, 0);
        thenar_sim_free(sim);
    }
    tools_free(NULL, model, &mesh);
}

/* A bounded number of iterations is reported and gives finite results; without the bound all converge again. */
static void no_solver_takes_more_iterations_than_it_may(void **unused) {
    (void)unused;
    const int bound = 3, bounded_steps = 20;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 6, 2);
    for (int i = 0; i < solver_count; i++) {
        thenar_sim *sim = sim_with(model, solver_table[i]->name, 1),
                   *free_sim = sim_with(model, solver_table[i]->name, 1);
        assert_int_equal(thenar_sim_limit_iterations(sim, -1), THENAR_ERROR_INPUT);
        assert_int_equal(thenar_sim_limit_iterations(sim, bound), THENAR_OK);
        int cut = 0, needed = 0;
        for (int k = 0; k < bounded_steps; k++) {
            uint64_t split = thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT);
            thenar_status status = thenar_sim_step(sim);
            bool whole = status == THENAR_OK && thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT) == split;
            if (whole) assert_in_range(thenar_sim_stats(sim)->iterations, 0, bound);
            cut += thenar_sim_stats(sim)->unconverged > 0;
            assert_true(isfinite(worst_violation(sim, &mesh)));
            assert_int_equal(thenar_sim_step(free_sim), THENAR_OK);
            needed = thenar_sim_stats(free_sim)->iterations > needed ? thenar_sim_stats(free_sim)->iterations : needed;
        }
        print_message("%s: %d of %d steps cut short, of up to %d iterations\n", solver_table[i]->name, cut,
                      bounded_steps, needed);
        assert_true(cut > 0 && needed > bound);
        assert_int_equal(thenar_sim_limit_iterations(sim, 0), THENAR_OK);
        tools_run(sim, 20);
        assert_true(thenar_sim_stats(sim)->unconverged == 0 || strcmp(solver_table[i]->name, "pgs") == 0);
        /* A reset simulation knows of no bound. */
        assert_int_equal(thenar_sim_limit_iterations(sim, 1), THENAR_OK);
        thenar_sim_reset(sim);
        thenar_sim_reset(free_sim);
        assert_true(thenar_sim_hash(sim) == thenar_sim_hash(free_sim));
        thenar_sim_free(free_sim);
        thenar_sim_free(sim);
    }
    tools_free(NULL, model, &mesh);
}

/* Strain limits are forces within the body, so what moves it as a whole is gravity, the load and the support. */
static void the_support_takes_what_the_limits_push_on_it(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 6, 2);
    const double *mass = thenar_model_masses(model, 0);
    for (int i = 0; i < solver_count; i++) {
        thenar_sim *sim = sim_with(model, solver_table[i]->name, 1);
        vec3 before = {0};
        for (int k = 0; k < 12; k++) {
            assert_int_equal(thenar_sim_step(sim), THENAR_OK);
            vec3 momentum = {0}, outside = {1, -6, 2};
            const double *v = thenar_sim_velocities(sim, 0);
            for (int n = 0; n < mesh.node_count; n++) {
                momentum = vec3_mul_add(momentum, vec3_load(v + 3 * n), mass[n]);
                outside.y -= 9.81 * mass[n];
            }
            double force[3], torque[3];
            thenar_sim_support_wrench(sim, 0, 0, force, torque);
            vec3 change = vec3_scale(vec3_sub(momentum, before), 1 / STEP);
            /* Rounding, beside a load of 6.5 N; newton leaves up to its stationarity of the limits' forces. */
            assert_near(vec3_distance(change, vec3_add(outside, vec3_load(force))), 0,
                        i == 0 ? SOLVER_TOLERANCES.stationarity * 6.5 : 1e-9);
            before = momentum;
        }
        thenar_sim_free(sim);
    }
    tools_free(NULL, model, &mesh);
}

static void threads_do_not_change_any_solvers_result(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 9, 3);
    for (int i = 0; i < solver_count; i++) {
        thenar_sim *one = sim_with(model, solver_table[i]->name, 1), *three = sim_with(model, solver_table[i]->name, 3);
        for (int k = 0; k < 6; k++) {
            tools_run(one, 1);
            tools_run(three, 1);
            assert_true(thenar_sim_hash(one) == thenar_sim_hash(three));
        }
        thenar_sim_free(one);
        thenar_sim_free(three);
    }
    tools_free(NULL, model, &mesh);
}

static void no_solver_allocates_in_a_step(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 6, 2);
    for (int i = 0; i < solver_count; i++) {
        thenar_sim *sim = sim_with(model, solver_table[i]->name, 2);
        long before = allocation_count;
        tools_run(sim, 10);
        assert_int_equal(allocation_count, before);
        assert_true(thenar_sim_stats(sim)->active_constraints > 0);
        thenar_sim_free(sim);
    }
    tools_free(NULL, model, &mesh);
}

/* The rows of the bar with its free nodes displaced by d. */
typedef struct row_probe {
    thenar_sim *sim;
    const body_limits *limits;
    body_step step;
    constraint_row *rows;
    int count;
} row_probe;

static void displace(row_probe *probe, const double *d) {
    probe->limits->move(probe->sim->bodies[0], &probe->step, d);
}

static void rows_have_the_gradients_of_the_singular_values(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 3, 1);
    row_probe probe = {.sim = sim_with(model, "newton", 1), .limits = &soft_limits, .step = {.h = STEP}};
    random_source random = {7};
    int components = thenar_model_dof_count(model);
    double *d = calloc((size_t)components, sizeof *d);
    for (int i = 0; i < components; i++) d[i] = random_uniform(&random, -0.006, 0.006);
    probe.rows = calloc((size_t)(3 * mesh.tet_count), sizeof *probe.rows);
    constraint_row *moved = calloc((size_t)(3 * mesh.tet_count), sizeof *moved);
    tools_run(probe.sim, 1);
    probe.limits->begin(probe.sim->bodies[0]);
    displace(&probe, d);
    probe.count = probe.limits->rows(probe.sim->bodies[0], &probe.step, 0, probe.rows);
    assert_true(probe.count > mesh.tet_count);
    const double width = 1e-7; /* m: errors of width^2 C''' and of 1e-16 / width, both far below 1e-5 of 1 / edge */
    for (int c = 0; c < components; c++) {
        double difference[2][200];
        assert_true(probe.count <= 200);
        for (int side = 0; side < 2; side++) {
            double kept = d[c];
            d[c] += side ? width : -width;
            displace(&probe, d);
            memcpy(moved, probe.rows, (size_t)probe.count * sizeof *moved);
            probe.limits->relinearize(probe.sim->bodies[0], 0, moved, probe.count);
            for (int k = 0; k < probe.count; k++) difference[side][k] = moved[k].value;
            d[c] = kept;
        }
        double unit[3] = {c % 3 == 0, c % 3 == 1, c % 3 == 2};
        for (int k = 0; k < probe.count; k++) {
            double expected = (difference[1][k] - difference[0][k]) / (2 * width), got = 0;
            for (int a = 0; a < ROW_NODES; a++)
                if (probe.rows[k].node[a] == c / 3) got += vec3_dot(probe.rows[k].gradient[a], vec3_load(unit));
            assert_near(got, expected, 1e-5 / probe.rows[k].weight);
        }
    }
    free(d);
    free(probe.rows);
    free(moved);
    tools_free(probe.sim, model, &mesh);
}

static void diagonals_and_matrix_are_those_of_the_inverse(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 6, 2);
    thenar_sim *sim = sim_with(model, "njls", 1);
    tools_run(sim, 5);
    system_state *state = &sim->systems[0];
    const system_model *system = &model->systems[0];
    body_step step = {.h = STEP};
    solver_problem problem = system_problem(state, system, &step);
    assert_true(system_factor(state, system, NULL));
    system_solve(state, system, &step);
    arena measure = {0};
    row_set set;
    rows_layout(&set, &problem, 0, &measure);
    arena carve = arena_on(memory_aligned(measure.used), measure.used);
    rows_layout(&set, &problem, 0, &carve);
    rows_begin(&set, &problem, rows_diagonal);
    rows_collect(&set, &problem);
    assert_true(set.count > 30);
    int stride = (set.count + 7) / 8 * 8, components = 3 * system->pattern.node_count;
    double *B = calloc((size_t)(stride * stride), sizeof *B), *x = calloc((size_t)components, sizeof *x);
    double *whole = calloc((size_t)set.count, sizeof *whole);
    rows_matrix(&set, &problem, B, stride);
    rows_diagonal(&set, &problem, 0, set.count);
    memcpy(whole, set.diagonal, (size_t)set.count * sizeof *whole);
    rows_diagonal_by_reach(&set, &problem, 0, set.count);
    cholesky_inverse(problem.factor, NULL);
    for (int k = 0; k < set.count; k++) {
        memset(x, 0, (size_t)components * sizeof *x);
        for (int a = 0; a < ROW_NODES; a++)
            if (set.rows[k].node[a] >= 0) vec3_store(x + 3 * set.rows[k].node[a], set.rows[k].gradient[a]);
        cholesky_solve(problem.factor, x);
        double size = row_times(&set.rows[k], x);
        for (int l = 0; l < set.count; l++) assert_near(B[l * stride + k], row_times(&set.rows[l], x), 1e-12 * size);
        assert_near(whole[k], size, 1e-12 * size);
        assert_near(set.diagonal[k], size, 1e-12 * size);
    }
    free(B);
    free(x);
    free(whole);
    free(carve.base);
    tools_free(sim, model, &mesh);
}

static void a_dense_lcp_takes_the_worst_rows_in_their_order(void **unused) {
    (void)unused;
    enum { ROWS = LCP_ROWS + 700 };
    random_source random = {3};
    int first_row[3] = {0, 1500, ROWS}, above = 0, kept_of_first = 0;
    row_set set = {.rows = calloc(ROWS, sizeof *set.rows), .count = ROWS, .first_row = first_row};
    dense_lcp lcp = {.order = calloc(ROWS, sizeof *lcp.order)};
    solver_problem problem = {.body_count = 2};
    for (int i = 0; i < ROWS; i++) {
        /* Steps of 0.001, so that there are ties at the border. */
        set.rows[i].value = -1e-3 * (1 + floor(random_uniform(&random, 0, 500)));
        set.rows[i].element = i;
    }
    constraint_row *all = memory_copy(set.rows, ROWS * sizeof *all);
    lcp_choose(&lcp, &set, &problem);
    assert_int_equal(set.count, LCP_ROWS);
    double border = -1;
    for (int k = 0; k < LCP_ROWS; k++) {
        border = fmax(border, set.rows[k].value);
        assert_true(k == 0 || set.rows[k].element > set.rows[k - 1].element);
        assert_true(set.rows[k].value == all[set.rows[k].element].value);
        kept_of_first += set.rows[k].element < 1500;
    }
    for (int i = 0; i < ROWS; i++) above += all[i].value < border;
    assert_true(above < LCP_ROWS); /* nothing worse than the border was left out: all such rows have room */
    for (int k = 0; k < LCP_ROWS; k++) above -= set.rows[k].value < border;
    assert_int_equal(above, 0);
    assert_int_equal(first_row[0], 0);
    assert_int_equal(first_row[1], kept_of_first);
    assert_int_equal(first_row[2], LCP_ROWS);
    free(all);
    free(set.rows);
    free(lcp.order);
}

/* A step of one solver from a snapshot, to tight tolerances; v and whether it converged. */
static bool solve_from(const thenar_model *model, const char *solver, const void *snapshot, size_t size,
                       solver_tolerances tolerance, double *v) {
    thenar_error error;
    thenar_sim *sim = sim_with(model, solver, 1);
    assert_ok(thenar_sim_restore(sim, snapshot, size, &error), error);
    sim->systems[0].tolerance = tolerance;
    tools_run(sim, 1);
    memcpy(v, sim->systems[0].v, (size_t)thenar_model_dof_count(model) * sizeof *v);
    bool converged = thenar_sim_stats(sim)->unconverged == 0;
    thenar_sim_free(sim);
    return converged;
}

/* The step after the snapshot. */
static dense_step dense_after(const thenar_model *model, const void *snapshot, size_t size) {
    thenar_error error;
    thenar_sim *sim = sim_with(model, "newton", 1);
    assert_ok(thenar_sim_restore(sim, snapshot, size, &error), error);
    dense_step dense = dense_from(sim);
    thenar_sim_free(sim);
    return dense;
}

#define TETS 64

/* ADMM: minimize 1/2 |v - v*|_A^2 + sum of (w / 2) |G - Z + U|^2 over v, project Z = P(G + U), add up U += G - Z. */
typedef struct admm {
    const dense_step *dense;
    mat3 Z[TETS], U[TETS];
    double weight;
} admm;

static mat3 project(mat3 F) {
    mat3 U, V;
    double s[3];
    svd3(F, &U, s, &V);
    for (int i = 0; i < 3; i++) s[i] = fmin(S_MAX, fmax(S_MIN, s[i]));
    return mat3_mul(mat3_mul(U, mat3_diagonal(s[0], s[1], s[2])), mat3_transpose(V));
}

static void admm_start(admm *state) {
    for (int t = 0; t < state->dense->mesh->tet_count; t++) {
        state->Z[t] = mat3_identity();
        state->U[t] = (mat3){{0}};
    }
}

/* A + w sum of B^T B, B = dG/dv; factored. */
static double *admm_matrix(const admm *state) {
    int n = state->dense->n;
    double *H = memory_copy(state->dense->A, (size_t)(n * n) * sizeof *H);
    for (int t = 0; t < state->dense->mesh->tet_count; t++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b < 4; b++) {
                int p = state->dense->unknown[state->dense->mesh->tets[4 * t + a]],
                    q = state->dense->unknown[state->dense->mesh->tets[4 * t + b]];
                if (p < 0 || q < 0) continue;
                double product =
                    state->weight * STEP * STEP * vec3_dot(state->dense->gradient[t][a], state->dense->gradient[t][b]);
                for (int i = 0; i < 3; i++) H[(3 * p + i) * n + 3 * q + i] += product;
            }
    dense_factor(H, n);
    return H;
}

static void admm_iterate(admm *state, const double *H, double *v) {
    int n = state->dense->n;
    double *right = memory_copy(state->dense->b, (size_t)n * sizeof *right), still[3 * TETS] = {0};
    assert_true(n <= 3 * TETS);
    for (int t = 0; t < state->dense->mesh->tet_count; t++) {
        mat3 rest = dense_deformation(state->dense, t, still); /* G is affine in v: G = rest + B v */
        for (int a = 0; a < 4; a++) {
            int unknown = state->dense->unknown[state->dense->mesh->tets[4 * t + a]];
            if (unknown < 0) continue;
            double g[3];
            vec3_store(g, state->dense->gradient[t][a]);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    int c = 3 * i + j;
                    right[3 * unknown + i] +=
                        state->weight * STEP * (state->Z[t].m[c] - state->U[t].m[c] - rest.m[c]) * g[j];
                }
        }
    }
    memcpy(v, right, (size_t)n * sizeof *v);
    dense_solve(H, n, v);
    free(right);
    for (int t = 0; t < state->dense->mesh->tet_count; t++) {
        mat3 G = dense_deformation(state->dense, t, v), F = mat3_add(G, state->U[t]);
        state->Z[t] = project(F);
        for (int c = 0; c < 9; c++) state->U[t].m[c] = F.m[c] - state->Z[t].m[c];
    }
}

/* A state of the small bar at its limits and in motion. */
static void *snapshot_in_motion(const thenar_model *model, size_t *size) {
    thenar_sim *sim = sim_with(model, "newton", 1);
    tools_run(sim, 3);
    assert_true(thenar_sim_stats(sim)->active_constraints > 8);
    *size = thenar_sim_snapshot_size(sim);
    void *bytes = malloc(*size);
    thenar_sim_snapshot(sim, bytes);
    thenar_sim_free(sim);
    return bytes;
}

static const solver_tolerances tight = {.violation = 1e-6, .stationarity = 1e-5};

static void newton_finds_the_optimum_that_an_independent_method_finds(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 6, 1);
    assert_true(mesh.tet_count <= TETS);
    size_t size;
    void *snapshot = snapshot_in_motion(model, &size);
    dense_step dense = dense_after(model, snapshot, size);
    admm *state = calloc(1, sizeof *state);
    *state = (admm){.dense = &dense};
    /* Any weight converges; this one, near the stiffness of a tet, in some thousand iterations. */
    state->weight = 10 * 0.2e6 * BOX_X * BOX_Y * BOX_Y / mesh.tet_count;
    admm_start(state);
    double *H = admm_matrix(state), *v = calloc((size_t)dense.n, sizeof *v), *w = calloc((size_t)dense.n, sizeof *w);
    double last = 0, change = 1;
    for (int i = 0; i < 20000 && change > 1e-9; i++) {
        admm_iterate(state, H, v);
        if (i % 100 != 99) continue;
        change = fabs(dense_objective(&dense, v) / last - 1);
        last = dense_objective(&dense, v);
    }
    assert_true(solve_from(model, "newton", snapshot, size, tight, w));
    print_message("objective: %.9g by ADMM, %.9g by newton\n", dense_objective(&dense, v), dense_objective(&dense, w));
    assert_true(dense_objective(&dense, v) > 0);
    assert_near(dense_objective(&dense, w) / dense_objective(&dense, v), 1, 1e-4);
    free(v);
    free(w);
    free(H);
    free(state);
    dense_free(&dense);
    free(snapshot);
    tools_free(NULL, model, &mesh);
}

static void no_solver_gets_below_newtons_objective_at_the_same_feasibility(void **unused) {
    (void)unused;
    thenar_tet_mesh mesh;
    thenar_model *model = bar(&mesh, 6, 1);
    size_t size;
    void *snapshot = snapshot_in_motion(model, &size);
    dense_step dense = dense_after(model, snapshot, size);
    double *v = calloc((size_t)dense.n, sizeof *v);
    assert_true(solve_from(model, "newton", snapshot, size, tight, v));
    double min = dense_objective(&dense, v);
    int compared = 0;
    for (int i = 1; i < solver_count; i++) {
        bool converged = solve_from(model, solver_table[i]->name, snapshot, size, tight, v);
        double ratio = dense_objective(&dense, v) / min;
        print_message("%s: %.6f of newton's objective%s\n", solver_table[i]->name, ratio,
                      converged ? "" : ", not converged");
        if (!converged) continue;
        assert_true(ratio >= 1 - 1e-6);
        compared++;
    }
    assert_true(compared >= 3);
    free(v);
    dense_free(&dense);
    free(snapshot);
    tools_free(NULL, model, &mesh);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_solver_stops_at_the_limits_of_fibres),
    cmocka_unit_test(every_solver_keeps_the_limits_or_says_that_it_did_not),
    cmocka_unit_test(no_solver_takes_more_iterations_than_it_may),
    cmocka_unit_test(the_support_takes_what_the_limits_push_on_it),
    cmocka_unit_test(threads_do_not_change_any_solvers_result),
    cmocka_unit_test(no_solver_allocates_in_a_step),
    cmocka_unit_test(rows_have_the_gradients_of_the_singular_values),
    cmocka_unit_test(diagonals_and_matrix_are_those_of_the_inverse),
    cmocka_unit_test(a_dense_lcp_takes_the_worst_rows_in_their_order),
    cmocka_unit_test(newton_finds_the_optimum_that_an_independent_method_finds),
    cmocka_unit_test(no_solver_gets_below_newtons_objective_at_the_same_feasibility),
};

TEST_MAIN(tests)
