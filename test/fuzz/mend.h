/* Puts the checksums of a recording right, or nothing behind them would ever be reached. */
#ifndef TEST_FUZZ_MEND_H
#define TEST_FUZZ_MEND_H

#include "fuzz.h"

#include "io/recording.h"

static inline void mend_checksums(char *bytes, size_t size) {
    for (size_t at = sizeof(recording_preamble); at < size && size - at >= sizeof(recording_chunk);) {
        recording_chunk chunk;
        memcpy(&chunk, bytes + at, sizeof chunk);
        if (chunk.stored_size > size - at - sizeof chunk) return;
        uint64_t hash = recording_checksum_header(&chunk);
        const char *payload = bytes + at + sizeof chunk;
        chunk.checksum = recording_checksum_payload(hash, payload, (size_t)chunk.stored_size);
        memcpy(bytes + at, &chunk, sizeof chunk);
        at += sizeof chunk + (size_t)chunk.stored_size;
    }
}

#endif
