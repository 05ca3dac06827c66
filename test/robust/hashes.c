/* Prints the state hashes of scenes: what the determinism check compares over threads, compilers and processes.
 * usage: robust_hashes --steps N,N,... --threads N,N,... SCENE.yaml...
 * A line is "scene<TAB>steps<TAB>threads<TAB>hash". Steps that are impossible are part of what is compared. */
#include "thenar/thenar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX 16

typedef struct numbers {
    int count;
    long value[MAX];
} numbers;

static bool read_numbers(const char *text, numbers *out) {
    for (out->count = 0; out->count < MAX; text++) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end == text || value < 1) return false;
        out->value[out->count++] = value;
        if (!*end) return true;
        text = end;
    }
    return false;
}

static bool contains(const numbers *list, long value) {
    for (int i = 0; i < list->count; i++)
        if (list->value[i] == value) return true;
    return false;
}

static thenar_status hash_run(const thenar_model *model, const char *name, int threads, const numbers *steps,
                              thenar_error *error) {
    thenar_sim_options options = thenar_sim_options_default();
    options.threads = threads;
    thenar_sim *sim;
    thenar_status status = thenar_sim_create(model, &options, &sim, error);
    if (status != THENAR_OK) return status;
    long last = 0;
    for (int i = 0; i < steps->count; i++)
        if (steps->value[i] > last) last = steps->value[i];
    for (long step = 1; step <= last; step++) {
        thenar_sim_step(sim);
        if (contains(steps, step)) printf("%s\t%ld\t%d\t%016" PRIx64 "\n", name, step, threads, thenar_sim_hash(sim));
    }
    fflush(stdout);
    thenar_sim_free(sim);
    return THENAR_OK;
}

/* "scenes/pinch.yaml" is pinch. */
static const char *scene_name(const char *path, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot) *dot = 0;
    return name;
}

int main(int argc, char **argv) {
    numbers steps = {0}, threads = {0};
    if (argc < 6 || strcmp(argv[1], "--steps") != 0 || !read_numbers(argv[2], &steps) ||
        strcmp(argv[3], "--threads") != 0 || !read_numbers(argv[4], &threads)) {
        fprintf(stderr, "usage: %s --steps N,N,... --threads N,N,... SCENE.yaml...\n", argv[0]);
        return 2;
    }
    for (int i = 5; i < argc; i++) {
        char name[256];
        thenar_error error;
        thenar_model *model;
        thenar_status status = thenar_scene_load(argv[i], NULL, &model, NULL, &error);
        for (int t = 0; t < threads.count && status == THENAR_OK; t++)
            status = hash_run(model, scene_name(argv[i], name, sizeof name), (int)threads.value[t], &steps, &error);
        if (status != THENAR_OK) {
            fprintf(stderr, "%s\n", error.text);
            return 1;
        }
        thenar_model_free(model);
    }
    return 0;
}
