/* Multiply-and-fold over 8-byte little-endian words: h' = fold((h ^ word ^ c1) * c2), where fold adds the two
 * halves of the 128-bit product. The length goes into the last word, so a tail of zeros changes the hash. */
#include "base/hash.h"

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
