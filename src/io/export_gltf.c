/* The surfaces of a recording as one animated binary glTF 2.0 file (.glb).
 *
 * Soft bodies: the first keyframe is the mesh, and every later keyframe k is a morph target (position and normal minus
 * those of the mesh). The animated weight of target k is 1 at its time and 0 at the other keyframes, linear in between:
 * the shape is exact at keyframes and interpolated between two. Rigid bodies: the mesh in the body's frame, moved by an
 * animated translation and rotation.
 *
 * The size grows with keyframes times vertices (24 bytes) and keyframes squared times bodies (4 bytes). If all selected
 * frames would be too large, keyframes are spread evenly over them, including the first and the last. */
#include "io/file.h"
#include "io/recording.h"

#include "core/memory.h"
#include "core/vec3.h"

#include <math.h>
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

/* Collects the file: arrays go to its one buffer, objects to its lists. gltf_write reports memory that ran out on the
 * way; indices returned after that mean nothing. */
typedef struct gltf_builder {
    json_t *root;
    unsigned char *bytes; /* the buffer */
    size_t size, capacity;
    bool failed;
} gltf_builder;

static void gltf_begin(gltf_builder *gltf, const char *scene_name) {
    *gltf = (gltf_builder){0};
    gltf->root = json_pack("{s:{s:s, s:s}, s:i, s:[{s:s, s:[]}]}", "asset", "version", "2.0", "generator",
                           "Thenar " THENAR_VERSION, "scene", 0, "scenes", "name", scene_name, "nodes");
    gltf->failed = !gltf->root;
}

static void gltf_free(gltf_builder *gltf) {
    json_decref(gltf->root);
    free(gltf->bytes);
    *gltf = (gltf_builder){0};
}

