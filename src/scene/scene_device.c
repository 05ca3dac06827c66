/* Device files, and the wearable devices of a scene. docs/tactile.md describes the keys. */
#include "scene/scene.h"

#include "core/error.h"
#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>

#define DEVICE_FORMAT 1

/* A range: two numbers, the smaller first. */
static void read_pair(config_map *map, const char *key, double unit, const char *name, double *min, double *max) {
    double read[2] = {*min / unit, *max / unit};
    if (!config_numbers(map, key, CONFIG_OPTIONAL, config_any(name), 2, read)) return;
    if (!(read[0] < read[1]))
        config_fail(map, key, "%s is %g to %g %s; expected the smaller number first", key, read[0], read[1], name);
    *min = read[0] * unit;
    *max = read[1] * unit;
}

static void read_degrees(config_map *map, const char *key, config_range range, double *value) {
    double degrees = *value / DEGREE;
    if (config_number(map, key, CONFIG_OPTIONAL, range, &degrees)) *value = degrees * DEGREE;
}

static void read_range(config_map *map, bool tilts, thenar_wearable_def *def) {
    config_map range;
    if (!config_child(map, "range", CONFIG_OPTIONAL, &range)) return;
    if (tilts) {
        read_pair(&range, "pitch", DEGREE, "degrees", &def->pitch_min, &def->pitch_max);
        read_pair(&range, "roll", DEGREE, "degrees", &def->roll_min, &def->roll_max);
    }
    read_pair(&range, "displacement", 1, "m", &def->displacement_min, &def->displacement_max);
    config_close(&range);
}

static void read_speed(config_map *map, bool tilts, thenar_wearable_def *def) {
    config_map speed;
    if (!config_child(map, "speed", CONFIG_OPTIONAL, &speed)) return;
    if (tilts) read_degrees(&speed, "tilt", config_positive("degrees/s"), &def->tilt_speed);
    config_number(&speed, "displacement", CONFIG_OPTIONAL, config_positive("m/s"), &def->displacement_speed);
    config_close(&speed);
}

static void read_force(config_map *map, thenar_wearable_def *def) {
    config_map pulp;
    config_number(map, "force_limit", CONFIG_OPTIONAL, config_positive("N"), &def->force_limit);
    config_number(map, "clearance", CONFIG_OPTIONAL, config_not_negative("m"), &def->clearance);
    if (!config_child(map, "pulp", CONFIG_OPTIONAL, &pulp)) return;
    config_number(&pulp, "force", CONFIG_OPTIONAL, config_positive("N"), &def->pulp_force);
    config_number(&pulp, "rate", CONFIG_OPTIONAL, config_positive("1/m"), &def->pulp_rate);
    config_close(&pulp);
}

static void read_geometry(config_map *map, thenar_wearable_def *def) {
    config_map geometry;
    if (!config_child(map, "geometry", CONFIG_OPTIONAL, &geometry)) return;
    config_range length = config_positive("m");
    read_degrees(&geometry, "azimuth", config_between(-360, 360, "degrees"), &def->azimuth);
    config_number(&geometry, "base_radius", CONFIG_OPTIONAL, length, &def->base_radius);
    config_number(&geometry, "base_height", CONFIG_OPTIONAL, length, &def->base_height);
    config_number(&geometry, "platform_radius", CONFIG_OPTIONAL, length, &def->platform_radius);
    config_number(&geometry, "platform_depth", CONFIG_OPTIONAL, config_not_negative("m"), &def->platform_depth);
    if (def->kind == THENAR_WEARABLE_CABLE) {
        config_number(&geometry, "pulley_radius", CONFIG_OPTIONAL, length, &def->pulley_radius);
    } else {
        config_number(&geometry, "crank", CONFIG_OPTIONAL, length, &def->crank);
        config_number(&geometry, "rod", CONFIG_OPTIONAL, length, &def->rod);
    }
    config_close(&geometry);
}

static void read_servo(config_map *map, thenar_wearable_def *def) {
    config_map servo;
    if (!config_child(map, "servo", CONFIG_OPTIONAL, &servo)) return;
    read_pair(&servo, "range", DEGREE, "degrees", &def->servo_min, &def->servo_max);
    read_degrees(&servo, "speed", config_positive("degrees/s"), &def->servo_speed);
    read_pair(&servo, "pulse", 1e-6, "us", &def->pulse_min, &def->pulse_max);
    config_close(&servo);
}

static void read_vibration(config_map *map, thenar_wearable_def *def) {
    read_pair(map, "frequency", 1, "Hz", &def->frequency_min, &def->frequency_max);
    config_number(map, "rate_full", CONFIG_OPTIONAL, config_positive("N/s"), &def->rate_full);
    config_number(map, "slip_full", CONFIG_OPTIONAL, config_positive("m/s"), &def->slip_full);
    config_number(map, "release", CONFIG_OPTIONAL, config_positive("s"), &def->release);
}

