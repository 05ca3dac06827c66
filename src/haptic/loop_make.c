/* Making and freeing loops. */
#include "haptic/loop.h"

#include "base/error.h"
#include "base/memory.h"
#include "haptic/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIMULATED_BEGIN_NS 1000000000 /* any time but 0, which means never */

static thenar_status check_positive(const char *name, double value, bool zero_is_fine, thenar_error *error) {
    if (isfinite(value) && (value > 0 || (zero_is_fine && value == 0))) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s", name, value,
                     zero_is_fine ? "0 or more" : "more than 0");
}

static thenar_status check_settings(thenar_haptic_settings *s, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int i = 0; i < HAPTIC_SETTINGS && status == THENAR_OK; i++)
        status = check_positive(haptic_setting_table[i].name, *haptic_setting_of(s, i),
                                haptic_setting_table[i].zero_is_fine, error);
    return status;
}

static thenar_status check_def(const thenar_haptic_def *def, thenar_error *error) {
    if (!(def->rate >= HAPTIC_SLOWEST && def->rate <= HAPTIC_FASTEST))
        return error_set(error, THENAR_ERROR_INPUT, "a rate of %g; expected %g to %g ticks a second", def->rate,
                         HAPTIC_SLOWEST, HAPTIC_FASTEST);
    if (def->handle_count < 1 || def->handle_count > THENAR_HAPTIC_HANDLES || !def->handles)
        return error_set(error, THENAR_ERROR_INPUT, "%d handles; expected 1 to %d", def->handle_count,
                         THENAR_HAPTIC_HANDLES);
    if (def->real_time && (def->priority < 1 || def->priority > 99))
        return error_set(error, THENAR_ERROR_INPUT, "priority %d; expected 1 to 99", def->priority);
    return check_positive("watchdog", def->watchdog, false, error);
}

static thenar_status open_channel(haptic_channel *c, const thenar_haptic_handle *handle, const thenar_haptic_def *def,
                                  thenar_error *error) {
    const double *q = handle->turn, *g = handle->grip;
    c->settings = handle->settings;
    c->origin = vec3_load(handle->origin);
    c->turn = quat_unit((quat){q[0], q[1], q[2], q[3]});
    c->grip = quat_unit((quat){g[0], g[1], g[2], g[3]});
    c->state.orientation = c->state.device.orientation = quat_mul(c->turn, c->grip);
    thenar_status status = check_settings(&c->settings, error);
    if (status != THENAR_OK) return status;
    if (!vec3_is_finite(c->origin) || !isfinite(q[0] + q[1] + q[2] + q[3]) || !isfinite(g[0] + g[1] + g[2] + g[3]))
        return error_set(error, THENAR_ERROR_INPUT, "the device's place in the world is not finite");
    if (!triple_create(&c->news, sizeof(struct haptic_linear))) return error_memory(error, "a handle");
    if (!handle->device || strcmp(handle->device, "none") == 0) return THENAR_OK;
    status = device_open(handle->device, 1 / def->rate, def->watchdog, &c->device, error);
    if (status != THENAR_OK) return status;
    if (def->simulated_time && !device_is_direct(c->device))
        return error_set(error, THENAR_ERROR_INPUT,
                         "device %s lives in real time; expected user:FILE, recorded:FILE or none in simulated time",
                         handle->device);
    const thenar_device_info *info = device_info(c->device);
    c->settings.most_force = haptic_lower(c->settings.most_force, info->most_force);
    c->settings.most_torque = haptic_lower(c->settings.most_torque, info->most_torque);
    return THENAR_OK;
}

thenar_status thenar_haptic_create(const thenar_haptic_def *def, thenar_haptic **out, thenar_error *error) {
    *out = NULL;
    thenar_status status = check_def(def, error);
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
        !triple_create(&haptic->reports, sizeof(haptic_report)))
        status = error_memory(error, "a haptic loop");
    for (int i = 0; i < def->handle_count && status == THENAR_OK; i++) {
        status = open_channel(&haptic->channels[i], &def->handles[i], def, error);
        if (status != THENAR_OK) error_prefix(error, "handle %d", i);
        haptic->channel_count = i + 1;
    }
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
        triple_free(&haptic->channels[i].news);
    }
    free(haptic->channels);
    timing_free(&haptic->timing);
    triple_free(&haptic->reports);
    pthread_cond_destroy(&haptic->started);
    pthread_mutex_destroy(&haptic->mutex);
    pthread_mutex_destroy(&haptic->readers);
    free(haptic);
}
