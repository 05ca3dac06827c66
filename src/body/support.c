#include "body/body.h"

#include "core/text.h"

#include <stdlib.h>
#include <string.h>

/* Beyond this, moving and rotating a node overflows. */
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

/* Borders are inclusive up to this share of the body's extent, so that a face at 0.2 contains the nodes at 0.2 +
 * rounding. */
#define BORDER_TOLERANCE 1e-9

/* The two vectors of its kind: corners; centre; point and normal. */
static vec3 first_vector(const thenar_region *region) {
    return vec3_load(region->kind == THENAR_REGION_BOX      ? region->box_min
                     : region->kind == THENAR_REGION_SPHERE ? region->centre
                                                            : region->point);
}

static vec3 second_vector(const thenar_region *region) {
    return vec3_load(region->kind == THENAR_REGION_BOX ? region->box_max : region->normal);
}

thenar_status region_check(const thenar_region *region, thenar_error *error) {
    vec3 a = first_vector(region), b = second_vector(region);
    if (!vec3_is_finite(a) || !vec3_is_finite(b) || !isfinite(region->radius))
        return error_set(error, THENAR_ERROR_INPUT, "a region has a number that is not finite");
    switch (region->kind) {
    case THENAR_REGION_BOX:
        if (a.x > b.x || a.y > b.y || a.z > b.z)
            return error_set(error, THENAR_ERROR_INPUT,
                             "a region's box goes from (%g, %g, %g) to (%g, %g, %g); expected the smaller corner first",
                             a.x, a.y, a.z, b.x, b.y, b.z);
        return THENAR_OK;
    case THENAR_REGION_SPHERE:
        if (!(region->radius > 0))
            return error_set(error, THENAR_ERROR_INPUT, "a region's radius is %g; expected > 0 m", region->radius);
        return THENAR_OK;
    case THENAR_REGION_HALF:
        if (!(vec3_length(b) > 0) || !isfinite(vec3_length(b)))
            return error_set(error, THENAR_ERROR_INPUT,
                             "a half-space region's normal has the length %g; expected a direction", vec3_length(b));
        return THENAR_OK;
    case THENAR_REGION_ALL:
    case THENAR_REGION_TAG:
        return THENAR_OK;
    }
    return error_set(error, THENAR_ERROR_INPUT, "unknown kind of region %d", (int)region->kind);
}

/* The longest side of the bounding box of some points, m. */
static double region_extent(const double *positions, int count) {
    if (count == 0) return 0;
    vec3 low = vec3_load(positions), high = low;
    for (int i = 1; i < count; i++) {
        vec3 p = vec3_load(positions + 3 * i);
        low = vec3_min(low, p);
        high = vec3_max(high, p);
    }
    vec3 size = vec3_sub(high, low);
    return fmax(size.x, fmax(size.y, size.z));
}

static bool holds_point(const thenar_region *region, vec3 p, double tolerance) {
    vec3 a = first_vector(region), b = second_vector(region);
    switch (region->kind) {
    case THENAR_REGION_ALL:
        return true;
    case THENAR_REGION_BOX:
        return p.x >= a.x - tolerance && p.y >= a.y - tolerance && p.z >= a.z - tolerance && p.x <= b.x + tolerance &&
               p.y <= b.y + tolerance && p.z <= b.z + tolerance;
    case THENAR_REGION_SPHERE:
        return vec3_distance(p, a) <= region->radius + tolerance;
    case THENAR_REGION_HALF:
        return vec3_dot(vec3_unit(b), vec3_sub(p, a)) <= tolerance;
    case THENAR_REGION_TAG:
        return false;
    }
    return false;
}

void region_mark_nodes(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked) {
    memset(marked, 0, (size_t)mesh->node_count * sizeof *marked);
    if (region->kind == THENAR_REGION_TAG) {
        for (int t = 0; mesh->tags && t < mesh->tet_count; t++)
            for (int k = 0; mesh->tags[t] == region->tag && k < 4; k++) marked[mesh->tets[4 * t + k]] = true;
        return;
    }
    double tolerance = BORDER_TOLERANCE * region_extent(mesh->positions, mesh->node_count);
    for (int i = 0; i < mesh->node_count; i++)
        marked[i] = holds_point(region, vec3_load(mesh->positions + 3 * i), tolerance);
}

void region_mark_tets(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked) {
    double tolerance = BORDER_TOLERANCE * region_extent(mesh->positions, mesh->node_count);
    for (int t = 0; t < mesh->tet_count; t++) {
        if (region->kind == THENAR_REGION_TAG) {
            marked[t] = mesh->tags && mesh->tags[t] == region->tag;
            continue;
        }
        vec3 sum = {0};
        for (int k = 0; k < 4; k++) sum = vec3_add(sum, vec3_load(mesh->positions + 3 * mesh->tets[4 * t + k]));
        marked[t] = holds_point(region, vec3_scale(sum, 0.25), tolerance);
    }
}
