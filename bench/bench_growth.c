/* Time of a step against the number of tets: a block at its strain limits, meshed ever finer.
 *
 * The block is held at one end and so soft that its own weight would bend it far beyond its limits, 0.9 and 1.1. It
 * turns about its axis all the time, so that other tets reach their limits in every step. Load and shape are the same
 * for all sizes, and the share of active limits nearly so. The last row has the exponent p of time = c tets^p, fitted
 * to the rows above (least squares of the logarithms). */
#include "bench/bench.h"

#include "core/memory.h"
#include "world/sim.h"

#include <math.h>
#include <stdio.h>

#define SIZES 5
#define SETTLE_STEPS 60
#define SPIN 2.0       /* of the held end, rad/s */
#define TURN_TIME 30.0 /* s, duration of the turning */
#define MIN_TIME 10.0  /* us */

/* About 200, 600, 2,000, 6,000 and 20,000 tets, five per nearly cubic cell. */
static const int cells[SIZES][3] = {{5, 3, 3}, {8, 4, 4}, {11, 6, 6}, {17, 9, 8}, {26, 13, 12}};
static const int default_repeats[SIZES] = {600, 400, 200, 60, 30};

/* What is timed: the stages, the step, and one iteration of the constraint solver. */
enum { STEP = THENAR_STAGE_COUNT, ITERATION, CLOCKS };
static const char *const keys[CLOCKS] = {[THENAR_STAGE_FORMULATE] = "formulate_ms",
                                         [THENAR_STAGE_FACTOR] = "factor_ms",
                                         [THENAR_STAGE_FREE_MOTION] = "free_motion_ms",
                                         [THENAR_STAGE_SOLVE_CONSTRAINTS] = "solve_constraints_ms",
                                         [THENAR_STAGE_INTEGRATE] = "integrate_ms",
                                         [STEP] = "step_ms",
                                         [ITERATION] = "iteration_ms"};

typedef struct growth {
    bench_clock clocks[CLOCKS];
    double active, iterations, worst_us;
    int unconverged;
} growth;

static thenar_status block_model(const int count[3], thenar_model **model, thenar_error *error) {
    const double low[3] = {0, -0.025, -0.025}, high[3] = {0.1, 0.025, 0.025};
    thenar_tet_mesh mesh;
    thenar_status status = thenar_tet_mesh_box(low, high, count, THENAR_LATTICE_CUBE, &mesh, error);
    if (status != THENAR_OK) return status;
    const thenar_key turn[] = {{.time = 0}, {.time = TURN_TIME, .turn = {SPIN * TURN_TIME, 0, 0}}};
    thenar_support end = {.region = {.kind = THENAR_REGION_HALF, .point = {0, 0, 0}, .normal = {1, 0, 0}},
                          .keys = turn,
                          .key_count = 2,
                          .linear = true};
    thenar_soft_def block = thenar_soft_def_default();
    block.name = "block";
    block.mesh = &mesh;
    block.material.young = 2e3;
    block.material.stretch_min = 0.9;
    block.material.stretch_max = 1.1;
    block.supports = &end;
    block.support_count = 1;
    status = bench_compile(&block, model, error);
    thenar_tet_mesh_free(&mesh);
    return status;
}

static void add_sample(bench_clock *clock, double us) {
    clock->us[clock->count++] = us;
}

static thenar_status run_steps(thenar_sim *sim, int repeats, growth *g, thenar_error *error) {
    for (int i = 0; i < SETTLE_STEPS + repeats; i++) {
        if (thenar_sim_step(sim) != THENAR_OK)
            return error_set(error, THENAR_ERROR_NUMERIC, "the simulation of the block failed");
        if (i < SETTLE_STEPS) continue;
        const thenar_stats *stats = thenar_sim_stats(sim);
        for (int s = 0; s < THENAR_STAGE_COUNT; s++) add_sample(&g->clocks[s], 1e-3 * (double)stats->stage_ns[s]);
        add_sample(&g->clocks[STEP], 1e-3 * (double)stats->step_ns);
        add_sample(&g->clocks[ITERATION],
                   1e-3 * (double)stats->stage_ns[THENAR_STAGE_SOLVE_CONSTRAINTS] / fmax(stats->iterations, 1));
        g->worst_us = fmax(g->worst_us, 1e-3 * (double)stats->step_ns);
        g->active += (double)stats->active_constraints / repeats;
        g->iterations += (double)stats->iterations / repeats;
        g->unconverged += stats->unconverged;
    }
    return THENAR_OK;
}

