/* Heap memory for create and load; the step allocates nothing. All of it is zeroed. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

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

#endif
