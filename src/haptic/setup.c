/* Setup of a loop from its definition, from a scene and from the handles of a simulation. */
#include "haptic/haptic.h"

#include "core/memory.h"
#include "io/file.h"
#include "world/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

thenar_haptic_settings thenar_haptic_settings_default(void) {
    return (thenar_haptic_settings){.stiffness = 1000,
                                    .damping = 6,
                                    .turn_stiffness = 2,
                                    .turn_damping = 0.006,
                                    .proxy_mass = 0.02,
                                    .proxy_inertia = 1e-5,
                                    .max_force = 10,
                                    .max_torque = 0.5,
                                    .force_slew = 2000,
                                    .torque_slew = 100,
                                    .stale_after = 0.01,
                                    .silent_after = 0.01,
                                    .fade_time = 0.008,
                                    .recover_time = 0.2,
                                    .jump_distance = 0.03,
                                    .jump_speed = 5,
                                    .velocity_cutoff = 100,
                                    .one_sided = true,
                                    .passivity = true,
                                    .energy_reserve = 0.0005,
                                    .energy_max = 0.5};
}

thenar_status thenar_haptic_handle_init(thenar_haptic_handle *handle, size_t size) {
    const thenar_haptic_handle defaults = {
        .settings = thenar_haptic_settings_default(), .base = {0, 0, 0, 0, 0, 0, 1}, .grip = {0, 0, 0, 1}};
    return sized_give(handle, size, &defaults, sizeof defaults, "thenar_haptic_handle");
}

thenar_status thenar_haptic_def_init(thenar_haptic_def *def, size_t size) {
    const thenar_haptic_def defaults = {
        .rate = THENAR_HAPTIC_RATE, .real_time = true, .priority = 80, .watchdog = 0.01};
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_haptic_def");
}

#define AT(name) offsetof(thenar_haptic_settings, name)
const haptic_setting haptic_setting_table[HAPTIC_SETTINGS] = {
    {"stiffness", "N/m", AT(stiffness), false},
    {"damping", "N s/m", AT(damping), true},
    {"turn_stiffness", "N m/rad", AT(turn_stiffness), true},
    {"turn_damping", "N m s/rad", AT(turn_damping), true},
    {"proxy_mass", "kg", AT(proxy_mass), false},
    {"proxy_inertia", "kg m^2", AT(proxy_inertia), false},
    {"most_force", "N", AT(max_force), true},
    {"most_torque", "N m", AT(max_torque), true},
    {"force_slew", "N/s", AT(force_slew), false},
    {"torque_slew", "N m/s", AT(torque_slew), false},
    {"stale_after", "s", AT(stale_after), true},
    {"silent_after", "s", AT(silent_after), true},
    {"fade_time", "s", AT(fade_time), false},
    {"recover_time", "s", AT(recover_time), false},
    {"jump_distance", "m", AT(jump_distance), false},
    {"jump_speed", "m/s", AT(jump_speed), false},
    {"velocity_cutoff", "Hz", AT(velocity_cutoff), false},
    {"energy_reserve", "J", AT(energy_reserve), true},
    {"energy_most", "J", AT(energy_max), true},
};
#undef AT

double *haptic_setting_of(thenar_haptic_settings *settings, int index) {
    return (double *)(void *)((char *)settings + haptic_setting_table[index].offset);
}

static const char *const fault_names[] = {"stale",    "silent",  "bad_sample", "jump",      "bad_linear",   "clock",
                                          "unsolved", "lost",    "doubled",    "reordered", "device_error", "hung",
                                          "watchdog", "clamped", "slewed",     "held_back"};
NAMES(thenar_haptic_fault, fault_names)

