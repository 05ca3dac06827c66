/* A scene file to a model. The keys are documented in docs/scenes.md; every read below is one of them. */
#include "thenar/scene.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "device/device.h"
#include "haptic/haptic.h"
#include "scene/config.h"
#include "scene/scene.h"
#include "world/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

thenar_key *scene_keys_read(config_map *map, int *count) {
    *count = 0;
    config_list list;
    if (!config_sequence(map, "keys", CONFIG_OPTIONAL, &list)) return NULL;
    thenar_key *keys = MEMORY_ARRAY(thenar_key, list.count);
    if (!keys) {
        config_out_of_memory(map);
        return NULL;
    }
    while (config_next(&list)) {
        config_map key;
        vec3 move = {0}, turn = {0};
        thenar_key *to = &keys[(*count)++];
        config_item_map(&list, &key);
        config_number(&key, "time", CONFIG_REQUIRED, config_not_negative("s"), &to->time);
        config_vec3(&key, "move", CONFIG_OPTIONAL, config_any("m"), &move);
        config_vec3(&key, "turn", CONFIG_OPTIONAL, config_any("rad"), &turn);
        config_close(&key);
        vec3_store(to->move, move);
        vec3_store(to->turn, turn);
    }
    return keys;
}

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
    config_number(&coupling, "most_force", CONFIG_OPTIONAL, config_not_negative("N"), &def->max_force);
    config_number(&coupling, "most_torque", CONFIG_OPTIONAL, config_not_negative("N m"), &def->max_torque);
    config_close(&coupling);
}

