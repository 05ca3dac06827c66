/* Memory that runs out while a scene is loaded and simulations, tactile devices and a recorder are made of it: every
 * allocation in turn, or as many of them, evenly spread, as there is time for. Each time there must be an error that
 * says so, or a success; nothing is leaked and nothing is half-built.
 *
 *   robust_failing_scenes [--seconds S] SCENE...
 *
 * Last line: promise, cases, failures, with tabs between. */
#include "failing_memory.h"

#if FAILING_MEMORY

#include "core/threads.h"
#include "thenar/thenar.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static thenar_status use_model(thenar_model *model, thenar_error *error) {
    thenar_sim *sim = NULL;
    thenar_tactile *tactile = NULL;
    thenar_status status = thenar_sim_create(model, NULL, &sim, error);
    if ((status == THENAR_OK) != (sim != NULL)) fail_msg("half a simulation");
    if (status == THENAR_OK && thenar_model_tactile_count(model) > 0) {
        status = thenar_tactile_create(model, NULL, &tactile, error);
        if ((status == THENAR_OK) != (tactile != NULL)) fail_msg("half a tactile device");
    }
    if (status == THENAR_OK) thenar_sim_step(sim);
    if (status == THENAR_OK && tactile) thenar_tactile_update(tactile, sim);
    thenar_tactile_free(tactile);
    thenar_sim_free(sim);
    return status;
}

static thenar_status use_scene(void *path, thenar_error *error) {
    thenar_model *model = NULL;
    thenar_status status = thenar_scene_load(path, NULL, &model, NULL, error);
    if ((status == THENAR_OK) != (model != NULL)) fail_msg("half a model");
    if (status == THENAR_OK) status = use_model(model, error);
    thenar_model_free(model);
    return status;
}

#define TOLD 9

static const char *scene;
static double budget;
static failing_memory_count result;

/* How many allocations the scene takes: one that fails for the first time beyond that many. */
static long count_all(char *path) {
    thenar_error error;
    const long many = 1L << 40;
    memory_until_failure = many;
    thenar_status status = use_scene(path, &error);
    long used = many - memory_until_failure;
    memory_until_failure = -1;
    assert_ok(status, error);
    return used;
}

static void a_scene_is_loaded_whole_or_not_at_all(void **unused) {
    (void)unused;
    char *path = (char *)(uintptr_t)scene;
    int64_t start = clock_now();
    long all = count_all(path);
    /* A try takes half as long as all of it, on average. */
    double each = 0.5e-9 * (double)(clock_now() - start), stride = ceil(2 * (double)all * each / budget);
    if (stride < 1) stride = 1;
    for (int once = 0; once < 2; once++) {
        failing_memory_count count = failing_memory_sample(use_scene, path, once, (int)stride);
        result.failed += count.failed;
        result.refused += count.refused;
    }
    dprintf(TOLD, "%s: %ld allocations, every %.0f. of them failed: %ld times, %ld errors\n", scene, all, stride,
            result.failed, result.refused);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_scene_is_loaded_whole_or_not_at_all),
};

/* The child's part. METIS and cmocka have much to say; what is for the reader goes to descriptor TOLD. */
static int run_scene(const char *path) {
    dup2(STDOUT_FILENO, TOLD);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    scene = path;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv) {
    int first = 1, failures = 0;
    double seconds = 60;
    if (argc > 2 && strcmp(argv[1], "--seconds") == 0) {
        seconds = strtod(argv[2], NULL);
        first = 3;
    }
    budget = seconds / fmax(1, argc - first);
    for (int i = first; i < argc; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) exit(run_scene(argv[i]));
        int status = -1;
        waitpid(child, &status, 0);
        failures += status != 0;
        if (status != 0)
            printf("FAILED %s (status %#x); again: robust_failing_scenes %s\n", argv[i], (unsigned)status, argv[i]);
    }
    printf("memory that runs out\t%d\t%d\n", argc - first, failures);
    return failures > 0;
}
#else
int main(void) {
    puts("memory that runs out\t0\t0");
    return 0;
}
#endif
