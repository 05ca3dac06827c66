/* Times the sparse solver on three meshes beside CHOLMOD in the same run: medians in microseconds, one
 * thread, and two threads where the plan has pieces for them. `bench_sparse ours` leaves CHOLMOD out. */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/peer.h"
#include "box_mesh.h"
#include "sparse/cholesky.h"

#include <dlfcn.h>
#include <stdio.h>

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Median time of a statement in microseconds over `repeats` runs. */
#define MEDIAN(result, repeats, statement)                                                                   \
    do {                                                                                                     \
        static double samples[4000];                                                                         \
        for (int sample = 0; sample < (repeats); sample++) {                                                 \
            int64_t begin = clock_now();                                                                     \
            statement;                                                                                       \
            samples[sample] = (double)(clock_now() - begin) * 1e-3;                                          \
        }                                                                                                    \
        qsort(samples, (size_t)(repeats), sizeof *samples, compare_doubles);                                 \
        (result) = samples[(repeats) / 2];                                                                   \
    } while (0)

static void time_ours(const block_pattern *pattern, const box_mesh *mesh, const double *blocks, double *x,
                      int repeats, cholesky_ordering ordering, workers *pool) {
    thenar_error error;
    cholesky_plan *plan;
    if (cholesky_plan_create(pattern, &(cholesky_options){.ordering = ordering}, &plan, &error) != THENAR_OK)
        exit(1);
    cholesky_factor factor = {0};
    arena measure = {0};
    cholesky_factor_layout(&factor, plan, &measure);
    void *memory = memory_aligned(measure.used);
    arena carve = arena_on(memory, measure.used);
    cholesky_factor_layout(&factor, plan, &carve);
    cholesky_location *locations = MEMORY_ARRAY(cholesky_location, mesh->tet_count);
    for (int t = 0; t < mesh->tet_count; t++)
        if (!cholesky_locate(plan, mesh->tets + 4 * t, &locations[t])) exit(1);
    double factorize, solve, eight, inverse, gather, two_factorize = 0, two_inverse = 0, out[144];
    MEDIAN(factorize, repeats, cholesky_factorize(&factor, blocks, NULL));
    MEDIAN(solve, repeats, cholesky_solve(&factor, x));
    MEDIAN(eight, repeats, cholesky_solve_eight(&factor, x));
    MEDIAN(inverse, repeats, cholesky_inverse(&factor, NULL));
    MEDIAN(gather, repeats,
           for (int t = 0; t < mesh->tet_count; t++) cholesky_inverse_gather(&factor, &locations[t], out));
    cholesky_facts facts = cholesky_plan_facts(plan);
    if (facts.piece_count > 0) {
        MEDIAN(two_factorize, repeats, cholesky_factorize(&factor, blocks, pool));
        MEDIAN(two_inverse, repeats, cholesky_inverse(&factor, pool));
    }
    printf(
        "  %-8s factor %8.1f (%4.1f Gflop/s)  solve %6.1f  eight %6.1f  inverse %8.1f (%.2f)  gather %6.1f",
        facts.ordering, factorize, facts.flops / factorize * 1e-3, solve, eight, inverse, inverse / factorize,
        gather);
    if (facts.piece_count > 0) printf("  2 threads: factor %8.1f inverse %8.1f", two_factorize, two_inverse);
    printf("  [%.2f Mflop, %.0f in L, %d fronts, %d pieces, %.1f MB]\n", facts.flops * 1e-6, facts.nonzeros,
           facts.front_count, facts.piece_count, (double)measure.used * 1e-6);
    free(locations);
    free(memory);
    cholesky_plan_free(plan);
}

static void time_peer(const bench_peer *peer, const block_pattern *pattern, const double *blocks, double *x,
                      int repeats) {
    for (int kind = BENCH_PEER_SIMPLICIAL; kind <= BENCH_PEER_SUPERNODAL; kind++) {
        void *solver = peer->create(pattern, kind);
        if (!solver) exit(1);
        double factorize, solve;
        peer->set(solver, blocks);
        MEDIAN(factorize, repeats, peer->factorize(solver));
        MEDIAN(solve, repeats, peer->solve(solver, x));
        printf("  %s %-10s factor %8.1f  solve %7.1f  [%.0f in L]\n", peer->name,
               kind ? "supernodal" : "simplicial", factorize, solve, peer->nonzeros(solver));
        peer->destroy(solver);
    }
}

static void run(const char *name, box_mesh mesh, int repeats, const bench_peer *peer, workers *pool) {
    thenar_error error;
    block_pattern pattern;
    if (block_pattern_create(mesh.node_count, mesh.tet_count, mesh.start, mesh.tets, &pattern, &error) !=
        THENAR_OK)
        exit(1);
    printf("%s: %d tets, %d nodes, %d blocks\n", name, mesh.tet_count, mesh.node_count, pattern.block_count);
    double *blocks = random_matrix(&pattern, 1), *x = MEMORY_ARRAY(double, 24 * (size_t)mesh.node_count);
    for (int i = 0; i < 24 * mesh.node_count; i++) x[i] = 1;
    time_ours(&pattern, &mesh, blocks, x, repeats, CHOLESKY_ORDERING_AMD, pool);
    time_ours(&pattern, &mesh, blocks, x, repeats, CHOLESKY_ORDERING_METIS, pool);
    if (peer) time_peer(peer, &pattern, blocks, x, repeats);
    free(blocks);
    free(x);
    block_pattern_free(&pattern);
    box_mesh_free(&mesh);
}

int main(int argc, char **argv) {
    bool alone = argc > 1 && strcmp(argv[1], "ours") == 0;
    void *module = alone ? NULL : dlopen(PEER_CHOLMOD, RTLD_NOW);
    bench_peer_entry entry = NULL;
    if (module) *(void **)&entry = dlsym(module, BENCH_PEER_SYMBOL);
    workers *pool;
    thenar_error error;
    if (workers_create(2, &pool, &error) != THENAR_OK) return 1;
    run("beam", box_mesh_create(10, 2, 2, NULL), 2000, entry ? entry() : NULL, pool);
    run("hand", box_mesh_create(11, 9, 2, box_mesh_hand), 1000, entry ? entry() : NULL, pool);
    run("block", box_mesh_create(16, 9, 8, NULL), 100, entry ? entry() : NULL, pool);
    workers_free(pool);
    if (module) dlclose(module);
    return 0;
}
