/* A 64-bit hash for state hashes and file checksums: fast, stable across machines, not cryptographic. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Continues a hash over more bytes; start with hash = 0. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);

#endif
