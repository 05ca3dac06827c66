/* Multiply-and-fold over 8-byte little-endian words: h' = fold((h ^ word ^ c1) * c2), where fold adds the two
 * halves of the 128-bit product. The length goes into the last word, so a tail of zeros changes the hash. */
#include "core/hash.h"

#include "core/error.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t word) {
    unsigned __int128 product = (unsigned __int128)(hash ^ word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    for (size_t left = size / 8; left > 0; left--, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = mix(hash, word);
    }
    uint64_t tail = 0;
    if (size % 8) memcpy(&tail, at, size % 8);
    return mix(mix(hash, tail), (uint64_t)size);
}

static const void *key_at(const key_table *table, const void *keys, size_t index) {
    return (const char *)keys + index * table->key_size;
}

/* The slot of a key, or the free slot where it belongs. There always is one, since at most half of the slots are used. */
static size_t slot_of(const key_table *table, const void *keys, const void *key) {
    size_t slot = (size_t)hash_bytes(0, key, table->key_size) & (table->capacity - 1);
    while (table->slots[slot] && memcmp(key_at(table, keys, table->slots[slot] - 1), key, table->key_size) != 0)
        slot = (slot + 1) & (table->capacity - 1);
    return slot;
}

static int grow(key_table *table, const void *keys) {
    key_table larger = *table;
    larger.capacity = table->capacity ? 2 * table->capacity : 64;
    larger.slots = MEMORY_ARRAY(uint32_t, larger.capacity);
    if (!larger.slots) return 0;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i])
            larger.slots[slot_of(&larger, keys, key_at(table, keys, table->slots[i] - 1))] = table->slots[i];
    free(table->slots);
    *table = larger;
    return 1;
}

long key_table_put(key_table *table, const void *keys, size_t index) {
    assert(table->key_size > 0 && index < UINT32_MAX);
    if (2 * (table->count + 1) > table->capacity && !grow(table, keys)) return KEY_TABLE_NO_MEMORY;
    size_t slot = slot_of(table, keys, key_at(table, keys, index));
    if (table->slots[slot]) return (long)table->slots[slot] - 1;
    table->slots[slot] = (uint32_t)index + 1;
    table->count++;
    return (long)index;
}

long key_table_find(const key_table *table, const void *keys, const void *key) {
    if (table->count == 0) return KEY_TABLE_NONE;
    return (long)table->slots[slot_of(table, keys, key)] - 1;
}
