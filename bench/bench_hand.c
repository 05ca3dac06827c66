/* Steps per second of the built-in hand in free motion, slightly bent, and as a fist, compared with perez2016 (section
 * V: the nonlinear Jacobi solver on a quad-core of 2011, 597 tets, 16 bones).
 *
 * The hand has bones, limits and contact with itself. Its wrist waves all the time, and in all phases except the last
 * its fingers move between two poses, so that no step repeats the previous one. Poses are interpolated between the
 * open hand and the fist, chosen for the ranges of active limits in the paper; "tight fist" is the held fist of
 * scenes/hand-fist.
 *
 * Every phase starts from the same snapshot for all solvers and numbers of threads, taken after the default solver has
 * brought the hand to its pose. From there each solver computes its own states; they take turns. A solver that needs
 * more than MAX_SECONDS makes fewer steps, as the column of steps shows. That happens to njls in a tight fist, which
 * reaches its maximum of 500 iterations, also without contacts and with the penalty contact of the paper. */
#include "bench/bench.h"

#include "thenar/hand.h"
#include "thenar/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_STEPS 200
#define MAX_SECONDS 6.0 /* for all steps of one solver with one number of threads in a phase */
#define ROUND 10        /* steps, then the next solver takes its turn */
#define PAPER_THREADS 4
#define MAX_THREADS 64
#define MAX_RUNNERS 16
#define LEAD 1.0   /* s, in which the hand reaches its pose */
#define STROKE 0.5 /* s, from one end of a motion to the other */

typedef struct hand_phase {
    const char *name;
    double pose[2];   /* interpolation between open hand (0) and fist (1) */
    double paper_fps; /* in a comparable situation; "tight fist": 22 ms per step with 335 active limits, see Fig. 3 */
    bool scaling;     /* with other numbers of threads too */
} hand_phase;
static const hand_phase phases[] = {{"free", {0, 0.1}, 119, false},
                                    {"moderate", {0.24, 0.36}, 89, false},
                                    {"fist", {0.45, 0.65}, 54, true},
                                    {"tight fist", {1, 1}, 1 / 0.022, false}};
#define PHASES ((int)(sizeof phases / sizeof *phases))
/* The paper's solver moves bones first, as the paper does; ours has bones and flesh in one system. */
static const struct {
    const char *name;
    thenar_bones bones;
} solvers[] = {{"njls", THENAR_BONES_SPLIT}, {"newton", THENAR_BONES_COUPLED}};
#define SOLVERS ((int)(sizeof solvers / sizeof *solvers))

/* What is recorded of every step. */
enum { STEP_TIME = THENAR_STAGE_COUNT, ACTIVE, ITERATIONS, CONTACTS, FIGURES };
static const char *const stage_keys[THENAR_STAGE_COUNT] = {
    [THENAR_STAGE_SKELETONS] = "skeletons_us",         [THENAR_STAGE_FORMULATE] = "formulate_us",
    [THENAR_STAGE_FIND_CONTACTS] = "find_contacts_us", [THENAR_STAGE_FACTOR] = "factor_us",
    [THENAR_STAGE_FREE_MOTION] = "free_motion_us",     [THENAR_STAGE_SOLVE_CONSTRAINTS] = "solve_constraints_us"};

/* A solver with a number of threads in a phase. */
typedef struct runner {
    int solver; /* of the table above */
    int threads;
    thenar_sim *sim;
    double *figures[FIGURES]; /* one number per step; times in us */
    int steps, converged;
    double seconds; /* of all steps */
} runner;

typedef struct hand_bench {
    const hand_phase *phase;
    int steps; /* per runner */
    thenar_model *model[THENAR_BONES_COUNT];
    runner runners[MAX_RUNNERS];
    int runner_count;
} hand_bench;

/* The waving hand of scenes/hand-fist. */
static thenar_status make_model(hand_bench *bench, thenar_bones bones, thenar_error *error) {
    int strokes = (int)ceil(bench->steps * thenar_world_def_default().dt / STROKE) + 1;
    thenar_hand_key *fingers = NEW_ARRAY(thenar_hand_key, strokes + 2);
    thenar_key *wrist = NEW_ARRAY(thenar_key, strokes + 2);
    thenar_world_def world = thenar_world_def_default();
    world.bones = bones;
    thenar_build *build = thenar_build_create(&world);
    thenar_status status = fingers && wrist && build ? THENAR_OK : fail_memory(error, "the hand");
    if (status == THENAR_OK) {
        fingers[0].pose = THENAR_HAND_POSE_OPEN;
        for (int i = 0; i <= strokes; i++) {
            double time = LEAD + STROKE * i, side = i % 2 ? 1 : -1;
            fingers[i + 1] = (thenar_hand_key){.time = time,
                                               .pose = THENAR_HAND_POSE_OPEN,
                                               .other = THENAR_HAND_POSE_FIST,
                                               .share = bench->phase->pose[i % 2]};
            wrist[i + 1] = (thenar_key){.time = time, .move = {0.05 * side, 0, 0}, .turn = {0, -0.5 * side, 0}};
        }
        thenar_hand_def hand = thenar_hand_def_default();
        hand.joint_stretch_min = 0.5;
        hand.joint_stretch_max = 1.5;
        hand.joint_stiffness = 4;
        hand.joint_damping = 0.04;
        hand.keys = fingers;
        hand.base_keys = wrist;
        hand.key_count = hand.base_key_count = strokes + 2;
        status = thenar_build_add_hand(build, &hand, error);
    }
    if (status == THENAR_OK) status = thenar_build_compile(build, &bench->model[bones], error);
    thenar_build_free(build);
    free(fingers);
    free(wrist);
    return status;
}

