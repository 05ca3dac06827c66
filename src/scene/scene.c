/* Scenes: found by name, read, and compiled to a model. docs/scenes.md describes the keys; every read below is one of
 * them. */
#include "scene/scene.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "device/device.h"
#include "haptic/haptic.h"
#include "io/file.h"
#include "world/model.h"

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCENE_FORMAT 1
#define PATH_SIZE 4096

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
        thenar_key *to = &keys[(*count)++];
        config_item_map(&list, &key);
        config_number(&key, "time", CONFIG_REQUIRED, config_not_negative("s"), &to->time);
        config_vec3(&key, "move", CONFIG_OPTIONAL, config_any("m"), to->move);
        config_vec3(&key, "turn", CONFIG_OPTIONAL, config_any("rad"), to->turn);
        config_close(&key);
    }
    return keys;
}

void scene_pose_read(config_map *shape, double pose[7]) {
    double move[3] = {0}, turn[3] = {0};
    config_vec3(shape, "move", CONFIG_OPTIONAL, config_any("m"), move);
    config_vec3(shape, "turn", CONFIG_OPTIONAL, config_any("rad"), turn);
    pose_store(pose, vec3_load(move), quat_from_rotation_vector(vec3_load(turn)));
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
        config_vec3(map, "seed", CONFIG_REQUIRED, config_any("m"), def.seed);
        config_number(map, "radius", CONFIG_REQUIRED, config_positive("m"), &def.radius);
        read_springs(map, &def);
    }
    read_coupling(map, &def);
    thenar_key *keys = scene_keys_read(map, &def.key_count);
    config_bool(map, "linear", CONFIG_OPTIONAL, &def.linear);
    def.has_pivot = config_vec3(map, "pivot", CONFIG_OPTIONAL, config_any("m"), def.pivot);
    config_bool(map, "linearize", CONFIG_OPTIONAL, &def.linearize);
    config_close(map);
    def.keys = keys;
    if (map->reader->status == THENAR_OK) {
        thenar_error error;
        config_adopt(map, NULL, thenar_build_add_handle(build, &def, &error), error.text);
    }
    free(keys);
}

static void read_handles(config_map *scene, thenar_build *build) {
    config_list handles;
    if (!config_entries(scene, "handles", CONFIG_OPTIONAL, &handles)) return;
    while (config_next(&handles)) {
        config_map handle;
        config_item_map(&handles, &handle);
        read_handle(&handle, handles.key, build);
    }
}

/* A device KIND:FILE or KIND:FILE,MORE with the file relative to the scene file. NULL: out of memory. */
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

static void read_binding(config_map *map, device_binding *binding) {
    thenar_haptic_settings *settings = &binding->settings;
    double turn[3] = {0};
    binding->is_set = true;
    *settings = thenar_haptic_settings_default();
    read_device(map, &binding->device);
    for (int i = 0; i < HAPTIC_SETTINGS; i++) {
        const haptic_setting *one = &haptic_setting_table[i];
        config_range range = one->may_be_zero ? config_not_negative(one->unit) : config_positive(one->unit);
        double *value = haptic_setting_of(settings, i);
        *value = NAN; /* the value of the handle, unless the scene has one */
        config_number(map, one->name, CONFIG_OPTIONAL, range, value);
    }
    config_bool(map, "one_sided", CONFIG_OPTIONAL, &settings->one_sided);
    config_bool(map, "passivity", CONFIG_OPTIONAL, &settings->passivity);
    config_bool(map, "plain", CONFIG_OPTIONAL, &settings->plain);
    binding->has_origin = config_vec3(map, "origin", CONFIG_OPTIONAL, config_any("m"), binding->origin);
    binding->has_turn = config_vec3(map, "turn", CONFIG_OPTIONAL, config_any("rad"), turn);
    binding->turn = quat_from_rotation_vector(vec3_load(turn));
    config_close(map);
}

