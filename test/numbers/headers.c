/* The tables of functions and of fields, compared with the headers: what is new there and has no row fails. */
#include "test.h"

#include "numbers/areas.h"
#include "numbers/attack.h"

#include <ctype.h>

/* Public functions that take no numbers. */
static const char *const without_numbers[] = {
    /* status.h */
    "thenar_status_name", "thenar_last_error", "thenar_set_last_error", "thenar_version", "thenar_version_number",
    "thenar_version_check", "thenar_set_assert_handler",
    /* mesh.h */
    "thenar_tet_mesh_free", "thenar_surface_free", "thenar_embedding_free", "thenar_lattice_count",
    "thenar_lattice_name", "thenar_lattice_find", "thenar_mesh_options_init", "thenar_smooth_embedding_free",
    /* model.h */
    "thenar_material_default", "thenar_material_preset_count", "thenar_material_preset_name",
    "thenar_material_preset_find", "thenar_material_of", "thenar_soft_def_init", "thenar_shape_kind_count",
    "thenar_shape_kind_name", "thenar_shape_kind_find", "thenar_motion_count", "thenar_motion_name",
    "thenar_motion_find", "thenar_rigid_def_init", "thenar_contact_method_count", "thenar_contact_method_name",
    "thenar_bones_count", "thenar_bones_find", "thenar_bones_name", "thenar_contact_method_find",
    "thenar_contact_pressure_count", "thenar_contact_pressure_name", "thenar_contact_pressure_find",
    "thenar_world_def_init", "thenar_build_compile", "thenar_build_free", "thenar_model_free", "thenar_model_bones",
    "thenar_model_name", "thenar_model_dt", "thenar_model_dof_count", "thenar_model_body_count",
    "thenar_model_find_body", "thenar_model_body_name", "thenar_body_kind_count", "thenar_body_kind_name",
    "thenar_body_kind_find", "thenar_model_body_kind", "thenar_model_node_count", "thenar_model_first_node",
    "thenar_model_vertex_count", "thenar_model_first_vertex", "thenar_model_rigid_count", "thenar_model_mass",
    "thenar_model_inertia", "thenar_model_motion", "thenar_model_support_count", "thenar_model_support_name",
    "thenar_model_find_support", "thenar_model_mesh", "thenar_model_surface", "thenar_model_embedding",
    "thenar_model_stretch_limits", "thenar_model_masses", "thenar_model_contact_pair_count",
    "thenar_model_contact_pair", "thenar_model_warning_count", "thenar_model_warning",
    /* sim.h */
    "thenar_solver_count", "thenar_solver_name", "thenar_solver_find", "thenar_solver_summary",
    "thenar_solver_short_iterations", "thenar_friction_count", "thenar_friction_name", "thenar_friction_find",
    "thenar_coupling_count", "thenar_coupling_name", "thenar_coupling_find", "thenar_sim_options_init",
    "thenar_stage_count", "thenar_stage_name", "thenar_stage_find", "thenar_warning_count", "thenar_warning_name",
    "thenar_warning_find", "thenar_sim_free", "thenar_sim_reset", "thenar_sim_step", "thenar_sim_model",
    "thenar_sim_time", "thenar_sim_solver", "thenar_sim_contact_method", "thenar_sim_friction", "thenar_sim_coupling",
    "thenar_sim_dt", "thenar_sim_step_count", "thenar_sim_positions", "thenar_sim_velocities", "thenar_sim_forces",
    "thenar_sim_support_wrench", "thenar_sim_limit_iterations", "thenar_sim_pose", "thenar_sim_twist",
    "thenar_sim_wrench", "thenar_sim_surface", "thenar_sim_stretches", "thenar_sim_energy", "thenar_sim_contacts",
    "thenar_sim_contact_count", "thenar_sim_contact_pairs", "thenar_sim_contact_pair_count",
    "thenar_sim_contact_wrench", "thenar_sim_read_positions", "thenar_sim_read_velocities", "thenar_sim_read_forces",
    "thenar_sim_read_surface", "thenar_sim_read_poses", "thenar_sim_read_twists", "thenar_sim_read_contact_wrenches",
    "thenar_sim_stats", "thenar_sim_energy_sum", "thenar_sim_warning_count", "thenar_sim_hash",
    "thenar_sim_snapshot_size", "thenar_sim_snapshot", "thenar_sim_continue",
    /* hand.h */
    "thenar_finger_count", "thenar_finger_name", "thenar_finger_find", "thenar_hand_joint_count",
    "thenar_hand_joint_name", "thenar_hand_joint_find", "thenar_hand_bone_name", "thenar_hand_joint_bone",
    "thenar_hand_pose_count", "thenar_hand_pose_name", "thenar_hand_pose_find", "thenar_hand_shape_free",
    "thenar_track_free", "thenar_track_measure", "thenar_track_has_hand", "thenar_track_duration",
    "thenar_hand_def_init", "thenar_hand_def_set_detail", "thenar_build_set_track", "thenar_model_hand_count",
    "thenar_model_find_hand", "thenar_model_hand_name", "thenar_model_hand_is_left", "thenar_model_hand_bodies",
    "thenar_model_hand_of_body", "thenar_model_hand_limits", "thenar_model_hand_pose", "thenar_model_hand_rest",
    "thenar_model_track_time", "thenar_sim_hand_joints", "thenar_sim_read_hand_joints", "thenar_sim_hand_target",
    "thenar_sim_hand_angles", "thenar_sim_hand_coupling",
    /* handle.h */
    "thenar_handle_def_init", "thenar_model_handle_count", "thenar_model_find_handle", "thenar_model_handle_name",
    "thenar_model_handle_body", "thenar_model_handle_bone", "thenar_model_handle_node_count",
    "thenar_model_handle_mass", "thenar_sim_linearize_handle", "thenar_sim_handle",
    /* tactile.h */
    "thenar_wearable_kind_count", "thenar_wearable_kind_name", "thenar_wearable_kind_find", "thenar_wearable_def_init",
    "thenar_tactile_def_init", "thenar_model_tactile_count", "thenar_model_tactile", "thenar_tactile_options_init",
    "thenar_tactile_free", "thenar_tactile_reset", "thenar_tactile_update", "thenar_tactile_device_count",
    "thenar_tactile_device", "thenar_tactile_device_pad", "thenar_tactile_command_of", "thenar_pad_region_count",
    "thenar_pad_region_name", "thenar_pad_region_find", "thenar_tactile_pad_count", "thenar_tactile_pad_of",
    "thenar_tactile_points",
    /* file.h */
    "thenar_mesh_format_count", "thenar_mesh_format_name", "thenar_mesh_format_find", "thenar_tet_mesh_load",
    "thenar_tet_mesh_parse", "thenar_surface_load", "thenar_surface_parse", "thenar_mesh_file_load",
    "thenar_mesh_file_free", "thenar_sim_write_vtk", "thenar_hand_shape_load", "thenar_hand_shape_load_detail",
    "thenar_hand_shape_parse", "thenar_hand_shape_parse_detail", "thenar_track_load", "thenar_track_parse",
    "thenar_csv_open", "thenar_csv_text", "thenar_csv_integer", "thenar_csv_empty", "thenar_csv_end_row",
    "thenar_csv_close",
    /* scene.h */
    "thenar_scene_options_init", "thenar_scene_find", "thenar_scene_each", "thenar_wearable_load",
    "thenar_wearable_parse", "thenar_config_load", "thenar_config_parse", "thenar_config_free", "thenar_config_set",
    "thenar_config_kind_at", "thenar_config_count", "thenar_config_key", "thenar_config_text", "thenar_config_number",
    "thenar_config_write",
    /* recording.h */
    "thenar_recording_open", "thenar_recording_open_memory", "thenar_recording_close", "thenar_recording_damage",
    "thenar_recording_get_info", "thenar_recording_frame_count", "thenar_recording_frame_time",
    "thenar_recording_frame_step", "thenar_recording_body_count", "thenar_recording_body_at",
    "thenar_recording_find_body", "thenar_recording_channel_count", "thenar_recording_channel_at",
    "thenar_recording_find_channel", "thenar_recording_read_mesh", "thenar_recording_read_channel",
    "thenar_recording_read_positions", "thenar_recording_read_surface", "thenar_recording_read_contacts",
    "thenar_export_format_count", "thenar_export_format_name", "thenar_export_format_find",
    "thenar_export_options_init", "thenar_recorder_options_init", "thenar_recorder_create", "thenar_recorder_add",
    "thenar_recorder_hash", "thenar_recorder_close", "thenar_replay_open", "thenar_replay_open_memory",
    "thenar_replay_step", "thenar_replay_close", "thenar_tactile_replay_free", "thenar_tactile_replay_devices",
    "thenar_tactile_replay_frame", "thenar_tactile_read_device", "thenar_tactile_read_touching",
    "thenar_tactile_describe", "thenar_text_free",
    /* device.h */
    "thenar_device_register", "thenar_device_count", "thenar_device_name", "thenar_device_find",
    /* haptic.h */
    "thenar_haptic_settings_default", "thenar_haptic_handle_init", "thenar_haptic_def_init", "thenar_haptic_free",
    "thenar_haptic_start", "thenar_haptic_stop", "thenar_haptic_real_time", "thenar_haptic_def_from",
    "thenar_haptic_handle_from", "thenar_haptic_drive_sim", "thenar_haptic_publish_sim", "thenar_haptic_fault_count",
    "thenar_haptic_fault_name", "thenar_haptic_fault_find", "thenar_haptic_fault_text", "thenar_haptic_read_stats",
    "thenar_haptic_notice",
    /* output.h */
    "thenar_output_push", "thenar_output_count", "thenar_output_close"};

