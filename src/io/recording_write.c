/* The writer: the header and the meshes at create, one chunk per frame, the index at close.
 *
 * The index is not kept in memory, where it would have to grow while the simulation runs: at close it is collected from
 * the headers of the frames in the file. */
#include "io/recording.h"

#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

struct recording_writer {
    int file;
    char *path;
    uint64_t end;         /* of the last complete chunk in the file */
    uint64_t first_frame; /* where the frames begin */
    uint64_t frame_count;
    thenar_error failure; /* of the first write that failed */
    ZSTD_CCtx *compressor;
    ZSTD_CCtx *extra_compressor; /* a context used for both large and small data would free memory and allocate again */
    thenar_recording_channel *channels;
    int channel_count;
    size_t values_size; /* of the channels */
    int max_contacts;
    unsigned char *values; /* the channels and contacts of a frame, as stored without compression */
    unsigned char *planes; /* the same in byte planes */
    unsigned char *chunk;  /* header and payload, as they are written to the file */
    size_t max_extra;
    unsigned char *extra; /* the same for chunks that are not frames */
};

static thenar_status fail_write(recording_writer *writer, const char *what) {
    int reason = errno;
    /* Part of the chunk may be in the file; truncating it leaves complete chunks only. If it cannot be truncated (a
     * device), the reader detects the incomplete chunk. */
    int ignored = ftruncate(writer->file, (off_t)writer->end);
    (void)ignored;
    errno = reason;
    return error_errno(&writer->failure, writer->path, what);
}

/* Appends all of the bytes to the file, or none. */
static thenar_status append(recording_writer *writer, const void *bytes, size_t size, const char *what) {
    const char *at = bytes;
    uint64_t offset = writer->end;
    for (size_t left = size; left > 0;) {
        ssize_t written = pwrite(writer->file, at, left, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written == 0) errno = ENOSPC;
        if (written <= 0) return fail_write(writer, what);
        at += written;
        offset += (uint64_t)written;
        left -= (size_t)written;
    }
    writer->end = offset;
    return THENAR_OK;
}

/* Appends a chunk; `chunk` has room for its header, followed by the payload. */
static thenar_status append_chunk(recording_writer *writer, unsigned char *chunk, const char *type, uint32_t flags,
                                  size_t stored, size_t raw, const char *what) {
    recording_chunk header = {.flags = flags, .stored_size = stored, .raw_size = raw};
    memcpy(header.type, type, sizeof header.type);
    header.checksum = recording_checksum_payload(recording_checksum_header(&header), chunk + sizeof header, stored);
    memcpy(chunk, &header, sizeof header);
    return append(writer, chunk, sizeof header + stored, what);
}

/* The status of the writer, with the error of its first failed write. */
static thenar_status writer_status(const recording_writer *writer, thenar_error *error) {
    if (writer->failure.status != THENAR_OK && error) *error = writer->failure;
    return writer->failure.status;
}

/* Compresses planes into out, or copies the numbers if compression does not make them smaller or makes them smaller than
 * a reader may accept. Returns the size and sets the flags. */
static size_t pack(ZSTD_CCtx *compressor, void *out, size_t capacity, const void *planes, const void *numbers,
                   size_t size, uint32_t *flags) {
    size_t packed = ZSTD_compress2(compressor, out, capacity, planes, size);
    if (!ZSTD_isError(packed) && packed < size && size / RECORDING_EXPANSION_MAX < packed) {
        *flags = RECORDING_FLAG_ZSTD | RECORDING_FLAG_PLANES;
        return packed;
    }
    *flags = 0;
    if (size > 0) memcpy(out, numbers, size);
    return size;
}

static size_t packed_capacity(size_t size) {
    size_t bound = ZSTD_compressBound(size);
    return bound > size ? bound : size;
}

static unsigned char *put(unsigned char *at, const void *numbers, size_t count, size_t width) {
    if (count > 0) memcpy(at, numbers, count * width);
    return at + count * width;
}

static void copy_mesh(unsigned char *raw, const recording_body *body, const recording_mesh_layout *layout) {
    raw = put(raw, layout->rest ? body->mesh->positions : NULL, layout->rest, sizeof(double));
    raw = put(raw, layout->surface ? body->surface->positions : NULL, layout->surface, sizeof(double));
    raw = put(raw, layout->weights ? body->embedding->weights : NULL, layout->weights, sizeof(double));
    raw = put(raw, layout->tets ? body->mesh->tets : NULL, layout->tets, sizeof(int));
    raw = put(raw, layout->triangles ? body->surface->triangles : NULL, layout->triangles, sizeof(int));
    put(raw, layout->embedding_tets ? body->embedding->tet : NULL, layout->embedding_tets, sizeof(int));
}

