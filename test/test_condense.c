/* Contact forces of a few points that act on each other, against Coulomb's law as it is written, and what they are for:
 * steps that take few iterations. */
#include "hand_world.h"
#include "test.h"

#include "core/memory.h"
#include "random.h"
#include "solver/newton.h"

#define MAX 24

typedef struct fixture {
    cone_problem problem;
    void *memory;
} fixture;

static void start(fixture *f) {
    arena measure = {0};
    cone_problem_layout(&f->problem, MAX, &measure);
    f->memory = memory_aligned(measure.used);
    assert_non_null(f->memory);
    arena carve = arena_on(f->memory, measure.used);
    cone_problem_layout(&f->problem, MAX, &carve);
}

static double *W_at(cone_problem *p, int row, int column) {
    return &p->W[(size_t)row * (size_t)p->stride + (size_t)column];
}

/* W = B B^T of `rank` columns, and `more` on its diagonal; q is a motion of the same rank. */
static void draw(cone_problem *p, random_source *random, int count, int rank, double more, double mu) {
    double B[3 * MAX][3 * MAX], way[3 * MAX];
    p->count = count;
    for (int k = 0; k < rank; k++) way[k] = random_uniform(random, -1, 1);
    for (int i = 0; i < 3 * count; i++)
        for (int k = 0; k < rank; k++) B[i][k] = random_uniform(random, -1, 1);
    for (int i = 0; i < 3 * count; i++) {
        for (int j = 0; j < 3 * count; j++) {
            double sum = i == j ? more : 0;
            for (int k = 0; k < rank; k++) sum += B[i][k] * B[j][k];
            *W_at(p, i, j) = sum;
        }
        p->q[i] = 0;
        for (int k = 0; k < rank; k++) p->q[i] += B[i][k] * way[k];
    }
    for (int i = 0; i < count; i++) {
        p->mu[i] = mu;
        p->force[i] = vec3_make(0, 0, 0);
    }
}

/* Every line of the law by itself, with u from the matrix again. Counts who is open, sticks and slips. */
static void assert_coulomb(cone_problem *p, int met[3]) {
    double largest = 0, scale = 0;
    for (int i = 0; i < p->count; i++) {
        largest = fmax(largest, p->force[i].x);
        scale = fmax(scale, *W_at(p, 3 * i, 3 * i));
    }
    double force_slack = 1e-4 * largest, slack = 1e-4 * (1 + scale * largest);
    for (int i = 0; i < p->count; i++) {
        double u[3];
        for (int k = 0; k < 3; k++) {
            u[k] = p->q[3 * i + k];
            for (int j = 0; j < p->count; j++) u[k] += vec3_dot(vec3_load(W_at(p, 3 * i + k, 3 * j)), p->force[j]);
        }
        vec3 f = p->force[i];
        double friction = cone_tangential(f), slip = hypot(u[1], u[2]), bound = p->mu[i] * f.x;
        assert_true(f.x >= -force_slack && u[0] >= -slack);
        assert_true(f.x <= force_slack || u[0] <= slack);
        assert_true(friction <= bound + force_slack);
        if (f.x <= force_slack) {
            met[CONE_OPEN]++;
        } else if (slip <= slack) {
            met[CONE_STICK]++;
        } else {
            met[CONE_SLIP]++;
            assert_true(friction >= bound - force_slack);
            assert_true(f.y * u[1] + f.z * u[2] <= -(1 - 1e-3) * friction * slip + slack * force_slack);
        }
    }
}

static void forces_obey_coulombs_law(void **unused) {
    (void)unused;
    static const double frictions[] = {0, 0.5, 1};
    fixture f;
    start(&f);
    random_source random = {1};
    int met[3] = {0}, solved = 0, drawn = 0;
    for (int k = 0; k < 1200; k++, drawn++) {
        int count = 1 + k % 12;
        draw(&f.problem, &random, count, 3 * count, 0.1, frictions[k % 3]);
        if (!cone_problem_solve(&f.problem)) continue;
        solved++;
        assert_coulomb(&f.problem, met);
    }
    print_message("  %d of %d solved; %d open, %d stick, %d slip\n", solved, drawn, met[0], met[1], met[2]);
    free(f.memory);
    for (int i = 0; i < 3; i++) assert_true(met[i] > 100);
    /* There need not be a solution for every W (friction may jam), and none is promised to be found. */
    assert_true(solved > 0.9 * drawn);
}

/* A disc of 1 kg and 1 m comes down on a plane, slides and turns, with twelve points of its lower side: six ways to
 * move for 36 forces, and nothing but a thousandth on the diagonal to tell these apart. u: the motion in a second. */
