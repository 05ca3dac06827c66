#include "io/recording_format.h"

#include "base/hash.h"

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

void recording_planes_split(unsigned char *planes, const unsigned char *numbers, size_t count, size_t width) {
    for (size_t plane = 0; plane < width; plane++, planes += count)
        for (size_t i = 0; i < count; i++) planes[i] = numbers[i * width + plane];
}

void recording_planes_join(unsigned char *numbers, const unsigned char *planes, size_t count, size_t width) {
    for (size_t plane = 0; plane < width; plane++, planes += count)
        for (size_t i = 0; i < count; i++) numbers[i * width + plane] = planes[i];
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
