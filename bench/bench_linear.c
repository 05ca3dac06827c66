/* The linear algebra of a free step, on three meshes, beside CHOLMOD on the same matrices in the same run. */
#include "bench/bench.h"

#include "app/scene_open.h"
#include "base/memory.h"
#include "bench/peer.h"
#include "shape/hand_like.h"
#include "world/sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HAND_TETS 600
#define SETTLE_STEPS 10 /* the matrix is taken from a body in motion, not at rest */

/* One mesh at a time. */
typedef struct linear_case {
    const char *name;
    thenar_model *model;
    thenar_sim *sim;
    double *x; /* right-hand side and solution */
    workers *pool;
    const bench_peer *peer;
    void *peer_solver;
    int repeats;
} linear_case;

static thenar_status hand_model(thenar_model **model, thenar_error *error) {
    thenar_tet_mesh mesh = {0};
    thenar_status status = shape_hand_like(HAND_TETS, &mesh, error);
    if (status != THENAR_OK) return status;
    thenar_world_def world = thenar_world_def_default();
    thenar_soft_def hand = thenar_soft_def_default();
    thenar_support wrist = {.region = {.kind = THENAR_REGION_HALF, .a = {0, 0.01, 0}, .b = {0, 1, 0}}};
    hand.name = "hand";
    hand.mesh = &mesh;
    hand.material.young = 0.2e6;
    hand.supports = &wrist;
    hand.support_count = 1;
    thenar_build *build = thenar_build_create(&world);
    status = build ? thenar_build_add_soft(build, &hand, error) : error_memory(error, "hand");
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
    return status;
}

static thenar_status scene_model(const char *scene, thenar_model **model, thenar_error *error) {
    const option_list none = {0};
    thenar_scene_info info;
    return scene_open(scene, &none, model, &info, error);
}

static body_step step_of(const linear_case *c) {
    return (body_step){.time = thenar_sim_time(c->sim) + c->sim->dt,
                       .h = c->sim->dt,
                       .gravity = c->model->gravity,
                       .pool = c->pool};
}

/* What is measured. */
static void measure_assembly(void *context) {
    linear_case *c = context;
    body_step step = step_of(c);
    c->model->bodies[0]->kind->formulate(c->sim->bodies[0], &step, c->sim->systems[0].blocks, c->sim->systems[0].b);
}
static void measure_factor(void *context) {
    linear_case *c = context;
    system_factor(&c->sim->systems[0], &c->model->systems[0], c->pool);
}
static void measure_solve(void *context) {
    linear_case *c = context;
    system_solve(&c->sim->systems[0], &c->model->systems[0]);
}
static void measure_inverse(void *context) {
    linear_case *c = context;
    cholesky_inverse(&c->sim->systems[0].factor, c->pool);
}
static void measure_step(void *context) {
    linear_case *c = context;
    thenar_sim_step(c->sim);
}
static void measure_peer_factor(void *context) {
    linear_case *c = context;
    c->peer->factorize(c->peer_solver);
}
static void measure_peer_solve(void *context) {
    linear_case *c = context;
    memcpy(c->x, c->sim->systems[0].b, 3 * (size_t)c->model->systems[0].pattern.node_count * sizeof *c->x);
    c->peer->solve(c->peer_solver, c->x);
}

static void add_row(table *results, const linear_case *c, const char *solver) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(c->model, 0);
    table_add_row(results);
    table_text(results, "mesh", "%s", c->name);
    table_number(results, "tets", mesh->tet_count);
    table_number(results, "nodes", mesh->node_count);
    table_text(results, "solver", "%s", solver);
}

/* Rows of our own: one thread, then two. Returns the factor's time on one thread. */
static double measure_ours(linear_case *c, table *results, workers *pair) {
    double single = 0;
    for (int threads = 1; threads <= 2; threads++) {
        char solver[64];
        snprintf(solver, sizeof solver, "thenar, %d thread%s, %s", threads, threads > 1 ? "s" : "",
                 cholesky_plan_facts(c->model->systems[0].plan).ordering);
        c->pool = threads > 1 ? pair : NULL;
        c->sim->pool = c->pool;
        double assembly = bench_median_us(c->repeats, measure_assembly, c);
        double factor = bench_median_us(c->repeats, measure_factor, c);
        if (threads == 1) single = factor;
        add_row(results, c, solver);
        table_number(results, "assembly_us", assembly);
        table_number(results, "factor_us", factor);
        table_number(results, "factor_ratio", factor / single);
        table_number(results, "solve_us", bench_median_us(c->repeats, measure_solve, c));
        table_number(results, "inverse_us", bench_median_us(c->repeats, measure_inverse, c));
        table_number(results, "step_us", bench_median_us(c->repeats, measure_step, c));
    }
    c->sim->pool = NULL;
    return single;
}