/* Appends to the list of that name, which is created on first use; takes ownership of the object. Returns its index. */
static int gltf_append(gltf_builder *gltf, const char *list, json_t *object) {
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

/* Every array begins at a multiple of 4, as accessors of 4-byte numbers require. */
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

/* Adds count elements of `components` (1, 3 or 4) finite numbers each; returns the index of the accessor. target:
 * ARRAY_BUFFER for vertices, 0 for animations. */
static int gltf_add_floats(gltf_builder *gltf, int target, const float *values, size_t count, int components) {
    assert(count > 0);
    const char *type = components == 1 ? "SCALAR" : components == 3 ? "VEC3" : "VEC4";
    int view = add_view(gltf, values, count * (size_t)components * sizeof *values, target);
    json_t *accessor = json_pack("{s:i, s:i, s:I, s:s}", "bufferView", view, "componentType", FLOAT, "count",
                                 (json_int_t)count, "type", type);
    if (accessor) set_bounds(accessor, values, count, components);
    return gltf_append(gltf, "accessors", accessor);
}

/* Triangle corners; returns the index of the accessor. */
static int gltf_add_indices(gltf_builder *gltf, const uint32_t *indices, size_t count) {
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
        return error_set(error, THENAR_ERROR_INPUT, "%s: would have %zu bytes; expected at most 4 GiB for a .glb file",
                         path, total);
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

static thenar_status gltf_write(gltf_builder *gltf, const char *path, thenar_error *error) {
    gltf_append(gltf, "buffers", json_pack("{s:I}", "byteLength", (json_int_t)gltf->size));
    char *text = gltf->failed ? NULL : json_dumps(gltf->root, JSON_COMPACT);
    if (!text) return error_memory(error, path);
    thenar_status status = write_text(gltf, text, path, error);
    free(text);
    return status;
}

enum { KEYFRAMES_MAX = 256 };
#define MORPH_BYTES_MAX ((double)(64 << 20)) /* a browser loads this in a few seconds */

/* A body with a surface. Vertices that no triangle uses (inner nodes) are left out. */
typedef struct exported_body {
    int index; /* in the recording */
    bool rigid;
    int pose_channel; /* of a rigid body; -1: it does not move */
    size_t vertex_count, triangle_count;
    int *vertices;         /* of each used vertex: its index in the recording */
    uint32_t *triangles;   /* indices of used vertices */
    double *positions;     /* of all surface vertices in this frame */
    float *base, *current; /* 3 * vertex_count positions, then as many normals: of the first and of this keyframe */
    float *translations, *rotations; /* of a rigid body, 3 and 4 numbers per keyframe */
    json_t *targets;
    int base_position, base_normal, indices; /* accessors */
} exported_body;

typedef struct gltf_export {
    thenar_recording *recording;
    gltf_builder gltf;
    exported_body *bodies;
    int body_count;
    float times[KEYFRAMES_MAX];
    int key_count; /* keyframes so far */
} gltf_export;

/* Numbers the vertices that triangles use, in the order of their first use. */
static bool keep_used_vertices(exported_body *body, const thenar_surface *surface) {
    int *renumbered = MEMORY_ARRAY(int, surface->vertex_count); /* 1 + new index; 0: not seen yet */
    body->vertices = MEMORY_ARRAY(int, surface->vertex_count);
    body->triangle_count = (size_t)surface->triangle_count;
    body->triangles = MEMORY_ARRAY(uint32_t, 3 * body->triangle_count);
    bool enough = renumbered && body->vertices && body->triangles;
    for (size_t i = 0; enough && i < 3 * body->triangle_count; i++) {
        int vertex = surface->triangles[i];
        if (renumbered[vertex] == 0) {
            body->vertices[body->vertex_count++] = vertex;
            renumbered[vertex] = (int)body->vertex_count;
        }
        body->triangles[i] = (uint32_t)renumbered[vertex] - 1;
    }
    free(renumbered);
    return enough;
}

static thenar_status prepare_body(gltf_export *job, int b, exported_body *body, thenar_error *error) {
    const thenar_recording_body *recorded = thenar_recording_body_at(job->recording, b);
    const thenar_recording_mesh *mesh;
    thenar_status status = thenar_recording_read_mesh(job->recording, b, &mesh, error);
    if (status != THENAR_OK) return status;
    body->index = b;
    body->rigid = recorded->surface == THENAR_RECORDING_SURFACE_RIGID;
    body->pose_channel = body->rigid ? recording_find_numbers(job->recording, b, "pose", 7) : -1;
    if (!keep_used_vertices(body, &mesh->surface)) return error_memory(error, "a surface");
    size_t numbers = 3 * (size_t)recorded->vertex_count;
    body->positions = MEMORY_ARRAY(double, numbers);
    body->base = MEMORY_ARRAY(float, 6 * body->vertex_count);
    body->current = MEMORY_ARRAY(float, 6 * body->vertex_count);
    body->targets = json_array();
    body->translations = MEMORY_ARRAY(float, body->rigid ? 3 * KEYFRAMES_MAX : 0);
    body->rotations = MEMORY_ARRAY(float, body->rigid ? 4 * KEYFRAMES_MAX : 0);
    if (!body->positions || !body->base || !body->current || !body->targets || !body->translations || !body->rotations)
        return error_memory(error, "a surface");
    if (body->rigid) memcpy(body->positions, mesh->surface.positions, numbers * sizeof(double));
    return THENAR_OK;
}

static thenar_status prepare(gltf_export *job, thenar_error *error) {
    int count = thenar_recording_body_count(job->recording);
    job->bodies = MEMORY_ARRAY(exported_body, count);
    if (!job->bodies) return error_memory(error, "surfaces");
    thenar_status status = THENAR_OK;
    for (int b = 0; status == THENAR_OK && b < count; b++)
        if (thenar_recording_body_at(job->recording, b)->triangle_count > 0)
            status = prepare_body(job, b, &job->bodies[job->body_count++], error);
    if (status == THENAR_OK && job->body_count == 0)
        status = error_set(error, THENAR_ERROR_INPUT, "the recording has no surface; expected a body with triangles");
    return status;
}

static void release(gltf_export *job) {
    for (int i = 0; i < job->body_count; i++) {
        exported_body *body = &job->bodies[i];
        free(body->vertices);
        free(body->triangles);
        free(body->positions);
        free(body->base);
        free(body->current);
        free(body->translations);
        free(body->rotations);
        json_decref(body->targets);
    }
    free(job->bodies);
    gltf_free(&job->gltf);
}

static thenar_status report_not_finite(const gltf_export *job, const exported_body *body, int frame,
                                       thenar_error *error) {
    return error_set(error, THENAR_ERROR_INPUT,
                     "frame %d, body \"%s\": a position is not finite; expected finite numbers", frame,
                     thenar_recording_body_at(job->recording, body->index)->name);
}

/* Positions and area-weighted normals; false if a position is not finite. A vertex of degenerate triangles gets a normal
 * that points up, since glTF requires unit vectors. */
static bool compute_vertices(const exported_body *body, float *out) {
    size_t count = body->vertex_count;
    float *normals = out + 3 * count;
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 3; k++) {
            out[3 * i + k] = (float)body->positions[3 * (size_t)body->vertices[i] + k];
            normals[3 * i + k] = 0;
            finite = finite && isfinite(out[3 * i + k]);
        }
    for (size_t t = 0; t < body->triangle_count; t++) {
        const uint32_t *corner = body->triangles + 3 * t;
        vec3 a = vec3_load(body->positions + 3 * (size_t)body->vertices[corner[0]]);
        vec3 b = vec3_load(body->positions + 3 * (size_t)body->vertices[corner[1]]);
        vec3 c = vec3_load(body->positions + 3 * (size_t)body->vertices[corner[2]]);
        vec3 normal = vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
        for (int k = 0; k < 3; k++) {
            float *sum = normals + 3 * (size_t)corner[k];
            sum[0] += (float)normal.x, sum[1] += (float)normal.y, sum[2] += (float)normal.z;
        }
    }
    for (size_t i = 0; i < count; i++) {
        vec3 normal = vec3_unit((vec3){normals[3 * i], normals[3 * i + 1], normals[3 * i + 2]});
        if (!(vec3_dot(normal, normal) > 0.5) || !vec3_is_finite(normal)) normal = (vec3){0, 1, 0};
        normals[3 * i] = (float)normal.x, normals[3 * i + 1] = (float)normal.y, normals[3 * i + 2] = (float)normal.z;
    }
    return finite;
}

static thenar_status add_base(gltf_export *job, exported_body *body, int frame, thenar_error *error) {
    if (!compute_vertices(body, body->base)) return report_not_finite(job, body, frame, error);
    size_t count = body->vertex_count;
    body->base_position = gltf_add_floats(&job->gltf, ARRAY_BUFFER, body->base, count, 3);
    body->base_normal = gltf_add_floats(&job->gltf, ARRAY_BUFFER, body->base + 3 * count, count, 3);
    body->indices = gltf_add_indices(&job->gltf, body->triangles, 3 * body->triangle_count);
    return THENAR_OK;
}

static thenar_status add_target(gltf_export *job, exported_body *body, int frame, thenar_error *error) {
    if (!compute_vertices(body, body->current)) return report_not_finite(job, body, frame, error);
    size_t count = body->vertex_count;
    for (size_t i = 0; i < 6 * count; i++) {
        body->current[i] -= body->base[i];
        if (!isfinite(body->current[i])) return report_not_finite(job, body, frame, error);
    }
    int position = gltf_add_floats(&job->gltf, ARRAY_BUFFER, body->current, count, 3);
    int normal = gltf_add_floats(&job->gltf, ARRAY_BUFFER, body->current + 3 * count, count, 3);
    if (json_array_append_new(body->targets, json_pack("{s:i, s:i}", "POSITION", position, "NORMAL", normal)) != 0)
        return error_memory(error, "a surface");
    return THENAR_OK;
}

static thenar_status add_soft_key(gltf_export *job, exported_body *body, int frame, thenar_error *error) {
    thenar_status status = thenar_recording_read_surface(job->recording, body->index, frame, body->positions, error);
    if (status != THENAR_OK) return status;
    return job->key_count == 0 ? add_base(job, body, frame, error) : add_target(job, body, frame, error);
}

static thenar_status add_rigid_key(gltf_export *job, exported_body *body, int frame, thenar_error *error) {
    if (job->key_count == 0) {
        thenar_status status = add_base(job, body, frame, error);
        if (status != THENAR_OK) return status;
    }
    if (body->pose_channel < 0) return THENAR_OK;
    double pose[7];
    thenar_status status = thenar_recording_read_channel(job->recording, body->pose_channel, frame, pose, error);
    if (status != THENAR_OK) return status;
    quat q = quat_unit((quat){pose[3], pose[4], pose[5], pose[6]});
    float *translation = body->translations + 3 * job->key_count;
    float *rotation = body->rotations + 4 * job->key_count;
    for (int k = 0; k < 3; k++) {
        translation[k] = (float)pose[k];
        if (!isfinite(translation[k])) return report_not_finite(job, body, frame, error);
    }
    rotation[0] = (float)q.x, rotation[1] = (float)q.y, rotation[2] = (float)q.z, rotation[3] = (float)q.w;
    /* Of q and -q take the one nearer to the previous keyframe, so that viewers rotate the short way. */
    float dot = 0;
    for (int k = 0; k < 4 && job->key_count > 0; k++) dot += rotation[k] * rotation[k - 4];
    for (int k = 0; k < 4 && dot < 0; k++) rotation[k] = -rotation[k];
    return THENAR_OK;
}

/* The largest number of keyframes that stays within the limits. */
static int choose_key_count(const gltf_export *job, int frames) {
    double vertices = 0, bodies = 0;
    for (int i = 0; i < job->body_count; i++)
        if (!job->bodies[i].rigid) {
            vertices += (double)job->bodies[i].vertex_count;
            bodies++;
        }
    int keys = frames < KEYFRAMES_MAX ? frames : KEYFRAMES_MAX;
    while (keys > 2 && keys * (24 * vertices + 4 * keys * bodies) > MORPH_BYTES_MAX) keys--;
    return keys;
}

static thenar_status add_key(gltf_export *job, int frame, float time, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int i = 0; status == THENAR_OK && i < job->body_count; i++) {
        exported_body *body = &job->bodies[i];
        status = body->rigid ? add_rigid_key(job, body, frame, error) : add_soft_key(job, body, frame, error);
    }
    job->times[job->key_count++] = time;
    return status;
}

