/* All solvers on the same ten frames of a hand at its limits, in three scenes (limited_hand.h), compared with the
 * figures of perez2016 (section V: a quad-core of 2011, 597 tets, 335 active limits). Each frame starts from the same
 * snapshot for all solvers, which take turns; a time is that of the whole step. The results are compared with the
 * optimum of Eq. 1, found by the default solver with much smaller tolerances. */
#include "bench/limited_hand.h"

#include "core/memory.h"
#include "world/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_REPEATS 5
#define MAX_THREADS 2
#define MAX_RUNNERS 32
#define EXACT ((solver_tolerances){.violation = 1e-6, .stationarity = 1e-5})

/* A solver with a number of threads. */
typedef struct runner {
    const solver_class *solver;
    int threads;
    thenar_sim *sim;
    bench_clock frames[LIMITED_HAND_FRAMES]; /* whole steps */
    double iterations, active;               /* sums over the frames */
    double residual;                         /* maximum over the frames */
    int unconverged;                         /* number of frames */
    double objective, error;                 /* sums over the frames */
} runner;

/* The free motion and the optimum of a frame. */
typedef struct frame_answer {
    double *free_motion, *optimum, *difference, *product;
    double distance; /* between both, in the norm of A */
    constraint_row *rows;
} frame_answer;

typedef struct comparison {
    limited_hand hand;
    thenar_sim *exact;
    runner runners[MAX_RUNNERS];
    int runner_count;
    frame_answer answer;
    const limited_hand_scene *scene;
    double exact_residual;
    double violated,
        active; /* sums over the frames: limits violated by the free motion, and limits active at the optimum */
    int repeats;
} comparison;

static double distance(const comparison *c, const double *a, const double *b) {
    const block_pattern *pattern = &c->hand.model->systems[0].pattern;
    double sum = 0;
    for (int i = 0; i < 3 * pattern->node_count; i++) c->answer.difference[i] = a[i] - b[i];
    block_pattern_multiply(pattern, c->exact->systems[0].blocks, c->answer.difference, c->answer.product);
    for (int i = 0; i < 3 * pattern->node_count; i++) sum += c->answer.difference[i] * c->answer.product[i];
    return sqrt(sum);
}

/* The number of limits that the free motion of the last solved frame violates. */
static int count_violated(comparison *c) {
    thenar_sim *sim = c->exact;
    const system_model *system = &c->hand.model->systems[0];
    const body_limits *limits = c->hand.model->bodies[0]->kind->limits;
    body_step step = {.h = 0}; /* the held nodes are at their targets */
    for (int i = 0; i < 3 * system->pattern.node_count; i++)
        c->answer.difference[i] = sim->dt * (c->answer.free_motion[i] - c->answer.optimum[i]);
    limits->move(sim->bodies[0], &step, c->answer.difference);
    return limits->rows(sim->bodies[0], &step, 0, c->answer.rows);
}

static thenar_status find_answer(comparison *c, int frame, thenar_error *error) {
    thenar_status status = limited_hand_enter(&c->hand, frame, c->exact, error);
    if (status != THENAR_OK) return status;
    system_state *state = &c->exact->systems[0];
    const system_model *system = &c->hand.model->systems[0];
    size_t bytes = 3 * (size_t)system->pattern.node_count * sizeof(double);
    thenar_sim_step(c->exact);
    c->exact_residual = fmax(c->exact_residual, thenar_sim_stats(c->exact)->residual);
    memcpy(c->answer.optimum, state->v, bytes);
    memcpy(c->answer.free_motion, state->b, bytes);
    system_factor(state, system, NULL);
    cholesky_solve(&state->factor, c->answer.free_motion);
    c->answer.distance = distance(c, c->answer.optimum, c->answer.free_motion);
    c->active += thenar_sim_stats(c->exact)->active_constraints;
    c->violated += count_violated(c);
    return THENAR_OK;
}

/* Runs twice and times the second run: in a simulation a solver has the caches to itself, but here the others ran in
 * between. */
