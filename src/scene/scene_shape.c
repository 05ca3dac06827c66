/* The `shape` of a soft body: a tet mesh, scaled and put in its place. */
#include "scene/scene.h"

#include "core/memory.h"
#include "core/text.h"
#include "hand/shape.h"
#include "io/file.h"

#include "thenar/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILL_MIN 0.05 /* share of its mass and stiffness that an almost empty tet keeps */
#define MAX_CELLS 1000
#define MAX_TETS 5000000

static void read_box(config_map *shape, scene_shape *out) {
    config_map map;
    if (!config_child(shape, "box", CONFIG_REQUIRED, &map)) return;
    double size[3] = {1, 1, 1}, cells[3] = {1, 1, 1};
    static const char *const splits[] = {"five", "six"};
    int split = 0;
    config_vec3(&map, "size", CONFIG_REQUIRED, config_positive("m"), size);
    config_vec3(&map, "cells", CONFIG_REQUIRED, config_between(1, MAX_CELLS, "cells"), cells);
    config_choice(&map, "split", CONFIG_OPTIONAL, splits, 2, &split);
    config_close(&map);
    if (shape->reader->status != THENAR_OK) return;
    int whole[3];
    for (int i = 0; i < 3; i++) {
        whole[i] = (int)cells[i];
        if (whole[i] != cells[i]) {
            config_fail(&map, "cells", "cells are %g, %g, %g; expected whole numbers", cells[0], cells[1], cells[2]);
            return;
        }
    }
    if ((double)whole[0] * whole[1] * whole[2] > MAX_TETS / 6) {
        config_fail(&map, "cells", "%g cells; expected at most %d", cells[0] * cells[1] * cells[2], MAX_TETS / 6);
        return;
    }
    thenar_error error;
    const double low[3] = {0};
    thenar_lattice lattice = split == 0 ? THENAR_LATTICE_CUBE : THENAR_LATTICE_KUHN;
    config_adopt(shape, "box", thenar_tet_mesh_box(low, size, whole, lattice, &out->mesh, &error), error.text);
}

static void read_mesh_file(config_map *shape, scene_shape *out) {
    char *path;
    if (!config_file(shape, "mesh", CONFIG_REQUIRED, &path)) return;
    thenar_error error;
    thenar_status status = mesh_file_read(path, &out->file, &error);
    config_adopt(shape, "mesh", status, error.text);
    if (status == THENAR_OK && out->file.tets.tet_count == 0)
        config_fail(shape, "mesh", "%s holds a surface and no tets; expected tets, or embed: {surface: ...} to mesh it",
                    path);
    out->mesh = out->file.tets;
    out->file.tets = (thenar_tet_mesh){0};
    free(path);
}

static void read_surface(config_map *embed, thenar_surface *surface) {
    thenar_error error;
    char *path;
    double size[3];
    static const char *const kinds[] = {"surface", "sphere", "capsule", "box"};
    int given = 0;
    for (int i = 0; i < 4; i++) given += config_has(embed, kinds[i]);
    if (given > 1)
        config_fail(embed, NULL, "several things to embed; expected one of surface, sphere, capsule and box");
    if (config_has(embed, "surface")) {
        if (!config_file(embed, "surface", CONFIG_REQUIRED, &path)) return;
        config_adopt(embed, "surface", thenar_surface_load(path, surface, &error), error.text);
        free(path);
    } else if (config_has(embed, "sphere")) {
        double radius = 0;
        config_number(embed, "sphere", CONFIG_REQUIRED, config_positive("m"), &radius);
        if (embed->reader->status == THENAR_OK)
            config_adopt(embed, "sphere", thenar_surface_sphere(radius, 8, surface, &error), error.text);
    } else if (config_has(embed, "capsule")) {
        double sizes[2] = {0};
        config_numbers(embed, "capsule", CONFIG_REQUIRED, config_positive("m"), 2, sizes);
        if (embed->reader->status == THENAR_OK)
            config_adopt(embed, "capsule", thenar_surface_capsule(sizes[0], sizes[1], 8, surface, &error), error.text);
    } else if (config_vec3(embed, "box", CONFIG_OPTIONAL, config_positive("m"), size)) {
        config_adopt(embed, "box", thenar_surface_box(size, 4, surface, &error), error.text);
    } else {
        config_fail(embed, NULL,
                    "nothing to embed; expected surface: FILE, sphere: RADIUS, capsule: [RADIUS, LENGTH] or "
                    "box: [X, Y, Z]");
    }
}

