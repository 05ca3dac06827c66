/* The files of `thenar run --out`: first the statistics and summary.json, then the other files. */
#include "app/run.h"
#include "app/support.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The statistics of all steps. */
typedef struct run_steps {
    LIST(thenar_stats) list;
} run_steps;

/* One number of each step in ascending order; free() it. NULL: out of memory, or no steps. */
typedef double (*step_value)(const thenar_stats *stats, int which);

static double *sorted_values(const run_steps *steps, step_value value, int which) {
    size_t count = steps->list.count;
    double *values = count ? NEW_ARRAY(double, count) : NULL;
    if (!values) return NULL;
    for (size_t i = 0; i < count; i++) values[i] = value(&steps->list.data[i], which);
    sort_numbers(values, count);
    return values;
}

static double percentile(const double *sorted, size_t count, double percent) {
    if (!sorted || count == 0) return 0;
    size_t rank = (size_t)(percent / 100 * (double)(count - 1) + 0.5);
    return sorted[rank];
}

static double mean(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; values && i < count; i++) sum += values[i];
    return count ? sum / (double)count : 0;
}

static double step_us(const thenar_stats *stats, int which) {
    (void)which;
    return 1e-3 * (double)stats->step_ns;
}
static double stage_us(const thenar_stats *stats, int stage) {
    return 1e-3 * (double)stats->stage_ns[stage];
}
enum { FIGURE_ITERATIONS, FIGURE_ACTIVE, FIGURE_CONTACTS, FIGURE_RESIDUAL };
static double figure(const thenar_stats *stats, int which) {
    switch (which) {
    case FIGURE_ITERATIONS:
        return stats->iterations;
    case FIGURE_ACTIVE:
        return stats->active_constraints;
    case FIGURE_CONTACTS:
        return stats->contacts;
    default:
        return stats->residual;
    }
}

static double step_percentile(const run_steps *steps, double percent) {
    double *sorted = sorted_values(steps, step_us, 0);
    double value = percentile(sorted, steps->list.count, percent);
    free(sorted);
    return value;
}

/* JSON has no infinity: a sum over a body that overflowed is null. */
static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *vector(const double value[3]) {
    return json_pack("[o, o, o]", number(value[0]), number(value[1]), number(value[2]));
}

static json_t *mean_and_max(const run_steps *steps, int which) {
    double *sorted = sorted_values(steps, figure, which);
    size_t count = steps->list.count;
    json_t *result =
        json_pack("{s:o, s:o}", "mean", number(mean(sorted, count)), "max", number(percentile(sorted, count, 100)));
    free(sorted);
    return result;
}

static json_t *step_times(const run_steps *steps) {
    double *sorted = sorted_values(steps, step_us, 0);
    size_t count = steps->list.count;
    json_t *result =
        json_pack("{s:f, s:f, s:f, s:f}", "mean", mean(sorted, count), "p50", percentile(sorted, count, 50), "p99",
                  percentile(sorted, count, 99), "max", percentile(sorted, count, 100));
    free(sorted);
    return result;
}

static json_t *stage_times(const run_steps *steps) {
    json_t *stages = json_object();
    for (int s = 0; s < THENAR_STAGE_COUNT; s++) {
        double *sorted = sorted_values(steps, stage_us, s);
        json_object_set_new(stages, thenar_stage_name((thenar_stage)s),
                            json_real(percentile(sorted, steps->list.count, 50)));
        free(sorted);
    }
    return stages;
}

static json_t *warnings(const thenar_sim *sim) {
    json_t *counts = json_object();
    for (int w = 0; w < THENAR_WARNING_COUNT; w++)
        json_object_set_new(counts, thenar_warning_name((thenar_warning)w),
                            json_integer((json_int_t)thenar_sim_warning_count(sim, (thenar_warning)w)));
    return counts;
}

/* Energy at the end, and the sums of its balance, J. */
static json_t *energy(const thenar_sim *sim) {
    const thenar_energy *e = thenar_sim_energy_sum(sim);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kinetic", number(e->kinetic),
                     "elastic", number(e->elastic), "gravity", number(e->gravity), "springs", number(e->springs),
                     "supports", number(e->supports), "driven", number(e->driven), "targets", number(e->targets),
                     "applied", number(e->applied), "contacts", number(e->contacts), "dissipated",
                     number(e->dissipated), "excess", number(e->excess), "turning", number(e->turning));
}

