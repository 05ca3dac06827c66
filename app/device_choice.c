#include "app/device_choice.h"

#include "core/error.h"
#include "core/text.h"
#include "device/device.h"

#include <stdio.h>
#include <string.h>

/* "palm, thumb, index" */
static void list_handles(const thenar_model *model, char *text, size_t size) {
    text[0] = 0;
    for (int i = 0; i < thenar_model_handle_count(model); i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", thenar_model_handle_name(model, i));
    }
}

/* The handle that stands before an equals sign, and what stands behind it: a name may have such signs in it, and so may an
 * argument. -1: no handle is named; -2: one that is not there. */
static int split_handle(const thenar_model *model, const char *option, const char **device) {
    *device = option;
    for (const char *equals = strchr(option, '='); equals; equals = strchr(equals + 1, '='))
        for (int i = 0; i < thenar_model_handle_count(model); i++) {
            const char *name = thenar_model_handle_name(model, i);
            if (strlen(name) != (size_t)(equals - option) || strncmp(name, option, strlen(name)) != 0) continue;
            *device = equals + 1;
            return i;
        }
    return option[strcspn(option, ":=")] == '=' ? -2 : -1;
}

static thenar_status refuse_handle(const thenar_model *model, const char *option, thenar_error *error) {
    const char *names[64];
    char all[512], wrong[128];
    int count = thenar_model_handle_count(model) < 64 ? thenar_model_handle_count(model) : 64;
    for (int i = 0; i < count; i++) names[i] = thenar_model_handle_name(model, i);
    list_handles(model, all, sizeof all);
    snprintf(wrong, sizeof wrong, "%.*s", (int)strcspn(option, "="), option);
    const char *closest = text_closest(wrong, names, (size_t)count);
    return error_set(error, THENAR_ERROR_INPUT, "--device %s: %s has no handle %s%s%s%s; expected one of: %s", option,
                     thenar_model_name(model), wrong, closest ? "; did you mean " : "", closest ? closest : "",
                     closest ? "?" : "", all);
}

/* Whether the scene's device is of that kind, or the kind is "scene" and there is one. */
static bool is_of_kind(const char *device, const char *kind) {
    if (!device) return false;
    if (strcmp(kind, "scene") == 0) return true;
    size_t length = strcspn(device, ":");
    return strlen(kind) == length && strncmp(kind, device, length) == 0;
}

static thenar_status add(const thenar_model *model, device_choice *choice, int handle, const char *device,
                         const char *option, thenar_error *error) {
    for (int i = 0; i < choice->handle_count; i++)
        if (choice->handle[i] == handle)
            return error_set(error, THENAR_ERROR_INPUT,
                             "--device %s: handle %s has a device already; expected one each", option,
                             thenar_model_handle_name(model, handle));
    if (choice->handle_count == THENAR_HAPTIC_HANDLES)
        return error_set(error, THENAR_ERROR_INPUT, "--device %s: more than %d devices; expected at most so many",
                         option, THENAR_HAPTIC_HANDLES);
    choice->handle[choice->handle_count] = handle;
    choice->device[choice->handle_count++] = device;
    return THENAR_OK;
}

/* `first` up to, not with, `end`: the handles that are meant. */
static thenar_status add_of_scene(const thenar_sim *sim, const char *option, const char *kind, int first, int end,
                                  device_choice *choice, bool *any, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int h = first; h < end && status == THENAR_OK; h++) {
        thenar_haptic_handle said = thenar_haptic_handle_of(sim, h);
        if (!is_of_kind(said.device, kind)) continue;
        *any = true;
        status = add(thenar_sim_model(sim), choice, h, said.device, option, error);
    }
    return status;
}

static thenar_status choose(const thenar_sim *sim, const char *option, device_choice *choice, thenar_error *error) {
    const thenar_model *model = thenar_sim_model(sim);
    const char *device;
    int handle = split_handle(model, option, &device), count = thenar_model_handle_count(model);
    if (handle == -2) return refuse_handle(model, option, error);
    bool any = false;
    if (!strchr(device, ':')) {
        thenar_status status = add_of_scene(sim, option, device, handle < 0 ? 0 : handle,
                                            handle < 0 ? count : handle + 1, choice, &any, error);
        if (status != THENAR_OK || any) return status;
    }
    if (strcmp(device, "scene") == 0)
        return error_set(error, THENAR_ERROR_INPUT,
                         "--device %s: %s names no device%s%s; expected one under haptic.handles", option,
                         thenar_model_name(model), handle < 0 ? "" : " for ",
                         handle < 0 ? "" : thenar_model_handle_name(model, handle));
    char kind[32], all[512];
    device_kind found;
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(device, ":"), device);
    thenar_status status = strcmp(device, "none") == 0 ? THENAR_OK : device_kind_find(kind, &found, error);
    if (status != THENAR_OK) {
        error_prefix(error, "--device %s", option);
        return status;
    }
    list_handles(model, all, sizeof all);
    if (handle < 0 && count > 1)
        return error_set(error, THENAR_ERROR_INPUT,
                         "--device %s: for which handle of %s? expected HANDLE=%s, with one of: %s", option,
                         thenar_model_name(model), option, all);
    return add(model, choice, handle < 0 ? 0 : handle, device, option, error);
}

thenar_status device_choose(const thenar_sim *sim, const option_list *options, device_choice *out,
                            thenar_error *error) {
    *out = (device_choice){0};
    const thenar_model *model = thenar_sim_model(sim);
    if (options->count > 0 && thenar_model_handle_count(model) == 0)
        return error_set(
            error, THENAR_ERROR_INPUT,
            "--device %s: %s has no handle that a device could hold; expected a scene with the key handles",
            options->values[0], thenar_model_name(model));
    thenar_status status = THENAR_OK;
    for (int i = 0; i < options->count && status == THENAR_OK; i++)
        status = choose(sim, options->values[i], out, error);
    return status;
}