static thenar_status add_runner(hand_bench *bench, int solver, int threads, thenar_error *error) {
    if (bench->runner_count == MAX_RUNNERS) return THENAR_OK;
    runner *r = &bench->runners[bench->runner_count++];
    *r = (runner){.solver = solver, .threads = threads};
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .threads = threads,
                                  .solver = (thenar_solver)thenar_solver_find(solvers[solver].name),
                                  .contact = THENAR_CONTACT_OF_MODEL};
    thenar_status status = thenar_sim_create(bench->model[solvers[solver].bones], &options, &r->sim, error);
    for (int f = 0; f < FIGURES && status == THENAR_OK; f++) {
        r->figures[f] = NEW_ARRAY(double, bench->steps);
        if (!r->figures[f]) status = fail_memory(error, "samples");
    }
    return status;
}

/* As many threads as the paper, or as there are cores; for scaling, powers of two up to all cores. */
static thenar_status add_runners(hand_bench *bench, thenar_error *error) {
    thenar_status status = THENAR_OK;
    int cores = (int)fmin((double)sysconf(_SC_NPROCESSORS_ONLN), MAX_THREADS);
    int usual = cores < 1 ? 1 : cores > PAPER_THREADS ? PAPER_THREADS : cores;
    for (int i = 0; i < SOLVERS && status == THENAR_OK; i++) {
        for (int threads = 1; bench->phase->scaling && threads < usual && status == THENAR_OK; threads *= 2)
            status = add_runner(bench, i, threads, error);
        if (status == THENAR_OK) status = add_runner(bench, i, usual, error);
        for (int threads = 2 * usual; bench->phase->scaling && threads <= cores && status == THENAR_OK; threads *= 2)
            status = add_runner(bench, i, threads, error);
    }
    return status;
}

/* The runners of a model start from the state that the default solver has reached. */
static thenar_status enter_phase(hand_bench *bench, thenar_bones bones, thenar_error *error) {
    thenar_sim *sim = NULL;
    char *snapshot = NULL;
    thenar_status status = thenar_sim_create(bench->model[bones], NULL, &sim, error);
    while (status == THENAR_OK && thenar_sim_time(sim) < LEAD - 0.5 * thenar_sim_dt(sim))
        if (thenar_sim_step(sim) != THENAR_OK)
            status = fail(error, THENAR_ERROR_NUMERIC, "the simulation of the hand failed");
    if (status == THENAR_OK) {
        size_t size = thenar_sim_snapshot_size(sim);
        snapshot = NEW_ARRAY(char, size);
        if (!snapshot) status = fail_memory(error, "snapshot");
        if (snapshot) thenar_sim_snapshot(sim, snapshot);
        for (int i = 0; i < bench->runner_count && status == THENAR_OK; i++)
            if (solvers[bench->runners[i].solver].bones == bones)
                status = thenar_sim_restore(bench->runners[i].sim, snapshot, size, error);
    }
    free(snapshot);
    thenar_sim_free(sim);
    return status;
}

static bool is_done(const hand_bench *bench, const runner *r) {
    return r->steps == bench->steps || r->seconds >= MAX_SECONDS;
}

static thenar_status run_round(const hand_bench *bench, runner *r, thenar_error *error) {
    for (int i = 0; i < ROUND && !is_done(bench, r); i++, r->steps++) {
        if (thenar_sim_step(r->sim) != THENAR_OK)
            return fail(error, THENAR_ERROR_NUMERIC, "the simulation of the hand failed");
        const thenar_stats *stats = thenar_sim_stats(r->sim);
        for (int s = 0; s < THENAR_STAGE_COUNT; s++) r->figures[s][r->steps] = 1e-3 * (double)stats->stage_ns[s];
        r->figures[STEP_TIME][r->steps] = 1e-3 * (double)stats->step_ns;
        r->figures[ACTIVE][r->steps] = stats->active_constraints;
        r->figures[ITERATIONS][r->steps] = stats->iterations;
        r->figures[CONTACTS][r->steps] = stats->contacts;
        r->converged += stats->unconverged == 0;
        r->seconds += 1e-9 * (double)stats->step_ns;
    }
    return THENAR_OK;
}

static double figure(const runner *r, int which, double rank) {
    return r->figures[which][(int)(rank * (r->steps - 1) + 0.5)];
}

