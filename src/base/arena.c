#include "base/arena.h"

#include <assert.h>
#include <stdint.h>

arena arena_on(void *base, size_t size) {
    return (arena){.base = base, .used = 0, .size = size};
}

void *arena_take(arena *a, size_t count, size_t element_size) {
    assert(element_size == 0 || count <= (SIZE_MAX - a->used - ARENA_ALIGNMENT) / element_size);
    size_t bytes = (count * element_size + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
    size_t offset = a->used;
    a->used += bytes;
    if (!a->base) return NULL;
    assert(a->used <= a->size);
    return a->base + offset;
}
