#include "body/region.h"

#include <string.h>

/* Borders are inclusive up to this share of the body's extent, so that a face given as 0.2 holds the nodes at
 * 0.2 + rounding. */
#define BORDER_TOLERANCE 1e-9

thenar_status region_check(const thenar_region *region, thenar_error *error) {
    vec3 a = vec3_load(region->a), b = vec3_load(region->b);
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

double region_extent(const double *positions, int count) {
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
    vec3 a = vec3_load(region->a), b = vec3_load(region->b);
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