static thenar_status add_keys(gltf_export *job, export_selection selection, const thenar_export_options *options,
                              thenar_error *error) {
    int keys = choose_key_count(job, selection.count);
    double start = thenar_recording_frame_time(job->recording, selection.first);
    thenar_status status = THENAR_OK;
    bool stopped = false;
    for (int i = 0; status == THENAR_OK && !stopped && i < keys; i++) {
        int frame = export_frame(selection, keys > 1 ? (int)((long long)i * (selection.count - 1) / (keys - 1)) : 0);
        float time = i == 0 ? 0 : (float)(thenar_recording_frame_time(job->recording, frame) - start);
        /* Times of keyframes must increase; a frame whose time does not is left out. */
        if (i > 0 && !(time > job->times[job->key_count - 1] && isfinite(time))) continue;
        status = add_key(job, frame, time, error);
        stopped = status == THENAR_OK && !export_report_progress(options, i + 1, keys);
    }
    return status;
}

/* Row k, at keyframe k, has weight 1 for target k - 1 alone: keyframe 0 is the mesh itself. */
static int add_weights(gltf_export *job) {
    size_t keys = (size_t)job->key_count, targets = keys - 1;
    float *weights = MEMORY_ARRAY(float, keys *targets);
    if (!weights) {
        job->gltf.failed = true;
        return 0;
    }
    for (size_t k = 1; k < keys; k++) weights[k * targets + k - 1] = 1;
    int accessor = gltf_add_floats(&job->gltf, 0, weights, keys * targets, 1);
    free(weights);
    return accessor;
}

