/* Many small pieces that live and die together: the nodes and strings of a tree that is loaded once.
 *     pool memory = {0};
 *     thing *t = POOL_NEW(&memory, thing);
 *     pool_free(&memory);  */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

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
