#include "app/run_handle.h"

#include "thenar/hand.h"

#include <string.h>

const char *const run_handle_columns[RUN_HANDLE_COLUMNS] = {"x",
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

void run_handle_row(const thenar_sim *sim, int handle, double row[RUN_HANDLE_COLUMNS]) {
    thenar_handle_state state;
    thenar_sim_handle(sim, handle, &state);
    memcpy(row, state.pose, 3 * sizeof *row);
    memcpy(row + 3, state.force, sizeof state.force);
    memcpy(row + 9, state.coupling, sizeof state.coupling);
    row[15] = tool_area(sim, handle);
}
