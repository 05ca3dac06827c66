/* The builder of meshes, the choice of the format, and the public functions that load meshes. */
#include "io/mesh_reader.h"

#include "thenar/file.h"

#include <stdio.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT_MAX ((size_t)INT_MAX / 4) /* of nodes or elements: 4 * count is an int */

static void mesh_builder_free(mesh_builder *builder) {
    free(builder->positions.data);
    free(builder->node_places.data);
    free(builder->used.data);
    free(builder->tets.data);
    free(builder->tet_places.data);
    free(builder->tags.data);
    free(builder->triangles.data);
    free(builder->triangle_places.data);
    for (size_t i = 0; i < builder->regions.count; i++) free(builder->regions.data[i].name);
    free(builder->regions.data);
    *builder = (mesh_builder){0};
}

int mesh_builder_node_count(const mesh_builder *builder) {
    return (int)builder->positions.count;
}

static bool too_many(scanner *s, size_t count, const char *what) {
    return count >= COUNT_MAX && !scanner_fail(s, "more than %zu %s; expected fewer", COUNT_MAX, what);
}

bool mesh_builder_add_node(mesh_builder *builder, scanner *s, const double position[3], int number) {
    if (too_many(s, builder->positions.count, "nodes")) return false;
    mesh_place place = {.number = number, .line = scanner_line(s)};
    return (ARRAY_PUSH(&builder->positions, vec3_make(position[0], position[1], position[2])) &&
            ARRAY_PUSH(&builder->node_places, place) && ARRAY_PUSH(&builder->used, 0)) ||
           scanner_no_memory(s);
}

bool mesh_builder_add_tet(mesh_builder *builder, scanner *s, const int nodes[4], int tag, mesh_place place) {
    if (too_many(s, builder->tets.count, "tets")) return false;
    mesh_tet tet = {{nodes[0], nodes[1], nodes[2], nodes[3]}};
    return (ARRAY_PUSH(&builder->tets, tet) && ARRAY_PUSH(&builder->tags, tag) &&
            ARRAY_PUSH(&builder->tet_places, place)) ||
           scanner_no_memory(s);
}

static bool add_triangle(mesh_builder *builder, scanner *s, int a, int b, int c, mesh_place place) {
    if (too_many(s, builder->triangles.count, "triangles")) return false;
    return (ARRAY_PUSH(&builder->triangles, (mesh_triangle){{a, b, c}}) &&
            ARRAY_PUSH(&builder->triangle_places, place)) ||
           scanner_no_memory(s);
}

bool mesh_builder_add_polygon(mesh_builder *builder, scanner *s, const int *nodes, size_t count, mesh_place place) {
    if (count < 3) return scanner_fail(s, "face %d has %zu nodes; expected at least 3", place.number, count);
    for (size_t i = 2; i < count; i++)
        if (!add_triangle(builder, s, nodes[0], nodes[i - 1], nodes[i], place)) return false;
    return true;
}

bool mesh_builder_add_strip(mesh_builder *builder, scanner *s, const int *nodes, size_t count, mesh_place place) {
    if (count < 3) return scanner_fail(s, "strip %d has %zu nodes; expected at least 3", place.number, count);
    for (size_t i = 2; i < count; i++) {
        size_t flip = i % 2;
        if (!add_triangle(builder, s, nodes[i - 2 + flip], nodes[i - 1 - flip], nodes[i], place)) return false;
    }
    return true;
}

void mesh_builder_mark_used(mesh_builder *builder, const int *nodes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert(nodes[i] >= 0 && nodes[i] < mesh_builder_node_count(builder));
        builder->used.data[nodes[i]] = 1;
    }
}

bool mesh_builder_add_region(mesh_builder *builder, scanner *s, int tag, const char *name) {
    mesh_region region = {.tag = tag, .name = memory_string(name)};
    if (region.name && ARRAY_PUSH(&builder->regions, region)) return true;
    free(region.name);
    return scanner_no_memory(s);
}

/* The nodes used by some elements, renumbered in the same order. */
typedef struct node_selection {
    int count;
    int *renumbered; /* per node of the builder: its new index, or -1 */
    mesh_place *places;
} node_selection;

static bool select_nodes(const mesh_builder *builder, const int *indices, size_t index_count, node_selection *out) {
    size_t node_count = builder->positions.count;
    *out =
        (node_selection){.renumbered = MEMORY_ARRAY(int, node_count), .places = MEMORY_ARRAY(mesh_place, node_count)};
    if (!out->renumbered || !out->places) return false;
    for (size_t i = 0; i < index_count; i++) out->renumbered[indices[i]] = 1;
    for (size_t i = 0; i < node_count; i++) {
        bool used = out->renumbered[i];
        if (used) out->places[out->count] = builder->node_places.data[i];
        out->renumbered[i] = used ? out->count++ : -1;
    }
    return true;
}

