/* The search for contact points. First the broad phase (sort and sweep over boxes), then points against rigid
 * shapes, then points against the triangles of soft skins.
 *
 * For a point x with the outward normal m of its own skin, the search against a soft skin finds two triangles within
 * max(CONTACT_DEPTH, margin + h |u|): the nearest of all, and the nearest that faces the point (its normal within 73
 * degrees of -m: FACING), which is the one touched. On an edge of a box both matter: a corner a micrometre inside
 * another box is nearest to its side, but lies on its top.
 *   With p the closest point of the facing triangle and o = x - p, the normal is
 *     s = the mean of the corner normals, weighted by the barycentric coordinates of p. A corner normal is that of the
 *         triangles around it that meet this one smoothly (FACES_SMOOTH), so s is continuous from one to the next;
 *     n = s, blended to o / |o| where an outside x is beside p, from BESIDE to EDGE: around a sharp edge the direction
 *         to the edge turns smoothly, but close to it rounding errors would dominate;
 *   and the gap is n . o. A point is a candidate if
 *     o . s >= 0 and gap < margin + h max(0, -n . u)      u the velocity relative to p
 *     and, where it is beside p, the direction to p leads out of its own skin (OUTWARDS): otherwise the points of a
 *     flat skin would stop a block that slides on it, before its edge;
 *     or it is inside: o . s < 0, |o| < CONTACT_DEPTH, and x is not outside the nearest of all triangles by more than
 *     BESIDE (sign by the angle-weighted pseudonormal, geometry/distance.h).
 *
 * The force acts on the other body at x, too, by the weights of x in the current tet of the triangle, so it
 * conserves angular momentum. Where x is far outside a small tet, the force acts at the point between p and x where
 * no weight exceeds MAX_WEIGHT. */
#include "contact/find.h"

#include "contact/contact.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <math.h>
#include <string.h>

/* The candidates found so far. */
typedef struct candidates {
    contact_point *points;
    int capacity, count;
    double margin, h;
    workers *pool;
    contact_pair pair; /* that is searched */
    int number;        /* its index */
} candidates;

/* The next candidate to fill in, or NULL if there is no room. */
static contact_point *candidates_add(candidates *out) {
    return out->count++ < out->capacity ? &out->points[out->count - 1] : NULL;
}

void broad_phase_layout(broad_phase *state, int count, arena *work) {
    state->count = count;
    for (int a = 0; a < 3; a++) state->order[a] = ARENA_ARRAY(work, int, count);
}

void broad_phase_open(broad_phase *state) {
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < state->count; i++) state->order[a][i] = i;
}