static void add_track(json_t *animation, int input, int output, int node, const char *path) {
    json_t *samplers = json_object_get(animation, "samplers");
    int sampler = (int)json_array_size(samplers);
    json_array_append_new(samplers,
                          json_pack("{s:i, s:i, s:s}", "input", input, "output", output, "interpolation", "LINEAR"));
    json_array_append_new(json_object_get(animation, "channels"),
                          json_pack("{s:i, s:{s:i, s:s}}", "sampler", sampler, "target", "node", node, "path", path));
}

static void add_animation(gltf_export *job) {
    json_t *animation = json_pack("{s:s, s:[], s:[]}", "name", "recording", "samplers", "channels");
    int times = -1, weights = -1;
    for (int i = 0; i < job->body_count; i++) {
        const exported_body *body = &job->bodies[i];
        size_t keys = (size_t)job->key_count;
        if (body->rigid && body->pose_channel < 0) continue;
        if (times < 0) times = gltf_add_floats(&job->gltf, 0, job->times, keys, 1);
        if (body->rigid) {
            int translations = gltf_add_floats(&job->gltf, 0, body->translations, keys, 3);
            int rotations = gltf_add_floats(&job->gltf, 0, body->rotations, keys, 4);
            add_track(animation, times, translations, i, "translation");
            add_track(animation, times, rotations, i, "rotation");
        } else {
            if (weights < 0) weights = add_weights(job);
            add_track(animation, times, weights, i, "weights");
        }
    }
    if (times >= 0)
        gltf_append(&job->gltf, "animations", animation);
    else
        json_decref(animation);
}