const char *thenar_haptic_fault_text(thenar_haptic_fault fault) {
    static const char *const texts[THENAR_HAPTIC_FAULT_COUNT] = {
        [THENAR_HAPTIC_STALE] = "the simulation is late, the force faded",
        [THENAR_HAPTIC_SILENT] = "the device sends nothing, the force faded",
        [THENAR_HAPTIC_BAD_SAMPLE] = "invalid samples of the device, ignored",
        [THENAR_HAPTIC_JUMP] = "the device jumped, the force faded",
        [THENAR_HAPTIC_BAD_LINEAR] = "linearizations of the simulation are not finite, ignored",
        [THENAR_HAPTIC_CLOCK] = "the clock was changed, or the loop was delayed",
        [THENAR_HAPTIC_UNSOLVED] = "the equations of the proxy have no solution",
        [THENAR_HAPTIC_LOST] = "samples of the device were lost",
        [THENAR_HAPTIC_DOUBLED] = "samples of the device came twice, ignored",
        [THENAR_HAPTIC_REORDERED] = "samples of the device came late, ignored",
        [THENAR_HAPTIC_DEVICE_ERROR] = "calls of the device failed",
        [THENAR_HAPTIC_HUNG] = "a call of the device does not return",
        [THENAR_HAPTIC_WATCHDOG] = "the loop is delayed, the watchdog set the force to zero",
        [THENAR_HAPTIC_CLAMPED] = "ticks in which the force was limited",
        [THENAR_HAPTIC_SLEWED] = "ticks in which the change of the force was limited",
        [THENAR_HAPTIC_HELD_BACK] = "ticks in which the returned energy was limited",
    };
    return names_get(texts, THENAR_HAPTIC_FAULT_COUNT, (int)fault);
}

#define SIMULATED_BEGIN_NS 1000000000 /* any time except 0, which means never */

static thenar_status check_positive(const char *name, double value, bool may_be_zero, thenar_error *error) {
    if (isfinite(value) && (value > 0 || (may_be_zero && value == 0))) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s", name, value,
                     may_be_zero ? "0 or more" : "more than 0");
}

static thenar_status check_settings(thenar_haptic_settings *s, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int i = 0; i < HAPTIC_SETTINGS && status == THENAR_OK; i++)
        status = check_positive(haptic_setting_table[i].name, *haptic_setting_of(s, i),
                                haptic_setting_table[i].may_be_zero, error);
    return status;
}

static thenar_status check_def(const thenar_haptic_def *def, thenar_error *error) {
    if (!(def->rate >= HAPTIC_SLOWEST && def->rate <= HAPTIC_FASTEST))
        return error_set(error, THENAR_ERROR_INPUT, "a rate of %g; expected %g to %g ticks per second", def->rate,
                         HAPTIC_SLOWEST, HAPTIC_FASTEST);
    if (def->handle_count < 1 || def->handle_count > THENAR_HAPTIC_HANDLES || !def->handles)
        return error_set(error, THENAR_ERROR_INPUT, "%d handles; expected 1 to %d", def->handle_count,
                         THENAR_HAPTIC_HANDLES);
    if (def->real_time && (def->priority < 1 || def->priority > 99))
        return error_set(error, THENAR_ERROR_INPUT, "priority %d; expected 1 to 99", def->priority);
    return check_positive("watchdog", def->watchdog, false, error);
}

/* The lower of two limits; a limit of 0 of the other side means that it has none. */
static double lower_limit(double limit, double other) {
    return other > 0 && other < limit ? other : limit;
}

static thenar_status open_channel(haptic_channel *c, const thenar_haptic_handle *handle, const thenar_haptic_def *def,
                                  thenar_error *error) {
    const double *q = handle->base + 3, *g = handle->grip;
    c->settings = handle->settings;
    c->origin = vec3_load(handle->base);
    c->turn = quat_unit((quat){q[0], q[1], q[2], q[3]});
    c->grip = quat_unit((quat){g[0], g[1], g[2], g[3]});
    c->state.orientation = c->state.device.orientation = quat_mul(c->turn, c->grip);
    thenar_status status = check_settings(&c->settings, error);
    if (status != THENAR_OK) return status;
    if (!vec3_is_finite(c->origin) || !isfinite(q[0] + q[1] + q[2] + q[3]) || !isfinite(g[0] + g[1] + g[2] + g[3]))
        return error_set(error, THENAR_ERROR_INPUT, "the pose of the device in the world is not finite");
    if (!triple_buffer_create(&c->updates, sizeof(struct haptic_linear))) return error_memory(error, "a handle");
    if (!handle->table && (!handle->device || strcmp(handle->device, "none") == 0)) return THENAR_OK;
    if (handle->table)
        status =
            device_open_table(handle->table, handle->table_device, 1 / def->rate, def->watchdog, &c->device, error);
    else
        status = device_open(handle->device, 1 / def->rate, def->watchdog, &c->device, error);
    if (status != THENAR_OK) return status;
    if (def->simulated_time && !device_is_direct(c->device))
        return error_set(error, THENAR_ERROR_INPUT,
                         "device %s lives in real time; expected user:FILE, recorded:FILE or none in simulated time",
                         handle->table ? handle->table->name : handle->device);
    const thenar_device_info *info = device_info(c->device);
    c->settings.max_force = lower_limit(c->settings.max_force, info->max_force);
    c->settings.max_torque = lower_limit(c->settings.max_torque, info->max_torque);
    return THENAR_OK;
}

