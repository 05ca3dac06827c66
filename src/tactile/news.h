/* A bounded queue from the simulation's thread to a writer's, in which the newest entries win: the writing side never
 * waits and overwrites what was not read in time; the reading side is told how much it missed.
 *
 * An entry is stamped with 2 n + 1 while it is written and 2 n + 2 when it is whole (n counts entries). Every word is an
 * atomic: a reader that saw a word of a newer entry also sees the newer stamp, and takes the entry for lost. */
#ifndef TACTILE_NEWS_H
#define TACTILE_NEWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NEWS_KEPT 256
#define NEWS_WORDS 10

typedef struct news_slot {
    _Atomic uint64_t stamp;
    _Atomic uint64_t words[NEWS_WORDS];
} news_slot;

typedef struct news {
    _Atomic uint64_t count; /* entries ever written */
    news_slot slots[NEWS_KEPT];
} news;

/* By one thread. */
static inline void news_write(news *queue, const double values[NEWS_WORDS]) {
    uint64_t n = atomic_load_explicit(&queue->count, memory_order_relaxed);
    news_slot *slot = &queue->slots[n % NEWS_KEPT];
    atomic_store_explicit(&slot->stamp, 2 * n + 1, memory_order_relaxed);
    for (int i = 0; i < NEWS_WORDS; i++) {
        uint64_t word;
        memcpy(&word, &values[i], sizeof word);
        atomic_store_explicit(&slot->words[i], word, memory_order_release);
    }
    atomic_store_explicit(&slot->stamp, 2 * n + 2, memory_order_release);
    atomic_store_explicit(&queue->count, n + 1, memory_order_release);
}

/* Entry n; false: it was overwritten. */
static inline bool news_read(news *queue, uint64_t n, double values[NEWS_WORDS]) {
    news_slot *slot = &queue->slots[n % NEWS_KEPT];
    if (atomic_load_explicit(&slot->stamp, memory_order_acquire) != 2 * n + 2) return false;
    for (int i = 0; i < NEWS_WORDS; i++) {
        uint64_t word = atomic_load_explicit(&slot->words[i], memory_order_acquire);
        memcpy(&values[i], &word, sizeof word);
    }
    return atomic_load_explicit(&slot->stamp, memory_order_relaxed) == 2 * n + 2;
}

#endif
