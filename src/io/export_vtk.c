/* One legacy VTK file per frame, and one with its contacts where bodies can touch. A soft body appears as its tets, a
 * rigid one as its surface. Points carry `rest`, `displacement` (position - rest) and every channel on nodes (of a
 * rigid body: on vertices); cells carry `body` and every channel on tets. Bodies without a channel of a name have
 * zeros there. */
#include "io/export.h"

#include "io/file.h"
#include "core/memory.h"
#include "io/recording.h"

#include <stdlib.h>
#include <string.h>

enum { REST, DISPLACEMENT, FIRST_CHANNEL_ARRAY, ARRAYS_MAX = 256, NAME_SIZE = 32 };

/* Where the values of a channel go in each frame. */
typedef struct destination {
    int channel;
    double *values;
} destination;

typedef struct vtk_export {
    thenar_recording *recording;
    vtk_array point_arrays[ARRAYS_MAX], cell_arrays[ARRAYS_MAX];
    int point_array_count, cell_array_count;
    vtk_piece *pieces;          /* one per body */
    const double **point_table; /* body * point_array_count + array */
    const double **cell_table;
    double **points, **displacement; /* of each body, per frame */
    destination *destinations;
    int destination_count;
} vtk_export;

static bool shown_by_surface(const thenar_recording_body *body) {
    return body->surface == THENAR_RECORDING_SURFACE_RIGID;
}

/* Which list of arrays a channel belongs to: 1 points, 2 cells, 0 none. */
static int list_of(const vtk_export *job, const thenar_recording_channel *channel) {
    if (channel->place == THENAR_RECORDING_RUN || channel->place == THENAR_RECORDING_BODY) return 0;
    bool by_surface = shown_by_surface(thenar_recording_body_at(job->recording, channel->body));
    if (channel->place == THENAR_RECORDING_TETS) return by_surface ? 0 : 2;
    if (strcmp(channel->name, "position") == 0) return 0;
    return by_surface == (channel->place == THENAR_RECORDING_VERTICES) ? 1 : 0;
}

static int find_array(const vtk_array *arrays, int count, const thenar_recording_channel *channel) {
    for (int i = 0; i < count; i++)
        if (arrays[i].components == channel->components && strcmp(arrays[i].name, channel->name) == 0) return i;
    return -1;
}

