/* Points of a skin against the triangles of a soft body's skin, as both are now.
 *
 * For a point x with the outward normal m of its own skin, two triangles are looked for within
 * max(CONTACT_DEPTH, margin + h |u|): the nearest of all, and the nearest of those that face it (their normal within
 * 73 degrees of -m: FACING), which is the one that is touched. On an edge of a box both matter: a corner a micrometre
 * inside another box is nearest to that one's side, but lies on its top.
 *   With p the closest point of the facing triangle and o = x - p, the normal is
 *     s = the mean of the corners' normals, weighted by p's barycentric coordinates; a corner's normal is that of the
 *         triangles around it that meet this one smoothly (FACES_SMOOTH), so it does not jump from one to the next;
 *     n = s, going over to o / |o| where an outside x lies beside p, by BESIDE to EDGE: around a sharp edge the
 *         direction to the edge is what turns smoothly, but next to it rounding would rule it;
 *   and the gap is n . o. A point is a candidate if
 *     o . s >= 0 and gap < margin + h max(0, -n . u)      u the velocity relative to p
 *     and, where it lies beside p, the way to p leads out of its own skin (OUTWARDS): else a block that slides on a
 *     flat skin would be stopped by the points of that skin before its edge;
 *     or it is inside: o . s < 0, |o| < CONTACT_DEPTH, and x is not outside the nearest of all triangles by more than
 *     BESIDE (sign by the angle-weighted pseudonormal, shape/surface_distance.h).
 *
 * The force acts on the other body at x, too, by the weights of x in the tet that carries the triangle, as it is now:
 * so it leaves no angular momentum behind. Where x is far out of a small tet, it acts at the point between p and x
 * where no weight is larger than MOST_WEIGHT. */
#include "contact/harvest.h"

#include "shape/embedding.h"
#include "shape/mesh.h"
#include "shape/surface_distance.h"

#include <string.h>

#define FACING (-0.3)
#define OUTWARDS 0.5  /* cosine of 60 degrees */
#define EDGE 0.5e-3   /* m */
#define BESIDE 0.1e-3 /* m */
#define MOST_WEIGHT 3.0

typedef struct face_query {
    const contact_skin_state *state;
    contact_faces_state *other;
    const contact_self *self; /* if both are the same skin */
    int index;
    vec3 x;
    bool has_own;
    vec3 own; /* the point's normal, unit, once it was asked for */
    faces_found at;
} face_query;

static vec3 normal_of_point(const contact_skin_state *state, int index) {
    const contact_skin *skin = state->skin;
    vec3 sum = {0};
    for (int k = skin->around_start[index]; k < skin->around_start[index + 1]; k++) {
        const int *corner = skin->triangles + 3 * (size_t)skin->around[k];
        vec3 a = state->positions[corner[0]];
        sum = vec3_add(sum,
                       vec3_cross(vec3_sub(state->positions[corner[1]], a), vec3_sub(state->positions[corner[2]], a)));
    }
    return vec3_unit(sum);
}

static void try_triangle(face_query *q, int place) {
    const contact_faces *faces = q->other->faces;
    const int *corner = faces->corner + 3 * (size_t)place;
    const vec3 *positions = q->other->skin->positions;
    triangle_corners t = {{positions[corner[0]], positions[corner[1]], positions[corner[2]]}};
    faces_nearest here = {.place = place};
    here.point = closest_in_triangle(&t, q->x, here.weights, &here.feature);
    vec3 offset = vec3_sub(q->x, here.point);
    here.squared = vec3_dot(offset, offset);
    if (here.squared < q->at.all.squared) q->at.all = here;
    if (here.squared >= q->at.facing.squared) return;
    vec3 area = vec3_cross(vec3_sub(t.corner[1], t.corner[0]), vec3_sub(t.corner[2], t.corner[0]));
    if (!q->has_own) q->own = normal_of_point(q->state, q->index);
    q->has_own = true;
    if (vec3_dot(area, q->own) < FACING * vec3_length(area)) q->at.facing = here;
}

/* Bit i: whether box i is nearer to p than the square root of `squared`. */
static unsigned nearer(const faces_boxes *boxes, vec3 p, double squared) {
    f64x8 zero = f64x8_set(0), x = f64x8_set(p.x), y = f64x8_set(p.y), z = f64x8_set(p.z);
    x = f64x8_max(f64x8_max(boxes->low[0] - x, x - boxes->high[0]), zero);
    y = f64x8_max(f64x8_max(boxes->low[1] - y, y - boxes->high[1]), zero);
    z = f64x8_max(f64x8_max(boxes->low[2] - z, z - boxes->high[2]), zero);
    return i64x8_bits(x * x + y * y + z * z < f64x8_set(squared));
}

