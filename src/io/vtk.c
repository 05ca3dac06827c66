#include "io/export.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/vec3.h"
#include "io/file.h"

#include "thenar/file.h"
#include "thenar/sim.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_ONLY "POLYDATA"
enum { TETRA = 10, TRIANGLE = 5, TITLE_LONGEST = 255 };

/* Names are words: anything that would end one becomes an underscore. */
static void write_name(FILE *file, const char *name) {
    if (!*name) fputc('_', file);
    for (; *name; name++) fputc(isspace((unsigned char)*name) || iscntrl((unsigned char)*name) ? '_' : *name, file);
}

static void write_title(FILE *file, const char *title) {
    for (int i = 0; title[i] && i < TITLE_LONGEST; i++) fputc(iscntrl((unsigned char)title[i]) ? ' ' : title[i], file);
    fputc('\n', file);
}

/* `count` rows of numbers; without values, zeros. */
static void write_rows(FILE *file, const double *values, size_t count, int components) {
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < components; k++) {
            double number = values ? values[i * (size_t)components + (size_t)k] : 0;
            fprintf(file, k + 1 < components ? "%.9g " : "%.9g\n", number);
        }
}

static size_t count_points(const vtk_grid *grid) {
    size_t count = 0;
    for (int p = 0; p < grid->piece_count; p++) count += (size_t)grid->pieces[p].point_count;
    return count;
}

static void write_points(FILE *file, const vtk_grid *grid) {
    fprintf(file, "POINTS %zu double\n", count_points(grid));
    for (int p = 0; p < grid->piece_count; p++)
        write_rows(file, grid->pieces[p].points, (size_t)grid->pieces[p].point_count, 3);
}

static void write_cell_rows(FILE *file, const int *indices, int count, int corners, long long first_point) {
    for (size_t i = 0; i < (size_t)count; i++) {
        fprintf(file, "%d", corners);
        for (size_t k = 0; k < (size_t)corners; k++)
            fprintf(file, " %lld", first_point + indices[i * (size_t)corners + k]);
        fputc('\n', file);
    }
}

static size_t write_cells(FILE *file, const vtk_grid *grid) {
    size_t tets = 0, triangles = 0;
    for (int p = 0; p < grid->piece_count; p++) {
        tets += (size_t)grid->pieces[p].tet_count;
        triangles += (size_t)grid->pieces[p].triangle_count;
    }
    fprintf(file, "CELLS %zu %zu\n", tets + triangles, 5 * tets + 4 * triangles);
    long long first_point = 0;
    for (int p = 0; p < grid->piece_count; p++) {
        const vtk_piece *piece = &grid->pieces[p];
        write_cell_rows(file, piece->tets, piece->tet_count, 4, first_point);
        write_cell_rows(file, piece->triangles, piece->triangle_count, 3, first_point);
        first_point += piece->point_count;
    }
    fprintf(file, "CELL_TYPES %zu\n", tets + triangles);
    for (int p = 0; p < grid->piece_count; p++) {
        for (int i = 0; i < grid->pieces[p].tet_count; i++) fprintf(file, "%d\n", TETRA);
        for (int i = 0; i < grid->pieces[p].triangle_count; i++) fprintf(file, "%d\n", TRIANGLE);
    }
    return tets + triangles;
}

static void begin_array(FILE *file, const vtk_array *array, size_t count) {
    if (array->components == 3) {
        fputs("VECTORS ", file);
        write_name(file, array->name);
        fputs(" double\n", file);
    } else if (array->components == 1) {
        fputs("SCALARS ", file);
        write_name(file, array->name);
        fputs(" double 1\nLOOKUP_TABLE default\n", file);
    } else {
        fputs("FIELD FieldData 1\n", file);
        write_name(file, array->name);
        fprintf(file, " %d %zu double\n", array->components, count);
    }
}

static void write_point_data(FILE *file, const vtk_grid *grid) {
    if (grid->point_array_count == 0) return;
    size_t count = count_points(grid);
    fprintf(file, "POINT_DATA %zu\n", count);
    for (int a = 0; a < grid->point_array_count; a++) {
        begin_array(file, &grid->point_arrays[a], count);
        for (int p = 0; p < grid->piece_count; p++)
            write_rows(file, grid->pieces[p].point_values ? grid->pieces[p].point_values[a] : NULL,
                       (size_t)grid->pieces[p].point_count, grid->point_arrays[a].components);
    }
}

