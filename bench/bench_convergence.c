/* Convergence of each solver to the limits in one frame of a hand: the largest violation against iterations and time
 * (perez2016, Fig. 5). For the SQP solvers an iteration is one of the linear complementarity problem (LCP); a row is
 * an evaluation of the nonlinear limits, together with the violation of the linearized limits after the last LCP. Time
 * counts from the start of the step. */
#include "bench/limited_hand.h"

#include "core/memory.h"
#include "core/threads.h"
#include "world/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FRAME (LIMITED_HAND_FRAMES / 2)
#define MAX_POINTS 20000
#define DEFAULT_REPEATS 5

typedef struct trace_point {
    int iterations;
    double us, residual, linearized; /* linearized: NAN if no LCP preceded */
} trace_point;

typedef struct trace_log {
    trace_point *points;
    int count;
    int64_t start;
    double linearized;
} trace_log;

static void note(void *context, int iterations, bool linearized, double residual) {
    trace_log *log = context;
    if (linearized) {
        log->linearized = residual;
        return;
    }
    if (log->count == MAX_POINTS) return;
    log->points[log->count++] = (trace_point){.iterations = iterations,
                                              .us = 1e-3 * (double)(clock_now() - log->start),
                                              .residual = residual,
                                              .linearized = log->linearized};
    log->linearized = NAN;
}

/* Traces the frame `repeats` times; the log of the fastest run is logs[0]. */
static thenar_status trace_solver(const limited_hand *hand, const solver_class *solver, int repeats, trace_log logs[2],
                                  thenar_error *error) {
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .threads = 1,
                                  .solver = (thenar_solver)thenar_solver_find(solver->name),
                                  .contact = THENAR_CONTACT_OF_MODEL};
    thenar_sim *sim;
    thenar_status status = thenar_sim_create(hand->model, &options, &sim, error);
    for (int i = 0; i < repeats && status == THENAR_OK; i++) {
        trace_log *log = &logs[1];
        solver_trace trace = {.point = note, .context = log};
        status = limited_hand_enter(hand, FRAME, sim, error);
        log->count = 0;
        log->linearized = NAN;
        log->start = clock_now();
        sim->systems[0].trace = &trace;
        if (status == THENAR_OK) thenar_sim_step(sim);
        sim->systems[0].trace = NULL;
        if (log->count == 0) continue;
        if (i > 0 && logs[0].points[logs[0].count - 1].us <= log->points[log->count - 1].us) continue;
        trace_log kept = logs[0];
        logs[0] = *log;
        *log = kept;
    }
    thenar_sim_free(sim);
    return status;
}

/* Adds rows at about four points per decade, and the last point. */
static void add_points(table *results, const char *scene, const char *solver, const trace_log *log) {
    double next = 0;
    for (int i = 0; i < log->count; i++) {
        if (i < (int)next && i < log->count - 1) continue;
        next = fmax(i + 1, 1.78 * i);
        const trace_point *point = &log->points[i];
        table_add_row(results);
        table_text(results, "scene", "%s", scene);
        table_text(results, "solver", "%s", solver);
        table_number(results, "evaluation", i);
        table_number(results, "iterations", point->iterations);
        table_number(results, "time_us", point->us);
        table_number(results, "residual", point->residual);
        if (!isnan(point->linearized)) table_number(results, "linearized", point->linearized);
    }
}

static thenar_status run_scene(const limited_hand_scene *scene, int repeats, trace_log logs[2], table *results,
                               thenar_error *error) {
    limited_hand hand;
    thenar_status status = limited_hand_create(&hand, scene, error);
    for (int i = 0; i < solver_count && status == THENAR_OK; i++) {
        status = trace_solver(&hand, solver_table[i], repeats, logs, error);
        if (status == THENAR_OK) add_points(results, scene->name, solver_table[i]->name, &logs[0]);
    }
    limited_hand_free(&hand);
    return status;
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    table_add_column(results, "scene", "scene", 0);
    table_add_column(results, "solver", "solver", 0);
    table_add_column(results, "evaluation", "evaluation", 0);
    table_add_column(results, "iterations", "iterations", 0);
    table_add_column(results, "time_us", "time us", 0);
    table_add_column(results, "residual", "residual", 6);
    table_add_column(results, "linearized", "linearized residual", 6);
    trace_log logs[2] = {{.points = MEMORY_ARRAY(trace_point, MAX_POINTS)},
                         {.points = MEMORY_ARRAY(trace_point, MAX_POINTS)}};
    thenar_status status = logs[0].points && logs[1].points ? THENAR_OK : error_memory(error, "points");
    for (int i = 0; i < LIMITED_HAND_SCENES && status == THENAR_OK; i++)
        status = run_scene(&limited_hand_scenes[i], request->repeats ? request->repeats : DEFAULT_REPEATS, logs,
                           results, error);
    free(logs[0].points);
    free(logs[1].points);
    return status;
}

static const plot_def plot = {.title = "Largest violation of a limit against time, a bent hand (perez2016 Fig. 5)",
                              .x = "time_us",
                              .y = "residual",
                              .lines = "solver",
                              .only = "scene",
                              .equals = "bent",
                              .log_x = true,
                              .log_y = true};

const bench_entry bench_convergence = {
    .name = "convergence",
    .summary = "the largest violation of a limit against iterations and time, for every solver",
    .run = run,
    .plot = &plot};
