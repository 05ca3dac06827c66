#include "core/memory.h"

#include "core/error.h"

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

#define SMALLEST_BLOCK ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20) /* a larger object gets a block of its own size */

struct pool_block {
    struct pool_block *older;
    size_t used, size;
    max_align_t bytes[];
};

/* Block sizes double, so that a small tree stays small and a large one needs few allocations. */
static struct pool_block *add_block(memory_pool *p, size_t piece) {
    size_t size = p->blocks ? 2 * p->blocks->size : SMALLEST_BLOCK;
    if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
    if (size < piece) size = piece;
    if (size > SIZE_MAX - sizeof(struct pool_block)) return NULL;
    struct pool_block *block = memory_array(1, sizeof *block + size);
    if (!block) return NULL;
    block->size = size;
    block->older = p->blocks;
    p->blocks = block;
    return block;
}

void *pool_take(memory_pool *p, size_t size) {
    if (size > SIZE_MAX - sizeof(max_align_t)) return NULL;
    size_t piece = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct pool_block *block = p->blocks;
    if (!block || piece > block->size - block->used) block = add_block(p, piece);
    if (!block) return NULL;
    void *taken = (char *)block->bytes + block->used;
    block->used += piece;
    return taken;
}

char *pool_string(memory_pool *p, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? pool_take(p, length + 1) : NULL;
    if (copy && length > 0) memcpy(copy, text, length);
    return copy;
}

void pool_free(memory_pool *p) {
    while (p->blocks) {
        struct pool_block *older = p->blocks->older;
        free(p->blocks);
        p->blocks = older;
    }
}
