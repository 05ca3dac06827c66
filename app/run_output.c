#include "app/run_output.h"

#include "app/run_summary.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/csv.h"
#include "io/recording.h"
#include "io/recording_format.h"
#include "io/vtk.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Channels of the recording: two a body, and three of the run. */
enum { RUN_CHANNEL_STEP_US, RUN_CHANNEL_RESIDUAL, RUN_CHANNEL_ITERATIONS, RUN_CHANNELS };
#define BODY_CHANNELS 2

struct run_output {
    run_facts facts;
    char *folder; /* NULL: nothing is written */
    csv_writer csv;
    bool csv_open;
    recording_writer *recording;
    const double **channel_values; /* RUN_CHANNELS + BODY_CHANNELS per body */
    double run_values[RUN_CHANNELS];
    run_summary summary;
};

static thenar_status path_in(const run_output *output, const char *name, char path[], size_t size, thenar_error *error) {
    int length = snprintf(path, size, "%s/%s", output->folder, name);
    if (length < 0 || (size_t)length >= size) return error_set(error, THENAR_ERROR_FILE, "the path of --out is too long");
    return THENAR_OK;
}

static void write_csv_header(csv_writer *csv, const thenar_model *model) {
    static const char *const fixed[] = {"step", "time", "active", "contacts", "rows", "iterations", "residual", "step_us"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) csv_text(csv, fixed[i]);
    for (int s = 0; s < THENAR_STAGE_COUNT; s++) {
        char name[64];
        snprintf(name, sizeof name, "%s_us", thenar_stage_name((thenar_stage)s));
        csv_text(csv, name);
    }
    static const char *const columns[] = {"force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z", "area"};
    for (int b = 0; b < thenar_model_body_count(model); b++)
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
            char name[300];
            snprintf(name, sizeof name, "%.280s_%s", thenar_model_body_name(model, b), columns[i]);
            csv_text(csv, name);
        }
    csv_end_row(csv);
}

/* A sum over a body may overflow where every node is still finite: such a field stays empty. */
static void write_figures(csv_writer *csv, const double *values, int count) {
    for (int i = 0; i < count; i++)
        if (isfinite(values[i]))
            csv_number(csv, values[i]);
        else
            csv_empty(csv);
}

static void write_csv_row(csv_writer *csv, const thenar_sim *sim) {
    const thenar_stats *stats = thenar_sim_stats(sim);
    csv_integer(csv, (long long)thenar_sim_step_count(sim));
    csv_number(csv, thenar_sim_time(sim));
    csv_integer(csv, stats->active_constraints);
    csv_integer(csv, stats->contacts);
    csv_integer(csv, stats->rows);
    csv_integer(csv, stats->iterations);
    csv_number(csv, stats->residual);
    csv_number(csv, 1e-3 * (double)stats->step_ns);
    for (int s = 0; s < THENAR_STAGE_COUNT; s++) csv_number(csv, 1e-3 * (double)stats->stage_ns[s]);
    for (int b = 0; b < thenar_model_body_count(thenar_sim_model(sim)); b++) {
        run_body_figures figures = run_body_measure(sim, b);
        write_figures(csv, figures.force, 3);
        write_figures(csv, figures.torque, 3);
        write_figures(csv, &figures.contact_area, 1);
    }
    csv_end_row(csv);
}

static void describe_channels(thenar_recording_channel *channels, int body_count) {
    channels[RUN_CHANNEL_STEP_US] = (thenar_recording_channel){
        .name = "step_us", .unit = "us", .body = -1, .place = THENAR_RECORDING_RUN, .components = 1};
    channels[RUN_CHANNEL_RESIDUAL] = (thenar_recording_channel){
        .name = "residual", .unit = "", .body = -1, .place = THENAR_RECORDING_RUN, .components = 1};
    channels[RUN_CHANNEL_ITERATIONS] = (thenar_recording_channel){
        .name = "iterations", .unit = "", .body = -1, .place = THENAR_RECORDING_RUN, .components = 1};
    for (int b = 0; b < body_count; b++) {
        channels[RUN_CHANNELS + BODY_CHANNELS * b] = (thenar_recording_channel){
            .name = "position", .unit = "m", .body = b, .place = THENAR_RECORDING_NODES, .components = 3};
        channels[RUN_CHANNELS + BODY_CHANNELS * b + 1] = (thenar_recording_channel){
            .name = "force", .unit = "N", .body = b, .place = THENAR_RECORDING_NODES, .components = 3};
    }
}

