#include "app/run_output.h"

#include "app/run_body.h"
#include "app/run_summary.h"
#include "base/file.h"
#include "base/memory.h"
#include "io/csv.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct run_output {
    run_facts facts;
    char *folder; /* NULL: nothing is written */
    csv_writer csv;
    bool csv_open;
    thenar_recorder *recorder;
    run_summary summary;
};

static thenar_status path_in(const run_output *output, const char *name, char path[], size_t size,
                             thenar_error *error) {
    int length = snprintf(path, size, "%s/%s", output->folder, name);
    if (length < 0 || (size_t)length >= size)
        return error_set(error, THENAR_ERROR_FILE, "the path of --out is too long");
    return THENAR_OK;
}

/* What contact does to a body, and what its supports do. */
static const char *const contact_columns[] = {"force_x",  "force_y",  "force_z", "torque_x",
                                              "torque_y", "torque_z", "area",    NULL};
static const char *const support_columns[] = {"support_force_x",
                                              "support_force_y",
                                              "support_force_z",
                                              "support_torque_x",
                                              "support_torque_y",
                                              "support_torque_z",
                                              NULL};

static void write_body_columns(csv_writer *csv, const char *body, const char *const *columns) {
    for (; *columns; columns++) {
        char name[300];
        snprintf(name, sizeof name, "%.270s_%s", body, *columns);
        csv_text(csv, name);
    }
}

/* What one body does to another: the sums over their contacts. */
static const char *const pair_columns[] = {"force_x",  "force_y", "force_z",  "torque_x", "torque_y",
                                           "torque_z", "area",    "pressure", NULL};

static void write_pair_header(csv_writer *csv, const thenar_model *model) {
    for (int i = 0; i < thenar_model_contact_pair_count(model); i++) {
        int body[2];
        char name[300];
        thenar_model_contact_pair(model, i, body);
        snprintf(name, sizeof name, "%.130s/%.130s", thenar_model_body_name(model, body[0]),
                 thenar_model_body_name(model, body[1]));
        write_body_columns(csv, name, pair_columns);
    }
}

static void write_csv_header(csv_writer *csv, const thenar_model *model) {
    static const char *const fixed[] = {"step", "time",       "active",   "contacts",
                                        "rows", "iterations", "residual", "step_us"};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) csv_text(csv, fixed[i]);
    for (int s = 0; s < THENAR_STAGE_COUNT; s++) {
        char name[64];
        snprintf(name, sizeof name, "%s_us", thenar_stage_name((thenar_stage)s));
        csv_text(csv, name);
    }
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        write_body_columns(csv, thenar_model_body_name(model, b), contact_columns);
        if (!run_body_is_rigid(model, b)) write_body_columns(csv, thenar_model_body_name(model, b), support_columns);
    }
    write_pair_header(csv, model);
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

/* The pairs that touched are among those that may, in the same order. */
static void write_pair_figures(csv_writer *csv, const thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    const thenar_contact_pair none = {0}, *touching = thenar_sim_contact_pairs(sim);
    int left = thenar_sim_contact_pair_count(sim);
    for (int i = 0; i < thenar_model_contact_pair_count(model); i++) {
        int body[2];
        thenar_model_contact_pair(model, i, body);
        bool touches = left > 0 && touching->body[0] == body[0] && touching->body[1] == body[1];
        const thenar_contact_pair *pair = touches ? touching : &none;
        write_figures(csv, pair->force, 3);
        write_figures(csv, pair->torque, 3);
        write_figures(csv, &pair->area, 1);
        write_figures(csv, &pair->pressure, 1);
        touching += touches, left -= touches;
    }
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
    const thenar_model *model = thenar_sim_model(sim);
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        run_body_figures figures = run_body_measure(sim, b);
        write_figures(csv, figures.force, 3);
        write_figures(csv, figures.torque, 3);
        write_figures(csv, &figures.contact_area, 1);
        if (run_body_is_rigid(model, b)) continue;
        write_figures(csv, figures.support_force, 3);
        write_figures(csv, figures.support_torque, 3);
    }
    write_pair_figures(csv, sim);
    csv_end_row(csv);
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
    if (status == THENAR_OK) status = thenar_recorder_create(path, sim, &output->recorder, error);
    return status == THENAR_OK ? thenar_recorder_add(output->recorder, error) : status;
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
    return thenar_recorder_add(output->recorder, error);
}

static thenar_status write_final_vtk(const run_output *output, const thenar_sim *sim, thenar_error *error) {
    char path[4096];
    thenar_status status = path_in(output, "final.vtk", path, sizeof path, error);
    return status == THENAR_OK ? thenar_sim_write_vtk(sim, path, error) : status;
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
    thenar_recorder *recorder = output->recorder;
    output->recorder = NULL;
    keep_first(thenar_recorder_close(recorder, &told), &told, &first, error);
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
    thenar_recorder_close(output->recorder, NULL);
    if (output->csv_open) csv_close(&output->csv, NULL);
    run_summary_free(&output->summary);
    free(output->folder);
    free(output);
}
