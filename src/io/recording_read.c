/* Reading a recording.
 *
 * Opening verifies everything before the first frame. The frames come from the index at the end of the file, and each is
 * verified when it is read. Without a complete index (the writer was killed, the file was truncated) a scan finds the
 * frames from the start and verifies each, up to the first incomplete chunk: what follows it cannot be trusted. A chunk
 * is checked against its checksum and against the size that HEAD implies before it is decoded. */
#include "io/recording.h"

#include "core/memory.h"
#include "core/vec3.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

thenar_status recording_fail(const thenar_recording *recording, uint64_t offset, thenar_error *error,
                             const char *text) {
    return error_at(error, recording->path, 0, 0, "at byte %llu: %s", (unsigned long long)offset, text);
}

thenar_status recording_read_bytes(const thenar_recording *recording, uint64_t offset, void *bytes, size_t size,
                                   thenar_error *error) {
    char *at = bytes;
    if (recording->memory) {
        if (offset > recording->size || size > recording->size - offset)
            return recording_fail(recording, offset, error, "the file ends here; expected more");
        memcpy(bytes, recording->memory + offset, size);
        return THENAR_OK;
    }
    while (size > 0) {
        ssize_t got = pread(recording->file, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return error_errno(error, recording->path, "read");
        if (got == 0) return recording_fail(recording, offset, error, "the file ends here; expected more");
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
        return recording_fail(recording, offset, error, "the file ends inside a chunk header; it is truncated");
    thenar_status status = recording_read_bytes(recording, offset, chunk, sizeof *chunk, error);
    if (status != THENAR_OK) return status;
    if (chunk->stored_size > left - sizeof *chunk)
        return recording_fail(recording, offset, error, "a chunk is larger than the rest of the file; it is truncated");
    if (chunk->raw_size / RECORDING_EXPANSION_MAX > chunk->stored_size)
        return recording_fail(recording, offset, error, "a chunk claims to expand more than 1024 times; it is damaged");
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
    return recording_fail(recording, offset, error, "the checksum of a chunk does not match; it is damaged");
}

/* Reads the header of the chunk at offset and verifies the chunk. */
static thenar_status read_verified(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                   unsigned char *piece, thenar_error *error) {
    thenar_status status = recording_read_chunk(recording, offset, chunk, error);
    return status == THENAR_OK ? recording_verify_chunk(recording, offset, chunk, piece, error) : status;
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
        return recording_fail(recording, known, error, "the file ends inside its first bytes; it is truncated");
    if (preamble.version < RECORDING_VERSION_OLDEST || preamble.version > RECORDING_VERSION || preamble.reserved != 0)
        return error_at(error, recording->path, 0, 0, "has version %u of the format; expected version %u to %u",
                        preamble.version, RECORDING_VERSION_OLDEST, RECORDING_VERSION);
    return THENAR_OK;
}

static thenar_status read_head(thenar_recording *recording, uint64_t *offset, unsigned char *piece,
                               thenar_error *error) {
    recording_chunk chunk;
    thenar_status status = read_verified(recording, *offset, &chunk, piece, error);
    if (status != THENAR_OK) return status;
    if (!recording_is_type(&chunk, "HEAD") || chunk.flags != 0 || chunk.raw_size != chunk.stored_size)
        return recording_fail(recording, *offset, error, "expected a HEAD chunk");
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

/* Finds the MESH chunk of each body and advances *offset past the last one. */
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
        thenar_status status = read_verified(recording, *offset, &chunk, piece, error);
        if (status != THENAR_OK) return status;
        if (recording_is_type(&chunk, "FRAM") || recording_is_type(&chunk, "KEYS"))
            return recording_fail(recording, *offset, error, "a mesh is missing; expected one MESH chunk per body");
        if (recording_is_type(&chunk, "MESH")) {
            recording_mesh_layout layout = recording_mesh_layout_of(&recording->head.bodies[found]);
            if (chunk.raw_size != layout.size)
                return recording_fail(recording, *offset, error, "a mesh does not have the size that HEAD implies");
            recording->mesh_offsets[found++] = *offset;
        }
        *offset += sizeof chunk + chunk.stored_size;
    }
    return THENAR_OK;
}

static bool keys_are_plausible(const thenar_recording *recording, uint64_t first, uint64_t index_offset) {
    uint64_t lowest = first, smallest = sizeof(recording_chunk) + sizeof(recording_timestamp);
    for (int i = 0; i < recording->frame_count; i++) {
        uint64_t offset = recording->keys[i].offset;
        if (offset < lowest || offset > index_offset || index_offset - offset < smallest) return false;
        lowest = offset + smallest;
    }
    return true;
}

/* Reads the keys if the file ends in a complete and plausible index; else false. *no_memory: there was none for them. */
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

/* Number of contacts in a frame of that raw size, after its channels; -1: HEAD does not allow that size. */
static int count_contacts(const thenar_recording *recording, uint64_t raw_size) {
    uint64_t plain = sizeof(recording_timestamp) + recording->values_size;
    if (raw_size < plain || (raw_size - plain) % RECORDING_CONTACT_SIZE != 0) return -1;
    uint64_t count = (raw_size - plain) / RECORDING_CONTACT_SIZE;
    return count <= (uint64_t)recording->head.info.max_contacts ? (int)count : -1;
}

/* Verifies a chunk; a frame must have the right size. */
static thenar_status scan_chunk(const thenar_recording *recording, uint64_t offset, recording_chunk *chunk,
                                recording_timestamp *timestamp, unsigned char *piece, thenar_error *error) {
    thenar_status status = read_verified(recording, offset, chunk, piece, error);
    if (status != THENAR_OK || !recording_is_type(chunk, "FRAM")) return status;
    if (chunk->stored_size < sizeof *timestamp || count_contacts(recording, chunk->raw_size) < 0)
        return recording_fail(recording, offset, error, "a frame does not have the size that HEAD implies");
    return recording_read_bytes(recording, offset + sizeof *chunk, timestamp, sizeof *timestamp, error);
}

/* Describes what the scan found wrong, with the number of the last frame that can be read. */
static thenar_status describe_damage(thenar_recording *recording, const thenar_error *problem, bool index_seen,
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
        error_at(&report, path, 0, 0, "was not closed by its writer; it has %d complete frames",
                 recording->frame_count);
    }
    recording->damage = memory_string(report.text);
    return recording->damage ? THENAR_OK : error_memory(error, "a recording");
}

