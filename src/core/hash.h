/* Hashes and hash tables.
 *
 * hash_bytes is a 64-bit hash for state hashes and file checksums: fast, stable across machines, not cryptographic. */
#ifndef CORE_HASH_H
#define CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Continues a hash over more bytes; start with hash = 0. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);

/* Finds equal keys of a fixed size: an open-addressing table of indices into an array of keys that the caller owns and
 * may move or extend between calls. Keys are equal if their bytes are. A zeroed table with key_size set is empty; free
 * table.slots at the end. */

typedef struct key_table {
    size_t key_size; /* bytes */
    size_t count, capacity;
    uint32_t *slots; /* capacity, a power of two: index + 1, or 0 for a free slot */
} key_table;

#define KEY_TABLE_NONE (-1)
#define KEY_TABLE_NO_MEMORY (-2)

/* Inserts keys[index]. Returns the index of an earlier equal key, index itself if there was none, or
 * KEY_TABLE_NO_MEMORY. */
long key_table_put(key_table *table, const void *keys, size_t index);

/* The index of the key equal to *key, or KEY_TABLE_NONE. */
long key_table_find(const key_table *table, const void *keys, const void *key);

#endif
