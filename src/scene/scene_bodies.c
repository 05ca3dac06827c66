/* The bodies of a scene: soft, rigid, and hands. */
#include "scene/scene.h"

#include "core/memory.h"
#include "world/model.h"

#include "thenar/file.h"

#include <stdlib.h>
#include <string.h>

/* What the definition of a soft body points to. */
typedef struct soft_parts {
    scene_shape shape;
    ARRAY(thenar_soft_region) regions;
    ARRAY(thenar_support) supports;
    ARRAY(thenar_load) loads;
} soft_parts;

static void free_parts(soft_parts *parts) {
    for (size_t i = 0; i < parts->supports.count; i++) free((void *)parts->supports.data[i].keys);
    free(parts->regions.data);
    free(parts->supports.data);
    free(parts->loads.data);
    scene_shape_free(&parts->shape);
}

/* The mapping `where`: a part of a body. */
static void read_region(config_map *map, const scene_shape *shape, thenar_region *region) {
    *region = (thenar_region){.kind = THENAR_REGION_ALL};
    static const char *const kinds[] = {"all", "box", "sphere", "half", "tag"}; /* as in the enumeration */
    config_map where, inner;
    config_list corners;
    const char *name = "";
    bool all = true;
    if (!config_child(map, "where", CONFIG_REQUIRED, &where)) return;
    int kind = config_one_of(&where, "region", kinds, 5);
    if (kind < 0) return;
    region->kind = (thenar_region_kind)kind;
    switch (region->kind) {
    case THENAR_REGION_ALL:
        config_bool(&where, "all", CONFIG_REQUIRED, &all);
        if (!all) config_fail(&where, "all", "all is false; expected true, or another region");
        break;
    case THENAR_REGION_BOX:
        config_sequence(&where, "box", CONFIG_REQUIRED, &corners);
        if (corners.count != 2)
            config_fail(&where, "box", "%zu corners; expected two: [[x, y, z], [x, y, z]]", corners.count);
        if (config_next(&corners)) config_item_vec3(&corners, config_any("m"), region->box_min);
        if (config_next(&corners)) config_item_vec3(&corners, config_any("m"), region->box_max);
        break;
    case THENAR_REGION_SPHERE:
        config_child(&where, "sphere", CONFIG_REQUIRED, &inner);
        config_vec3(&inner, "centre", CONFIG_REQUIRED, config_any("m"), region->centre);
        config_number(&inner, "radius", CONFIG_REQUIRED, config_positive("m"), &region->radius);
        config_close(&inner);
        break;
    case THENAR_REGION_HALF:
        config_child(&where, "half", CONFIG_REQUIRED, &inner);
        config_vec3(&inner, "point", CONFIG_REQUIRED, config_any("m"), region->point);
        config_vec3(&inner, "normal", CONFIG_REQUIRED, config_any(""), region->normal);
        config_close(&inner);
        break;
    case THENAR_REGION_TAG:
        config_text(&where, "tag", CONFIG_REQUIRED, &name);
        region->tag = scene_shape_find_tag(shape, name);
        if (region->tag < 0) config_integer(&where, "tag", CONFIG_REQUIRED, 0, 1000000, &region->tag);
        break;
    }
    config_close(&where);
}

static const config_range min_range = {.low = 0, .high = 1, .above_low = true, .below_high = true};
static const config_range max_range = {.low = 1, .high = 1e6, .above_low = true};

/* Strain limits along directions of the rest shape. */
static void read_fibres(config_map *limits, thenar_material *material) {
    config_list list;
    if (!config_sequence(limits, "along", CONFIG_OPTIONAL, &list)) return;
    if (list.count > THENAR_FIBRES)
        config_fail(limits, "along", "%zu directions; expected at most %d", list.count, THENAR_FIBRES);
    memset(material->fibres, 0, sizeof material->fibres);
    while (config_next(&list)) {
        config_map item;
        thenar_fibre *fibre = &material->fibres[list.index];
        config_item_map(&list, &item);
        config_vec3(&item, "direction", CONFIG_REQUIRED, config_any(""), fibre->direction);
        if (item.node && vec3_length(vec3_load(fibre->direction)) == 0)
            config_fail(&item, "direction", "no direction; expected a vector that is not zero");
        config_number(&item, "min", CONFIG_OPTIONAL, min_range, &fibre->stretch_min);
        config_number(&item, "max", CONFIG_OPTIONAL, max_range, &fibre->stretch_max);
        config_close(&item);
    }
}

