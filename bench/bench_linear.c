/* The linear algebra of a free step on three meshes, compared with CHOLMOD on the same matrices in the same run. */
#include "bench/bench.h"

#include "app/command.h"
#include "core/memory.h"
#include "bench/peer.h"
#include "bench/hand_like.h"
#include "world/sim.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HAND_TETS 600
#define SETTLE_STEPS 10 /* the matrix is that of a moving body */
#define ROUNDS 10       /* in which the solvers take turns */

/* A solver with one mesh: ours with a pool, or a peer. */
typedef struct linear_solver {
    char name[64];
    thenar_model *model;
    thenar_sim *sim; /* each of ours has its own, since a step changes it */
    workers *pool;
    const bench_peer *peer; /* NULL: ours */
    void *peer_solver;
    const double *b; /* right-hand side */
    double *x;
    bench_clock assembly, factor, solve, inverse, step; /* the peer has factor and solve only */
} linear_solver;

enum { OURS_ONE, OURS_TWO, PEER_SIMPLICIAL, PEER_SUPERNODAL, SOLVERS };

static void run_assembly(void *context) {
    linear_solver *s = context;
    body_step step = {
        .time = thenar_sim_time(s->sim) + s->sim->dt, .h = s->sim->dt, .gravity = s->model->gravity, .pool = s->pool};
    s->model->bodies[0]->kind->formulate(s->sim->bodies[0], &step, s->sim->systems[0].blocks, s->sim->systems[0].b);
}

static void run_factor(void *context) {
    linear_solver *s = context;
    if (s->peer)
        s->peer->factorize(s->peer_solver);
    else
        system_factor(&s->sim->systems[0], &s->model->systems[0], s->pool);
}

static void run_solve(void *context) {
    linear_solver *s = context;
    memcpy(s->x, s->b, 3 * (size_t)s->model->systems[0].pattern.node_count * sizeof *s->x);
    if (s->peer)
        s->peer->solve(s->peer_solver, s->x);
    else
        cholesky_solve(&s->sim->systems[0].factor, s->x);
}

static void run_inverse(void *context) {
    linear_solver *s = context;
    cholesky_inverse(&s->sim->systems[0].factor, s->pool);
}

static void run_step(void *context) {
    linear_solver *s = context;
    thenar_sim_step(s->sim);
}

static thenar_status create_clocks(linear_solver *s, int repeats, thenar_error *error) {
    thenar_status status = bench_clock_create(&s->factor, run_factor, s, repeats, error);
    if (status == THENAR_OK) status = bench_clock_create(&s->solve, run_solve, s, repeats, error);
    if (status != THENAR_OK || s->peer) return status;
    status = bench_clock_create(&s->assembly, run_assembly, s, repeats, error);
    if (status == THENAR_OK) status = bench_clock_create(&s->inverse, run_inverse, s, repeats, error);
    if (status == THENAR_OK) status = bench_clock_create(&s->step, run_step, s, repeats, error);
    return status;
}

static void free_solver(linear_solver *s) {
    bench_clock *clocks[] = {&s->assembly, &s->factor, &s->solve, &s->inverse, &s->step};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) bench_clock_free(clocks[i]);
    if (s->peer_solver) s->peer->destroy(s->peer_solver);
    thenar_sim_free(s->sim);
    free(s->x);
}

static thenar_status create_ours(linear_solver *s, thenar_model *model, int threads, thenar_error *error) {
    thenar_sim_options options = {
        .size = sizeof(thenar_sim_options), .threads = threads, .contact = THENAR_CONTACT_OF_MODEL};
    thenar_status status = thenar_sim_create(model, &options, &s->sim, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < SETTLE_STEPS; i++) thenar_sim_step(s->sim);
    s->pool = s->sim->pool;
    s->b = s->sim->systems[0].b;
    snprintf(s->name, sizeof s->name, "thenar, %d thread%s, %s", threads, threads > 1 ? "s" : "",
             cholesky_plan_facts(model->systems[0].plan).ordering);
    return THENAR_OK;
}

static bool create_peer(linear_solver *s, const bench_peer *peer, int kind, const linear_solver *ours) {
    s->peer = peer;
    s->peer_solver = peer ? peer->create(&s->model->systems[0].pattern, kind) : NULL;
    if (!s->peer_solver) return false;
    peer->set(s->peer_solver, ours->sim->systems[0].blocks);
    s->b = ours->b;
    snprintf(s->name, sizeof s->name, "%s",
             kind == BENCH_PEER_SIMPLICIAL ? "CHOLMOD simplicial" : "CHOLMOD supernodal, OpenBLAS");
    return true;
}

/* Creates the solvers of one mesh, *count of them, which the caller frees even after an error. */
static thenar_status create_solvers(linear_solver *solvers, int *count, thenar_model *model, const bench_peer *peer,
                                    int repeats, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int i = 0; i < SOLVERS && status == THENAR_OK; i++) {
        linear_solver *s = &solvers[*count];
        s->model = model;
        s->x = MEMORY_ARRAY(double, 3 * (size_t)model->systems[0].pattern.node_count);
        if (i <= OURS_TWO)
            status = create_ours(s, model, i + 1, error);
        else if (!create_peer(s, peer, i == PEER_SIMPLICIAL ? BENCH_PEER_SIMPLICIAL : BENCH_PEER_SUPERNODAL,
                              &solvers[OURS_ONE])) {
            free(s->x);
            continue;
        }
        (*count)++;
        if (status == THENAR_OK && !s->x) status = error_memory(error, "right-hand side");
        if (status == THENAR_OK) status = create_clocks(s, repeats, error);
    }
    return status;
}

