#include "base/pool.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_BLOCK ((size_t)4 << 10)
#define LARGEST_BLOCK ((size_t)1 << 20) /* a larger piece gets a block of its own size */

struct pool_block {
    struct pool_block *older;
    size_t used, size;
    max_align_t bytes[];
};

/* Blocks double, so that a small tree stays small and a large one takes few allocations. */
static struct pool_block *add_block(pool *p, size_t piece) {
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

void *pool_take(pool *p, size_t size) {
    if (size > SIZE_MAX - sizeof(max_align_t)) return NULL;
    size_t piece = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct pool_block *block = p->blocks;
    if (!block || piece > block->size - block->used) block = add_block(p, piece);
    if (!block) return NULL;
    void *taken = (char *)block->bytes + block->used;
    block->used += piece;
    return taken;
}

char *pool_string(pool *p, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? pool_take(p, length + 1) : NULL;
    if (copy && length > 0) memcpy(copy, text, length);
    return copy;
}

void pool_free(pool *p) {
    while (p->blocks) {
        struct pool_block *older = p->blocks->older;
        free(p->blocks);
        p->blocks = older;
    }
}