static void more_points_than_ways_to_move_have_forces_too(void **unused) {
    (void)unused;
    enum { POINTS = 12 };
    fixture f;
    start(&f);
    cone_problem *p = &f.problem;
    random_source random = {2};
    int met[3] = {0}, solved = 0, drawn = 0;
    for (int k = 0; k < 200; k++, drawn++) {
        vec3 arm[POINTS], velocity = vec3_make(random_uniform(&random, -1, 0), random_uniform(&random, -1, 1), 0);
        vec3 turn = vec3_scale(vec3_make(1, 0.2, 0.2), random_uniform(&random, -1, 1));
        p->count = POINTS;
        for (int i = 0; i < POINTS; i++) {
            double angle = random_uniform(&random, 0, 6.3), radius = random_uniform(&random, 0.2, 1);
            arm[i] = vec3_make(-0.1, radius * cos(angle), radius * sin(angle));
            vec3_store(p->q + 3 * i, vec3_add(velocity, vec3_cross(turn, arm[i])));
            p->mu[i] = 0.4;
            p->force[i] = vec3_make(0, 0, 0);
        }
        /* A force f at arm b moves arm a by f + (I^-1 (b x f)) x a, with I = diag(1/2, 1/4, 1/4). */
        for (int i = 0; i < POINTS; i++)
            for (int j = 0; j < 3 * POINTS; j++) {
                vec3 push = vec3_make(j % 3 == 0, j % 3 == 1, j % 3 == 2), torque = vec3_cross(arm[j / 3], push);
                vec3 turned = vec3_make(2 * torque.x, 4 * torque.y, 4 * torque.z), moved;
                moved = vec3_add(push, vec3_cross(turned, arm[i]));
                *W_at(p, 3 * i, j) = moved.x, *W_at(p, 3 * i + 1, j) = moved.y, *W_at(p, 3 * i + 2, j) = moved.z;
            }
        for (int i = 0; i < 3 * POINTS; i++) *W_at(p, i, i) *= 1.001;
        if (!cone_problem_solve(p)) continue;
        solved++;
        assert_coulomb(p, met);
    }
    print_message("  %d of %d solved; %d open, %d stick, %d slip\n", solved, drawn, met[0], met[1], met[2]);
    free(f.memory);
    assert_true(solved > 0.9 * drawn);
    for (int i = 0; i < 3; i++) assert_true(met[i] > 10);
}

/* Solved from its own solution, a problem stays there. */
static void a_solution_is_where_it_ends(void **unused) {
    (void)unused;
    fixture f;
    start(&f);
    random_source random = {3};
    draw(&f.problem, &random, 8, 24, 0.1, 0.4);
    assert_true(cone_problem_solve(&f.problem));
    vec3 force[MAX];
    memcpy(force, f.problem.force, 8 * sizeof *force);
    assert_true(cone_problem_solve(&f.problem));
    for (int i = 0; i < 8; i++) assert_true(vec3_distance(force[i], f.problem.force[i]) == 0);
    free(f.memory);
}

/* The hand of scenes/hand-fist closes: fingers begin to touch each other and the palm while more and more limits push.
 * With contacts as terms of the augmented Lagrangian alone, these steps took up to 54 iterations. */
static void fingers_that_meet_at_their_limits_take_few_iterations(void **unused) {
    (void)unused;
    const thenar_hand_key keys[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                                    {.time = 1, .pose = THENAR_HAND_POSE_FIST}};
    thenar_hand_def def = thenar_hand_def_default();
    def.joint_stretch_min = 0.5;
    def.joint_stretch_max = 1.5;
    def.joint_stiffness = 4;
    def.joint_damping = 0.04;
    def.keys = keys;
    def.key_count = 2;
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    int max = 0, sum = 0, touching = 0, active = 0;
    for (int i = 0; i < 120; i++) {
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        const thenar_stats *stats = thenar_sim_stats(sim);
        assert_int_equal(stats->unconverged, 0);
        max = stats->iterations > max ? stats->iterations : max;
        active = stats->active_constraints > active ? stats->active_constraints : active;
        sum += stats->iterations;
        touching += stats->contacts > 0;
    }
    print_message("  120 steps: %d iterations, at most %d; %d touch, at most %d limits push\n", sum, max, touching,
                  active);
    assert_true(touching > 30 && active > 300);
    assert_true(max <= 20);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(forces_obey_coulombs_law),
    cmocka_unit_test(more_points_than_ways_to_move_have_forces_too),
    cmocka_unit_test(a_solution_is_where_it_ends),
    cmocka_unit_test(fingers_that_meet_at_their_limits_take_few_iterations),
};

TEST_MAIN(tests)
