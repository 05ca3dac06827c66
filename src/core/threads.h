/* A thread pool for parallel loops within a step, a lock-free triple buffer, and the clock.
 *
 * Determinism rests on this: work is divided into the same pieces for any number of threads; threads only decide who
 * does which piece. A piece writes only its own data; the caller adds up sums over pieces in the order of the pieces. */
#ifndef CORE_THREADS_H
#define CORE_THREADS_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct workers workers;

/* thread_count includes the caller: 1 creates a pool without threads of its own. */
thenar_status workers_create(int thread_count, workers **out, thenar_error *error);
void workers_free(workers *pool);
int workers_count(const workers *pool);

typedef void (*workers_piece)(void *context, int piece);

/* Calls piece(context, i) once for each i in [0, piece_count), on the calling thread too; returns when all are done.
 * pool may be NULL: the caller does everything. Must not be called from within a piece. Allocates nothing. */
void workers_run(workers *pool, int piece_count, workers_piece piece, void *context);

/* Passes the latest value from one thread to another without locks. Of three slots the writer owns one, the reader
 * one, and the third lies between them, marked if it holds an unread value. Each side takes it by one atomic exchange;
 * neither ever waits, and the reader may skip values but never sees a partial one. */

#define CACHE_LINE 64 /* bytes; data written by different threads lie on different cache lines */

typedef struct triple_buffer {
    size_t size; /* of a slot, bytes, a multiple of CACHE_LINE */
    char *slots;
    _Alignas(CACHE_LINE) unsigned writing; /* the writer's slot */
    _Alignas(CACHE_LINE) unsigned reading; /* the reader's slot */
    _Alignas(CACHE_LINE) atomic_uint between;
} triple_buffer;

/* Slots of `size` bytes, zeroed; false: out of memory. */
bool triple_buffer_create(triple_buffer *t, size_t size);
void triple_buffer_free(triple_buffer *t);

/* The writer's slot, with an old value in it. */
void *triple_buffer_slot(triple_buffer *t);
/* Publishes the writer's slot; the writer then owns another one. */
void triple_buffer_publish(triple_buffer *t);

/* The latest published value (zeros before the first), owned by the reader until the next call. is_new, if not NULL:
 * true if it differs from the last one read. */
const void *triple_buffer_read(triple_buffer *t, bool *is_new);

/* Monotonic time: nanoseconds since some fixed moment. */
int64_t clock_now(void);

#endif
