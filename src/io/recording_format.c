#include "io/recording_format.h"

#include "base/hash.h"

#include <assert.h>
#include <string.h>

/* The first byte is not ASCII and the last is a line feed: a transfer in text mode shows. */
const char recording_magic[8] = {(char)0x89, 'T', 'H', 'E', 'N', 'A', 'R', '\n'};
const char recording_tail_magic[8] = {'K', 'E', 'Y', 'S', 'E', 'N', 'D', '\n'};

bool recording_is_type(const recording_chunk *chunk, const char *type) {
    return memcmp(chunk->type, type, sizeof chunk->type) == 0;
}

uint64_t recording_checksum_header(const recording_chunk *chunk) {
    return hash_bytes(0, chunk, offsetof(recording_chunk, checksum));
}

uint64_t recording_checksum_payload(uint64_t hash, const void *payload, size_t size) {
    const char *at = payload;
    while (size > 0) {
        size_t piece = size < RECORDING_PIECE ? size : RECORDING_PIECE;
        hash = hash_bytes(hash, at, piece);
        at += piece;
        size -= piece;
    }
    return hash;
}

/* With the width a constant and the byte taken by a shift the compiler makes vector code of it: 10 times as
 * fast. */
static void split32(unsigned char *restrict planes, const unsigned char *restrict numbers, size_t count) {
    for (int plane = 0; plane < 4; plane++, planes += count)
        for (size_t i = 0; i < count; i++) {
            uint32_t word;
            memcpy(&word, numbers + 4 * i, 4);
            planes[i] = (unsigned char)(word >> (8 * plane));
        }
}

static void split64(unsigned char *restrict planes, const unsigned char *restrict numbers, size_t count) {
    for (int plane = 0; plane < 8; plane++, planes += count)
        for (size_t i = 0; i < count; i++) {
            uint64_t word;
            memcpy(&word, numbers + 8 * i, 8);
            planes[i] = (unsigned char)(word >> (8 * plane));
        }
}

static void join32(unsigned char *restrict numbers, const unsigned char *restrict planes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t word = 0;
        for (int plane = 0; plane < 4; plane++) word |= (uint32_t)planes[(size_t)plane * count + i] << (8 * plane);
        memcpy(numbers + 4 * i, &word, 4);
    }
}

static void join64(unsigned char *restrict numbers, const unsigned char *restrict planes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t word = 0;
        for (int plane = 0; plane < 8; plane++) word |= (uint64_t)planes[(size_t)plane * count + i] << (8 * plane);
        memcpy(numbers + 8 * i, &word, 8);
    }
}

void recording_planes_split(unsigned char *planes, const unsigned char *numbers, size_t count, size_t width) {
    assert(width == 4 || width == 8);
    if (width == 4)
        split32(planes, numbers, count);
    else
        split64(planes, numbers, count);
}

void recording_planes_join(unsigned char *numbers, const unsigned char *planes, size_t count, size_t width) {
    assert(width == 4 || width == 8);
    if (width == 4)
        join32(numbers, planes, count);
    else
        join64(numbers, planes, count);
}

size_t recording_type_width(thenar_recording_type type) {
    return type == THENAR_RECORDING_FLOAT64 ? sizeof(double) : sizeof(float);
}

size_t recording_channel_numbers(const thenar_recording_channel *channel) {
    return (size_t)channel->element_count * (size_t)channel->components;
}

size_t recording_channel_size(const thenar_recording_channel *channel) {
    return recording_channel_numbers(channel) * recording_type_width(channel->type);
}

size_t recording_values_size(const thenar_recording_channel *channels, int count) {
    size_t size = 0;
    for (int i = 0; i < count; i++) size += recording_channel_size(&channels[i]);
    return size;
}

recording_mesh_layout recording_mesh_layout_of(const thenar_recording_body *body) {
    size_t nodes = (size_t)body->node_count, vertices = (size_t)body->vertex_count;
    bool embedded = body->surface == THENAR_RECORDING_SURFACE_EMBEDDED;
    bool own_vertices = embedded || body->surface == THENAR_RECORDING_SURFACE_RIGID;
    return (recording_mesh_layout){
        .rest = 3 * nodes,
        .surface = own_vertices ? 3 * vertices : 0,
        .weights = embedded ? 4 * vertices : 0,
        .tets = 4 * (size_t)body->tet_count,
        .triangles = 3 * (size_t)body->triangle_count,
        .embedding_tets = embedded ? vertices : 0,
    };
}

size_t recording_mesh_doubles(const recording_mesh_layout *layout) {
    return layout->rest + layout->surface + layout->weights;
}

size_t recording_mesh_ints(const recording_mesh_layout *layout) {
    return layout->tets + layout->triangles + layout->embedding_tets;
}

size_t recording_mesh_size(const recording_mesh_layout *layout) {
    return recording_mesh_doubles(layout) * sizeof(double) + recording_mesh_ints(layout) * sizeof(int);
}
