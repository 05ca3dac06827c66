#include "contact/harvest.h"

#include <assert.h>
#include <string.h>

/* One rigid body, ready to be asked. */
typedef struct target {
    const rigid_shape *shape;
    mat3 R;
    vec3 centre, velocity, spin;
    double turning; /* |spin| */
    box world;      /* around the shape's box, in world axes */
} target;

/* The box around a turned box: its middle moved, its half sizes times |R|. Infinite boxes stay infinite. */
static box turn_box(const box *b, mat3 R, vec3 centre) {
    vec3 half = vec3_scale(vec3_sub(b->high, b->low), 0.5);
    if (!vec3_is_finite(half)) return (box){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    vec3 middle = vec3_add(centre, mat3_mul_vec(R, vec3_scale(vec3_add(b->low, b->high), 0.5)));
    for (int i = 0; i < 9; i++) R.m[i] = fabs(R.m[i]);
    vec3 reach = mat3_mul_vec(R, half);
    return (box){vec3_sub(middle, reach), vec3_add(middle, reach)};
}

static target aim(const rigid_state *body, double h) {
    target t = {.shape = &rigid_of(body)->shape};
    t.R = quat_to_mat3(rigid_orientation(body->kept->orientation));
    t.centre = vec3_load(body->kept->position);
    rigid_coming_motion(body, h, &t.velocity, &t.spin);
    t.turning = vec3_length(t.spin);
    t.world = turn_box(&t.shape->solid.bounds, t.R, t.centre);
    return t;
}

#define ROUNDING (1 + 1e-9) /* by which reaches are longer than they must be */

box contact_skin_reach(const contact_skin_state *skin, double margin, double h) {
    double speed = vec3_length(skin->whole.velocity) + skin->whole.spread;
    return box_grow(skin->bounds, (margin + h * speed) * ROUNDING);
}

box contact_rigid_reach(const rigid_state *rigid, double h) {
    target t = aim(rigid, h);
    const box *bounds = &t.shape->solid.bounds;
    double furthest = t.turning > 0 ? vec3_length(vec3_max(vec3_scale(bounds->low, -1), bounds->high)) : 0;
    return box_grow(t.world, h * (vec3_length(t.velocity) + t.turning * furthest) * ROUNDING);
}

/* A velocity relative to the body, at an arm from its centre of mass. */
static vec3 relative(const target *t, vec3 velocity, vec3 arm) {
    return vec3_sub(vec3_sub(velocity, t->velocity), vec3_cross(t->spin, arm));
}

/* A third of the triangles around a point as the other body sees them, and the one that faces it most. A vertex on the
 * edge of a block that lies flat has triangles on the block's sides too: they touch nothing. */
static void describe_around(const contact_skin_state *state, int index, contact_point *point) {
    const contact_skin *skin = state->skin;
    double most_opposed = INFINITY, area = 0;
    for (int k = skin->around_start[index]; k < skin->around_start[index + 1]; k++) {
        const int *corner = skin->triangles + 3 * (size_t)skin->around[k];
        vec3 a = state->positions[corner[0]], b = state->positions[corner[1]], c = state->positions[corner[2]];
        vec3 twice = vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
        double size = vec3_length(twice), facing = size > 0 ? vec3_dot(twice, point->normal) / size : 1;
        area += fmax(0, -facing) * size / 6;
        if (facing >= most_opposed) continue;
        most_opposed = facing;
        point->face_a = skin->around_face ? skin->around_face[k] : skin->around[k];
    }
    if (skin->holds) point->area = area;
}

void harvest_describe(const contact_skin_state *state, int index, contact_point *point) {
    const contact_skin *skin = state->skin;
    if (skin->around) describe_around(state, index, point);
    if (skin->holds) {
        point->vertex = skin->vertex[index];
        memcpy(point->node, skin->holds[index].node, sizeof point->node);
        memcpy(point->weights, skin->holds[index].weights, sizeof point->weights);
    } else {
        point->vertex = index;
        point->arm = vec3_sub(point->position, state->centre);
    }
}

static void try_point(harvest *out, const contact_skin_state *state, const target *t, int index) {
    double radius = state->skin->radius;
    vec3 p = state->positions[index], arm = vec3_sub(p, t->centre), u = relative(t, state->velocities[index], arm);
    vec3 local = mat3_mul_vec_transposed(t->R, arm);
    double furthest = radius + out->margin + out->h * vec3_length(u) * (1 + 1e-12);
    if (!(rigid_shape_least_distance(t->shape, local) < furthest)) return;
    rigid_closest closest = rigid_shape_closest(t->shape, local);
    vec3 normal = mat3_mul_vec(t->R, closest.normal);
    double gap = closest.distance - radius, approach = fmax(0, -vec3_dot(normal, u));
    if (!(gap < out->margin + out->h * approach)) return;
    contact_point *point = harvest_take(out);
    if (!point) return;
    *point = (contact_point){.skin = out->pair.skin,
                             .rigid = out->pair.rigid,
                             .pair = out->number,
                             .index = index,
                             .node = {-1, -1, -1, -1},
                             .other_node = {-1, -1, -1, -1},
                             .position = vec3_mul_add(p, normal, -radius),
                             .normal = normal,
                             .anchor = closest.point,
                             .gap = gap,
                             .rolls = radius > 0,
                             .face_a = -1,
                             .face_b = closest.triangle};
    harvest_describe(state, index, point);
}

/* No point of a cluster gets further from its middle than this within the step, seen from the body. */
static double range_of(const harvest *out, const target *t, const contact_cluster *cluster) {
    vec3 u = relative(t, cluster->velocity, vec3_sub(cluster->middle, t->centre));
    double speed = vec3_length(u) + cluster->spread + t->turning * cluster->reach;
    return out->margin + cluster->reach + out->h * speed * (1 + 1e-12);
}

static bool is_near(const target *t, const contact_cluster *cluster, double range) {
    vec3 local = mat3_mul_vec_transposed(t->R, vec3_sub(cluster->middle, t->centre));
    return rigid_shape_least_distance(t->shape, local) < range;
}

static void try_pair(harvest *out, const contact_skin_state *state, const target *t) {
    double range = range_of(out, t, &state->whole), ride = range - state->whole.reach;
    box reached = box_grow(state->bounds, ride);
    if (!box_overlaps(&reached, &t->world) || !is_near(t, &state->whole, range)) return;
    for (int c = 0; c < state->skin->cluster_count; c++) {
        const contact_cluster *cluster = &state->clusters[c];
        /* What is known of the whole is enough for most. */
        double most = cluster->reach + ride;
        if (box_distance_squared(&t->world, cluster->middle) > most * most) continue;
        if (!is_near(t, cluster, range_of(out, t, cluster))) continue;
        for (int i = c * CONTACT_CLUSTER; i < contact_cluster_end(state->skin, c); i++) try_point(out, state, t, i);
    }
}

int contact_points_find(const contact_skin_state *const *skins, const rigid_state *const *rigids,
                        contact_faces_state *const *faces, const contact_pair *pairs, const int *near, int near_count,
                        double margin, double h, workers *pool, contact_point *points, int capacity) {
    harvest out = {.points = points, .capacity = capacity, .margin = margin, .h = h, .pool = pool};
    for (int i = 0; i < near_count; i++) {
        out.number = near[i];
        out.pair = pairs[near[i]];
        const contact_skin_state *skin = skins[out.pair.skin];
        if (out.pair.on_skin) {
            harvest_faces(&out, faces[out.pair.skin], faces[out.pair.other]);
            continue;
        }
        const rigid_state *rigid = rigids[out.pair.rigid];
        assert(skin->skin->body != rigid->base.model);
        target t = aim(rigid, h);
        try_pair(&out, skin, &t);
    }
    return out.count;
}