static void node_selection_free(node_selection *selected) {
    free(selected->renumbered);
    free(selected->places);
}

static void copy_positions(const mesh_builder *builder, const node_selection *selected, double *positions) {
    for (size_t i = 0; i < builder->positions.count; i++)
        if (selected->renumbered[i] >= 0)
            vec3_store(positions + 3 * (size_t)selected->renumbered[i], builder->positions.data[i]);
}

static bool has_tags(const mesh_builder *builder) {
    for (size_t i = 0; i < builder->tags.count; i++)
        if (builder->tags.data[i] != 0) return true;
    return false;
}

static thenar_status finish_tets(const mesh_builder *builder, const char *path, mesh_file *out, thenar_error *error) {
    const int *indices = (const int *)builder->tets.data;
    size_t index_count = 4 * builder->tets.count;
    node_selection selected;
    thenar_status status =
        select_nodes(builder, indices, index_count, &selected)
            ? tet_mesh_create(selected.count, (int)builder->tets.count, has_tags(builder), &out->tets, error)
            : error_memory(error, path);
    if (status == THENAR_OK) {
        copy_positions(builder, &selected, out->tets.positions);
        for (size_t i = 0; i < index_count; i++) out->tets.tets[i] = selected.renumbered[indices[i]];
        for (size_t i = 0; out->tets.tags && i < builder->tets.count; i++) out->tets.tags[i] = builder->tags.data[i];
        mesh_origin origin = {.name = path,
                              .nodes = selected.places,
                              .elements = builder->tet_places.data,
                              .first_node = builder->first_node};
        status = builder->loose ? tet_mesh_validate(&out->tets, error)
                                : mesh_check_tets(&out->tets, &origin, &out->note, error);
    }
    node_selection_free(&selected);
    return status;
}

static thenar_status finish_surface(const mesh_builder *builder, const char *path, mesh_file *out,
                                    thenar_error *error) {
    const int *indices = (const int *)builder->triangles.data;
    size_t index_count = 3 * builder->triangles.count;
    node_selection selected;
    thenar_status status = select_nodes(builder, indices, index_count, &selected)
                               ? surface_create(selected.count, (int)builder->triangles.count, &out->surface, error)
                               : error_memory(error, path);
    if (status == THENAR_OK) {
        copy_positions(builder, &selected, out->surface.positions);
        for (size_t i = 0; i < index_count; i++) out->surface.triangles[i] = selected.renumbered[indices[i]];
        mesh_origin origin = {.name = path,
                              .nodes = selected.places,
                              .elements = builder->triangle_places.data,
                              .first_node = builder->first_node};
        status = mesh_check_surface(&out->surface, &origin, error);
    }
    node_selection_free(&selected);
    return status;
}

static thenar_status check_all_indices(const mesh_builder *builder, const char *path, thenar_error *error) {
    mesh_origin origin = {.name = path, .elements = builder->tet_places.data, .first_node = builder->first_node};
    thenar_status status = THENAR_OK;
    int node_count = mesh_builder_node_count(builder);
    if (builder->tets.count > 0)
        status = mesh_check_indices((const int *)builder->tets.data, (int)builder->tets.count, 4, node_count, &origin,
                                    error);
    if (status != THENAR_OK || builder->triangles.count == 0) return status;
    origin.elements = builder->triangle_places.data;
    return mesh_check_indices((const int *)builder->triangles.data, (int)builder->triangles.count, 3, node_count,
                              &origin, error);
}

static thenar_status check_all_used(mesh_builder *builder, const char *path, thenar_error *error) {
    unsigned char *used = builder->used.data;
    for (size_t i = 0; i < builder->tets.count; i++)
        for (int j = 0; j < 4; j++) used[builder->tets.data[i].nodes[j]] = 1;
    for (size_t i = 0; i < builder->triangles.count; i++)
        for (int j = 0; j < 3; j++) used[builder->triangles.data[i].nodes[j]] = 1;
    mesh_origin origin = {.name = path, .nodes = builder->node_places.data};
    return mesh_check_used(used, mesh_builder_node_count(builder), &origin, error);
}

