/* The messages of a running simulation: head, state and frames. */
#include "app/run.h"
#include "app/view_live.h"

#include <stdlib.h>
#include <string.h>

static json_t *describe_bodies(const thenar_model *model) {
    json_t *bodies = json_array();
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        bool rigid = run_body_is_rigid(model, b);
        const thenar_tet_mesh *mesh = rigid ? NULL : thenar_model_mesh(model, b);
        const thenar_surface *surface = thenar_model_surface(model, b);
        json_array_append_new(
            bodies, json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i}", "name", thenar_model_body_name(model, b), "kind",
                              rigid ? "rigid" : "soft", "motion",
                              rigid ? thenar_motion_name((thenar_motion)thenar_model_motion(model, b)) : "soft",
                              "nodes", mesh ? mesh->node_count : 0, "tets", mesh ? mesh->tet_count : 0, "vertices",
                              surface->vertex_count, "triangles", surface->triangle_count));
    }
    return bodies;
}

static json_t *describe_numbers(const double *numbers, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(list, json_real(numbers[i]));
    return list;
}

static json_t *describe_hands(const thenar_model *model) {
    json_t *hands = json_array();
    for (int h = 0; h < thenar_model_hand_count(model); h++) {
        double lower[THENAR_HAND_ANGLES], upper[THENAR_HAND_ANGLES], angles[THENAR_HAND_ANGLES];
        double rest[7 * THENAR_HAND_JOINTS];
        int body, bodies = thenar_model_hand_bodies(model, h, &body);
        thenar_model_hand_limits(model, h, lower, upper);
        thenar_model_hand_rest(model, h, rest);
        json_t *poses = json_object();
        for (int p = 0; p < thenar_hand_pose_count(); p++)
            if (thenar_model_hand_pose(model, h, (thenar_hand_pose)p, angles) == THENAR_OK)
                json_object_set_new(poses, thenar_hand_pose_name((thenar_hand_pose)p),
                                    describe_numbers(angles, THENAR_HAND_ANGLES));
        json_array_append_new(hands, json_pack("{s:s, s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "name",
                                               thenar_model_hand_name(model, h), "side",
                                               thenar_model_hand_is_left(model, h) ? "left" : "right", "body", body,
                                               "bodies", bodies, "rest", describe_numbers(rest, 7 * THENAR_HAND_JOINTS),
                                               "lower", describe_numbers(lower, THENAR_HAND_ANGLES), "upper",
                                               describe_numbers(upper, THENAR_HAND_ANGLES), "poses", poses));
    }
    return hands;
}

static void append_name(void *names, const char *name) {
    json_array_append_new(names, json_string(name));
}

void live_write_head(view_live *live, const char *title) {
    const thenar_model *model = live->model;
    json_t *columns = json_array(), *solvers = json_array(), *methods = json_array();
    run_columns(model, false, append_name, columns);
    run_tactile_columns(live->tactile, append_name, columns);
    run_haptic_columns(live->haptic, append_name, columns);
    for (int i = 0; i < thenar_solver_count(); i++) append_name(solvers, thenar_solver_name((thenar_solver)i));
    for (int i = 0; i < thenar_contact_method_count(); i++)
        append_name(methods, thenar_contact_method_name((thenar_contact_method)i));
    json_t *head =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "protocol", VIEW_PROTOCOL,
                  "mode", "live", "scene", thenar_model_name(model), "title", title, "version", thenar_version(),
                  "solver", thenar_solver_name(thenar_sim_solver(live->sim)), "dt", live->dt, "bodies",
                  describe_bodies(model), "columns", columns, "solvers", solvers, "contacts", methods, "tunables",
                  tunables_describe(&live->tunables), "hands", describe_hands(model));
    if (head && live->tactile) {
        char *text = thenar_tactile_describe(run_tactile_devices(live->tactile));
        json_object_set_new(head, "tactile", text ? json_of_text(text) : NULL);
        thenar_text_free(text);
    }
    if (head && live->haptic) {
        json_t *names = json_array();
        for (int i = 0; i < run_haptic_device_count(live->haptic); i++)
            append_name(names, run_haptic_channel(live->haptic, i) + strlen("haptic/"));
        json_object_set_new(head, "haptic", names);
    }
    message_json(&live->head, SECTION_HEAD, head);
    for (int b = 0; b < live->body_count; b++) {
        bool rigid = run_body_is_rigid(model, b);
        message_mesh(&live->head, b, rigid ? NULL : thenar_model_mesh(model, b), thenar_model_surface(model, b),
                     rigid ? NULL : thenar_model_embedding(model, b), NULL);
    }
}

