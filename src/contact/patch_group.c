/* Contacts of one pair of bodies go together if
 *   - their vertices of the skin have the same label (thenar_soft_def.contact_groups: of a hand, the phalanx), and
 *   - a chain of skin triangles between points in contact leads from one to the other, or the two spots are nearer to each
 *     other than LINK and look the same way.
 * So a phalanx that is touched by one body has one patch, as talvas2015 has it, and two where it is touched at two places.
 * Points of rigid skins stay alone: one gap, as a mean, would let a rigid body tip over. */
#include "contact/patch_group.h"

#include <math.h>

#define LINK 5e-3    /* m, between the boxes of two spots */
#define SAME_WAY 0.5 /* cosine between normals */
/* Squared sine of the angle by which a neighbour may be nearer to the other body: 45 degrees. */
#define CONE_EXTENSION 0.5

bool patch_is_proximity(const contact_skin_state *state, int index, vec3 normal) {
    const contact_skin *skin = state->skin;
    if (!skin->holds || !skin->triangles) return true;
    vec3 outward = {0};
    for (int k = skin->around_start[index]; k < skin->around_start[index + 1]; k++) {
        const int *corner = skin->triangles + 3 * (size_t)skin->around[k];
        if (corner[0] >= 0 && corner[1] >= 0 && corner[2] >= 0) {
            vec3 a = state->positions[corner[0]];
            outward = vec3_add(outward, vec3_cross(vec3_sub(state->positions[corner[1]], a),
                                                   vec3_sub(state->positions[corner[2]], a)));
        }
        for (int c = 0; c < 3; c++) {
            if (corner[c] == index || corner[c] < 0) continue;
            vec3 edge = vec3_sub(state->positions[corner[c]], state->positions[index]);
            double nearer = -vec3_dot(edge, normal);
            if (nearer > 0 && nearer * nearer > CONE_EXTENSION * vec3_dot(edge, edge)) return false;
        }
    }
    return vec3_dot(outward, normal) < 0;
}

static int root_of(int *group, int i) {
    while (group[i] != i) i = group[i] = group[group[i]];
    return i;
}

static void join(int *group, int a, int b) {
    a = root_of(group, a), b = root_of(group, b);
    group[a > b ? a : b] = a < b ? a : b;
}

static int label_of(const contact_skin *skin, const contact_point *point) {
    const int *labels = ((const soft_model *)skin->body)->contact_groups;
    return labels ? labels[point->vertex] : 0;
}

static bool same_way(const contact *a, const contact *b) {
    return vec3_dot(mat3_row(a->frame, 0), mat3_row(b->frame, 0)) >= SAME_WAY;
}

/* Contacts first to end are of one pair, with a soft skin. */
static void join_neighbours(patch_set *set, const contact *contacts, int first, int end, const contact_point *points,
                            const contact_skin *skin) {
    for (int i = first; i < end; i++)
        if (set->group[i] >= 0) set->slot_of_point[points[contacts[i].point].index] = i;
    for (int i = first; i < end; i++) {
        const contact_point *point = &points[contacts[i].point];
        if (set->group[i] < 0) continue;
        for (int k = skin->around_start[point->index]; k < skin->around_start[point->index + 1]; k++) {
            /* One side of each triangle around: its other end looks at the others. */
            const int *corners = skin->triangles + 3 * (size_t)skin->around[k];
            int corner = corners[corners[0] == point->index ? 1 : corners[1] == point->index ? 2 : 0];
            int other = corner < 0 ? -1 : set->slot_of_point[corner];
            if (other < 0 || set->group[other] == set->group[i] || !same_way(&contacts[i], &contacts[other])) continue;
            if (label_of(skin, point) == label_of(skin, &points[contacts[other].point])) join(set->group, i, other);
        }
    }
    for (int i = first; i < end; i++) set->slot_of_point[points[contacts[i].point].index] = -1;
}

static double gap_between(const box *a, const box *b) {
    vec3 apart = vec3_max(vec3_sub(a->low, b->high), vec3_sub(b->low, a->high));
    return vec3_length(vec3_max(apart, (vec3){0}));
}

/* Spots of one label that are near each other become one; the roots' boxes and normals stand at their index. */
static void join_spots(patch_set *set, const contact *contacts, int first, int end, const contact_point *points,
                       const contact_skin *skin) {
    for (int i = first; i < end; i++) {
        const contact_point *point = &points[contacts[i].point];
        if (set->group[i] < 0) continue;
        int root = root_of(set->group, i);
        if (root == i) set->box[i] = (box){point->position, point->position}, set->normal[i] = (vec3){0};
        set->box[root].low = vec3_min(set->box[root].low, point->position);
        set->box[root].high = vec3_max(set->box[root].high, point->position);
        set->normal[root] = vec3_add(set->normal[root], mat3_row(contacts[i].frame, 0));
    }
    for (int i = first; i < end; i++) {
        if (set->group[i] != i) continue;
        for (int k = first; k < i; k++) {
            if (set->group[k] != k || gap_between(&set->box[i], &set->box[k]) > LINK) continue;
            if (label_of(skin, &points[contacts[i].point]) != label_of(skin, &points[contacts[k].point])) continue;
            if (vec3_dot(vec3_unit(set->normal[i]), vec3_unit(set->normal[k])) < SAME_WAY) continue;
            set->group[i] = k;
            set->box[k].low = vec3_min(set->box[k].low, set->box[i].low);
            set->box[k].high = vec3_max(set->box[k].high, set->box[i].high);
            set->normal[k] = vec3_add(set->normal[k], set->normal[i]);
            break;
        }
    }
}

int patch_group(patch_set *set, const contact *contacts, int count, const contact_point *points,
                const contact_skin_state *const *skins) {
    for (int i = 0; i < count; i++) set->group[i] = set->depth[i] > 0 ? i : -1;
    for (int first = 0, end; first < count; first = end) {
        const contact_point *point = &points[contacts[first].point];
        const contact_skin *skin = skins[point->skin]->skin;
        for (end = first + 1; end < count && points[contacts[end].point].pair == point->pair;) end++;
        if (!skin->holds) continue;
        join_neighbours(set, contacts, first, end, points, skin);
        join_spots(set, contacts, first, end, points, skin);
    }
    /* A root comes before the others of its group. */
    int groups = 0;
    for (int i = 0; i < count; i++) {
        if (set->group[i] < 0) continue;
        int root = root_of(set->group, i);
        set->order[i] = root == i ? groups++ : set->order[root];
    }
    for (int i = 0; i < count; i++) set->group[i] = set->group[i] < 0 ? -1 : set->order[i];
    return groups;
}
