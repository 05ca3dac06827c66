/* The triangles of a soft skin that points touch: leaves and boxes, the tet of each triangle, smooth normals, and the
 * exclusions of self-contact (find.h). */
#include "contact/find.h"

#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

/* Exclusions of self-contact, found once in the rest shape.
 *
 * Contact of a point with a triangle is excluded if
 *   - a corner is closer than `distance` along the edges of the skin (Dijkstra's algorithm): a neighbour; or
 *   - a corner is closer along the skin than ACROSS times that and than DETOUR times the straight distance: they are on
 *     one piece of skin or on both sides of a limb, and could meet only if all flesh between them vanished; or
 *   - the back of the triangle faces the point and is closer than twice CONTACT_DEPTH: behind a thin wall, the other
 *     side of the skin looks like one that the point has passed through. But up to a depth of OVERLAP they count as
 *     parts that overlap at rest (touching fingers of a scan): there the gap is measured from the rest shape. */

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
    double *distance; /* of each point along the skin, or INFINITY */
    int *reached;     /* points with a distance */
    int reached_count;
    ARRAY(entry) heap;
    uint64_t *word; /* mask of the current group for each leaf */
    int *near;      /* leaf_count: leaves near a point */
    ARRAY(contact_mask) masks;
} self_search;

static int leaf_count(const contact_faces *faces) {
    return (faces->count + FACES_LEAF - 1) / FACES_LEAF;
}

static int leaf_end(const contact_faces *faces, int leaf) {
    int end = (leaf + 1) * FACES_LEAF;
    return end < faces->count ? end : faces->count;
}

/* slot: index of the point in the order of the groups. */
static uint64_t mask_bit(int slot, int place) {
    return (uint64_t)1 << (slot % CONTACT_CLUSTER * FACES_LEAF + place % FACES_LEAF);
}

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

/* Finds the points closer than `max` along the skin. False: out of memory. */
static bool walk(self_search *s, int from, double max) {
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
                if (distance < max) enough = reach(s, point, distance);
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
    s->word[place / FACES_LEAF] |= mask_bit(slot, place);
}