void run_print_warnings(const thenar_sim *sim) {
    for (int w = 0; w < THENAR_WARNING_COUNT; w++)
        if (thenar_sim_warning_count(sim, (thenar_warning)w))
            printf("warning: %s in %" PRIu64 " steps\n", thenar_warning_name((thenar_warning)w),
                   thenar_sim_warning_count(sim, (thenar_warning)w));
}

static json_t *bodies(const thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    json_t *all = json_object();
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        run_body_figures f = run_body_measure(sim, b);
        double kinetic, elastic;
        thenar_sim_energy(sim, b, &kinetic, &elastic, NULL);
        json_t *reported =
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
                      run_body_is_rigid(model, b) ? "rigid" : "soft", "centroid", vector(f.centroid), "force",
                      vector(f.force), "torque", vector(f.torque), "contact_area", number(f.contact_area), "contacts",
                      f.contacts, "normal_force", number(f.normal_force), "friction_ratio", number(f.friction_ratio),
                      "pressure", number(f.pressure), "largest_pressure", number(f.largest_pressure), "kinetic_energy",
                      number(kinetic), "elastic_energy", number(elastic));
        if (!run_body_is_rigid(model, b)) {
            json_object_set_new(reported, "support_force", vector(f.support_force));
            json_object_set_new(reported, "support_torque", vector(f.support_torque));
        }
        json_object_set_new(all, thenar_model_body_name(model, b), reported);
    }
    return all;
}

static json_t *handles(const thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    json_t *all = json_object();
    for (int i = 0; i < thenar_model_handle_count(model); i++) {
        thenar_handle_state h;
        thenar_sim_handle(sim, i, &h);
        json_t *reported = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o}", "tool",
                                     thenar_model_body_name(model, thenar_model_handle_body(model, i)), "nodes",
                                     thenar_model_handle_node_count(model, i), "contacts", h.contacts, "position",
                                     vector(h.pose), "force", vector(h.force), "torque", vector(h.force + 3),
                                     "coupling_force", vector(h.coupling), "coupling_torque", vector(h.coupling + 3));
        if (h.linearized) {
            json_t *stiffness = json_array(), *inertia = json_array();
            for (int k = 0; k < 36; k += 7) {
                json_array_append_new(stiffness, number(h.stiffness[k]));
                json_array_append_new(inertia, number(h.inertia[k]));
            }
            json_object_set_new(reported, "stiffness", stiffness);
            json_object_set_new(reported, "inertia", inertia);
        }
        json_object_set_new(all, thenar_model_handle_name(model, i), reported);
    }
    return all;
}

/* The size of the model. */
static void add_sizes(json_t *root, const thenar_model *model) {
    int nodes = 0, tets = 0;
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        if (run_body_is_rigid(model, b)) continue;
        nodes += thenar_model_mesh(model, b)->node_count;
        tets += thenar_model_mesh(model, b)->tet_count;
    }
    json_object_set_new(root, "soft_nodes", json_integer(nodes));
    json_object_set_new(root, "tets", json_integer(tets));
    json_object_set_new(root, "dofs", json_integer(thenar_model_dof_count(model)));
}

