/* talvas2015, Table 1: contact by points and by patches, with projected Gauss-Seidel on the constraints, which is what the
 * paper does (on the exact cone), and with newton.
 *
 * Each scene goes on with newton until its object is held; from there 100 steps are done by points and, from the same state,
 * by patches, as the paper's means are of 100 iterations. Times are medians over these, one thread: "constraints" is what
 * building and solving them takes (with the free motion's part: patches are made from it), "total" a whole step. The paper's
 * hand is another one, so its contacts are not ours; what can be compared is by how much constraints' time falls. */
#include "bench/bench.h"

#include "app/scene_find.h"
#include "base/memory.h"

#include "thenar/thenar.h"

#include <math.h>
#include <stdlib.h>

#define USUAL_STEPS 100

typedef struct bench_case {
    const char *scene, *set;                                                    /* set: a key, or NULL */
    double held;                                                                /* s: when the object is */
    double paper_contacts, paper_rows[2], paper_constraints[2], paper_total[2]; /* by points, by patches; ms */
} bench_case;

/* The second grasp of the cube closes by 1.3 mm more. */
static const bench_case cases[] = {
    {"pencil-spin", NULL, 2.5, 33, {52, 12}, {14.91, 4.85}, {25.21, 15.3}},
    {"edge-grasp", NULL, 3, 19, {49, 8}, {14.01, 4.28}, {22.76, 13.05}},
    {"edge-grasp",
     "bodies.hand.poses[3].degrees={thumb: [16.7, 40.3, 17.8, 12.5], index: [44.2, 1.9, 44.4, -0.6]}",
     3,
     23,
     {62, 8},
     {22.52, 5.26},
     {32.45, 14.53}},
    {"ball-tips", NULL, 3, 37, {86, 22}, {37.78, 10.8}, {59.13, 32.58}},
    {"ball-power", NULL, 3, 84, {233, 32}, {229.74, 15.33}, {254.05, 39.94}},
    {"dumbbell", NULL, 3, 93, {283, 70}, {350.91, 53.42}, {408.26, 116.53}},
};
#define CASES (int)(sizeof cases / sizeof *cases)

/* What 100 steps came to. */
typedef struct figures {
    double contacts, rows, constraints_us, total_us;
    int unconverged;
} figures;

/* Steps from where `held` is. */
static thenar_status measure(const thenar_sim *held, const char *solver, const char *contact, int steps, figures *out,
                             thenar_error *error) {
    *out = (figures){0};
    thenar_sim_options options = {.solver = solver, .friction = "cone", .contact = contact};
    thenar_sim *sim = NULL;
    double *constraints = MEMORY_ARRAY(double, steps), *total = MEMORY_ARRAY(double, steps);
    thenar_status status = constraints && total ? THENAR_OK : error_memory(error, "benchmark");
    if (status == THENAR_OK) status = thenar_sim_create(thenar_sim_model(held), &options, &sim, error);
    if (status == THENAR_OK) status = thenar_sim_continue(sim, held, error);
    for (int i = 0; i < steps && status == THENAR_OK; i++) {
        thenar_sim_step(sim);
        const thenar_stats *stats = thenar_sim_stats(sim);
        out->contacts += (double)stats->contacts / steps;
        out->rows += (double)stats->rows / steps;
        out->unconverged += stats->unconverged > 0;
        constraints[i] = 1e-3 * (double)(stats->stage_ns[THENAR_STAGE_BUILD_CONSTRAINTS] +
                                         stats->stage_ns[THENAR_STAGE_FREE_MOTION] +
                                         stats->stage_ns[THENAR_STAGE_SOLVE_CONSTRAINTS]);
        total[i] = 1e-3 * (double)stats->step_ns;
    }
    if (status == THENAR_OK) {
        out->constraints_us = bench_quantile(constraints, steps, 0.5);
        out->total_us = bench_quantile(total, steps, 0.5);
    }
    free(constraints);
    free(total);
    thenar_sim_free(sim);
    return status;
}