static thenar_status write_mesh(recording_writer *writer, const recording_body *body,
                                const thenar_recording_body *counts, thenar_error *error) {
    recording_mesh_layout layout = recording_mesh_layout_of(counts);
    size_t size = layout.size, doubles_size = layout.doubles * sizeof(double), capacity = packed_capacity(size);
    unsigned char *raw = memory_array(size, 1), *planes = memory_array(size, 1);
    unsigned char *chunk = memory_array(sizeof(recording_chunk) + capacity, 1);
    thenar_status status = raw && planes && chunk ? THENAR_OK : error_memory(error, "a mesh of a recording");
    if (status == THENAR_OK) {
        copy_mesh(raw, body, &layout);
        recording_planes_split(planes, raw, layout.doubles, sizeof(double));
        recording_planes_split(planes + doubles_size, raw + doubles_size, layout.ints, sizeof(int));
        uint32_t flags;
        size_t stored = pack(writer->compressor, chunk + sizeof(recording_chunk), capacity, planes, raw, size, &flags);
        append_chunk(writer, chunk, "MESH", flags, stored, size, "write the meshes");
        status = writer_status(writer, error);
    }
    free(raw);
    free(planes);
    free(chunk);
    return status;
}

static thenar_status write_head(recording_writer *writer, const recording_head *head, thenar_error *error) {
    char *text;
    thenar_status status = recording_head_print(head, writer->path, &text, error);
    if (status != THENAR_OK) return status;
    recording_preamble preamble = {.version = RECORDING_VERSION};
    memcpy(preamble.magic, recording_magic, sizeof preamble.magic);
    size_t size = strlen(text);
    unsigned char *chunk = memory_array(sizeof(recording_chunk) + size, 1);
    if (chunk) {
        memcpy(chunk + sizeof(recording_chunk), text, size);
        if (append(writer, &preamble, sizeof preamble, "write the header") == THENAR_OK)
            append_chunk(writer, chunk, "HEAD", 0, size, size, "write the header");
        status = writer_status(writer, error);
    } else {
        status = error_memory(error, "the header of a recording");
    }
    free(chunk);
    free(text);
    return status;
}

static thenar_recording_body count_body(const recording_body *body) {
    const thenar_surface *surface = body->surface_kind ? body->surface : NULL;
    assert(!body->surface_kind || body->surface);
    assert(body->surface_kind != THENAR_RECORDING_SURFACE_NODES || body->mesh);
    assert(body->surface_kind != THENAR_RECORDING_SURFACE_EMBEDDED ||
           (body->mesh && body->embedding && body->embedding->vertex_count == surface->vertex_count));
    thenar_recording_body counts = {.name = body->name, .kind = body->kind, .surface = body->surface_kind};
    counts.node_count = body->mesh ? body->mesh->node_count : 0;
    counts.tet_count = body->mesh ? body->mesh->tet_count : 0;
    counts.vertex_count = surface ? surface->vertex_count : 0;
    if (body->surface_kind == THENAR_RECORDING_SURFACE_NODES) counts.vertex_count = counts.node_count;
    counts.triangle_count = surface ? surface->triangle_count : 0;
    return counts;
}

static void describe(const recording_description *description, recording_head *head) {
    head->info = (thenar_recording_info){.scene = description->scene,
                                         .thenar_version = thenar_version(),
                                         .solver = description->solver,
                                         .dt = description->dt,
                                         .metadata = description->metadata ? description->metadata : "{}",
                                         .max_contacts = description->max_contacts};
    for (int i = 0; i < head->body_count; i++) head->bodies[i] = count_body(&description->bodies[i]);
    for (int i = 0; i < head->channel_count; i++) {
        thenar_recording_channel *channel = &head->channels[i];
        *channel = description->channels[i];
        if (channel->place == THENAR_RECORDING_RUN) channel->body = -1;
        if (!channel->unit) channel->unit = "";
        assert(channel->body < head->body_count && channel->components >= 1 &&
               channel->components <= RECORDING_COMPONENTS_MAX);
        if (channel->element_count == 0) channel->element_count = 1;
        channel->element_count = recording_channel_elements(channel, head->bodies);
    }
}

