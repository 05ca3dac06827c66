#include "device/inverse.h"

#include "base/json_text.h"

#include <stdio.h>

/* The first device of a kind: its object, or NULL. */
static const json_t *first_of(const json_t *root, const char *kind) {
    return json_array_get(json_object_get(root, kind), 0);
}

static bool read_members(const json_t *object, const char *const *names, int count, double *out) {
    for (int i = 0; i < count; i++) {
        const json_t *number = json_object_get(object, names[i]);
        if (!json_is_number(number)) return false;
        out[i] = json_number_value(number);
    }
    return true;
}

bool inverse_read(const char *text, size_t length, thenar_device_sample *sample, char id[INVERSE_ID]) {
    static const char *const axes[] = {"x", "y", "z", "w"};
    static const char *const grips[] = {"wireless_verse_grip", "verse_grip", "custom_verse_grip"};
    json_text_fault fault;
    json_t *root = json_text_read(text, length, &fault);
    const json_t *device = first_of(root, "inverse3"), *state = json_object_get(device, "state");
    *sample = (thenar_device_sample){.has = THENAR_DEVICE_POSITION};
    bool found = read_members(json_object_get(state, "cursor_position"), axes, 3, sample->position);
    if (found && read_members(json_object_get(state, "cursor_velocity"), axes, 3, sample->velocity))
        sample->has |= THENAR_DEVICE_VELOCITY;
    for (int i = 0; found && i < 3; i++) {
        const json_t *grip = json_object_get(first_of(root, grips[i]), "state");
        if (!read_members(json_object_get(grip, "orientation"), axes, 4, sample->orientation)) continue;
        sample->has |= THENAR_DEVICE_ORIENTATION;
        break;
    }
    const char *name = json_string_value(json_object_get(device, "device_id"));
    snprintf(id, INVERSE_ID, "%s", name ? name : "");
    json_decref(root);
    return found;
}

size_t inverse_write(const char *id, const double force[3], char *text, size_t size) {
    json_t *root = json_pack("{s:[{s:s, s:{s:{s:{s:f, s:f, s:f}}}}]}", "inverse3", "device_id", id, "commands",
                             "set_cursor_force", "values", "x", force[0], "y", force[1], "z", force[2]);
    size_t length = root ? json_dumpb(root, text, size, JSON_COMPACT | JSON_REAL_PRECISION(9)) : 0;
    json_decref(root);
    return length <= size ? length : 0;
}