static void write_cell_data(FILE *file, const vtk_grid *grid, size_t count) {
    fprintf(file, "CELL_DATA %zu\nSCALARS body int 1\nLOOKUP_TABLE default\n", count);
    for (int p = 0; p < grid->piece_count; p++)
        for (int i = 0; i < grid->pieces[p].tet_count + grid->pieces[p].triangle_count; i++)
            fprintf(file, "%d\n", grid->pieces[p].body);
    for (int a = 0; a < grid->cell_array_count; a++) {
        const vtk_array *array = &grid->cell_arrays[a];
        begin_array(file, array, count);
        for (int p = 0; p < grid->piece_count; p++) {
            const vtk_piece *piece = &grid->pieces[p];
            write_rows(file, piece->cell_values ? piece->cell_values[a] : NULL, (size_t)piece->tet_count,
                       array->components);
            write_rows(file, NULL, (size_t)piece->triangle_count, array->components);
        }
    }
}

static void write_vertices(FILE *file, size_t count) {
    fprintf(file, "VERTICES %zu %zu\n", count, 2 * count);
    for (size_t i = 0; i < count; i++) fprintf(file, "1 %zu\n", i);
}

static thenar_status write_file(const char *path, const vtk_grid *grid, const char *kind, thenar_error *error) {
    FILE *file;
    thenar_status status = file_create(path, &file, error);
    if (status != THENAR_OK) return status;
    text_locale saved = text_locale_begin();
    fputs("# vtk DataFile Version 3.0\n", file);
    write_title(file, grid->title);
    fprintf(file, "ASCII\nDATASET %s\n", kind);
    write_points(file, grid);
    if (strcmp(kind, POINTS_ONLY) == 0)
        write_vertices(file, count_points(grid));
    else
        write_cell_data(file, grid, write_cells(file, grid));
    write_point_data(file, grid);
    text_locale_end(saved);
    return file_close(file, path, error);
}

thenar_status vtk_write(const char *path, const vtk_grid *grid, thenar_error *error) {
    return write_file(path, grid, "UNSTRUCTURED_GRID", error);
}

thenar_status vtk_write_points(const char *path, const vtk_grid *grid, thenar_error *error) {
    return write_file(path, grid, POINTS_ONLY, error);
}

thenar_status vtk_write_series(const char *path, const char *const *names, const double *times, int count,
                               thenar_error *error) {
    json_t *files = json_array();
    bool whole = files != NULL;
    for (int i = 0; whole && i < count; i++)
        whole = json_array_append_new(files, json_pack("{s:s, s:f}", "name", names[i], "time", times[i])) == 0;
    json_t *root = whole ? json_pack("{s:s, s:O}", "file-series-version", "1.0", "files", files) : NULL;
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    json_decref(files);
    if (!text) return error_set(error, THENAR_ERROR_MEMORY, "%s: out of memory, or a time is not finite", path);
    FILE *file;
    thenar_status status = file_create(path, &file, error);
    if (status == THENAR_OK) {
        fputs(text, file);
        fputc('\n', file);
        status = file_close(file, path, error);
    }
    free(text);
    return status;
}

/* All bodies of a simulation as one VTK grid. */

static const vtk_array point_arrays[] = {{"rest", 3}, {"displacement", 3}, {"velocity", 3}, {"force", 3}};
static const vtk_array cell_arrays[] = {{"s", 3}};
enum {
    POINT_ARRAYS = sizeof point_arrays / sizeof *point_arrays,
    CELL_ARRAYS = sizeof cell_arrays / sizeof *cell_arrays
};

/* What a body's piece of the grid points to. */
typedef struct body_values {
    double *displacement, *stretches; /* owned, as are the next two */
    double *surface, *velocity;       /* of rigid bodies */
    const double *points[POINT_ARRAYS];
    const double *cells[CELL_ARRAYS];
} body_values;

