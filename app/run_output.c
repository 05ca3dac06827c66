#include "app/run_output.h"

#include "app/run_record.h"
#include "app/run_row.h"
#include "app/run_summary.h"
#include "core/file.h"
#include "core/memory.h"
#include "io/export.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct run_output {
    run_facts facts;
    char *folder; /* NULL: nothing is written */
    csv_writer csv;
    bool csv_open;
    double *row; /* of the csv */
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

static void write_name(void *csv, const char *name) {
    csv_text(csv, name);
}

/* A sum over a body may overflow where every node is still finite: such a field stays empty. */
static void write_csv_row(run_output *output, const thenar_sim *sim) {
    run_row(sim, true, output->row);
    for (int i = 0, count = run_column_count(thenar_sim_model(sim), true); i < count; i++)
        if (run_column_counts(i))
            csv_integer(&output->csv, (long long)output->row[i]);
        else if (isfinite(output->row[i]))
            csv_number(&output->csv, output->row[i]);
        else
            csv_empty(&output->csv);
    const run_tactile *tactile = output->facts.tactile;
    double *values = output->row + run_column_count(thenar_sim_model(sim), true);
    run_tactile_row(tactile, values);
    for (int i = 0; i < run_tactile_column_count(tactile); i++) csv_number(&output->csv, values[i]);
    run_haptic_row(output->facts.haptic, values);
    for (int i = 0; i < run_haptic_column_count(output->facts.haptic); i++) csv_number(&output->csv, values[i]);
    csv_end_row(&output->csv);
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
    run_columns(thenar_sim_model(sim), true, write_name, &output->csv);
    run_tactile_columns(output->facts.tactile, write_name, &output->csv);
    run_haptic_columns(output->facts.haptic, write_name, &output->csv);
    csv_end_row(&output->csv);
    status = path_in(output, "recording.thenar", path, sizeof path, error);
    if (status != THENAR_OK) return status;
    return run_record_open(path, sim, output->facts.tactile, output->facts.haptic, &output->recorder, error);
}

thenar_status run_output_open(const char *folder, const run_facts *facts, const thenar_sim *sim, run_output **out,
                              thenar_error *error) {
    *out = NULL;
    run_output *output = MEMORY_ARRAY(run_output, 1);
    if (!output) return error_memory(error, "output");
    output->facts = *facts;
    output->folder = memory_string(folder);
    int more = run_tactile_column_count(facts->tactile) + run_haptic_column_count(facts->haptic);
    output->row = MEMORY_ARRAY(double, run_column_count(thenar_sim_model(sim), true) + more);
    thenar_status status = (folder && !output->folder) || !output->row ? error_memory(error, "output") : THENAR_OK;
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
    write_csv_row(output, sim);
    return thenar_recorder_add(output->recorder, error);
}

static thenar_status write_final_vtk(const run_output *output, const thenar_sim *sim, thenar_error *error) {
    char path[4096];
    thenar_status status = path_in(output, "final.vtk", path, sizeof path, error);
    return status == THENAR_OK ? thenar_sim_write_vtk(sim, path, error) : status;
}

static thenar_status write_summary(const run_output *output, const thenar_sim *sim, const pace *clock, double wall,
                                   thenar_error *error) {
    char path[4096];
    thenar_status status = path_in(output, "summary.json", path, sizeof path, error);
    return status == THENAR_OK ? run_summary_write(&output->summary, &output->facts, sim, clock, wall, path, error)
                               : status;
}

/* Keeps the first error of several. */
static void keep_first(thenar_status status, const thenar_error *reported, thenar_status *first, thenar_error *error) {
    if (status == THENAR_OK || *first != THENAR_OK) return;
    *first = status;
    if (error) *error = *reported;
}

/* Each file is finished even if another could not be. */
thenar_status run_output_finish(run_output *output, const thenar_sim *sim, const pace *clock, double wall,
                                thenar_error *error) {
    if (!output->folder) return THENAR_OK;
    thenar_status first = THENAR_OK;
    thenar_error reported;
    thenar_recorder *recorder = output->recorder;
    output->recorder = NULL;
    keep_first(thenar_recorder_close(recorder, &reported), &reported, &first, error);
    output->csv_open = false;
    keep_first(csv_close(&output->csv, &reported), &reported, &first, error);
    keep_first(write_final_vtk(output, sim, &reported), &reported, &first, error);
    keep_first(write_summary(output, sim, clock, wall, &reported), &reported, &first, error);
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
    free(output->row);
    free(output);
}
