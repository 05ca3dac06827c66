#include "shape/mesh_file.h"

#include "shape/mesh_readers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct mesh_format {
    const char *extension;
    const char *beginning; /* what every such file starts with, or NULL if nothing tells it */
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

/* A binary STL file has nothing at its start to know it by, but its size follows from its count of triangles.
 * A text has letters where that count stands, hence a count beyond any file's size. */
static bool is_stl(const scanner *s) {
    if (starts_with(s, "solid")) return true;
    if (scanner_left(s) < 84) return false;
    const unsigned char *c = (const unsigned char *)s->at + 80;
    size_t count = (size_t)c[0] | (size_t)c[1] << 8 | (size_t)c[2] << 16 | (size_t)c[3] << 24;
    return scanner_left(s) == 84 + 50 * count;
}

/* By content first, by extension second; NULL: none. */
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
        return scanner_fail(s,
                            "is not a mesh file that is known; expected Gmsh (.msh), VTK (.vtk), VTU (.vtu), OBJ, STL "
                            "or PLY");
    if (format->beginning && !starts_with(s, format->beginning))
        return scanner_fail(s, "does not begin as a .%s file; expected \"%.*s\"", format->extension,
                            (int)strcspn(format->beginning, "\r\n"), format->beginning);
    return format->read(s, builder);
}

static thenar_status parse(const char *path, file_bytes bytes, bool loose, mesh_file *out, thenar_error *error) {
    *out = (mesh_file){0};
    scanner s = scanner_on(path, bytes, error);
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

thenar_status mesh_file_read_loose(const char *path, mesh_file *out, thenar_error *error) {
    return read_path(path, true, out, error);
}

void mesh_file_free(mesh_file *file) {
    thenar_tet_mesh_free(&file->tets);
    thenar_surface_free(&file->surface);
    for (int i = 0; i < file->region_count; i++) free(file->regions[i].name);
    free(file->regions);
    *file = (mesh_file){0};
}

thenar_status thenar_tet_mesh_load(const char *path, thenar_tet_mesh *mesh, thenar_error *error) {
    *mesh = (thenar_tet_mesh){0};
    mesh_file file;
    thenar_status status = mesh_file_read(path, &file, error);
    if (status != THENAR_OK) return status;
    if (file.tets.tet_count == 0) {
        status = error_at(error, path, 0, 0, "has no tets, only %d triangles; expected a tet mesh",
                          file.surface.triangle_count);
    } else {
        *mesh = file.tets;
        file.tets = (thenar_tet_mesh){0};
    }
    mesh_file_free(&file);
    return status;
}

thenar_status thenar_surface_load(const char *path, thenar_surface *surface, thenar_error *error) {
    *surface = (thenar_surface){0};
    mesh_file file;
    thenar_status status = mesh_file_read(path, &file, error);
    if (status != THENAR_OK) return status;
    if (file.surface.triangle_count == 0) {
        status = error_at(error, path, 0, 0, "has no triangles, only %d tets; expected a surface", file.tets.tet_count);
    } else {
        *surface = file.surface;
        file.surface = (thenar_surface){0};
    }
    mesh_file_free(&file);
    return status;
}
