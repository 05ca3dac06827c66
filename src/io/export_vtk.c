/* VTK files: of a mesh, of a simulation, and one per frame of a recording. */
#include "io/file.h"
#include "io/recording.h"

#include "core/memory.h"
#include "core/text.h"

#include "thenar/file.h"
#include "thenar/sim.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { TETRA = 10, TRIANGLE = 5, TITLE_MAX = 255 };

/* Names are words: anything that would end one becomes an underscore. */
static void write_name(FILE *file, const char *name) {
    if (!*name) fputc('_', file);
    for (; *name; name++) fputc(isspace((unsigned char)*name) || iscntrl((unsigned char)*name) ? '_' : *name, file);
}

static void write_title(FILE *file, const char *title) {
    for (int i = 0; title[i] && i < TITLE_MAX; i++) fputc(iscntrl((unsigned char)title[i]) ? ' ' : title[i], file);
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

/* points_only: PolyData with a vertex cell per point, which makes ParaView show the points. */
static thenar_status write_file(const char *path, const vtk_grid *grid, bool points_only, thenar_error *error) {
    FILE *file;
    thenar_status status = file_create(path, &file, error);
    if (status != THENAR_OK) return status;
    text_locale saved = text_locale_begin();
    fputs("# vtk DataFile Version 3.0\n", file);
    write_title(file, grid->title);
    fprintf(file, "ASCII\nDATASET %s\n", points_only ? "POLYDATA" : "UNSTRUCTURED_GRID");
    write_points(file, grid);
    if (points_only)
        write_vertices(file, count_points(grid));
    else
        write_cell_data(file, grid, write_cells(file, grid));
    write_point_data(file, grid);
    text_locale_end(saved);
    return file_close(file, path, error);
}

thenar_status vtk_write(const char *path, const vtk_grid *grid, thenar_error *error) {
    return write_file(path, grid, false, error);
}

/* All bodies of a simulation as one VTK grid. */

static const vtk_array point_arrays[] = {{"rest", 3}, {"displacement", 3}, {"velocity", 3}, {"force", 3}};
static const vtk_array cell_arrays[] = {{"s", 3}};
enum {
    POINT_ARRAYS = sizeof point_arrays / sizeof *point_arrays,
    CELL_ARRAYS = sizeof cell_arrays / sizeof *cell_arrays
};

/* What the piece of a body points to. */
typedef struct body_values {
    double *owned[2]; /* surface and velocity of a rigid body; displacement and stretches of a soft one */
    const double *points[POINT_ARRAYS];
    const double *cells[CELL_ARRAYS];
} body_values;

/* A rigid body is its surface, and its rest shape is where it is. False: out of memory. */
static bool describe_rigid(const thenar_sim *sim, int b, body_values *values, vtk_piece *piece) {
    const thenar_surface *surface = thenar_model_surface(thenar_sim_model(sim), b);
    double *x = values->owned[0] = MEMORY_ARRAY(double, 3 * (size_t)surface->vertex_count);
    double *velocity = values->owned[1] = MEMORY_ARRAY(double, 3 * (size_t)surface->vertex_count);
    if (!x || !velocity) return false;
    thenar_sim_surface(sim, b, x);
    double pose[7], twist[6];
    thenar_sim_pose(sim, b, pose);
    thenar_sim_twist(sim, b, twist);
    for (int i = 0; i < surface->vertex_count; i++) {
        vec3 arm = vec3_sub(vec3_load(x + 3 * i), vec3_load(pose));
        vec3_store(velocity + 3 * i, vec3_add(vec3_load(twist), vec3_cross(vec3_load(twist + 3), arm)));
    }
    values->points[0] = x;
    values->points[2] = velocity;
    *piece = (vtk_piece){.point_count = surface->vertex_count,
                         .triangle_count = surface->triangle_count,
                         .points = x,
                         .triangles = surface->triangles};
    return true;
}

static bool describe_soft(const thenar_sim *sim, int b, body_values *values, vtk_piece *piece) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(sim), b);
    const double *x = thenar_sim_positions(sim, b);
    double *displacement = values->owned[0] = MEMORY_ARRAY(double, 3 * (size_t)mesh->node_count);
    double *stretches = values->owned[1] = MEMORY_ARRAY(double, 3 * (size_t)mesh->tet_count);
    if (!displacement || !stretches) return false;
    for (int i = 0; i < 3 * mesh->node_count; i++) displacement[i] = x[i] - mesh->positions[i];
    thenar_sim_stretches(sim, b, stretches);
    values->points[0] = mesh->positions;
    values->points[1] = displacement;
    values->points[2] = thenar_sim_velocities(sim, b);
    values->points[3] = thenar_sim_forces(sim, b);
    values->cells[0] = stretches;
    *piece =
        (vtk_piece){.point_count = mesh->node_count, .tet_count = mesh->tet_count, .points = x, .tets = mesh->tets};
    return true;
}

