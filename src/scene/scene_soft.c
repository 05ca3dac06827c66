#include "scene/scene_soft.h"

#include "base/memory.h"
#include "scene/scene_keys.h"
#include "scene/scene_shape.h"
#include "world/model.h"

#include <stdlib.h>
#include <string.h>

/* What a soft body's definition points to while it is read. */
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

/* A region under the key `where`: one of all, box, sphere, half, tag. */
static void read_region(config_map *map, const scene_shape *shape, thenar_region *region) {
    *region = (thenar_region){.kind = THENAR_REGION_ALL};
    config_map where;
    config_list corners;
    if (!config_child(map, "where", CONFIG_REQUIRED, &where)) return;
    static const char *const kinds[] = {"all", "box", "sphere", "half", "tag"};
    int given = 0;
    for (int i = 0; i < 5; i++) given += config_has(&where, kinds[i]);
    if (given != 1) config_fail(&where, NULL, "%d regions; expected one of all, box, sphere, half, tag", given);
    vec3 a = {0}, b = {0};
    config_map inner;
    bool all = true;
    if (config_has(&where, "box")) {
        region->kind = THENAR_REGION_BOX;
        config_sequence(&where, "box", CONFIG_REQUIRED, &corners);
        if (corners.count != 2)
            config_fail(&where, "box", "%zu corners; expected two: [[x, y, z], [x, y, z]]", corners.count);
        if (config_next(&corners)) config_item_vec3(&corners, config_any("m"), &a);
        if (config_next(&corners)) config_item_vec3(&corners, config_any("m"), &b);
    } else if (config_has(&where, "sphere")) {
        region->kind = THENAR_REGION_SPHERE;
        config_child(&where, "sphere", CONFIG_REQUIRED, &inner);
        config_vec3(&inner, "centre", CONFIG_REQUIRED, config_any("m"), &a);
        config_number(&inner, "radius", CONFIG_REQUIRED, config_positive("m"), &region->radius);
        config_close(&inner);
    } else if (config_has(&where, "half")) {
        region->kind = THENAR_REGION_HALF;
        config_child(&where, "half", CONFIG_REQUIRED, &inner);
        config_vec3(&inner, "point", CONFIG_REQUIRED, config_any("m"), &a);
        config_vec3(&inner, "normal", CONFIG_REQUIRED, config_any(""), &b);
        config_close(&inner);
    } else if (config_has(&where, "tag")) {
        region->kind = THENAR_REGION_TAG;
        const char *name = "";
        config_text(&where, "tag", CONFIG_REQUIRED, &name);
        region->tag = scene_shape_find_tag(shape, name);
        if (region->tag < 0) config_integer(&where, "tag", CONFIG_REQUIRED, 0, 1000000, &region->tag);
    } else {
        config_bool(&where, "all", CONFIG_REQUIRED, &all);
        if (!all) config_fail(&where, "all", "all is false; expected true, or another region");
    }
    vec3_store(region->a, a);
    vec3_store(region->b, b);
    config_close(&where);
}

static const config_range min_range = {.low = 0, .high = 1, .above_low = true, .below_high = true};
static const config_range max_range = {.low = 1, .high = 1e6, .above_low = true};

/* Limits along directions of the rest shape. */
static void read_fibres(config_map *limits, thenar_material *material) {
    config_list list;
    if (!config_sequence(limits, "along", CONFIG_OPTIONAL, &list)) return;
    if (list.count > THENAR_FIBRES)
        config_fail(limits, "along", "%zu directions; expected at most %d", list.count, THENAR_FIBRES);
    memset(material->fibres, 0, sizeof material->fibres);
    while (config_next(&list)) {
        config_map item;
        vec3 direction = {0};
        thenar_fibre *fibre = &material->fibres[list.index];
        config_item_map(&list, &item);
        config_vec3(&item, "direction", CONFIG_REQUIRED, config_any(""), &direction);
        if (item.node && vec3_length(direction) == 0)
            config_fail(&item, "direction", "no direction; expected a vector that is not zero");
        config_number(&item, "min", CONFIG_OPTIONAL, min_range, &fibre->min);
        config_number(&item, "max", CONFIG_OPTIONAL, max_range, &fibre->max);
        config_close(&item);
        vec3_store(fibre->direction, direction);
    }
}

