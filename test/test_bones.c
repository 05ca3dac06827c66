/* Bones and flesh in one system: dependent nodes against dense matrices, and hands whose bones are coupled with their
 * flesh against the laws of motion and against the split solve, which has the same equilibrium. */
#include "box_mesh.h"
#include "hand_world.h"
#include "random.h"
#include "test.h"

#include "sparse/reduction.h"
#include "world/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Dependent nodes ---- */

#define NODES 9 /* six of a chain, of which three depend on the last three */

typedef struct reduced_problem {
    block_pattern pattern;
    double *blocks;
    reduction_model model;
    reduction state;
    void *memory;
    double T[3 * NODES][3 * NODES]; /* dense */
} reduced_problem;

/* In place: the state points to the model. */
static void make_problem(reduced_problem *p, uint64_t seed) {
    *p = (reduced_problem){0};
    thenar_error error;
    const int groups[] = {0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 5, 0, 6, 6, 7, 8}, starts[] = {0, 3, 6, 9, 12, 15, 18};
    assert_ok(block_pattern_create(NODES, 6, starts, groups, &p->pattern, &error), error);
    p->blocks = random_matrix(&p->pattern, seed);
    reduction_node *nodes = calloc(3, sizeof *nodes);
    nodes[0] = (reduction_node){1, {6, 7, 8, -1}};
    nodes[1] = (reduction_node){2, {6, 7, -1, -1}};
    nodes[2] = (reduction_node){4, {8, -1, -1, -1}};
    assert_ok(reduction_model_create(&p->pattern, nodes, 3, &p->model, &error), error);
    arena measure = {0};
    reduction_layout(&p->state, &p->model, &measure);
    p->memory = aligned_alloc(64, (measure.used + 63) / 64 * 64);
    arena memory = arena_on(p->memory, measure.used);
    reduction_layout(&p->state, &p->model, &memory);
    random_source source = {seed};
    for (int i = 0; i < 3 * NODES; i++) p->T[i][i] = p->model.index[i / 3] < 0;
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < REDUCTION_CARRIERS && p->model.nodes[k].carrier[c] >= 0; c++)
            for (int e = 0; e < 9; e++) {
                double value = random_uniform(&source, -1, 1);
                p->state.J[k][c].m[e] = value;
                p->T[3 * p->model.nodes[k].node + e / 3][3 * p->model.nodes[k].carrier[c] + e % 3] = value;
            }
}

static void free_problem(reduced_problem *p) {
    block_pattern_free(&p->pattern);
    reduction_model_free(&p->model);
    free(p->blocks);
    free(p->memory);
}

static void dense_of(const block_pattern *pattern, const double *blocks, double A[3 * NODES][3 * NODES]) {
    memset(A, 0, sizeof(double[3 * NODES][3 * NODES]));
    for (int j = 0; j < pattern->node_count; j++)
        for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1]; k++)
            for (int e = 0; e < 9; e++) {
                int row = 3 * pattern->row[k] + e / 3, column = 3 * j + e % 3;
                A[row][column] = blocks[9 * k + e];
                A[column][row] = blocks[9 * k + e];
            }
}

static void the_reduced_matrix_is_that_of_dense_products(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed < 20; seed++) {
        reduced_problem p;
        make_problem(&p, seed);
        double A[3 * NODES][3 * NODES], B[3 * NODES][3 * NODES], worst = 0;
        dense_of(&p.pattern, p.blocks, A);
        reduction_matrix(&p.state, p.blocks, NULL);
        dense_of(&p.model.pattern, p.state.blocks, B);
        for (int i = 0; i < 3 * NODES; i++)
            for (int j = 0; j < 3 * NODES; j++) {
                double expected = i == j && p.model.index[i / 3] >= 0;
                for (int a = 0; a < 3 * NODES; a++)
                    for (int b = 0; b < 3 * NODES; b++) expected += p.T[a][i] * A[a][b] * p.T[b][j];
                worst = fmax(worst, fabs(expected - B[i][j]));
            }
        assert_true(worst < 1e-11 * fabs(A[0][0])); /* rounding of products of up to 36 terms */
        free_problem(&p);
    }
}

static void folding_is_the_transpose_of_expanding(void **unused) {
    (void)unused;
    reduced_problem p;
    make_problem(&p, 3);
    random_source source = {8};
    double y[3 * NODES], f[3 * NODES], x[3 * NODES], work = 0, folded = 0;
    for (int i = 0; i < 3 * NODES; i++) {
        y[i] = p.model.index[i / 3] < 0 ? random_uniform(&source, -1, 1) : 0;
        f[i] = random_uniform(&source, -1, 1);
    }
    memcpy(x, y, sizeof x);
    reduction_expand(&p.state, x);
    for (int i = 0; i < 3 * NODES; i++) work += f[i] * x[i];
    reduction_fold(&p.state, f);
    for (int i = 0; i < 3 * NODES; i++) folded += f[i] * y[i];
    assert_near(folded, work, 1e-14);
    for (int k = 0; k < 3; k++) assert_near(f[3 * p.model.nodes[k].node], 0, 0);
    free_problem(&p);
}

