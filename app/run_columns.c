#include "app/run.h"

#include "thenar/hand.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool run_body_is_rigid(const thenar_model *model, int body) {
    return thenar_model_body_kind(model, body) == THENAR_BODY_RIGID;
}

static void centroid(const thenar_sim *sim, int body, double out[3]) {
    const thenar_model *model = thenar_sim_model(sim);
    if (run_body_is_rigid(model, body)) {
        double pose[7];
        thenar_sim_pose(sim, body, pose);
        memcpy(out, pose, 3 * sizeof *out);
        return;
    }
    const double *x = thenar_sim_positions(sim, body), *mass = thenar_model_masses(model, body);
    double sum[3] = {0}, total = 0;
    for (int i = 0; i < thenar_model_mesh(model, body)->node_count; i++) {
        total += mass[i];
        for (int k = 0; k < 3; k++) sum[k] += x[3 * i + k] * mass[i];
    }
    for (int k = 0; k < 3; k++) out[k] = sum[k] * (1 / total);
}

/* Moves the reference point of a torque from the origin: T - p x F. */
static void move_torque(double torque[3], const double force[3], const double point[3]) {
    for (int k = 0; k < 3; k++) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        torque[k] -= point[i] * force[j] - point[j] * force[i];
    }
}

static void add_supports(const thenar_sim *sim, int body, run_body_figures *figures) {
    for (int s = 0; s < thenar_model_support_count(thenar_sim_model(sim), body); s++) {
        double force[3], torque[3];
        thenar_sim_support_wrench(sim, body, s, force, torque);
        for (int k = 0; k < 3; k++) {
            figures->support_force[k] += force[k];
            figures->support_torque[k] += torque[k];
        }
    }
}

static double length(const double v[3]) {
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void add_contacts(const thenar_sim *sim, int body, run_body_figures *figures) {
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    double friction = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *point = &contacts[i];
        if ((point->body[0] != body && point->body[1] != body) || !(point->force > 0)) continue;
        figures->contacts++;
        figures->normal_force += point->force;
        friction += length(point->friction);
        if (point->area > 0) figures->largest_pressure = fmax(figures->largest_pressure, point->force / point->area);
    }
    if (figures->normal_force > 0) figures->friction_ratio = friction / figures->normal_force;
    if (figures->contact_area > 0) figures->pressure = figures->normal_force / figures->contact_area;
}

run_body_figures run_body_measure(const thenar_sim *sim, int body) {
    run_body_figures figures = {0};
    centroid(sim, body, figures.centroid);
    thenar_sim_contact_wrench(sim, body, figures.force, figures.torque, &figures.contact_area);
    move_torque(figures.torque, figures.force, figures.centroid);
    add_contacts(sim, body, &figures);
    if (run_body_is_rigid(thenar_sim_model(sim), body)) return figures;
    add_supports(sim, body, &figures);
    move_torque(figures.support_torque, figures.support_force, figures.centroid);
    return figures;
}

static double tool_area(const thenar_sim *sim, int handle) {
    const thenar_model *model = thenar_sim_model(sim);
    int hand, first = thenar_model_handle_body(model, handle), count = 1;
    thenar_model_handle_bone(model, handle, &hand, NULL);
    if (hand >= 0) count = thenar_model_hand_bodies(model, hand, &first);
    double sum = 0;
    for (int b = first; b < first + count; b++) {
        double force[3], torque[3], area;
        thenar_sim_contact_wrench(sim, b, force, torque, &area);
        sum += area;
    }
    return sum;
}

static void handle_row(const thenar_sim *sim, int handle, double *row) {
    thenar_handle_state state;
    thenar_sim_handle(sim, handle, &state);
    memcpy(row, state.pose, 3 * sizeof *row);
    memcpy(row + 3, state.force, sizeof state.force);
    memcpy(row + 9, state.coupling, sizeof state.coupling);
    row[15] = tool_area(sim, handle);
}

static const char *const fixed[] = {"step", "time", "active", "contacts", "rows", "iterations", "residual", "step_us"};
/* Of all bodies, J: at the end of the step; in the step. */
static const char *const of_energy[] = {"kinetic", "elastic",  "gravity",    "springs",
                                        "work",    "contacts", "dissipated", "excess"};
/* Position, wrench of contact, wrench of the supports (soft bodies only). */
static const char *const of_body[] = {
    "centre_x",        "centre_y",        "centre_z",        "force_x",          "force_y",
    "force_z",         "torque_x",        "torque_y",        "torque_z",         "area",
    "support_force_x", "support_force_y", "support_force_z", "support_torque_x", "support_torque_y",
    "support_torque_z"};
/* Position, wrench of the tool, wrench of the coupling, contact area of the tool (m^2). */
static const char *const of_handle[] = {"x",
                                        "y",
                                        "z",
                                        "force_x",
                                        "force_y",
                                        "force_z",
                                        "torque_x",
                                        "torque_y",
                                        "torque_z",
                                        "coupling_force_x",
                                        "coupling_force_y",
                                        "coupling_force_z",
                                        "coupling_torque_x",
                                        "coupling_torque_y",
                                        "coupling_torque_z",
                                        "area"};
/* Sums over the contacts of two bodies. */
static const char *const of_pair[] = {"force_x",  "force_y", "force_z",  "torque_x",     "torque_y",
                                      "torque_z", "area",    "pressure", "normal_force", "points"};
