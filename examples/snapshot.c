/* Going back in time: a snapshot is taken, the simulation goes on, the snapshot is restored, and the same
 * future follows, bit for bit. This is what planners need, and networked worlds.
 *
 *     cc snapshot.c -o snapshot $(pkg-config --cflags --libs thenar-io)
 *     ./snapshot beam-soft
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <thenar/thenar.h>

static uint64_t hash_after(thenar_sim *sim, int steps) {
    for (int i = 0; i < steps; i++) thenar_sim_step(sim);
    printf("%.2f s: state %016" PRIx64 "\n", thenar_sim_time(sim), thenar_sim_hash(sim));
    return thenar_sim_hash(sim);
}

int main(int argc, char **argv) {
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    if (argc != 2) return fprintf(stderr, "usage: snapshot SCENE.yaml\n"), 2;
    if (thenar_scene_load(argv[1], NULL, &model, NULL, &error) != THENAR_OK ||
        thenar_sim_create(model, NULL, &sim, &error) != THENAR_OK)
        return fprintf(stderr, "%s\n", error.text), 1;

    uint64_t then = hash_after(sim, 50);
    size_t size = thenar_sim_snapshot_size(sim);
    void *snapshot = malloc(size);
    if (!snapshot) return 1;
    thenar_sim_snapshot(sim, snapshot);
    uint64_t first_future = hash_after(sim, 100);

    printf("back, from a snapshot of %zu bytes\n", size);
    if (thenar_sim_restore(sim, snapshot, size, &error) != THENAR_OK) return fprintf(stderr, "%s\n", error.text), 1;
    uint64_t again = hash_after(sim, 0);
    uint64_t second_future = hash_after(sim, 100);
    int same = then == again && first_future == second_future && first_future != then;
    printf(same ? "the same future twice\n" : "THE FUTURES DIFFER\n");

    free(snapshot);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return !same;
}