static thenar_status allocate_frame(recording_writer *writer, const recording_head *head, thenar_error *error) {
    writer->values_size = recording_values_size(head->channels, head->channel_count);
    writer->max_contacts = head->info.max_contacts;
    size_t size = writer->values_size + (size_t)writer->max_contacts * RECORDING_CONTACT_SIZE;
    writer->channel_count = head->channel_count;
    writer->channels = memory_copy(head->channels, (size_t)head->channel_count * sizeof *head->channels);
    writer->values = memory_aligned(size);
    writer->planes = memory_aligned(size);
    writer->chunk = memory_aligned(sizeof(recording_chunk) + sizeof(recording_timestamp) + packed_capacity(size));
    writer->extra = memory_aligned(sizeof(recording_chunk) + packed_capacity(writer->max_extra));
    if (!writer->channels || !writer->values || !writer->planes || !writer->chunk || !writer->extra)
        return error_memory(error, "the frames of a recording");
    /* zstd allocates its working memory at the first use of each size: now rather than in the first frame. */
    size_t trial = ZSTD_compress2(writer->compressor, writer->chunk, packed_capacity(size), writer->planes, size);
    void *zeros = memory_aligned(writer->max_extra);
    if (!ZSTD_isError(trial) && zeros)
        trial = ZSTD_compress2(writer->extra_compressor, writer->extra, packed_capacity(writer->max_extra), zeros,
                               writer->max_extra);
    free(zeros);
    return ZSTD_isError(trial) || !zeros ? error_memory(error, "the compression of a recording") : THENAR_OK;
}

