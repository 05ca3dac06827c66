/* How much memory was in use at most. A program that includes this header has malloc and its kin replaced, for every library
 * it uses. The sanitizers want a malloc of their own: under them PEAK_MEMORY is 0 and nothing is measured. */
#ifndef TEST_PEAK_MEMORY_H
#define TEST_PEAK_MEMORY_H

#include "test.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PEAK_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PEAK_MEMORY 0
#endif
#endif
#ifndef PEAK_MEMORY
#define PEAK_MEMORY 1
#endif

#if PEAK_MEMORY

#include <malloc.h>
#include <stdatomic.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static atomic_long memory_used, memory_peak; /* bytes */

static void *memory_noted(void *block) {
    long size = block ? (long)malloc_usable_size(block) : 0, used = atomic_fetch_add(&memory_used, size) + size;
    if (used > memory_peak) memory_peak = used;
    return block;
}

#pragma GCC visibility push(default)
void *malloc(size_t size) {
    return memory_noted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    return memory_noted(__libc_calloc(count, size));
}

/* Old and new block may be there at the same time. */
void *realloc(void *block, size_t size) {
    long before = block ? (long)malloc_usable_size(block) : 0;
    void *grown = __libc_realloc(block, size);
    if (!grown) return NULL;
    memory_noted(grown);
    memory_used -= before;
    return grown;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memory_noted(__libc_memalign(alignment, size));
}

void free(void *block) {
    if (block) memory_used -= (long)malloc_usable_size(block);
    __libc_free(block);
}
#pragma GCC visibility pop

static inline void memory_peak_begin(void) {
    memory_peak = (long)memory_used;
}

/* Bytes above what was in use at memory_peak_begin. */
static inline long memory_peak_since(long begin) {
    return memory_peak - begin;
}

#else

static const long memory_used = 0;
static inline void memory_peak_begin(void) {}
static inline long memory_peak_since(long begin) {
    (void)begin;
    return 0;
}

#endif

#endif
