#include "app/view_tunables.h"

#include "core/text.h"
#include "scene/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TUNABLES_MAX 128 /* each may take two overrides, and those have a limit */

typedef struct known_key {
    const char *key, *label, *unit;
    const char *empty; /* offered where the scene does not have it, with these words for what holds then */
} known_key;

static const known_key of_material[] = {{"young", "Young's modulus", "Pa", NULL},
                                        {"poisson", "Poisson's ratio", "", NULL},
                                        {"density", "Density", "kg/m³", NULL}};
static const known_key of_flesh[] = {{"young", "Young's modulus", "Pa", "as usual"},
                                     {"poisson", "Poisson's ratio", "", "as usual"},
                                     {"density", "Density", "kg/m³", "as usual"}};
static const known_key of_damping[] = {{"mass", "Damping, mass", "1/s", NULL},
                                       {"stiffness", "Damping, stiff.", "s", NULL}};
static const known_key of_limits[] = {{"min", "Least stretch", "", "none"}, {"max", "Largest stretch", "", "none"}};
static const known_key of_body[] = {{"friction", "Friction", "", "as usual"}};

/* The number of a key, or NaN. */
static double number_of(const config_node *map, const char *key) {
    const config_node *node = map && map->kind == CONFIG_MAPPING ? config_find(map, key) : NULL;
    double value;
    return node && node->kind == CONFIG_SCALAR && node->plain && text_to_double(node->text, &value) ? value : NAN;
}

static config_node *child(const config_node *map, const char *key) {
    config_node *node = map && map->kind == CONFIG_MAPPING ? config_find(map, key) : NULL;
    return node && node->kind == CONFIG_MAPPING ? node : NULL;
}

static bool add_keys(view_tunables *tunables, const config_node *map, const char *path, const char *body,
                     const known_key *keys, size_t count) {
    for (size_t i = 0; i < count && tunables->list.count < TUNABLES_MAX; i++) {
        double value = number_of(map, keys[i].key);
        if (isnan(value) && !keys[i].empty) continue;
        view_tunable one = {
            .label = keys[i].label, .unit = keys[i].unit, .empty = keys[i].empty, .value = value, .needs_map = !map};
        int length = snprintf(one.path, sizeof one.path, "%s.%s", path, keys[i].key);
        if (length < 0 || (size_t)length >= sizeof one.path) continue;
        snprintf(one.body, sizeof one.body, "%s", body);
        if (!ARRAY_PUSH(&tunables->list, one)) return false;
    }
    return true;
}
#define ADD_KEYS(tunables, map, path, body, keys)                                                                      \
    add_keys(tunables, map, path, body, keys, sizeof(keys) / sizeof *(keys))

static bool add_body(view_tunables *tunables, const config_node *body) {
    const config_node *material = child(body, "material"), *kind = config_find(body, "kind");
    bool soft = !kind || (kind->kind == CONFIG_SCALAR && strcmp(kind->text, "soft") == 0);
    bool hand = kind && kind->kind == CONFIG_SCALAR && strcmp(kind->text, "hand") == 0;
    char path[TUNABLE_PATH];
    /* A name with dots or brackets in it cannot be part of a path. */
    if (strpbrk(body->key, ".[]=") || strlen(body->key) > 100) return true;
    snprintf(path, sizeof path, "bodies.%s.material", body->key);
    bool good = hand ? ADD_KEYS(tunables, material, path, body->key, of_flesh)
                     : !material || ADD_KEYS(tunables, material, path, body->key, of_material);
    snprintf(path, sizeof path, "bodies.%s.material.limits", body->key);
    good = good && (!material || !soft || ADD_KEYS(tunables, child(material, "limits"), path, body->key, of_limits));
    snprintf(path, sizeof path, "bodies.%s.material.damping", body->key);
    good = good && (!material || ADD_KEYS(tunables, child(material, "damping"), path, body->key, of_damping));
    snprintf(path, sizeof path, "bodies.%s", body->key);
    return good && ADD_KEYS(tunables, body, path, body->key, of_body);
}

thenar_status tunables_read(view_tunables *tunables, const char *path, const option_list *sets, thenar_error *error) {
    config tree = {0};
    thenar_status status = config_load(&tree, path, error);
    for (int i = 0; i < sets->count && status == THENAR_OK; i++) status = config_set(&tree, sets->values[i], error);
    if (status != THENAR_OK) return status;
    bool good = true;
    const config_node *bodies = child(tree.root, "bodies");
    for (const config_node *body = bodies ? bodies->first : NULL; body && good; body = body->next)
        if (body->kind == CONFIG_MAPPING) good = add_body(tunables, body);
    config_free(&tree);
    return good ? THENAR_OK : error_memory(error, "what can be changed");
}

void tunables_to_sets(const view_tunables *tunables, option_list *sets, tunable_text *texts) {
    for (size_t i = 0; i < tunables->list.count; i++) {
        const view_tunable *one = &tunables->list.data[i];
        if (!one->changed) continue;
        bool made = false; /* the mapping, by an earlier key of it */
        for (size_t k = 0; k < i; k++) {
            const view_tunable *other = &tunables->list.data[k];
            const char *dot = strrchr(one->path, '.');
            made = made || (other->changed && other->needs_map &&
                            strncmp(other->path, one->path, (size_t)(dot - one->path) + 1) == 0);
        }
        if (one->needs_map && !made && sets->count < OPTION_LIST_LIMIT) {
            snprintf(texts->text, sizeof texts->text, "%.*s={}", (int)(strrchr(one->path, '.') - one->path), one->path);
            sets->values[sets->count++] = (texts++)->text;
        }
        if (sets->count >= OPTION_LIST_LIMIT) return;
        if (isnan(one->value))
            snprintf(texts->text, sizeof texts->text, "%s=~", one->path);
        else
            snprintf(texts->text, sizeof texts->text, "%s=%.17g", one->path, one->value);
        sets->values[sets->count++] = (texts++)->text;
    }
}

json_t *tunables_describe(const view_tunables *tunables) {
    json_t *list = json_array();
    for (size_t i = 0; i < tunables->list.count; i++) {
        const view_tunable *one = &tunables->list.data[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o}", "path", one->path, "body", one->body,
                                              "label", one->label, "unit", one->unit, "empty", one->empty, "value",
                                              isnan(one->value) ? json_null() : json_real(one->value)));
    }
    return list;
}

json_t *tunables_values(const view_tunables *tunables) {
    json_t *list = json_array();
    for (size_t i = 0; i < tunables->list.count; i++) {
        double value = tunables->list.data[i].value;
        json_array_append_new(list, isnan(value) ? json_null() : json_real(value));
    }
    return list;
}

void tunables_free(view_tunables *tunables) {
    free(tunables->list.data);
    *tunables = (view_tunables){0};
}