static thenar_status scan_frames(thenar_recording *recording, uint64_t offset, unsigned char *piece,
                                 thenar_error *error) {
    ARRAY(recording_key) keys = {0};
    thenar_error problem = {0};
    bool index_seen = false;
    while (offset < recording->size && keys.count < INT_MAX) {
        recording_chunk chunk;
        recording_key key = {.offset = offset};
        if (scan_chunk(recording, offset, &chunk, &key.timestamp, piece, &problem) != THENAR_OK) break;
        if (recording_is_type(&chunk, "FRAM") && !ARRAY_PUSH(&keys, key)) {
            free(keys.data);
            return error_memory(error, "the index of a recording");
        }
        index_seen = index_seen || recording_is_type(&chunk, "KEYS");
        offset += sizeof chunk + chunk.stored_size;
    }
    recording->keys = keys.data;
    recording->frame_count = (int)keys.count;
    return describe_damage(recording, &problem, index_seen, error);
}

static thenar_status open_file(thenar_recording *recording, thenar_error *error) {
    struct stat info;
    /* Non-blocking, since opening a pipe without a writer would never return. */
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
    /* Callers allocate what HEAD says a frame has, so it must not exceed what this file can contain. */
    if (recording->values_size / RECORDING_EXPANSION_MAX > recording->size)
        return error_at(error, recording->path, 0, 0, "HEAD: frames of %zu bytes in a file of %llu; it is damaged",
                        recording->values_size, (unsigned long long)recording->size);
    bool no_memory = false;
    if (read_index(recording, offset, piece, &no_memory)) return THENAR_OK;
    return no_memory ? error_memory(error, "the index of a recording") : scan_frames(recording, offset, piece, error);
}

/* Opens `memory` of `size` bytes; NULL: the file. */
static thenar_status open_recording(const char *path, const void *memory, size_t size, thenar_recording **out,
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
    return open_recording(path, NULL, 0, out, error);
}