static thenar_status list_arrays(vtk_export *job, thenar_error *error) {
    job->point_arrays[REST] = (vtk_array){"rest", 3};
    job->point_arrays[DISPLACEMENT] = (vtk_array){"displacement", 3};
    job->point_array_count = FIRST_CHANNEL_ARRAY;
    for (int c = 0; c < thenar_recording_channel_count(job->recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(job->recording, c);
        int list = list_of(job, channel);
        if (list == 0) continue;
        vtk_array *arrays = list == 1 ? job->point_arrays : job->cell_arrays;
        int *count = list == 1 ? &job->point_array_count : &job->cell_array_count;
        if (find_array(arrays, *count, channel) >= 0) continue;
        if (*count == ARRAYS_MAX)
            return error_set(error, THENAR_ERROR_INPUT,
                             "the recording has too many channels; expected at most %d names",
                             ARRAYS_MAX - FIRST_CHANNEL_ARRAY);
        arrays[(*count)++] = (vtk_array){channel->name, channel->components};
    }
    return THENAR_OK;
}

static thenar_status make_piece(vtk_export *job, int b, thenar_error *error) {
    const thenar_recording_body *body = thenar_recording_body_at(job->recording, b);
    const thenar_recording_mesh *mesh;
    thenar_status status = thenar_recording_read_mesh(job->recording, b, &mesh, error);
    if (status != THENAR_OK) return status;
    bool by_surface = shown_by_surface(body);
    int count = by_surface ? body->vertex_count : body->node_count;
    job->points[b] = MEMORY_ARRAY(double, 3 * (size_t)count);
    job->displacement[b] = MEMORY_ARRAY(double, 3 * (size_t)count);
    if (!job->points[b] || !job->displacement[b]) return error_memory(error, "a grid");
    const double **point_values = job->point_table + (size_t)b * (size_t)job->point_array_count;
    point_values[REST] = by_surface ? mesh->surface.positions : mesh->volume.positions;
    point_values[DISPLACEMENT] = job->displacement[b];
    job->pieces[b] = (vtk_piece){.point_count = count,
                                 .points = job->points[b],
                                 .tet_count = by_surface ? 0 : body->tet_count,
                                 .tets = mesh->volume.tets,
                                 .triangle_count = by_surface ? body->triangle_count : 0,
                                 .triangles = mesh->surface.triangles,
                                 .body = b,
                                 .point_values = point_values,
                                 .cell_values = job->cell_table + (size_t)b * (size_t)job->cell_array_count};
    return THENAR_OK;
}

static thenar_status make_destinations(vtk_export *job, thenar_error *error) {
    for (int c = 0; c < thenar_recording_channel_count(job->recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(job->recording, c);
        int list = list_of(job, channel);
        if (list == 0) continue;
        double *values = MEMORY_ARRAY(double, recording_channel_numbers(channel));
        if (!values) return error_memory(error, "a grid");
        job->destinations[job->destination_count++] = (destination){.channel = c, .values = values};
        size_t body = (size_t)channel->body;
        if (list == 1) {
            int array = find_array(job->point_arrays, job->point_array_count, channel);
            job->point_table[body * (size_t)job->point_array_count + (size_t)array] = values;
        } else {
            int array = find_array(job->cell_arrays, job->cell_array_count, channel);
            job->cell_table[body * (size_t)job->cell_array_count + (size_t)array] = values;
        }
    }
    return THENAR_OK;
}

static thenar_status prepare(vtk_export *job, thenar_error *error) {
    thenar_status status = list_arrays(job, error);
    if (status != THENAR_OK) return status;
    size_t bodies = (size_t)thenar_recording_body_count(job->recording);
    job->pieces = MEMORY_ARRAY(vtk_piece, bodies);
    job->points = MEMORY_ARRAY(double *, bodies);
    job->displacement = MEMORY_ARRAY(double *, bodies);
    job->point_table = MEMORY_ARRAY(const double *, bodies *(size_t)job->point_array_count);
    job->cell_table = MEMORY_ARRAY(const double *, bodies *(size_t)job->cell_array_count);
    job->destinations = MEMORY_ARRAY(destination, thenar_recording_channel_count(job->recording));
    if (!job->pieces || !job->points || !job->displacement || !job->point_table || !job->cell_table ||
        !job->destinations)
        return error_memory(error, "a grid");
    for (int b = 0; status == THENAR_OK && b < (int)bodies; b++) status = make_piece(job, b, error);
    return status == THENAR_OK ? make_destinations(job, error) : status;
}

static void release(vtk_export *job) {
    for (int b = 0; b < thenar_recording_body_count(job->recording); b++) {
        if (job->points) free(job->points[b]);
        if (job->displacement) free(job->displacement[b]);
    }
    for (int i = 0; i < job->destination_count; i++) free(job->destinations[i].values);
    free(job->points);
    free(job->displacement);
    free(job->pieces);
    free(job->point_table);
    free(job->cell_table);
    free(job->destinations);
}

static thenar_status load_frame(vtk_export *job, int frame, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int b = 0; status == THENAR_OK && b < thenar_recording_body_count(job->recording); b++) {
        double *points = job->points[b];
        if (shown_by_surface(thenar_recording_body_at(job->recording, b)))
            status = thenar_recording_read_surface(job->recording, b, frame, points, error);
        else
            status = thenar_recording_read_positions(job->recording, b, frame, points, error);
        const double *rest = job->pieces[b].point_values[REST];
        for (size_t i = 0; i < 3 * (size_t)job->pieces[b].point_count; i++)
            job->displacement[b][i] = points[i] - rest[i];
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
                     .point_arrays = job->point_arrays,
                     .point_array_count = job->point_array_count,
                     .cell_arrays = job->cell_arrays,
                     .cell_array_count = job->cell_array_count};
    return vtk_write(path, &grid, error);
}

static bool has_contacts(const vtk_export *job) {
    return thenar_recording_get_info(job->recording).max_contacts > 0;
}

/* frame_000123.vtk, contacts_000123.vtk */
static void name_file(char *name, size_t size, const char *kind, int frame) {
    snprintf(name, size, "%s_%06d.vtk", kind, frame);
}

/* The list of files for ParaView, whole also when the export was stopped after `count` frames. */
static thenar_status write_series(const vtk_export *job, const char *kind, const char *path, export_selection selection,
                                  int count, thenar_error *error) {
    char(*names)[NAME_SIZE] = memory_array((size_t)count, NAME_SIZE);
    const char **pointers = MEMORY_ARRAY(const char *, count);
    double *times = MEMORY_ARRAY(double, count);
    thenar_status status = names && pointers && times ? THENAR_OK : error_memory(error, "a list of frames");
    for (int i = 0; status == THENAR_OK && i < count; i++) {
        int frame = export_frame(selection, i);
        name_file(names[i], NAME_SIZE, kind, frame);
        pointers[i] = names[i];
        times[i] = thenar_recording_frame_time(job->recording, frame);
    }
    if (status == THENAR_OK) status = vtk_write_series(path, pointers, times, count, error);
    free(names);
    free(pointers);
    free(times);
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
    for (bool go_on = true; status == THENAR_OK && go_on && done < selection.count;) {
        int frame = export_frame(selection, done);
        name_file(name, room, "frame", frame);
        status = write_frame(job, path, frame, error);
        name_file(name, room, "contacts", frame);
        if (status == THENAR_OK && has_contacts(job)) status = export_contacts_vtk(job->recording, path, frame, error);
        if (status == THENAR_OK) go_on = export_tell(options, ++done, selection.count);
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