/* Reads and closes the mapping of a device. Its kind decides the defaults. */
static void read_wearable(config_map *map, thenar_wearable_def *def) {
    const char *kinds[THENAR_WEARABLE_KIND_COUNT], *title = "";
    for (int i = 0; i < THENAR_WEARABLE_KIND_COUNT; i++) kinds[i] = thenar_wearable_kind_name((thenar_wearable_kind)i);
    int kind = THENAR_WEARABLE_CABLE;
    config_choice(map, "kind", CONFIG_REQUIRED, kinds, THENAR_WEARABLE_KIND_COUNT, &kind);
    *def = thenar_wearable_def_default((thenar_wearable_kind)kind);
    config_text(map, "title", CONFIG_OPTIONAL, &title);
    snprintf(def->title, sizeof def->title, "%s", title);
    text_make_printable(def->title);
    bool tilts = kind == THENAR_WEARABLE_CABLE || kind == THENAR_WEARABLE_RRS;
    if (kind == THENAR_WEARABLE_VIBRATION) {
        read_vibration(map, def);
    } else {
        read_range(map, tilts, def);
        read_speed(map, tilts, def);
        read_force(map, def);
    }
    if (tilts) {
        read_geometry(map, def);
        read_servo(map, def);
    }
    if (kind == THENAR_WEARABLE_THIMBLE) {
        static const char *const commands[] = {"displacement", "force"};
        int command = 0;
        config_choice(map, "command", CONFIG_OPTIONAL, commands, 2, &command);
        def->by_force = command == 1;
    }
    config_close(map);
    thenar_error error;
    if (map->reader->status == THENAR_OK)
        config_adopt(map, tilts ? "geometry" : NULL, thenar_wearable_check(def, &error), error.text);
}

/* text NULL: reads the file. */
static thenar_status load(const char *path, const char *text, size_t size, thenar_wearable_def *def,
                          thenar_error *error) {
    config tree = {0};
    thenar_status status = text ? config_parse(&tree, text, size, path, error) : config_load(&tree, path, error);
    if (status != THENAR_OK) return status;
    config_reader reader = {.error = error};
    config_map map;
    int format = DEVICE_FORMAT;
    config_open(&reader, tree.root, "device", &map);
    config_integer(&map, "thenar_device", CONFIG_REQUIRED, DEVICE_FORMAT, DEVICE_FORMAT, &format);
    read_wearable(&map, def);
    config_free(&tree);
    return reader.status;
}

thenar_status thenar_wearable_load(const char *path, thenar_wearable_def *out, size_t size, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the device is NULL");
    thenar_wearable_def def = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    thenar_status status = load(path, NULL, 0, &def, error);
    return status == THENAR_OK ? sized_give(out, size, &def, sizeof def, "thenar_wearable_def") : status;
}

thenar_status thenar_wearable_parse(const char *text, size_t text_size, const char *name, thenar_wearable_def *out,
                                    size_t size, thenar_error *error) {
    USAGE_STATUS(text && name && out, error, "the text, its name or the device is NULL");
    thenar_wearable_def def = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    thenar_status status = load(name, text, text_size, &def, error);
    return status == THENAR_OK ? sized_give(out, size, &def, sizeof def, "thenar_wearable_def") : status;
}

/* A device on a finger. */
static void read_tactile(config_list *devices, thenar_build *build) {
    const char *fingers[THENAR_FINGER_COUNT], *hand = NULL;
    char *file = NULL;
    for (int i = 0; i < THENAR_FINGER_COUNT; i++) fingers[i] = thenar_finger_name((thenar_finger)i);
    config_map map;
    thenar_error error;
    thenar_wearable_def device = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    thenar_tactile_def def = thenar_tactile_def_default();
    def.name = devices->key;
    def.device = &device;
    int finger = 0;
    config_item_map(devices, &map);
    config_text(&map, "hand", CONFIG_OPTIONAL, &hand);
    config_choice(&map, "finger", CONFIG_REQUIRED, fingers, THENAR_FINGER_COUNT, &finger);
    read_degrees(&map, "turn", config_between(-90, 90, "degrees"), &def.mount_angle);
    config_number(&map, "depth", CONFIG_OPTIONAL, config_between(0, 0.1, "m"), &def.depth);
    if (config_file(&map, "device", CONFIG_REQUIRED, &file)) {
        config_adopt(&map, "device", load(file, NULL, 0, &device, &error), error.text);
        free(file);
    }
    config_close(&map);
    def.hand = hand;
    def.finger = (thenar_finger)finger;
    if (map.reader->status == THENAR_OK)
        config_adopt(&map, hand ? "hand" : NULL, thenar_build_add_tactile(build, &def, &error), error.text);
}

void scene_tactile_read(config_map *scene, thenar_build *build) {
    config_list devices;
    if (!config_entries(scene, "tactile", CONFIG_OPTIONAL, &devices)) return;
    while (config_next(&devices)) read_tactile(&devices, build);
}