thenar_status thenar_haptic_create(const thenar_haptic_def *given, thenar_haptic **out, thenar_error *error) {
    USAGE_STATUS(out, error, "the pointer to the loop is NULL");
    *out = NULL;
    thenar_haptic_def copy = thenar_haptic_def_default();
    const thenar_haptic_def *def = &copy;
    thenar_status status = sized_take(&copy, sizeof copy, given, "thenar_haptic_def", error);
    if (status == THENAR_OK) status = check_def(def, error);
    if (status != THENAR_OK) return status;
    thenar_haptic *haptic = MEMORY_ARRAY(thenar_haptic, 1);
    if (!haptic) return error_memory(error, "a haptic loop");
    haptic->rate = def->rate;
    haptic->real_time = def->real_time;
    haptic->simulated_time = def->simulated_time;
    haptic->simulated_ns = haptic->due_ns = SIMULATED_BEGIN_NS;
    haptic->priority = def->priority;
    pthread_mutex_init(&haptic->readers, NULL);
    pthread_mutex_init(&haptic->mutex, NULL);
    pthread_cond_init(&haptic->started, NULL);
    snprintf(haptic->real_time_text, sizeof haptic->real_time_text, "%s",
             def->simulated_time ? "simulated time" : "not started");
    haptic->channels = memory_aligned((size_t)def->handle_count * sizeof *haptic->channels);
    if (!haptic->channels || !timing_create(&haptic->timing, (int64_t)(1e9 / def->rate)) ||
        !triple_buffer_create(&haptic->reports, sizeof(haptic_report)))
        status = error_memory(error, "a haptic loop");
    const struct thenar_file_source *files = file_source_set(def->files);
    for (int i = 0; i < def->handle_count && status == THENAR_OK; i++) {
        /* All structs of the caller have the size of the first. */
        thenar_haptic_handle handle = thenar_haptic_handle_default();
        const char *at = (const char *)def->handles + (size_t)i * def->handles[0].size;
        status = sized_take(&handle, sizeof handle, at, "thenar_haptic_handle", error);
        if (status == THENAR_OK) status = open_channel(&haptic->channels[i], &handle, def, error);
        if (status != THENAR_OK) error_prefix(error, "handle %d", i);
        haptic->channel_count = i + 1;
    }
    file_source_set(files);
    if (status != THENAR_OK) {
        thenar_haptic_free(haptic);
        return status;
    }
    *out = haptic;
    return THENAR_OK;
}

void thenar_haptic_free(thenar_haptic *haptic) {
    if (!haptic) return;
    thenar_haptic_stop(haptic);
    for (int i = 0; i < haptic->channel_count; i++) {
        device_close(haptic->channels[i].device);
        triple_buffer_free(&haptic->channels[i].updates);
    }
    free(haptic->channels);
    timing_free(&haptic->timing);
    triple_buffer_free(&haptic->reports);
    pthread_cond_destroy(&haptic->started);
    pthread_mutex_destroy(&haptic->mutex);
    pthread_mutex_destroy(&haptic->readers);
    free(haptic);
}

/* The key `haptic` of a scene takes precedence over what the handles of the simulation determine. */

thenar_status thenar_haptic_def_from(const thenar_model *model, thenar_haptic_def *def, size_t size) {
    const haptic_scene *scene = model ? model->attachment : NULL;
    const thenar_haptic_def defaults = thenar_haptic_def_default(), *own = scene ? &scene->loop : &defaults;
    thenar_status status = sized_give(def, size, own, sizeof *own, "thenar_haptic_def");
    USAGE_POINTER(model, THENAR_ERROR_USAGE);
    return status;
}

/* Device, settings and pose of a handle from the scene; anything that the scene does not set stays. */
static void apply_binding(const thenar_model *model, int handle, thenar_haptic_handle *out) {
    const haptic_scene *scene = model->attachment;
    if (!scene || !scene->bindings[handle].is_set) return;
    const device_binding *binding = &scene->bindings[handle];
    thenar_haptic_settings settings = binding->settings;
    for (int i = 0; i < HAPTIC_SETTINGS; i++) {
        double *value = haptic_setting_of(&settings, i);
        if (isnan(*value)) *value = *haptic_setting_of(&out->settings, i);
    }
    out->settings = settings;
    out->device = binding->device;
    if (binding->has_origin) memcpy(out->base, binding->origin, sizeof binding->origin);
    if (!binding->has_turn) return;
    /* The orientation of the handle in the world stays as it is. */
    quat grip = quat_mul(quat_conjugate(binding->turn), quat_load(out->grip));
    quat_store(out->base + 3, binding->turn);
    quat_store(out->grip, grip);
}

