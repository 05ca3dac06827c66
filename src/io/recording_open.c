/* Opening a recording: the header, where the meshes are, and where the frames are.
 *
 * Everything in front of the first frame is verified here. The frames come from the index at the end of the
 * file, and each is verified when it is read. Without a whole index (the writer died, the file was cut) they
 * are found from the front, each verified on the way, up to the first thing that is not whole: what stands
 * behind it cannot be trusted. */
#include "io/recording.h"

#include "core/error.h"
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

thenar_status recording_complain(const thenar_recording *recording, uint64_t offset, thenar_error *error,
                                 const char *text) {
    return error_at(error, recording->path, 0, 0, "at byte %llu: %s", (unsigned long long)offset, text);
}

thenar_status recording_read_bytes(const thenar_recording *recording, uint64_t offset, void *bytes, size_t size,
                                   thenar_error *error) {
    char *at = bytes;
    if (recording->memory) {
        if (offset > recording->size || size > recording->size - offset)
            return recording_complain(recording, offset, error, "the file ends here; expected more");
        memcpy(bytes, recording->memory + offset, size);
        return THENAR_OK;
    }
    while (size > 0) {
        ssize_t got = pread(recording->file, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_errno(error, recording->path, "read");
        if (got == 0) return recording_complain(recording, offset, error, "the file ends here; expected more");
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return THENAR_OK;
}

thenar_status recording_read_chunk(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                   thenar_error *error) {
    uint64_t left = recording->size - offset;
    if (left < sizeof *chunk)
        return recording_complain(recording, offset, error, "the file ends inside a chunk header; it was cut");
    thenar_status status = recording_read_bytes(recording, offset, chunk, sizeof *chunk, error);
    if (status != THENAR_OK) return status;
    if (chunk->stored_size > left - sizeof *chunk)
        return recording_complain(recording, offset, error, "a chunk is larger than the rest of the file; it was cut");
    if (chunk->raw_size / RECORDING_EXPANSION_MAX > chunk->stored_size)
        return recording_complain(recording, offset, error,
                                  "a chunk claims to expand more than 1024 times; it is damaged");
    return THENAR_OK;
}

thenar_status recording_verify_chunk(const thenar_recording *recording, uint64_t offset, const recording_chunk *chunk,
                                     unsigned char *piece, thenar_error *error) {
    uint64_t hash = recording_checksum_header(chunk), at = offset + sizeof *chunk;
    for (uint64_t left = chunk->stored_size; left > 0;) {
        size_t size = left < RECORDING_PIECE ? (size_t)left : RECORDING_PIECE;
        thenar_status status = recording_read_bytes(recording, at, piece, size, error);
        if (status != THENAR_OK) return status;
        hash = recording_checksum_payload(hash, piece, size);
        at += size;
        left -= size;
    }
    if (hash == chunk->checksum) return THENAR_OK;
    return recording_complain(recording, offset, error, "the checksum of a chunk does not match; it is damaged");
}

static thenar_status read_preamble(const thenar_recording *recording, thenar_error *error) {
    recording_preamble preamble;
    size_t known = recording->size < sizeof preamble ? (size_t)recording->size : sizeof preamble;
    thenar_status status = recording_read_bytes(recording, 0, &preamble, known, error);
    if (status != THENAR_OK) return status;
    size_t magic = known < sizeof preamble.magic ? known : sizeof preamble.magic;
    if (memcmp(preamble.magic, recording_magic, magic) != 0)
        return error_at(error, recording->path, 0, 0, "is not a recording; expected a file written by thenar run");
    if (known < sizeof preamble)
        return recording_complain(recording, known, error, "the file ends inside its first bytes; it was cut");
    if (preamble.version < RECORDING_VERSION_OLDEST || preamble.version > RECORDING_VERSION || preamble.reserved != 0)
        return error_at(error, recording->path, 0, 0, "has version %u of the format; expected version %u to %u",
                        preamble.version, RECORDING_VERSION_OLDEST, RECORDING_VERSION);
    return THENAR_OK;
}

static thenar_status read_head(thenar_recording *recording, uint64_t *offset, unsigned char *piece,
                               thenar_error *error) {
    recording_chunk chunk;
    thenar_status status = recording_read_chunk(recording, *offset, &chunk, error);
    if (status == THENAR_OK) status = recording_verify_chunk(recording, *offset, &chunk, piece, error);
    if (status != THENAR_OK) return status;
    if (!recording_is_type(&chunk, "HEAD") || chunk.flags != 0 || chunk.raw_size != chunk.stored_size)
        return recording_complain(recording, *offset, error, "expected a HEAD chunk");
    char *text = memory_array((size_t)chunk.stored_size, 1);
    if (!text) return error_memory(error, "the header of a recording");
    *offset += sizeof chunk;
    status = recording_read_bytes(recording, *offset, text, (size_t)chunk.stored_size, error);
    if (status == THENAR_OK)
        status = recording_head_parse(text, (size_t)chunk.stored_size, recording->path, &recording->head, error);
    free(text);
    *offset += chunk.stored_size;
    return status;
}

/* Finds the MESH chunk of each body; *offset goes behind the last one. */
static thenar_status find_meshes(thenar_recording *recording, uint64_t *offset, unsigned char *piece,
                                 thenar_error *error) {
    size_t count = (size_t)recording->head.body_count;
    recording->mesh_offsets = MEMORY_ARRAY(uint64_t, count);
    recording->meshes = MEMORY_ARRAY(thenar_recording_mesh, count);
    recording->mesh_blocks = MEMORY_ARRAY(void *, count);
    if (!recording->mesh_offsets || !recording->meshes || !recording->mesh_blocks)
        return error_memory(error, "the meshes of a recording");
    for (size_t found = 0; found < count;) {
        recording_chunk chunk;
        thenar_status status = recording_read_chunk(recording, *offset, &chunk, error);
        if (status == THENAR_OK) status = recording_verify_chunk(recording, *offset, &chunk, piece, error);
        if (status != THENAR_OK) return status;
        if (recording_is_type(&chunk, "FRAM") || recording_is_type(&chunk, "KEYS"))
            return recording_complain(recording, *offset, error, "a mesh is missing; expected one MESH chunk a body");
        if (recording_is_type(&chunk, "MESH")) {
            recording_mesh_layout layout = recording_mesh_layout_of(&recording->head.bodies[found]);
            if (chunk.raw_size != recording_mesh_size(&layout))
                return recording_complain(recording, *offset, error, "a mesh does not have the size that HEAD implies");
            recording->mesh_offsets[found++] = *offset;
        }
        *offset += sizeof chunk + chunk.stored_size;
    }
    return THENAR_OK;
}

static bool keys_are_plausible(const thenar_recording *recording, uint64_t first, uint64_t index_offset) {
    uint64_t lowest = first, smallest = sizeof(recording_chunk) + sizeof(recording_moment);
    for (int i = 0; i < recording->frame_count; i++) {
        uint64_t offset = recording->keys[i].offset;
        if (offset < lowest || offset > index_offset || index_offset - offset < smallest) return false;
        lowest = offset + smallest;
    }
    return true;
}

/* True if the file ends in a whole index that fits it; then the keys are there. *no_memory: there was none for them. */
static bool read_index(thenar_recording *recording, uint64_t first, unsigned char *piece, bool *no_memory) {
    recording_tail tail;
    recording_chunk chunk;
    if (recording->size < first + sizeof chunk + sizeof tail) return false;
    uint64_t tail_offset = recording->size - sizeof tail;
    if (recording_read_bytes(recording, tail_offset, &tail, sizeof tail, NULL) != THENAR_OK ||
        memcmp(tail.magic, recording_tail_magic, sizeof tail.magic) != 0 || tail.frame_count > INT_MAX ||
        tail.index_offset < first || tail.index_offset > tail_offset - sizeof chunk)
        return false;
    if (recording_read_chunk(recording, tail.index_offset, &chunk, NULL) != THENAR_OK ||
        !recording_is_type(&chunk, "KEYS") || chunk.flags != 0 ||
        chunk.stored_size != tail.frame_count * sizeof(recording_key) + sizeof tail ||
        tail.index_offset + sizeof chunk + chunk.stored_size != recording->size ||
        recording_verify_chunk(recording, tail.index_offset, &chunk, piece, NULL) != THENAR_OK)
        return false;
    recording->keys = MEMORY_ARRAY(recording_key, tail.frame_count);
    *no_memory = !recording->keys;
    recording->frame_count = (int)tail.frame_count;
    if (recording->keys &&
        recording_read_bytes(recording, tail.index_offset + sizeof chunk, recording->keys,
                             (size_t)tail.frame_count * sizeof(recording_key), NULL) == THENAR_OK &&
        keys_are_plausible(recording, first, tail.index_offset))
        return true;
    free(recording->keys);
    recording->keys = NULL;
    recording->frame_count = 0;
    return false;
}

int recording_count_contacts(const thenar_recording *recording, uint64_t raw_size) {
    uint64_t plain = sizeof(recording_moment) + recording->values_size;
    if (raw_size < plain || (raw_size - plain) % RECORDING_CONTACT_SIZE != 0) return -1;
    uint64_t count = (raw_size - plain) / RECORDING_CONTACT_SIZE;
    return count <= (uint64_t)recording->head.info.max_contacts ? (int)count : -1;
}

/* A chunk of the scan: verified, and if it is a frame, of the right size. */
static thenar_status scan_chunk(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                recording_moment *moment, unsigned char *piece, thenar_error *error) {
    thenar_status status = recording_read_chunk(recording, offset, chunk, error);
    if (status == THENAR_OK) status = recording_verify_chunk(recording, offset, chunk, piece, error);
    if (status != THENAR_OK || !recording_is_type(chunk, "FRAM")) return status;
    if (chunk->stored_size < sizeof *moment || recording_count_contacts(recording, chunk->raw_size) < 0)
        return recording_complain(recording, offset, error, "a frame does not have the size that HEAD implies");
    return recording_read_bytes(recording, offset + sizeof *chunk, moment, sizeof *moment, error);
}

static thenar_status note_damage(thenar_recording *recording, const char *text, thenar_error *error) {
    recording->damage = memory_string(text);
    return recording->damage ? THENAR_OK : error_memory(error, "a recording");
}

/* What the scan found wrong, with the number of the last frame that can be read. */
static thenar_status report_scan(thenar_recording *recording, const thenar_error *problem, bool index_seen,
                                 thenar_error *error) {
    thenar_error report;
    const char *path = recording->path;
    size_t prefix = strlen(path) + 2; /* the problem's text begins with "path: " */
    if (problem->status != THENAR_OK) {
        const char *what = strlen(problem->text) > prefix ? problem->text + prefix : problem->text;
        if (recording->frame_count > 0)
            error_at(&report, path, 0, 0, "damaged after frame %d: %s", recording->frame_count - 1, what);
        else
            error_at(&report, path, 0, 0, "damaged before the first frame: %s", what);
    } else if (index_seen) {
        error_at(&report, path, 0, 0, "its index is not usable; %d frames were found without it",
                 recording->frame_count);
    } else {
        error_at(&report, path, 0, 0, "was not closed by its writer; it has %d whole frames", recording->frame_count);
    }
    return note_damage(recording, report.text, error);
}

static thenar_status scan_frames(thenar_recording *recording, uint64_t offset, unsigned char *piece,
                                 thenar_error *error) {
    ARRAY(recording_key) keys = {0};
    thenar_error problem = {0};
    bool index_seen = false;
    while (offset < recording->size && keys.count < INT_MAX) {
        recording_chunk chunk;
        recording_key key = {.offset = offset};
        if (scan_chunk(recording, offset, &chunk, &key.moment, piece, &problem) != THENAR_OK) break;
        if (recording_is_type(&chunk, "FRAM") && !ARRAY_PUSH(&keys, key)) {
            free(keys.data);
            return error_memory(error, "the index of a recording");
        }
        index_seen = index_seen || recording_is_type(&chunk, "KEYS");
        offset += sizeof chunk + chunk.stored_size;
    }
    recording->keys = keys.data;
    recording->frame_count = (int)keys.count;
    return report_scan(recording, &problem, index_seen, error);
}

static thenar_status open_file(thenar_recording *recording, thenar_error *error) {
    struct stat info;
    /* Without O_NONBLOCK opening a pipe would wait for a writer. */
    recording->file = open(recording->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (recording->file < 0 || fstat(recording->file, &info) != 0) return error_errno(error, recording->path, "open");
    if (!S_ISREG(info.st_mode))
        return error_at(error, recording->path, 0, 0, "is not a regular file; expected a recording");
    recording->size = (uint64_t)info.st_size;
    return THENAR_OK;
}

static thenar_status read_contents(thenar_recording *recording, unsigned char *piece, thenar_error *error) {
    uint64_t offset = sizeof(recording_preamble);
    thenar_status status = read_preamble(recording, error);
    if (status == THENAR_OK) status = read_head(recording, &offset, piece, error);
    if (status == THENAR_OK) status = find_meshes(recording, &offset, piece, error);
    if (status != THENAR_OK) return status;
    recording->values_size = recording_values_size(recording->head.channels, recording->head.channel_count);
    recording->first_chunk = offset;
    /* Readers make room for what HEAD says a frame is: no more than frames in this file can be. */
    if (recording->values_size / RECORDING_EXPANSION_MAX > recording->size)
        return error_at(error, recording->path, 0, 0, "HEAD: frames of %zu bytes in a file of %llu; it is damaged",
                        recording->values_size, (unsigned long long)recording->size);
    bool no_memory = false;
    if (read_index(recording, offset, piece, &no_memory)) return THENAR_OK;
    return no_memory ? error_memory(error, "the index of a recording") : scan_frames(recording, offset, piece, error);
}

/* `memory` of `size` bytes, or NULL: the file. */
static thenar_status open_any(const char *path, const void *memory, size_t size, thenar_recording **out,
                              thenar_error *error) {
    *out = NULL;
    thenar_recording *recording = MEMORY_ARRAY(thenar_recording, 1);
    if (!recording) return error_memory(error, "a recording");
    recording->file = -1;
    recording->memory = memory;
    recording->size = size;
    recording->frame_in_values = -1;
    recording->path = memory_string(path);
    recording->decompressor = ZSTD_createDCtx();
    unsigned char *piece = memory_array(RECORDING_PIECE, 1);
    thenar_status status =
        recording->path && recording->decompressor && piece ? THENAR_OK : error_memory(error, "a recording");
    if (status == THENAR_OK && !memory) status = open_file(recording, error);
    if (status == THENAR_OK) status = read_contents(recording, piece, error);
    free(piece);
    if (status == THENAR_OK)
        *out = recording;
    else
        thenar_recording_close(recording);
    return status;
}

thenar_status thenar_recording_open(const char *path, thenar_recording **out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the pointer to the recording is NULL");
    return open_any(path, NULL, 0, out, error);
}

thenar_status thenar_recording_open_memory(const void *bytes, size_t size, thenar_recording **out,
                                           thenar_error *error) {
    USAGE_STATUS(bytes && out, error, "the bytes or the pointer to the recording are NULL");
    return open_any("a recording in memory", bytes, size, out, error);
}

void thenar_recording_close(thenar_recording *recording) {
    if (!recording) return;
    for (int i = 0; recording->mesh_blocks && i < recording->head.body_count; i++) free(recording->mesh_blocks[i]);
    free(recording->mesh_offsets);
    free(recording->meshes);
    free(recording->mesh_blocks);
    recording_head_free(&recording->head);
    if (recording->file >= 0) close(recording->file);
    ZSTD_freeDCtx(recording->decompressor);
    free(recording->keys);
    free(recording->stored);
    free(recording->planes);
    free(recording->values);
    free(recording->contacts);
    free(recording->nodes);
    free(recording->damage);
    free(recording->path);
    free(recording);
}

const char *thenar_recording_damage(const thenar_recording *recording) {
    USAGE_POINTER(recording, NULL);
    return recording->damage;
}

thenar_recording_info thenar_recording_get_info(const thenar_recording *recording) {
    USAGE_POINTER(recording, (thenar_recording_info){0});
    return recording->head.info;
}

int thenar_recording_frame_count(const thenar_recording *recording) {
    USAGE_POINTER(recording, 0);
    return recording->frame_count;
}

double thenar_recording_frame_time(const thenar_recording *recording, int frame) {
    USAGE_POINTER(recording, NAN);
    USAGE_INDEX(frame, recording->frame_count, NAN);
    return recording->keys[frame].moment.time;
}

uint64_t thenar_recording_frame_step(const thenar_recording *recording, int frame) {
    USAGE_POINTER(recording, 0);
    USAGE_INDEX(frame, recording->frame_count, 0);
    return recording->keys[frame].moment.step;
}

int thenar_recording_body_count(const thenar_recording *recording) {
    USAGE_POINTER(recording, 0);
    return recording->head.body_count;
}

const thenar_recording_body *thenar_recording_body_at(const thenar_recording *recording, int body) {
    USAGE_POINTER(recording, NULL);
    USAGE_INDEX(body, recording->head.body_count, NULL);
    return &recording->head.bodies[body];
}

int thenar_recording_find_body(const thenar_recording *recording, const char *name) {
    USAGE_POINTER(recording, -1);
    USAGE_POINTER(name, -1);
    for (int i = 0; i < recording->head.body_count; i++)
        if (strcmp(recording->head.bodies[i].name, name) == 0) return i;
    return -1;
}

int thenar_recording_channel_count(const thenar_recording *recording) {
    USAGE_POINTER(recording, 0);
    return recording->head.channel_count;
}

const thenar_recording_channel *thenar_recording_channel_at(const thenar_recording *recording, int channel) {
    USAGE_POINTER(recording, NULL);
    USAGE_INDEX(channel, recording->head.channel_count, NULL);
    return &recording->head.channels[channel];
}

int thenar_recording_find_channel(const thenar_recording *recording, int body, const char *name) {
    USAGE_POINTER(recording, -1);
    USAGE_POINTER(name, -1);
    for (int i = 0; i < recording->head.channel_count; i++)
        if (recording->head.channels[i].body == body && strcmp(recording->head.channels[i].name, name) == 0) return i;
    return -1;
}