/* The index of a handle in the model, which has those under `handles` in their order; -1: there is no such handle. */
static int find_handle(const config_node *handles, const char *name) {
    int index = 0;
    for (const config_node *handle = handles ? handles->first : NULL; handle; handle = handle->next) {
        if (config_is_null(handle)) continue;
        if (strcmp(handle->key, name) == 0) return index;
        index++;
    }
    return -1;
}

static void free_haptic(void *attachment) {
    haptic_scene *haptic = attachment;
    for (int i = 0; haptic && i < haptic->handle_count; i++) free(haptic->bindings[i].device);
    free(haptic);
}

/* The mapping `haptic`: the loop, and the devices of the handles. NULL if there is none. */
static haptic_scene *read_haptic(config_map *scene) {
    config_map map;
    config_list list;
    if (!config_child(scene, "haptic", CONFIG_OPTIONAL, &map)) return NULL;
    const config_node *handles = config_peek(scene, "handles");
    size_t count = handles ? handles->count : 0;
    haptic_scene *haptic = memory_array(1, sizeof *haptic + count * sizeof *haptic->bindings);
    if (!haptic) {
        config_out_of_memory(scene);
        return NULL;
    }
    haptic->handle_count = (int)count;
    thenar_haptic_def *loop = &haptic->loop;
    *loop = thenar_haptic_def_default();
    config_number(&map, "rate", CONFIG_OPTIONAL, config_between(HAPTIC_SLOWEST, HAPTIC_FASTEST, "1/s"), &loop->rate);
    config_bool(&map, "real_time", CONFIG_OPTIONAL, &loop->real_time);
    config_integer(&map, "priority", CONFIG_OPTIONAL, 1, 99, &loop->priority);
    config_number(&map, "watchdog", CONFIG_OPTIONAL, config_positive("s"), &loop->watchdog);
    config_entries(&map, "handles", CONFIG_OPTIONAL, &list);
    while (config_next(&list)) {
        config_map one;
        int handle = find_handle(handles, list.key);
        if (handle < 0) {
            config_item_fail(&list, "no handle '%s';%s", config_quote(list.key).text,
                             config_suggest_key(list.key, "one of those under handles", handles).text);
            break;
        }
        config_item_map(&list, &one);
        read_binding(&one, &haptic->bindings[handle]);
    }
    config_close(&map);
    return haptic;
}

static void read_world(config_map *scene, thenar_world_def *world, thenar_scene_info *info) {
    int format = SCENE_FORMAT;
    const char *title = "";
    config_integer(scene, "thenar", CONFIG_REQUIRED, SCENE_FORMAT, SCENE_FORMAT, &format);
    config_text(scene, "title", CONFIG_OPTIONAL, &title);
    config_number(scene, "dt", CONFIG_OPTIONAL, config_between(MODEL_DT_SMALLEST, MODEL_DT_LARGEST, "s"), &world->dt);
    config_number(scene, "time", CONFIG_OPTIONAL, config_positive("s"), &info->time);
    config_vec3(scene, "gravity", CONFIG_OPTIONAL, config_any("m/s^2"), world->gravity);
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
    int bones = (int)world->bones;
    config_choice(scene, "bones", CONFIG_OPTIONAL, hand_bones_names, THENAR_BONES_COUNT, &bones);
    world->bones = (thenar_bones)bones;
    snprintf(info->title, sizeof info->title, "%s", title);
    text_make_printable(info->title);
}