/* Those whose numbers are only read by what has its own row, written out as they are, or come from a file or a clock. */
static const char *const covered[] = {"thenar_hand_measure", /* test_retarget */
                                      "thenar_wearable_value_count",
                                      "thenar_wearable_value_name",
                                      "thenar_scene_load",
                                      "thenar_scene_parse",
                                      "thenar_mesh_size_warning",
                                      "thenar_smooth_embedding_create",
                                      "thenar_smooth_embedding_apply",
                                      "thenar_pace_start",
                                      "thenar_pace_update",
                                      "thenar_pace_is_due",
                                      "thenar_pace_stepped",
                                      "thenar_pace_wait",
                                      "thenar_tet_mesh_write_vtk",
                                      "thenar_csv_number",
                                      "thenar_recording_export",
                                      "thenar_tactile_replay_create",
                                      "thenar_output_open_table"};

static char *headers;

int read_headers(void) {
    static const char *const names[] = {"status", "mesh",  "model",     "sim",    "hand",   "handle", "tactile",
                                        "file",   "scene", "recording", "device", "haptic", "output"};
    size_t used = 0;
    headers = calloc(1, 1 << 20);
    for (int i = 0; i < COUNT(names); i++) {
        char path[256];
        snprintf(path, sizeof path, SOURCE_DIR "/include/thenar/%s.h", names[i]);
        FILE *file = fopen(path, "rb");
        if (!file) return -1;
        used += fread(headers + used, 1, (1 << 20) - used - 1, file);
        fclose(file);
    }
    return 0;
}

