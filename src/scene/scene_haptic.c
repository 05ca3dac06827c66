#include "scene/scene_haptic.h"

#include "base/memory.h"
#include "base/text.h"
#include "device/kinds.h"
#include "haptic/settings.h"
#include "scene/config_tree.h"
#include "world/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the scene says of one handle. */
typedef struct scene_held {
    const char *name; /* the tree's */
    char *device;     /* or NULL */
    model_held held;
} scene_held;

struct scene_haptic {
    thenar_haptic_def loop;
    ARRAY(scene_held) held;
};

/* KIND:FILE and KIND:FILE,MORE with the file seen from the one that it is written in. NULL: out of memory. */
static char *resolve_device(const config_node *node, const char *text, size_t kind) {
    static const char *const of_files[] = {"user", "recorded", "plugin"};
    bool has_file = false;
    for (size_t i = 0; i < sizeof of_files / sizeof *of_files; i++)
        has_file = has_file || (strlen(of_files[i]) == kind && strncmp(text, of_files[i], kind) == 0);
    if (!has_file || text[kind] == 0 || text[kind + 1] == 0) return memory_string(text);
    char *path = config_resolve(node->line > 0 ? node->file : NULL, text + kind + 1);
    char *device = path ? MEMORY_ARRAY(char, kind + strlen(path) + 2) : NULL;
    if (device) sprintf(device, "%.*s:%s", (int)kind, text, path);
    free(path);
    return device;
}

static void read_device(config_map *map, char **device) {
    const char *text = NULL;
    const config_node *node = config_peek(map, "device");
    if (!config_text(map, "device", CONFIG_OPTIONAL, &text)) return;
    char name[32];
    size_t kind = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(kind < sizeof name ? kind : sizeof name - 1), text);
    device_kind found;
    thenar_error error;
    if (strcmp(text, "none") != 0) config_adopt(map, "device", device_kind_find(name, &found, &error), error.text);
    if (map->reader->status != THENAR_OK) return;
    *device = resolve_device(node, text, kind);
    if (!*device) config_out_of_memory(map);
}

static void read_held(config_map *map, scene_held *out) {
    model_held *held = &out->held;
    thenar_haptic_settings *settings = &held->settings;
    vec3 origin = {0}, turn = {0};
    *settings = thenar_haptic_settings_default();
    read_device(map, &out->device);
    for (int i = 0; i < HAPTIC_SETTINGS; i++) { /* what is not said stays as the handle has it */
        const haptic_setting *one = &haptic_setting_table[i];
        config_range range = one->zero_is_fine ? config_not_negative(one->unit) : config_positive(one->unit);
        double *value = haptic_setting_of(settings, i);
        *value = NAN;
        config_number(map, one->name, CONFIG_OPTIONAL, range, value);
    }
    config_bool(map, "one_sided", CONFIG_OPTIONAL, &settings->one_sided);
    config_bool(map, "passivity", CONFIG_OPTIONAL, &settings->passivity);
    config_bool(map, "plain", CONFIG_OPTIONAL, &settings->plain);
    held->has_origin = config_vec3(map, "origin", CONFIG_OPTIONAL, config_any("m"), &origin);
    held->has_turn = config_vec3(map, "turn", CONFIG_OPTIONAL, config_any("rad"), &turn);
    vec3_store(held->origin, origin);
    held->turn = quat_from_rotation_vector(turn);
    config_close(map);
}

/* The handles of the scene, for a name that is none of them. */
static void refuse_name(config_list *list, const config_node *handles) {
    const char *names[CONFIG_CANDIDATES];
    size_t count = handles ? config_candidates(handles, names) : 0;
    const char *closest = text_closest(list->key, names, count);
    char known[256];
    config_join(names, count, known, sizeof known);
    config_item_fail(list, "no handle '%s'%s%s%s; expected one of those under handles%s%s",
                     config_quote(list->key).text, closest ? "; did you mean '" : "", closest ? closest : "",
                     closest ? "'?" : "", count ? ": " : "", known);
}

static void read_handles(config_map *map, const config_node *handles, scene_haptic *haptic) {
    config_list list;
    if (!config_entries(map, "handles", CONFIG_OPTIONAL, &list)) return;
    while (config_next(&list)) {
        config_map one;
        scene_held held = {.name = list.key};
        const config_node *handle = handles ? config_find(handles, list.key) : NULL;
        if (!handle || config_is_null(handle)) {
            refuse_name(&list, handles);
            return;
        }
        config_item_map(&list, &one);
        read_held(&one, &held);
        if (ARRAY_PUSH(&haptic->held, held)) continue;
        free(held.device);
        config_out_of_memory(map);
    }
}

void scene_haptic_read(config_map *scene, scene_haptic **out) {
    *out = NULL;
    config_map map;
    if (!config_child(scene, "haptic", CONFIG_OPTIONAL, &map)) return;
    scene_haptic *haptic = MEMORY_ARRAY(scene_haptic, 1);
    if (!haptic) {
        config_out_of_memory(scene);
        return;
    }
    *out = haptic;
    thenar_haptic_def *loop = &haptic->loop;
    *loop = thenar_haptic_def_default();
    config_number(&map, "rate", CONFIG_OPTIONAL, config_between(HAPTIC_SLOWEST, HAPTIC_FASTEST, "1/s"), &loop->rate);
    config_bool(&map, "real_time", CONFIG_OPTIONAL, &loop->real_time);
    config_integer(&map, "priority", CONFIG_OPTIONAL, 1, 99, &loop->priority);
    config_number(&map, "watchdog", CONFIG_OPTIONAL, config_positive("s"), &loop->watchdog);
    read_handles(&map, config_peek(scene, "handles"), haptic);
    config_close(&map);
}

thenar_status scene_haptic_give(const scene_haptic *haptic, thenar_model *model, thenar_error *error) {
    if (!haptic) return THENAR_OK;
    model->haptic = memory_copy(&haptic->loop, sizeof haptic->loop);
    model->held = MEMORY_ARRAY(model_held, model->handle_count);
    if (!model->haptic || !model->held) return error_memory(error, "haptic");
    for (size_t i = 0; i < haptic->held.count; i++) {
        const scene_held *one = &haptic->held.data[i];
        model_held *held = &model->held[thenar_model_find_handle(model, one->name)];
        *held = one->held;
        held->said = true;
        held->device = memory_string(one->device);
        if (one->device && !held->device) return error_memory(error, "haptic");
    }
    return THENAR_OK;
}

void scene_haptic_free(scene_haptic *haptic) {
    if (!haptic) return;
    for (size_t i = 0; i < haptic->held.count; i++) free(haptic->held.data[i].device);
    free(haptic->held.data);
    free(haptic);
}