/* ---- Coupled hands ---- */

static thenar_model *model_of(thenar_hand_def *def, thenar_bones bones) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    world.bones = bones;
    thenar_build *build = thenar_build_create(&world);
    assert_ok(thenar_build_add_hand(build, def, &error), error);
    return hand_world_compile(build);
}

static void run_for(thenar_sim *sim, double time) {
    for (int i = 0; i < lround(time / thenar_sim_dt(sim)); i++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
}

/* Momentum of flesh and bones, kg m/s. */
static vec3 momentum_of(const thenar_sim *sim) {
    vec3 sum = {0};
    const skeleton_state *bones = &sim->hands[0].skeleton;
    for (int k = 0; k < sim->model->hands[0]->flesh_count; k++) {
        const soft_state *soft = sim_soft(sim, sim->model->hands[0]->flesh[k].body);
        for (int i = 0; i < soft_of(soft)->mesh.node_count; i++)
            sum = vec3_mul_add(sum, vec3_load(soft->v + 3 * i), soft_of(soft)->mass[i]);
    }
    for (int b = 0; b < HAND_BONES; b++)
        sum = vec3_mul_add(sum, bones->motion[b].velocity, bones->model->bones[b].mass);
    return sum;
}

/* Newton's second law for the whole hand, within one step: what presses the fingertip reaches the tracker at once. */
static void a_press_on_the_fingertip_and_the_pull_of_the_tracker_change_the_momentum(void **unused) {
    (void)unused;
    for (int phalanges = 0; phalanges < 2; phalanges++)
        for (int k = 0; k < 2; k++) {
            thenar_hand_def def = hand_world_def();
            double h = k ? 0.001 : 0.01, worst = 0, largest = 0;
            def.phalanges = phalanges; /* flesh whose nodes depend on bones, rather than springs */
            def.material.young = k ? 6e5 : 6e4;
            thenar_model *model = model_of(&def, THENAR_BONES_COUPLED);
            thenar_sim *sim = hand_world_start(model, h, 1);
            const double force[3] = {0.3, 1, -0.5};
            int body = model->hands[0]->flesh_count > 1 ? 5 : 0; /* with phalanges the tip of the index finger */
            const thenar_tet_mesh *mesh = thenar_model_mesh(model, body);
            assert_int_equal(thenar_sim_apply_force(sim, body, mesh->node_count - 1, force), THENAR_OK);
            for (int step = 0; step < 20; step++) {
                vec3 before = momentum_of(sim);
                assert_int_equal(thenar_sim_step(sim), THENAR_OK);
                vec3 change = vec3_scale(vec3_sub(momentum_of(sim), before), 1 / h);
                skeleton_wrench pull = skeleton_coupling_wrench(&sim->hands[0].skeleton, 0);
                vec3 expected = vec3_add(vec3_load(force), pull.force);
                worst = fmax(worst, vec3_distance(change, expected));
                largest = fmax(largest, vec3_length(change));
            }
            print_message("  %s, h %g s: mass times acceleration up to %.3f N, unexplained %.1e N\n",
                          phalanges ? "phalanges" : "one piece", h, largest, worst);
            assert_true(largest > 0.1);
            /* The pull is that of the pose at the end of the step; bones turned since, which is of first order in h. */
            assert_true(worst < 0.5 * h * largest);
            thenar_sim_free(sim);
            thenar_model_free(model);
        }
}

/* Both ways of solving have the same springs and so the same equilibrium, whatever the time step. Muscles that carry the
 * flesh shift the targets of coupled bones, so the split ones get the targets that give the same torques. */
static void a_hand_at_rest_is_that_of_the_split_solve(void **unused) {
    (void)unused;
    double angles[3][THENAR_HAND_ANGLES], torques[THENAR_HAND_ANGLES];
    for (int k = 2; k >= 0; k--) {
        thenar_hand_def def = hand_world_def();
        def.material.stretch_min = def.material.stretch_max = 0;
        def.weight = true;
        thenar_hand_key key = {.pose = THENAR_HAND_POSE_RELAXED};
        def.keys = &key;
        def.key_count = 1;
        double given[THENAR_HAND_ANGLES];
        for (int i = 0; k == 0 && i < THENAR_HAND_ANGLES; i++) {
            const double share[] = {1, 1, 0.5, 0.25};
            given[i] = angles[1][i] + torques[i] / (share[i % 4] * def.joint_stiffness);
        }
        if (k == 0) key.angles = given;
        thenar_model *model = model_of(&def, k == 0 ? THENAR_BONES_SPLIT : THENAR_BONES_COUPLED);
        thenar_sim *sim = hand_world_start(model, k == 2 ? 0.02 : 0.005, 1);
        run_for(sim, k == 0 ? 12 : 4); /* the split solve takes long to settle */
        thenar_sim_hand_angles(sim, 0, angles[k], k > 0 ? torques : NULL);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
    double apart[2] = {0};
    for (int i = 0; i < THENAR_HAND_ANGLES; i++)
        for (int k = 0; k < 2; k++) apart[k] = fmax(apart[k], fabs(angles[k + 1][i] - angles[0][i]));
    print_message("  angles differ by %.1e rad at 5 ms, %.1e rad at 20 ms\n", apart[0], apart[1]);
    assert_true(apart[0] < 1e-3 && apart[1] < 1e-3);
}

static double energy_of(const thenar_sim *sim) {
    double kinetic = 0;
    const soft_state *soft = sim_soft(sim, 0);
    for (int i = 0; i < 3 * soft_of(soft)->mesh.node_count; i++)
        kinetic += 0.5 * soft_of(soft)->mass[i / 3] * soft->v[i] * soft->v[i];
    return kinetic;
}

/* The split solve gained 3,565 J here with stiff flesh at 10 and 20 ms. */
static void a_fist_of_stiff_flesh_comes_to_rest_at_any_time_step(void **unused) {
    (void)unused;
    const double young[] = {2e6, 1e4, 1e7}, steps[] = {0.02, 0.001};
    for (int e = 0; e < (SANITIZED ? 1 : 3); e++)
        for (int k = 0; k < (SANITIZED ? 1 : 2); k++) {
            thenar_hand_def def = hand_world_def();
            def.material.young = young[e];
            thenar_hand_key keys[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                                      {.time = 0.5, .pose = THENAR_HAND_POSE_FIST}};
            def.keys = keys;
            def.key_count = 2;
            thenar_model *model = model_of(&def, THENAR_BONES_COUPLED);
            thenar_sim *sim = hand_world_start(model, steps[k], 1);
            run_for(sim, SANITIZED ? 0.6 : 1.5);
            double kinetic = energy_of(sim);
            print_message("  E %g Pa, h %g s: kinetic energy %.1e J at the end, %llu steps not converged\n", young[e],
                          steps[k], kinetic,
                          (unsigned long long)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED));
            assert_true(kinetic < (SANITIZED ? 1e-2 : 1e-5)); /* a hand that moves at 1 cm/s has 1.5e-5 J */
            assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED), 0);
            thenar_sim_free(sim);
            thenar_model_free(model);
        }
}

