/* What of a skin is not contact with itself, found once in the shape at rest.
 *
 * A point does not touch a triangle if
 *   - a corner of it is nearer than `distance` along the edges of the skin (Dijkstra's algorithm): a neighbour; or
 *   - a corner is nearer than ACROSS times that, and than DETOUR times the straight way: they are on one piece of skin,
 *     or on both sides of a limb, and could meet only if all flesh between them vanished; or
 *   - the triangle's back is towards the point and nearer than twice CONTACT_DEPTH: behind a thin wall the other side
 *     of the skin looks like one that the point has gone through. But what is no deeper than OVERLAP is taken for two
 *     parts that overlap already (fingers of a scan that touch): there the gap counts from where the point is at
 *     rest. */
#include "contact/faces.h"

#include "shape/surface_distance.h"

#include <stdlib.h>
#include <string.h>

#define OVERLAP 1e-3 /* m */
#define ACROSS 2.5
#define DETOUR 2.0

/* A binary heap of points by their distance. */
typedef struct entry {
    double distance;
    int point;
} entry;

typedef struct self_search {
    const contact_faces *faces;
    const vec3 *positions;
    double *distance; /* a point: along the skin, or INFINITY */
    int *reached;     /* points with a distance */
    int reached_count;
    ARRAY(entry) heap;
    uint64_t *word; /* a leaf: the mask of the group at hand */
    int *near;      /* leaf_count: leaves near a point */
    ARRAY(contact_mask) masks;
} self_search;

_Static_assert(CONTACT_CLUSTER *FACES_LEAF == 64, "a mask is one word");

static bool heap_push(self_search *s, entry e) {
    if (!ARRAY_PUSH(&s->heap, e)) return false;
    size_t k = s->heap.count - 1;
    for (; k > 0 && s->heap.data[(k - 1) / 2].distance > e.distance; k = (k - 1) / 2)
        s->heap.data[k] = s->heap.data[(k - 1) / 2];
    s->heap.data[k] = e;
    return true;
}

static entry heap_pop(self_search *s) {
    entry first = s->heap.data[0], last = s->heap.data[--s->heap.count];
    size_t k = 0;
    for (size_t child; (child = 2 * k + 1) < s->heap.count; k = child) {
        if (child + 1 < s->heap.count && s->heap.data[child + 1].distance < s->heap.data[child].distance) child++;
        if (last.distance <= s->heap.data[child].distance) break;
        s->heap.data[k] = s->heap.data[child];
    }
    if (s->heap.count > 0) s->heap.data[k] = last;
    return first;
}

static bool reach(self_search *s, int point, double distance) {
    if (s->distance[point] <= distance) return true;
    if (isinf(s->distance[point])) s->reached[s->reached_count++] = point;
    s->distance[point] = distance;
    return heap_push(s, (entry){distance, point});
}

/* Points nearer than `most` along the skin. False: out of memory. */
static bool walk(self_search *s, int from, double most) {
    const contact_skin *skin = s->faces->skin;
    for (int i = 0; i < s->reached_count; i++) s->distance[s->reached[i]] = INFINITY;
    s->reached_count = 0;
    bool enough = reach(s, from, 0);
    while (enough && s->heap.count > 0) {
        entry e = heap_pop(s);
        if (e.distance > s->distance[e.point]) continue;
        for (int k = skin->around_start[e.point]; k < skin->around_start[e.point + 1] && enough; k++)
            for (int c = 0; c < 3 && enough; c++) {
                int point = skin->triangles[3 * (size_t)skin->around[k] + (size_t)c];
                double distance = e.distance + vec3_distance(s->positions[point], s->positions[e.point]);
                if (distance < most) enough = reach(s, point, distance);
            }
    }
    return enough;
}

static vec3 closest_at_rest(const self_search *s, int place, vec3 p) {
    triangle_corners t;
    double weights[3];
    int feature;
    for (int k = 0; k < 3; k++) t.corner[k] = s->positions[s->faces->corner[3 * (size_t)place + (size_t)k]];
    return closest_in_triangle(&t, p, weights, &feature);
}

static void mark(self_search *s, int slot, int place) {
    s->word[place / FACES_LEAF] |= contact_mask_bit(slot, place);
}

/* Marks what a point does not touch. Returns how far it is inside the skin. */
static double exclude(self_search *s, contact_faces_state *boxes, const int *place_of, int slot, double distance) {
    const contact_faces *faces = s->faces;
    const contact_skin *skin = faces->skin;
    int point = faces->point[slot];
    vec3 p = s->positions[point], own = {0};
    double overlap = 0;
    for (int i = 0; i < s->reached_count; i++) {
        int other = s->reached[i];
        double along = s->distance[other];
        if (along >= distance && along >= DETOUR * vec3_distance(s->positions[other], p)) continue;
        for (int k = skin->around_start[other]; k < skin->around_start[other + 1]; k++)
            mark(s, slot, place_of[skin->around[k]]);
    }
    for (int k = skin->around_start[point]; k < skin->around_start[point + 1]; k++)
        own = vec3_add(own, contact_faces_area(faces, s->positions, place_of[skin->around[k]]));
    box around = box_grow((box){p, p}, 2 * CONTACT_DEPTH);
    int near = contact_faces_near(boxes, &around, s->near);
    for (int n = 0; n < near; n++)
        for (int i = s->near[n] * FACES_LEAF; i < contact_faces_leaf_end(faces, s->near[n]); i++) {
            if (s->word[i / FACES_LEAF] & contact_mask_bit(slot, i)) continue;
            vec3 offset = vec3_sub(p, closest_at_rest(s, i, p)), normal = contact_faces_area(faces, s->positions, i);
            double depth = vec3_length(offset);
            if (vec3_dot(offset, normal) >= 0 || vec3_dot(own, normal) >= 0 || depth >= 2 * CONTACT_DEPTH) continue;
            if (depth > OVERLAP)
                mark(s, slot, i);
            else
                overlap = fmax(overlap, depth);
        }
    return overlap;
}

