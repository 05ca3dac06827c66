#include "app/run_summary.h"

#include "app/json_file.h"
#include "app/machine.h"
#include "app/run_body.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

bool run_summary_add(run_summary *summary, const thenar_stats *stats) {
    return ARRAY_PUSH(&summary->steps, *stats);
}

void run_summary_free(run_summary *summary) {
    free(summary->steps.data);
    *summary = (run_summary){0};
}

/* One number of each step, sorted; free() it. NULL when memory runs out or there is no step. */
typedef double (*step_value)(const thenar_stats *stats, int which);

static int compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double *sorted_values(const run_summary *summary, step_value value, int which) {
    size_t count = summary->steps.count;
    double *values = count ? MEMORY_ARRAY(double, count) : NULL;
    if (!values) return NULL;
    for (size_t i = 0; i < count; i++) values[i] = value(&summary->steps.data[i], which);
    qsort(values, count, sizeof *values, compare_doubles);
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

double run_summary_percentile(const run_summary *summary, double percent) {
    double *sorted = sorted_values(summary, step_us, 0);
    double value = percentile(sorted, summary->steps.count, percent);
    free(sorted);
    return value;
}

/* JSON has no infinity: a sum that overflowed while every node was still finite is null. */
static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *vector(const double value[3]) {
    return json_pack("[o, o, o]", number(value[0]), number(value[1]), number(value[2]));
}

static json_t *mean_and_max(const run_summary *summary, int which) {
    double *sorted = sorted_values(summary, figure, which);
    size_t count = summary->steps.count;
    json_t *result =
        json_pack("{s:o, s:o}", "mean", number(mean(sorted, count)), "max", number(percentile(sorted, count, 100)));
    free(sorted);
    return result;
}

static json_t *step_times(const run_summary *summary) {
    double *sorted = sorted_values(summary, step_us, 0);
    size_t count = summary->steps.count;
    json_t *result =
        json_pack("{s:f, s:f, s:f, s:f}", "mean", mean(sorted, count), "p50", percentile(sorted, count, 50), "p99",
                  percentile(sorted, count, 99), "max", percentile(sorted, count, 100));
    free(sorted);
    return result;
}

static json_t *stage_times(const run_summary *summary) {
    json_t *stages = json_object();
    for (int s = 0; s < THENAR_STAGE_COUNT; s++) {
        double *sorted = sorted_values(summary, stage_us, s);
        json_object_set_new(stages, thenar_stage_name((thenar_stage)s),
                            json_real(percentile(sorted, summary->steps.count, 50)));
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

/* How large the model is. */
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

thenar_status run_summary_write(const run_summary *summary, const run_facts *facts, const thenar_sim *sim,
                                const pace *clock, double wall, const char *path, thenar_error *error) {
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, thenar_sim_hash(sim));
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:f, s:I}", "scene", facts->scene, "thenar_version", thenar_version(),
                  "solver", thenar_sim_solver(sim), "contact", thenar_sim_contact_method(sim), "threads",
                  facts->threads, "dt", thenar_sim_dt(sim), "steps", (json_int_t)thenar_sim_step_count(sim));
    add_sizes(root, thenar_sim_model(sim));
    json_object_set_new(root, "wall_s", json_real(wall));
    json_object_set_new(root, "step_us", step_times(summary));
    json_object_set_new(root, "stage_us", stage_times(summary));
    json_object_set_new(root, "iterations", mean_and_max(summary, FIGURE_ITERATIONS));
    json_object_set_new(root, "active_constraints", mean_and_max(summary, FIGURE_ACTIVE));
    json_object_set_new(root, "contacts", mean_and_max(summary, FIGURE_CONTACTS));
    json_object_set_new(root, "residual", mean_and_max(summary, FIGURE_RESIDUAL));
    json_object_set_new(root, "warnings", warnings(sim));
    json_object_set_new(root, "state_hash", json_string(hash));
    json_object_set_new(root, "bodies", bodies(sim));
    if (thenar_model_handle_count(thenar_sim_model(sim)) > 0) {
        json_object_set_new(root, "coupling", json_string(thenar_sim_coupling(sim)));
        json_object_set_new(root, "handles", handles(sim));
    }
    if (facts->tactile) json_object_set_new(root, "tactile", run_tactile_summary(facts->tactile));
    if (clock) json_object_set_new(root, "real_time", run_pace_summary(clock));
    if (facts->haptic) json_object_set_new(root, "haptic", run_haptic_summary(facts->haptic));
    json_object_set_new(root, "machine", machine_describe());
    return json_file_write(root, path, error);
}
