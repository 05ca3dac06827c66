#include "scene/scene_handle.h"

#include "scene/scene_keys.h"

#include <stdlib.h>

static void read_springs(config_map *map, thenar_handle_def *def) {
    config_map springs;
    if (!config_child(map, "springs", CONFIG_OPTIONAL, &springs)) return;
    config_number(&springs, "stiffness", CONFIG_OPTIONAL, config_positive("N/m"), &def->spring_stiffness);
    config_number(&springs, "damping", CONFIG_OPTIONAL, config_not_negative("N s/m"), &def->spring_damping);
    config_close(&springs);
}

static void read_coupling(config_map *map, thenar_handle_def *def) {
    config_map coupling;
    if (!config_child(map, "coupling", CONFIG_OPTIONAL, &coupling)) return;
    config_number(&coupling, "stiffness", CONFIG_OPTIONAL, config_not_negative("N/m"), &def->stiffness);
    config_number(&coupling, "damping", CONFIG_OPTIONAL, config_not_negative("N s/m"), &def->damping);
    config_number(&coupling, "turn_stiffness", CONFIG_OPTIONAL, config_not_negative("N m/rad"), &def->turn_stiffness);
    config_number(&coupling, "turn_damping", CONFIG_OPTIONAL, config_not_negative("N m s/rad"), &def->turn_damping);
    config_number(&coupling, "most_force", CONFIG_OPTIONAL, config_not_negative("N"), &def->most_force);
    config_number(&coupling, "most_torque", CONFIG_OPTIONAL, config_not_negative("N m"), &def->most_torque);
    config_close(&coupling);
}

static void read_handle(config_map *map, const char *name, thenar_build *build) {
    thenar_handle_def def = thenar_handle_def_default();
    vec3 seed = {0}, pivot = {0};
    def.name = name;
    config_text(map, "tool", CONFIG_REQUIRED, &def.tool);
    bool on_bone = config_text(map, "bone", CONFIG_OPTIONAL, &def.bone);
    if (!on_bone) {
        config_vec3(map, "seed", CONFIG_REQUIRED, config_any("m"), &seed);
        config_number(map, "radius", CONFIG_REQUIRED, config_positive("m"), &def.radius);
        read_springs(map, &def);
    }
    read_coupling(map, &def);
    thenar_key *keys = scene_keys_read(map, &def.key_count);
    config_bool(map, "linear", CONFIG_OPTIONAL, &def.linear);
    def.has_pivot = config_vec3(map, "pivot", CONFIG_OPTIONAL, config_any("m"), &pivot);
    config_bool(map, "linearize", CONFIG_OPTIONAL, &def.linearize);
    config_close(map);
    vec3_store(def.seed, seed);
    vec3_store(def.pivot, pivot);
    def.keys = keys;
    if (map->reader->status == THENAR_OK) {
        thenar_error error;
        config_adopt(map, NULL, thenar_build_add_handle(build, &def, &error), error.text);
    }
    free(keys);
}

void scene_handles_read(config_map *scene, thenar_build *build) {
    config_list handles;
    if (!config_entries(scene, "handles", CONFIG_OPTIONAL, &handles)) return;
    while (config_next(&handles)) {
        config_map handle;
        config_item_map(&handles, &handle);
        read_handle(&handle, handles.key, build);
    }
}