static thenar_status write_summary_file(const run_steps *steps, const run_facts *facts, const thenar_sim *sim,
                                        const thenar_pace *clock, double wall, const char *path, thenar_error *error) {
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, thenar_sim_hash(sim));
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:I}", "scene", facts->scene, "thenar_version",
                             thenar_version(), "solver", thenar_solver_name(thenar_sim_solver(sim)), "contact",
                             thenar_contact_method_name(thenar_sim_contact_method(sim)), "threads", facts->threads,
                             "dt", thenar_sim_dt(sim), "steps", (json_int_t)thenar_sim_step_count(sim));
    add_sizes(root, thenar_sim_model(sim));
    json_object_set_new(root, "wall_s", json_real(wall));
    json_object_set_new(root, "step_us", step_times(steps));
    json_object_set_new(root, "stage_us", stage_times(steps));
    json_object_set_new(root, "iterations", mean_and_max(steps, FIGURE_ITERATIONS));
    json_object_set_new(root, "active_constraints", mean_and_max(steps, FIGURE_ACTIVE));
    json_object_set_new(root, "contacts", mean_and_max(steps, FIGURE_CONTACTS));
    json_object_set_new(root, "residual", mean_and_max(steps, FIGURE_RESIDUAL));
    json_object_set_new(root, "warnings", warnings(sim));
    json_object_set_new(root, "energy", energy(sim));
    json_object_set_new(root, "state_hash", json_string(hash));
    json_object_set_new(root, "bodies", bodies(sim));
    if (thenar_model_handle_count(thenar_sim_model(sim)) > 0) {
        json_object_set_new(root, "coupling", json_string(thenar_coupling_name(thenar_sim_coupling(sim))));
        json_object_set_new(root, "handles", handles(sim));
    }
    if (facts->tactile) json_object_set_new(root, "tactile", run_tactile_summary(facts->tactile));
    if (clock) json_object_set_new(root, "real_time", run_pace_summary(clock));
    if (facts->haptic) json_object_set_new(root, "haptic", run_haptic_summary(facts->haptic));
    json_object_set_new(root, "machine", machine_describe());
    return json_file_write(root, path, error);
}

thenar_status run_record_open(const char *path, const thenar_sim *sim, const run_tactile *tactile,
                              const run_haptic *haptic, thenar_recorder **out, thenar_error *error) {
    thenar_recorder_channel devices[THENAR_HAPTIC_HANDLES];
    int device_count = run_haptic_device_count(haptic);
    for (int i = 0; i < device_count; i++)
        devices[i] = (thenar_recorder_channel){run_haptic_channel(haptic, i), "", RUN_HAPTIC_NUMBERS,
                                               run_haptic_numbers(haptic, i)};
    thenar_recorder_options options = thenar_recorder_options_default();
    options.tactile = run_tactile_devices(tactile);
    options.channels = devices;
    options.channel_count = device_count;
    thenar_status status = thenar_recorder_create(path, sim, &options, out, error);
    return status == THENAR_OK ? thenar_recorder_add(*out, error) : status;
}

struct run_output {
    run_facts facts;
    char *folder; /* NULL: nothing is written */
    thenar_csv *csv;
    double *row; /* of steps.csv */
    thenar_recorder *recorder;
    run_steps steps;
};

static thenar_status path_in(const run_output *output, const char *name, char path[], size_t size,
                             thenar_error *error) {
    int length = snprintf(path, size, "%s/%s", output->folder, name);
    if (length < 0 || (size_t)length >= size) return fail(error, THENAR_ERROR_FILE, "the path of --out is too long");
    return THENAR_OK;
}

static void write_name(void *csv, const char *name) {
    thenar_csv_text(csv, name);
}

/* A sum over a body that overflowed is an empty field. */
static void write_csv_row(run_output *output, const thenar_sim *sim) {
    run_row(sim, true, output->row);
    for (int i = 0, count = run_column_count(thenar_sim_model(sim), true); i < count; i++)
        if (run_column_counts(i))
            thenar_csv_integer(output->csv, (long long)output->row[i]);
        else if (isfinite(output->row[i]))
            thenar_csv_number(output->csv, output->row[i]);
        else
            thenar_csv_empty(output->csv);
    const run_tactile *tactile = output->facts.tactile;
    double *values = output->row + run_column_count(thenar_sim_model(sim), true);
    run_tactile_row(tactile, values);
    for (int i = 0; i < run_tactile_column_count(tactile); i++) thenar_csv_number(output->csv, values[i]);
    run_haptic_row(output->facts.haptic, values);
    for (int i = 0; i < run_haptic_column_count(output->facts.haptic); i++) thenar_csv_number(output->csv, values[i]);
    thenar_csv_end_row(output->csv);
}

/* Removes the file of an earlier run that this run writes only at its end; if it does not get there, the old file must
 * not be mistaken for its own. Links and devices are left alone. */
static thenar_status remove_old(const run_output *output, const char *name, thenar_error *error) {
    char path[4096];
    struct stat info;
    thenar_status status = path_in(output, name, path, sizeof path, error);
    if (status != THENAR_OK || lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) return status;
    return unlink(path) == 0 ? THENAR_OK : fail_errno(error, path, "replace");
}

