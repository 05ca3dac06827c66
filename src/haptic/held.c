/* What a scene says of how its handles are held (its key `haptic`), laid over what their handles come to. */
#include "haptic/held.h"

#include "haptic/settings.h"
#include "haptic/six.h"

#include <math.h>
#include <string.h>

thenar_haptic_def thenar_haptic_def_of(const thenar_model *model) {
    return model->haptic ? *model->haptic : thenar_haptic_def_default();
}

void haptic_as_said(const thenar_model *model, int handle, thenar_haptic_handle *out) {
    const model_held *held = model->held ? &model->held[handle] : NULL;
    if (!held || !held->said) return;
    thenar_haptic_settings said = held->settings;
    for (int i = 0; i < HAPTIC_SETTINGS; i++)
        if (isnan(*haptic_setting_of(&said, i))) *haptic_setting_of(&said, i) = *haptic_setting_of(&out->settings, i);
    out->settings = said;
    out->device = held->device;
    if (held->has_origin) memcpy(out->origin, held->origin, sizeof out->origin);
    if (!held->has_turn) return;
    /* The handle lies in the turned device as it lies in the world now. */
    quat grip = quat_mul(quat_conjugate(held->turn), quat_load(out->grip));
    quat_store(out->turn, held->turn);
    quat_store(out->grip, grip);
}
