/* Counts the allocations of this program's own code, and refuses them if it is asked to. The linker sends them here: test/CMakeLists.txt lists the programs
 * that include this header (--wrap). */
#ifndef TEST_ALLOCATIONS_H
#define TEST_ALLOCATIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_long allocation_count;
static atomic_long allocations_left = -1; /* that are granted; negative: all */

static bool allocation_granted(void) {
    allocation_count++;
    if (allocations_left < 0) return true;
    return allocations_left > 0 && allocations_left-- > 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
    return allocation_granted() ? __real_malloc(size) : NULL;
}
void *__wrap_calloc(size_t count, size_t size) {
    return allocation_granted() ? __real_calloc(count, size) : NULL;
}
void *__wrap_realloc(void *old, size_t size) {
    return allocation_granted() ? __real_realloc(old, size) : NULL;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return allocation_granted() ? __real_aligned_alloc(alignment, size) : NULL;
}

#endif