static void read_bodies(config_map *scene, const thenar_track *tracked, thenar_build *build) {
    static const char *const kinds[] = {"soft", "rigid", "hand"};
    static void (*const readers[])(config_map *, const char *, thenar_build *) = {scene_soft_read, scene_rigid_read};
    config_list bodies;
    config_entries(scene, "bodies", CONFIG_REQUIRED, &bodies);
    while (config_next(&bodies)) {
        config_map body;
        int kind = 0;
        config_item_map(&bodies, &body);
        config_choice(&body, "kind", CONFIG_OPTIONAL, kinds, 3, &kind);
        if (kind < 2)
            readers[kind](&body, bodies.key, build);
        else
            scene_hand_read(&body, bodies.key, tracked, build);
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
    read_bodies(&scene, tracked, build);
    read_handles(&scene, build);
    scene_tactile_read(&scene, build);
    haptic_scene *haptic = read_haptic(&scene);
    config_close(&scene);
    thenar_status status = reader.status;
    if (status == THENAR_OK && tracked) status = thenar_build_set_track(build, tracked, error);
    if (status == THENAR_OK) {
        status = thenar_build_compile(build, model, error);
        if (status != THENAR_OK) error_prefix(error, "%s", path);
        if (status == THENAR_OK && tracked) info->time = fmax(world.dt, thenar_model_track_time(*model));
    }
    if (status == THENAR_OK) {
        (*model)->attachment = haptic;
        (*model)->free_attachment = free_haptic;
    } else {
        free_haptic(haptic);
    }
    thenar_build_free(build);
    return status;
}

thenar_status thenar_scene_options_init(thenar_scene_options *options, size_t size) {
    const thenar_scene_options defaults = {0};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_scene_options");
}

/* text NULL: reads the file, which may be given by name. */
static thenar_status load(const char *path, const char *text, size_t size, const thenar_scene_options *given,
                          thenar_model **model, thenar_scene_info *info, thenar_error *error) {
    char found[PATH_SIZE];
    config tree = {0};
    thenar_scene_info ignored;
    thenar_scene_options options = thenar_scene_options_default();
    thenar_status status =
        given ? sized_take(&options, sizeof options, given, "thenar_scene_options", error) : THENAR_OK;
    *model = NULL;
    if (status == THENAR_OK && !text) {
        status = thenar_scene_find(path, found, sizeof found, error);
        if (status == THENAR_OK)
            path = found;
        else if (options.files) /* may have it */
            status = THENAR_OK;
    }
    if (status != THENAR_OK) return status;
    if (!info) info = &ignored;
    *info = (thenar_scene_info){.time = 1};
    const thenar_file_source *before = file_source_set(options.files);
    status = text ? config_parse(&tree, text, size, path, error) : config_load(&tree, path, error);
    for (int i = 0; i < options.set_count && status == THENAR_OK; i++)
        status = config_set(&tree, options.sets[i], error);
    if (status == THENAR_OK) status = build_model(tree.root, path, options.track, model, info, error);
    config_free(&tree);
    file_source_set(before);
    return status;
}

thenar_status thenar_scene_load(const char *path, const thenar_scene_options *options, thenar_model **model,
                                thenar_scene_info *info, thenar_error *error) {
    USAGE_STATUS(path && model, error, "the path or the pointer to the model is NULL");
    return load(path, NULL, 0, options, model, info, error);
}

thenar_status thenar_scene_parse(const char *text, size_t size, const char *name, const thenar_scene_options *options,
                                 thenar_model **model, thenar_scene_info *info, thenar_error *error) {
    USAGE_STATUS(text && name && model, error, "the text, its name or the pointer to the model is NULL");
    return load(name, text, size, options, model, info, error);
}

/* ---- Scenes by name ---- */

#define MAX_FOLDERS 9

typedef struct scene_folders {
    char *paths[MAX_FOLDERS];
    int count;
} scene_folders;

/* Adds a folder that exists and is not in the list yet. */
static void add_folder(scene_folders *folders, const char *path) {
    struct stat info;
    char *folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? realpath(path, NULL) : NULL;
    bool is_known = false;
    for (int i = 0; folder && i < folders->count; i++) is_known = is_known || strcmp(folders->paths[i], folder) == 0;
    if (folder && !is_known)
        folders->paths[folders->count++] = folder;
    else
        free(folder);
}

static scene_folders find_folders(void) {
    scene_folders folders = {0};
    const char *chosen = getenv("THENAR_SCENES");
    if (chosen && *chosen) add_folder(&folders, chosen);
    Dl_info info;
    /* Next to the library; next to the program, which may contain the library. */
    const char *files[] = {dladdr((void *)find_folders, &info) ? info.dli_fname : "", "/proc/self/exe"};
    /* Of an installed library; of an installed program; of the build trees build/ and build/PRESET/. */
    const char *const beside[] = {SCENES_FROM_LIBRARY, "../share/thenar/scenes", "../scenes", "../../scenes"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *whole = strchr(files[i], '/') ? realpath(files[i], NULL) : NULL;
        for (size_t k = 0; whole && k < sizeof beside / sizeof *beside; k++) {
            char path[PATH_SIZE];
            int length = snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(whole, '/') - whole), whole, beside[k]);
            if (length < PATH_SIZE) add_folder(&folders, path);
        }
        free(whole);
    }
    return folders;
}

