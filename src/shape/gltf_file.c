#include "shape/gltf_file.h"

#include "base/json_text.h"
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_LIMIT 20000000 /* elements of an accessor */

static uint32_t u32_at(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static thenar_status bad(const gltf_file *file, thenar_error *error, const char *what) {
    return error_at(error, file->path, 0, 0, "%s", what);
}

/* The two chunks of a binary file: text and bytes. */
static thenar_status split_binary(const gltf_file *file, const char **text, size_t *length, gltf_bytes *binary,
                                  thenar_error *error) {
    const unsigned char *p = (const unsigned char *)file->bytes.data;
    size_t size = file->bytes.size;
    if (size < 20 || u32_at(p + 4) != 2) return bad(file, error, "not a glTF of version 2; expected a 20-byte header");
    if (u32_at(p + 8) != size)
        return error_at(error, file->path, 0, 0, "the header says %u bytes and the file has %zu; is it cut off?",
                        u32_at(p + 8), size);
    size_t first = u32_at(p + 12);
    if (memcmp(p + 16, "JSON", 4) != 0 || first > size - 20)
        return bad(file, error, "the first chunk does not fit; expected a JSON chunk within the file");
    *text = (const char *)p + 20;
    *length = first;
    size_t at = 20 + first;
    if (size - at < 8) return THENAR_OK;
    size_t second = u32_at(p + at);
    if (memcmp(p + at + 4, "BIN\0", 4) != 0) return THENAR_OK;
    if (second > size - at - 8)
        return bad(file, error, "the binary chunk goes beyond the end of the file; is it cut off?");
    *binary = (gltf_bytes){.data = p + at + 8, .size = second};
    return THENAR_OK;
}

static int digit_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Base64 after the comma of a data URI; false: not that, or memory ran out (then owned is NULL). */
static bool decode(const char *uri, gltf_bytes *out) {
    const char *comma = strchr(uri, ',');
    size_t length = strlen(comma + 1), size = 0;
    out->owned = MEMORY_ARRAY(unsigned char, length / 4 * 3 + 3);
    if (!out->owned) return false;
    uint32_t bits = 0;
    int held = 0;
    for (size_t i = 0; i < length && comma[1 + i] != '='; i++) {
        int digit = digit_of(comma[1 + i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out->owned[size++] = (unsigned char)(bits >> held);
    }
    out->data = out->owned;
    out->size = size;
    return true;
}

static thenar_status open_buffer(const gltf_file *file, int index, gltf_bytes binary, gltf_bytes *out,
                                 thenar_error *error) {
    const json_t *buffer = gltf_object(file, "buffers", index);
    const char *uri = json_string_value(json_object_get(buffer, "uri"));
    long length = gltf_index(buffer, "byteLength");
    if (!uri) {
        *out = binary;
    } else if (strncmp(uri, "data:", 5) == 0 && strchr(uri, ',') && strstr(uri, ";base64,")) {
        if (!decode(uri, out))
            return out->owned
                       ? error_at(error, file->path, 0, 0, "buffer %d is not base64; expected A-Z a-z 0-9 + /", index)
                       : error_memory(error, "glTF buffer");
    } else {
        return error_at(error, file->path, 0, 0, "buffer %d is in another file; expected a .glb, or base64", index);
    }
    if (length < 0 || (size_t)length > out->size)
        return error_at(error, file->path, 0, 0, "buffer %d has %zu bytes; expected its byteLength, %ld", index,
                        out->size, length);
    return THENAR_OK;
}

static thenar_status open_buffers(gltf_file *file, gltf_bytes binary, thenar_error *error) {
    size_t count = json_array_size(json_object_get(file->root, "buffers"));
    if (count > 1000) return bad(file, error, "more than 1000 buffers");
    file->buffers = MEMORY_ARRAY(gltf_bytes, count);
    if (!file->buffers) return error_memory(error, "glTF buffers");
    thenar_status status = THENAR_OK;
    for (; file->buffer_count < (int)count && status == THENAR_OK; file->buffer_count++) {
        gltf_bytes here = file->buffer_count == 0 ? binary : (gltf_bytes){0};
        status = open_buffer(file, file->buffer_count, here, &file->buffers[file->buffer_count], error);
    }
    return status;
}

thenar_status gltf_parse(const char *path, file_bytes bytes, gltf_file *out, thenar_error *error) {
    *out = (gltf_file){.path = path, .bytes = bytes};
    thenar_status status = THENAR_OK;
    const char *text = out->bytes.data;
    size_t length = out->bytes.size;
    gltf_bytes binary = {0};
    if (length >= 4 && memcmp(text, "glTF", 4) == 0) status = split_binary(out, &text, &length, &binary, error);
    if (status == THENAR_OK) {
        status = json_text_parse(text, length, path, &out->root, error);
        if (status == THENAR_OK && !json_is_object(out->root))
            status = bad(out, error, "not a glTF; expected a JSON object");
    }
    if (status == THENAR_OK) status = open_buffers(out, binary, error);
    if (status != THENAR_OK) gltf_close(out);
    return status;
}

void gltf_close(gltf_file *file) {
    for (int i = 0; i < file->buffer_count; i++) free(file->buffers[i].owned);
    free(file->buffers);
    json_decref(file->root);
    free(file->bytes.data);
    *file = (gltf_file){0};
}

json_t *gltf_object(const gltf_file *file, const char *list, long index) {
    json_t *object = index >= 0 ? json_array_get(json_object_get(file->root, list), (size_t)index) : NULL;
    return json_is_object(object) ? object : NULL;
}

long gltf_index(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) return -1;
    json_int_t number = json_integer_value(value);
    return number < 0 || number > INT32_MAX ? -1 : (long)number;
}

/* An offset that may be left out: 0 then. */
static long offset_of(const json_t *object, const char *key) {
    return json_object_get(object, key) ? gltf_index(object, key) : 0;
}

static size_t component_size(long type) {
    return type == 5120 || type == 5121 ? 1 : type == 5122 || type == 5123 ? 2 : type == 5125 || type == 5126 ? 4 : 0;
}

static double component_at(const unsigned char *p, long type, bool normalized) {
    float single;
    uint32_t word;
    switch (type) {
    case 5120:
        return normalized ? (int8_t)p[0] / 127.0 : (int8_t)p[0];
    case 5121:
        return normalized ? p[0] / 255.0 : p[0];
    case 5122:
        return normalized ? (int16_t)(p[0] | p[1] << 8) / 32767.0 : (int16_t)(p[0] | p[1] << 8);
    case 5123:
        return normalized ? (p[0] | p[1] << 8) / 65535.0 : (p[0] | p[1] << 8);
    case 5125:
        return u32_at(p);
    default:
        word = u32_at(p);
        memcpy(&single, &word, sizeof single);
        return single;
    }
}

thenar_status gltf_read(const gltf_file *file, long accessor, int components, double **out, int *count,
                        thenar_error *error) {
    *out = NULL;
    *count = 0;
    const json_t *a = gltf_object(file, "accessors", accessor);
    const json_t *view = gltf_object(file, "bufferViews", gltf_index(a, "bufferView"));
    const char *type = json_string_value(json_object_get(a, "type"));
    const char *wanted = components == 1 ? "SCALAR" : components == 3 ? "VEC3" : components == 4 ? "VEC4" : "MAT4";
    if (!a || !view || !type || strcmp(type, wanted) != 0 || json_object_get(a, "sparse"))
        return error_at(error, file->path, 0, 0, "accessor %ld; expected a dense one of type %s with a buffer view",
                        accessor, wanted);
    long kind = gltf_index(a, "componentType"), elements = gltf_index(a, "count"), buffer = gltf_index(view, "buffer");
    long offset = offset_of(a, "byteOffset"), start = offset_of(view, "byteOffset"),
         length = gltf_index(view, "byteLength");
    long stride = offset_of(view, "byteStride");
    size_t each = component_size(kind) * (size_t)components;
    if (each == 0 || elements < 1 || elements > COUNT_LIMIT || offset < 0 || stride < 0)
        return error_at(error, file->path, 0, 0, "accessor %ld has a component type, count or offset that is none",
                        accessor);
    if (buffer < 0 || buffer >= file->buffer_count || start < 0 || length < 0 ||
        (size_t)start + (size_t)length > file->buffers[buffer].size)
        return error_at(error, file->path, 0, 0, "the buffer view of accessor %ld goes beyond its buffer", accessor);
    size_t step = stride > 0 ? (size_t)stride : each;
    if (step < each || (size_t)offset + step * (size_t)(elements - 1) + each > (size_t)length)
        return error_at(error, file->path, 0, 0, "accessor %ld goes beyond its buffer view", accessor);
    *out = MEMORY_ARRAY(double, (size_t)elements *(size_t)components);
    if (!*out) return error_memory(error, "glTF numbers");
    const unsigned char *from = file->buffers[buffer].data + start + offset;
    bool normalized = json_is_true(json_object_get(a, "normalized"));
    for (size_t i = 0; i < (size_t)elements; i++)
        for (size_t k = 0; k < (size_t)components; k++)
            (*out)[i * (size_t)components + k] =
                component_at(from + i * step + k * component_size(kind), kind, normalized);
    *count = (int)elements;
    return THENAR_OK;
}