static thenar_status start(recording_writer *writer, const recording_description *description,
                           const recording_head *head, thenar_error *error) {
    writer->max_extra = description->max_extra;
    writer->compressor = ZSTD_createCCtx();
    writer->extra_compressor = ZSTD_createCCtx();
    if (!writer->compressor || !writer->extra_compressor) return error_memory(error, "the compression of a recording");
    ZSTD_CCtx_setParameter(writer->compressor, ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(writer->extra_compressor, ZSTD_c_compressionLevel, 1);
    thenar_status status = write_head(writer, head, error);
    for (int i = 0; status == THENAR_OK && i < head->body_count; i++)
        status = write_mesh(writer, &description->bodies[i], &head->bodies[i], error);
    writer->first_frame = writer->end;
    return status == THENAR_OK ? allocate_frame(writer, head, error) : status;
}

static void free_writer(recording_writer *writer) {
    if (writer->file >= 0) close(writer->file);
    ZSTD_freeCCtx(writer->compressor);
    ZSTD_freeCCtx(writer->extra_compressor);
    free(writer->channels);
    free(writer->values);
    free(writer->planes);
    free(writer->chunk);
    free(writer->extra);
    free(writer->path);
    free(writer);
}

static thenar_status create_with_head(const char *path, const recording_description *description,
                                      const recording_head *head, recording_writer **out, thenar_error *error) {
    recording_writer *writer = MEMORY_ARRAY(recording_writer, 1);
    if (!writer) return error_memory(error, "a recording");
    writer->path = memory_string(path);
    writer->file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    thenar_status status = THENAR_OK;
    if (writer->file < 0)
        status = error_errno(error, path, "write");
    else if (!writer->path)
        status = error_memory(error, "a recording");
    if (status == THENAR_OK) status = start(writer, description, head, error);
    if (status == THENAR_OK)
        *out = writer;
    else
        free_writer(writer);
    return status;
}

thenar_status recording_create(const char *path, const recording_description *description, recording_writer **out,
                               thenar_error *error) {
    *out = NULL;
    assert(description->max_contacts >= 0 && description->max_contacts <= RECORDING_CONTACTS_MAX);
    assert(description->body_count <= RECORDING_BODIES_MAX && description->channel_count <= RECORDING_CHANNELS_MAX);
    recording_head head = {.body_count = description->body_count, .channel_count = description->channel_count};
    head.bodies = MEMORY_ARRAY(thenar_recording_body, head.body_count);
    head.channels = MEMORY_ARRAY(thenar_recording_channel, head.channel_count);
    thenar_status status;
    if (head.bodies && head.channels) {
        describe(description, &head);
        status = create_with_head(path, description, &head, out, error);
    } else {
        status = error_memory(error, "a recording");
    }
    recording_head_free(&head);
    return status;
}

/* Copies the channels and the contacts into values and planes; each array has its own planes. Returns their size. */
static size_t copy_values(recording_writer *writer, const recording_frame *frame) {
    const double *const *values = frame->values;
    size_t offset = 0;
    for (int c = 0; c < writer->channel_count; c++) {
        const thenar_recording_channel *channel = &writer->channels[c];
        size_t count = recording_channel_numbers(channel), width = recording_type_width(channel->type);
        unsigned char *numbers = writer->values + offset;
        if (channel->type == THENAR_RECORDING_FLOAT64) {
            put(numbers, values[c], count, sizeof(double));
        } else {
            for (size_t i = 0; i < count; i++) {
                float number = (float)values[c][i];
                memcpy(numbers + i * sizeof number, &number, sizeof number);
            }
        }
        recording_planes_split(writer->planes + offset, numbers, count, width);
        offset += count * width;
    }
    recording_contacts_put(writer->values + offset, frame->contacts, frame->contact_count);
    recording_contacts_convert(recording_planes_split, writer->planes + offset, writer->values + offset,
                               frame->contact_count);
    return offset + (size_t)frame->contact_count * RECORDING_CONTACT_SIZE;
}

/* Appends a chunk while frames are written. */
static thenar_status append_frame_chunk(recording_writer *writer, unsigned char *chunk, const char *type,
                                        uint32_t flags, size_t stored, size_t raw, thenar_error *error) {
    char what[64];
    snprintf(what, sizeof what, "write frame %llu", (unsigned long long)writer->frame_count);
    append_chunk(writer, chunk, type, flags, stored, raw, what);
    return writer_status(writer, error);
}

thenar_status recording_write_frame(recording_writer *writer, const recording_frame *frame, thenar_error *error) {
    assert(frame->contact_count >= 0 && frame->contact_count <= writer->max_contacts);
    if (writer->failure.status != THENAR_OK) return writer_status(writer, error);
    size_t size = copy_values(writer, frame);
    recording_timestamp timestamp = {.step = frame->step, .time = frame->time};
    unsigned char *payload = writer->chunk + sizeof(recording_chunk);
    memcpy(payload, &timestamp, sizeof timestamp);
    uint32_t flags;
    size_t packed = pack(writer->compressor, payload + sizeof timestamp, packed_capacity(size), writer->planes,
                         writer->values, size, &flags);
    thenar_status status = append_frame_chunk(writer, writer->chunk, "FRAM", flags, sizeof timestamp + packed,
                                              sizeof timestamp + size, error);
    if (status == THENAR_OK) writer->frame_count++;
    return status;
}

thenar_status recording_write_extra(recording_writer *writer, const char *type, const void *bytes, size_t size,
                                    bool compress, thenar_error *error) {
    assert(size <= writer->max_extra);
    if (writer->failure.status != THENAR_OK) return writer_status(writer, error);
    unsigned char *payload = writer->extra + sizeof(recording_chunk);
    uint32_t flags = 0;
    size_t stored = size;
    if (compress)
        stored = pack(writer->extra_compressor, payload, packed_capacity(size), bytes, bytes, size, &flags);
    else
        memcpy(payload, bytes, size);
    return append_frame_chunk(writer, writer->extra, type, flags & ~RECORDING_FLAG_PLANES, stored, size, error);
}

/* Follows the chunks from the first frame; other chunks may be between the frames. */
static thenar_status collect_keys(recording_writer *writer, recording_key *keys) {
    uint64_t offset = writer->first_frame;
    for (uint64_t i = 0; i < writer->frame_count;) {
        unsigned char bytes[sizeof(recording_chunk) + sizeof(recording_timestamp)];
        ssize_t got = pread(writer->file, bytes, sizeof bytes, (off_t)offset);
        if (got != (ssize_t)sizeof bytes) {
            if (got >= 0) errno = EIO;
            return error_errno(&writer->failure, writer->path, "read back the frames for the index");
        }
        recording_chunk chunk;
        memcpy(&chunk, bytes, sizeof chunk);
        if (recording_is_type(&chunk, "FRAM")) {
            keys[i].offset = offset;
            memcpy(&keys[i].timestamp, bytes + sizeof chunk, sizeof keys[i].timestamp);
            i++;
        }
        offset += sizeof chunk + chunk.stored_size;
    }
    return THENAR_OK;
}

static thenar_status write_index(recording_writer *writer) {
    size_t keys_size = (size_t)writer->frame_count * sizeof(recording_key);
    size_t size = keys_size + sizeof(recording_tail);
    unsigned char *bytes = memory_aligned(sizeof(recording_chunk) + size);
    if (!bytes) return error_memory(&writer->failure, "the index of a recording");
    unsigned char *payload = bytes + sizeof(recording_chunk);
    thenar_status status = collect_keys(writer, (recording_key *)(void *)payload);
    if (status == THENAR_OK) {
        recording_tail tail = {.frame_count = writer->frame_count, .index_offset = writer->end};
        memcpy(tail.magic, recording_tail_magic, sizeof tail.magic);
        memcpy(payload + keys_size, &tail, sizeof tail);
        status = append_chunk(writer, bytes, "KEYS", 0, size, size, "write the index");
    }
    free(bytes);
    return status;
}

thenar_status recording_close(recording_writer *writer, thenar_error *error) {
    if (!writer) return THENAR_OK;
    if (writer->failure.status == THENAR_OK) write_index(writer);
    int file = writer->file;
    writer->file = -1;
    if (close(file) != 0 && writer->failure.status == THENAR_OK) error_errno(&writer->failure, writer->path, "write");
    thenar_status status = writer_status(writer, error);
    free_writer(writer);
    return status;
}