enum {
    FIXED = sizeof fixed / sizeof *fixed,
    OF_ENERGY = sizeof of_energy / sizeof *of_energy,
    OF_SOFT = sizeof of_body / sizeof *of_body,
    OF_RIGID = 10,
    OF_HANDLE = sizeof of_handle / sizeof *of_handle,
    OF_PAIR = sizeof of_pair / sizeof *of_pair,
    FIRST_ENERGY = FIXED + THENAR_STAGE_COUNT,
    FIRST_BODY = FIRST_ENERGY + OF_ENERGY
};

static int body_columns(const thenar_model *model, int body) {
    return run_body_is_rigid(model, body) ? OF_RIGID : OF_SOFT;
}

int run_column_count(const thenar_model *model, bool pairs) {
    int count = FIRST_BODY;
    for (int b = 0; b < thenar_model_body_count(model); b++) count += body_columns(model, b);
    count += OF_HANDLE * thenar_model_handle_count(model);
    return count + (pairs ? OF_PAIR * thenar_model_contact_pair_count(model) : 0);
}

/* Visits PREFIX_NAME for each name. */
static void name_columns(const char *prefix, const char *const *columns, int count, run_column_visit *visit,
                         void *context) {
    for (int i = 0; i < count; i++) {
        char name[RUN_COLUMN_NAME];
        snprintf(name, sizeof name, "%.270s_%s", prefix, columns[i]);
        visit(context, name);
    }
}

void run_columns(const thenar_model *model, bool pairs, run_column_visit *visit, void *context) {
    for (int i = 0; i < FIXED; i++) visit(context, fixed[i]);
    for (int s = 0; s < THENAR_STAGE_COUNT; s++) {
        static const char *const of_stage[] = {"us"};
        name_columns(thenar_stage_name((thenar_stage)s), of_stage, 1, visit, context);
    }
    name_columns("energy", of_energy, OF_ENERGY, visit, context);
    for (int b = 0; b < thenar_model_body_count(model); b++)
        name_columns(thenar_model_body_name(model, b), of_body, body_columns(model, b), visit, context);
    for (int i = 0; i < thenar_model_handle_count(model); i++) {
        char name[RUN_COLUMN_NAME];
        snprintf(name, sizeof name, "handle.%.250s", thenar_model_handle_name(model, i));
        name_columns(name, of_handle, OF_HANDLE, visit, context);
    }
    for (int i = 0; pairs && i < thenar_model_contact_pair_count(model); i++) {
        int body[2];
        char name[RUN_COLUMN_NAME];
        thenar_model_contact_pair(model, i, body);
        snprintf(name, sizeof name, "%.130s/%.130s", thenar_model_body_name(model, body[0]),
                 thenar_model_body_name(model, body[1]));
        name_columns(name, of_pair, OF_PAIR, visit, context);
    }
}

bool run_column_counts(int column) {
    return column == 0 || (column >= 2 && column <= 5);
}

/* The touching pairs are a subset of the possible ones, in the same order. */
static void pair_figures(const thenar_sim *sim, double *row) {
    const thenar_model *model = thenar_sim_model(sim);
    const thenar_contact_pair none = {0}, *touching = thenar_sim_contact_pairs(sim);
    int left = thenar_sim_contact_pair_count(sim);
    for (int i = 0; i < thenar_model_contact_pair_count(model); i++, row += OF_PAIR) {
        int body[2];
        thenar_model_contact_pair(model, i, body);
        bool touches = left > 0 && touching->body[0] == body[0] && touching->body[1] == body[1];
        const thenar_contact_pair *pair = touches ? touching : &none;
        memcpy(row, pair->force, sizeof pair->force);
        memcpy(row + 3, pair->torque, sizeof pair->torque);
        row[6] = pair->area;
        row[7] = pair->pressure;
        row[8] = pair->normal_force;
        row[9] = pair->touching;
        touching += touches, left -= touches;
    }
}

void run_row(const thenar_sim *sim, bool pairs, double *values) {
    const thenar_stats *stats = thenar_sim_stats(sim);
    const double first[FIXED] = {(double)thenar_sim_step_count(sim),
                                 thenar_sim_time(sim),
                                 stats->active_constraints,
                                 stats->contacts,
                                 stats->rows,
                                 stats->iterations,
                                 stats->residual,
                                 1e-3 * (double)stats->step_ns};
    memcpy(values, first, sizeof first);
    for (int s = 0; s < THENAR_STAGE_COUNT; s++) values[FIXED + s] = 1e-3 * (double)stats->stage_ns[s];
    const thenar_energy *e = &stats->energy;
    const double energy[OF_ENERGY] = {
        e->kinetic,  e->elastic,    e->gravity, e->springs, e->supports + e->driven + e->targets + e->applied,
        e->contacts, e->dissipated, e->excess};
    memcpy(values + FIRST_ENERGY, energy, sizeof energy);
    const thenar_model *model = thenar_sim_model(sim);
    double *row = values + FIRST_BODY;
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        run_body_figures figures = run_body_measure(sim, b);
        memcpy(row, figures.centroid, sizeof figures.centroid);
        memcpy(row + 3, figures.force, sizeof figures.force);
        memcpy(row + 6, figures.torque, sizeof figures.torque);
        row[9] = figures.contact_area;
        if (!run_body_is_rigid(model, b)) {
            memcpy(row + OF_RIGID, figures.support_force, sizeof figures.support_force);
            memcpy(row + OF_RIGID + 3, figures.support_torque, sizeof figures.support_torque);
        }
        row += body_columns(model, b);
    }
    for (int i = 0; i < thenar_model_handle_count(model); i++, row += OF_HANDLE) handle_row(sim, i, row);
    if (pairs) pair_figures(sim, row);
}