/* Moves the region names to `out`; the builder still needs mesh_builder_free. */
static thenar_status mesh_builder_finish(mesh_builder *builder, const char *path, mesh_file *out, thenar_error *error) {
    *out = (mesh_file){0};
    if (builder->tets.count == 0 && builder->triangles.count == 0)
        return error_at(error, path, 0, 0, "has no tets and no triangles; expected a mesh of either");
    thenar_status status = check_all_indices(builder, path, error);
    if (status == THENAR_OK && builder->tets.count > 0) {
        if (!builder->loose) status = check_all_used(builder, path, error);
        if (status == THENAR_OK) status = finish_tets(builder, path, out, error);
    }
    if (status == THENAR_OK && builder->triangles.count > 0) status = finish_surface(builder, path, out, error);
    if (status != THENAR_OK) {
        mesh_file_free(out);
        return status;
    }
    out->regions = builder->regions.data;
    out->region_count = (int)builder->regions.count;
    builder->regions.data = NULL;
    builder->regions.count = builder->regions.capacity = 0;
    return THENAR_OK;
}

typedef struct mesh_format {
    const char *extension;
    const char *beginning; /* the start of every such file, or NULL if there is no signature */
    bool (*read)(scanner *s, mesh_builder *builder);
} mesh_format;

static const mesh_format formats[] = {
    {"msh", "$MeshFormat", mesh_read_gmsh}, {"vtk", "# vtk DataFile", mesh_read_vtk},
    {"vtu", "<?xml", mesh_read_vtu},        {"vtu", "<VTKFile", mesh_read_vtu},
    {"ply", "ply\n", mesh_read_ply},        {"ply", "ply\r", mesh_read_ply},
    {"stl", NULL, mesh_read_stl},           {"obj", NULL, mesh_read_obj},
};
#define FORMAT_COUNT (sizeof formats / sizeof formats[0])

static bool starts_with(const scanner *s, const char *text) {
    return scanner_left(s) >= strlen(text) && memcmp(s->at, text, strlen(text)) == 0;
}

/* A binary STL file has no signature, but its size follows from its number of triangles. A text file has letters there,
 * which read as a number give more triangles than any file has. */
static bool is_stl(const scanner *s) {
    if (starts_with(s, "solid")) return true;
    if (scanner_left(s) < 84) return false;
    const unsigned char *c = (const unsigned char *)s->at + 80;
    size_t count = (size_t)c[0] | (size_t)c[1] << 8 | (size_t)c[2] << 16 | (size_t)c[3] << 24;
    return scanner_left(s) == 84 + 50 * count;
}

/* By content first, by extension second; NULL: unknown. */
static const mesh_format *choose_format(const scanner *s) {
    const char *extension = file_extension(s->path);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].beginning && starts_with(s, formats[i].beginning)) return &formats[i];
    if (is_stl(s)) extension = "stl";
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcasecmp(extension, formats[i].extension) == 0) return &formats[i];
    return NULL;
}

static bool read_any(scanner *s, mesh_builder *builder) {
    const mesh_format *format = choose_format(s);
    if (!format)
        return scanner_fail(s, "is not a known mesh file; expected Gmsh (.msh), VTK (.vtk), VTU (.vtu), OBJ, STL "
                               "or PLY");
    if (format->beginning && !starts_with(s, format->beginning))
        return scanner_fail(s, "does not begin like a .%s file; expected \"%.*s\"", format->extension,
                            (int)strcspn(format->beginning, "\r\n"), format->beginning);
    return format->read(s, builder);
}

static thenar_status parse(const char *path, file_bytes bytes, bool loose, mesh_file *out, thenar_error *error) {
    *out = (mesh_file){0};
    scanner s = scanner_make(path, bytes, error);
    mesh_builder builder = {.loose = loose};
    thenar_status status = read_any(&s, &builder) ? mesh_builder_finish(&builder, path, out, error) : s.status;
    mesh_builder_free(&builder);
    return status;
}

static thenar_status read_path(const char *path, bool loose, mesh_file *out, thenar_error *error) {
    *out = (mesh_file){0};
    file_bytes bytes;
    thenar_status status = file_read(path, FILE_SIZE_LIMIT, &bytes, error);
    if (status != THENAR_OK) return status;
    status = parse(path, bytes, loose, out, error);
    free(bytes.data);
    return status;
}

thenar_status mesh_file_parse(const char *path, file_bytes bytes, mesh_file *out, thenar_error *error) {
    return parse(path, bytes, false, out, error);
}

thenar_status mesh_file_read(const char *path, mesh_file *out, thenar_error *error) {
    return read_path(path, false, out, error);
}