static void write_state(view_live *live) {
    json_t *warnings = json_object();
    for (int w = 0; w < THENAR_WARNING_COUNT; w++)
        json_object_set_new(warnings, thenar_warning_name((thenar_warning)w),
                            json_integer((json_int_t)thenar_sim_warning_count(live->sim, (thenar_warning)w)));
    message_clear(&live->state);
    message_json(&live->state, SECTION_STATE,
                 json_pack("{s:b, s:f, s:f, s:s, s:s, s:o, s:s, s:o}", "playing", live->playing, "speed", live->speed,
                           "dt", live->dt, "solver", thenar_solver_name(thenar_sim_solver(live->sim)), "contact",
                           thenar_contact_method_name(thenar_sim_contact_method(live->sim)), "values",
                           tunables_values(&live->tunables), "notice", live->notice, "warnings", warnings));
    for (int b = 0; b < live->body_count; b++) {
        if (run_body_is_rigid(live->model, b)) continue;
        size_t tets = (size_t)thenar_model_mesh(live->model, b)->tet_count;
        double *limits = NEW_ARRAY(double, 2 * tets);
        if (limits && thenar_model_stretch_limits(live->model, b, limits))
            message_floats(&live->state, SECTION_LIMITS, b, tets, limits, 2 * tets);
        else
            message_section(&live->state, SECTION_LIMITS, b, 0, 0);
        free(limits);
    }
}

static void write_hands(const view_live *live, view_message *out) {
    for (int h = 0; h < live->hand_count; h++) {
        double joints[7 * THENAR_HAND_JOINTS], target[7 + THENAR_HAND_ANGLES];
        thenar_sim_hand_joints(live->sim, h, joints);
        thenar_sim_hand_target(live->sim, h, target, target + 7);
        message_joints(out, h, joints);
        message_floats(out, SECTION_TARGET, h, 1, target, 7 + THENAR_HAND_ANGLES);
    }
}

static void write_handles(const view_live *live, view_message *out) {
    for (int i = 0; i < thenar_model_handle_count(live->model); i++) {
        thenar_handle_state state;
        double values[26];
        thenar_sim_handle(live->sim, i, &state);
        memcpy(values, state.pose, sizeof state.pose);
        memcpy(values + 7, state.target, sizeof state.target);
        memcpy(values + 14, state.force, sizeof state.force);
        memcpy(values + 20, state.coupling, sizeof state.coupling);
        message_floats(out, SECTION_HANDLE, i, 1, values, 26);
    }
}

static void write_tactile(view_live *live, view_message *out) {
    const thenar_tactile *tactile = run_tactile_devices(live->tactile);
    if (!tactile) return;
    for (int d = 0; d < thenar_tactile_device_count(tactile); d++) {
        double numbers[THENAR_TACTILE_NUMBERS];
        thenar_tactile_read_device(tactile, d, numbers);
        message_device(out, d, numbers);
    }
    for (int p = 0; p < thenar_tactile_pad_count(tactile); p++) {
        thenar_tactile_read_touching(tactile, p, live->touching);
        message_pad(out, p, live->touching, thenar_tactile_pad_of(tactile, p)->point_count);
    }
}

