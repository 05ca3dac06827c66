/* Reading meshes and frames out of an open recording: each chunk is checked against its checksum and against
 * the size that HEAD implies before anything is made of it. */
#include "io/recording.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/vec3.h"

#include <stdlib.h>
#include <string.h>

/* A run of numbers of one width in a payload. */
typedef struct run {
    size_t count, width;
} run;

/* Decompresses to exactly `size` bytes, in byte planes or not as the flags say. */
static thenar_status unpack(const thenar_recording *recording, uint64_t offset, uint32_t flags, const void *stored,
                            size_t stored_size, void *out, size_t size, thenar_error *error) {
    if (!(flags & RECORDING_FLAG_ZSTD)) {
        if (stored_size != size)
            return recording_complain(recording, offset, error, "a chunk does not have the size that HEAD implies");
        if (size > 0) memcpy(out, stored, size);
        return THENAR_OK;
    }
    if (ZSTD_getFrameContentSize(stored, stored_size) != size)
        return recording_complain(recording, offset, error, "compressed data do not have the size that HEAD implies");
    size_t got = ZSTD_decompressDCtx(recording->decompressor, out, size, stored, stored_size);
    if (!ZSTD_isError(got) && got == size) return THENAR_OK;
    return recording_complain(recording, offset, error, "the compressed data are damaged");
}

static thenar_status check_chunk(const thenar_recording *recording, uint64_t offset, const recording_chunk *chunk,
                                 const char *type, thenar_error *error) {
    if (!recording_is_type(chunk, type))
        return recording_complain(recording, offset, error, "a chunk is not what the index says; it is damaged");
    if (chunk->flags & ~(RECORDING_FLAG_ZSTD | RECORDING_FLAG_PLANES))
        return recording_complain(recording, offset, error, "a chunk has unknown flags; expected version 2's");
    return THENAR_OK;
}

/* Reads and verifies the chunk at offset, whose payload is `prefix` plain bytes and then packed numbers. The payload is
 * left in *stored, which grows as needed; whether its raw size is right is for the caller to see. */
static thenar_status load_chunk(const thenar_recording *recording, uint64_t offset, const char *type, size_t prefix,
                                unsigned char **stored, size_t *capacity, recording_chunk *chunk, thenar_error *error) {
    thenar_status status = recording_read_chunk(recording, offset, chunk, error);
    if (status == THENAR_OK) status = check_chunk(recording, offset, chunk, type, error);
    if (status != THENAR_OK) return status;
    if (chunk->stored_size < prefix)
        return recording_complain(recording, offset, error, "a chunk is too short; it is damaged");
    if (!memory_grow((void **)stored, capacity, (size_t)chunk->stored_size + 1, 1))
        return error_memory(error, "a chunk of a recording");
    status = recording_read_bytes(recording, offset + sizeof *chunk, *stored, (size_t)chunk->stored_size, error);
    if (status != THENAR_OK) return status;
    uint64_t hash = recording_checksum_header(chunk);
    if (recording_checksum_payload(hash, *stored, (size_t)chunk->stored_size) != chunk->checksum)
        return recording_complain(recording, offset, error, "the checksum of a chunk does not match; it is damaged");
    return THENAR_OK;
}

static thenar_status wrong_size(const thenar_recording *recording, uint64_t offset, thenar_error *error) {
    return recording_complain(recording, offset, error, "a chunk does not have the size that HEAD implies");
}

static void join_runs(unsigned char *numbers, const unsigned char *planes, const run *runs, int count) {
    for (int i = 0; i < count; i++) {
        recording_planes_join(numbers, planes, runs[i].count, runs[i].width);
        numbers += runs[i].count * runs[i].width;
        planes += runs[i].count * runs[i].width;
    }
}

static bool indices_in_range(const int *indices, size_t count, int limit) {
    bool good = true;
    for (size_t i = 0; i < count; i++) good = good && indices[i] >= 0 && indices[i] < limit;
    return good;
}

/* Lays the mesh structs over the block of numbers; false if an index is out of range. */
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

