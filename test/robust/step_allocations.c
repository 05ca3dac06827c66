/* No step allocates, from the first one on: scenes as they are, with linearized handles published to a haptic loop, with
 * tactile commands worked out and queued for sending. (A recording is written through a buffer of its own; what is
 * allocated there is none of the step's.)
 *
 *   robust_step_allocations [--seconds S] SCENE...
 *
 * Last line: promise, cases, failures, with tabs between. */
#include "allocations.h"

#include "core/threads.h"
#include "thenar/thenar.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 30

/* What is around a simulation while it is watched. */
typedef struct around {
    thenar_sim *sim;
    thenar_tactile *tactile;
    thenar_output *output;
    thenar_haptic *haptic;
    int handles;
} around;

static bool begin(const char *path, around *a, thenar_error *error) {
    *a = (around){0};
    thenar_model *model;
    if (thenar_scene_load(path, NULL, &model, NULL, error) != THENAR_OK) return false;
    bool good = thenar_sim_create(model, NULL, &a->sim, error) == THENAR_OK;
    if (good && thenar_model_tactile_count(model) > 0)
        good = thenar_tactile_create(model, NULL, &a->tactile, error) == THENAR_OK &&
               thenar_output_open(a->tactile, "osc:127.0.0.1:9", 0, &a->output, error) == THENAR_OK;
    a->handles = thenar_model_handle_count(model);
    if (a->handles > THENAR_HAPTIC_HANDLES) a->handles = THENAR_HAPTIC_HANDLES;
    if (good && a->handles > 0) {
        thenar_haptic_handle held[THENAR_HAPTIC_HANDLES];
        for (int i = 0; i < a->handles; i++) held[i] = thenar_haptic_handle_default();
        thenar_haptic_def def = thenar_haptic_def_default();
        def.handles = held;
        def.handle_count = a->handles;
        def.real_time = false;
        good = thenar_haptic_create(&def, &a->haptic, error) == THENAR_OK &&
               thenar_haptic_start(a->haptic, error) == THENAR_OK;
        for (int i = 0; i < a->handles; i++) thenar_sim_linearize_handle(a->sim, i, true);
    }
    thenar_model_free(model);
    return good;
}

static void end(around *a) {
    thenar_output_close(a->output, NULL);
    thenar_haptic_free(a->haptic);
    thenar_tactile_free(a->tactile);
    thenar_sim_free(a->sim);
}

static void tell_haptic(const around *a, int handle) {
    thenar_handle_state state;
    thenar_sim_handle(a->sim, handle, &state);
    thenar_haptic_linear linear = {.time = thenar_sim_time(a->sim),
                                   .step_length = thenar_sim_dt(a->sim),
                                   .step = thenar_sim_step_count(a->sim),
                                   .contacts = state.contacts};
    memcpy(linear.pose, state.pose, sizeof linear.pose);
    memcpy(linear.force, state.force, sizeof linear.force);
    memcpy(linear.stiffness, state.stiffness, sizeof linear.stiffness);
    memcpy(linear.damping, state.damping, sizeof linear.damping);
    memcpy(linear.inertia, state.inertia, sizeof linear.inertia);
    thenar_haptic_publish(a->haptic, handle, &linear);
}

/* The allocations of the steps, and of all that goes with each. */
static long count_allocations(around *a) {
    long before = allocation_count;
    for (int i = 0; i < STEPS; i++) {
        thenar_sim_step(a->sim);
        if (a->tactile) thenar_tactile_update(a->tactile, a->sim);
        if (a->output) thenar_output_push(a->output, a->tactile);
        for (int k = 0; a->haptic && k < a->handles; k++) tell_haptic(a, k);
    }
    return allocation_count - before;
}

int main(int argc, char **argv) {
    int first = 1, cases = 0, failures = 0;
    double seconds = 1e9;
    if (argc > 2 && strcmp(argv[1], "--seconds") == 0) {
        seconds = strtod(argv[2], NULL);
        first = 3;
    }
    int64_t start = clock_now();
    for (int i = first; i < argc && (double)(clock_now() - start) * 1e-9 < seconds; i++) {
        around a;
        thenar_error error = {0};
        bool good = begin(argv[i], &a, &error);
        long count = good ? count_allocations(&a) : 0;
        cases++;
        failures += !good || count > 0;
        if (!good)
            printf("FAILED %s: %s\n", argv[i], error.text);
        else
            printf("%s %s: %ld allocations in %d steps%s%s\n", count ? "FAILED" : "ok", argv[i], count, STEPS,
                   a.tactile ? ", with tactile commands" : "", a.haptic ? ", with a haptic loop" : "");
        end(&a);
        fflush(stdout);
    }
    printf("no allocation in a step\t%d\t%d\n", cases, failures);
    return failures > 0;
}
