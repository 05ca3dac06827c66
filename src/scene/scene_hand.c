#include "scene/scene_hand.h"

#include "base/memory.h"
#include "scene/scene_keys.h"
#include "scene/scene_shape.h"
#include "scene/scene_soft.h"
#include "world/model.h"

#include <stdlib.h>
#include <string.h>

#define DEGREE (3.14159265358979323846 / 180)

/* What a hand's definition points to while it is read. */
typedef struct hand_parts {
    char *file, *track;
    ARRAY(thenar_hand_key) keys;
    double *angles; /* HAND_ANGLES a key */
    thenar_key *base_keys;
} hand_parts;

/* The bones that are named, as bits. */
static void read_only(config_map *shape, unsigned *bones) {
    config_list list;
    if (!config_sequence(shape, "only", CONFIG_OPTIONAL, &list)) return;
    if (list.count == 0) config_fail(shape, "only", "names no phalanx; expected at least one, or no such key");
    const char *names[HAND_BONES - 1];
    for (int b = 1; b < HAND_BONES; b++) names[b - 1] = hand_bone_name(b);
    int bone;
    while (config_next(&list))
        if (config_item_choice(&list, names, HAND_BONES - 1, &bone)) *bones |= 1u << (bone + 1);
}

static void read_shape(config_map *body, thenar_hand_def *def, hand_parts *parts) {
    config_map shape;
    if (!config_child(body, "shape", CONFIG_REQUIRED, &shape)) return;
    hand_options options = hand_options_default();
    vec3 move = {0}, turn = {0};
    scene_hand_options_read(&shape, &options, &parts->file);
    config_bool(&shape, "phalanges", CONFIG_OPTIONAL, &def->phalanges);
    read_only(&shape, &def->only);
    config_vec3(&shape, "move", CONFIG_OPTIONAL, config_any("m"), &move);
    config_vec3(&shape, "turn", CONFIG_OPTIONAL, config_any("rad"), &turn);
    config_close(&shape);
    def->length = options.length;
    def->breadth = options.breadth;
    def->left = options.left;
    def->tets = options.tets;
    def->triangles = options.triangles;
    vec3_store(def->move, move);
    vec3_store(def->turn, turn);
}

static void read_bones(config_map *body, thenar_hand_def *def) {
    config_map bones;
    if (!config_child(body, "bones", CONFIG_OPTIONAL, &bones)) return;
    config_number(&bones, "share", CONFIG_OPTIONAL, config_between(0.01, 0.99, ""), &def->bone_share);
    config_bool(&bones, "weight", CONFIG_OPTIONAL, &def->weight);
    config_number(&bones, "flesh_stiffness", CONFIG_OPTIONAL, config_positive("N/m"), &def->flesh_stiffness);
    config_number(&bones, "flesh_damping", CONFIG_OPTIONAL, config_not_negative("N s/m"), &def->flesh_damping);
    config_number(&bones, "skin_share", CONFIG_OPTIONAL, config_between(0, 1, ""), &def->skin_share);
    config_number(&bones, "joint_stiffness", CONFIG_OPTIONAL, config_positive("N m/rad"), &def->joint_stiffness);
    config_number(&bones, "joint_damping", CONFIG_OPTIONAL, config_not_negative("N m s/rad"), &def->joint_damping);
    config_number(&bones, "base_stiffness", CONFIG_OPTIONAL, config_positive("N/m"), &def->base_stiffness);
    config_number(&bones, "base_damping", CONFIG_OPTIONAL, config_not_negative("N s/m"), &def->base_damping);
    config_number(&bones, "base_turn_stiffness", CONFIG_OPTIONAL, config_positive("N m/rad"),
                  &def->base_turn_stiffness);
    config_number(&bones, "base_turn_damping", CONFIG_OPTIONAL, config_not_negative("N m s/rad"),
                  &def->base_turn_damping);
    config_number(&bones, "most_force", CONFIG_OPTIONAL, config_not_negative("N"), &def->most_force);
    config_number(&bones, "most_torque", CONFIG_OPTIONAL, config_not_negative("N m"), &def->most_torque);
    config_number(&bones, "coupling", CONFIG_OPTIONAL, config_not_negative(""), &def->bone_coupling);
    config_close(&bones);
}