thenar_status thenar_sim_write_vtk(const thenar_sim *sim, const char *path, thenar_error *error) {
    USAGE_STATUS(sim && path, error, "the simulation or the path is NULL");
    const thenar_model *model = thenar_sim_model(sim);
    int bodies = thenar_model_body_count(model);
    vtk_piece *pieces = MEMORY_ARRAY(vtk_piece, bodies);
    body_values *values = MEMORY_ARRAY(body_values, bodies);
    bool enough = pieces && values;
    for (int b = 0; b < bodies && enough; b++) {
        bool rigid = thenar_model_body_kind(model, b) == THENAR_BODY_RIGID;
        enough = (rigid ? describe_rigid : describe_soft)(sim, b, &values[b], &pieces[b]);
        pieces[b].body = b;
        pieces[b].point_values = values[b].points;
        pieces[b].cell_values = values[b].cells;
    }
    vtk_grid grid = {.title = thenar_model_name(model),
                     .pieces = pieces,
                     .piece_count = bodies,
                     .point_arrays = point_arrays,
                     .point_array_count = POINT_ARRAYS,
                     .cell_arrays = cell_arrays,
                     .cell_array_count = CELL_ARRAYS};
    thenar_status status = enough ? vtk_write(path, &grid, error) : error_memory(error, path);
    for (int b = 0; values && b < bodies; b++) {
        free(values[b].owned[0]);
        free(values[b].owned[1]);
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

/* The contacts of a frame as points, with forces on the first of the two bodies. */

enum { NORMAL, FORCE, FRICTION, NORMAL_FORCE, GAP, AREA, PRESSURE, STICKS, BODY_A, BODY_B, CONTACT_ARRAYS };
static const vtk_array contact_arrays[CONTACT_ARRAYS] = {
    [NORMAL] = {"normal", 3},     [FORCE] = {"force", 3},
    [FRICTION] = {"friction", 3}, [NORMAL_FORCE] = {"normal_force", 1},
    [GAP] = {"gap", 1},           [AREA] = {"area", 1},
    [PRESSURE] = {"pressure", 1}, [STICKS] = {"sticks", 1},
    [BODY_A] = {"body_a", 1},     [BODY_B] = {"body_b", 1}};

static void fill_contacts(double *points, double *const *values, const thenar_contact *contacts, int count) {
    for (size_t i = 0; i < (size_t)count; i++) {
        const thenar_contact *contact = &contacts[i];
        vec3_store(points + 3 * i, vec3_load(contact->position));
        vec3_store(values[NORMAL] + 3 * i, vec3_load(contact->normal));
        vec3_store(values[FORCE] + 3 * i, export_contact_force(contact));
        vec3_store(values[FRICTION] + 3 * i, vec3_load(contact->friction));
        values[NORMAL_FORCE][i] = contact->force;
        values[GAP][i] = contact->gap;
        values[AREA][i] = contact->area;
        values[PRESSURE][i] = export_contact_pressure(contact);
        values[STICKS][i] = contact->sticks;
        values[BODY_A][i] = contact->body[0];
        values[BODY_B][i] = contact->body[1];
    }
}

static thenar_status write_contacts(thenar_recording *recording, const char *path, int frame, thenar_error *error) {
    const thenar_contact *contacts;
    int count;
    thenar_status status = thenar_recording_read_contacts(recording, frame, &contacts, &count, error);
    if (status != THENAR_OK) return status;
    size_t numbers = 3;
    for (int a = 0; a < CONTACT_ARRAYS; a++) numbers += (size_t)contact_arrays[a].components;
    double *points = MEMORY_ARRAY(double, numbers *(size_t)count), *values[CONTACT_ARRAYS];
    if (!points) return error_memory(error, "contacts");
    double *next = points + 3 * (size_t)count;
    for (int a = 0; a < CONTACT_ARRAYS; a++) {
        values[a] = next;
        next += (size_t)contact_arrays[a].components * (size_t)count;
    }
    fill_contacts(points, values, contacts, count);
    char title[256];
    snprintf(title, sizeof title, "%.150s contacts of frame %d", thenar_recording_get_info(recording).scene, frame);
    vtk_piece piece = {.point_count = count, .points = points, .point_values = (const double *const *)values};
    vtk_grid grid = {.title = title,
                     .pieces = &piece,
                     .piece_count = 1,
                     .point_arrays = contact_arrays,
                     .point_array_count = CONTACT_ARRAYS};
    status = write_file(path, &grid, true, error);
    free(points);
    return status;
}

/* A recording: one file per frame, and one with its contacts if bodies can touch. A soft body appears as its tets, a
 * rigid one as its surface. Points carry `rest`, `displacement` (position - rest) and every channel on nodes (of a rigid
 * body: on vertices); cells carry `body` and every channel on tets. Bodies without a channel have zeros there. */

enum { REST, DISPLACEMENT, FIRST_CHANNEL_ARRAY, ARRAYS_MAX = 256, NAME_SIZE = 32 };

/* The named arrays on points, or on cells. */
typedef struct array_list {
    vtk_array arrays[ARRAYS_MAX];
    int count;
    const double **values; /* body * count + array */
} array_list;

/* Where the values of a channel go in each frame. */
typedef struct destination {
    int channel;
    double *values;
} destination;

typedef struct vtk_export {
    thenar_recording *recording;
    array_list points, cells;
    vtk_piece *pieces;                   /* one per body */
    double **positions, **displacements; /* of each body, per frame */
    destination *destinations;
    int destination_count;
} vtk_export;

static bool is_surface_only(const thenar_recording_body *body) {
    return body->surface == THENAR_RECORDING_SURFACE_RIGID;
}

/* The list that a channel belongs to; NULL: it is not exported. */
static array_list *list_of(vtk_export *job, const thenar_recording_channel *channel) {
    if (channel->place == THENAR_RECORDING_RUN || channel->place == THENAR_RECORDING_BODY) return NULL;
    bool by_surface = is_surface_only(thenar_recording_body_at(job->recording, channel->body));
    if (channel->place == THENAR_RECORDING_TETS) return by_surface ? NULL : &job->cells;
    if (strcmp(channel->name, "position") == 0) return NULL;
    return by_surface == (channel->place == THENAR_RECORDING_VERTICES) ? &job->points : NULL;
}

static int find_array(const array_list *list, const thenar_recording_channel *channel) {
    for (int i = 0; i < list->count; i++)
        if (list->arrays[i].components == channel->components && strcmp(list->arrays[i].name, channel->name) == 0)
            return i;
    return -1;
}

static thenar_status list_arrays(vtk_export *job, thenar_error *error) {
    job->points.arrays[REST] = (vtk_array){"rest", 3};
    job->points.arrays[DISPLACEMENT] = (vtk_array){"displacement", 3};
    job->points.count = FIRST_CHANNEL_ARRAY;
    for (int c = 0; c < thenar_recording_channel_count(job->recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(job->recording, c);
        array_list *list = list_of(job, channel);
        if (!list || find_array(list, channel) >= 0) continue;
        if (list->count == ARRAYS_MAX)
            return error_set(error, THENAR_ERROR_INPUT,
                             "the recording has too many channels; expected at most %d names",
                             ARRAYS_MAX - FIRST_CHANNEL_ARRAY);
        list->arrays[list->count++] = (vtk_array){channel->name, channel->components};
    }
    return THENAR_OK;
}

static thenar_status make_piece(vtk_export *job, int b, thenar_error *error) {
    const thenar_recording_body *body = thenar_recording_body_at(job->recording, b);
    const thenar_recording_mesh *mesh;
    thenar_status status = thenar_recording_read_mesh(job->recording, b, &mesh, error);
    if (status != THENAR_OK) return status;
    bool by_surface = is_surface_only(body);
    int count = by_surface ? body->vertex_count : body->node_count;
    job->positions[b] = MEMORY_ARRAY(double, 3 * (size_t)count);
    job->displacements[b] = MEMORY_ARRAY(double, 3 * (size_t)count);
    if (!job->positions[b] || !job->displacements[b]) return error_memory(error, "a grid");
    const double **point_values = job->points.values + (size_t)b * (size_t)job->points.count;
    point_values[REST] = by_surface ? mesh->surface.positions : mesh->volume.positions;
    point_values[DISPLACEMENT] = job->displacements[b];
    job->pieces[b] = (vtk_piece){.point_count = count,
                                 .points = job->positions[b],
                                 .tet_count = by_surface ? 0 : body->tet_count,
                                 .tets = mesh->volume.tets,
                                 .triangle_count = by_surface ? body->triangle_count : 0,
                                 .triangles = mesh->surface.triangles,
                                 .body = b,
                                 .point_values = point_values,
                                 .cell_values = job->cells.values + (size_t)b * (size_t)job->cells.count};
    return THENAR_OK;
}

static thenar_status make_destinations(vtk_export *job, thenar_error *error) {
    for (int c = 0; c < thenar_recording_channel_count(job->recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(job->recording, c);
        array_list *list = list_of(job, channel);
        if (!list) continue;
        double *values = MEMORY_ARRAY(double, recording_channel_numbers(channel));
        if (!values) return error_memory(error, "a grid");
        job->destinations[job->destination_count++] = (destination){.channel = c, .values = values};
        list->values[channel->body * list->count + find_array(list, channel)] = values;
    }
    return THENAR_OK;
}

static thenar_status prepare(vtk_export *job, thenar_error *error) {
    thenar_status status = list_arrays(job, error);
    if (status != THENAR_OK) return status;
    size_t bodies = (size_t)thenar_recording_body_count(job->recording);
    job->pieces = MEMORY_ARRAY(vtk_piece, bodies);
    job->positions = MEMORY_ARRAY(double *, bodies);
    job->displacements = MEMORY_ARRAY(double *, bodies);
    job->points.values = MEMORY_ARRAY(const double *, bodies *(size_t)job->points.count);
    job->cells.values = MEMORY_ARRAY(const double *, bodies *(size_t)job->cells.count);
    job->destinations = MEMORY_ARRAY(destination, thenar_recording_channel_count(job->recording));
    if (!job->pieces || !job->positions || !job->displacements || !job->points.values || !job->cells.values ||
        !job->destinations)
        return error_memory(error, "a grid");
    for (int b = 0; status == THENAR_OK && b < (int)bodies; b++) status = make_piece(job, b, error);
    return status == THENAR_OK ? make_destinations(job, error) : status;
}

static void release(vtk_export *job) {
    for (int b = 0; b < thenar_recording_body_count(job->recording); b++) {
        if (job->positions) free(job->positions[b]);
        if (job->displacements) free(job->displacements[b]);
    }
    for (int i = 0; i < job->destination_count; i++) free(job->destinations[i].values);
    free(job->positions);
    free(job->displacements);
    free(job->pieces);
    free(job->points.values);
    free(job->cells.values);
    free(job->destinations);
}

static thenar_status load_frame(vtk_export *job, int frame, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int b = 0; status == THENAR_OK && b < thenar_recording_body_count(job->recording); b++) {
        double *x = job->positions[b];
        if (is_surface_only(thenar_recording_body_at(job->recording, b)))
            status = thenar_recording_read_surface(job->recording, b, frame, x, error);
        else
            status = thenar_recording_read_positions(job->recording, b, frame, x, error);
        const double *rest = job->pieces[b].point_values[REST];
        for (size_t i = 0; i < 3 * (size_t)job->pieces[b].point_count; i++) job->displacements[b][i] = x[i] - rest[i];
    }
    for (int i = 0; status == THENAR_OK && i < job->destination_count; i++)
        status = thenar_recording_read_channel(job->recording, job->destinations[i].channel, frame,
                                               job->destinations[i].values, error);
    return status;
}

static thenar_status write_frame(vtk_export *job, const char *path, int frame, thenar_error *error) {
    thenar_status status = load_frame(job, frame, error);
    if (status != THENAR_OK) return status;
    char title[256];
    snprintf(title, sizeof title, "%.150s frame %d", thenar_recording_get_info(job->recording).scene, frame);
    vtk_grid grid = {.title = title,
                     .pieces = job->pieces,
                     .piece_count = thenar_recording_body_count(job->recording),
                     .point_arrays = job->points.arrays,
                     .point_array_count = job->points.count,
                     .cell_arrays = job->cells.arrays,
                     .cell_array_count = job->cells.count};
    return vtk_write(path, &grid, error);
}

static bool has_contacts(const vtk_export *job) {
    return thenar_recording_get_info(job->recording).max_contacts > 0;
}

/* frame_000123.vtk, contacts_000123.vtk */
static void name_file(char *name, size_t size, const char *kind, int frame) {
    snprintf(name, size, "%s_%06d.vtk", kind, frame);
}

/* The list of files with their times (s), which ParaView opens as one animation. count: how many frames were written. */
static thenar_status write_series(const vtk_export *job, const char *kind, const char *path, export_selection selection,
                                  int count, thenar_error *error) {
    json_t *files = json_array();
    bool complete = files != NULL;
    for (int i = 0; complete && i < count; i++) {
        char name[NAME_SIZE];
        int frame = export_frame(selection, i);
        name_file(name, sizeof name, kind, frame);
        complete = json_array_append_new(files, json_pack("{s:s, s:f}", "name", name, "time",
                                                          thenar_recording_frame_time(job->recording, frame))) == 0;
    }
    json_t *root = complete ? json_pack("{s:s, s:O}", "file-series-version", "1.0", "files", files) : NULL;
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

static thenar_status write_frames(vtk_export *job, const char *directory, export_selection selection,
                                  const thenar_export_options *options, thenar_error *error) {
    size_t room = 64, path_size = strlen(directory) + 1 + room;
    char *path = memory_array(path_size, 1);
    if (!path) return error_memory(error, "a path");
    char *name = path + snprintf(path, path_size, "%s/", directory);
    thenar_status status = THENAR_OK;
    int done = 0;
    for (bool stopped = false; status == THENAR_OK && !stopped && done < selection.count;) {
        int frame = export_frame(selection, done);
        name_file(name, room, "frame", frame);
        status = write_frame(job, path, frame, error);
        name_file(name, room, "contacts", frame);
        if (status == THENAR_OK && has_contacts(job)) status = write_contacts(job->recording, path, frame, error);
        if (status == THENAR_OK) stopped = !export_report_progress(options, ++done, selection.count);
    }
    snprintf(name, room, "frames.vtk.series");
    if (status == THENAR_OK) status = write_series(job, "frame", path, selection, done, error);
    snprintf(name, room, "contacts.vtk.series");
    if (status == THENAR_OK && has_contacts(job)) status = write_series(job, "contacts", path, selection, done, error);
    free(path);
    return status;
}

thenar_status export_vtk(thenar_recording *recording, const char *directory, export_selection selection,
                         const thenar_export_options *options, thenar_error *error) {
    vtk_export *job = MEMORY_ARRAY(vtk_export, 1);
    if (!job) return error_memory(error, "a grid");
    job->recording = recording;
    thenar_status status = file_make_directory(directory, error);
    if (status == THENAR_OK) status = prepare(job, error);
    if (status == THENAR_OK) status = write_frames(job, directory, selection, options, error);
    release(job);
    free(job);
    return status;
}