static void run_rounds(linear_solver *solvers, int count, int repeats) {
    int each = (repeats + ROUNDS - 1) / ROUNDS;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++) {
            bench_clock_round(&solvers[i].assembly, each);
            bench_clock_round(&solvers[i].factor, each);
            bench_clock_round(&solvers[i].solve, each);
            bench_clock_round(&solvers[i].inverse, each);
            bench_clock_round(&solvers[i].step, each);
        }
}

static void add_rows(table *results, const char *mesh, linear_solver *solvers, int count) {
    const thenar_tet_mesh *tets = thenar_model_mesh(solvers[0].model, 0);
    double single = bench_clock_median(&solvers[OURS_ONE].factor);
    for (int i = 0; i < count; i++) {
        linear_solver *s = &solvers[i];
        table_add_row(results);
        table_text(results, "mesh", "%s", mesh);
        table_number(results, "tets", tets->tet_count);
        table_number(results, "nodes", tets->node_count);
        table_text(results, "solver", "%s", s->name);
        table_number(results, "assembly_us", bench_clock_median(&s->assembly));
        table_number(results, "factor_us", bench_clock_median(&s->factor));
        table_number(results, "factor_ratio", bench_clock_median(&s->factor) / single);
        table_number(results, "solve_us", bench_clock_median(&s->solve));
        table_number(results, "inverse_us", bench_clock_median(&s->inverse));
        table_number(results, "step_us", bench_clock_median(&s->step));
    }
}

static thenar_status measure_mesh(const char *mesh, thenar_model *model, const bench_peer *peer, int repeats,
                                  table *results, thenar_error *error) {
    linear_solver solvers[SOLVERS] = {0};
    int count = 0;
    thenar_status status = create_solvers(solvers, &count, model, peer, repeats, error);
    if (status == THENAR_OK) {
        run_rounds(solvers, count, repeats);
        add_rows(results, mesh, solvers, count);
    }
    for (int i = 0; i < count; i++) free_solver(&solvers[i]);
    return status;
}

static thenar_status hand_flesh_model(thenar_model **model, thenar_error *error) {
    thenar_tet_mesh mesh = {0};
    thenar_status status = shape_hand_like(HAND_TETS, &mesh, error);
    if (status != THENAR_OK) return status;
    thenar_soft_def hand = thenar_soft_def_default();
    thenar_support wrist = {.region = {.kind = THENAR_REGION_HALF, .point = {0, 0.01, 0}, .normal = {0, 1, 0}}};
    hand.name = "hand";
    hand.mesh = &mesh;
    hand.material.young = 0.2e6;
    hand.supports = &wrist;
    hand.support_count = 1;
    status = bench_compile(&hand, model, error);
    thenar_tet_mesh_free(&mesh);
    return status;
}

static thenar_status scene_model(const char *scene, thenar_model **model, thenar_error *error) {
    const option_list none = {0};
    thenar_scene_info info;
    return scene_open(scene, &none, NULL, model, &info, error);
}

/* CHOLMOD is a module beside the program, built where CHOLMOD is installed; the command does not link it. */
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
    memcpy(&entry, &symbol, sizeof entry); /* POSIX lets dlsym return functions; C has no cast for it */
    return entry ? entry() : NULL;
}

static void add_columns(table *results) {
    table_add_column(results, "mesh", "mesh", 0);
    table_add_column(results, "tets", "tets", 0);
    table_add_column(results, "nodes", "nodes", 0);
    table_add_column(results, "solver", "solver", 0);
    table_add_column(results, "assembly_us", "assembly us", 1);
    table_add_column(results, "factor_us", "factor us", 1);
    table_add_column(results, "factor_ratio", "x one thread", 2);
    table_add_column(results, "solve_us", "solve us", 1);
    table_add_column(results, "inverse_us", "selected inverse us", 1);
    table_add_column(results, "step_us", "whole step us", 1);
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    static const char *const names[] = {"beam", "hand-like", "bunny"};
    static const int default_repeats[] = {1000, 500, 50};
    const bench_peer *peer = load_peer();
    if (!peer) printf("CHOLMOD is not installed: its rows are missing\n");
    add_columns(results);
    thenar_status status = THENAR_OK;
    for (int i = 0; i < 3 && status == THENAR_OK; i++) {
        thenar_model *model = NULL;
        status = i == 0   ? scene_model("beam-soft", &model, error)
                 : i == 1 ? hand_flesh_model(&model, error)
                          : scene_model("bunny-soft", &model, error);
        if (status == THENAR_OK)
            status = measure_mesh(names[i], model, peer, request->repeats ? request->repeats : default_repeats[i],
                                  results, error);
        thenar_model_free(model);
    }
    return status;
}

const bench_entry bench_linear = {
    .name = "linear",
    .summary = "assembly, factor, solve and selected inverse, compared with CHOLMOD on the same matrices",
    .run = run};
