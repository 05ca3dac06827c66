/* talvas2015, Table 1: contact by points and by patches, with projected Gauss-Seidel on the constraints, as in the
 * paper (but on the exact cone), and with newton.
 *
 * Each scene runs with newton until its object is held. From that state, 100 steps are made by points and 100 by
 * patches, since the means of the paper are over 100 iterations. Times are medians of one thread: "solve" is the
 * solution of the constraints, "constraints" adds their construction (and the free motion, from which patches are
 * made), "total" is the whole step. The paper has another hand and other contacts; comparable is by how much the time
 * of the constraints falls.
 *
 * The last rows are a flat pad of 375 tets pressed on the ground, with skins of 1, 4 and 16 times as many points:
 * constraints of patches should cost the same for all. */
#include "bench/bench.h"

#include "app/command.h"

#include "thenar/thenar.h"

#include <math.h>
#include <stdlib.h>

#define DEFAULT_STEPS 100
#define PAD 0.014 /* m, side of the flat pad */
#define HEIGHT 0.01
#define CELLS 5     /* per side, of its tets and of its coarsest skin */
#define PRESSED 0.3 /* s */

typedef struct bench_case {
    const char *scene, *set; /* set: an override of the scene, or NULL */
    int finer;               /* 0: a scene; else the pad, with a skin this many times finer per side */
    double held;             /* s: when the object is held */
    double paper_contacts, paper_rows[2], paper_constraints[2], paper_total[2]; /* by points, by patches; ms */
} bench_case;

/* The second grasp of the cube closes by 1.3 mm more. */
static const bench_case cases[] = {
    {"pencil-spin", NULL, 0, 2.5, 33, {52, 12}, {14.91, 4.85}, {25.21, 15.3}},
    {"edge-grasp", NULL, 0, 3, 19, {49, 8}, {14.01, 4.28}, {22.76, 13.05}},
    {"edge-grasp",
     "bodies.hand.poses[3].degrees={thumb: [16.7, 40.3, 17.8, 12.5], index: [44.2, 1.9, 44.4, -0.6]}",
     0,
     3,
     23,
     {62, 8},
     {22.52, 5.26},
     {32.45, 14.53}},
    {"ball-tips", NULL, 0, 3, 37, {86, 22}, {37.78, 10.8}, {59.13, 32.58}},
    {"ball-power", NULL, 0, 3, 84, {233, 32}, {229.74, 15.33}, {254.05, 39.94}},
    {"dumbbell", NULL, 0, 3, 93, {283, 70}, {350.91, 53.42}, {408.26, 116.53}},
    {"flat pad", NULL, 1, PRESSED, NAN, {NAN, NAN}, {NAN, NAN}, {NAN, NAN}},
    {"flat pad, skin 4x", NULL, 2, PRESSED, NAN, {NAN, NAN}, {NAN, NAN}, {NAN, NAN}},
    {"flat pad, skin 16x", NULL, 4, PRESSED, NAN, {NAN, NAN}, {NAN, NAN}, {NAN, NAN}},
};
#define CASES (int)(sizeof cases / sizeof *cases)

/* Results of 100 steps. */
typedef struct figures {
    double contacts, rows, solve_us, constraints_us, total_us;
    int unconverged;
} figures;

/* Makes steps from the state of `held`. */
static thenar_status measure(const thenar_sim *held, const char *solver, const char *contact, int steps, figures *out,
                             thenar_error *error) {
    *out = (figures){0};
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .solver = solver ? (thenar_solver)thenar_solver_find(solver) : THENAR_SOLVER_NEWTON,
                                  .friction = THENAR_FRICTION_CONE,
                                  .contact = (thenar_contact_method)thenar_contact_method_find(contact)};
    thenar_sim *sim = NULL;
    double *solve = NEW_ARRAY(double, steps), *constraints = NEW_ARRAY(double, steps),
           *total = NEW_ARRAY(double, steps);
    thenar_status status = solve && constraints && total ? THENAR_OK : fail_memory(error, "benchmark");
    if (status == THENAR_OK) status = thenar_sim_create(thenar_sim_model(held), &options, &sim, error);
    if (status == THENAR_OK) status = thenar_sim_continue(sim, held, error);
    for (int i = 0; i < steps && status == THENAR_OK; i++) {
        thenar_sim_step(sim);
        const thenar_stats *stats = thenar_sim_stats(sim);
        out->contacts += (double)stats->contacts / steps;
        out->rows += (double)stats->rows / steps;
        out->unconverged += stats->unconverged > 0;
        solve[i] = 1e-3 * (double)stats->stage_ns[THENAR_STAGE_SOLVE_CONSTRAINTS];
        constraints[i] = 1e-3 * (double)(stats->stage_ns[THENAR_STAGE_BUILD_CONSTRAINTS] +
                                         stats->stage_ns[THENAR_STAGE_FREE_MOTION] +
                                         stats->stage_ns[THENAR_STAGE_SOLVE_CONSTRAINTS]);
        total[i] = 1e-3 * (double)stats->step_ns;
    }
    if (status == THENAR_OK) {
        out->solve_us = bench_quantile(solve, steps, 0.5);
        out->constraints_us = bench_quantile(constraints, steps, 0.5);
        out->total_us = bench_quantile(total, steps, 0.5);
    }
    free(solve);
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
    table_number(results, "solve_point_ms", 1e-3 * f[0].solve_us);
    table_number(results, "solve_aggregate_ms", 1e-3 * f[1].solve_us);
    table_number(results, "solve_reduction", 100 * (1 - f[1].solve_us / f[0].solve_us));
    table_number(results, "constraints_point_ms", 1e-3 * f[0].constraints_us);
    table_number(results, "constraints_aggregate_ms", 1e-3 * f[1].constraints_us);
    table_number(results, "reduction", 100 * (1 - f[1].constraints_us / f[0].constraints_us));
    table_number(results, "paper_reduction", 100 * (1 - c->paper_constraints[1] / c->paper_constraints[0]));
    table_number(results, "total_point_ms", 1e-3 * f[0].total_us);
    table_number(results, "total_aggregate_ms", 1e-3 * f[1].total_us);
    table_number(results, "paper_total_point_ms", c->paper_total[0]);
    table_number(results, "paper_total_aggregate_ms", c->paper_total[1]);
    table_number(results, "unconverged_point", f[0].unconverged);
    table_number(results, "unconverged_aggregate", f[1].unconverged);
}