static void scale_positions(double *positions, int count, double scale) {
    for (int i = 0; i < 3 * count; i++) positions[i] *= scale;
}

static double height_of(const double *positions, int count) {
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < count; i++) {
        low = fmin(low, positions[3 * i + 1]);
        high = fmax(high, positions[3 * i + 1]);
    }
    return high - low;
}

/* The factor of `scale` or `height`; 1 without them. */
static double read_scale(config_map *shape, const double *positions, int count) {
    double scale = 1, height = 0;
    config_number(shape, "scale", CONFIG_OPTIONAL, config_positive(""), &scale);
    if (!config_number(shape, "height", CONFIG_OPTIONAL, config_positive("m"), &height)) return scale;
    if (config_has(shape, "scale")) config_fail(shape, "height", "height and scale together; expected one of them");
    double present = height_of(positions, count);
    if (!(present > 0)) config_fail(shape, "height", "the shape has no height; expected scale instead");
    return height / present;
}

static void scale_mesh(config_map *shape, scene_shape *out) {
    double scale = read_scale(shape, out->mesh.positions, out->mesh.node_count);
    scale_positions(out->mesh.positions, out->mesh.node_count, scale);
    scale_positions(out->surface.positions, out->surface.vertex_count, scale);
    for (int v = 0; out->contact_spacing && v < out->surface.vertex_count; v++) out->contact_spacing[v] *= scale;
}

/* The share of each tet that is inside the surface. */
static void fill_tets(config_map *embed, scene_shape *out) {
    thenar_error error;
    out->fill = MEMORY_ARRAY(double, out->mesh.tet_count);
    if (!out->fill) {
        config_out_of_memory(embed);
        return;
    }
    config_adopt(embed, "fill", thenar_tet_mesh_fill(&out->mesh, &out->surface, out->fill, &error), error.text);
    for (int t = 0; t < out->mesh.tet_count; t++) out->fill[t] = fmax(FILL_MIN, fmin(1, out->fill[t]));
}

static void embed_surface(config_map *embed, const thenar_mesh_options *options, bool fill, scene_shape *out) {
    thenar_error error;
    thenar_status status = thenar_tet_mesh_from_surface(&out->surface, options, &out->mesh, &out->embedding, &error);
    config_adopt(embed, "surface", status, error.text);
    if (status == THENAR_OK && fill) fill_tets(embed, out);
}

static void read_embed(config_map *shape, scene_shape *out) {
    config_map embed;
    if (!config_child(shape, "embed", CONFIG_REQUIRED, &embed)) return;
    static const char *const lattices[] = {"bcc", "cube", "kuhn"};
    thenar_mesh_options options = thenar_mesh_options_default();
    int lattice = 0;
    bool fill = true;
    read_surface(&embed, &out->surface);
    config_integer(&embed, "tets", CONFIG_OPTIONAL, 1, MAX_TETS, &options.target_tets);
    config_number(&embed, "cell", CONFIG_OPTIONAL, config_positive("m"), &options.cell_size);
    config_choice(&embed, "lattice", CONFIG_OPTIONAL, lattices, 3, &lattice);
    config_bool(&embed, "fit", CONFIG_OPTIONAL, &options.fit);
    config_bool(&embed, "fill", CONFIG_OPTIONAL, &fill);
    if (config_has(&embed, "tets") && config_has(&embed, "cell"))
        config_fail(&embed, "cell", "cell and tets together; expected one of them");
    config_close(&embed);
    double scale = read_scale(shape, out->surface.positions, out->surface.vertex_count);
    if (shape->reader->status != THENAR_OK) return;
    scale_positions(out->surface.positions, out->surface.vertex_count, scale);
    options.lattice = (thenar_lattice)lattice;
    embed_surface(&embed, &options, fill, out);
}