static thenar_status open_files(run_output *output, const thenar_sim *sim, thenar_error *error) {
    char path[4096];
    thenar_status status = make_directory(output->folder, error);
    if (status == THENAR_OK) status = remove_old(output, "summary.json", error);
    if (status == THENAR_OK) status = remove_old(output, "final.vtk", error);
    if (status == THENAR_OK) status = path_in(output, "steps.csv", path, sizeof path, error);
    if (status == THENAR_OK) status = thenar_csv_open(path, &output->csv, error);
    if (status != THENAR_OK) return status;
    run_columns(thenar_sim_model(sim), true, write_name, output->csv);
    run_tactile_columns(output->facts.tactile, write_name, output->csv);
    run_haptic_columns(output->facts.haptic, write_name, output->csv);
    thenar_csv_end_row(output->csv);
    status = path_in(output, "recording.thenar", path, sizeof path, error);
    if (status != THENAR_OK) return status;
    return run_record_open(path, sim, output->facts.tactile, output->facts.haptic, &output->recorder, error);
}

thenar_status run_output_open(const char *folder, const run_facts *facts, const thenar_sim *sim, run_output **out,
                              thenar_error *error) {
    *out = NULL;
    run_output *output = NEW_ARRAY(run_output, 1);
    if (!output) return fail_memory(error, "output");
    output->facts = *facts;
    output->folder = folder ? strdup(folder) : NULL;
    int more = run_tactile_column_count(facts->tactile) + run_haptic_column_count(facts->haptic);
    output->row = NEW_ARRAY(double, run_column_count(thenar_sim_model(sim), true) + more);
    thenar_status status = (folder && !output->folder) || !output->row ? fail_memory(error, "output") : THENAR_OK;
    if (status == THENAR_OK && folder) status = open_files(output, sim, error);
    if (status == THENAR_OK)
        *out = output;
    else
        run_output_free(output);
    return status;
}

thenar_status run_output_step(run_output *output, const thenar_sim *sim, thenar_error *error) {
    if (!LIST_PUSH(&output->steps.list, *thenar_sim_stats(sim))) return fail_memory(error, "statistics");
    if (!output->folder) return THENAR_OK;
    write_csv_row(output, sim);
    return thenar_recorder_add(output->recorder, error);
}

static thenar_status write_final_vtk(const run_output *output, const thenar_sim *sim, thenar_error *error) {
    char path[4096];
    thenar_status status = path_in(output, "final.vtk", path, sizeof path, error);
    return status == THENAR_OK ? thenar_sim_write_vtk(sim, path, error) : status;
}

static thenar_status write_summary(const run_output *output, const thenar_sim *sim, const thenar_pace *clock,
                                   double wall, thenar_error *error) {
    char path[4096];
    thenar_status status = path_in(output, "summary.json", path, sizeof path, error);
    return status == THENAR_OK ? write_summary_file(&output->steps, &output->facts, sim, clock, wall, path, error)
                               : status;
}

/* Keeps the first error of several. */
static void keep_first(thenar_status status, const thenar_error *reported, thenar_status *first, thenar_error *error) {
    if (status == THENAR_OK || *first != THENAR_OK) return;
    *first = status;
    if (error) *error = *reported;
}

/* Finishes every file even if another one failed. */
thenar_status run_output_finish(run_output *output, const thenar_sim *sim, const thenar_pace *clock, double wall,
                                thenar_error *error) {
    if (!output->folder) return THENAR_OK;
    thenar_status first = THENAR_OK;
    thenar_error reported;
    thenar_recorder *recorder = output->recorder;
    output->recorder = NULL;
    keep_first(thenar_recorder_close(recorder, &reported), &reported, &first, error);
    keep_first(thenar_csv_close(output->csv, &reported), &reported, &first, error);
    output->csv = NULL;
    keep_first(write_final_vtk(output, sim, &reported), &reported, &first, error);
    keep_first(write_summary(output, sim, clock, wall, &reported), &reported, &first, error);
    return first;
}

void run_output_rates(run_output *output, double *median, double *longest) {
    *median = step_percentile(&output->steps, 50);
    *longest = step_percentile(&output->steps, 100);
}

void run_output_free(run_output *output) {
    if (!output) return;
    thenar_recorder_close(output->recorder, NULL);
    thenar_csv_close(output->csv, NULL);
    free(output->steps.list.data);
    free(output->folder);
    free(output->row);
    free(output);
}
