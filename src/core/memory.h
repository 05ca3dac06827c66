/* Heap memory for create and load; the step allocates nothing. All of it is zeroed. */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* count * size zeroed bytes, at least 1; NULL when memory runs out or the product overflows. free() it. */
void *memory_array(size_t count, size_t size);

/* As memory_array(size, 1), aligned to a cache line. free() it. */
void *memory_aligned(size_t size);

/* A copy of a string or of bytes; NULL when memory runs out (or text is NULL). free() it. */
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

/* Makes room for wanted elements, growing by halves; false (and nothing changed) when memory runs out. */
bool memory_grow(void **data, size_t *capacity, size_t wanted, size_t element_size);

/* One allocation for many arrays: measure first, then carve.
 *
 * A layout function takes every array of a structure from an arena. Called with an empty arena it only adds
 * the sizes up (the pointers it gets are NULL); called again with an arena on a block of that size it hands
 * out the real pointers. The same function does both, so that they cannot disagree:
 *     arena measure = {0};
 *     thing_layout(&thing, &measure);
 *     arena carve = arena_on(memory_aligned(measure.used), measure.used);
 *     thing_layout(&thing, &carve);  */

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

/* Many small pieces that live and die together: the nodes and strings of a tree that is loaded once.
 *     pool memory = {0};
 *     thing *t = POOL_NEW(&memory, thing);
 *     pool_free(&memory);  */

typedef struct pool {
    struct pool_block *blocks; /* newest first; pieces are cut from the newest */
} pool;

/* size zeroed bytes, aligned for any type; NULL when memory runs out. They stay until pool_free. */
void *pool_take(pool *p, size_t size);

/* A copy of length bytes of text with a terminating zero; NULL when memory runs out. */
char *pool_string(pool *p, const char *text, size_t length);

/* Frees every piece; the pool is empty and can be used again. */
void pool_free(pool *p);

#define POOL_NEW(p, type) ((type *)pool_take((p), sizeof(type)))

#endif
