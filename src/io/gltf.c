#include "io/gltf.h"

#include "base/file.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Constants of the glTF 2.0 specification. */
enum {
    FLOAT = 5126,
    UNSIGNED_INT = 5125,
    ARRAY_BUFFER = 34962,
    ELEMENT_ARRAY_BUFFER = 34963,
    GLB_MAGIC = 0x46546c67,
    GLB_JSON = 0x4e4f534a,
    GLB_BIN = 0x004e4942,
    GLB_HEADER_SIZE = 12,
    GLB_CHUNK_HEADER_SIZE = 8,
};

void gltf_begin(gltf_builder *gltf, const char *scene_name) {
    *gltf = (gltf_builder){0};
    gltf->root = json_pack("{s:{s:s, s:s}, s:i, s:[{s:s, s:[]}]}", "asset", "version", "2.0", "generator",
                           "Thenar " THENAR_VERSION, "scene", 0, "scenes", "name", scene_name, "nodes");
    gltf->failed = !gltf->root;
}

void gltf_free(gltf_builder *gltf) {
    json_decref(gltf->root);
    free(gltf->bytes);
    *gltf = (gltf_builder){0};
}

int gltf_append(gltf_builder *gltf, const char *list, json_t *object) {
    json_t *array = json_object_get(gltf->root, list);
    if (!array && !gltf->failed) {
        array = json_array();
        if (json_object_set_new(gltf->root, list, array) != 0) array = NULL;
    }
    if (!array || json_array_append_new(array, object) != 0) {
        gltf->failed = true;
        return 0;
    }
    return (int)json_array_size(array) - 1;
}

/* Every array begins at a multiple of 4, as accessors of 4-byte numbers must. */
static int add_view(gltf_builder *gltf, const void *bytes, size_t size, int target) {
    assert(size % 4 == 0);
    if (gltf->failed || !memory_grow((void **)&gltf->bytes, &gltf->capacity, gltf->size + size, 1)) {
        gltf->failed = true;
        return 0;
    }
    memcpy(gltf->bytes + gltf->size, bytes, size);
    json_t *view =
        json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)gltf->size, "byteLength", (json_int_t)size);
    if (target) json_object_set_new(view, "target", json_integer(target));
    gltf->size += size;
    return gltf_append(gltf, "bufferViews", view);
}

static void set_bounds(json_t *accessor, const float *values, size_t count, int components) {
    json_t *low = json_array(), *high = json_array();
    for (size_t k = 0; k < (size_t)components; k++) {
        float smallest = values[k], largest = values[k];
        for (size_t i = 1; i < count; i++) {
            float value = values[i * (size_t)components + k];
            if (value < smallest) smallest = value;
            if (value > largest) largest = value;
        }
        json_array_append_new(low, json_real(smallest));
        json_array_append_new(high, json_real(largest));
    }
    json_object_set_new(accessor, "min", low);
    json_object_set_new(accessor, "max", high);
}

int gltf_add_floats(gltf_builder *gltf, gltf_use use, const float *values, size_t count, int components) {
    assert(count > 0);
    const char *type = components == 1 ? "SCALAR" : components == 3 ? "VEC3" : "VEC4";
    int view =
        add_view(gltf, values, count * (size_t)components * sizeof *values, use == GLTF_VERTICES ? ARRAY_BUFFER : 0);
    json_t *accessor = json_pack("{s:i, s:i, s:I, s:s}", "bufferView", view, "componentType", FLOAT, "count",
                                 (json_int_t)count, "type", type);
    if (accessor) set_bounds(accessor, values, count, components);
    return gltf_append(gltf, "accessors", accessor);
}

int gltf_add_indices(gltf_builder *gltf, const uint32_t *indices, size_t count) {
    assert(count > 0);
    int view = add_view(gltf, indices, count * sizeof *indices, ELEMENT_ARRAY_BUFFER);
    return gltf_append(gltf, "accessors",
                       json_pack("{s:i, s:i, s:I, s:s}", "bufferView", view, "componentType", UNSIGNED_INT, "count",
                                 (json_int_t)count, "type", "SCALAR"));
}

static void put_words(FILE *file, const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned char bytes[4] = {(unsigned char)words[i], (unsigned char)(words[i] >> 8),
                                  (unsigned char)(words[i] >> 16), (unsigned char)(words[i] >> 24)};
        fwrite(bytes, 1, sizeof bytes, file);
    }
}

static thenar_status write_text(const gltf_builder *gltf, const char *text, const char *path, thenar_error *error) {
    size_t length = strlen(text), padding = (4 - length % 4) % 4;
    size_t total = GLB_HEADER_SIZE + 2 * GLB_CHUNK_HEADER_SIZE + length + padding + gltf->size;
    if (total > UINT32_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "%s: would have %zu bytes; a .glb file can have 4 GiB", path,
                         total);
    FILE *file;
    thenar_status status = file_create(path, &file, error);
    if (status != THENAR_OK) return status;
    uint32_t header[] = {GLB_MAGIC, 2, (uint32_t)total, (uint32_t)(length + padding), GLB_JSON};
    put_words(file, header, 5);
    fwrite(text, 1, length, file);
    fwrite("   ", 1, padding, file);
    uint32_t binary[] = {(uint32_t)gltf->size, GLB_BIN};
    put_words(file, binary, 2);
    fwrite(gltf->bytes, 1, gltf->size, file);
    return file_close(file, path, error);
}

thenar_status gltf_write(gltf_builder *gltf, const char *path, thenar_error *error) {
    gltf_append(gltf, "buffers", json_pack("{s:I}", "byteLength", (json_int_t)gltf->size));
    char *text = gltf->failed ? NULL : json_dumps(gltf->root, JSON_COMPACT);
    if (!text) return error_memory(error, path);
    thenar_status status = write_text(gltf, text, path, error);
    free(text);
    return status;
}