/* excluded: a bit each triangle of the leaf. */
static void try_leaf(face_query *q, int leaf, unsigned excluded) {
    unsigned left = nearer(&q->other->boxes[leaf], q->x, q->at.facing.squared) & ~excluded;
    for (; left; left &= left - 1) try_triangle(q, leaf * FACES_LEAF + __builtin_ctz(left));
}

static vec3 smooth_normal(const contact_faces_state *state, const faces_nearest *at) {
    const contact_faces *faces = state->faces;
    vec3 sum = {0};
    for (int k = 0; k < 3; k++) {
        size_t corner = 3 * (size_t)at->place + (size_t)k;
        vec3 normal = {0};
        if (at->weights[k] == 0) continue;
        for (int i = faces->smooth_start[corner]; i < faces->smooth_start[corner + 1]; i++)
            normal = vec3_add(normal, contact_faces_area(faces, state->skin->positions, faces->smooth[i]));
        sum = vec3_mul_add(sum, vec3_unit(normal), at->weights[k]);
    }
    return vec3_unit(sum);
}

static double angle_at(const vec3 *positions, const int *corner, int point) {
    int k = corner[0] == point ? 0 : corner[1] == point ? 1 : 2;
    vec3 a = vec3_sub(positions[corner[(k + 1) % 3]], positions[point]);
    vec3 b = vec3_sub(positions[corner[(k + 2) % 3]], positions[point]);
    return atan2(vec3_length(vec3_cross(a, b)), vec3_dot(a, b));
}

/* Of the face, the edge or the vertex that the closest point lies on; of any length. */
static vec3 pseudonormal(const contact_faces_state *state, const faces_nearest *at) {
    const contact_skin *skin = state->faces->skin;
    const vec3 *positions = state->skin->positions;
    const int *corner = state->faces->corner + 3 * (size_t)at->place;
    if (at->feature == FEATURE_FACE) return contact_faces_area(state->faces, positions, at->place);
    bool edge = at->feature < FEATURE_VERTEX;
    int k = at->feature - (edge ? FEATURE_EDGE : FEATURE_VERTEX), point = corner[k], next = corner[(k + 1) % 3];
    vec3 sum = {0};
    for (int i = skin->around_start[point]; i < skin->around_start[point + 1]; i++) {
        const int *c = skin->triangles + 3 * (size_t)skin->around[i];
        if (edge && c[0] != next && c[1] != next && c[2] != next) continue;
        vec3 a = positions[c[0]];
        vec3 normal = vec3_unit(vec3_cross(vec3_sub(positions[c[1]], a), vec3_sub(positions[c[2]], a)));
        sum = vec3_mul_add(sum, normal, edge ? 1 : angle_at(positions, c, point));
    }
    return sum;
}

/* x is outside, and not just by a trace. */
static bool is_beside(const face_query *q) {
    vec3 offset = vec3_sub(q->x, q->at.all.point);
    return q->at.all.squared > BESIDE * BESIDE && vec3_dot(offset, pseudonormal(q->other, &q->at.all)) > 0;
}

/* The normal of a contact of a point outside; false if there is none. */
static bool outside_normal(const face_query *q, vec3 s, vec3 offset, vec3 *normal) {
    double along = vec3_dot(offset, s), beside = vec3_length(vec3_mul_add(offset, s, -along));
    double length = vec3_length(offset), share = fmin(1, (beside - BESIDE) / (EDGE - BESIDE));
    *normal = s;
    if (beside <= BESIDE) return true;
    *normal = vec3_unit(vec3_mul_add(vec3_scale(s, 1 - share), offset, share / length));
    return vec3_dot(offset, q->own) < -OUTWARDS * length;
}

static vec3 velocity_at(const contact_faces_state *state, const faces_nearest *at) {
    const int *corner = state->faces->corner + 3 * (size_t)at->place;
    vec3 v = {0};
    for (int k = 0; k < 3; k++) v = vec3_mul_add(v, state->skin->velocities[corner[k]], at->weights[k]);
    return v;
}

/* At rest, where a tet that is flat now has a volume. */
static void weights_at_rest(const contact_faces *faces, const faces_nearest *at, const int *tet, double weights[4]) {
    const soft_model *body = (const soft_model *)faces->skin->body;
    vec3 corner[4], p = {0};
    for (int i = 0; i < 4; i++) corner[i] = vec3_load(body->mesh.positions + 3 * (size_t)tet[i]);
    for (int k = 0; k < 3; k++) {
        int point = faces->corner[3 * (size_t)at->place + (size_t)k];
        p = vec3_mul_add(p, surface_vertex(&body->surface, faces->skin->vertex[point]), at->weights[k]);
    }
    tet_weights(corner, p, weights);
}

static bool are_moderate(const double weights[4]) {
    for (int i = 0; i < 4; i++)
        if (!(fabs(weights[i]) <= MOST_WEIGHT)) return false;
    return true;
}