static thenar_status open_recording(run_output *output, const thenar_sim *sim, const char *path, thenar_error *error) {
    const thenar_model *model = thenar_sim_model(sim);
    int bodies = thenar_model_body_count(model), channel_count = RUN_CHANNELS + BODY_CHANNELS * bodies;
    if (channel_count > RECORDING_CHANNELS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "%s: cannot record %d bodies; expected at most %d, or no --out", path, bodies,
                         (RECORDING_CHANNELS_MAX - RUN_CHANNELS) / BODY_CHANNELS);
    recording_body *described = MEMORY_ARRAY(recording_body, bodies);
    thenar_recording_channel *channels = MEMORY_ARRAY(thenar_recording_channel, channel_count);
    output->channel_values = MEMORY_ARRAY(const double *, channel_count);
    thenar_status status = THENAR_ERROR_MEMORY;
    if (described && channels && output->channel_values) {
        describe_channels(channels, bodies);
        for (int i = 0; i < RUN_CHANNELS; i++) output->channel_values[i] = &output->run_values[i];
        for (int b = 0; b < bodies; b++) {
            described[b] = (recording_body){.name = thenar_model_body_name(model, b),
                                            .kind = "soft",
                                            .surface_kind = THENAR_RECORDING_SURFACE_EMBEDDED,
                                            .mesh = thenar_model_mesh(model, b),
                                            .surface = thenar_model_surface(model, b),
                                            .embedding = thenar_model_embedding(model, b)};
            output->channel_values[RUN_CHANNELS + BODY_CHANNELS * b] = thenar_sim_positions(sim, b);
            output->channel_values[RUN_CHANNELS + BODY_CHANNELS * b + 1] = thenar_sim_forces(sim, b);
        }
        recording_description description = {.scene = output->facts.scene,
                                             .solver = output->facts.solver,
                                             .dt = thenar_sim_dt(sim),
                                             .bodies = described,
                                             .body_count = bodies,
                                             .channels = channels,
                                             .channel_count = channel_count};
        status = recording_create(path, &description, &output->recording, error);
    } else {
        error_memory(error, "recording");
    }
    free(described);
    free(channels);
    return status;
}

static thenar_status record_frame(run_output *output, const thenar_sim *sim, thenar_error *error) {
    const thenar_stats *stats = thenar_sim_stats(sim);
    output->run_values[RUN_CHANNEL_STEP_US] = 1e-3 * (double)stats->step_ns;
    output->run_values[RUN_CHANNEL_RESIDUAL] = stats->residual;
    output->run_values[RUN_CHANNEL_ITERATIONS] = stats->iterations;
    return recording_write_frame(output->recording, thenar_sim_step_count(sim), thenar_sim_time(sim),
                                 output->channel_values, error);
}

/* A file of an earlier run that this one writes only at its end: if it never gets there, the old one must not be taken
 * for the new. Links and devices are left alone. */
static thenar_status remove_old(const run_output *output, const char *name, thenar_error *error) {
    char path[4096];
    struct stat info;
    thenar_status status = path_in(output, name, path, sizeof path, error);
    if (status != THENAR_OK || lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) return status;
    return unlink(path) == 0 ? THENAR_OK : error_errno(error, path, "replace");
}

static thenar_status open_files(run_output *output, const thenar_sim *sim, thenar_error *error) {
    char path[4096];
    thenar_status status = file_make_directory(output->folder, error);
    if (status == THENAR_OK) status = remove_old(output, "summary.json", error);
    if (status == THENAR_OK) status = remove_old(output, "final.vtk", error);
    if (status == THENAR_OK) status = path_in(output, "steps.csv", path, sizeof path, error);
    if (status == THENAR_OK) status = csv_open(&output->csv, path, error);
    if (status != THENAR_OK) return status;
    output->csv_open = true;
    write_csv_header(&output->csv, thenar_sim_model(sim));
    status = path_in(output, "recording.thenar", path, sizeof path, error);
    if (status == THENAR_OK) status = open_recording(output, sim, path, error);
    return status == THENAR_OK ? record_frame(output, sim, error) : status;
}

thenar_status run_output_open(const char *folder, const run_facts *facts, const thenar_sim *sim, run_output **out,
                              thenar_error *error) {
    *out = NULL;
    run_output *output = MEMORY_ARRAY(run_output, 1);
    if (!output) return error_memory(error, "output");
    output->facts = *facts;
    output->folder = memory_string(folder);
    thenar_status status = folder && !output->folder ? error_memory(error, "output") : THENAR_OK;
    if (status == THENAR_OK && folder) status = open_files(output, sim, error);
    if (status == THENAR_OK)
        *out = output;
    else
        run_output_free(output);
    return status;
}

thenar_status run_output_step(run_output *output, const thenar_sim *sim, thenar_error *error) {
    if (!run_summary_add(&output->summary, thenar_sim_stats(sim))) return error_memory(error, "statistics");
    if (!output->folder) return THENAR_OK;
    write_csv_row(&output->csv, sim);
    return record_frame(output, sim, error);
}

