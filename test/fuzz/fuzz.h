/* A fuzz target is one function that is given any bytes and must come back: with an error or with something valid.
 * libFuzzer calls it with bytes of its making (preset fuzz, test/robust/fuzz.sh), replay.c with those that are kept in
 * corpus/ and found/. What must hold beyond "it did not crash" is a fuzz_check: it stays in every build. */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include "io/file.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A copy as file_read gives it: a block of its own, with a zero behind it and nothing more. free() its data. */
static inline file_bytes fuzz_bytes(const uint8_t *data, size_t size) {
    file_bytes bytes = {.data = malloc(size + 1), .size = size};
    fuzz_check(bytes.data);
    if (size > 0) memcpy(bytes.data, data, size);
    bytes.data[size] = 0;
    return bytes;
}

/* A file in memory for readers that want a path. Close what is returned. */
static inline int fuzz_file(const void *data, size_t size, char path[32]) {
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    fuzz_check(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, 32, "/proc/self/fd/%d", file);
    return file;
}

/* That a call came to one of the statuses that input may lead to, with words if it failed. */
static inline void fuzz_status(thenar_status status, const thenar_error *error) {
    fuzz_check(status == THENAR_OK || status == THENAR_ERROR_INPUT || status == THENAR_ERROR_FILE ||
               status == THENAR_ERROR_MEMORY);
    fuzz_check(status == THENAR_OK || (error->text[0] != 0 && strlen(error->text) < sizeof error->text));
}

#endif