/* Fills block, of the size of the mesh. */
static thenar_status load_mesh(thenar_recording *recording, int body, unsigned char *block, unsigned char *planes,
                               thenar_error *error) {
    recording_mesh_layout layout = recording_mesh_layout_of(&recording->head.bodies[body]);
    uint64_t offset = recording->mesh_offsets[body];
    size_t size = recording_mesh_size(&layout), capacity = 0;
    unsigned char *stored = NULL;
    recording_chunk chunk;
    thenar_status status = load_chunk(recording, offset, "MESH", 0, &stored, &capacity, &chunk, error);
    if (status == THENAR_OK && chunk.raw_size != size) status = wrong_size(recording, offset, error);
    bool split = status == THENAR_OK && (chunk.flags & RECORDING_FLAG_PLANES);
    if (status == THENAR_OK)
        status = unpack(recording, offset, chunk.flags, stored, (size_t)chunk.stored_size, split ? planes : block, size,
                        error);
    if (status == THENAR_OK && split) {
        run runs[] = {{recording_mesh_doubles(&layout), sizeof(double)}, {recording_mesh_ints(&layout), sizeof(int)}};
        join_runs(block, planes, runs, 2);
    }
    free(stored);
    return status;
}

thenar_status thenar_recording_read_mesh(thenar_recording *recording, int body, const thenar_recording_mesh **out,
                                         thenar_error *error) {
    USAGE_STATUS(recording && out, error, "the recording or the pointer to the mesh is NULL");
    USAGE_STATUS(body >= 0 && body < recording->head.body_count, error, "body %d; expected 0 to %d", body,
                 recording->head.body_count - 1);
    *out = &recording->meshes[body];
    if (recording->mesh_blocks[body]) return THENAR_OK;
    *out = NULL;
    recording_mesh_layout layout = recording_mesh_layout_of(&recording->head.bodies[body]);
    size_t size = recording_mesh_size(&layout);
    unsigned char *block = memory_aligned(size), *planes = memory_array(size, 1);
    thenar_status status = block && planes ? load_mesh(recording, body, block, planes, error)
                                           : error_memory(error, "a mesh of a recording");
    free(planes);
    if (status == THENAR_OK && !lay_out_mesh(&recording->head.bodies[body], block, &recording->meshes[body]))
        status = recording_complain(recording, recording->mesh_offsets[body], error,
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
        run numbers = {recording_channel_numbers(channel), recording_type_width(channel->type)};
        join_runs(recording->values + offset, recording->planes + offset, &numbers, 1);
        offset += recording_channel_size(channel);
    }
    recording_contacts_join(recording->values + offset, recording->planes + offset, recording->contact_count);
}

static thenar_status make_buffers(thenar_recording *recording, size_t size, thenar_error *error) {
    bool enough = memory_grow((void **)&recording->planes, &recording->planes_capacity, size + 1, 1) &&
                  memory_grow((void **)&recording->values, &recording->values_capacity, size + 1, 1);
    return enough ? THENAR_OK : error_memory(error, "a frame of a recording");
}

static thenar_status decode_frame(thenar_recording *recording, int frame, thenar_error *error) {
    uint64_t offset = recording->keys[frame].offset;
    size_t prefix = sizeof(recording_moment);
    recording_chunk chunk;
    thenar_status status =
        load_chunk(recording, offset, "FRAM", prefix, &recording->stored, &recording->stored_capacity, &chunk, error);
    if (status != THENAR_OK) return status;
    recording->contact_count = recording_count_contacts(recording, chunk.raw_size);
    if (recording->contact_count < 0) return wrong_size(recording, offset, error);
    /* Only now: a frame of this size is really there. */
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
        return recording_complain(recording, recording->keys[frame].offset, error,
                                  "a contact has an index out of range; it is damaged");
    *contacts = recording->contacts;
    *count = recording->contact_count;
    return THENAR_OK;
}

/* The channel of that name if it has that place and those components, else -1. */
static int find_shaped(const thenar_recording *recording, int body, const char *name, thenar_recording_place place,
                       int components) {
    int channel = thenar_recording_find_channel(recording, body, name);
    if (channel < 0) return -1;
    const thenar_recording_channel *found = &recording->head.channels[channel];
    bool fits = found->place == place && found->components == components && found->element_count > 0;
    return fits ? channel : -1;
}

int recording_find_numbers(const thenar_recording *recording, int body, const char *name, int numbers) {
    int channel = find_shaped(recording, body, name, THENAR_RECORDING_BODY, numbers);
    return channel >= 0 && recording->head.channels[channel].element_count == 1 ? channel : -1;
}

thenar_status thenar_recording_read_positions(thenar_recording *recording, int body, int frame, double *positions,
                                              thenar_error *error) {
    USAGE_STATUS(recording && positions, error, "the recording or the array is NULL");
    USAGE_STATUS(body >= 0 && body < recording->head.body_count, error, "body %d; expected 0 to %d", body,
                 recording->head.body_count - 1);
    int channel = find_shaped(recording, body, "position", THENAR_RECORDING_NODES, 3);
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
    USAGE_STATUS(body >= 0 && body < recording->head.body_count, error, "body %d; expected 0 to %d", body,
                 recording->head.body_count - 1);
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