/* Points and triangles that the last group and the last leaf do not have are excluded, so that all ones are all. */
static void mark_missing(self_search *s, int group) {
    int end = contact_cluster_end(s->faces->skin, group), leaves = contact_faces_leaf_count(s->faces);
    for (int leaf = 0; leaf < leaves; leaf++)
        for (int i = end; i < (group + 1) * CONTACT_CLUSTER; i++)
            for (int k = 0; k < FACES_LEAF; k++) mark(s, i, leaf * FACES_LEAF + k);
    for (int i = group * CONTACT_CLUSTER; i < end; i++)
        for (int k = s->faces->count; k < leaves * FACES_LEAF; k++) mark(s, i, k);
}

static bool search_all(self_search *s, contact_self *self, contact_faces_state *boxes, const int *place_of,
                       double distance) {
    const contact_skin *skin = s->faces->skin;
    int leaves = contact_faces_leaf_count(s->faces);
    for (int c = 0; c < s->faces->group_count; c++) {
        memset(s->word, 0, (size_t)leaves * sizeof *s->word);
        for (int i = c * CONTACT_CLUSTER; i < contact_cluster_end(skin, c); i++) {
            if (!walk(s, s->faces->point[i], ACROSS * distance)) return false;
            self->overlap[s->faces->point[i]] = exclude(s, boxes, place_of, i, distance);
        }
        mark_missing(s, c);
        for (int leaf = 0; leaf < leaves; leaf++)
            if (s->word[leaf] && !ARRAY_PUSH(&s->masks, ((contact_mask){leaf, s->word[leaf]}))) return false;
        self->start[c + 1] = (int)s->masks.count;
    }
    return true;
}

/* The boxes of the skin at rest, on memory of their own; free() state->boxes. */
static bool boxes_at_rest(const contact_faces *faces, const vec3 *positions, contact_faces_state *state) {
    size_t size = (size_t)faces->level_start[faces->level_count] * sizeof *state->boxes;
    *state = (contact_faces_state){.faces = faces, .boxes = memory_aligned(size > 0 ? size : sizeof *state->boxes)};
    if (!state->boxes) return false;
    contact_skin_state skin = {.skin = faces->skin, .positions = (vec3 *)positions};
    soft_state body = {.base.model = faces->skin->body};
    contact_faces_update(state, &skin, &body.base);
    return true;
}

thenar_status contact_self_create(const contact_faces *faces, double distance, const vec3 *positions,
                                  contact_self **out, thenar_error *error) {
    const contact_skin *skin = faces->skin;
    contact_self *self = *out = MEMORY_ARRAY(contact_self, 1);
    self_search s = {.faces = faces,
                     .positions = positions,
                     .distance = MEMORY_ARRAY(double, skin->point_count),
                     .reached = MEMORY_ARRAY(int, skin->point_count),
                     .word = MEMORY_ARRAY(uint64_t, contact_faces_leaf_count(faces)),
                     .near = MEMORY_ARRAY(int, contact_faces_leaf_count(faces))};
    contact_faces_state boxes = {0};
    int *place_of = MEMORY_ARRAY(int, faces->triangle_count);
    bool have =
        self && s.distance && s.reached && s.word && s.near && place_of && boxes_at_rest(faces, positions, &boxes);
    if (have) {
        self->start = MEMORY_ARRAY(int, faces->group_count + 1);
        self->overlap = MEMORY_ARRAY(double, skin->point_count);
        have = self->start && self->overlap;
    }
    if (have) {
        for (int i = 0; i < faces->count; i++) place_of[faces->triangle[i]] = i;
        for (int i = 0; i < skin->point_count; i++) s.distance[i] = INFINITY;
        have = search_all(&s, self, &boxes, place_of, distance);
        self->masks = s.masks.data;
        s.masks.data = NULL;
    }
    free(s.distance);
    free(s.reached);
    free(s.word);
    free(s.heap.data);
    free(s.masks.data);
    free(place_of);
    free(boxes.boxes);
    free(s.near);
    if (have) return THENAR_OK;
    contact_self_free(self);
    *out = NULL;
    return error_memory(error, skin->body->name);
}

void contact_self_free(contact_self *self) {
    if (!self) return;
    free(self->start);
    free(self->masks);
    free(self->overlap);
    free(self);
}