static void add_row(const hand_bench *bench, runner *r, table *results) {
    for (int f = 0; f < FIGURES; f++) sort_numbers(r->figures[f], (size_t)r->steps);
    table_add_row(results);
    table_text(results, "phase", "%s", bench->phase->name);
    table_text(results, "solver", "%s", solvers[r->solver].name);
    table_number(results, "threads", r->threads);
    table_number(results, "steps", r->steps);
    table_number(results, "active", figure(r, ACTIVE, 0.5));
    table_text(results, "active_range", "%.0f to %.0f", figure(r, ACTIVE, 0), figure(r, ACTIVE, 1));
    table_number(results, "contacts", figure(r, CONTACTS, 0.5));
    table_number(results, "iterations", figure(r, ITERATIONS, 0.5));
    table_number(results, "converged", (double)r->converged / r->steps);
    table_number(results, "fps", 1e6 / figure(r, STEP_TIME, 0.5));
    table_number(results, "mean_fps", r->steps / r->seconds);
    table_number(results, "paper_fps", bench->phase->paper_fps);
    table_number(results, "p99_ms", 1e-3 * figure(r, STEP_TIME, 0.99));
    for (int s = 0; s < THENAR_STAGE_COUNT; s++)
        if (stage_keys[s]) table_number(results, stage_keys[s], figure(r, s, 0.5));
}

static void destroy(hand_bench *bench) {
    for (int i = 0; i < bench->runner_count; i++) {
        thenar_sim_free(bench->runners[i].sim);
        for (int f = 0; f < FIGURES; f++) free(bench->runners[i].figures[f]);
    }
    for (int b = 0; b < THENAR_BONES_COUNT; b++) thenar_model_free(bench->model[b]);
}

static thenar_status run_phase(const hand_phase *phase, int steps, table *results, thenar_error *error) {
    hand_bench bench = {.phase = phase, .steps = steps};
    thenar_status status = THENAR_OK;
    for (int b = 0; b < THENAR_BONES_COUNT && status == THENAR_OK; b++)
        status = make_model(&bench, (thenar_bones)b, error);
    if (status == THENAR_OK) status = add_runners(&bench, error);
    for (int b = 0; b < THENAR_BONES_COUNT && status == THENAR_OK; b++)
        status = enter_phase(&bench, (thenar_bones)b, error);
    if (status == THENAR_OK && phase == phases)
        printf("%d tets, %d bones, h = 10 ms; limits 0.9 to 1.1, at the joints 0.5 to 1.5; contact with itself; the "
               "same tolerance for all solvers\n"
               "paper: perez2016, njls on four cores of 2011, mean fps; a solver stops after %.0f s of a phase\n",
               thenar_model_mesh(bench.model[THENAR_BONES_COUPLED], 0)->tet_count, THENAR_HAND_BONES, MAX_SECONDS);
    for (bool all_done = false; !all_done && status == THENAR_OK;) {
        all_done = true;
        for (int i = 0; i < bench.runner_count && status == THENAR_OK; i++) {
            status = run_round(&bench, &bench.runners[i], error);
            all_done = all_done && is_done(&bench, &bench.runners[i]);
        }
    }
    for (int i = 0; i < bench.runner_count && status == THENAR_OK; i++) add_row(&bench, &bench.runners[i], results);
    destroy(&bench);
    return status;
}

static void add_columns(table *results) {
    table_add_column(results, "phase", "phase", 0);
    table_add_column(results, "solver", "solver", 0);
    table_add_column(results, "threads", "threads", 0);
    table_add_column(results, "steps", "steps", 0);
    table_add_column(results, "active", "active limits", 0);
    table_add_column(results, "active_range", "range", 0);
    table_add_column(results, "contacts", "contacts", 0);
    table_add_column(results, "iterations", "iterations", 0);
    table_add_column(results, "converged", "converged", 2);
    table_add_column(results, "fps", "fps", 0);
    table_add_column(results, "mean_fps", "mean fps", 0);
    table_add_column(results, "paper_fps", "paper fps", 0);
    table_add_column(results, "p99_ms", "p99 ms", 1);
    table_add_column(results, "skeletons_us", "skeletons us", 0);
    table_add_column(results, "formulate_us", "formulate us", 0);
    table_add_column(results, "find_contacts_us", "find us", 0);
    table_add_column(results, "factor_us", "factor us", 0);
    table_add_column(results, "free_motion_us", "free us", 0);
    table_add_column(results, "solve_constraints_us", "solve us", 0);
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    thenar_status status = THENAR_OK;
    add_columns(results);
    for (int i = 0; i < PHASES && status == THENAR_OK; i++)
        status = run_phase(&phases[i], request->repeats ? request->repeats : DEFAULT_STEPS, results, error);
    return status;
}

const bench_entry bench_hand = {
    .name = "hand",
    .summary = "a whole hand waves, bends and makes a fist: steps per second of njls and newton, with perez2016",
    .run = run};