static void free_folders(scene_folders *folders) {
    for (int i = 0; i < folders->count; i++) free(folders->paths[i]);
}

/* The first folder that has NAME.yaml, or -1. */
static int find_in(const scene_folders *folders, const char *name, char *path, size_t size) {
    for (int i = 0; i < folders->count; i++) {
        int length = snprintf(path, size, "%s/%s.yaml", folders->paths[i], name);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0) return i;
    }
    return -1;
}

static int is_scene(const struct dirent *entry) {
    return strcmp(file_extension(entry->d_name), "yaml") == 0;
}

thenar_status thenar_scene_each(void (*visit)(void *context, const char *name, const char *path), void *context) {
    USAGE_POINTER(visit, THENAR_ERROR_USAGE);
    scene_folders folders = find_folders();
    for (int i = 0; i < folders.count; i++) {
        struct dirent **entries;
        int count = scandir(folders.paths[i], &entries, is_scene, alphasort);
        for (int k = 0; k < count; k++) {
            char path[PATH_SIZE], *name = entries[k]->d_name;
            *strrchr(name, '.') = 0;
            if (find_in(&folders, name, path, sizeof path) == i) visit(context, name, path);
            free(entries[k]);
        }
        if (count >= 0) free(entries);
    }
    free_folders(&folders);
    return THENAR_OK;
}

typedef struct name_list {
    ARRAY(const char *) names;
} name_list;

static void collect_name(void *context, const char *name, const char *path) {
    (void)path;
    name_list *list = context;
    char *copy = memory_string(name);
    if (copy && !ARRAY_PUSH(&list->names, copy)) free(copy);
}

static thenar_status no_such_scene(const char *name, thenar_error *error) {
    name_list list = {0};
    thenar_scene_each(collect_name, &list);
    const char *closest = text_closest(name, list.names.data, list.names.count);
    thenar_status status =
        closest
            ? error_set(error, THENAR_ERROR_FILE, "%s: no such scene; did you mean %s?", name, closest)
            : error_set(error, THENAR_ERROR_FILE, "%s: no such scene or file; 'thenar list' shows the scenes", name);
    for (size_t i = 0; i < list.names.count; i++) free((void *)list.names.data[i]);
    free(list.names.data);
    return status;
}

thenar_status thenar_scene_find(const char *name, char *path, size_t size, thenar_error *error) {
    USAGE_STATUS(name && path, error, "the name or the path is NULL");
    if (!*name)
        return error_set(error, THENAR_ERROR_FILE, "the name of the scene is empty; 'thenar list' shows the scenes");
    if (!strchr(name, '/')) {
        scene_folders folders = find_folders();
        bool is_found = find_in(&folders, name, path, size) >= 0;
        free_folders(&folders);
        if (is_found) return THENAR_OK;
        if (!*file_extension(name) && access(name, F_OK) != 0) return no_such_scene(name, error);
    }
    if (strlen(name) >= size) return error_set(error, THENAR_ERROR_FILE, "the path of the scene is too long");
    strcpy(path, name);
    return THENAR_OK;
}