/* The loop and a simulation: the device drives a handle before a step; the handle is published after it. */

/* A bone that the hand itself couples to its tracker has the gains of the hand, whoever drives it (hand/step.c). */
static const skeleton_coupling *gains_of(const thenar_model *model, const handle_model *handle) {
    if (!handle_is_bone(handle)) return &handle->coupling;
    return handle_bone_coupling(handle, model->hands[handle->hand]);
}

thenar_status thenar_haptic_handle_from(const thenar_sim *sim, int handle, thenar_haptic_handle *given, size_t size) {
    thenar_haptic_handle out = thenar_haptic_handle_default();
    thenar_status status = sized_give(given, size, &out, sizeof out, "thenar_haptic_handle");
    if (status != THENAR_OK) return status;
    USAGE_POINTER(sim, THENAR_ERROR_USAGE);
    USAGE_INDEX(handle, sim->model->handle_count, THENAR_ERROR_USAGE);
    const handle_model *model = model_handle(sim->model, handle);
    const skeleton_coupling *gains = gains_of(sim->model, model);
    thenar_haptic_settings *s = &out.settings;
    thenar_handle_state now;
    s->stiffness = gains->stiffness;
    s->damping = gains->damping;
    s->turn_stiffness = gains->turn_stiffness;
    s->turn_damping = gains->turn_damping;
    s->max_force = lower_limit(s->max_force, gains->max_force);
    s->max_torque = lower_limit(s->max_torque, gains->max_torque);
    s->proxy_mass = model->rigid.base.mass;
    s->proxy_inertia = (model->rigid.inertia.m[0] + model->rigid.inertia.m[4] + model->rigid.inertia.m[8]) / 3;
    thenar_sim_handle(sim, handle, &now);
    memcpy(out.base, now.pose, 3 * sizeof *out.base);
    memcpy(out.grip, now.pose + 3, sizeof out.grip);
    apply_binding(sim->model, handle, &out);
    return sized_give(given, size, &out, sizeof out, "thenar_haptic_handle");
}

bool thenar_haptic_drive_sim(thenar_haptic *haptic, int channel, thenar_sim *sim, int handle) {
    USAGE_POINTER(haptic, false);
    USAGE_INDEX(channel, haptic->channel_count, false);
    USAGE_POINTER(sim, false);
    USAGE_INDEX(handle, sim->model->handle_count, false);
    const haptic_channel *c = &haptic->channels[channel];
    thenar_handle_state now;
    double pose[7], velocity[6];
    if (!c->device) return false;
    thenar_sim_linearize_handle(sim, handle, !c->settings.plain);
    if (thenar_haptic_pose(haptic, channel, sim->dt, pose, velocity))
        return thenar_sim_drive_handle(sim, handle, pose, velocity) == THENAR_OK;
    thenar_sim_handle(sim, handle, &now);
    if (!sim_handle(sim, handle)->kept->is_driven) thenar_sim_drive_handle(sim, handle, now.pose, NULL);
    return false;
}

thenar_status thenar_haptic_publish_sim(thenar_haptic *haptic, int channel, const thenar_sim *sim, int handle) {
    USAGE_POINTER(haptic, THENAR_ERROR_USAGE);
    USAGE_INDEX(channel, haptic->channel_count, THENAR_ERROR_USAGE);
    USAGE_POINTER(sim, THENAR_ERROR_USAGE);
    USAGE_INDEX(handle, sim->model->handle_count, THENAR_ERROR_USAGE);
    struct haptic_linear linear;
    thenar_haptic_linear reported;
    bool plain = haptic->channels[channel].settings.plain;
    if (!sim_handle(sim, handle)->linear->is_there && !plain)
        return error_set(NULL, THENAR_ERROR_NUMERIC, "the handle was not linearized in the last step");
    sim_handle_linear(sim, handle, &linear);
    memcpy(&reported, &linear, sizeof reported);
    return thenar_haptic_publish(haptic, channel, &reported);
}