static double along(vec3 v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* The axis along which the centres of the finite boxes have the largest variance. */
static int choose_axis(const box *boxes, int count) {
    vec3 sum = {0}, squares = {0};
    double finite = 0;
    for (int i = 0; i < count; i++) {
        vec3 middle = vec3_scale(vec3_add(boxes[i].low, boxes[i].high), 0.5);
        if (!vec3_is_finite(middle)) continue;
        sum = vec3_add(sum, middle);
        squares = vec3_add(squares, vec3_make(middle.x * middle.x, middle.y * middle.y, middle.z * middle.z));
        finite++;
    }
    int best = 0;
    double max = -INFINITY;
    for (int a = 0; a < 3 && finite > 0; a++) {
        double mean = along(sum, a) / finite, spread = along(squares, a) / finite - mean * mean;
        if (spread > max) max = spread, best = a;
    }
    return best;
}

static bool stands_before(const box *boxes, int axis, int i, int k) {
    double a = along(boxes[i].low, axis), b = along(boxes[k].low, axis);
    return a < b || (a == b && i < k);
}

static void sort(int *order, int count, const box *boxes, int axis) {
    for (int i = 1; i < count; i++) {
        int item = order[i], k = i;
        for (; k > 0 && stands_before(boxes, axis, item, order[k - 1]); k--) order[k] = order[k - 1];
        order[k] = item;
    }
}

void broad_phase_find(broad_phase *state, const box *boxes, int split, broad_phase_visit visit, void *context) {
    int axis = choose_axis(boxes, state->count), *order = state->order[axis];
    sort(order, state->count, boxes, axis);
    for (int i = 0; i < state->count; i++) {
        int a = order[i];
        double end = along(boxes[a].high, axis);
        for (int k = i + 1; k < state->count && along(boxes[order[k]].low, axis) <= end; k++) {
            int b = order[k];
            if ((a < split) == (b < split) || !box_overlaps(&boxes[a], &boxes[b])) continue;
            visit(context, a < split ? a : b, a < split ? b : a);
        }
    }
}

typedef struct finding {
    contact_state *state;
    const contact_model *contacts;
} finding;

static void add_pair(void *context, int one, int other) {
    finding *found = context;
    size_t target = (size_t)(other - found->contacts->skin_count);
    int pair = found->contacts->pair_of[(size_t)one * (size_t)found->contacts->target_count + target];
    if (pair >= 0) found->state->near_pairs[found->state->near_count++] = pair;
}

/* Radix sort, ascending, byte by byte: linear in the count. */
static void sort_numbers(int *numbers, int *room, int count, int largest) {
    for (int shift = 0; shift < 31 && largest >> shift > 0; shift += 8) {
        int start[257] = {0};
        for (int i = 0; i < count; i++) start[((numbers[i] >> shift) & 255) + 1]++;
        for (int i = 0; i < 256; i++) start[i + 1] += start[i];
        for (int i = 0; i < count; i++) room[start[(numbers[i] >> shift) & 255]++] = numbers[i];
        memcpy(numbers, room, (size_t)count * sizeof *numbers);
    }
}

void contact_find_pairs(contact_state *state, const contact_model *contacts, double margin, double h) {
    int skins = contacts->skin_count;
    for (int i = 0; i < skins; i++) state->reach[i] = contact_skin_reach(&state->skins[i], margin, h);
    for (int i = 0; i < contacts->target_count; i++) {
        int body = contacts->targets[i];
        state->reach[skins + i] =
            state->rigids[body] ? contact_rigid_reach(state->rigids[body], h) : state->reach[contacts->skin_of[body]];
    }
    finding found = {state, contacts};
    state->near_count = 0;
    broad_phase_find(&state->near, state->reach, skins, add_pair, &found);
    sort_numbers(state->near_pairs, state->near_room, state->near_count, contacts->pair_count - 1);
}

/* A rigid body prepared for distance queries. */
typedef struct target {
    const rigid_shape *shape;
    mat3 R;
    vec3 centre, velocity, spin;
    double turning; /* |spin| */
    box world;      /* around the shape's box, in world axes */
} target;

/* The box around a rotated box: its centre moved, its half sizes times |R|. Infinite boxes stay infinite. */
static box turn_box(const box *b, mat3 R, vec3 centre) {
    vec3 half = vec3_scale(vec3_sub(b->high, b->low), 0.5);
    if (!vec3_is_finite(half)) return (box){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    vec3 middle = vec3_add(centre, mat3_mul_vec(R, vec3_scale(vec3_add(b->low, b->high), 0.5)));
    for (int i = 0; i < 9; i++) R.m[i] = fabs(R.m[i]);
    vec3 reach = mat3_mul_vec(R, half);
    return (box){vec3_sub(middle, reach), vec3_add(middle, reach)};
}

static target make_target(const rigid_state *body, double h) {
    target t = {.shape = &rigid_of(body)->shape};
    t.R = quat_to_mat3(rigid_orientation(body->kept->orientation));
    t.centre = vec3_load(body->kept->position);
    rigid_coming_motion(body, h, &t.velocity, &t.spin);
    t.turning = vec3_length(t.spin);
    t.world = turn_box(&t.shape->solid.bounds, t.R, t.centre);
    return t;
}

#define ROUNDING (1 + 1e-9) /* margin of the boxes for rounding errors */

box contact_skin_reach(const contact_skin_state *skin, double margin, double h) {
    double speed = vec3_length(skin->whole.velocity) + skin->whole.spread;
    return box_grow(skin->bounds, (margin + h * speed) * ROUNDING);
}

box contact_rigid_reach(const rigid_state *rigid, double h) {
    target t = make_target(rigid, h);
    const box *bounds = &t.shape->solid.bounds;
    double furthest = t.turning > 0 ? vec3_length(vec3_max(vec3_scale(bounds->low, -1), bounds->high)) : 0;
    return box_grow(t.world, h * (vec3_length(t.velocity) + t.turning * furthest) * ROUNDING);
}

/* A velocity relative to the body, at an arm from its centre of mass. */
static vec3 relative(const target *t, vec3 velocity, vec3 arm) {
    return vec3_sub(vec3_sub(velocity, t->velocity), vec3_cross(t->spin, arm));
}

/* Sets the area of a point, a third of the projected triangles around it, and the face that is most opposed to the
 * other body. A vertex on the edge of a block that lies flat also has triangles on the sides of the block, which
 * touch nothing. */
static void describe_around(const contact_skin_state *state, int index, contact_point *point) {
    const contact_skin *skin = state->skin;
    double max_opposed = INFINITY, area = 0;
    for (int k = skin->around_start[index]; k < skin->around_start[index + 1]; k++) {
        const int *corner = skin->triangles + 3 * (size_t)skin->around[k];
        vec3 a = state->positions[corner[0]], b = state->positions[corner[1]], c = state->positions[corner[2]];
        vec3 twice = vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
        double size = vec3_length(twice), facing = size > 0 ? vec3_dot(twice, point->normal) / size : 1;
        area += fmax(0, -facing) * size / 6;
        if (facing >= max_opposed) continue;
        max_opposed = facing;
        point->face_a = skin->around_face ? skin->around_face[k] : skin->around[k];
    }
    if (skin->holds) point->area = area;
}

/* Sets what depends on the skin: attachment, area, face. Position and normal are set. */
static void describe_candidate(const contact_skin_state *state, int index, contact_point *point) {
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

static void try_point(candidates *out, const contact_skin_state *state, const target *t, int index) {
    double radius = state->skin->radius;
    vec3 p = state->positions[index], arm = vec3_sub(p, t->centre), u = relative(t, state->velocities[index], arm);
    vec3 local = mat3_mul_vec_transposed(t->R, arm);
    double furthest = radius + out->margin + out->h * vec3_length(u) * (1 + 1e-12);
    if (!(rigid_shape_min_distance(t->shape, local) < furthest)) return;
    rigid_closest closest = rigid_shape_closest(t->shape, local);
    vec3 normal = mat3_mul_vec(t->R, closest.normal);
    double gap = closest.distance - radius, approach = fmax(0, -vec3_dot(normal, u));
    if (!(gap < out->margin + out->h * approach)) return;
    contact_point *point = candidates_add(out);
    if (!point) return;
    *point = (contact_point){.skin = out->pair.skin,
                             .other = out->pair.body[1],
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
    describe_candidate(state, index, point);
}

/* The distance within which points of a cluster can be in contact within the step, from the middle of the cluster. */
static double range_of(const candidates *out, const target *t, const contact_cluster *cluster) {
    vec3 u = relative(t, cluster->velocity, vec3_sub(cluster->middle, t->centre));
    double speed = vec3_length(u) + cluster->spread + t->turning * cluster->reach;
    return out->margin + cluster->reach + out->h * speed * (1 + 1e-12);
}

static bool is_near(const target *t, const contact_cluster *cluster, double range) {
    vec3 local = mat3_mul_vec_transposed(t->R, vec3_sub(cluster->middle, t->centre));
    return rigid_shape_min_distance(t->shape, local) < range;
}

static void try_pair(candidates *out, const contact_skin_state *state, const target *t) {
    double range = range_of(out, t, &state->whole), ride = range - state->whole.reach;
    box reached = box_grow(state->bounds, ride);
    if (!box_overlaps(&reached, &t->world) || !is_near(t, &state->whole, range)) return;
    for (int c = 0; c < state->skin->cluster_count; c++) {
        const contact_cluster *cluster = &state->clusters[c];
        /* The bound of the whole skin rejects almost all clusters. */
        double max = cluster->reach + ride;
        if (box_distance_squared(&t->world, cluster->middle) > max * max) continue;
        if (!is_near(t, cluster, range_of(out, t, cluster))) continue;
        for (int i = c * CONTACT_CLUSTER; i < contact_cluster_end(state->skin, c); i++) try_point(out, state, t, i);
    }
}

#define FACING (-0.3)
#define OUTWARDS 0.5  /* cosine of 60 degrees */
#define EDGE 0.5e-3   /* m */
#define BESIDE 0.1e-3 /* m */
#define MAX_WEIGHT 3.0

typedef struct face_query {
    const contact_skin_state *state;
    contact_faces_state *other;
    const contact_self *self; /* if both are the same skin */
    int index;
    vec3 x;
    bool has_own;
    vec3 own; /* unit normal of the point, if has_own */
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

/* Bit i: whether box i is closer to p than the square root of `squared`. */
static unsigned nearer(const faces_boxes *boxes, vec3 p, double squared) {
    f64x8 zero = f64x8_set(0), x = f64x8_set(p.x), y = f64x8_set(p.y), z = f64x8_set(p.z);
    x = f64x8_max(f64x8_max(boxes->low[0] - x, x - boxes->high[0]), zero);
    y = f64x8_max(f64x8_max(boxes->low[1] - y, y - boxes->high[1]), zero);
    z = f64x8_max(f64x8_max(boxes->low[2] - z, z - boxes->high[2]), zero);
    return i64x8_bits(x * x + y * y + z * z < f64x8_set(squared));
}

/* excluded: one bit per triangle of the leaf. */
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

/* The pseudonormal of the face, edge or vertex that the closest point lies on; not normalized. */
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

/* x is outside by more than BESIDE. */
static bool is_beside(const face_query *q) {
    vec3 offset = vec3_sub(q->x, q->at.all.point);
    return q->at.all.squared > BESIDE * BESIDE && vec3_dot(offset, pseudonormal(q->other, &q->at.all)) > 0;
}

/* The normal for a point outside; false if there is no contact. */
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

/* Weights in the rest shape, where a tet that is flat now has a volume. */
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
        if (!(fabs(weights[i]) <= MAX_WEIGHT)) return false;
    return true;
}

/* Attaches the contact to the nodes of the other body. */
static void attach_to_faces(const contact_faces_state *state, const faces_nearest *at, contact_point *point) {
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
        double bound = far[i] < near[i] ? -MAX_WEIGHT : MAX_WEIGHT;
        if (fabs(far[i]) > MAX_WEIGHT) share = fmin(share, (bound - near[i]) / (far[i] - near[i]));
    }
    for (int i = 0; i < 4; i++) weights[i] = near[i] + share * (far[i] - near[i]);
}

static void add_face_candidate(candidates *out, const face_query *q) {
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
    contact_point *point = candidates_add(out);
    if (!point) return;
    *point = (contact_point){.skin = out->pair.skin,
                             .other = out->pair.body[1],
                             .pair = out->number,
                             .index = q->index,
                             .position = q->x,
                             .normal = normal,
                             .anchor = {at->weights[0], at->weights[1], at->weights[2]},
                             .gap = gap,
                             .allowed = allowed,
                             .face_a = -1,
                             .face_b = faces->triangle[at->place]};
    describe_candidate(q->state, q->index, point);
    attach_to_faces(q->other, at, point);
}

/* Drops the leaves that are excluded for all points of the group, and lists the exclusions of the others. */
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

/* The points of a group, one per lane. */
typedef struct group_query {
    const face_query *all; /* common to all points */
    const int *index;      /* of the points */
    double range;
    f64x8 x, y, z, squared; /* search radius squared, m^2; negative beyond the last point */
    unsigned begun;         /* bits: points whose queries are initialized */
    face_query points[CONTACT_CLUSTER];
} group_query;

/* Bit i: whether point i is within its search radius of the box. */
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

/* Each point visits the leaves in ascending order, whatever the others find. */
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

/* The box in which the points of a group may touch something within the step; range: its distance from them. */
static box box_of_group(const candidates *out, const contact_faces_state *mine, int first, int end,
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

/* The search of all groups, in parts for threads. */
typedef struct face_search {
    const candidates *out;
    contact_faces_state *mine;
    face_query query; /* common to all points */
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

/* Candidates are sorted by point, and groups are not, so the results are stored first. */
static void find_face_candidates(candidates *out, contact_faces_state *mine, contact_faces_state *other) {
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
        add_face_candidate(out, &q);
    }
}

int contact_find_points(const contact_skin_state *const *skins, const rigid_state *const *rigids,
                        contact_faces_state *const *faces, const contact_pair *pairs, const int *near, int near_count,
                        double margin, double h, workers *pool, contact_point *points, int capacity) {
    candidates out = {.points = points, .capacity = capacity, .margin = margin, .h = h, .pool = pool};
    for (int i = 0; i < near_count; i++) {
        out.number = near[i];
        out.pair = pairs[near[i]];
        const contact_skin_state *skin = skins[out.pair.skin];
        if (out.pair.faces >= 0) {
            find_face_candidates(&out, faces[out.pair.skin], faces[out.pair.faces]);
            continue;
        }
        const rigid_state *rigid = rigids[out.pair.body[1]];
        assert(skin->skin->body != rigid->base.model);
        target t = make_target(rigid, h);
        try_pair(&out, skin, &t);
    }
    return out.count;
}
