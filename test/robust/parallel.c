/* Many simulations of one model side by side end where they end one after the other.
 * usage: robust_parallel SIMS STEPS SCENE.yaml...
 * Each simulation is pushed in a way of its own, so that no two are alike. The last line is "cases<TAB>failures". */
#include "core/memory.h"

#include "thenar/thenar.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct one_sim {
    const thenar_model *model;
    int number, steps;
    uint64_t hash;
} one_sim;

static void push(thenar_sim *sim, int number) {
    const thenar_model *model = thenar_sim_model(sim);
    const double force[3] = {1e-3 * number, 2e-3 * number, -1e-3 * number}, torque[3] = {0, 1e-5 * number, 0};
    for (int body = 0; body < thenar_model_body_count(model); body++) {
        if (thenar_model_body_kind(model, body) == THENAR_BODY_RIGID)
            thenar_sim_apply_wrench(sim, body, force, torque);
        else
            thenar_sim_apply_force(sim, body, number % thenar_model_mesh(model, body)->node_count, force);
    }
}

static void *simulate(void *context) {
    one_sim *one = context;
    thenar_sim *sim;
    thenar_error error;
    if (thenar_sim_create(one->model, NULL, &sim, &error) != THENAR_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    push(sim, one->number);
    for (int i = 0; i < one->steps; i++) thenar_sim_step(sim);
    one->hash = thenar_sim_hash(sim);
    thenar_sim_free(sim);
    return NULL;
}

static int compare(const thenar_model *model, const char *scene, int sims, int steps) {
    one_sim *alone = MEMORY_ARRAY(one_sim, sims), *together = MEMORY_ARRAY(one_sim, sims);
    pthread_t *threads = MEMORY_ARRAY(pthread_t, sims);
    int failures = 0;
    for (int i = 0; i < sims; i++) {
        alone[i] = together[i] = (one_sim){.model = model, .number = i, .steps = steps};
        simulate(&alone[i]);
    }
    for (int i = 0; i < sims; i++)
        if (pthread_create(&threads[i], NULL, simulate, &together[i]) != 0) exit(1);
    for (int i = 0; i < sims; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < sims; i++) {
        bool same = alone[i].hash == together[i].hash, unlike = i == 0 || alone[i].hash != alone[0].hash;
        if (same && unlike) continue;
        failures++;
        printf("FAILED: %s: simulation %d of %d after %d steps: %016" PRIx64 " alone, %016" PRIx64 " among others%s\n",
               scene, i, sims, steps, alone[i].hash, together[i].hash, unlike ? "" : "; it does not feel its push");
    }
    free(alone);
    free(together);
    free(threads);
    return failures;
}

int main(int argc, char **argv) {
    int sims = argc > 3 ? atoi(argv[1]) : 0, steps = argc > 3 ? atoi(argv[2]) : 0, cases = 0, failures = 0;
    if (sims < 1 || steps < 1) {
        fprintf(stderr, "usage: %s SIMS STEPS SCENE.yaml...\n", argv[0]);
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        thenar_error error;
        thenar_model *model;
        if (thenar_scene_load(argv[i], NULL, &model, NULL, &error) != THENAR_OK) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        failures += compare(model, argv[i], sims, steps);
        cases += sims;
        thenar_model_free(model);
    }
    printf("%d\t%d\n", cases, failures);
    return failures > 0;
}