void mesh_file_free(mesh_file *file) {
    thenar_tet_mesh_free(&file->tets);
    thenar_surface_free(&file->surface);
    for (int i = 0; i < file->region_count; i++) free(file->regions[i].name);
    free(file->regions);
    *file = (mesh_file){0};
}

static const char *const mesh_formats[] = {"auto", "msh", "vtk", "vtu", "obj", "stl", "ply"};
NAMES(thenar_mesh_format, mesh_formats)

/* A file in memory gets the extension of its format, from which the reader takes it. */
static thenar_status parse_memory(const void *bytes, size_t size, thenar_mesh_format format, mesh_file *out,
                                  thenar_error *error) {
    char name[32];
    file_bytes copy;
    *out = (mesh_file){0};
    if ((unsigned)format >= THENAR_MESH_FORMAT_COUNT)
        return error_set(error, THENAR_ERROR_USAGE, "mesh format %d; expected 0 to %d", (int)format,
                         THENAR_MESH_FORMAT_COUNT - 1);
    snprintf(name, sizeof name, format == THENAR_MESH_AUTO ? "memory" : "memory.%s", mesh_formats[format]);
    thenar_status status = file_copy(name, bytes, size, FILE_SIZE_LIMIT, &copy, error);
    if (status != THENAR_OK) return status;
    status = parse(name, copy, false, out, error);
    free(copy.data);
    return status;
}

/* Moves the tets of a file to `mesh` if it was read (status), and frees the rest. */
static thenar_status take_tets(const char *path, thenar_status status, mesh_file *file, thenar_tet_mesh *mesh,
                               thenar_error *error) {
    *mesh = file->tets;
    file->tets = (thenar_tet_mesh){0};
    if (status == THENAR_OK && mesh->tet_count == 0)
        status = error_at(error, path, 0, 0, "has no tets, only %d triangles; expected a tet mesh",
                          file->surface.triangle_count);
    mesh_file_free(file);
    return status;
}

static thenar_status take_surface(const char *path, thenar_status status, mesh_file *file, thenar_surface *surface,
                                  thenar_error *error) {
    *surface = file->surface;
    file->surface = (thenar_surface){0};
    if (status == THENAR_OK && surface->triangle_count == 0)
        status =
            error_at(error, path, 0, 0, "has no triangles, only %d tets; expected a surface", file->tets.tet_count);
    mesh_file_free(file);
    return status;
}

thenar_status thenar_tet_mesh_load(const char *path, thenar_tet_mesh *mesh, thenar_error *error) {
    USAGE_STATUS(path && mesh, error, "the path or the mesh is NULL");
    mesh_file file;
    thenar_status status = mesh_file_read(path, &file, error);
    return take_tets(path, status, &file, mesh, error);
}

thenar_status thenar_tet_mesh_parse(const void *bytes, size_t size, thenar_mesh_format format, thenar_tet_mesh *mesh,
                                    thenar_error *error) {
    USAGE_STATUS(bytes && mesh, error, "the bytes or the mesh are NULL");
    mesh_file file;
    thenar_status status = parse_memory(bytes, size, format, &file, error);
    return take_tets("memory", status, &file, mesh, error);
}

thenar_status thenar_surface_load(const char *path, thenar_surface *surface, thenar_error *error) {
    USAGE_STATUS(path && surface, error, "the path or the surface is NULL");
    mesh_file file;
    thenar_status status = mesh_file_read(path, &file, error);
    return take_surface(path, status, &file, surface, error);
}

thenar_status thenar_surface_parse(const void *bytes, size_t size, thenar_mesh_format format, thenar_surface *surface,
                                   thenar_error *error) {
    USAGE_STATUS(bytes && surface, error, "the bytes or the surface are NULL");
    mesh_file file;
    thenar_status status = parse_memory(bytes, size, format, &file, error);
    return take_surface("memory", status, &file, surface, error);
}

thenar_status thenar_mesh_file_load(const char *path, bool loose, thenar_mesh_file *out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the file is NULL");
    mesh_file file;
    thenar_status status = read_path(path, loose, &file, error);
    *out = (thenar_mesh_file){.tets = file.tets, .surface = file.surface};
    snprintf(out->note, sizeof out->note, "%s", file.note.text);
    file.tets = (thenar_tet_mesh){0};
    file.surface = (thenar_surface){0};
    mesh_file_free(&file);
    return status;
}

void thenar_mesh_file_free(thenar_mesh_file *file) {
    if (!file) return;
    thenar_tet_mesh_free(&file->tets);
    thenar_surface_free(&file->surface);
    *file = (thenar_mesh_file){0};
}