static void add_row(const thenar_model *model, growth *g, table *results) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, 0);
    table_add_row(results);
    table_number(results, "tets", mesh->tet_count);
    table_number(results, "unknowns", 3.0 * model->systems[0].pattern.node_count);
    table_number(results, "active", g->active);
    table_number(results, "share", g->active / (6.0 * mesh->tet_count));
    table_number(results, "iterations", g->iterations);
    for (int c = 0; c < CLOCKS; c++)
        if (keys[c]) table_number(results, keys[c], 1e-3 * bench_clock_median(&g->clocks[c]));
    table_number(results, "worst_ms", 1e-3 * g->worst_us);
    table_number(results, "unconverged", g->unconverged);
}

/* Runs one size; median[c]: the medians for the fit, us. */
static thenar_status measure(int size, int repeats, double *tets, double median[CLOCKS], table *results,
                             thenar_error *error) {
    growth g = {0};
    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    thenar_status status = block_model(cells[size], &model, error);
    if (status == THENAR_OK) status = thenar_sim_create(model, NULL, &sim, error);
    for (int c = 0; c < CLOCKS && status == THENAR_OK; c++)
        status = bench_clock_create(&g.clocks[c], NULL, NULL, repeats, error);
    if (status == THENAR_OK) status = run_steps(sim, repeats, &g, error);
    if (status == THENAR_OK) {
        *tets = thenar_model_mesh(model, 0)->tet_count;
        for (int c = 0; c < CLOCKS; c++) median[c] = bench_clock_median(&g.clocks[c]);
        add_row(model, &g, results);
    }
    for (int c = 0; c < CLOCKS; c++) bench_clock_free(&g.clocks[c]);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return status;
}

/* The slope of log(us) over log(tets); NAN for a stage that was skipped. */
static double exponent(const double tets[SIZES], const double median[SIZES][CLOCKS], int clock) {
    double x = 0, y = 0, xx = 0, xy = 0;
    if (median[SIZES - 1][clock] < MIN_TIME) return NAN;
    for (int i = 0; i < SIZES; i++) {
        double a = log(tets[i]), b = log(median[i][clock]);
        x += a / SIZES;
        y += b / SIZES;
        xx += a * a / SIZES;
        xy += a * b / SIZES;
    }
    return (xy - x * y) / (xx - x * x);
}

static void add_columns(table *results) {
    table_add_column(results, "tets", "tets", 0);
    table_add_column(results, "unknowns", "unknowns", 0);
    table_add_column(results, "active", "active", 0);
    table_add_column(results, "share", "share of all limits", 3);
    table_add_column(results, "iterations", "iterations", 1);
    table_add_column(results, "step_ms", "step ms", 3);
    table_add_column(results, "worst_ms", "worst ms", 3);
    table_add_column(results, "formulate_ms", "formulate ms", 3);
    table_add_column(results, "factor_ms", "factor ms", 3);
    table_add_column(results, "free_motion_ms", "free motion ms", 3);
    table_add_column(results, "solve_constraints_ms", "solve constraints ms", 3);
    table_add_column(results, "iteration_ms", "ms per iteration", 3);
    table_add_column(results, "integrate_ms", "integrate ms", 3);
    table_add_column(results, "unconverged", "unconverged", 0);
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    double tets[SIZES], median[SIZES][CLOCKS];
    thenar_status status = THENAR_OK;
    add_columns(results);
    for (int i = 0; i < SIZES && status == THENAR_OK; i++)
        status =
            measure(i, request->repeats ? request->repeats : default_repeats[i], &tets[i], median[i], results, error);
    if (status != THENAR_OK) return status;
    printf(
        "a turning block at its strain limits; one thread; medians over steps. Last row: exponent of time over tets\n");
    table_add_row(results);
    table_text(results, "tets", "exponent");
    for (int c = 0; c < CLOCKS; c++) {
        double p = keys[c] ? exponent(tets, median, c) : NAN;
        if (isfinite(p)) table_number(results, keys[c], p);
    }
    return THENAR_OK;
}

const bench_entry bench_growth = {.name = "growth",
                                  .summary =
                                      "a block at its strain limits, 200 to 20,000 tets: time per step and stage",
                                  .run = run};