static void read_handle(config_map *map, const char *name, thenar_build *build) {
    thenar_handle_def def = thenar_handle_def_default();
    vec3 seed = {0}, pivot = {0};
    def.name = name;
    config_text(map, "tool", CONFIG_REQUIRED, &def.tool);
    const char *bone = NULL;
    if (config_text(map, "bone", CONFIG_OPTIONAL, &bone)) {
        def.joint = (thenar_hand_joint)thenar_hand_joint_find(bone);
        if (thenar_hand_joint_bone(def.joint) < 0)
            config_fail(map, "bone",
                        "no bone begins at %s; expected wrist, or a joint of WebXR at which a bone of a finger begins",
                        bone);
    } else {
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

/* Reads the mapping under `handles`, if there is one, and adds them to the build, which has the bodies already. Errors
 * go to the map's reader. */
static void scene_handles_read(config_map *scene, thenar_build *build) {
    config_list handles;
    if (!config_entries(scene, "handles", CONFIG_OPTIONAL, &handles)) return;
    while (config_next(&handles)) {
        config_map handle;
        config_item_map(&handles, &handle);
        read_handle(&handle, handles.key, build);
    }
}

/* What the scene says of one handle. */
typedef struct scene_binding {
    const char *name; /* the tree's */
    char *device;     /* or NULL */
    device_binding bindings;
} scene_binding;

struct scene_haptic {
    thenar_haptic_def loop;
    ARRAY(scene_binding) bindings;
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

static void read_binding(config_map *map, scene_binding *out) {
    device_binding *bindings = &out->bindings;
    thenar_haptic_settings *settings = &bindings->settings;
    vec3 origin = {0}, turn = {0};
    *settings = thenar_haptic_settings_default();
    read_device(map, &out->device);
    for (int i = 0; i < HAPTIC_SETTINGS; i++) { /* what is not said stays as the handle has it */
        const haptic_setting *one = &haptic_setting_table[i];
        config_range range = one->may_be_zero ? config_not_negative(one->unit) : config_positive(one->unit);
        double *value = haptic_setting_of(settings, i);
        *value = NAN;
        config_number(map, one->name, CONFIG_OPTIONAL, range, value);
    }
    config_bool(map, "one_sided", CONFIG_OPTIONAL, &settings->one_sided);
    config_bool(map, "passivity", CONFIG_OPTIONAL, &settings->passivity);
    config_bool(map, "plain", CONFIG_OPTIONAL, &settings->plain);
    bindings->has_origin = config_vec3(map, "origin", CONFIG_OPTIONAL, config_any("m"), &origin);
    bindings->has_turn = config_vec3(map, "turn", CONFIG_OPTIONAL, config_any("rad"), &turn);
    vec3_store(bindings->origin, origin);
    bindings->turn = quat_from_rotation_vector(turn);
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
        scene_binding bindings = {.name = list.key};
        const config_node *handle = handles ? config_find(handles, list.key) : NULL;
        if (!handle || config_is_null(handle)) {
            refuse_name(&list, handles);
            return;
        }
        config_item_map(&list, &one);
        read_binding(&one, &bindings);
        if (ARRAY_PUSH(&haptic->bindings, bindings)) continue;
        free(bindings.device);
        config_out_of_memory(map);
    }
}

/* Reads the mapping under `haptic`; *out is NULL if there is none. Errors go to the map's reader. */
static void scene_haptic_read(config_map *scene, scene_haptic **out) {
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

static void free_attachment(void *attachment) {
    haptic_scene *scene = attachment;
    for (int i = 0; i < scene->handle_count; i++) free(scene->bindings[i].device);
    free(scene);
}

/* Attaches it to a model that nobody else has yet. NULL is fine. */
static thenar_status scene_haptic_give(const scene_haptic *haptic, thenar_model *model, thenar_error *error) {
    if (!haptic) return THENAR_OK;
    int count = model->handle_count;
    haptic_scene *scene = memory_array(1, sizeof *scene + (size_t)count * sizeof *scene->bindings);
    if (!scene) return error_memory(error, "haptic");
    scene->loop = haptic->loop;
    scene->handle_count = count;
    model->attachment = scene;
    model->free_attachment = free_attachment;
    for (size_t i = 0; i < haptic->bindings.count; i++) {
        const scene_binding *one = &haptic->bindings.data[i];
        device_binding *binding = &scene->bindings[thenar_model_find_handle(model, one->name)];
        *binding = one->bindings;
        binding->is_set = true;
        binding->device = memory_string(one->device);
        if (one->device && !binding->device) return error_memory(error, "haptic");
    }
    return THENAR_OK;
}

static void scene_haptic_free(scene_haptic *haptic) {
    if (!haptic) return;
    for (size_t i = 0; i < haptic->bindings.count; i++) free(haptic->bindings.data[i].device);
    free(haptic->bindings.data);
    free(haptic);
}

#define SCENE_FORMAT 1

static void read_world(config_map *scene, thenar_world_def *world, thenar_scene_info *info) {
    int format = SCENE_FORMAT;
    const char *title = "";
    vec3 gravity = vec3_load(world->gravity);
    config_integer(scene, "thenar", CONFIG_REQUIRED, SCENE_FORMAT, SCENE_FORMAT, &format);
    config_text(scene, "title", CONFIG_OPTIONAL, &title);
    config_number(scene, "dt", CONFIG_OPTIONAL, config_between(MODEL_DT_SMALLEST, MODEL_DT_LARGEST, "s"), &world->dt);
    config_number(scene, "time", CONFIG_OPTIONAL, config_positive("s"), &info->time);
    config_vec3(scene, "gravity", CONFIG_OPTIONAL, config_any("m/s^2"), &gravity);
    vec3_store(world->gravity, gravity);
    config_map touch;
    if (config_child(scene, "contact", CONFIG_OPTIONAL, &touch)) {
        config_range range = {.low = 0, .above_low = true, .high = MODEL_MARGIN_LARGEST, .unit = "m"};
        config_range stiff = {.low = 0, .above_low = true, .high = MODEL_CONTACT_STIFFNESS_LARGEST, .unit = "Pa/m"};
        config_range damped = config_between(0, MODEL_CONTACT_DAMPING_LARGEST, "Pa s/m");
        config_number(&touch, "margin", CONFIG_OPTIONAL, range, &world->margin);
        config_number(&touch, "stiffness", CONFIG_OPTIONAL, stiff, &world->contact_stiffness);
        config_number(&touch, "damping", CONFIG_OPTIONAL, damped, &world->contact_damping);
        int method = (int)world->contact_method, pressure = (int)world->contact_pressure;
        config_choice(&touch, "method", CONFIG_OPTIONAL, contact_method_names, CONTACT_METHODS, &method);
        config_choice(&touch, "pressure", CONFIG_OPTIONAL, contact_pressure_names, THENAR_CONTACT_PRESSURE_COUNT,
                      &pressure);
        world->contact_method = (thenar_contact_method)method;
        world->contact_pressure = (thenar_contact_pressure)pressure;
        config_close(&touch);
    }
    snprintf(info->title, sizeof info->title, "%s", title);
    text_make_printable(info->title);
}

static void read_bodies(config_map *scene, thenar_build *build) {
    static const char *const kinds[] = {"soft", "rigid", "hand"};
    static void (*const readers[])(config_map *, const char *, thenar_build *) = {scene_soft_read, scene_rigid_read,
                                                                                  scene_hand_read};
    config_list bodies;
    config_entries(scene, "bodies", CONFIG_REQUIRED, &bodies);
    while (config_next(&bodies)) {
        config_map body;
        int kind = 0;
        config_item_map(&bodies, &body);
        config_choice(&body, "kind", CONFIG_OPTIONAL, kinds, 3, &kind);
        readers[kind](&body, bodies.key, build);
    }
    if (scene->reader->status == THENAR_OK && bodies.count == 0)
        config_fail(scene, "bodies", "a scene without bodies; expected at least one");
}

/* "scenes/beam-soft.yaml" is the scene beam-soft. */
static void scene_name(const char *path, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = 0;
    text_make_printable(name);
}

static thenar_status build_model(const config_node *root, const char *path, const thenar_track *tracked,
                                 thenar_model **model, thenar_scene_info *info, thenar_error *error) {
    config_reader reader = {.error = error};
    config_map scene;
    char name[128];
    scene_name(path, name, sizeof name);
    thenar_world_def world = thenar_world_def_default();
    world.name = name;
    config_open(&reader, root, "scene", &scene);
    read_world(&scene, &world, info);
    thenar_build *build = thenar_build_create(&world);
    if (!build) return error_memory(error, path);
    read_bodies(&scene, build);
    scene_handles_read(&scene, build);
    scene_tactile_read(&scene, build);
    scene_haptic *haptic;
    scene_haptic_read(&scene, &haptic);
    config_close(&scene);
    thenar_status status = reader.status;
    if (status == THENAR_OK && tracked) status = thenar_build_set_track(build, tracked, error);
    if (status == THENAR_OK) {
        status = thenar_build_compile(build, model, error);
        if (status != THENAR_OK) error_prefix(error, "%s", path);
        if (status == THENAR_OK && tracked) info->time = fmax(world.dt, thenar_model_track_time(*model));
    }
    if (status == THENAR_OK) status = scene_haptic_give(haptic, *model, error);
    if (status != THENAR_OK) {
        thenar_model_free(*model);
        *model = NULL;
    }
    scene_haptic_free(haptic);
    thenar_build_free(build);
    return status;
}

thenar_status thenar_scene_options_init(thenar_scene_options *options, size_t size) {
    const thenar_scene_options defaults = {0};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_scene_options");
}

/* text NULL: from the file. */
static thenar_status load(const char *path, const char *text, size_t size, const thenar_scene_options *options,
                          thenar_model **model, thenar_scene_info *info, thenar_error *error) {
    config tree = {0};
    thenar_status status = text ? config_parse(&tree, text, size, path, error) : config_load(&tree, path, error);
    if (status != THENAR_OK) return status;
    *info = (thenar_scene_info){.time = 1};
    for (int i = 0; i < options->set_count && status == THENAR_OK; i++)
        status = config_set(&tree, options->sets[i], error);
    if (status == THENAR_OK) status = build_model(tree.root, path, options->track, model, info, error);
    config_free(&tree);
    return status;
}

static thenar_status load_with(const char *path, const char *text, size_t size, const thenar_scene_options *given,
                               thenar_model **model, thenar_scene_info *info, thenar_error *error) {
    thenar_scene_info ignored;
    thenar_scene_options options = thenar_scene_options_default();
    thenar_status status =
        given ? sized_take(&options, sizeof options, given, "thenar_scene_options", error) : THENAR_OK;
    if (status != THENAR_OK) return status;
    const thenar_file_source *before = file_source_set(options.files);
    status = load(path, text, size, &options, model, info ? info : &ignored, error);
    file_source_set(before);
    return status;
}

thenar_status thenar_scene_load(const char *path, const thenar_scene_options *options, thenar_model **model,
                                thenar_scene_info *info, thenar_error *error) {
    USAGE_STATUS(path && model, error, "the path or the pointer to the model is NULL");
    *model = NULL;
    char located[SCENE_MAX_PATH];
    return load_with(scene_locate(path, located), NULL, 0, options, model, info, error);
}

thenar_status thenar_scene_parse(const char *text, size_t size, const char *name, const thenar_scene_options *options,
                                 thenar_model **model, thenar_scene_info *info, thenar_error *error) {
    USAGE_STATUS(text && name && model, error, "the text, its name or the pointer to the model are NULL");
    *model = NULL;
    return load_with(name, text, size, options, model, info, error);
}
