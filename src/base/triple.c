#include "base/triple.h"

#include "base/memory.h"

#include <stdlib.h>

#define NEWS 4u
#define SLOT 3u

bool triple_create(triple *t, size_t size) {
    size = (size + TRIPLE_LINE - 1) / TRIPLE_LINE * TRIPLE_LINE;
    t->size = size;
    t->slots = memory_aligned(3 * size);
    t->writing = 0;
    t->reading = 1;
    atomic_init(&t->between, 2);
    return t->slots != NULL;
}

void triple_free(triple *t) {
    free(t->slots);
    t->slots = NULL;
}

void *triple_slot(triple *t) {
    return t->slots + t->writing * t->size;
}

void triple_tell(triple *t) {
    t->writing = atomic_exchange_explicit(&t->between, t->writing | NEWS, memory_order_acq_rel) & SLOT;
}

const void *triple_read(triple *t, bool *news) {
    bool is_news = atomic_load_explicit(&t->between, memory_order_relaxed) & NEWS;
    if (is_news) t->reading = atomic_exchange_explicit(&t->between, t->reading, memory_order_acq_rel) & SLOT;
    if (news) *news = is_news;
    return t->slots + t->reading * t->size;
}