/* The mapping `material`; what it lacks stays unchanged. */
static void read_material(config_map *map, config_need need, thenar_material *material) {
    config_map child, damping, limits;
    if (!config_child(map, "material", need, &child)) return;
    config_number(&child, "young", need, config_positive("Pa"), &material->young);
    config_number(&child, "poisson", CONFIG_OPTIONAL,
                  (config_range){.low = -1, .high = 0.5, .above_low = true, .below_high = true}, &material->poisson);
    config_number(&child, "density", CONFIG_OPTIONAL, config_positive("kg/m^3"), &material->density);
    if (config_child(&child, "damping", CONFIG_OPTIONAL, &damping)) {
        config_number(&damping, "mass", CONFIG_OPTIONAL, config_not_negative("1/s"), &material->damping_mass);
        config_number(&damping, "stiffness", CONFIG_OPTIONAL, config_not_negative("s"), &material->damping_stiffness);
        config_close(&damping);
    }
    if (config_child(&child, "limits", CONFIG_OPTIONAL, &limits)) {
        config_number(&limits, "min", CONFIG_OPTIONAL, min_range, &material->stretch_min);
        config_number(&limits, "max", CONFIG_OPTIONAL, max_range, &material->stretch_max);
        read_fibres(&limits, material);
        config_close(&limits);
    }
    config_close(&child);
}

static void read_regions(config_map *body, const thenar_soft_def *def, soft_parts *parts) {
    config_list list;
    if (!config_sequence(body, "regions", CONFIG_OPTIONAL, &list)) return;
    while (config_next(&list)) {
        config_map item;
        thenar_soft_region region = {.material = def->material};
        config_item_map(&list, &item);
        read_region(&item, &parts->shape, &region.region);
        read_material(&item, CONFIG_OPTIONAL, &region.material);
        config_close(&item);
        if (!ARRAY_PUSH(&parts->regions, region)) config_out_of_memory(body);
    }
}

static void read_supports(config_map *body, soft_parts *parts) {
    config_list list;
    if (!config_entries(body, "supports", CONFIG_OPTIONAL, &list)) return;
    while (config_next(&list)) {
        config_map item;
        thenar_support support = {.name = list.key};
        config_item_map(&list, &item);
        read_region(&item, &parts->shape, &support.region);
        support.keys = scene_keys_read(&item, &support.key_count);
        config_bool(&item, "linear", CONFIG_OPTIONAL, &support.linear);
        config_number(&item, "stiffness", CONFIG_OPTIONAL, config_positive("N/m"), &support.stiffness);
        config_number(&item, "damping", CONFIG_OPTIONAL, config_not_negative("N s/m"), &support.damping);
        support.has_pivot = config_vec3(&item, "pivot", CONFIG_OPTIONAL, config_any("m"), support.pivot);
        config_close(&item);
        if (!ARRAY_PUSH(&parts->supports, support)) {
            free((void *)support.keys);
            config_out_of_memory(body);
        }
    }
}

static void read_loads(config_map *body, soft_parts *parts) {
    config_list list;
    if (!config_sequence(body, "loads", CONFIG_OPTIONAL, &list)) return;
    while (config_next(&list)) {
        config_map item;
        thenar_load load = {0};
        config_item_map(&list, &item);
        read_region(&item, &parts->shape, &load.region);
        config_vec3(&item, "force", CONFIG_REQUIRED, config_any("N"), load.force);
        config_close(&item);
        if (!ARRAY_PUSH(&parts->loads, load)) config_out_of_memory(body);
    }
}

/* A length, or `hand`: the spacing that the shape of a hand has at each vertex. */
static void read_contact_spacing(config_map *body, const scene_shape *shape, thenar_soft_def *def) {
    const char *word = "";
    if (!config_has(body, "contact_spacing") || !config_text(body, "contact_spacing", CONFIG_OPTIONAL, &word)) return;
    if (strcmp(word, "hand") != 0) {
        config_number(body, "contact_spacing", CONFIG_OPTIONAL, config_not_negative("m"), &def->contact_spacing);
        return;
    }
    def->contact_spacing_at = shape->contact_spacing;
    if (!shape->contact_spacing)
        config_fail(body, "contact_spacing", "the shape is not a hand; expected a length in m");
}

