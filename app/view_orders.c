/* Tunable parameters of a running simulation, and the execution of orders. */
#include "app/view_live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TUNABLES_MAX 128 /* a tunable takes up to two of the OPTION_LIST_LIMIT overrides */

typedef struct known_key {
    const char *key, *label, *unit;
    const char *empty; /* label of the default if the scene lacks the key; NULL: the key is not offered then */
} known_key;

static const known_key of_material[] = {{"young", "Young's modulus", "Pa", NULL},
                                        {"poisson", "Poisson's ratio", "", NULL},
                                        {"density", "Density", "kg/m³", NULL}};
static const known_key of_flesh[] = {{"young", "Young's modulus", "Pa", "default"},
                                     {"poisson", "Poisson's ratio", "", "default"},
                                     {"density", "Density", "kg/m³", "default"}};
static const known_key of_damping[] = {{"mass", "Damping, mass", "1/s", NULL},
                                       {"stiffness", "Damping, stiff.", "s", NULL}};
static const known_key of_limits[] = {{"min", "Least stretch", "", "none"}, {"max", "Largest stretch", "", "none"}};
static const known_key of_body[] = {{"friction", "Friction", "", "default"}};

static bool is_mapping(const thenar_config *scene, const char *path) {
    return thenar_config_kind_at(scene, path) == THENAR_CONFIG_MAPPING;
}

/* Adds the tunables of the mapping at a path. */
static bool add_keys(view_tunables *tunables, const thenar_config *scene, const char *path, const char *body,
                     const known_key *keys, size_t count) {
    for (size_t i = 0; i < count && tunables->list.count < TUNABLES_MAX; i++) {
        view_tunable one = {.label = keys[i].label,
                            .unit = keys[i].unit,
                            .empty = keys[i].empty,
                            .needs_map = !is_mapping(scene, path)};
        int length = snprintf(one.path, sizeof one.path, "%s.%s", path, keys[i].key);
        if (length < 0 || (size_t)length >= sizeof one.path) continue;
        one.value = thenar_config_number(scene, one.path);
        if (isnan(one.value) && !keys[i].empty) continue;
        snprintf(one.body, sizeof one.body, "%s", body);
        if (!LIST_PUSH(&tunables->list, one)) return false;
    }
    return true;
}
#define ADD_KEYS(path, keys) add_keys(tunables, scene, path, body, keys, sizeof(keys) / sizeof *(keys))

static bool add_body(view_tunables *tunables, const thenar_config *scene, const char *body) {
    char path[TUNABLE_PATH], kind_path[TUNABLE_PATH], material[TUNABLE_PATH];
    /* Such a name cannot be part of a path. */
    if (strpbrk(body, ".[]=") || strlen(body) > 100) return true;
    snprintf(path, sizeof path, "bodies.%s", body);
    if (!is_mapping(scene, path)) return true;
    snprintf(kind_path, sizeof kind_path, "bodies.%s.kind", body);
    snprintf(material, sizeof material, "bodies.%s.material", body);
    const char *kind = thenar_config_text(scene, kind_path);
    bool soft = thenar_config_kind_at(scene, kind_path) == THENAR_CONFIG_NONE || (kind && strcmp(kind, "soft") == 0);
    bool hand = kind && strcmp(kind, "hand") == 0, has_material = is_mapping(scene, material);
    bool good = hand ? ADD_KEYS(material, of_flesh) : !has_material || ADD_KEYS(material, of_material);
    snprintf(path, sizeof path, "bodies.%s.material.limits", body);
    good = good && (!has_material || !soft || ADD_KEYS(path, of_limits));
    snprintf(path, sizeof path, "bodies.%s.material.damping", body);
    good = good && (!has_material || ADD_KEYS(path, of_damping));
    snprintf(path, sizeof path, "bodies.%s", body);
    return good && ADD_KEYS(path, of_body);
}

thenar_status tunables_read(view_tunables *tunables, const char *path, const option_list *sets, thenar_error *error) {
    thenar_config *scene;
    thenar_status status = thenar_config_load(path, &scene, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < sets->count && status == THENAR_OK; i++)
        status = thenar_config_set(scene, sets->values[i], error);
    bool good = true;
    for (int i = 0; status == THENAR_OK && good && i < thenar_config_count(scene, "bodies"); i++) {
        const char *body = thenar_config_key(scene, "bodies", i);
        good = !body || add_body(tunables, scene, body);
    }
    thenar_config_free(scene);
    return good ? status : fail_memory(error, "tunable parameters");
}