/* The nodes of the other side and where between them the force acts. */
static void hang(const contact_faces_state *state, const faces_nearest *at, contact_point *point) {
    const contact_faces *faces = state->faces;
    const int *tet = tet_mesh_tet(&((const soft_model *)faces->skin->body)->mesh, faces->tet[at->place]);
    vec3 corner[4];
    double near[4], far[4], share = 1, *weights = point->other_weights;
    memcpy(point->other_node, tet, sizeof point->other_node);
    for (int i = 0; i < 4; i++) corner[i] = vec3_load(state->x + 3 * (size_t)tet[i]);
    bool turned = !(tet_weights(corner, at->point, near) > -INFINITY) || !are_moderate(near);
    if (turned) {
        weights_at_rest(faces, at, tet, weights);
        return;
    }
    tet_weights(corner, point->position, far);
    for (int i = 0; i < 4; i++) {
        double bound = far[i] < near[i] ? -MOST_WEIGHT : MOST_WEIGHT;
        if (fabs(far[i]) > MOST_WEIGHT) share = fmin(share, (bound - near[i]) / (far[i] - near[i]));
    }
    for (int i = 0; i < 4; i++) weights[i] = near[i] + share * (far[i] - near[i]);
}

static void take(harvest *out, const face_query *q) {
    const faces_nearest *at = &q->at.facing;
    const contact_faces *faces = q->other->faces;
    vec3 offset = vec3_sub(q->x, at->point), s = smooth_normal(q->other, at);
    double along = vec3_dot(offset, s), allowed = q->self ? q->self->overlap[q->index] : 0;
    vec3 normal = s;
    if (along >= 0 && !outside_normal(q, s, offset, &normal)) return;
    double gap = vec3_dot(normal, offset) + allowed;
    vec3 u = vec3_sub(q->state->velocities[q->index], velocity_at(q->other, at));
    if (!(gap < out->margin + out->h * fmax(0, -vec3_dot(normal, u)))) return;
    if (along < 0 && (at->squared > CONTACT_DEPTH * CONTACT_DEPTH || is_beside(q))) return;
    contact_point *point = harvest_take(out);
    if (!point) return;
    *point = (contact_point){.skin = out->pair.skin,
                             .rigid = out->pair.rigid,
                             .pair = out->number,
                             .index = q->index,
                             .position = q->x,
                             .normal = normal,
                             .anchor = {at->weights[0], at->weights[1], at->weights[2]},
                             .gap = gap,
                             .allowed = allowed,
                             .face_a = -1,
                             .face_b = faces->triangle[at->place]};
    harvest_describe(q->state, q->index, point);
    hang(q->other, at, point);
}

/* The leaves without those of which no point of the group tests a triangle, and what is excluded of the others. */
static int drop_excluded(const contact_self *self, int group, int count, faces_room *room) {
    int kept = 0, next = self->start[group], end = self->start[group + 1];
    for (int i = 0; i < count; i++) {
        int leaf = room->near[i];
        while (next < end && self->masks[next].leaf < leaf) next++;
        uint64_t excluded = next < end && self->masks[next].leaf == leaf ? self->masks[next].excluded : 0;
        if (!~excluded) continue;
        room->near[kept] = leaf;
        room->masks[kept++] = excluded;
    }
    return kept;
}

/* The points of a group, one a lane. */
typedef struct group_query {
    const face_query *all; /* what all points have in common */
    const int *index;      /* of the points */
    double range;
    f64x8 x, y, z, squared; /* how near a triangle must be to matter, m^2; negative beyond the last point */
    unsigned begun;         /* bits: points that have come near to a leaf, whose queries are in use */
    face_query points[CONTACT_CLUSTER];
} group_query;

/* Bit i: whether point i is near enough to the box. */
static unsigned nearer_points(const group_query *group, const box *b) {
    f64x8 zero = f64x8_set(0);
    f64x8 x = f64x8_max(f64x8_max(f64x8_set(b->low.x) - group->x, group->x - f64x8_set(b->high.x)), zero);
    f64x8 y = f64x8_max(f64x8_max(f64x8_set(b->low.y) - group->y, group->y - f64x8_set(b->high.y)), zero);
    f64x8 z = f64x8_max(f64x8_max(f64x8_set(b->low.z) - group->z, group->z - f64x8_set(b->high.z)), zero);
    return i64x8_bits(x * x + y * y + z * z < group->squared);
}

static void start_group(group_query *group, const face_query *all, const int *index, int count, double range) {
    group->all = all;
    group->index = index;
    group->range = range;
    group->begun = 0;
    group->x = group->y = group->z = f64x8_set(0);
    group->squared = f64x8_set(-1);
    for (int i = 0; i < count; i++) {
        vec3 x = all->state->positions[index[i]];
        group->x[i] = x.x, group->y[i] = x.y, group->z[i] = x.z;
        group->squared[i] = range * range;
    }
}