void scene_soft_read(config_map *body, const char *name, thenar_build *build) {
    soft_parts parts = {0};
    thenar_soft_def def = thenar_soft_def_default();
    thenar_error error;
    def.name = name;
    scene_shape_read(body, &parts.shape);
    read_material(body, CONFIG_REQUIRED, &def.material);
    read_regions(body, &def, &parts);
    read_supports(body, &parts);
    read_loads(body, &parts);
    config_vec3(body, "velocity", CONFIG_OPTIONAL, config_any("m/s"), def.velocity);
    config_vec3(body, "spin", CONFIG_OPTIONAL, config_any("rad/s"), def.spin);
    config_bool(body, "touches", CONFIG_OPTIONAL, &def.touches);
    config_number(body, "friction", CONFIG_OPTIONAL, config_between(0, MODEL_FRICTION_LARGEST, ""), &def.friction);
    read_contact_spacing(body, &parts.shape, &def);
    config_number(body, "self_distance", CONFIG_OPTIONAL, config_not_negative("m"), &def.self_distance);
    config_close(body);
    def.mesh = &parts.shape.mesh;
    def.fill = parts.shape.fill;
    if (parts.shape.embedding.vertex_count > 0) {
        def.surface = &parts.shape.surface;
        def.embedding = &parts.shape.embedding;
    }
    def.regions = parts.regions.data;
    def.region_count = (int)parts.regions.count;
    def.supports = parts.supports.data;
    def.support_count = (int)parts.supports.count;
    def.loads = parts.loads.data;
    def.load_count = (int)parts.loads.count;
    if (body->reader->status == THENAR_OK)
        config_adopt(body, NULL, thenar_build_add_soft(build, &def, &error), error.text);
    free_parts(&parts);
}

static void read_mesh(config_map *shape, thenar_shape *out, thenar_surface *surface) {
    char *path;
    double scale = 1;
    config_number(shape, "scale", CONFIG_OPTIONAL, config_positive(""), &scale);
    if (!config_file(shape, "mesh", CONFIG_REQUIRED, &path)) return;
    thenar_error error;
    config_adopt(shape, "mesh", thenar_surface_load(path, surface, &error), error.text);
    for (int i = 0; i < 3 * surface->vertex_count; i++) surface->positions[i] *= scale;
    out->surface = surface;
    if (shape->reader->status == THENAR_OK) {
        thenar_status status = thenar_surface_check(surface, &error);
        if (status != THENAR_OK) error_prefix(&error, "%s", path);
        config_adopt(shape, "mesh", status, error.text);
    }
    free(path);
}

static void read_plane(config_map *shape, thenar_shape *out) {
    static const double up[3] = {0, 1, 0};
    config_map plane;
    memcpy(out->normal, up, sizeof up);
    if (!config_child(shape, "plane", CONFIG_REQUIRED, &plane)) return;
    config_vec3(&plane, "normal", CONFIG_OPTIONAL, config_any(""), out->normal);
    config_close(&plane);
}

/* The dimensions of a shape, under the key of its kind. */
static void read_kind(config_map *shape, thenar_shape *out, thenar_surface *surface) {
    double round[2] = {0};
    switch (out->kind) {
    case THENAR_SHAPE_SPHERE:
        config_number(shape, "sphere", CONFIG_REQUIRED, config_positive("m"), &out->radius);
        return;
    case THENAR_SHAPE_BOX:
        config_vec3(shape, "box", CONFIG_REQUIRED, config_positive("m"), out->size);
        return;
    case THENAR_SHAPE_CAPSULE:
    case THENAR_SHAPE_CYLINDER:
        config_numbers(shape, out->kind == THENAR_SHAPE_CAPSULE ? "capsule" : "cylinder", CONFIG_REQUIRED,
                       config_positive("m"), 2, round);
        out->radius = round[0];
        out->length = round[1];
        return;
    case THENAR_SHAPE_PLANE:
        read_plane(shape, out);
        return;
    case THENAR_SHAPE_MESH:
        read_mesh(shape, out, surface);
        return;
    }
}

static bool has_edges(thenar_shape_kind kind) {
    return kind == THENAR_SHAPE_BOX || kind == THENAR_SHAPE_CYLINDER || kind == THENAR_SHAPE_MESH;
}

static void read_shape(config_map *body, thenar_rigid_def *def, thenar_surface *surface) {
    static const char *const kinds[] = {"sphere", "box", "capsule", "cylinder", "plane", "mesh"};
    config_map shape;
    if (!config_child(body, "shape", CONFIG_REQUIRED, &shape)) return;
    int kind = config_one_of(&shape, "shape", kinds, 6);
    if (kind < 0) return;
    def->shape.kind = (thenar_shape_kind)kind;
    read_kind(&shape, &def->shape, surface);
    if (has_edges(def->shape.kind))
        config_number(&shape, "rounding", CONFIG_OPTIONAL, config_not_negative("m"), &def->shape.rounding);
    scene_pose_read(&shape, def->pose);
    config_close(&shape);
}