static thenar_status load_scene(const bench_case *c, thenar_model **model, thenar_error *error) {
    char path[SCENE_PATH_SIZE];
    thenar_status status = scene_find(c->scene, path, error);
    thenar_scene_options options = {.size = sizeof(thenar_scene_options), .sets = &c->set, .set_count = c->set != NULL};
    return status == THENAR_OK ? thenar_scene_load(path, &options, model, NULL, error) : status;
}

/* The top of the pad is held and moves down by 1 mm. */
static thenar_status build_pad(thenar_build *build, const thenar_tet_mesh *mesh, const thenar_surface *skin,
                               const thenar_embedding *embedding, thenar_error *error) {
    static const thenar_key keys[] = {{.time = 0}, {.time = 0.2, .move = {0, -1e-3, 0}}};
    thenar_support top = {.name = "top", .keys = keys, .key_count = 2};
    top.region = (thenar_region){.kind = THENAR_REGION_BOX, .box_min = {-1, HEIGHT, -1}, .box_max = {1, HEIGHT, 1}};
    thenar_soft_def pad = thenar_soft_def_default();
    pad.name = "pad";
    pad.mesh = mesh;
    pad.surface = skin;
    pad.embedding = embedding;
    pad.supports = &top;
    pad.support_count = 1;
    thenar_rigid_def ground = thenar_rigid_def_default();
    ground.name = "ground";
    ground.motion = THENAR_MOTION_STATIC;
    ground.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    thenar_status status = thenar_build_add_soft(build, &pad, error);
    return status == THENAR_OK ? thenar_build_add_rigid(build, &ground, error) : status;
}

static thenar_status make_pad(const bench_case *c, thenar_model **model, thenar_error *error) {
    const double low[3] = {-PAD / 2, 0, -PAD / 2}, high[3] = {PAD / 2, HEIGHT, PAD / 2};
    const int coarse[3] = {CELLS, 3, CELLS}, fine[3] = {CELLS * c->finer, 3, CELLS * c->finer};
    thenar_tet_mesh mesh = {0}, finer = {0};
    thenar_surface skin = {0};
    thenar_embedding embedding = {0};
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    int outside;
    thenar_status status = build ? THENAR_OK : fail_memory(error, "a pad");
    if (status == THENAR_OK) status = thenar_tet_mesh_box(low, high, coarse, THENAR_LATTICE_CUBE, &mesh, error);
    if (status == THENAR_OK) status = thenar_tet_mesh_box(low, high, fine, THENAR_LATTICE_CUBE, &finer, error);
    if (status == THENAR_OK) status = thenar_tet_mesh_surface(&finer, &skin, NULL, error);
    if (status == THENAR_OK) status = thenar_embedding_create(&mesh, &skin, &embedding, &outside, error);
    if (status == THENAR_OK) status = build_pad(build, &mesh, &skin, &embedding, error);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    thenar_embedding_free(&embedding);
    thenar_surface_free(&skin);
    thenar_tet_mesh_free(&finer);
    thenar_tet_mesh_free(&mesh);
    return status;
}

static thenar_status run_case(const bench_case *c, int steps, table *results, thenar_error *error) {
    static const char *const solvers[] = {"pgs", "newton"};
    thenar_model *model = NULL;
    thenar_sim *held = NULL;
    thenar_status status = c->finer > 0 ? make_pad(c, &model, error) : load_scene(c, &model, error);
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
    table_add_column(results, "solve_point_ms", "solve ms point", 3);
    table_add_column(results, "solve_aggregate_ms", "aggregate", 3);
    table_add_column(results, "solve_reduction", "reduction %", 0);
    table_add_column(results, "constraints_point_ms", "constraints ms point", 3);
    table_add_column(results, "constraints_aggregate_ms", "aggregate", 3);
    table_add_column(results, "reduction", "reduction %", 0);
    table_add_column(results, "paper_reduction", "paper %", 0);
    table_add_column(results, "total_point_ms", "total ms point", 2);
    table_add_column(results, "total_aggregate_ms", "aggregate", 2);
    table_add_column(results, "paper_total_point_ms", "paper point", 1);
    table_add_column(results, "paper_total_aggregate_ms", "paper aggregate", 1);
    table_add_column(results, "unconverged_point", "unconverged point", 0);
    table_add_column(results, "unconverged_aggregate", "aggregate", 0);
    for (int i = 0; i < CASES && status == THENAR_OK; i++)
        status = run_case(&cases[i], request->repeats ? request->repeats : DEFAULT_STEPS, results, error);
    return status;
}

const bench_entry bench_aggregate = {.name = "aggregate",
                                     .summary = "contact by points and by patches, compared with Table 1 of talvas2015",
                                     .run = run};
