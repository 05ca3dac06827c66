/* Reads hands from glTF 2.0 files. */
#include "io/file.h"

#include "core/memory.h"

#include "thenar/file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_LIMIT 20000000 /* elements of an accessor */

typedef struct gltf_bytes {
    const unsigned char *data;
    size_t size;
    unsigned char *owned; /* decoded from text, or NULL */
} gltf_bytes;

typedef struct gltf_file {
    const char *path; /* owned by the caller */
    file_bytes bytes;
    json_t *root;
    int buffer_count;
    gltf_bytes *buffers;
} gltf_file;

static void gltf_close(gltf_file *file) {
    for (int i = 0; i < file->buffer_count; i++) free(file->buffers[i].owned);
    free(file->buffers);
    json_decref(file->root);
    free(file->bytes.data);
    *file = (gltf_file){0};
}

/* The object at an index of one of the root's lists ("nodes"), or NULL. */
static json_t *gltf_object(const gltf_file *file, const char *list, long index) {
    json_t *object = index >= 0 ? json_array_get(json_object_get(file->root, list), (size_t)index) : NULL;
    return json_is_object(object) ? object : NULL;
}

/* A member that is a whole number, at least 0; -1: missing or not such a number. */
static long gltf_index(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) return -1;
    json_int_t number = json_integer_value(value);
    return number < 0 || number > INT32_MAX ? -1 : (long)number;
}

