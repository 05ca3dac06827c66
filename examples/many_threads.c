/* One model, many simulations: eight threads each run their own, some with worker threads of their own. They
 * must all come to the same state, bit for bit.
 *
 *     cc many_threads.c -o many_threads -pthread $(pkg-config --cflags --libs thenar-io)
 *     ./many_threads beam-soft
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <thenar/thenar.h>

enum { RUNS = 8, STEPS = 200 };

typedef struct run {
    const thenar_model *model;
    int workers;
    uint64_t hash;
    thenar_status status;
    thenar_error error;
} run;

static void *simulate(void *argument) {
    run *self = argument;
    thenar_sim_options options = thenar_sim_options_default();
    options.threads = self->workers;
    thenar_sim *sim;
    self->status = thenar_sim_create(self->model, &options, &sim, &self->error);
    if (self->status != THENAR_OK) return NULL;
    for (int step = 0; step < STEPS; step++) thenar_sim_step(sim);
    self->hash = thenar_sim_hash(sim);
    thenar_sim_free(sim);
    return NULL;
}

int main(int argc, char **argv) {
    thenar_error error;
    thenar_model *model;
    if (argc != 2) return fprintf(stderr, "usage: many_threads SCENE.yaml\n"), 2;
    if (thenar_scene_load(argv[1], NULL, &model, NULL, &error) != THENAR_OK)
        return fprintf(stderr, "%s\n", error.text), 1;

    pthread_t threads[RUNS];
    run runs[RUNS] = {{0}};
    for (int i = 0; i < RUNS; i++) {
        runs[i] = (run){.model = model, .workers = 1 + i % 3};
        if (pthread_create(&threads[i], NULL, simulate, &runs[i]) != 0) return 1;
    }
    /* A simulation keeps its model alive once it is created, not before: join first, free then. */
    for (int i = 0; i < RUNS; i++) pthread_join(threads[i], NULL);
    thenar_model_free(model);

    int different = 0;
    for (int i = 0; i < RUNS; i++) {
        if (runs[i].status != THENAR_OK) return fprintf(stderr, "%s\n", runs[i].error.text), 1;
        printf("run %d, %d workers: state %016" PRIx64 "\n", i, runs[i].workers, runs[i].hash);
        different += runs[i].hash != runs[0].hash;
    }
    printf(different ? "THE STATES DIFFER\n" : "all states agree\n");
    return different != 0;
}