static thenar_status run_frame(comparison *c, runner *r, int frame, bool compare, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int i = 0; i < 2 && status == THENAR_OK; i++) {
        status = limited_hand_enter(&c->hand, frame, r->sim, error);
        if (status == THENAR_OK) thenar_sim_step(r->sim);
    }
    if (status != THENAR_OK) return status;
    const thenar_stats *stats = thenar_sim_stats(r->sim);
    bench_clock *clock = &r->frames[frame];
    clock->us[clock->count++] = 1e-3 * (double)stats->step_ns;
    if (!compare) return THENAR_OK;
    const double *v = r->sim->systems[0].v;
    double far = distance(c, v, c->answer.free_motion) / c->answer.distance;
    r->iterations += stats->iterations;
    r->active += stats->active_constraints;
    r->residual = fmax(r->residual, stats->residual);
    r->unconverged += stats->unconverged > 0;
    r->objective += far * far;
    r->error += distance(c, v, c->answer.optimum) / c->answer.distance;
    return THENAR_OK;
}

static thenar_status add_runner(comparison *c, const solver_class *solver, int threads, thenar_error *error) {
    runner *r = &c->runners[c->runner_count++];
    *r = (runner){.solver = solver, .threads = threads};
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .threads = threads,
                                  .solver = (thenar_solver)thenar_solver_find(solver->name),
                                  .contact = THENAR_CONTACT_OF_MODEL};
    thenar_status status = thenar_sim_create(c->hand.model, &options, &r->sim, error);
    for (int f = 0; f < LIMITED_HAND_FRAMES && status == THENAR_OK; f++)
        status = bench_clock_create(&r->frames[f], NULL, NULL, c->repeats, error);
    return status;
}

static thenar_status create(comparison *c, thenar_error *error) {
    thenar_status status = limited_hand_create(&c->hand, c->scene, error);
    if (status == THENAR_OK) status = thenar_sim_create(c->hand.model, NULL, &c->exact, error);
    if (status != THENAR_OK) return status;
    c->exact->systems[0].tolerance = EXACT;
    size_t components = 3 * (size_t)c->hand.model->systems[0].pattern.node_count;
    double **vectors[] = {&c->answer.free_motion, &c->answer.optimum, &c->answer.difference, &c->answer.product};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        *vectors[i] = MEMORY_ARRAY(double, components);
        if (!*vectors[i]) return error_memory(error, "velocities");
    }
    c->answer.rows = MEMORY_ARRAY(constraint_row, 3 * thenar_model_mesh(c->hand.model, 0)->tet_count);
    if (!c->answer.rows) return error_memory(error, "rows");
    for (int i = 0; i < solver_count && status == THENAR_OK; i++)
        for (int threads = 1; threads <= MAX_THREADS && status == THENAR_OK; threads++)
            status = add_runner(c, solver_table[i], threads, error);
    return status;
}

static void destroy(comparison *c) {
    for (int i = 0; i < c->runner_count; i++) {
        thenar_sim_free(c->runners[i].sim);
        for (int f = 0; f < LIMITED_HAND_FRAMES; f++) bench_clock_free(&c->runners[i].frames[f]);
    }
    double *vectors[] = {c->answer.free_motion, c->answer.optimum, c->answer.difference, c->answer.product};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) free(vectors[i]);
    free(c->answer.rows);
    thenar_sim_free(c->exact);
    limited_hand_free(&c->hand);
}

static thenar_status measure(comparison *c, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int frame = 0; frame < LIMITED_HAND_FRAMES && status == THENAR_OK; frame++) {
        status = find_answer(c, frame, error);
        for (int repeat = 0; repeat < c->repeats; repeat++)
            for (int i = 0; i < c->runner_count && status == THENAR_OK; i++)
                status = run_frame(c, &c->runners[i], frame, repeat == 0, error);
    }
    return status;
}

/* Over the medians of the frames: their median (rank 0.5) or their maximum (rank 1). */
static double frame_time(runner *r, double rank) {
    double times[LIMITED_HAND_FRAMES];
    for (int f = 0; f < LIMITED_HAND_FRAMES; f++) times[f] = bench_clock_median(&r->frames[f]);
    sort_numbers(times, LIMITED_HAND_FRAMES);
    return times[(int)(rank * (LIMITED_HAND_FRAMES - 1))];
}

