/* What the mesh readers do when memory runs out. malloc and its kin are replaced in this program, so that the
 * n-th allocation fails; the sanitizers want their own, so there is nothing to test there. */
#include "mesh_samples.h"

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

#include "shape/mesh_file.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

static long until_failure = -1; /* allocations that still succeed; below zero: all */
static long live;               /* blocks not freed */

static bool fails(void) {
    if (until_failure > 0)
        until_failure--;
    else if (until_failure == 0)
        return true;
    return false;
}

static void *counted(void *block) {
    live += block != NULL;
    return block;
}

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

static void running_out_of_memory_anywhere_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < MESH_SAMPLE_COUNT; i++) {
        sample_bytes bytes = sample_of(&mesh_samples[i]);
        file_bytes input = {.data = bytes.data, .size = bytes.count};
        thenar_status status = THENAR_ERROR_MEMORY;
        long allowed = 0;
        for (; status != THENAR_OK; allowed++) {
            mesh_file file;
            thenar_error error = {0};
            long before = live;
            until_failure = allowed;
            status = mesh_file_parse(mesh_samples[i].file, input, &file, &error);
            until_failure = -1;
            if (status == THENAR_OK)
                mesh_file_free(&file);
            else if (status != THENAR_ERROR_MEMORY)
                fail_msg("%s: %s", mesh_samples[i].file, error.text);
            assert_int_equal(live, before);
        }
        /* Even the smallest sample grows three arrays and makes a mesh: the failures did happen. */
        assert_true(allowed > 6);
        free(bytes.data);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(running_out_of_memory_anywhere_is_reported_and_leaks_nothing),
};

TEST_MAIN(tests)
#endif