static void joints_keep_to_their_limits(void **unused) {
    (void)unused;
    thenar_hand_def def = hand_world_def();
    thenar_model *model = model_of(&def, THENAR_BONES_COUPLED);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    const hand_skeleton *hand = &model->hands[0]->skeleton;
    double q[THENAR_HAND_ANGLES], now[THENAR_HAND_ANGLES];
    const double wrist[7] = {0, 0, 0, 0, 0, 0, 1};
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) q[i] = hand->rest[i];
    for (int f = 1; f < 5; f++) q[4 * f + 1] = hand->upper[4 * f + 1]; /* abduction, which little flesh resists */
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, q), THENAR_OK);
    /* A load beyond what the springs bear. */
    skeleton_wrench *wrench = sim->hands[0].skeleton.wrench;
    for (int b = 4; b < HAND_BONES; b++) wrench[b].torque = vec3_make(0, 3, 0);
    run_for(sim, 1);
    thenar_sim_hand_angles(sim, 0, now, NULL);
    double beyond = 0;
    int at_limit = 0;
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) {
        beyond = fmax(beyond, fmax(now[i] - hand->upper[i], hand->lower[i] - now[i]));
        at_limit += fabs(now[i] - hand->upper[i]) < 1e-3 || fabs(now[i] - hand->lower[i]) < 1e-3;
    }
    print_message("  %d angles at a limit, at most %.1e rad beyond\n", at_limit, beyond);
    assert_true(at_limit > 0);
    assert_true(beyond < 1.1e-3); /* the tolerance of limits is 1e-3 */
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void solvers_on_rows_need_split_bones(void **unused) {
    (void)unused;
    thenar_hand_def def = hand_world_def();
    thenar_model *model = model_of(&def, THENAR_BONES_COUPLED);
    thenar_sim_options options = thenar_sim_options_default();
    thenar_sim *sim;
    thenar_error error;
    options.solver = THENAR_SOLVER_PGS;
    assert_int_equal(thenar_sim_create(model, &options, &sim, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "bones: split"));
    thenar_model_free(model);
    model = model_of(&def, THENAR_BONES_SPLIT);
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_reduced_matrix_is_that_of_dense_products),
    cmocka_unit_test(folding_is_the_transpose_of_expanding),
    cmocka_unit_test(a_press_on_the_fingertip_and_the_pull_of_the_tracker_change_the_momentum),
    cmocka_unit_test(a_hand_at_rest_is_that_of_the_split_solve),
    cmocka_unit_test(a_fist_of_stiff_flesh_comes_to_rest_at_any_time_step),
    cmocka_unit_test(joints_keep_to_their_limits),
    cmocka_unit_test(solvers_on_rows_need_split_bones),
};

TEST_MAIN(tests)
