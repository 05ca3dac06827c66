#include "body/support.h"

#include "base/text.h"

#include <stdlib.h>

/* Farther or larger than this, moving and turning a node overflows. */
#define LARGEST 1e100

static bool is_usable(const double v[3]) {
    return fabs(v[0]) < LARGEST && fabs(v[1]) < LARGEST && fabs(v[2]) < LARGEST;
}

thenar_status support_check(const thenar_support *def, thenar_error *error) {
    const char *name = def->name ? def->name : "support";
    if (!text_is_printable(name))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the name of a support is not plain text; expected printable UTF-8");
    if (def->has_pivot && !is_usable(def->pivot))
        return error_set(error, THENAR_ERROR_INPUT, "%s: the pivot is (%g, %g, %g); expected less than %g m", name,
                         def->pivot[0], def->pivot[1], def->pivot[2], LARGEST);
    if (!(def->stiffness >= 0 && def->damping >= 0 && def->stiffness < LARGEST && def->damping < LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "%s: stiffness is %g and damping %g; expected >= 0 N/m and N s/m",
                         name, def->stiffness, def->damping);
    if (def->damping > 0 && def->stiffness == 0)
        return error_set(error, THENAR_ERROR_INPUT, "%s: damping without stiffness; expected springs to damp", name);
    for (int k = 0; k < def->key_count; k++) {
        const thenar_key *key = &def->keys[k];
        if (!isfinite(key->time) || !is_usable(key->move) || !is_usable(key->turn))
            return error_set(error, THENAR_ERROR_INPUT, "%s: key %d is not finite; expected numbers less than %g", name,
                             k, LARGEST);
        if (k > 0 && key->time <= def->keys[k - 1].time)
            return error_set(error, THENAR_ERROR_INPUT, "%s: key %d is at %g s; expected later than key %d at %g s",
                             name, k, key->time, k - 1, def->keys[k - 1].time);
    }
    return THENAR_OK;
}

static vec3 blend(const double a[3], const double b[3], double share) {
    return vec3_add(vec3_scale(vec3_load(a), 1 - share), vec3_scale(vec3_load(b), share));
}

void support_pose(const support_model *support, const support_state *state, double time, vec3 *move, vec3 *turn) {
    if (state->driven || support->key_count == 0) {
        *move = vec3_load(state->move);
        *turn = vec3_load(state->turn);
        return;
    }
    int next = 0;
    while (next < support->key_count && support->keys[next].time <= time) next++;
    if (next == 0 || next == support->key_count) {
        const thenar_key *key = &support->keys[next == 0 ? 0 : next - 1];
        *move = vec3_load(key->move);
        *turn = vec3_load(key->turn);
        return;
    }
    const thenar_key *from = &support->keys[next - 1], *to = &support->keys[next];
    double share = (time - from->time) / (to->time - from->time);
    if (!support->linear) share = share * share * (3 - 2 * share);
    *move = blend(from->move, to->move, share);
    *turn = blend(from->turn, to->turn, share);
}

void support_free(support_model *support) {
    free(support->name);
    free(support->nodes);
    free(support->keys);
    *support = (support_model){0};
}
