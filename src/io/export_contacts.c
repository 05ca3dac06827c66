/* The contacts of a recording: a table with a row each, and points with vectors for ParaView. Forces are those on the
 * first of the two bodies; on the second they are the opposite. */
#include "io/export_kinds.h"

#include "base/memory.h"
#include "io/csv.h"
#include "io/vtk.h"
#include "math/vec3.h"

#include <stdlib.h>

/* Normal force and friction together, N. */
static vec3 total_force(const thenar_contact *contact) {
    return vec3_mul_add(vec3_load(contact->friction), vec3_load(contact->normal), contact->force);
}

/* Of the skin around the point, Pa; points of rigid bodies have no area, and so 0. */
static double pressure(const thenar_contact *contact) {
    return contact->area > 0 ? contact->force / contact->area : 0;
}

static void write_header(csv_writer *csv) {
    static const char *const columns[] = {"frame",      "step",         "time",       "body_a",     "body_b",
                                          "vertex",     "face_a",       "face_b",     "sticks",     "position_x",
                                          "position_y", "position_z",   "normal_x",   "normal_y",   "normal_z",
                                          "gap",        "normal_force", "friction_x", "friction_y", "friction_z",
                                          "force_x",    "force_y",      "force_z",    "area",       "pressure"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) csv_text(csv, columns[i]);
    csv_end_row(csv);
}

static void write_vector(csv_writer *csv, vec3 v) {
    csv_number(csv, v.x);
    csv_number(csv, v.y);
    csv_number(csv, v.z);
}

static void write_row(csv_writer *csv, const thenar_recording *recording, int frame, const thenar_contact *contact) {
    csv_integer(csv, frame);
    csv_integer(csv, (long long)thenar_recording_frame_step(recording, frame));
    csv_number(csv, thenar_recording_frame_time(recording, frame));
    csv_text(csv, thenar_recording_body_at(recording, contact->body[0])->name);
    csv_text(csv, thenar_recording_body_at(recording, contact->body[1])->name);
    csv_integer(csv, contact->vertex);
    csv_integer(csv, contact->face[0]);
    csv_integer(csv, contact->face[1]);
    csv_integer(csv, contact->sticks);
    write_vector(csv, vec3_load(contact->position));
    write_vector(csv, vec3_load(contact->normal));
    csv_number(csv, contact->gap);
    csv_number(csv, contact->force);
    write_vector(csv, vec3_load(contact->friction));
    write_vector(csv, total_force(contact));
    csv_number(csv, contact->area);
    csv_number(csv, pressure(contact));
    csv_end_row(csv);
}

static thenar_status write_rows(csv_writer *csv, thenar_recording *recording, export_selection selection,
                                const export_options *options, thenar_error *error) {
    write_header(csv);
    thenar_status status = THENAR_OK;
    bool go_on = true;
    for (int i = 0; status == THENAR_OK && go_on && i < selection.count; i++) {
        const thenar_contact *contacts;
        int frame = export_frame(selection, i), count;
        status = thenar_recording_read_contacts(recording, frame, &contacts, &count, error);
        for (int c = 0; c < count; c++) write_row(csv, recording, frame, &contacts[c]);
        if (status == THENAR_OK) go_on = export_tell(options, i + 1, selection.count);
    }
    return status;
}

thenar_status export_contacts_csv(thenar_recording *recording, const char *path, export_selection selection,
                                  const export_options *options, thenar_error *error) {
    csv_writer csv;
    thenar_status status = csv_open(&csv, path, error);
    if (status != THENAR_OK) return status;
    status = write_rows(&csv, recording, selection, options, error);
    thenar_status closed = csv_close(&csv, status == THENAR_OK ? error : NULL);
    return status == THENAR_OK ? closed : status;
}

/* Arrays of the points in VTK. */
enum { NORMAL, FORCE, FRICTION, NORMAL_FORCE, GAP, AREA, PRESSURE, STICKS, BODY_A, BODY_B, ARRAYS };
static const vtk_array arrays[ARRAYS] = {[NORMAL] = {"normal", 3},     [FORCE] = {"force", 3},
                                         [FRICTION] = {"friction", 3}, [NORMAL_FORCE] = {"normal_force", 1},
                                         [GAP] = {"gap", 1},           [AREA] = {"area", 1},
                                         [PRESSURE] = {"pressure", 1}, [STICKS] = {"sticks", 1},
                                         [BODY_A] = {"body_a", 1},     [BODY_B] = {"body_b", 1}};

static void fill(double *points, double *const *values, const thenar_contact *contacts, int count) {
    for (size_t i = 0; i < (size_t)count; i++) {
        const thenar_contact *contact = &contacts[i];
        vec3_store(points + 3 * i, vec3_load(contact->position));
        vec3_store(values[NORMAL] + 3 * i, vec3_load(contact->normal));
        vec3_store(values[FORCE] + 3 * i, total_force(contact));
        vec3_store(values[FRICTION] + 3 * i, vec3_load(contact->friction));
        values[NORMAL_FORCE][i] = contact->force;
        values[GAP][i] = contact->gap;
        values[AREA][i] = contact->area;
        values[PRESSURE][i] = pressure(contact);
        values[STICKS][i] = contact->sticks;
        values[BODY_A][i] = contact->body[0];
        values[BODY_B][i] = contact->body[1];
    }
}

thenar_status export_contacts_vtk(thenar_recording *recording, const char *path, int frame, thenar_error *error) {
    const thenar_contact *contacts;
    int count;
    thenar_status status = thenar_recording_read_contacts(recording, frame, &contacts, &count, error);
    if (status != THENAR_OK) return status;
    size_t numbers = 3;
    for (int a = 0; a < ARRAYS; a++) numbers += (size_t)arrays[a].components;
    double *points = MEMORY_ARRAY(double, numbers *(size_t)count), *values[ARRAYS];
    if (!points) return error_memory(error, "contacts");
    double *next = points + 3 * (size_t)count;
    for (int a = 0; a < ARRAYS; a++) {
        values[a] = next;
        next += (size_t)arrays[a].components * (size_t)count;
    }
    fill(points, values, contacts, count);
    char title[256];
    snprintf(title, sizeof title, "%.150s contacts of frame %d", thenar_recording_get_info(recording).scene, frame);
    vtk_piece piece = {.point_count = count, .points = points, .point_values = (const double *const *)values};
    vtk_grid grid = {
        .title = title, .pieces = &piece, .piece_count = 1, .point_arrays = arrays, .point_array_count = ARRAYS};
    status = vtk_write_points(path, &grid, error);
    free(points);
    return status;
}