static uint32_t u32_at(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#define gltf_fail(file, error, ...) error_at(error, (file)->path, 0, 0, __VA_ARGS__)

/* Finds the two chunks of a binary file: text and bytes. */
static thenar_status split_binary(const gltf_file *file, const char **text, size_t *length, gltf_bytes *binary,
                                  thenar_error *error) {
    const unsigned char *p = (const unsigned char *)file->bytes.data;
    size_t size = file->bytes.size;
    if (size < 20 || u32_at(p + 4) != 2)
        return gltf_fail(file, error, "not a glTF file of version 2; expected a 20-byte header");
    if (u32_at(p + 8) != size)
        return gltf_fail(file, error, "the header says %u bytes and the file has %zu; is it truncated?", u32_at(p + 8),
                         size);
    size_t first = u32_at(p + 12);
    if (memcmp(p + 16, "JSON", 4) != 0 || first > size - 20)
        return gltf_fail(file, error, "the first chunk is not JSON or extends beyond the file; expected a JSON chunk");
    *text = (const char *)p + 20;
    *length = first;
    size_t at = 20 + first;
    if (size - at < 8) return THENAR_OK;
    size_t second = u32_at(p + at);
    if (memcmp(p + at + 4, "BIN\0", 4) != 0) return THENAR_OK;
    if (second > size - at - 8)
        return gltf_fail(file, error, "the binary chunk extends beyond the end of the file; is it truncated?");
    *binary = (gltf_bytes){.data = p + at + 8, .size = second};
    return THENAR_OK;
}

static int digit_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes the base64 after the comma of a data URI; false: it is not base64, or memory ran out (then owned is NULL). */
static bool decode(const char *uri, gltf_bytes *out) {
    const char *comma = strchr(uri, ',');
    size_t length = strlen(comma + 1), size = 0;
    out->owned = MEMORY_ARRAY(unsigned char, length / 4 * 3 + 3);
    if (!out->owned) return false;
    uint32_t bits = 0;
    int bit_count = 0;
    for (size_t i = 0; i < length && comma[1 + i] != '='; i++) {
        int digit = digit_of(comma[1 + i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        bit_count += 6;
        if (bit_count < 8) continue;
        bit_count -= 8;
        out->owned[size++] = (unsigned char)(bits >> bit_count);
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
            return out->owned ? gltf_fail(file, error, "buffer %d is not base64; expected A-Z a-z 0-9 + /", index)
                              : error_memory(error, "glTF buffer");
    } else {
        return gltf_fail(file, error, "buffer %d is in another file; expected a .glb, or base64", index);
    }
    if (length < 0 || (size_t)length > out->size)
        return gltf_fail(file, error, "buffer %d has %zu bytes; expected its byteLength, %ld", index, out->size,
                         length);
    return THENAR_OK;
}

static thenar_status open_buffers(gltf_file *file, gltf_bytes binary, thenar_error *error) {
    size_t count = json_array_size(json_object_get(file->root, "buffers"));
    if (count > 1000) return gltf_fail(file, error, "more than 1000 buffers");
    file->buffers = MEMORY_ARRAY(gltf_bytes, count);
    if (!file->buffers) return error_memory(error, "glTF buffers");
    thenar_status status = THENAR_OK;
    for (; file->buffer_count < (int)count && status == THENAR_OK; file->buffer_count++) {
        gltf_bytes here = file->buffer_count == 0 ? binary : (gltf_bytes){0};
        status = open_buffer(file, file->buffer_count, here, &file->buffers[file->buffer_count], error);
    }
    return status;
}

/* Takes ownership of the bytes, also on an error. path: for messages. */
static thenar_status gltf_parse(const char *path, file_bytes bytes, gltf_file *out, thenar_error *error) {
    *out = (gltf_file){.path = path, .bytes = bytes};
    thenar_status status = THENAR_OK;
    const char *text = out->bytes.data;
    size_t length = out->bytes.size;
    gltf_bytes binary = {0};
    if (length >= 4 && memcmp(text, "glTF", 4) == 0) status = split_binary(out, &text, &length, &binary, error);
    if (status == THENAR_OK) {
        status = json_text_parse(text, length, path, &out->root, error);
        if (status == THENAR_OK && !json_is_object(out->root))
            status = gltf_fail(out, error, "not a glTF file; expected a JSON object");
    }
    if (status == THENAR_OK) status = open_buffers(out, binary, error);
    if (status != THENAR_OK) gltf_close(out);
    return status;
}

/* An optional offset; 0 if it is missing. */
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

/* Reads all numbers of the accessor that object.key names, `components` per element (1 SCALAR, 3 VEC3, 4 VEC4, 16 MAT4, column by column);
 * normalized integers become 0..1 or -1..1. free() them. */
static thenar_status gltf_read(const gltf_file *file, const json_t *object, const char *key, int components,
                               double **out, int *count, thenar_error *error) {
    *out = NULL;
    *count = 0;
    long accessor = gltf_index(object, key);
    const json_t *a = gltf_object(file, "accessors", accessor);
    const json_t *view = gltf_object(file, "bufferViews", gltf_index(a, "bufferView"));
    const char *type = json_string_value(json_object_get(a, "type"));
    const char *wanted = components == 1 ? "SCALAR" : components == 3 ? "VEC3" : components == 4 ? "VEC4" : "MAT4";
    if (!a || !view || !type || strcmp(type, wanted) != 0 || json_object_get(a, "sparse"))
        return gltf_fail(file, error, "accessor %ld; expected a dense one of type %s with a buffer view", accessor,
                         wanted);
    long kind = gltf_index(a, "componentType"), elements = gltf_index(a, "count"), buffer = gltf_index(view, "buffer");
    long offset = offset_of(a, "byteOffset"), start = offset_of(view, "byteOffset"),
         length = gltf_index(view, "byteLength");
    long stride = offset_of(view, "byteStride");
    size_t each = component_size(kind) * (size_t)components;
    if (each == 0 || elements < 1 || elements > COUNT_LIMIT || offset < 0 || stride < 0)
        return gltf_fail(file, error, "accessor %ld has an invalid component type, count or offset", accessor);
    if (buffer < 0 || buffer >= file->buffer_count || start < 0 || length < 0 ||
        (size_t)start + (size_t)length > file->buffers[buffer].size)
        return gltf_fail(file, error, "the buffer view of accessor %ld extends beyond its buffer", accessor);
    size_t step = stride > 0 ? (size_t)stride : each;
    if (step < each || (size_t)offset + step * (size_t)(elements - 1) + each > (size_t)length)
        return gltf_fail(file, error, "accessor %ld extends beyond its buffer view", accessor);
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

#define VERTEX_ALLOWANCE 65536 /* a file may have this many vertices, or triangle corners, plus one per byte */
#define SKIN_JOINT_LIMIT 1000
#define BIND_TOLERANCE 0.02 /* on right angles (cosine) and equal lengths (relative) of the columns of a bind matrix */

typedef struct vertex_bones {
    double weight[HAND_BONES];
} vertex_bones;

typedef struct hand_file {
    gltf_file gltf;
    int joint_count;                  /* of the skin in the file */
    int hand_joint[SKIN_JOINT_LIMIT]; /* the joint of Thenar's hand that each is, or -1 */
    ARRAY(vec3) position;
    ARRAY(vertex_bones) bones;
    ARRAY(int) corner;
} hand_file;

static void hand_file_free(hand_file *f) {
    gltf_close(&f->gltf);
    free(f->position.data);
    free(f->bones.data);
    free(f->corner.data);
}

/* The first node that has both a mesh and a skin. */
static const json_t *find_skinned_node(const gltf_file *gltf) {
    const json_t *node;
    for (long i = 0; (node = gltf_object(gltf, "nodes", i)); i++)
        if (gltf_index(node, "mesh") >= 0 && gltf_index(node, "skin") >= 0) return node;
    return NULL;
}

/* The frame of a joint from its bind matrix m, which maps to it; column by column. */
static thenar_status read_frame(const hand_file *f, const double *m, hand_joint joint, hand_frame *out,
                                thenar_error *error) {
    mat3 linear = {{m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]}};
    double size = cbrt(fabs(mat3_determinant(linear)));
    bool valid = mat3_determinant(linear) > 0 && isfinite(size) && size > 1e-6 && size < 1e6;
    for (int i = 0; i < 16; i++) valid = valid && isfinite(m[i]);
    for (int i = 0; i < 3; i++) {
        vec3 a = mat3_column(linear, i), b = mat3_column(linear, (i + 1) % 3);
        valid = valid && fabs(vec3_dot(a, b)) < BIND_TOLERANCE * size * size &&
                fabs(vec3_length(a) / size - 1) < BIND_TOLERANCE;
    }
    if (!valid)
        return gltf_fail(&f->gltf, error,
                         "the bind matrix of joint %s is not a rotation, a translation and a uniform scale",
                         hand_joint_name(joint));
    mat3 inverse = mat3_inverse(linear);
    out->position = vec3_scale(mat3_mul_vec(inverse, vec3_make(m[12], m[13], m[14])), -1);
    out->rotation = hand_rotation_of(mat3_scale(inverse, size));
    return THENAR_OK;
}

static thenar_status read_joints(hand_file *f, const json_t *skin, hand_frame joint[HAND_JOINTS], thenar_error *error) {
    const json_t *list = json_object_get(skin, "joints");
    f->joint_count = (int)json_array_size(list);
    bool found[HAND_JOINTS] = {false};
    double *matrix = NULL;
    int matrices = 0;
    if (json_array_size(list) > SKIN_JOINT_LIMIT)
        return gltf_fail(&f->gltf, error, "the skin has more than %d joints; expected fewer", SKIN_JOINT_LIMIT);
    thenar_status status = gltf_read(&f->gltf, skin, "inverseBindMatrices", 16, &matrix, &matrices, error);
    if (status == THENAR_OK && matrices < f->joint_count)
        status = gltf_fail(&f->gltf, error, "%d bind matrices; expected one for each of %d joints", matrices,
                           f->joint_count);
    for (int i = 0; i < f->joint_count && status == THENAR_OK; i++) {
        const json_t *index = json_array_get(list, (size_t)i);
        json_int_t number = json_is_integer(index) ? json_integer_value(index) : -1;
        const json_t *node = gltf_object(&f->gltf, "nodes", number > INT32_MAX ? -1 : (long)number);
        const char *name = json_string_value(json_object_get(node, "name"));
        f->hand_joint[i] = name ? thenar_hand_joint_find(name) : -1;
        if (f->hand_joint[i] < 0) continue;
        found[f->hand_joint[i]] = true;
        status = read_frame(f, matrix + 16 * (size_t)i, (hand_joint)f->hand_joint[i], &joint[f->hand_joint[i]], error);
    }
    for (int j = 0; j < HAND_JOINTS && status == THENAR_OK; j++)
        if (!found[j])
            status = gltf_fail(&f->gltf, error, "no joint %s; expected the 25 joints of WebXR in the skin",
                               hand_joint_name((hand_joint)j));
    free(matrix);
    return status;
}

static thenar_status add_vertices(hand_file *f, const double *position, const double *joint, const double *weight,
                                  int count, thenar_error *error) {
    for (int v = 0; v < count; v++) {
        vec3 p = vec3_load(position + 3 * (size_t)v);
        vertex_bones bones = {{0}};
        double total = 0;
        if (!vec3_is_finite(p)) return gltf_fail(&f->gltf, error, "vertex %d has a position that is not finite", v);
        for (int k = 0; k < 4; k++) {
            double w = weight[4 * (size_t)v + (size_t)k], j = joint[4 * (size_t)v + (size_t)k];
            if (!(w >= 0) || !isfinite(w))
                return gltf_fail(&f->gltf, error, "vertex %d has the weight %g; expected 0 or more", v, w);
            if (w == 0) continue;
            if (!(j >= 0 && j < f->joint_count) || f->hand_joint[(int)j] < 0)
                return gltf_fail(&f->gltf, error,
                                 "vertex %d is attached to joint %g of the skin; expected one of the 25 of WebXR", v,
                                 j);
            bones.weight[hand_joint_bone((hand_joint)f->hand_joint[(int)j])] += w;
            total += w;
        }
        if (!(total > 0)) return gltf_fail(&f->gltf, error, "vertex %d is attached to no joint", v);
        for (int i = 0; i < HAND_BONES; i++) bones.weight[i] /= total;
        if (!ARRAY_PUSH(&f->position, p) || !ARRAY_PUSH(&f->bones, bones)) return error_memory(error, "glTF hand");
    }
    return THENAR_OK;
}

static thenar_status add_corners(hand_file *f, const double *index, int count, int first, int vertices,
                                 thenar_error *error) {
    if (count % 3 != 0) return gltf_fail(&f->gltf, error, "%d indices; expected three per triangle", count);
    for (int i = 0; i < count; i++) {
        if (!(index[i] >= 0 && index[i] < vertices))
            return gltf_fail(&f->gltf, error, "index %g of triangle %d; expected 0..%d", index[i], i / 3, vertices - 1);
        if (!ARRAY_PUSH(&f->corner, first + (int)index[i])) return error_memory(error, "glTF hand");
    }
    return THENAR_OK;
}

static thenar_status read_primitive(hand_file *f, const json_t *primitive, thenar_error *error) {
    const json_t *attributes = json_object_get(primitive, "attributes");
    double *position = NULL, *joint = NULL, *weight = NULL, *index = NULL;
    int positions = 0, joints = 0, weights = 0, indices = 0, first = (int)f->position.count;
    if (json_object_get(primitive, "mode") && gltf_index(primitive, "mode") != 4)
        return gltf_fail(&f->gltf, error, "the mesh has a primitive that is not triangles; expected mode 4");
    thenar_status status = gltf_read(&f->gltf, attributes, "POSITION", 3, &position, &positions, error);
    if (status == THENAR_OK) status = gltf_read(&f->gltf, attributes, "JOINTS_0", 4, &joint, &joints, error);
    if (status == THENAR_OK) status = gltf_read(&f->gltf, attributes, "WEIGHTS_0", 4, &weight, &weights, error);
    if (status == THENAR_OK) status = gltf_read(&f->gltf, primitive, "indices", 1, &index, &indices, error);
    if (status == THENAR_OK && (joints != positions || weights != positions))
        status = gltf_fail(&f->gltf, error, "%d positions, %d joints, %d weights; expected equal numbers", positions,
                           joints, weights);
    /* Primitives may share arrays, so a small file could ask for very much memory. */
    size_t max = VERTEX_ALLOWANCE + f->gltf.bytes.size;
    if (status == THENAR_OK && (f->position.count + (size_t)positions > max || f->corner.count + (size_t)indices > max))
        status = gltf_fail(&f->gltf, error, "more than %zu vertices or corners for %zu bytes; is it damaged?", max,
                           f->gltf.bytes.size);
    if (status == THENAR_OK) status = add_vertices(f, position, joint, weight, positions, error);
    if (status == THENAR_OK) status = add_corners(f, index, indices, first, positions, error);
    free(position);
    free(joint);
    free(weight);
    free(index);
    return status;
}

/* Merges vertices at the same position, which keep the weights of the first, and drops triangles that degenerate. */
static thenar_status merge_vertices(const hand_file *f, thenar_surface *out, double **weight, thenar_error *error) {
    thenar_surface raw = {.vertex_count = (int)f->position.count,
                          .triangle_count = (int)(f->corner.count / 3),
                          .positions = (double *)f->position.data,
                          .triangles = f->corner.data};
    *out = (thenar_surface){0};
    int *first = surface_first_at_place(&raw), *number = MEMORY_ARRAY(int, raw.vertex_count);
    thenar_status status = first && number ? surface_create(raw.vertex_count, raw.triangle_count, out, error)
                                           : error_memory(error, "glTF hand");
    *weight = status == THENAR_OK ? MEMORY_ARRAY(double, HAND_BONES *(size_t)raw.vertex_count) : NULL;
    if (status == THENAR_OK && !*weight) status = error_memory(error, "glTF hand");
    if (status == THENAR_OK) {
        out->vertex_count = out->triangle_count = 0;
        memset(number, -1, (size_t)raw.vertex_count * sizeof *number);
        for (int t = 0; t < raw.triangle_count; t++) {
            int v[3];
            for (int k = 0; k < 3; k++) v[k] = first[surface_triangle(&raw, t)[k]];
            if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
            for (int k = 0; k < 3; k++) {
                if (number[v[k]] < 0) {
                    number[v[k]] = out->vertex_count++;
                    vec3_store(out->positions + 3 * (size_t)number[v[k]], f->position.data[v[k]]);
                    memcpy(*weight + HAND_BONES * (size_t)number[v[k]], f->bones.data[v[k]].weight,
                           HAND_BONES * sizeof **weight);
                }
                out->triangles[3 * (size_t)out->triangle_count + (size_t)k] = number[v[k]];
            }
            out->triangle_count++;
        }
    }
    free(first);
    free(number);
    return status;
}

static thenar_status read_file(hand_file *f, hand_shape *hand, double **weight, thenar_error *error) {
    thenar_status status;
    const json_t *node = find_skinned_node(&f->gltf);
    const json_t *skin = gltf_object(&f->gltf, "skins", gltf_index(node, "skin"));
    const json_t *mesh = gltf_object(&f->gltf, "meshes", gltf_index(node, "mesh"));
    if (!skin || !mesh) return gltf_fail(&f->gltf, error, "no mesh with a skin; expected a skinned hand");
    status = read_joints(f, skin, hand->joint, error);
    const json_t *primitives = json_object_get(mesh, "primitives");
    for (size_t i = 0; i < json_array_size(primitives) && status == THENAR_OK; i++)
        status = read_primitive(f, json_array_get(primitives, i), error);
    if (status == THENAR_OK && f->corner.count == 0) status = gltf_fail(&f->gltf, error, "the mesh has no triangles");
    return status == THENAR_OK ? merge_vertices(f, &hand->skin, weight, error) : status;
}

thenar_status hand_gltf_parse(const char *path, file_bytes bytes, hand_shape *out, double **weight,
                              thenar_error *error) {
    *out = (hand_shape){0};
    *weight = NULL;
    hand_file f = {0};
    thenar_status status = gltf_parse(path, bytes, &f.gltf, error);
    if (status == THENAR_OK) status = read_file(&f, out, weight, error);
    hand_file_free(&f);
    if (status == THENAR_OK) return status;
    free(*weight);
    *weight = NULL;
    hand_shape_free(out);
    return status;
}

/* Frees the bytes, also on an error. */
static thenar_status make_hand(const char *path, file_bytes bytes, hand_fineness fineness, hand_shape *out,
                               thenar_error *error) {
    double *weight = NULL;
    thenar_status status = hand_gltf_parse(path, bytes, out, &weight, error);
    if (status == THENAR_OK) {
        status = hand_shape_import(out, weight, fineness, error);
        if (status != THENAR_OK) error_prefix(error, "%s", path);
    }
    free(weight);
    if (status != THENAR_OK) hand_shape_free(out);
    return status;
}

thenar_status hand_gltf_load(const char *path, hand_fineness fineness, hand_shape *out, thenar_error *error) {
    *out = (hand_shape){0};
    file_bytes bytes;
    thenar_status status = file_read(path, FILE_SIZE_LIMIT, &bytes, error);
    return status == THENAR_OK ? make_hand(path, bytes, fineness, out, error) : status;
}

static thenar_status make_shape(const char *path, file_bytes bytes, hand_fineness fineness, thenar_hand_shape **out,
                                thenar_error *error) {
    thenar_hand_shape *shape = MEMORY_ARRAY(thenar_hand_shape, 1);
    if (!shape) {
        free(bytes.data);
        return error_memory(error, path);
    }
    thenar_status status = make_hand(path, bytes, fineness, &shape->shape, error);
    if (status == THENAR_OK)
        *out = shape;
    else
        free(shape);
    return status;
}

static thenar_status load(const char *path, hand_fineness fineness, thenar_hand_shape **out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the pointer to the shape is NULL");
    *out = NULL;
    file_bytes bytes;
    thenar_status status = file_read(path, FILE_SIZE_LIMIT, &bytes, error);
    return status == THENAR_OK ? make_shape(path, bytes, fineness, out, error) : status;
}

static thenar_status parse(const void *bytes, size_t size, hand_fineness fineness, thenar_hand_shape **out,
                           thenar_error *error) {
    USAGE_STATUS(bytes && out, error, "the bytes or the pointer to the shape are NULL");
    *out = NULL;
    file_bytes copy;
    thenar_status status = file_copy("a hand in memory", bytes, size, FILE_SIZE_LIMIT, &copy, error);
    return status == THENAR_OK ? make_shape("a hand in memory", copy, fineness, out, error) : status;
}

thenar_status thenar_hand_shape_load(const char *path, int tets, thenar_hand_shape **out, thenar_error *error) {
    return load(path, (hand_fineness){.tets = tets}, out, error);
}

thenar_status thenar_hand_shape_load_detail(const char *path, thenar_hand_detail detail, thenar_hand_shape **out,
                                            thenar_error *error) {
    return load(path, (hand_fineness){.detail = detail}, out, error);
}

thenar_status thenar_hand_shape_parse(const void *bytes, size_t size, int tets, thenar_hand_shape **out,
                                      thenar_error *error) {
    return parse(bytes, size, (hand_fineness){.tets = tets}, out, error);
}

thenar_status thenar_hand_shape_parse_detail(const void *bytes, size_t size, thenar_hand_detail detail,
                                             thenar_hand_shape **out, thenar_error *error) {
    return parse(bytes, size, (hand_fineness){.detail = detail}, out, error);
}