static double median_of(comparison *c, const char *name, int threads) {
    for (int i = 0; i < c->runner_count; i++)
        if (strcmp(c->runners[i].solver->name, name) == 0 && c->runners[i].threads == threads)
            return frame_time(&c->runners[i], 0.5);
    return NAN;
}

/* perez2016, section V. */
typedef struct paper_figure {
    const char *solver;
    double ms, ratio; /* per step; ratio to the paper's own solver */
} paper_figure;
static const paper_figure paper[] = {{"sqp-pgs", 313, 14.2}, {"sqp-pjls", 282, 12.8}, {"njls", 22, 1}};

static void add_columns(table *results) {
    table_add_column(results, "scene", "scene", 0);
    table_add_column(results, "violated", "violated", 0);
    table_add_column(results, "active", "active", 0);
    table_add_column(results, "solver", "solver", 0);
    table_add_column(results, "threads", "threads", 0);
    table_add_column(results, "step_us", "step us", 0);
    table_add_column(results, "worst_us", "worst frame us", 0);
    table_add_column(results, "newton_ratio", "x newton", 2);
    table_add_column(results, "njls_ratio", "x njls", 2);
    table_add_column(results, "paper_ms", "paper ms", 0);
    table_add_column(results, "paper_ratio", "paper x njls", 1);
    table_add_column(results, "iterations", "iterations", 1);
    table_add_column(results, "solver_active", "active by solver", 0);
    table_add_column(results, "residual", "residual", 5);
    table_add_column(results, "unconverged", "unconverged", 0);
    table_add_column(results, "objective", "objective / optimum", 4);
    table_add_column(results, "error", "error", 4);
}

static void add_row(comparison *c, runner *r, table *results) {
    double median = frame_time(r, 0.5);
    table_add_row(results);
    table_text(results, "scene", "%s", c->scene->name);
    table_number(results, "violated", c->violated / LIMITED_HAND_FRAMES);
    table_number(results, "active", c->active / LIMITED_HAND_FRAMES);
    table_text(results, "solver", "%s", r->solver->name);
    table_number(results, "threads", r->threads);
    table_number(results, "step_us", median);
    table_number(results, "worst_us", frame_time(r, 1));
    table_number(results, "newton_ratio", median / median_of(c, "newton", r->threads));
    table_number(results, "njls_ratio", median / median_of(c, "njls", r->threads));
    for (size_t i = 0; i < sizeof paper / sizeof *paper; i++)
        if (strcmp(paper[i].solver, r->solver->name) == 0) {
            table_number(results, "paper_ms", paper[i].ms);
            table_number(results, "paper_ratio", paper[i].ratio);
        }
    table_number(results, "iterations", r->iterations / LIMITED_HAND_FRAMES);
    table_number(results, "solver_active", r->active / LIMITED_HAND_FRAMES);
    table_number(results, "residual", r->residual);
    table_number(results, "unconverged", r->unconverged);
    table_number(results, "objective", r->objective / LIMITED_HAND_FRAMES);
    table_number(results, "error", r->error / LIMITED_HAND_FRAMES);
}

static thenar_status run_scene(const limited_hand_scene *scene, int repeats, table *results, thenar_error *error) {
    static comparison c;
    c = (comparison){.scene = scene, .repeats = repeats};
    thenar_status status = create(&c, error);
    if (status == THENAR_OK) status = measure(&c, error);
    if (status == THENAR_OK) {
        const thenar_tet_mesh *mesh = thenar_model_mesh(c.hand.model, 0);
        printf("%s: %d tets, %d nodes; %d frames, %d runs each; optimum found to a violation of %.1e\n", scene->name,
               mesh->tet_count, mesh->node_count, LIMITED_HAND_FRAMES, c.repeats, c.exact_residual);
        for (int i = 0; i < c.runner_count; i++) add_row(&c, &c.runners[i], results);
    }
    destroy(&c);
    return status;
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    thenar_status status = THENAR_OK;
    add_columns(results);
    for (int i = 0; i < LIMITED_HAND_SCENES && status == THENAR_OK; i++)
        status =
            run_scene(&limited_hand_scenes[i], request->repeats ? request->repeats : DEFAULT_REPEATS, results, error);
    return status;
}

const bench_entry bench_solvers = {
    .name = "solvers", .summary = "a hand at its strain limits: time and accuracy of every solver", .run = run};
