/* Memory: the heap for create and load (the step allocates nothing), arenas, and pools. All memory is zeroed. */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* count * size zeroed bytes, at least 1; NULL when out of memory or when the product overflows. Free with free(). */
void *memory_array(size_t count, size_t size);

/* As memory_array(size, 1), aligned to a cache line. Free with free(). */
void *memory_aligned(size_t size);

/* A copy of a string or of bytes; NULL when out of memory (or text is NULL). Free with free(). */
char *memory_string(const char *text);
void *memory_copy(const void *bytes, size_t size);

#define MEMORY_ARRAY(type, count) ((type *)memory_array((size_t)(count), sizeof(type)))

/* A growing array for loading and building:
 *     ARRAY(int) list = {0};
 *     if (!ARRAY_PUSH(&list, 7)) out of memory;
 *     free(list.data);  */
#define ARRAY(type)                                                                                                    \
    struct {                                                                                                           \
        type *data;                                                                                                    \
        size_t count, capacity;                                                                                        \
    }
#define ARRAY_RESERVE(array, wanted)                                                                                   \
    memory_grow((void **)&(array)->data, &(array)->capacity, (wanted), sizeof *(array)->data)
#define ARRAY_PUSH(array, ...)                                                                                         \
    (ARRAY_RESERVE(array, (array)->count + 1) && ((array)->data[(array)->count++] = (__VA_ARGS__), true))

/* Makes room for `wanted` elements, growing by half; false, and nothing changed, when out of memory. */
bool memory_grow(void **data, size_t *capacity, size_t wanted, size_t element_size);

/* An arena: one allocation for many arrays, measured first and then carved.
 *
 * A layout function takes every array of a structure from an arena. Called with an empty arena it only adds up the
 * sizes (all pointers are NULL); called again with an arena on a block of that size it returns the real pointers. One
 * function does both, so they cannot disagree:
 *     arena measure = {0};
 *     thing_layout(&thing, &measure);
 *     arena carve = arena_on(memory_aligned(measure.used), measure.used);
 *     thing_layout(&thing, &carve); */

#define ARENA_ALIGNMENT 64 /* a cache line, and the widest SIMD register */

typedef struct arena {
    char *base;  /* NULL while measuring */
    size_t used; /* bytes */
    size_t size; /* bytes */
} arena;

arena arena_on(void *base, size_t size);

/* count elements of element_size bytes, aligned to ARENA_ALIGNMENT, not cleared. NULL while measuring. */
void *arena_take(arena *a, size_t count, size_t element_size);

#define ARENA_ARRAY(a, type, count) ((type *)arena_take((a), (size_t)(count), sizeof(type)))

/* A pool: many small objects with a common lifetime, such as the nodes and strings of a tree that is loaded once.
 *     memory_pool memory = {0};
 *     thing *t = POOL_NEW(&memory, thing);
 *     pool_free(&memory); */

typedef struct memory_pool {
    struct pool_block *blocks; /* newest first; objects are taken from the newest */
} memory_pool;

/* size zeroed bytes, aligned for any type, valid until pool_free; NULL when out of memory. */
void *pool_take(memory_pool *p, size_t size);

/* A copy of length bytes of text with a terminating zero; NULL when out of memory. */
char *pool_string(memory_pool *p, const char *text, size_t length);

/* Frees all objects; the pool is then empty and can be used again. */
void pool_free(memory_pool *p);

#define POOL_NEW(p, type) ((type *)pool_take((p), sizeof(type)))

#endif
