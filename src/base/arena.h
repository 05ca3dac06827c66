/* One allocation for many arrays: measure first, then carve.
 *
 * A layout function takes every array of a structure from an arena. Called with an empty arena it only adds
 * the sizes up (the pointers it gets are NULL); called again with an arena on a block of that size it hands
 * out the real pointers. The same function does both, so that they cannot disagree:
 *     arena measure = {0};
 *     thing_layout(&thing, &measure);
 *     arena carve = arena_on(memory_aligned(measure.used), measure.used);
 *     thing_layout(&thing, &carve);  */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

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

#endif
