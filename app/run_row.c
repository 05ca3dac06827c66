#include "app/run_row.h"

#include "app/run_summary.h"

#include <stdio.h>
#include <string.h>

static const char *const fixed[] = {"step", "time", "active", "contacts", "rows", "iterations", "residual", "step_us"};
static const char *const of_body[] = {"force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z", "area"};
enum {
    FIXED = sizeof fixed / sizeof *fixed,
    OF_BODY = sizeof of_body / sizeof *of_body,
    FIRST_BODY = FIXED + THENAR_STAGE_COUNT
};

int run_column_count(const thenar_model *model) {
    return FIRST_BODY + OF_BODY * thenar_model_body_count(model);
}

void run_column_name(const thenar_model *model, int column, char name[RUN_COLUMN_NAME]) {
    if (column < FIXED)
        snprintf(name, RUN_COLUMN_NAME, "%s", fixed[column]);
    else if (column < FIRST_BODY)
        snprintf(name, RUN_COLUMN_NAME, "%s_us", thenar_stage_name((thenar_stage)(column - FIXED)));
    else
        snprintf(name, RUN_COLUMN_NAME, "%.280s_%s", thenar_model_body_name(model, (column - FIRST_BODY) / OF_BODY),
                 of_body[(column - FIRST_BODY) % OF_BODY]);
}

bool run_column_counts(int column) {
    return column == 0 || (column >= 2 && column <= 5);
}

void run_row(const thenar_sim *sim, double *values) {
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
    for (int b = 0; b < thenar_model_body_count(thenar_sim_model(sim)); b++) {
        run_body_figures figures = run_body_measure(sim, b);
        double *row = values + FIRST_BODY + OF_BODY * b;
        memcpy(row, figures.force, sizeof figures.force);
        memcpy(row + 3, figures.torque, sizeof figures.torque);
        row[6] = figures.contact_area;
    }
}
