#include "base/memory.h"

#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *memory_array(size_t count, size_t size) {
    if (count == 0 || size == 0) return calloc(1, 1);
    return calloc(count, size);
}

void *memory_aligned(size_t size) {
    if (size > SIZE_MAX - ARENA_ALIGNMENT) return NULL;
    size_t rounded = (size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    if (rounded == 0) rounded = ARENA_ALIGNMENT;
    void *block = aligned_alloc(ARENA_ALIGNMENT, rounded);
    if (block) memset(block, 0, rounded);
    return block;
}

void *memory_copy(const void *bytes, size_t size) {
    void *copy = memory_array(size, 1);
    if (copy && size > 0) memcpy(copy, bytes, size);
    return copy;
}

char *memory_string(const char *text) {
    return text ? memory_copy(text, strlen(text) + 1) : NULL;
}

bool memory_grow(void **data, size_t *capacity, size_t wanted, size_t element_size) {
    if (wanted <= *capacity) return true;
    size_t larger = *capacity + *capacity / 2 + 8;
    if (larger < wanted) larger = wanted;
    if (larger > SIZE_MAX / element_size) return false;
    void *grown = realloc(*data, larger * element_size);
    if (!grown) return false;
    memset((char *)grown + *capacity * element_size, 0, (larger - *capacity) * element_size);
    *data = grown;
    *capacity = larger;
    return true;
}
