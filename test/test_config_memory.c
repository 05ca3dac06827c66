/* What the config tree does when memory runs out. */
#include "failing_memory.h"

#if FAILING_MEMORY

#include "core/file.h"
#include "scene/config.h"

#include <sys/stat.h>

static char directory[] = "/tmp/test_config_memory_XXXXXX";
static char base_path[64], scene_path[64];

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int make_files(void **state) {
    (void)state;
    if (!mkdtemp(directory)) return -1;
    snprintf(base_path, sizeof base_path, "%s/base.yaml", directory);
    snprintf(scene_path, sizeof scene_path, "%s/scene.yaml", directory);
    /* Enough text for several blocks of the pool, and a mapping large enough to be indexed. */
    char text[16384] = "anchored: &a {x: [1, 2], y: text}\nalias: *a\nlarge:\n";
    for (int i = 0; i < 200; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "  key%d: 'some quoted text %d'\n", i, i);
    }
    write_text(base_path, text);
    write_text(scene_path, "include: base.yaml\nlarge: {key7: ~, other: 5}\nmesh: a.msh\n");
    return 0;
}

static int remove_files(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return system(command);
}

/* Loads, sets, prints and reads. Only what is printed to must not come from this malloc. */
static thenar_status use(void *out, thenar_error *error) {
    config tree;
    thenar_status status = config_load(&tree, scene_path, error);
    if (status != THENAR_OK) return status;
    status = config_set(&tree, "large.key9={a: [1, 2, 3]}", error);
    if (status == THENAR_OK) status = config_set(&tree, "large.new=5", error);
    if (status == THENAR_OK) status = config_print(tree.root, out, error);
    config_reader reader = {.error = error, .status = status};
    config_map map;
    config_open(&reader, tree.root, "scene", &map);
    char *mesh = NULL;
    config_file(&map, "mesh", CONFIG_REQUIRED, &mesh);
    free(mesh);
    config_free(&tree);
    return reader.status;
}

static void each_allocation_that_fails_is_an_error_and_leaks_nothing(bool once) {
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    failing_memory_count count = failing_memory_each(use, out, once);
    fclose(out);
    assert_true(count.failed > 50);
    /* Some are not needed: an index that makes finding faster, the absolute name of a file. */
    assert_true(count.refused > count.failed * 9 / 10);
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state) {
    (void)state;
    each_allocation_that_fails_is_an_error_and_leaks_nothing(false);
}

static void a_single_allocation_that_fails_is_an_error_and_leaks_nothing(void **state) {
    (void)state;
    each_allocation_that_fails_is_an_error_and_leaks_nothing(true);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
    cmocka_unit_test(a_single_allocation_that_fails_is_an_error_and_leaks_nothing),
};

int main(void) {
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
#else
int main(void) {
    return 0;
}
#endif