/* Angles of some fingers, four each. */
static void read_degrees(config_map *item, double angles[HAND_ANGLES]) {
    static const char *const fingers[HAND_FINGERS] = {"thumb", "index", "middle", "ring", "little"};
    config_map degrees;
    for (int i = 0; i < HAND_ANGLES; i++) angles[i] = NAN;
    if (!config_child(item, "degrees", CONFIG_OPTIONAL, &degrees)) return;
    for (int f = 0; f < HAND_FINGERS; f++) {
        double *own = angles + HAND_FINGER_ANGLES * f;
        if (!config_numbers(&degrees, fingers[f], CONFIG_OPTIONAL, config_between(-180, 180, "degrees"),
                            HAND_FINGER_ANGLES, own))
            continue;
        for (int k = 0; k < HAND_FINGER_ANGLES; k++) own[k] *= DEGREE;
    }
    config_close(&degrees);
}

static void read_poses(config_map *body, hand_parts *parts) {
    config_list list;
    if (!config_sequence(body, "poses", CONFIG_OPTIONAL, &list)) return;
    parts->angles = MEMORY_ARRAY(double, HAND_ANGLES *list.count);
    if (!parts->angles) {
        config_out_of_memory(body);
        return;
    }
    while (config_next(&list)) {
        config_map item, blend;
        thenar_hand_key key = {.angles = parts->angles + HAND_ANGLES * list.index};
        config_item_map(&list, &item);
        config_number(&item, "time", CONFIG_REQUIRED, config_not_negative("s"), &key.time);
        config_text(&item, "pose", CONFIG_OPTIONAL, &key.pose);
        if (config_child(&item, "blend", CONFIG_OPTIONAL, &blend)) {
            config_text(&blend, "pose", CONFIG_REQUIRED, &key.other);
            config_number(&blend, "share", CONFIG_REQUIRED, config_between(0, 1, ""), &key.share);
            config_close(&blend);
        }
        read_degrees(&item, parts->angles + HAND_ANGLES * list.index);
        config_close(&item);
        if (!ARRAY_PUSH(&parts->keys, key)) config_out_of_memory(body);
    }
}

static void free_parts(hand_parts *parts) {
    free(parts->file);
    free(parts->track);
    free(parts->keys.data);
    free(parts->angles);
    free(parts->base_keys);
}

void scene_hand_read(config_map *body, const char *name, thenar_build *build) {
    hand_parts parts = {0};
    thenar_hand_def def = thenar_hand_def_default();
    def.name = name;
    read_shape(body, &def, &parts);
    bool limited = true;
    config_bool(body, "limited", CONFIG_OPTIONAL, &limited);
    scene_material_read(body, CONFIG_OPTIONAL, &def.material);
    if (!limited) {
        def.material.stretch_min = def.material.stretch_max = 0;
        memset(def.material.fibres, 0, sizeof def.material.fibres);
    }
    config_map joints;
    if (config_child(body, "joints", CONFIG_OPTIONAL, &joints)) {
        config_number(&joints, "min", CONFIG_OPTIONAL, config_between(0, 1, ""), &def.joint_stretch_min);
        config_number(&joints, "max", CONFIG_OPTIONAL, config_between(1, 1e6, ""), &def.joint_stretch_max);
        config_close(&joints);
    }
    read_bones(body, &def);
    read_poses(body, &parts);
    parts.base_keys = scene_keys_read(body, &def.base_key_count);
    config_bool(body, "linear", CONFIG_OPTIONAL, &def.linear);
    config_file(body, "track", CONFIG_OPTIONAL, &parts.track);
    config_number(body, "smoothing", CONFIG_OPTIONAL, config_not_negative("Hz"), &def.smoothing);
    config_bool(body, "touches", CONFIG_OPTIONAL, &def.touches);
    config_number(body, "friction", CONFIG_OPTIONAL, config_between(0, MODEL_FRICTION_LARGEST, ""), &def.friction);
    config_number(body, "contact_spacing", CONFIG_OPTIONAL, config_not_negative(""), &def.contact_spacing);
    config_number(body, "self_distance", CONFIG_OPTIONAL, config_not_negative("m"), &def.self_distance);
    config_close(body);
    def.file = parts.file;
    def.track = parts.track;
    def.keys = parts.keys.data;
    def.key_count = (int)parts.keys.count;
    def.base_keys = parts.base_keys;
    if (body->reader->status == THENAR_OK) {
        thenar_error error;
        config_adopt(body, NULL, thenar_build_add_hand(build, &def, &error), error.text);
    }
    free_parts(&parts);
}
