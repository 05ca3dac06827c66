/* Memory that runs out on command. A program that includes this header has malloc and its kin replaced, for the library
 * and for every library it uses, so that the n-th allocation fails, and what is not freed is counted.
 *
 * The sanitizers want a malloc of their own: under them FAILING_MEMORY is 0 and there is nothing to test. */
#ifndef TEST_FAILING_MEMORY_H
#define TEST_FAILING_MEMORY_H

#include "test.h"

#include "thenar/status.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAILING_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAILING_MEMORY 0
#endif
#endif
#ifndef FAILING_MEMORY
#define FAILING_MEMORY 1
#endif

#if FAILING_MEMORY

#include <errno.h>
#include <stdatomic.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static atomic_long memory_until_failure = -1; /* allocations that still succeed; below zero: all */
static atomic_long memory_live;               /* blocks not freed */
static bool memory_fails_once;                /* one allocation fails; else all from there on */
static atomic_bool memory_ran_out;

static bool memory_fails(void) {
    if (memory_until_failure < 0) return false;
    if (memory_until_failure > 0) {
        memory_until_failure--;
        return false;
    }
    if (memory_fails_once) memory_until_failure = -1;
    memory_ran_out = true;
    errno = ENOMEM;
    return true;
}

static void *memory_counted(void *block) {
    memory_live += block != NULL;
    return block;
}

/* Visible, or else other libraries would go on with the real ones. */
#pragma GCC visibility push(default)
void *malloc(size_t size) {
    return memory_fails() ? NULL : memory_counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    return memory_fails() ? NULL : memory_counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size) {
    if (memory_fails()) return NULL;
    return block ? __libc_realloc(block, size) : memory_counted(__libc_malloc(size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memory_fails() ? NULL : memory_counted(__libc_memalign(alignment, size));
}

void free(void *block) {
    memory_live -= block != NULL;
    __libc_free(block);
}
#pragma GCC visibility pop

/* How often an allocation failed, and how often that was an error. */
typedef struct failing_memory_count {
    long failed, refused;
} failing_memory_count;

typedef thenar_status (*failing_memory_use)(void *context, thenar_error *error);

/* Calls use(context) with its first allocation failing, then the one `stride` later, and so on until it gets by with
 * what there is. `once`: only that allocation fails; else all from there on. Holds that nothing is leaked, and that an
 * error is one of memory (a file that cannot be opened for want of memory is a file error). */
static inline failing_memory_count failing_memory_sample(failing_memory_use use, void *context, bool once, int stride) {
    failing_memory_count count = {0};
    thenar_error error = {0};
    /* What is made on the first use and kept (a thread's stack, a locale) is no leak. */
    assert_ok(use(context, &error), error);
    memory_fails_once = once;
    for (long failing = 0;; failing += stride) {
        long before = memory_live;
        memory_ran_out = false;
        memory_until_failure = failing;
        thenar_status status = use(context, &error);
        memory_until_failure = -1;
        if (memory_live != before) fail_msg("allocation %ld fails: %ld blocks leaked", failing, memory_live - before);
        if (!memory_ran_out) {
            assert_ok(status, error);
            return count;
        }
        count.failed++;
        if (status == THENAR_OK) continue;
        count.refused++;
        if (status != THENAR_ERROR_MEMORY && !strstr(error.text, strerror(ENOMEM)))
            fail_msg("allocation %ld fails: %s", failing, error.text);
    }
}

static inline failing_memory_count failing_memory_each(failing_memory_use use, void *context, bool once) {
    return failing_memory_sample(use, context, once, 1);
}

#endif

#endif
