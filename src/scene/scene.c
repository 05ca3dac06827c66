/* A scene file to a model. The keys are documented in docs/scenes.md; every read below is one of them. */
#include "thenar/scene.h"

#include "base/text.h"
#include "scene/config_read.h"
#include "scene/scene.h"
#include "scene/scene_device.h"
#include "scene/scene_hand.h"
#include "scene/scene_handle.h"
#include "scene/scene_haptic.h"
#include "scene/scene_rigid.h"
#include "scene/scene_soft.h"
#include "world/model.h"

#include <stdio.h>
#include <string.h>

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
        static const char *const pressures[] = {"adaptive", "penetration", "uniform"};
        config_choice(&touch, "method", CONFIG_OPTIONAL, contact_method_names, CONTACT_METHODS, &method);
        config_choice(&touch, "pressure", CONFIG_OPTIONAL, pressures, 3, &pressure);
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

static thenar_status build_model(const config_node *root, const char *path, const char *tracked, thenar_model **model,
                                 thenar_scene_info *info, thenar_error *error) {
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

/* Takes the tree over. */
static thenar_status compile(config *tree, const char *path, const thenar_scene_options *options, thenar_model **model,
                             thenar_scene_info *info, thenar_error *error) {
    thenar_scene_info ignored;
    if (!info) info = &ignored;
    *info = (thenar_scene_info){.time = 1};
    thenar_status status = THENAR_OK;
    for (int i = 0; options && i < options->set_count && status == THENAR_OK; i++)
        status = config_set(tree, options->sets[i], error);
    if (status == THENAR_OK)
        status = build_model(tree->root, path, options ? options->track : NULL, model, info, error);
    config_free(tree);
    return status;
}

thenar_status thenar_scene_load(const char *path, const thenar_scene_options *options, thenar_model **model,
                                thenar_scene_info *info, thenar_error *error) {
    *model = NULL;
    config tree = {0};
    thenar_status status = config_load(&tree, path, error);
    return status == THENAR_OK ? compile(&tree, path, options, model, info, error) : status;
}

thenar_status scene_parse(const char *text, size_t size, const char *name, thenar_model **model, thenar_error *error) {
    *model = NULL;
    config tree = {0};
    thenar_status status = config_parse(&tree, text, size, name, error);
    return status == THENAR_OK ? compile(&tree, name, NULL, model, NULL, error) : status;
}