thenar_status thenar_recording_open_memory(const void *bytes, size_t size, thenar_recording **out,
                                           thenar_error *error) {
    USAGE_STATUS(bytes && out, error, "the bytes or the pointer to the recording are NULL");
    return open_recording("a recording in memory", bytes, size, out, error);
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
    return recording->keys[frame].timestamp.time;
}

uint64_t thenar_recording_frame_step(const thenar_recording *recording, int frame) {
    USAGE_POINTER(recording, 0);
    USAGE_INDEX(frame, recording->frame_count, 0);
    return recording->keys[frame].timestamp.step;
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

static thenar_status wrong_size(const thenar_recording *recording, uint64_t offset, thenar_error *error) {
    return recording_fail(recording, offset, error, "a chunk does not have the size that HEAD implies");
}

/* Decompresses the payload, if it is compressed, to exactly `size` bytes. */
static thenar_status unpack(const thenar_recording *recording, uint64_t offset, uint32_t flags, const void *stored,
                            size_t stored_size, void *out, size_t size, thenar_error *error) {
    if (!(flags & RECORDING_FLAG_ZSTD)) {
        if (stored_size != size) return wrong_size(recording, offset, error);
        if (size > 0) memcpy(out, stored, size);
        return THENAR_OK;
    }
    if (ZSTD_getFrameContentSize(stored, stored_size) != size)
        return recording_fail(recording, offset, error, "compressed data do not have the size that HEAD implies");
    size_t got = ZSTD_decompressDCtx(recording->decompressor, out, size, stored, stored_size);
    if (!ZSTD_isError(got) && got == size) return THENAR_OK;
    return recording_fail(recording, offset, error, "the compressed data are damaged");
}

/* Reads and verifies the chunk at offset, whose payload is `prefix` plain bytes and then packed numbers. The payload is
 * left in *stored, which grows as needed. The caller checks its raw size. */
static thenar_status load_chunk(const thenar_recording *recording, uint64_t offset, const char *type, size_t prefix,
                                unsigned char **stored, size_t *capacity, recording_chunk *chunk, thenar_error *error) {
    thenar_status status = recording_read_chunk(recording, offset, chunk, error);
    if (status != THENAR_OK) return status;
    if (!recording_is_type(chunk, type))
        return recording_fail(recording, offset, error, "a chunk is not what the index says; it is damaged");
    if (chunk->flags & ~(RECORDING_FLAG_ZSTD | RECORDING_FLAG_PLANES))
        return recording_fail(recording, offset, error, "a chunk has unknown flags; expected those of version 2");
    if (chunk->stored_size < prefix)
        return recording_fail(recording, offset, error, "a chunk is too short; it is damaged");
    if (!memory_grow((void **)stored, capacity, (size_t)chunk->stored_size + 1, 1))
        return error_memory(error, "a chunk of a recording");
    status = recording_read_bytes(recording, offset + sizeof *chunk, *stored, (size_t)chunk->stored_size, error);
    if (status != THENAR_OK) return status;
    uint64_t hash = recording_checksum_header(chunk);
    if (recording_checksum_payload(hash, *stored, (size_t)chunk->stored_size) != chunk->checksum)
        return recording_fail(recording, offset, error, "the checksum of a chunk does not match; it is damaged");
    return THENAR_OK;
}

static bool indices_in_range(const int *indices, size_t count, int limit) {
    for (size_t i = 0; i < count; i++)
        if (indices[i] < 0 || indices[i] >= limit) return false;
    return true;
}

/* Points the mesh structs into the block of numbers; false if an index is out of range. */
static bool lay_out_mesh(const thenar_recording_body *body, void *block, thenar_recording_mesh *mesh) {
    recording_mesh_layout layout = recording_mesh_layout_of(body);
    double *rest = block, *surface = rest + layout.rest, *weights = surface + layout.surface;
    int *tets = (int *)(void *)(weights + layout.weights), *triangles = tets + layout.tets;
    int *embedding_tets = triangles + layout.triangles;
    bool on_nodes = body->surface == THENAR_RECORDING_SURFACE_NODES;
    *mesh = (thenar_recording_mesh){
        .volume = {.node_count = body->node_count, .tet_count = body->tet_count, .positions = rest, .tets = tets},
        .surface = {.vertex_count = body->vertex_count,
                    .triangle_count = body->triangle_count,
                    .positions = on_nodes ? rest : surface,
                    .triangles = triangles},
        .embedding = {.vertex_count = (int)layout.embedding_tets, .tet = embedding_tets, .weights = weights}};
    return indices_in_range(tets, layout.tets, body->node_count) &&
           indices_in_range(triangles, layout.triangles, body->vertex_count) &&
           indices_in_range(embedding_tets, layout.embedding_tets, body->tet_count);
}

/* Decodes a mesh into block; both buffers have the size of the mesh. */
static thenar_status load_mesh(thenar_recording *recording, int body, unsigned char *block, unsigned char *planes,
                               thenar_error *error) {
    recording_mesh_layout layout = recording_mesh_layout_of(&recording->head.bodies[body]);
    uint64_t offset = recording->mesh_offsets[body];
    size_t size = layout.size, capacity = 0;
    unsigned char *stored = NULL;
    recording_chunk chunk;
    thenar_status status = load_chunk(recording, offset, "MESH", 0, &stored, &capacity, &chunk, error);
    if (status == THENAR_OK && chunk.raw_size != size) status = wrong_size(recording, offset, error);
    bool split = status == THENAR_OK && (chunk.flags & RECORDING_FLAG_PLANES);
    if (status == THENAR_OK)
        status = unpack(recording, offset, chunk.flags, stored, (size_t)chunk.stored_size, split ? planes : block, size,
                        error);
    if (status == THENAR_OK && split) {
        size_t doubles_size = layout.doubles * sizeof(double);
        recording_planes_join(block, planes, layout.doubles, sizeof(double));
        recording_planes_join(block + doubles_size, planes + doubles_size, layout.ints, sizeof(int));
    }
    free(stored);
    return status;
}

#define USAGE_BODY(recording, body, error)                                                                             \
    USAGE_STATUS((body) >= 0 && (body) < (recording)->head.body_count, error, "body %d; expected 0 to %d", body,       \
                 (recording)->head.body_count - 1)

thenar_status thenar_recording_read_mesh(thenar_recording *recording, int body, const thenar_recording_mesh **out,
                                         thenar_error *error) {
    USAGE_STATUS(recording && out, error, "the recording or the pointer to the mesh is NULL");
    USAGE_BODY(recording, body, error);
    *out = &recording->meshes[body];
    if (recording->mesh_blocks[body]) return THENAR_OK;
    *out = NULL;
    recording_mesh_layout layout = recording_mesh_layout_of(&recording->head.bodies[body]);
    size_t size = layout.size;
    unsigned char *block = memory_aligned(size), *planes = memory_array(size, 1);
    thenar_status status = block && planes ? load_mesh(recording, body, block, planes, error)
                                           : error_memory(error, "a mesh of a recording");
    free(planes);
    if (status == THENAR_OK && !lay_out_mesh(&recording->head.bodies[body], block, &recording->meshes[body]))
        status = recording_fail(recording, recording->mesh_offsets[body], error,
                                "a mesh has an index out of range; it is damaged");
    if (status != THENAR_OK) {
        free(block);
        return status;
    }
    recording->mesh_blocks[body] = block;
    *out = &recording->meshes[body];
    return THENAR_OK;
}

static void join_channels(const thenar_recording *recording) {
    size_t offset = 0;
    for (int c = 0; c < recording->head.channel_count; c++) {
        const thenar_recording_channel *channel = &recording->head.channels[c];
        recording_planes_join(recording->values + offset, recording->planes + offset,
                              recording_channel_numbers(channel), recording_type_width(channel->type));
        offset += recording_channel_size(channel);
    }
    recording_contacts_convert(recording_planes_join, recording->values + offset, recording->planes + offset,
                               recording->contact_count);
}

static thenar_status make_buffers(thenar_recording *recording, size_t size, thenar_error *error) {
    bool enough = memory_grow((void **)&recording->planes, &recording->planes_capacity, size + 1, 1) &&
                  memory_grow((void **)&recording->values, &recording->values_capacity, size + 1, 1);
    return enough ? THENAR_OK : error_memory(error, "a frame of a recording");
}

static thenar_status decode_frame(thenar_recording *recording, int frame, thenar_error *error) {
    uint64_t offset = recording->keys[frame].offset;
    size_t prefix = sizeof(recording_timestamp);
    recording_chunk chunk;
    thenar_status status =
        load_chunk(recording, offset, "FRAM", prefix, &recording->stored, &recording->stored_capacity, &chunk, error);
    if (status != THENAR_OK) return status;
    recording->contact_count = count_contacts(recording, chunk.raw_size);
    if (recording->contact_count < 0) return wrong_size(recording, offset, error);
    /* Only now, since the checksum shows that a frame of this size exists. */
    size_t size = (size_t)chunk.raw_size - prefix;
    status = make_buffers(recording, size, error);
    if (status != THENAR_OK) return status;
    bool split = chunk.flags & RECORDING_FLAG_PLANES;
    status = unpack(recording, offset, chunk.flags, recording->stored + prefix, (size_t)chunk.stored_size - prefix,
                    split ? recording->planes : recording->values, size, error);
    if (status == THENAR_OK && split) join_channels(recording);
    return status;
}

static thenar_status load_frame(thenar_recording *recording, int frame, thenar_error *error) {
    USAGE_STATUS(frame >= 0 && frame < recording->frame_count, error, "frame %d; expected 0 to %d", frame,
                 recording->frame_count - 1);
    if (recording->frame_in_values == frame) return THENAR_OK;
    recording->frame_in_values = -1;
    thenar_status status = decode_frame(recording, frame, error);
    if (status == THENAR_OK) recording->frame_in_values = frame;
    return status;
}

thenar_status thenar_recording_read_channel(thenar_recording *recording, int channel, int frame, double *values,
                                            thenar_error *error) {
    USAGE_STATUS(recording && values, error, "the recording or the array is NULL");
    USAGE_STATUS(channel >= 0 && channel < recording->head.channel_count, error, "channel %d; expected 0 to %d",
                 channel, recording->head.channel_count - 1);
    thenar_status status = load_frame(recording, frame, error);
    if (status != THENAR_OK) return status;
    const thenar_recording_channel *channels = recording->head.channels;
    const unsigned char *numbers = recording->values + recording_values_size(channels, channel);
    size_t count = recording_channel_numbers(&channels[channel]);
    if (channels[channel].type == THENAR_RECORDING_FLOAT64) {
        if (count > 0) memcpy(values, numbers, count * sizeof *values);
        return THENAR_OK;
    }
    for (size_t i = 0; i < count; i++) {
        float number;
        memcpy(&number, numbers + i * sizeof number, sizeof number);
        values[i] = number;
    }
    return THENAR_OK;
}

thenar_status thenar_recording_read_contacts(thenar_recording *recording, int frame, const thenar_contact **contacts,
                                             int *count, thenar_error *error) {
    USAGE_STATUS(recording && contacts && count, error, "the recording or a pointer is NULL");
    *contacts = NULL;
    *count = 0;
    thenar_status status = load_frame(recording, frame, error);
    if (status != THENAR_OK) return status;
    if (!memory_grow((void **)&recording->contacts, &recording->contacts_capacity, (size_t)recording->contact_count + 1,
                     sizeof *recording->contacts))
        return error_memory(error, "the contacts of a recording");
    const recording_head *head = &recording->head;
    if (!recording_contacts_get(recording->values + recording->values_size, head->bodies, head->body_count,
                                recording->contacts, recording->contact_count))
        return recording_fail(recording, recording->keys[frame].offset, error,
                              "a contact has an index out of range; it is damaged");
    *contacts = recording->contacts;
    *count = recording->contact_count;
    return THENAR_OK;
}

/* The channel of that name if it has that place and that many components, else -1. */
static int find_channel(const thenar_recording *recording, int body, const char *name, thenar_recording_place place,
                        int components) {
    int channel = thenar_recording_find_channel(recording, body, name);
    if (channel < 0) return -1;
    const thenar_recording_channel *found = &recording->head.channels[channel];
    bool fits = found->place == place && found->components == components && found->element_count > 0;
    return fits ? channel : -1;
}

int recording_find_numbers(const thenar_recording *recording, int body, const char *name, int numbers) {
    int channel = find_channel(recording, body, name, THENAR_RECORDING_BODY, numbers);
    return channel >= 0 && recording->head.channels[channel].element_count == 1 ? channel : -1;
}

thenar_status thenar_recording_read_positions(thenar_recording *recording, int body, int frame, double *positions,
                                              thenar_error *error) {
    USAGE_STATUS(recording && positions, error, "the recording or the array is NULL");
    USAGE_BODY(recording, body, error);
    int channel = find_channel(recording, body, "position", THENAR_RECORDING_NODES, 3);
    if (channel >= 0) return thenar_recording_read_channel(recording, channel, frame, positions, error);
    const thenar_recording_mesh *mesh;
    thenar_status status = thenar_recording_read_mesh(recording, body, &mesh, error);
    size_t count = 3 * (size_t)recording->head.bodies[body].node_count;
    if (status == THENAR_OK && count > 0) memcpy(positions, mesh->volume.positions, count * sizeof *positions);
    return status;
}

static thenar_status embedded_surface(thenar_recording *recording, int body, const thenar_recording_mesh *mesh,
                                      int frame, double *positions, thenar_error *error) {
    size_t numbers = 3 * (size_t)mesh->volume.node_count;
    if (!memory_grow((void **)&recording->nodes, &recording->nodes_capacity, numbers + 1, sizeof(double)))
        return error_memory(error, "a surface of a recording");
    thenar_status status = thenar_recording_read_positions(recording, body, frame, recording->nodes, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < mesh->embedding.vertex_count; i++) {
        const int *tet = mesh->volume.tets + 4 * (size_t)mesh->embedding.tet[i];
        const double *weights = mesh->embedding.weights + 4 * (size_t)i;
        vec3 sum = {0, 0, 0};
        for (int k = 0; k < 4; k++)
            sum = vec3_mul_add(sum, vec3_load(recording->nodes + 3 * (size_t)tet[k]), weights[k]);
        vec3_store(positions + 3 * (size_t)i, sum);
    }
    return THENAR_OK;
}

static thenar_status rigid_surface(thenar_recording *recording, int body, const thenar_recording_mesh *mesh, int frame,
                                   double *positions, thenar_error *error) {
    vec3 origin = {0, 0, 0};
    quat rotation = quat_identity();
    int channel = recording_find_numbers(recording, body, "pose", 7);
    if (channel >= 0) {
        double pose[7];
        thenar_status status = thenar_recording_read_channel(recording, channel, frame, pose, error);
        if (status != THENAR_OK) return status;
        origin = vec3_load(pose);
        rotation = quat_unit((quat){pose[3], pose[4], pose[5], pose[6]});
    }
    for (size_t i = 0; i < (size_t)mesh->surface.vertex_count; i++)
        vec3_store(positions + 3 * i,
                   vec3_add(origin, quat_rotate(rotation, vec3_load(mesh->surface.positions + 3 * i))));
    return THENAR_OK;
}

thenar_status thenar_recording_read_surface(thenar_recording *recording, int body, int frame, double *positions,
                                            thenar_error *error) {
    USAGE_STATUS(recording && positions, error, "the recording or the array is NULL");
    USAGE_BODY(recording, body, error);
    const thenar_recording_mesh *mesh;
    thenar_status status = thenar_recording_read_mesh(recording, body, &mesh, error);
    if (status != THENAR_OK) return status;
    switch (recording->head.bodies[body].surface) {
    case THENAR_RECORDING_SURFACE_NONE:
        break;
    case THENAR_RECORDING_SURFACE_NODES:
        return thenar_recording_read_positions(recording, body, frame, positions, error);
    case THENAR_RECORDING_SURFACE_EMBEDDED:
        return embedded_surface(recording, body, mesh, frame, positions, error);
    case THENAR_RECORDING_SURFACE_RIGID:
        return rigid_surface(recording, body, mesh, frame, positions, error);
    }
    return THENAR_OK;
}