static void add_row(const bench_case *c, const char *solver, const figures f[2], table *results) {
    table_add_row(results);
    table_text(results, "scene", "%s%s", c->scene, c->set ? ", closer" : "");
    table_text(results, "solver", "%s", solver);
    table_number(results, "contacts", f[0].contacts);
    table_number(results, "paper_contacts", c->paper_contacts);
    table_number(results, "rows_point", f[0].rows);
    table_number(results, "rows_aggregate", f[1].rows);
    table_number(results, "constraints_point_ms", 1e-3 * f[0].constraints_us);
    table_number(results, "constraints_aggregate_ms", 1e-3 * f[1].constraints_us);
    table_number(results, "falls", 100 * (1 - f[1].constraints_us / f[0].constraints_us));
    table_number(results, "paper_falls", 100 * (1 - c->paper_constraints[1] / c->paper_constraints[0]));
    table_number(results, "total_point_ms", 1e-3 * f[0].total_us);
    table_number(results, "total_aggregate_ms", 1e-3 * f[1].total_us);
    table_number(results, "paper_total_point_ms", c->paper_total[0]);
    table_number(results, "paper_total_aggregate_ms", c->paper_total[1]);
    table_number(results, "unconverged_point", f[0].unconverged);
    table_number(results, "unconverged_aggregate", f[1].unconverged);
}

static thenar_status run_case(const bench_case *c, int steps, table *results, thenar_error *error) {
    static const char *const solvers[] = {"pgs", "newton"};
    char path[SCENE_PATH_SIZE];
    thenar_model *model = NULL;
    thenar_sim *held = NULL;
    thenar_status status = scene_find(c->scene, path, error);
    thenar_scene_options options = {.sets = &c->set, .set_count = c->set != NULL};
    if (status == THENAR_OK) status = thenar_scene_load(path, &options, &model, NULL, error);
    if (status == THENAR_OK) status = thenar_sim_create(model, NULL, &held, error);
    while (status == THENAR_OK && thenar_sim_time(held) < c->held) status = thenar_sim_step(held);
    for (int s = 0; s < 2 && status == THENAR_OK; s++) {
        figures f[2];
        status = measure(held, solvers[s], "point", steps, &f[0], error);
        if (status == THENAR_OK) status = measure(held, solvers[s], "aggregate", steps, &f[1], error);
        if (status == THENAR_OK) add_row(c, solvers[s], f, results);
    }
    thenar_sim_free(held);
    thenar_model_free(model);
    return status;
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    thenar_status status = THENAR_OK;
    table_add_column(results, "scene", "scene", 0);
    table_add_column(results, "solver", "solver", 0);
    table_add_column(results, "contacts", "contacts", 0);
    table_add_column(results, "paper_contacts", "paper", 0);
    table_add_column(results, "rows_point", "rows point", 0);
    table_add_column(results, "rows_aggregate", "aggregate", 0);
    table_add_column(results, "constraints_point_ms", "constraints ms point", 3);
    table_add_column(results, "constraints_aggregate_ms", "aggregate", 3);
    table_add_column(results, "falls", "falls %", 0);
    table_add_column(results, "paper_falls", "paper %", 0);
    table_add_column(results, "total_point_ms", "total ms point", 2);
    table_add_column(results, "total_aggregate_ms", "aggregate", 2);
    table_add_column(results, "paper_total_point_ms", "paper point", 1);
    table_add_column(results, "paper_total_aggregate_ms", "paper aggregate", 1);
    table_add_column(results, "unconverged_point", "unconverged point", 0);
    table_add_column(results, "unconverged_aggregate", "aggregate", 0);
    for (int i = 0; i < CASES && status == THENAR_OK; i++)
        status = run_case(&cases[i], request->repeats ? request->repeats : USUAL_STEPS, results, error);
    return status;
}

const bench_entry bench_aggregate = {.name = "aggregate",
                                     .summary =
                                         "contact by points and by patches on talvas2015's scenes, beside its Table 1",
                                     .run = run};