/* Initial velocities and damping. */
static void read_dynamics(config_map *body, thenar_rigid_def *def) {
    config_map damping;
    config_vec3(body, "velocity", CONFIG_OPTIONAL, config_any("m/s"), def->velocity);
    config_vec3(body, "spin", CONFIG_OPTIONAL, config_any("rad/s"), def->spin);
    if (!config_child(body, "damping", CONFIG_OPTIONAL, &damping)) return;
    config_number(&damping, "linear", CONFIG_OPTIONAL, config_not_negative("1/s"), &def->damping_linear);
    config_number(&damping, "angular", CONFIG_OPTIONAL, config_not_negative("1/s"), &def->damping_angular);
    config_close(&damping);
}

static void read_mass(config_map *body, thenar_rigid_def *def) {
    double moments[3];
    config_number(body, "density", CONFIG_OPTIONAL, config_positive("kg/m^3"), &def->density);
    config_number(body, "mass", CONFIG_OPTIONAL, config_positive("kg"), &def->mass);
    if (config_has(body, "density") && config_has(body, "mass"))
        config_fail(body, "mass", "mass and density together; expected one of them");
    if (!config_numbers(body, "inertia", CONFIG_OPTIONAL, config_positive("kg m^2"), 3, moments)) return;
    for (int i = 0; i < 3; i++) def->inertia[4 * i] = moments[i];
}

static void read_path(config_map *body, thenar_rigid_def *def) {
    def->keys = scene_keys_read(body, &def->key_count);
    config_bool(body, "linear", CONFIG_OPTIONAL, &def->linear);
    def->has_pivot = config_vec3(body, "pivot", CONFIG_OPTIONAL, config_any("m"), def->pivot);
}

void scene_rigid_read(config_map *body, const char *name, thenar_build *build) {
    static const char *const motions[] = {"dynamic", "driven", "static"};
    thenar_rigid_def def = thenar_rigid_def_default();
    thenar_surface surface = {0};
    thenar_error error;
    int motion = THENAR_MOTION_DYNAMIC;
    def.name = name;
    config_choice(body, "motion", CONFIG_OPTIONAL, motions, 3, &motion);
    def.motion = (thenar_motion)motion;
    read_shape(body, &def, &surface);
    read_mass(body, &def);
    read_dynamics(body, &def);
    read_path(body, &def);
    config_bool(body, "touches", CONFIG_OPTIONAL, &def.touches);
    config_number(body, "friction", CONFIG_OPTIONAL, config_between(0, MODEL_FRICTION_LARGEST, ""), &def.friction);
    config_close(body);
    if (body->reader->status == THENAR_OK)
        config_adopt(body, NULL, thenar_build_add_rigid(build, &def, &error), error.text);
    free((void *)def.keys);
    thenar_surface_free(&surface);
}

/* What the definition of a hand points to. */
typedef struct hand_parts {
    char *file, *track;
    thenar_hand_shape *shape;
    thenar_track *frames;
    ARRAY(thenar_hand_key) keys;
    double *angles; /* HAND_ANGLES per key */
    thenar_key *base_keys;
} hand_parts;

/* The phalanges of `only`, as bits. */
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

static void read_hand_shape(config_map *body, thenar_hand_def *def, hand_parts *parts) {
    config_map shape;
    if (!config_child(body, "shape", CONFIG_REQUIRED, &shape)) return;
    hand_options options = hand_options_default();
    scene_hand_options_read(&shape, &options, &parts->file);
    config_bool(&shape, "phalanges", CONFIG_OPTIONAL, &def->phalanges);
    read_only(&shape, &def->only);
    scene_pose_read(&shape, def->pose);
    config_close(&shape);
    def->length = options.length;
    def->breadth = options.breadth;
    def->left = options.left;
    def->tets = options.fineness.tets;
    def->detail = options.fineness.detail;
    /* The defaults of the flesh depend on the detail. */
    if (options.fineness.tets == 0) thenar_hand_def_set_detail(def, options.fineness.detail);
    def->triangles = options.triangles;
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
    config_number(&bones, "most_force", CONFIG_OPTIONAL, config_not_negative("N"), &def->max_force);
    config_number(&bones, "most_torque", CONFIG_OPTIONAL, config_not_negative("N m"), &def->max_torque);
    config_number(&bones, "coupling", CONFIG_OPTIONAL, config_not_negative(""), &def->bone_coupling);
    config_close(&bones);
}

/* The angles of the fingers that are named, four per finger. */
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