/* Names the tags first, first + 1, ... as if they came from a file. */
static void name_tags(config_map *map, int first, int count, const char *(*name)(int), scene_shape *out) {
    out->file.regions = MEMORY_ARRAY(mesh_region, count);
    bool enough = out->file.regions;
    for (int i = 0; i < count && enough; i++) {
        out->file.regions[i] = (mesh_region){.tag = first + i, .name = memory_string(name(first + i))};
        enough = out->file.regions[i].name;
        out->file.region_count += enough;
    }
    if (!enough) config_out_of_memory(map);
}

static const char *finger_tag_name(int tag) {
    (void)tag;
    return "bone";
}

static void read_finger(config_map *shape, scene_shape *out) {
    config_map finger;
    if (!config_child(shape, "finger", CONFIG_REQUIRED, &finger)) return;
    finger_options options = finger_options_default();
    config_number(&finger, "length", CONFIG_OPTIONAL, config_between(FINGER_LENGTH_MIN, FINGER_LENGTH_MAX, "m"),
                  &options.length);
    config_number(&finger, "pulp", CONFIG_OPTIONAL, config_between(FINGER_PULP_MIN, FINGER_PULP_MAX, "m"),
                  &options.pulp);
    config_integer(&finger, "tets", CONFIG_OPTIONAL, FINGER_TETS_MIN, FINGER_TETS_MAX, &options.target_tets);
    config_close(&finger);
    if (shape->reader->status != THENAR_OK) return;
    thenar_error error;
    thenar_status status = finger_mesh(&options, &out->mesh, &error);
    config_adopt(shape, "finger", status, error.text);
    if (status == THENAR_OK) name_tags(shape, FINGER_BONE, 1, finger_tag_name, out);
}

/* Moves mesh, skin and embedding; a plain soft body does not need the rest of the hand. */
static void take_hand(hand_shape *hand, scene_shape *out) {
    out->mesh = hand->mesh;
    out->surface = hand->skin;
    out->embedding = hand->embedding;
    out->contact_spacing = hand->contact_spacing;
    hand->contact_spacing = NULL;
    hand->mesh = (thenar_tet_mesh){0};
    hand->skin = (thenar_surface){0};
    hand->embedding = (thenar_embedding){0};
    hand_shape_free(hand);
}

/* Means of 4,082 men and 1,986 women (ANSUR II). */
static const struct {
    const char *name;
    double length, breadth; /* m */
} people[] = {{"man", 0.1933, 0.0883}, {"woman", 0.1811, 0.0782}};

/* `size`: the name of people, or LENGTHxBREADTH in millimetres. */
static void read_hand_size(config_map *map, hand_options *options) {
    const char *text;
    if (!config_text(map, "size", CONFIG_OPTIONAL, &text)) return;
    static const char *const others[] = {"length", "breadth", "file"};
    for (int i = 0; i < 3; i++)
        if (config_has(map, others[i]))
            config_fail(map, "size", "size together with %s; expected one of them", others[i]);
    for (size_t i = 0; i < sizeof people / sizeof *people; i++)
        if (strcmp(text, people[i].name) == 0) {
            options->length = people[i].length;
            options->breadth = people[i].breadth;
            return;
        }
    const char *end = text;
    double length = text_scan_double(text, &end), breadth = *end == 'x' ? text_scan_double(end + 1, &end) : 0;
    if (strspn(text, "0123456789.x") != strlen(text) || *end || !(length > 0 && breadth > 0)) {
        config_fail(map, "size", "size is %s; expected man, woman or LENGTHxBREADTH in mm, as 193x88", text);
        return;
    }
    options->length = length * 1e-3;
    options->breadth = breadth * 1e-3;
    if (!(options->length >= HAND_LENGTH_MIN && options->length <= HAND_LENGTH_MAX))
        config_fail(map, "size", "a length of %g mm; expected %g to %g", length, 1e3 * HAND_LENGTH_MIN,
                    1e3 * HAND_LENGTH_MAX);
    else if (!(breadth >= HAND_SLENDER * length && breadth <= HAND_BROAD * length))
        config_fail(map, "size", "a breadth of %g mm; expected %g to %g of the length, %g to %g mm", breadth,
                    HAND_SLENDER, HAND_BROAD, HAND_SLENDER * length, HAND_BROAD * length);
}

