#include "contact/faces.h"

#include "contact/compact.h"
#include "shape/embedding.h"
#include "shape/mesh.h"
#include "shape/surface.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* The points in groups and the triangles in leaves. */
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
    for (int boxes = contact_faces_leaf_count(faces); faces->count > 0; boxes = (boxes + FACES_LEAF - 1) / FACES_LEAF) {
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

/* The tet that the triangle's middle is deepest in, of those that touch what its corners hang on: in space alone, that
 * of a neighbouring finger may be nearer. */
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
        faces_room room = {.near = ARENA_ARRAY(work, int, contact_faces_leaf_count(faces)),
                           .masks = ARENA_ARRAY(work, uint64_t, faces->self ? contact_faces_leaf_count(faces) : 0)};
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

static double least(f64x8 a) {
    return fmin(fmin(fmin(a[0], a[1]), fmin(a[2], a[3])), fmin(fmin(a[4], a[5]), fmin(a[6], a[7])));
}

static box box_of_all(const faces_boxes *boxes) {
    return (box){{least(boxes->low[0]), least(boxes->low[1]), least(boxes->low[2])},
                 {-least(-boxes->high[0]), -least(-boxes->high[1]), -least(-boxes->high[2])}};
}

void contact_faces_update(contact_faces_state *state, const contact_skin_state *skin, const body_state *body) {
    const contact_faces *faces = state->faces;
    const vec3 *positions = skin->positions;
    assert(skin->skin == faces->skin && body->model == skin->skin->body);
    state->skin = skin;
    state->x = ((const soft_state *)body)->x;
    for (int leaf = 0; leaf < contact_faces_leaf_count(faces); leaf++) {
        faces_boxes *boxes = &state->boxes[leaf];
        vec3 low = vec3_make(INFINITY, INFINITY, INFINITY), high = vec3_scale(low, -1);
        *boxes = no_boxes();
        for (int i = leaf * FACES_LEAF, lane = 0; i < contact_faces_leaf_end(faces, leaf); i++, lane++) {
            const int *corner = faces->corner + 3 * (size_t)i;
            vec3 a = positions[corner[0]], b = positions[corner[1]], c = positions[corner[2]];
            box own = {vec3_min(a, vec3_min(b, c)), vec3_max(a, vec3_max(b, c))};
            set_box(boxes, lane, own);
            low = vec3_min(low, own.low), high = vec3_max(high, own.high);
        }
        /* Read back as vectors, what was just stored lane by lane would have to wait for the stores. */
        if (faces->level_count == 1) continue;
        faces_boxes *above = &state->boxes[faces->level_start[1] + leaf / FACES_LEAF];
        if (leaf % FACES_LEAF == 0) *above = no_boxes();
        set_box(above, leaf % FACES_LEAF, (box){low, high});
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
