/* The newest of something, from one thread to one other, without locks: three slots, of which the writer has one, the
 * reader has one, and the third, with a mark if it is news, lies between them. Either takes it in one atomic exchange;
 * neither ever waits, and the reader may skip news but never sees half of any. */
#ifndef BASE_TRIPLE_H
#define BASE_TRIPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define TRIPLE_LINE 64 /* bytes; what two threads write lies on different lines of the cache */

typedef struct triple {
    size_t size; /* of a slot, bytes, a multiple of TRIPLE_LINE */
    char *slots;
    _Alignas(TRIPLE_LINE) unsigned writing; /* the writer's slot */
    _Alignas(TRIPLE_LINE) unsigned reading; /* the reader's slot */
    _Alignas(TRIPLE_LINE) atomic_uint between;
} triple;

/* Slots of `size` bytes, zeroed; false: no memory. */
bool triple_create(triple *t, size_t size);
void triple_free(triple *t);

/* The writer's slot, with something old in it. */
void *triple_slot(triple *t);
/* Tells what is in it; the writer has another slot afterwards. */
void triple_tell(triple *t);

/* The newest that was told (zeros before the first), the reader's until the next call. `news`, if not NULL: whether it
 * is another one than last time. */
const void *triple_read(triple *t, bool *news);

#endif
