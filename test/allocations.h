/* Counts the allocations of this program's own code. The linker sends them here: test/CMakeLists.txt lists the programs
 * that include this header (--wrap). */
#ifndef TEST_ALLOCATIONS_H
#define TEST_ALLOCATIONS_H

#include <stdatomic.h>
#include <stddef.h>

static atomic_long allocation_count;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    allocation_count++;
    return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    allocation_count++;
    return __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) {
    allocation_count++;
    return __real_realloc(old, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    allocation_count++;
    return __real_aligned_alloc(alignment, size);
}

#endif
