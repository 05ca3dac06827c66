/* Reads and writes whole files, with errors that name the file. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include "core/error.h"

#include <stddef.h>
#include <stdio.h>

#define FILE_SIZE_LIMIT ((size_t)1 << 31) /* largest input file, bytes: 2 GiB */

typedef struct file_bytes {
    char *data; /* size bytes and a terminating zero; free() it */
    size_t size;
} file_bytes;

/* A copy of bytes in memory as a file; empty, or more than `limit` bytes, is an error. name: for the message. */
thenar_status file_copy(const char *name, const void *bytes, size_t size, size_t limit, file_bytes *out,
                        thenar_error *error);

/* Where this thread's file_read takes files from; NULL: the file system. Returns what it was before, to be set again. */
const struct thenar_file_source *file_source_set(const struct thenar_file_source *source);

/* Reads a whole regular file. A missing or empty file, a directory, or more than `limit` bytes is an error. */
thenar_status file_read(const char *path, size_t limit, file_bytes *out, thenar_error *error);

/* Opens a file for writing. Numbers are printed in the locale of the thread: see text_locale_begin. */
thenar_status file_create(const char *path, FILE **out, thenar_error *error);

/* Flushes and closes; a write that failed at any time since file_create (a full disk) is an error here. */
thenar_status file_close(FILE *file, const char *path, thenar_error *error);

/* Creates a directory and its parents; existing ones are fine. */
thenar_status file_make_directory(const char *path, thenar_error *error);

/* The part of path after the last dot of its last component, in its original case; "" if there is none. */
const char *file_extension(const char *path);

#endif