void scene_hand_options_read(config_map *shape, hand_options *options, char **path) {
    config_map map;
    if (!config_child(shape, "hand", CONFIG_REQUIRED, &map)) return;
    static const char *const sides[] = {"right", "left"};
    int side = 0;
    config_number(&map, "length", CONFIG_OPTIONAL, config_between(HAND_LENGTH_MIN, HAND_LENGTH_MAX, "m"),
                  &options->length);
    options->breadth *= options->length / hand_options_default().length;
    read_hand_size(&map, options);
    config_number(&map, "breadth", CONFIG_OPTIONAL,
                  config_between(HAND_SLENDER * options->length, HAND_BROAD * options->length, "m"), &options->breadth);
    config_choice(&map, "side", CONFIG_OPTIONAL, sides, 2, &side);
    config_integer(&map, "tets", CONFIG_OPTIONAL, HAND_TETS_MIN, HAND_TETS_MAX, &options->fineness.tets);
    static const char *const details[] = {"coarse", "medium", "fine"};
    int detail = (int)options->fineness.detail;
    config_choice(&map, "detail", CONFIG_OPTIONAL, details, 3, &detail);
    options->fineness.detail = (thenar_hand_detail)detail;
    if (config_has(&map, "tets") && config_has(&map, "detail"))
        config_fail(&map, "detail", "detail together with tets; expected one of them");
    config_integer(&map, "triangles", CONFIG_OPTIONAL, HAND_TRIANGLES_MIN, HAND_TRIANGLES_MAX, &options->triangles);
    config_file(&map, "file", CONFIG_OPTIONAL, path);
    static const char *const built_in[] = {"length", "breadth", "side", "triangles"};
    for (int i = 0; i < 4 && *path; i++)
        if (config_has(&map, built_in[i]))
            config_fail(&map, built_in[i], "%s together with file; expected it in the file", built_in[i]);
    config_close(&map);
    options->left = side == 1;
}

static void read_hand(config_map *shape, scene_shape *out) {
    hand_options options = hand_options_default();
    char *path = NULL;
    scene_hand_options_read(shape, &options, &path);
    if (shape->reader->status == THENAR_OK) {
        thenar_error error;
        hand_shape hand;
        thenar_status status =
            path ? hand_gltf_load(path, options.fineness, &hand, &error) : hand_shape_create(&options, &hand, &error);
        config_adopt(shape, "hand", status, error.text);
        if (status == THENAR_OK) {
            take_hand(&hand, out);
            fill_tets(shape, out);
            name_tags(shape, 0, HAND_BONES, hand_bone_name, out);
        }
    }
    free(path);
}

static void place(double *positions, int count, const double pose[7]) {
    quat turn = {pose[3], pose[4], pose[5], pose[6]};
    for (int i = 0; i < count; i++)
        vec3_store(positions + 3 * i, vec3_add(quat_rotate(turn, vec3_load(positions + 3 * i)), vec3_load(pose)));
}

void scene_shape_read(config_map *body, scene_shape *out) {
    *out = (scene_shape){0};
    config_map shape;
    if (!config_child(body, "shape", CONFIG_REQUIRED, &shape)) return;
    static const char *const kinds[] = {"box", "mesh", "embed", "finger", "hand"};
    static void (*const readers[])(config_map *shape, scene_shape *out) = {read_box, read_mesh_file, read_embed,
                                                                           read_finger, read_hand};
    int kind = config_one_of(&shape, "shape", kinds, 5);
    if (kind < 0) return;
    readers[kind](&shape, out);
    /* An embedded surface is scaled before it is meshed. */
    if (readers[kind] != read_embed) scale_mesh(&shape, out);
    double pose[7];
    scene_pose_read(&shape, pose);
    place(out->mesh.positions, out->mesh.node_count, pose);
    place(out->surface.positions, out->surface.vertex_count, pose);
    config_close(&shape);
}

void scene_shape_free(scene_shape *shape) {
    thenar_tet_mesh_free(&shape->mesh);
    thenar_surface_free(&shape->surface);
    thenar_embedding_free(&shape->embedding);
    mesh_file_free(&shape->file);
    free(shape->fill);
    free(shape->contact_spacing);
    *shape = (scene_shape){0};
}

int scene_shape_find_tag(const scene_shape *shape, const char *name) {
    for (int i = 0; i < shape->file.region_count; i++)
        if (strcmp(shape->file.regions[i].name, name) == 0) return shape->file.regions[i].tag;
    return -1;
}