/* The haptic devices and the state of the loop. Faults are shown only while devices exert forces. */
static void write_haptic(view_live *live, view_message *out, int64_t now) {
    if (!live->haptic) return;
    for (int i = 0; i < run_haptic_device_count(live->haptic); i++)
        message_floats(out, SECTION_HAPTIC, i, 1, run_haptic_numbers(live->haptic, i), RUN_HAPTIC_NUMBERS);
    if (now - live->loop_ns >= LOOP_NS) {
        char fault[sizeof live->fault];
        bool pushes = live->playing && live->speed == 1;
        json_t *loop = run_haptic_updates(live->haptic, fault, sizeof fault);
        if (fault[0] && pushes) {
            memcpy(live->fault, fault, sizeof fault);
            live->fault_ns = now;
        }
        bool recent = live->fault[0] && now - live->fault_ns < FAULT_NS;
        json_object_set_new(loop, "fault", json_string(recent ? live->fault : ""));
        json_object_set_new(loop, "pushes", json_boolean(pushes));
        message_clear(&live->loop);
        message_json(&live->loop, SECTION_LOOP, loop);
        live->loop_ns = now;
    }
    message_append(out, live->loop.bytes.data, live->loop.bytes.count);
}

static void write_frame(view_live *live, int64_t now) {
    view_message *out = &live->frame;
    message_clear(out);
    message_frame(out, thenar_sim_time(live->sim), (double)thenar_sim_step_count(live->sim), -1,
                  1e-9 * (double)(now - live->origin));
    const thenar_pace *clock = &live->clock;
    const double kept[] = {clock->share,   clock->slow,      (double)clock->late_steps,   clock->dropped,
                           clock->due_max, clock->share_min, (double)clock->hurried_steps};
    message_doubles(out, SECTION_PACE, 1, kept, sizeof kept / sizeof *kept);
    for (int b = 0; b < live->body_count; b++)
        if (run_body_is_rigid(live->model, b)) {
            double pose[7];
            thenar_sim_pose(live->sim, b, pose);
            message_floats(out, SECTION_POSE, b, 1, pose, 7);
        } else {
            size_t nodes = (size_t)thenar_model_mesh(live->model, b)->node_count;
            message_floats(out, SECTION_POSITIONS, b, nodes, thenar_sim_positions(live->sim, b), 3 * nodes);
        }
    write_hands(live, out);
    write_handles(live, out);
    write_tactile(live, out);
    write_haptic(live, out, now);
    message_contacts(out, thenar_sim_contacts(live->sim), thenar_sim_contact_count(live->sim));
    if (!live->drag.active) return;
    double values[9];
    memcpy(values, live->drag.position, sizeof live->drag.position);
    memcpy(values + 3, live->drag.target, sizeof live->drag.target);
    memcpy(values + 6, live->drag.force, sizeof live->drag.force);
    message_floats(out, SECTION_DRAG, live->drag.body, 1, values, 9);
}

static void swap(view_message *a, view_message *b) {
    view_message kept = *a;
    *a = *b;
    *b = kept;
}

void live_publish(view_live *live, int64_t now) {
    if (live->state_changed) write_state(live);
    write_frame(live, now);
    if (pthread_mutex_trylock(&live->lock) != 0) return;
    swap(&live->frame, &live->shown_frame);
    live->frame_count++;
    if (live->state_changed) {
        swap(&live->state, &live->shown_state);
        live->state_count++;
    }
    size_t width = (size_t)live->column_count;
    for (int i = 0; i < live->new_row_count; i++)
        memcpy(live->rows + live->row_count++ % ROWS_KEPT * width, live->new_rows + (size_t)i * width,
               width * sizeof *live->rows);
    pthread_mutex_unlock(&live->lock);
    live->new_row_count = 0;
    live->state_changed = live->frame_due = false;
    live->last_frame = now;
    live->notify(live->notify_context);
}