static void measure_peer(linear_case *c, table *results, int kind, const char *name, double single) {
    c->peer_solver = c->peer->create(&c->model->systems[0].pattern, kind);
    if (!c->peer_solver) return;
    c->peer->set(c->peer_solver, c->sim->systems[0].blocks);
    double factor = bench_median_us(c->repeats, measure_peer_factor, c);
    add_row(results, c, name);
    table_number(results, "factor_us", factor);
    table_number(results, "factor_ratio", factor / single);
    table_number(results, "solve_us", bench_median_us(c->repeats, measure_peer_solve, c));
    c->peer->destroy(c->peer_solver);
}

static thenar_status measure_case(linear_case *c, table *results, workers *pair, thenar_error *error) {
    thenar_status status = thenar_sim_create(c->model, NULL, &c->sim, error);
    c->x = MEMORY_ARRAY(double, 3 * (size_t)c->model->systems[0].pattern.node_count);
    if (status == THENAR_OK && !c->x) status = error_memory(error, "right-hand side");
    if (status == THENAR_OK) {
        workers *own = c->sim->pool;
        for (int i = 0; i < SETTLE_STEPS; i++) thenar_sim_step(c->sim);
        double single = measure_ours(c, results, pair);
        if (c->peer) measure_peer(c, results, BENCH_PEER_SIMPLICIAL, "CHOLMOD simplicial", single);
        if (c->peer) measure_peer(c, results, BENCH_PEER_SUPERNODAL, "CHOLMOD supernodal, OpenBLAS", single);
        c->sim->pool = own;
    }
    free(c->x);
    thenar_sim_free(c->sim);
    return status;
}

/* CHOLMOD comes as a module beside the program, built where CHOLMOD is installed; the command links nothing of it. */
static const bench_peer *load_peer(void) {
    char path[4200];
    ssize_t length = readlink("/proc/self/exe", path, 4096);
    if (length <= 0) return NULL;
    path[length] = 0;
    snprintf(strrchr(path, '/'), 64, "/bench/peer_cholmod.so");
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) return NULL;
    bench_peer_entry entry;
    void *symbol = dlsym(module, BENCH_PEER_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry); /* the way POSIX gives from a data to a function pointer */
    return entry ? entry() : NULL;
}

static void add_columns(table *results) {
    table_add_column(results, "mesh", "mesh", 0);
    table_add_column(results, "tets", "tets", 0);
    table_add_column(results, "nodes", "nodes", 0);
    table_add_column(results, "solver", "solver", 0);
    table_add_column(results, "assembly_us", "assembly us", 1);
    table_add_column(results, "factor_us", "factor us", 1);
    table_add_column(results, "factor_ratio", "x ours", 2);
    table_add_column(results, "solve_us", "solve us", 1);
    table_add_column(results, "inverse_us", "selected inverse us", 1);
    table_add_column(results, "step_us", "whole step us", 1);
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    static const char *const names[] = {"beam", "hand-like", "bunny"};
    static const int usual_repeats[] = {1001, 501, 51};
    workers *pair;
    thenar_status status = workers_create(2, &pair, error);
    if (status != THENAR_OK) return status;
    const bench_peer *peer = load_peer();
    if (!peer) printf("CHOLMOD is not installed: its rows are missing\n");
    add_columns(results);
    for (int i = 0; i < 3 && status == THENAR_OK; i++) {
        linear_case c = {.name = names[i], .peer = peer, .repeats = request->repeats ? request->repeats : usual_repeats[i]};
        status = i == 0   ? scene_model("beam-soft", &c.model, error)
                 : i == 1 ? hand_model(&c.model, error)
                          : scene_model("bunny-soft", &c.model, error);
        if (status != THENAR_OK) break;
        status = measure_case(&c, results, pair, error);
        thenar_model_free(c.model);
    }
    workers_free(pair);
    return status;
}

const bench_entry bench_linear = {
    .name = "linear", .summary = "assembly, factor, solve and selected inverse, beside CHOLMOD on the same matrices", .run = run};