void tunables_to_sets(const view_tunables *tunables, option_list *sets, tunable_text *texts) {
    for (size_t i = 0; i < tunables->list.count; i++) {
        const view_tunable *one = &tunables->list.data[i];
        if (!one->changed) continue;
        bool made = false; /* an earlier override creates the mapping */
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

/* ------------------------------------------------------------------------------------------------------------- orders */

void live_notice(view_live *live, const char *text) {
    snprintf(live->notice, sizeof live->notice, "%s", text);
    live->state_changed = true;
}

thenar_status live_rebuild(view_live *live, bool new_model, thenar_error *error) {
    option_list sets = live->request.sets;
    tunable_text *texts = NEW_ARRAY(tunable_text, 2 * live->tunables.list.count);
    if (!texts) return fail_memory(error, "overrides");
    tunables_to_sets(&live->tunables, &sets, texts);
    /* Solvers other than newton need hands whose bones are solved first. */
    bool split = live->solver != THENAR_SOLVER_NEWTON && sets.count < OPTION_LIST_LIMIT;
    if (split) sets.values[sets.count++] = "bones=split";
    new_model = new_model || (thenar_model_hand_count(live->model) > 0 && split != live->split);
    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    thenar_track *track = NULL;
    thenar_status status = THENAR_OK;
    thenar_scene_options with = thenar_scene_options_default();
    with.sets = sets.values;
    with.set_count = sets.count;
    if (new_model && live->request.track) status = thenar_track_load(live->request.track, &track, error);
    with.track = track;
    if (new_model && status == THENAR_OK) status = thenar_scene_load(live->path, &with, &model, NULL, error);
    thenar_track_free(track);
    thenar_sim_options options = thenar_sim_options_default();
    options.dt = live->dt;
    options.threads = live->request.threads;
    options.solver = (thenar_solver)live->solver;
    options.contact = (thenar_contact_method)live->contact; /* -1: as in the scene */
    if (status == THENAR_OK) status = thenar_sim_create(model ? model : live->model, &options, &sim, error);
    if (status == THENAR_OK && live->sim) status = thenar_sim_continue(sim, live->sim, error);
    free(texts);
    if (status != THENAR_OK) {
        thenar_sim_free(sim);
        thenar_model_free(model);
        return status;
    }
    bool held = live->drag.active;
    drag_release(&live->drag, sim); /* thenar_sim_continue has copied its forces */
    thenar_sim_free(live->sim);
    live->sim = sim;
    if (model) {
        thenar_model_free(live->model);
        live->model = model;
        live->split = split;
    }
    live->dt = thenar_sim_dt(sim);
    if (held) drag_take(&live->drag, sim, live->drag.body, live->drag.vertex);
    return THENAR_OK;
}

static thenar_status rebuild_unless_recorded(view_live *live, bool new_model, thenar_error *error) {
    if (!live->recorder) return live_rebuild(live, new_model, error);
    return fail(error, THENAR_ERROR_INPUT,
                "This is being recorded: time step, solver, contacts and materials stay as they are.");
}

/* Makes a new simulation with the changed settings; on an error, viewers see it and the settings are those of the old one. */
static bool rebuild_or_report(view_live *live, bool new_model) {
    thenar_error error;
    live->state_changed = live->frame_due = true;
    live_notice(live, "");
    if (rebuild_unless_recorded(live, new_model, &error) == THENAR_OK) return true;
    live_notice(live, error.text);
    live->dt = thenar_sim_dt(live->sim);
    live->solver = (int)thenar_sim_solver(live->sim);
    live->contact = (int)thenar_sim_contact_method(live->sim);
    return false;
}

/* Drives a hand from the next step on, until the next order or a reset. */
static void drive(view_live *live, const view_order *order) {
    double numbers[ORDER_JOINT_NUMBERS];
    for (int i = 0; i < ORDER_JOINT_NUMBERS; i++) numbers[i] = (double)order->drive[i];
    thenar_status status = order->kind == ORDER_JOINTS
                               ? thenar_sim_drive_hand(live->sim, (int)order->a, numbers)
                               : thenar_sim_drive_hand_angles(live->sim, (int)order->a, numbers, numbers + 7);
    if (status != THENAR_OK) live_notice(live, "A pose of a hand was refused.");
}

void live_take_order(view_live *live, const view_order *order) {
    bool moves = order->kind == ORDER_DRAG || order->kind == ORDER_DROP || order_drives(order->kind);
    live->state_changed = live->state_changed || !moves;
    live->frame_due = true;
    switch (order->kind) {
    case ORDER_PLAY:
        live->playing = true;
        live_notice(live, "");
        break;
    case ORDER_PAUSE:
        live->playing = false;
        break;
    case ORDER_STEP:
        live->playing = false;
        live->single_steps++;
        break;
    case ORDER_RESET:
        drag_release(&live->drag, live->sim);
        thenar_sim_reset(live->sim);
        run_tactile_begin(live->tactile, live->sim);
        live_notice(live, "");
        live_record(live, false);
        break;
    case ORDER_SPEED:
        live->speed = order->x[0];
        break;
    case ORDER_DT:
        live->dt = order->x[0];
        rebuild_or_report(live, false);
        break;
    case ORDER_SOLVER:
        live->solver = (int)order->a;
        rebuild_or_report(live, false);
        break;
    case ORDER_CONTACT:
        live->contact = (int)order->a;
        rebuild_or_report(live, false);
        break;
    case ORDER_TUNE: {
        view_tunable *one = &live->tunables.list.data[order->a];
        double before = one->value;
        one->value = order->x[0];
        one->changed = true;
        if (!rebuild_or_report(live, true)) one->value = before;
        break;
    }
    case ORDER_DRAG: {
        view_drag *drag = &live->drag;
        bool same = drag->active && drag->body == (int)order->a && drag->vertex == (int)order->b;
        memcpy(drag->target, order->x, sizeof drag->target);
        drag->strength = order->x[3];
        if (!same) drag_take(drag, live->sim, (int)order->a, (int)order->b);
        drag_apply(drag, live->sim); /* shows the force at once, also while the simulation is paused */
        break;
    }
    case ORDER_JOINTS:
    case ORDER_ANGLES:
        drive(live, order);
        break;
    default:
        drag_release(&live->drag, live->sim);
    }
}

static bool within(double value, double low, double high) {
    return value >= low && value <= high; /* false for NaN */
}

static bool is_unit(const float q[4]) {
    double square = 0;
    for (int k = 0; k < 4; k++) square += (double)q[k] * (double)q[k];
    return within(sqrt(square), 0.9, 1.1);
}

/* NaN, since the tracker did not see it, or in the range of thenar_sim_drive_hand. */
static bool joint_is_valid(const float joint[7]) {
    bool turned = true;
    for (int k = 0; k < 7; k++) {
        if (isinf(joint[k]) || (k < 3 && fabsf(joint[k]) > 1000)) return false; /* false for NaN */
        if (k >= 3 && isnan(joint[k])) turned = false;
    }
    return !turned || is_unit(joint + 3);
}

static const char *check_drive(const view_live *live, const view_order *order) {
    if (order->a >= (uint32_t)live->hand_count) return "no such hand";
    if (order->kind == ORDER_JOINTS) {
        for (int j = 0; j < THENAR_HAND_JOINTS; j++)
            if (!joint_is_valid(order->drive + 7 * j))
                return "a joint that is infinite, more than 1000 m away, or without a unit quaternion";
        return NULL;
    }
    for (int i = 0; i < ORDER_ANGLE_NUMBERS; i++)
        if (!isfinite(order->drive[i])) return "an angle or a wrist that is not finite";
    return joint_is_valid(order->drive) ? NULL : "a wrist more than 1000 m away, or without a unit quaternion";
}

static bool is_valid(const view_live *live, const view_order *order) {
    const double *x = order->x;
    switch (order->kind) {
    case ORDER_PLAY:
    case ORDER_PAUSE:
    case ORDER_STEP:
    case ORDER_RESET:
    case ORDER_DROP:
        return true;
    case ORDER_SPEED:
        return within(x[0], SPEED_MIN, SPEED_MAX);
    case ORDER_DT:
        return within(x[0], 1e-6, 1);
    case ORDER_SOLVER:
        return order->a < (uint32_t)live->solver_total;
    case ORDER_CONTACT:
        return order->a < (uint32_t)thenar_contact_method_count();
    case ORDER_TUNE:
        return order->a < (uint32_t)live->tunable_count && !isinf(x[0]);
    case ORDER_DRAG:
        return order->a < (uint32_t)live->body_count && order->b < (uint32_t)live->vertex_counts[order->a] &&
               within(x[0], -1e6, 1e6) && within(x[1], -1e6, 1e6) && within(x[2], -1e6, 1e6) &&
               within(x[3], 0.001, 1000);
    default:
        return false;
    }
}

const char *live_check_order(const view_live *live, const view_order *order) {
    if (order_drives(order->kind)) return check_drive(live, order);
    return is_valid(live, order) ? NULL : "no such order";
}