/* A rigid body is its surface; its rest shape is where it is. False: out of memory. */
static bool describe_rigid(const thenar_sim *sim, int b, body_values *values, vtk_piece *piece) {
    const thenar_surface *surface = thenar_model_surface(thenar_sim_model(sim), b);
    values->surface = MEMORY_ARRAY(double, 3 * (size_t)surface->vertex_count);
    values->velocity = MEMORY_ARRAY(double, 3 * (size_t)surface->vertex_count);
    if (!values->surface || !values->velocity) return false;
    thenar_sim_surface(sim, b, values->surface);
    double pose[7], twist[6];
    thenar_sim_pose(sim, b, pose);
    thenar_sim_twist(sim, b, twist);
    for (int i = 0; i < surface->vertex_count; i++) {
        vec3 arm = vec3_sub(vec3_load(values->surface + 3 * i), vec3_load(pose));
        vec3_store(values->velocity + 3 * i, vec3_add(vec3_load(twist), vec3_cross(vec3_load(twist + 3), arm)));
    }
    values->points[0] = values->surface;
    values->points[2] = values->velocity;
    *piece = (vtk_piece){.point_count = surface->vertex_count,
                         .triangle_count = surface->triangle_count,
                         .points = values->surface,
                         .triangles = surface->triangles,
                         .body = b,
                         .point_values = values->points,
                         .cell_values = values->cells};
    return true;
}

/* False: out of memory. */
static bool describe_soft(const thenar_sim *sim, int b, body_values *values, vtk_piece *piece) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(sim), b);
    const double *x = thenar_sim_positions(sim, b);
    values->displacement = MEMORY_ARRAY(double, 3 * (size_t)mesh->node_count);
    values->stretches = MEMORY_ARRAY(double, 3 * (size_t)mesh->tet_count);
    if (!values->displacement || !values->stretches) return false;
    for (int i = 0; i < 3 * mesh->node_count; i++) values->displacement[i] = x[i] - mesh->positions[i];
    thenar_sim_stretches(sim, b, values->stretches);
    values->points[0] = mesh->positions;
    values->points[1] = values->displacement;
    values->points[2] = thenar_sim_velocities(sim, b);
    values->points[3] = thenar_sim_forces(sim, b);
    values->cells[0] = values->stretches;
    *piece = (vtk_piece){.point_count = mesh->node_count,
                         .tet_count = mesh->tet_count,
                         .points = x,
                         .tets = mesh->tets,
                         .body = b,
                         .point_values = values->points,
                         .cell_values = values->cells};
    return true;
}

thenar_status thenar_sim_write_vtk(const thenar_sim *sim, const char *path, thenar_error *error) {
    USAGE_STATUS(sim && path, error, "the simulation or the path is NULL");
    const thenar_model *model = thenar_sim_model(sim);
    int bodies = thenar_model_body_count(model);
    vtk_piece *pieces = MEMORY_ARRAY(vtk_piece, bodies);
    body_values *values = MEMORY_ARRAY(body_values, bodies);
    bool enough = pieces && values;
    for (int b = 0; b < bodies && enough; b++)
        enough = thenar_model_body_kind(model, b) == THENAR_BODY_RIGID ? describe_rigid(sim, b, &values[b], &pieces[b])
                                                                       : describe_soft(sim, b, &values[b], &pieces[b]);
    vtk_grid grid = {.title = thenar_model_name(model),
                     .pieces = pieces,
                     .piece_count = bodies,
                     .point_arrays = point_arrays,
                     .point_array_count = POINT_ARRAYS,
                     .cell_arrays = cell_arrays,
                     .cell_array_count = CELL_ARRAYS};
    thenar_status status = enough ? vtk_write(path, &grid, error) : error_memory(error, path);
    for (int b = 0; values && b < bodies; b++) {
        free(values[b].displacement);
        free(values[b].stretches);
        free(values[b].surface);
        free(values[b].velocity);
    }
    free(values);
    free(pieces);
    return status;
}

thenar_status thenar_tet_mesh_write_vtk(const thenar_tet_mesh *mesh, const char *path, thenar_error *error) {
    USAGE_STATUS(mesh && path, error, "the mesh or the path is NULL");
    vtk_piece piece = {
        .point_count = mesh->node_count, .tet_count = mesh->tet_count, .points = mesh->positions, .tets = mesh->tets};
    vtk_grid grid = {.title = "thenar mesh", .pieces = &piece, .piece_count = 1};
    return vtk_write(path, &grid, error);
}