/* All soft bodies as one grid. */
static thenar_status write_final_vtk(const run_output *output, const thenar_sim *sim, thenar_error *error) {
    const thenar_model *model = thenar_sim_model(sim);
    int bodies = thenar_model_body_count(model);
    static const vtk_array point_arrays[] = {{"rest", 3}, {"displacement", 3}, {"velocity", 3}, {"force", 3}};
    static const vtk_array cell_arrays[] = {{"s", 3}};
    enum { POINT_ARRAYS = sizeof point_arrays / sizeof *point_arrays };
    vtk_piece *pieces = MEMORY_ARRAY(vtk_piece, bodies);
    const double *(*point_values)[POINT_ARRAYS] = memory_array((size_t)bodies, sizeof *point_values);
    double **owned = MEMORY_ARRAY(double *, 2 * (size_t)bodies); /* displacements and stretches */
    thenar_status status = pieces && point_values && owned ? THENAR_OK : error_memory(error, "final.vtk");
    for (int b = 0; b < bodies && status == THENAR_OK; b++) {
        const thenar_tet_mesh *mesh = thenar_model_mesh(model, b);
        const double *x = thenar_sim_positions(sim, b);
        double *displacement = owned[2 * b] = MEMORY_ARRAY(double, 3 * (size_t)mesh->node_count);
        double *stretches = owned[2 * b + 1] = MEMORY_ARRAY(double, 3 * (size_t)mesh->tet_count);
        if (!displacement || !stretches) {
            status = error_memory(error, "final.vtk");
            break;
        }
        for (int i = 0; i < 3 * mesh->node_count; i++) displacement[i] = x[i] - mesh->positions[i];
        thenar_sim_stretches(sim, b, stretches);
        point_values[b][0] = mesh->positions;
        point_values[b][1] = displacement;
        point_values[b][2] = thenar_sim_velocities(sim, b);
        point_values[b][3] = thenar_sim_forces(sim, b);
        pieces[b] = (vtk_piece){.point_count = mesh->node_count,
                                .tet_count = mesh->tet_count,
                                .points = x,
                                .tets = mesh->tets,
                                .body = b,
                                .point_values = point_values[b],
                                .cell_values = (const double *const *)&owned[2 * b + 1]};
    }
    char path[4096];
    if (status == THENAR_OK) status = path_in(output, "final.vtk", path, sizeof path, error);
    if (status == THENAR_OK) {
        vtk_grid grid = {.title = output->facts.scene,
                         .pieces = pieces,
                         .piece_count = bodies,
                         .point_arrays = point_arrays,
                         .point_array_count = POINT_ARRAYS,
                         .cell_arrays = cell_arrays,
                         .cell_array_count = 1};
        status = vtk_write(path, &grid, error);
    }
    for (int i = 0; owned && i < 2 * bodies; i++) free(owned[i]);
    free(owned);
    free(point_values);
    free(pieces);
    return status;
}

static thenar_status write_summary(const run_output *output, const thenar_sim *sim, double wall, thenar_error *error) {
    char path[4096];
    thenar_status status = path_in(output, "summary.json", path, sizeof path, error);
    return status == THENAR_OK ? run_summary_write(&output->summary, &output->facts, sim, wall, path, error) : status;
}

/* Keeps the first error of several. */
static void keep_first(thenar_status status, const thenar_error *told, thenar_status *first, thenar_error *error) {
    if (status == THENAR_OK || *first != THENAR_OK) return;
    *first = status;
    if (error) *error = *told;
}

/* Each file is finished even if another could not be. */
thenar_status run_output_finish(run_output *output, const thenar_sim *sim, double wall, thenar_error *error) {
    if (!output->folder) return THENAR_OK;
    thenar_status first = THENAR_OK;
    thenar_error told;
    recording_writer *recording = output->recording;
    output->recording = NULL;
    keep_first(recording_close(recording, &told), &told, &first, error);
    output->csv_open = false;
    keep_first(csv_close(&output->csv, &told), &told, &first, error);
    keep_first(write_final_vtk(output, sim, &told), &told, &first, error);
    keep_first(write_summary(output, sim, wall, &told), &told, &first, error);
    return first;
}

void run_output_rates(run_output *output, double *median, double *longest) {
    *median = run_summary_percentile(&output->summary, 50);
    *longest = run_summary_percentile(&output->summary, 100);
}

void run_output_free(run_output *output) {
    if (!output) return;
    recording_close(output->recording, NULL);
    if (output->csv_open) csv_close(&output->csv, NULL);
    run_summary_free(&output->summary);
    free(output->channel_values);
    free(output->folder);
    free(output);
}
