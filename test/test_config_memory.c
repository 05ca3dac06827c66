/* What the config tree does when memory runs out. malloc and its kin are replaced in this program, so that
 * the n-th allocation, the library's or libyaml's, fails; the sanitizers want their own, so there is nothing
 * to test there. */
#include "test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif

#ifdef SANITIZED
int main(void) {
    return 0;
}
#else

#include "base/file.h"
#include "scene/config_read.h"

#include <errno.h>
#include <sys/stat.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static long until_failure = -1; /* allocations that still succeed; below zero: all */
static long live;               /* blocks not freed */

static bool only_once; /* one allocation fails; else all from there on */
static bool ran_out;

static bool fails(void) {
    if (until_failure < 0) return false;
    if (until_failure > 0) {
        until_failure--;
        return false;
    }
    if (only_once) until_failure = -1;
    ran_out = true;
    errno = ENOMEM;
    return true;
}

static void *counted(void *block) {
    live += block != NULL;
    return block;
}

/* Visible, or else libyaml and the C library would go on with the real ones. */
#pragma GCC visibility push(default)
void *malloc(size_t size) {
    return fails() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size) {
    if (fails()) return NULL;
    return block ? __libc_realloc(block, size) : counted(__libc_malloc(size));
}

void free(void *block) {
    live -= block != NULL;
    __libc_free(block);
}
#pragma GCC visibility pop

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
static thenar_status use(FILE *out, thenar_error *error) {
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
    thenar_error error = {0};
    assert_ok(use(out, &error), error);
    only_once = once;
    long tried = 0, refused = 0;
    do {
        long before = live;
        until_failure = tried++;
        ran_out = false;
        thenar_status status = use(out, &error);
        until_failure = -1;
        assert_int_equal(live, before);
        if (status == THENAR_OK) continue;
        refused++;
        /* A file that cannot be opened for want of memory is a file error. */
        if (status != THENAR_ERROR_MEMORY && !strstr(error.text, strerror(ENOMEM)))
            fail_msg("allocation %ld: %s", tried, error.text);
    } while (ran_out);
    fclose(out);
    assert_true(tried > 50);
    /* Some are not needed: an index that makes finding faster, the absolute name of a file. */
    assert_true(refused > tried * 9 / 10);
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
#endif