static face_query *query_of(group_query *group, int i) {
    face_query *q = &group->points[i];
    if (group->begun & 1u << i) return q;
    group->begun |= 1u << i;
    *q = *group->all;
    q->index = group->index[i];
    q->x = q->state->positions[q->index];
    q->at.all = q->at.facing = (faces_nearest){.squared = group->range * group->range, .place = -1};
    return q;
}

/* Each point sees the leaves in ascending order, whatever the others find. */
static void search_group(group_query *group, const faces_room *room, int near) {
    for (int n = 0; n < near; n++) {
        box leaf = contact_faces_leaf_box(group->all->other, room->near[n]);
        unsigned left = nearer_points(group, &leaf);
        for (; left; left &= left - 1) {
            int i = __builtin_ctz(left);
            unsigned excluded = group->all->self ? (unsigned)(room->masks[n] >> (i * FACES_LEAF)) & 0xff : 0;
            if (excluded == 0xff) continue;
            face_query *q = query_of(group, i);
            try_leaf(q, room->near[n], excluded);
            group->squared[i] = q->at.facing.squared;
        }
    }
}

/* Where the points of a group may touch something within the step: no further than `range` from them. */
static box box_of_group(const harvest *out, const contact_faces_state *mine, int first, int end,
                        const contact_cluster *other, double *range) {
    const contact_skin_state *state = mine->skin;
    vec3 low = state->positions[mine->faces->point[first]], high = low;
    double fastest = 0; /* squared, m^2/s^2 */
    for (int slot = first; slot < end; slot++) {
        int point = mine->faces->point[slot];
        vec3 v = vec3_sub(state->velocities[point], other->velocity);
        low = vec3_min(low, state->positions[point]);
        high = vec3_max(high, state->positions[point]);
        fastest = fmax(fastest, vec3_dot(v, v));
    }
    *range = fmax(CONTACT_DEPTH, out->margin + out->h * (sqrt(fastest) + other->spread) * (1 + 1e-12));
    return box_grow((box){low, high}, *range);
}

/* The search of the groups, cut into pieces. */
typedef struct face_search {
    const harvest *out;
    contact_faces_state *mine;
    face_query query; /* what all points have in common */
} face_search;

static void search_piece(void *context, int piece) {
    face_search *search = context;
    contact_faces_state *mine = search->mine, *other = search->query.other;
    const contact_cluster *whole = &other->skin->whole;
    faces_room *room = &other->room[piece];
    int groups = mine->faces->group_count, last = (int)((long long)groups * (piece + 1) / FACES_PIECES);
    group_query group;
    for (int g = (int)((long long)groups * piece / FACES_PIECES); g < last; g++) {
        int first = g * CONTACT_CLUSTER, end = contact_cluster_end(mine->skin->skin, g);
        double reach;
        box around = box_of_group(search->out, mine, first, end, whole, &reach);
        if (!box_overlaps(&other->skin->bounds, &around)) continue;
        int near = contact_faces_near(other, &around, room->near);
        if (search->query.self) near = drop_excluded(search->query.self, g, near, room);
        if (near == 0) continue;
        start_group(&group, &search->query, mine->faces->point + first, end - first, reach);
        search_group(&group, room, near);
        for (unsigned left = group.begun; left; left &= left - 1) {
            const face_query *q = &group.points[__builtin_ctz(left)];
            if (q->at.facing.place >= 0) mine->found[q->index] = q->at;
        }
    }
}

/* The groups do not stand in the order of the points, in which the candidates are wanted: what is found waits. */
void harvest_faces(harvest *out, contact_faces_state *mine, contact_faces_state *other) {
    const contact_skin_state *state = mine->skin;
    const contact_cluster *whole = &other->skin->whole;
    face_query q = {.state = state, .other = other, .self = mine == other ? other->faces->self : NULL};
    double range = out->margin + out->h * (vec3_distance(state->whole.velocity, whole->velocity) + state->whole.spread +
                                           whole->spread);
    box reached = box_grow(state->bounds, fmax(CONTACT_DEPTH, range * (1 + 1e-12)));
    if (!box_overlaps(&reached, &other->skin->bounds)) return;
    for (int i = 0; i < state->skin->point_count; i++) mine->found[i].facing.place = -1;
    face_search search = {out, mine, q};
    workers_run(out->pool, FACES_PIECES, search_piece, &search);
    for (int i = 0; i < state->skin->point_count; i++) {
        if (mine->found[i].facing.place < 0) continue;
        q.index = i;
        q.x = state->positions[i];
        q.own = normal_of_point(state, i);
        q.at = mine->found[i];
        take(out, &q);
    }
}