static void read_pose(config_map *map, config_need need, thenar_hand_pose *pose) {
    const char *names[THENAR_HAND_POSE_COUNT];
    int index = (int)*pose;
    for (int i = 0; i < THENAR_HAND_POSE_COUNT; i++) names[i] = thenar_hand_pose_name((thenar_hand_pose)i);
    config_choice(map, "pose", need, names, THENAR_HAND_POSE_COUNT, &index);
    *pose = (thenar_hand_pose)index;
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
        read_pose(&item, CONFIG_OPTIONAL, &key.pose);
        if (config_child(&item, "blend", CONFIG_OPTIONAL, &blend)) {
            read_pose(&blend, CONFIG_REQUIRED, &key.other);
            config_number(&blend, "share", CONFIG_REQUIRED, config_between(0, 1, ""), &key.share);
            config_close(&blend);
        }
        read_degrees(&item, parts->angles + HAND_ANGLES * list.index);
        config_close(&item);
        if (!ARRAY_PUSH(&parts->keys, key)) config_out_of_memory(body);
    }
}

static void free_hand_parts(hand_parts *parts) {
    free(parts->file);
    free(parts->track);
    thenar_hand_shape_free(parts->shape);
    thenar_track_free(parts->frames);
    free(parts->keys.data);
    free(parts->angles);
    free(parts->base_keys);
}

void scene_hand_read(config_map *body, const char *name, const thenar_track *tracked, thenar_build *build) {
    hand_parts parts = {0};
    thenar_hand_def def = thenar_hand_def_default();
    def.name = name;
    read_hand_shape(body, &def, &parts);
    bool limited = true;
    config_bool(body, "limited", CONFIG_OPTIONAL, &limited);
    read_material(body, CONFIG_OPTIONAL, &def.material);
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
    config_map tissues;
    if (config_child(body, "tissues", CONFIG_OPTIONAL, &tissues)) {
        config_number(&tissues, "skin", CONFIG_OPTIONAL, config_positive(""), &def.skin_young);
        config_number(&tissues, "joint", CONFIG_OPTIONAL, config_positive(""), &def.joint_young);
        config_number(&tissues, "palm", CONFIG_OPTIONAL, config_positive(""), &def.palm_young);
        config_close(&tissues);
    }
    read_bones(body, &def);
    read_poses(body, &parts);
    parts.base_keys = scene_keys_read(body, &def.base_key_count);
    config_bool(body, "linear", CONFIG_OPTIONAL, &def.linear);
    config_file(body, "track", CONFIG_OPTIONAL, &parts.track);
    config_number(body, "smoothing", CONFIG_OPTIONAL, config_not_negative("Hz"), &def.smoothing);
    config_number(body, "smoothing_opening", CONFIG_OPTIONAL, config_not_negative("Hz s/m"), &def.smoothing_opening);
    config_number(body, "smoothing_derivative", CONFIG_OPTIONAL, config_positive("Hz"), &def.smoothing_derivative);
    config_number(body, "smoothing_noise", CONFIG_OPTIONAL, config_not_negative("m/s"), &def.smoothing_noise);
    config_bool(body, "fit", CONFIG_OPTIONAL, &def.fit);
    config_bool(body, "pinch", CONFIG_OPTIONAL, &def.pinch);
    config_bool(body, "touches", CONFIG_OPTIONAL, &def.touches);
    config_number(body, "friction", CONFIG_OPTIONAL, config_between(0, MODEL_FRICTION_LARGEST, ""), &def.friction);
    config_number(body, "contact_spacing", CONFIG_OPTIONAL, config_not_negative(""), &def.contact_spacing);
    config_number(body, "self_distance", CONFIG_OPTIONAL, config_not_negative("m"), &def.self_distance);
    config_close(body);
    def.keys = parts.keys.data;
    def.key_count = (int)parts.keys.count;
    def.base_keys = parts.base_keys;
    thenar_error error;
    if (body->reader->status == THENAR_OK && parts.file)
        config_adopt(body, NULL,
                     def.tets > 0 ? thenar_hand_shape_load(parts.file, def.tets, &parts.shape, &error)
                                  : thenar_hand_shape_load_detail(parts.file, def.detail, &parts.shape, &error),
                     error.text);
    if (body->reader->status == THENAR_OK && parts.track)
        config_adopt(body, NULL, thenar_track_load(parts.track, &parts.frames, &error), error.text);
    def.shape = parts.shape;
    def.track = parts.frames;
    if (tracked && !def.shape && thenar_track_has_hand(tracked, def.left)) def.track = tracked;
    if (body->reader->status == THENAR_OK)
        config_adopt(body, NULL, thenar_build_add_hand(build, &def, &error), error.text);
    free_hand_parts(&parts);
}