static void add_body(gltf_export *job, int i) {
    static const double colours[][3] = {{0.84, 0.60, 0.48}, {0.45, 0.60, 0.78}, {0.55, 0.72, 0.45},
                                        {0.80, 0.70, 0.40}, {0.62, 0.52, 0.74}, {0.60, 0.60, 0.60}};
    const exported_body *body = &job->bodies[i];
    const double *colour = colours[body->index % (int)(sizeof colours / sizeof *colours)];
    const char *name = thenar_recording_body_at(job->recording, body->index)->name;
    int material = gltf_append(&job->gltf, "materials",
                               json_pack("{s:b, s:{s:[f,f,f,f], s:f, s:f}}", "doubleSided", 1, "pbrMetallicRoughness",
                                         "baseColorFactor", colour[0], colour[1], colour[2], 1.0, "metallicFactor", 0.0,
                                         "roughnessFactor", 0.7));
    json_t *primitive = json_pack("{s:{s:i, s:i}, s:i, s:i}", "attributes", "POSITION", body->base_position, "NORMAL",
                                  body->base_normal, "indices", body->indices, "material", material);
    if (json_array_size(body->targets) > 0) json_object_set(primitive, "targets", body->targets);
    int mesh = gltf_append(&job->gltf, "meshes", json_pack("{s:s, s:[o]}", "name", name, "primitives", primitive));
    json_t *node = json_pack("{s:s, s:i}", "name", name, "mesh", mesh);
    if (body->pose_channel >= 0) {
        const float *t = body->translations, *r = body->rotations;
        json_object_set_new(node, "translation", json_pack("[f,f,f]", (double)t[0], (double)t[1], (double)t[2]));
        json_object_set_new(node, "rotation",
                            json_pack("[f,f,f,f]", (double)r[0], (double)r[1], (double)r[2], (double)r[3]));
    }
    int index = gltf_append(&job->gltf, "nodes", node);
    json_t *scene = json_array_get(json_object_get(job->gltf.root, "scenes"), 0);
    json_array_append_new(json_object_get(scene, "nodes"), json_integer(index));
}

thenar_status export_gltf(thenar_recording *recording, const char *path, export_selection selection,
                          const thenar_export_options *options, thenar_error *error) {
    gltf_export job = {.recording = recording};
    gltf_begin(&job.gltf, thenar_recording_get_info(recording).scene);
    thenar_status status = prepare(&job, error);
    if (status == THENAR_OK) status = add_keys(&job, selection, options, error);
    if (status == THENAR_OK) {
        for (int i = 0; i < job.body_count; i++) add_body(&job, i);
        if (job.key_count > 1) add_animation(&job);
        status = gltf_write(&job.gltf, path, error);
    }
    release(&job);
    return status;
}