void scene_material_read(config_map *map, config_need need, thenar_material *material) {
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
        scene_material_read(&item, CONFIG_OPTIONAL, &region.material);
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
        vec3 pivot = {0};
        config_item_map(&list, &item);
        read_region(&item, &parts->shape, &support.region);
        support.keys = scene_keys_read(&item, &support.key_count);
        config_bool(&item, "linear", CONFIG_OPTIONAL, &support.linear);
        config_number(&item, "stiffness", CONFIG_OPTIONAL, config_positive("N/m"), &support.stiffness);
        config_number(&item, "damping", CONFIG_OPTIONAL, config_not_negative("N s/m"), &support.damping);
        support.has_pivot = config_vec3(&item, "pivot", CONFIG_OPTIONAL, config_any("m"), &pivot);
        vec3_store(support.pivot, pivot);
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
        vec3 force = {0};
        config_item_map(&list, &item);
        read_region(&item, &parts->shape, &load.region);
        config_vec3(&item, "force", CONFIG_REQUIRED, config_any("N"), &force);
        vec3_store(load.force, force);
        config_close(&item);
        if (!ARRAY_PUSH(&parts->loads, load)) config_out_of_memory(body);
    }
}

/* A length, or `hand`: what the hand's shape has for its own skin. */
static void read_contact_spacing(config_map *body, const scene_shape *shape, thenar_soft_def *def) {
    const char *word = "";
    if (!config_has(body, "contact_spacing") || !config_text(body, "contact_spacing", CONFIG_OPTIONAL, &word)) return;
    if (strcmp(word, "hand") != 0) {
        config_number(body, "contact_spacing", CONFIG_OPTIONAL, config_not_negative("m"), &def->contact_spacing);
        return;
    }
    def->contact_spacing_at = shape->contact_spacing;
    if (!shape->contact_spacing)
        config_fail(body, "contact_spacing", "the body is no hand; expected a length in m, or a shape with hand");
}

static void add_body(config_map *body, const thenar_soft_def *def, thenar_build *build) {
    if (body->reader->status != THENAR_OK) return;
    thenar_error error;
    config_adopt(body, NULL, thenar_build_add_soft(build, def, &error), error.text);
}

void scene_soft_read(config_map *body, const char *name, thenar_build *build) {
    soft_parts parts = {0};
    thenar_soft_def def = thenar_soft_def_default();
    vec3 velocity = {0}, spin = {0};
    def.name = name;
    scene_shape_read(body, &parts.shape);
    scene_material_read(body, CONFIG_REQUIRED, &def.material);
    read_regions(body, &def, &parts);
    read_supports(body, &parts);
    read_loads(body, &parts);
    config_vec3(body, "velocity", CONFIG_OPTIONAL, config_any("m/s"), &velocity);
    config_vec3(body, "spin", CONFIG_OPTIONAL, config_any("rad/s"), &spin);
    config_bool(body, "touches", CONFIG_OPTIONAL, &def.touches);
    config_number(body, "friction", CONFIG_OPTIONAL, config_between(0, MODEL_FRICTION_LARGEST, ""), &def.friction);
    read_contact_spacing(body, &parts.shape, &def);
    config_number(body, "self_distance", CONFIG_OPTIONAL, config_not_negative("m"), &def.self_distance);
    config_close(body);
    vec3_store(def.velocity, velocity);
    vec3_store(def.spin, spin);
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
    add_body(body, &def, build);
    free_parts(&parts);
}