void forget_headers(void) {
    free(headers);
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* A prototype takes numbers: a double by value, const doubles, or a struct of them. */
static bool takes_numbers(const char *from, const char *to) {
    static const char *const structs_in[] = {"_def *", "_options *", "_linear *", "tet_mesh *", "thenar_surface *"};
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)(to - from), from);
    if (strstr(text, "const double ")) return true;
    for (const char *at = text; (at = strstr(at, "double ")); at += 7) {
        const char *end = at + 7;
        while (is_word(*end)) end++;
        if (at[7] != '*' && *end != '[') return true;
    }
    for (int i = 0; i < COUNT(structs_in); i++) {
        const char *at = strstr(text, structs_in[i]);
        const char *is_const = strstr(text, "const thenar_");
        if (at && is_const && is_const < at && !memchr(is_const, ',', (size_t)(at - is_const))) return true;
    }
    return false;
}

static bool is_listed(const char *name, const char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static bool has_row(const char *name, const function_row *rows, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) return true;
    return false;
}

void compare_functions(const function_row *rows, int count) {
    int seen = 0;
    for (const char *at = headers; (at = strstr(at, "\nTHENAR_")); at++) {
        if (strncmp(at, "\nTHENAR_API ", 12) != 0 && strncmp(at, "\nTHENAR_IO_API ", 15) != 0) continue;
        const char *open = strchr(at, '('), *close = open ? strchr(open, ')') : NULL, *name = open;
        while (name && is_word(name[-1])) name--;
        if (!close || strncmp(name, "thenar_", 7) != 0) continue; /* the macro itself */
        seen++;
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)(open - name), name);
        if (has_row(word, rows, count) || is_listed(word, covered, COUNT(covered))) continue;
        if (takes_numbers(open, close)) fail_msg("%s takes numbers, but has no row in test_numbers.c", word);
        if (!is_listed(word, without_numbers, COUNT(without_numbers)))
            fail_msg("%s has no row in test_numbers.c, nor is it in numbers/headers.c: what do bad numbers do to it?",
                     word);
    }
    assert_int_equal(seen, count + COUNT(covered) + COUNT(without_numbers)); /* none that is gone, or twice */
}

/* Every `double name` in the struct, arrays included and pointers left out, is among its fields. */
static void compare_struct(const char *name, const field *rows, int count) {
    char start[64];
    snprintf(start, sizeof start, "typedef struct %s {", name);
    const char *at = strstr(headers, start);
    if (!at) fail_msg("there is no struct %s any more", name);
    int seen = 0;
    for (const char *line = at, *end = strstr(at, "\n}"); line && line < end; line = strchr(line + 1, '\n')) {
        const char *word = line;
        while (isspace((unsigned char)*word)) word++;
        if (strncmp(word, "double", 6) != 0) continue;
        word += 6;
        while (isspace((unsigned char)*word)) word++;
        if (*word == '*') continue;
        size_t length = 0;
        while (is_word(word[length])) length++;
        bool known = false;
        for (int i = 0; i < count; i++)
            known = known || (strlen(rows[i].name) == length && strncmp(rows[i].name, word, length) == 0);
        if (!known) fail_msg("%s.%.*s has no row in numbers/fields.c", name, (int)length, word);
        seen++;
    }
    if (seen != count) fail_msg("%s has %d numbers in the header, %d rows in numbers/fields.c", name, seen, count);
}

void compare_fields(void) {
    for (int i = 0, count; i < field_count; i += count) {
        for (count = 1; i + count < field_count && strcmp(fields[i + count].type, fields[i].type) == 0;) count++;
        compare_struct(fields[i].type, &fields[i], count);
    }
}