/* Marks the exclusions of a point. Returns how far it is inside the skin. */
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
        for (int i = s->near[n] * FACES_LEAF; i < leaf_end(faces, s->near[n]); i++) {
            if (s->word[i / FACES_LEAF] & mask_bit(slot, i)) continue;
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

/* Excludes the missing points of the last group and triangles of the last leaf, so that a full mask is all ones. */
static void mark_missing(self_search *s, int group) {
    int end = contact_cluster_end(s->faces->skin, group), leaves = leaf_count(s->faces);
    for (int leaf = 0; leaf < leaves; leaf++)
        for (int i = end; i < (group + 1) * CONTACT_CLUSTER; i++)
            for (int k = 0; k < FACES_LEAF; k++) mark(s, i, leaf * FACES_LEAF + k);
    for (int i = group * CONTACT_CLUSTER; i < end; i++)
        for (int k = s->faces->count; k < leaves * FACES_LEAF; k++) mark(s, i, k);
}

static bool search_all(self_search *s, contact_self *self, contact_faces_state *boxes, const int *place_of,
                       double distance) {
    const contact_skin *skin = s->faces->skin;
    int leaves = leaf_count(s->faces);
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

/* The boxes of the rest shape, in separate memory; free() state->boxes. */
static bool boxes_at_rest(const contact_faces *faces, const vec3 *positions, contact_faces_state *state) {
    size_t size = (size_t)faces->level_start[faces->level_count] * sizeof *state->boxes;
    *state = (contact_faces_state){.faces = faces, .boxes = memory_aligned(size > 0 ? size : sizeof *state->boxes)};
    if (!state->boxes) return false;
    contact_skin_state skin = {.skin = faces->skin, .positions = (vec3 *)positions};
    soft_state body = {.base.model = faces->skin->body};
    contact_faces_update(state, &skin, &body.base);
    return true;
}

static void contact_self_free(contact_self *self) {
    if (!self) return;
    free(self->start);
    free(self->masks);
    free(self->overlap);
    free(self);
}

/* positions: of the points at rest. */
static thenar_status contact_self_create(const contact_faces *faces, double distance, const vec3 *positions,
                                         contact_self **out, thenar_error *error) {
    const contact_skin *skin = faces->skin;
    contact_self *self = *out = MEMORY_ARRAY(contact_self, 1);
    self_search s = {.faces = faces,
                     .positions = positions,
                     .distance = MEMORY_ARRAY(double, skin->point_count),
                     .reached = MEMORY_ARRAY(int, skin->point_count),
                     .word = MEMORY_ARRAY(uint64_t, leaf_count(faces)),
                     .near = MEMORY_ARRAY(int, leaf_count(faces))};
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

static const soft_model *body_of(const contact_faces *faces) {
    return (const soft_model *)faces->skin->body;
}

static thenar_status no_memory(const contact_faces *faces, thenar_error *error) {
    return error_memory(error, faces->skin->body->name);
}

static int count_triangles(const contact_skin *skin) {
    int count = 0, total = skin->around_start[skin->point_count];
    for (int i = 0; i < total; i++)
        if (skin->around[i] >= count) count = skin->around[i] + 1;
    return count;
}

static const int *corners_of(const contact_skin *skin, int triangle) {
    return skin->triangles + 3 * (size_t)triangle;
}

/* Orders the points in groups and the triangles in leaves. */
static thenar_status order_all(contact_faces *faces, const vec3 *positions, thenar_error *error) {
    const contact_skin *skin = faces->skin;
    int *with_corners = MEMORY_ARRAY(int, faces->triangle_count), *order = MEMORY_ARRAY(int, faces->triangle_count);
    vec3 *middle = MEMORY_ARRAY(vec3, faces->triangle_count);
    faces->point = MEMORY_ARRAY(int, skin->point_count);
    faces->triangle = MEMORY_ARRAY(int, faces->triangle_count);
    faces->corner = MEMORY_ARRAY(int, 3 * (size_t)faces->triangle_count);
    bool have = with_corners && order && middle && faces->point && faces->triangle && faces->corner;
    for (int t = 0; t < faces->triangle_count && have; t++) {
        const int *corner = corners_of(skin, t);
        if (corner[0] < 0) continue;
        middle[faces->count] = vec3_add(vec3_add(positions[corner[0]], positions[corner[1]]), positions[corner[2]]);
        with_corners[faces->count++] = t;
    }
    if (have) {
        compact_order(positions, skin->point_count, CONTACT_CLUSTER, faces->point);
        compact_order(middle, faces->count, FACES_LEAF, order);
    }
    for (int i = 0; i < faces->count && have; i++) {
        faces->triangle[i] = with_corners[order[i]];
        memcpy(faces->corner + 3 * (size_t)i, corners_of(skin, faces->triangle[i]), 3 * sizeof *faces->corner);
    }
    faces->group_count = (skin->point_count + CONTACT_CLUSTER - 1) / CONTACT_CLUSTER;
    free(with_corners);
    free(order);
    free(middle);
    return have ? THENAR_OK : no_memory(faces, error);
}

static void plan_levels(contact_faces *faces) {
    for (int boxes = leaf_count(faces); faces->count > 0; boxes = (boxes + FACES_LEAF - 1) / FACES_LEAF) {
        assert(faces->level_count < FACES_LEVELS);
        faces->level_start[faces->level_count + 1] = faces->level_start[faces->level_count] + boxes;
        faces->level_count++;
        if (boxes == 1) return;
    }
}

/* The tets around each node of the mesh. */
typedef struct node_tets {
    int *start, *tet;
} node_tets;

static bool find_node_tets(const thenar_tet_mesh *mesh, node_tets *out) {
    out->start = MEMORY_ARRAY(int, mesh->node_count + 1);
    out->tet = MEMORY_ARRAY(int, 4 * (size_t)mesh->tet_count);
    if (!out->start || !out->tet) return false;
    for (int i = 0; i < 4 * mesh->tet_count; i++) out->start[tet_mesh_tet(mesh, i / 4)[i % 4]]++;
    for (int i = 0; i < mesh->node_count; i++) out->start[i + 1] += out->start[i];
    /* Filled from behind, each node's end becomes its start. */
    for (int i = 4 * mesh->tet_count - 1; i >= 0; i--) out->tet[--out->start[tet_mesh_tet(mesh, i / 4)[i % 4]]] = i / 4;
    return true;
}

/* The tet that contains the middle of the triangle, or nearly so, among those that share a node with the attachments of
 * its corners: in space alone, one of a neighbouring finger may be nearer. */
static int find_tet(const contact_faces *faces, const node_tets *around, const vec3 *positions, int place) {
    const thenar_tet_mesh *mesh = &body_of(faces)->mesh;
    const int *corner = faces->corner + 3 * (size_t)place;
    vec3 middle = vec3_add(vec3_add(positions[corner[0]], positions[corner[1]]), positions[corner[2]]);
    middle = vec3_scale(middle, 1.0 / 3);
    double deepest = -INFINITY;
    int best = -1;
    for (int k = 0; k < 12; k++) {
        const contact_hold *hold = &faces->skin->holds[corner[k / 4]];
        if (hold->weights[k % 4] == 0) continue;
        int node = hold->node[k % 4];
        for (int i = around->start[node]; i < around->start[node + 1]; i++) {
            vec3 place_of[4];
            double weights[4];
            const int *tet = tet_mesh_tet(mesh, around->tet[i]);
            for (int n = 0; n < 4; n++) place_of[n] = vec3_load(mesh->positions + 3 * (size_t)tet[n]);
            double depth = tet_weights(place_of, middle, weights);
            if (best >= 0 && !(depth > deepest)) continue;
            deepest = depth;
            best = around->tet[i];
        }
    }
    return best;
}

static thenar_status find_tets(contact_faces *faces, const vec3 *positions, thenar_error *error) {
    node_tets around = {0};
    faces->tet = MEMORY_ARRAY(int, faces->count);
    bool have = find_node_tets(&body_of(faces)->mesh, &around) && faces->tet;
    for (int i = 0; i < faces->count && have; i++) faces->tet[i] = find_tet(faces, &around, positions, i);
    free(around.start);
    free(around.tet);
    return have ? THENAR_OK : no_memory(faces, error);
}

static thenar_status find_smooth(contact_faces *faces, const vec3 *positions, thenar_error *error) {
    const contact_skin *skin = faces->skin;
    int *place = MEMORY_ARRAY(int, faces->triangle_count), total = 0;
    vec3 *normal = MEMORY_ARRAY(vec3, faces->count);
    for (int i = 0; i < 3 * faces->count; i++) {
        int point = faces->corner[i];
        total += skin->around_start[point + 1] - skin->around_start[point];
    }
    faces->smooth_start = MEMORY_ARRAY(int, 3 * (size_t)faces->count + 1);
    faces->smooth = MEMORY_ARRAY(int, total);
    bool have = place && normal && faces->smooth_start && faces->smooth;
    for (int i = 0; i < faces->count && have; i++) {
        place[faces->triangle[i]] = i;
        normal[i] = vec3_unit(contact_faces_area(faces, positions, i));
    }
    int used = 0;
    for (int i = 0; i < 3 * faces->count && have; i++) {
        int point = faces->corner[i];
        faces->smooth_start[i] = used;
        for (int k = skin->around_start[point]; k < skin->around_start[point + 1]; k++) {
            int other = place[skin->around[k]];
            if (other == i / 3 || vec3_dot(normal[other], normal[i / 3]) > FACES_SMOOTH) faces->smooth[used++] = other;
        }
    }
    if (have) faces->smooth_start[3 * (size_t)faces->count] = used;
    free(place);
    free(normal);
    return have ? THENAR_OK : no_memory(faces, error);
}

thenar_status contact_faces_create(const contact_skin *skin, double self_distance, contact_faces *out,
                                   thenar_error *error) {
    *out = (contact_faces){.skin = skin, .triangle_count = count_triangles(skin)};
    const thenar_surface *surface = &body_of(out)->surface;
    vec3 *positions = MEMORY_ARRAY(vec3, skin->point_count);
    thenar_status status = positions ? THENAR_OK : no_memory(out, error);
    for (int i = 0; i < skin->point_count && status == THENAR_OK; i++)
        positions[i] = surface_vertex(surface, skin->vertex[i]);
    if (status == THENAR_OK) status = order_all(out, positions, error);
    if (status == THENAR_OK) {
        plan_levels(out);
        status = find_tets(out, positions, error);
    }
    if (status == THENAR_OK) status = find_smooth(out, positions, error);
    if (status == THENAR_OK && self_distance > 0)
        status = contact_self_create(out, self_distance, positions, &out->self, error);
    free(positions);
    if (status != THENAR_OK) contact_faces_free(out);
    return status;
}

void contact_faces_free(contact_faces *faces) {
    free(faces->point);
    free(faces->triangle);
    free(faces->corner);
    free(faces->tet);
    free(faces->smooth_start);
    free(faces->smooth);
    contact_self_free(faces->self);
    *faces = (contact_faces){0};
}

void contact_faces_layout(contact_faces_state *state, const contact_faces *faces, arena *work) {
    state->faces = faces;
    state->boxes = ARENA_ARRAY(work, faces_boxes, faces->level_start[faces->level_count]);
    state->found = ARENA_ARRAY(work, faces_found, faces->count > 0 ? faces->skin->point_count : 0);
    state->room = ARENA_ARRAY(work, faces_room, faces->count > 0 ? FACES_PIECES : 0);
    for (int i = 0; i < FACES_PIECES && faces->count > 0; i++) {
        faces_room room = {.near = ARENA_ARRAY(work, int, leaf_count(faces)),
                           .masks = ARENA_ARRAY(work, uint64_t, faces->self ? leaf_count(faces) : 0)};
        if (state->room) state->room[i] = room;
    }
}

static faces_boxes no_boxes(void) {
    f64x8 far = f64x8_set(INFINITY);
    return (faces_boxes){{far, far, far}, {-far, -far, -far}};
}

static void set_box(faces_boxes *boxes, int lane, box b) {
    boxes->low[0][lane] = b.low.x, boxes->low[1][lane] = b.low.y, boxes->low[2][lane] = b.low.z;
    boxes->high[0][lane] = b.high.x, boxes->high[1][lane] = b.high.y, boxes->high[2][lane] = b.high.z;
}

/* One instruction, unlike fmin; positions are finite. */
static double smaller(double a, double b) {
    return a < b ? a : b;
}

static double min(f64x8 a) {
    return smaller(smaller(smaller(a[0], a[1]), smaller(a[2], a[3])),
                   smaller(smaller(a[4], a[5]), smaller(a[6], a[7])));
}

static box box_of_all(const faces_boxes *boxes) {
    return (box){{min(boxes->low[0]), min(boxes->low[1]), min(boxes->low[2])},
                 {-min(-boxes->high[0]), -min(-boxes->high[1]), -min(-boxes->high[2])}};
}

/* The boxes of the triangles of a leaf. Missing triangles of the last leaf repeat its last one before their lanes are
 * cleared. */
static faces_boxes triangle_boxes(const contact_faces *faces, const vec3 *positions, int leaf) {
    int first = leaf * FACES_LEAF, count = leaf_end(faces, leaf) - first;
    const int *corner[FACES_LEAF];
    for (int i = 0; i < FACES_LEAF; i++) corner[i] = faces->corner + 3 * (size_t)(first + (i < count ? i : count - 1));
    faces_boxes boxes = no_boxes();
#define LANE(i, k, axis) positions[corner[i][k]].axis
#define LANES(k, axis)                                                                                                 \
    (f64x8) {                                                                                                          \
        LANE(0, k, axis), LANE(1, k, axis), LANE(2, k, axis), LANE(3, k, axis), LANE(4, k, axis), LANE(5, k, axis),    \
            LANE(6, k, axis), LANE(7, k, axis)                                                                         \
    }
    SIMD_FOR (k, 0, 3) {
        const f64x8 p[3] = {LANES(k, x), LANES(k, y), LANES(k, z)};
        SIMD_FOR (a, 0, 3) {
            boxes.low[a] = f64x8_min(boxes.low[a], p[a]);
            boxes.high[a] = f64x8_max(boxes.high[a], p[a]);
        }
    }
#undef LANES
#undef LANE
    for (int i = count; i < FACES_LEAF; i++)
        set_box(&boxes, i, (box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}});
    return boxes;
}

void contact_faces_update(contact_faces_state *state, const contact_skin_state *skin, const body_state *body) {
    const contact_faces *faces = state->faces;
    const vec3 *positions = skin->positions;
    assert(skin->skin == faces->skin && body->model == skin->skin->body);
    state->skin = skin;
    state->x = ((const soft_state *)body)->x;
    for (int leaf = 0; leaf < leaf_count(faces); leaf++) {
        faces_boxes boxes = triangle_boxes(faces, positions, leaf);
        state->boxes[leaf] = boxes;
        if (faces->level_count == 1) continue;
        faces_boxes *above = &state->boxes[faces->level_start[1] + leaf / FACES_LEAF];
        if (leaf % FACES_LEAF == 0) *above = no_boxes();
        set_box(above, leaf % FACES_LEAF, box_of_all(&boxes));
    }
    for (int level = 2; level < faces->level_count; level++) {
        int below = faces->level_start[level - 1], start = faces->level_start[level];
        for (int i = below; i < start; i++) {
            faces_boxes *boxes = &state->boxes[start + (i - below) / FACES_LEAF];
            if ((i - below) % FACES_LEAF == 0) *boxes = no_boxes();
            set_box(boxes, (i - below) % FACES_LEAF, box_of_all(&state->boxes[i]));
        }
    }
}

/* Bit i: whether box i overlaps. */
static unsigned overlaps(const faces_boxes *boxes, const box *around) {
    return i64x8_bits((boxes->low[0] <= f64x8_set(around->high.x)) & (boxes->high[0] >= f64x8_set(around->low.x)) &
                      (boxes->low[1] <= f64x8_set(around->high.y)) & (boxes->high[1] >= f64x8_set(around->low.y)) &
                      (boxes->low[2] <= f64x8_set(around->high.z)) & (boxes->high[2] >= f64x8_set(around->low.z)));
}

box contact_faces_leaf_box(const contact_faces_state *state, int leaf) {
    const contact_faces *faces = state->faces;
    if (faces->level_count == 1) return box_of_all(&state->boxes[0]);
    const faces_boxes *boxes = &state->boxes[faces->level_start[1] + leaf / FACES_LEAF];
    int lane = leaf % FACES_LEAF;
    return (box){{boxes->low[0][lane], boxes->low[1][lane], boxes->low[2][lane]},
                 {boxes->high[0][lane], boxes->high[1][lane], boxes->high[2][lane]}};
}

int contact_faces_near(const contact_faces_state *state, const box *around, int *near) {
    const contact_faces *faces = state->faces;
    unsigned left[FACES_LEVELS]; /* boxes of the way down that are still to be visited */
    int index[FACES_LEVELS], level = faces->level_count - 1, count = 0;
    if (faces->count == 0) return 0;
    if (level == 0) {
        near[0] = 0;
        return overlaps(&state->boxes[0], around) != 0;
    }
    index[level] = 0;
    left[level] = overlaps(&state->boxes[faces->level_start[level]], around);
    while (level < faces->level_count) {
        if (left[level] == 0) {
            level++;
            continue;
        }
        int child = FACES_LEAF * index[level] + __builtin_ctz(left[level]);
        left[level] &= left[level] - 1;
        if (level == 1) {
            near[count++] = child;
            continue;
        }
        level--;
        index[level] = child;
        left[level] = overlaps(&state->boxes[faces->level_start[level] + child], around);
    }
    return count;
}
