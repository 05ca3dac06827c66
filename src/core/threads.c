/* The worker pool: one job at a time, pieces handed out by an atomic counter.
 *
 * A step has several short parallel stages up to some hundred microseconds apart, so an idle thread spins for a while
 * before it sleeps: waking from a condition variable alone costs about as much as a stage. This costs time if there
 * are fewer free cores than threads. */
#include "core/threads.h"

#include "core/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define UNREAD 4u
#define SLOT 3u

bool triple_buffer_create(triple_buffer *t, size_t size) {
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    t->size = size;
    t->slots = memory_aligned(3 * size);
    t->writing = 0;
    t->reading = 1;
    atomic_init(&t->between, 2);
    return t->slots != NULL;
}

void triple_buffer_free(triple_buffer *t) {
    free(t->slots);
    t->slots = NULL;
}

void *triple_buffer_slot(triple_buffer *t) {
    return t->slots + t->writing * t->size;
}

void triple_buffer_publish(triple_buffer *t) {
    t->writing = atomic_exchange_explicit(&t->between, t->writing | UNREAD, memory_order_acq_rel) & SLOT;
}

const void *triple_buffer_read(triple_buffer *t, bool *is_new) {
    bool unread = atomic_load_explicit(&t->between, memory_order_relaxed) & UNREAD;
    if (unread) t->reading = atomic_exchange_explicit(&t->between, t->reading, memory_order_acq_rel) & SLOT;
    if (is_new) *is_new = unread;
    return t->slots + t->reading * t->size;
}

int64_t clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#define SPIN_NANOSECONDS 300000
#define SPINS_BEFORE_YIELD 1000
#define MAX_THREADS 256

/* `ticket` holds all that a thread needs to take a piece, in one atomic word: the job (high bits), the number of its
 * pieces, and the next piece. A thread that comes late to a finished job finds no piece left in the ticket it has
 * read, and cannot take one of the next job with it. */
#define TICKET_BITS 20
#define TICKET_MASK ((1u << TICKET_BITS) - 1)
#define TICKET_JOBS ((1u << (64 - 2 * TICKET_BITS)) - 1)

struct workers {
    int thread_count; /* threads owned by the pool */
    pthread_t *threads;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    atomic_uint job; /* counts jobs; a change means new work */
    atomic_bool stop;
    atomic_ullong ticket;
    atomic_int done;
    workers_piece piece;
    void *context;
};

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void take_pieces(workers *pool, unsigned job) {
    for (;;) {
        unsigned long long ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
        unsigned index = (unsigned)ticket & TICKET_MASK, count = (unsigned)(ticket >> TICKET_BITS) & TICKET_MASK;
        if ((unsigned)(ticket >> (2 * TICKET_BITS)) != (job & TICKET_JOBS) || index >= count) return;
        if (!atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket + 1, memory_order_acq_rel,
                                                   memory_order_acquire))
            continue;
        pool->piece(pool->context, (int)index);
        atomic_fetch_add_explicit(&pool->done, 1, memory_order_release);
    }
}

static unsigned wait_for_job(workers *pool, unsigned last) {
    int64_t deadline = clock_now() + SPIN_NANOSECONDS;
    while (clock_now() < deadline) {
        unsigned job = atomic_load_explicit(&pool->job, memory_order_acquire);
        if (job != last || atomic_load(&pool->stop)) return job;
        pause_briefly();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->job) == last && !atomic_load(&pool->stop)) pthread_cond_wait(&pool->wake, &pool->mutex);
    unsigned job = atomic_load(&pool->job);
    pthread_mutex_unlock(&pool->mutex);
    return job;
}

static void *thread_main(void *argument) {
    workers *pool = argument;
    unsigned last = 0;
    for (;;) {
        last = wait_for_job(pool, last);
        if (atomic_load(&pool->stop)) return NULL;
        take_pieces(pool, last);
    }
}

thenar_status workers_create(int thread_count, workers **out, thenar_error *error) {
    *out = NULL;
    if (thread_count < 1 || thread_count > MAX_THREADS)
        return error_set(error, THENAR_ERROR_INPUT, "%d threads; expected 1..%d", thread_count, MAX_THREADS);
    workers *pool = MEMORY_ARRAY(workers, 1);
    if (!pool) return error_memory(error, "threads");
    pool->threads = MEMORY_ARRAY(pthread_t, thread_count);
    if (!pool->threads) {
        free(pool);
        return error_memory(error, "threads");
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    for (int i = 0; i < thread_count - 1; i++) {
        if (pthread_create(&pool->threads[i], NULL, thread_main, pool) != 0) {
            workers_free(pool);
            return error_set(error, THENAR_ERROR_MEMORY, "the system refused thread %d of %d", i + 2, thread_count);
        }
        pool->thread_count++;
    }
    *out = pool;
    return THENAR_OK;
}

void workers_free(workers *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->stop, true);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->threads);
    free(pool);
}

int workers_count(const workers *pool) {
    return pool ? pool->thread_count + 1 : 1;
}

void workers_run(workers *pool, int piece_count, workers_piece piece, void *context) {
    if (!pool || pool->thread_count == 0 || piece_count <= 1) {
        for (int i = 0; i < piece_count; i++) piece(context, i);
        return;
    }
    assert((unsigned)piece_count <= TICKET_MASK);
    pool->piece = piece;
    pool->context = context;
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    unsigned job = atomic_load_explicit(&pool->job, memory_order_relaxed) + 1;
    unsigned long long ticket = (unsigned long long)(job & TICKET_JOBS) << (2 * TICKET_BITS);
    ticket |= (unsigned long long)piece_count << TICKET_BITS;
    atomic_store_explicit(&pool->ticket, ticket, memory_order_release);
    pthread_mutex_lock(&pool->mutex);
    atomic_store_explicit(&pool->job, job, memory_order_release);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    take_pieces(pool, job);
    /* With more threads than cores, the thread that still works may be waiting for the core that spins here. */
    for (int spins = 0; atomic_load_explicit(&pool->done, memory_order_acquire) < piece_count; spins++)
        if (spins < SPINS_BEFORE_YIELD)
            pause_briefly();
        else
            sched_yield();
}
