/* The patches of a step: grouping of contact points, construction, and distribution of forces back to the points
 * (patch.h). */
#include "contact/patch.h"

#include "contact/contact.h"

#include <math.h>
#include <string.h>

void patch_evaluate(patch *patches, int count, const double *d) {
    for (int i = 0; i < count; i++) {
        patch *p = &patches[i];
        for (int row = 0; row < PATCH_ROWS; row++) {
            const vec3 *gradient = p->gradient + (size_t)row * (size_t)p->leg_count;
            double sum = p->start[row];
            for (int k = 0; k < p->leg_count; k++) sum += vec3_dot(gradient[k], vec3_load(d + 3 * p->node[k]));
            p->u[row] = sum;
        }
    }
}

void patch_add_forces(const patch *patches, int count, double weight, double *sum) {
    for (int i = 0; i < count; i++) {
        const patch *p = &patches[i];
        for (int row = 0; row < PATCH_ROWS; row++) {
            const vec3 *gradient = p->gradient + (size_t)row * (size_t)p->leg_count;
            double scale = weight * p->lambda[row];
            if (scale == 0) continue;
            for (int k = 0; k < p->leg_count; k++)
                vec3_store(sum + 3 * p->node[k], vec3_mul_add(vec3_load(sum + 3 * p->node[k]), gradient[k], scale));
        }
    }
}

double patch_work(const patch *patches, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++)
        for (int row = 0; row < PATCH_ROWS; row++) sum += patches[i].lambda[row] * patches[i].u[row];
    return sum;
}

/* After the solve: gives each contact, evaluated at the solution, its part of the force of its patch, and its state. */
static void distribute_forces(const patch *patches, int count, contact *contacts, int contact_count) {
    for (int i = 0; i < contact_count; i++) {
        contacts[i].lambda = (vec3){0};
        contacts[i].settled = CONE_OPEN;
    }
    for (int i = 0; i < count; i++) {
        const patch *p = &patches[i];
        vec3 friction = vec3_scale(mat3_row(p->frame, 1), p->lambda[1]);
        friction = vec3_mul_add(friction, mat3_row(p->frame, 2), p->lambda[2]);
        for (int k = 0; k < p->member_count; k++) {
            const patch_member *member = &p->members[k];
            contact *c = &contacts[member->contact];
            vec3 tangential = vec3_mul_add(vec3_scale(friction, member->share), member->twist, p->lambda[3]);
            c->lambda = mat3_mul_vec(c->frame, tangential);
            c->lambda.x =
                member->share * p->lambda[0] + member->slope[0] * p->lambda[4] + member->slope[1] * p->lambda[5];
            c->settled = p->settled;
        }
    }
}

/* Grouping. Contacts of one pair of bodies form a patch if
 *   - their vertices have the same label (thenar_soft_def.contact_groups: the phalanx of a hand), and
 *   - a chain of skin triangles between points in contact connects them, or their two regions are closer than LINK and
 *     have similar normals.
 * So a phalanx that is touched by one body has one patch, as in talvas2015, or two if it is touched in two places.
 * Points of rigid skins stay single: one mean gap would let a rigid body tip over. */

#define LINK 5e-3    /* m, between the boxes of two regions */
#define SAME_WAY 0.5 /* cosine between normals */
/* Squared sine of the angle by which a neighbour may be closer to the other body: 45 degrees. */
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

/* Joins contacts `first` to `end`, of one pair with a soft skin, that share an edge. */
static void join_neighbours(patch_set *set, const contact *contacts, int first, int end, const contact_point *points,
                            const contact_skin *skin) {
    for (int i = first; i < end; i++)
        if (set->group[i] >= 0) set->slot_of_point[points[contacts[i].point].index] = i;
    for (int i = first; i < end; i++) {
        const contact_point *point = &points[contacts[i].point];
        if (set->group[i] < 0) continue;
        for (int k = skin->around_start[point->index]; k < skin->around_start[point->index + 1]; k++) {
            /* One edge of each triangle around the point: the others are visited from its other corners. */
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

/* Joins regions of one label that are close to each other; the root of each has its box and normal. */
static void join_regions(patch_set *set, const contact *contacts, int first, int end, const contact_point *points,
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

/* Sets set->group of the contacts with positive set->depth to the index of their group, of others to -1. Returns the
 * number of groups. */
static int find_groups(patch_set *set, const contact *contacts, int count, const contact_point *points,
                       const contact_skin_state *const *skins) {
    for (int i = 0; i < count; i++) set->group[i] = set->depth[i] > 0 ? i : -1;
    for (int first = 0, end; first < count; first = end) {
        const contact_point *point = &points[contacts[first].point];
        const contact_skin *skin = skins[point->skin]->skin;
        for (end = first + 1; end < count && points[contacts[end].point].pair == point->pair;) end++;
        if (!skin->holds) continue;
        join_neighbours(set, contacts, first, end, points, skin);
        join_regions(set, contacts, first, end, points, skin);
    }
    /* The root of a group comes first. */
    int groups = 0;
    for (int i = 0; i < count; i++) {
        if (set->group[i] < 0) continue;
        int root = root_of(set->group, i);
        set->order[i] = root == i ? groups++ : set->order[root];
    }
    for (int i = 0; i < count; i++) set->group[i] = set->group[i] < 0 ? -1 : set->order[i];
    return groups;
}

/* Construction. A patch has the points that are inside the other body after the free motion and are local minima of
 * the distance (patch_is_proximity), each with its share of the pressure (patch_law.c). The rows are sums over the
 * legs of the points' contacts (constraint.h), so forces reach the nodes of the flesh, and through them the bones,
 * as those of points do.
 *
 * With adaptive pressure the mean gap stays close to 0, and penetration is corrected as for points (constraint.c).
 * With the pressure of the paper the mean gap jumps as the shares do. Then a patch that is inside at the start of
 * the step is only kept from going deeper: u_n is measured from there (allowed_penetration). A displacement after
 * the velocity solve moves it out (patch_forces_stabilize, Algorithm 1), so that this adds no velocity. */

#define SPREAD 0.5             /* cosine: normals of one patch are within 60 degrees of their mean */
#define SMALLEST_DEPTH 1e-9    /* m, of points that belong to a patch */
#define SMALLEST_RADIUS 1e-6   /* m, of gyration: below this a patch is a point and bears no torque */
#define A1 0.92387953251128674 /* cosines of 22.5, 45 and 67.5 degrees */
#define A2 0.70710678118654752
#define A3 0.38268343236508977

void patch_set_layout(patch_set *set, int max_contacts, int max_nodes, int max_points, arena *work) {
    int max = max_contacts < PATCHES_MAX ? max_contacts : PATCHES_MAX;
    int legs = CONTACT_LEGS * max_contacts;
    if (max == 0) max_nodes = max_points = 0;
    *set = (patch_set){.max = max,
                       .max_nodes = max_nodes,
                       .max_points = max_points,
                       .patches = ARENA_ARRAY(work, patch, max),
                       .members = ARENA_ARRAY(work, patch_member, max_contacts),
                       .node = ARENA_ARRAY(work, int, legs),
                       .gradient = ARENA_ARRAY(work, vec3, PATCH_ROWS * legs),
                       .depth = ARENA_ARRAY(work, double, max_contacts),
                       .share = ARENA_ARRAY(work, double, max_contacts),
                       .gap = ARENA_ARRAY(work, double, max_contacts),
                       .compliance = ARENA_ARRAY(work, double, max_contacts),
                       .force = ARENA_ARRAY(work, double, max_contacts),
                       .change = ARENA_ARRAY(work, double, max_contacts),
                       .motion = ARENA_ARRAY(work, double, max_contacts),
                       .load = ARENA_ARRAY(work, double, max_nodes),
                       .nodes = ARENA_ARRAY(work, int, max_nodes),
                       .sum = arena_take(work, (size_t)max_nodes, sizeof *set->sum),
                       .place = arena_take(work, (size_t)max_contacts, sizeof *set->place),
                       .group = ARENA_ARRAY(work, int, max_contacts),
                       .order = ARENA_ARRAY(work, int, max_contacts),
                       .ends = ARENA_ARRAY(work, int, max_contacts),
                       .box = ARENA_ARRAY(work, box, max_contacts),
                       .normal = ARENA_ARRAY(work, vec3, max_contacts),
                       .slot_of_node = ARENA_ARRAY(work, int, max_nodes),
                       .slot_of_point = ARENA_ARRAY(work, int, max_points)};
}

void patch_set_clear(patch_set *set) {
    set->count = set->member_count = set->leg_count = set->lost = 0;
}

void patch_set_open(patch_set *set) {
    for (int i = 0; i < set->max_nodes; i++) set->slot_of_node[i] = -1;
    for (int i = 0; i < set->max_points; i++) set->slot_of_point[i] = -1;
}

/* Input of the construction. */
typedef struct making {
    patch_set *set;
    const contact *contacts;
    const contact_point *points;
    thenar_contact_pressure pressure;
    double recovery; /* m: how far penetration is corrected within the step */
} making;

static vec3 place_of(const making *m, int index) {
    return m->points[m->contacts[index].point].position;
}

static vec3 normal_of(const making *m, int index) {
    return mat3_row(m->contacts[index].frame, 0);
}

/* The gap at the start of the step. */
static double gap_before(const contact *c) {
    return c->start.x - c->allowed_penetration - c->known.x;
}

/* Adds a node to the patch unless it has it. */
static void add_leg(patch_set *set, patch *p, int node) {
    if (set->slot_of_node[node] >= 0) return;
    set->slot_of_node[node] = p->leg_count;
    p->node[p->leg_count++] = node;
}

/* Lists the nodes first, then the gradients of each row, which are stored one after the other. There is room for all
 * legs of the contacts. */
static void find_legs(patch_set *set, patch *p, const making *m, const int *list, int count) {
    p->node = set->node + set->leg_count;
    p->gradient = set->gradient + PATCH_ROWS * (size_t)set->leg_count;
    for (int k = 0; k < count; k++) {
        const contact *c = &m->contacts[list[k]];
        for (int leg = 0; leg < c->leg_count; leg++) add_leg(set, p, c->legs[leg].node);
    }
    set->leg_count += p->leg_count;
    memset(set->sum, 0, (size_t)p->leg_count * sizeof *set->sum);
}

/* Stores the gradients once all members are added. */
static void close_legs(patch_set *set, patch *p) {
    for (int k = 0; k < p->leg_count; k++) {
        set->slot_of_node[p->node[k]] = -1;
        for (int row = 0; row < PATCH_ROWS; row++) p->gradient[row * p->leg_count + k] = set->sum[k][row];
    }
}

/* 1_i v */
static vec3 tangential(vec3 v, vec3 normal) {
    return vec3_mul_add(v, normal, -vec3_dot(v, normal));
}

/* Adds a contact to the rows; directions: the direction of its motion in each row. */
static void add_member(patch_set *set, patch *p, const contact *c, const vec3 direction[PATCH_ROWS]) {
    vec3 slipped = mat3_mul_vec_transposed(c->frame, vec3_make(0, c->start.y, c->start.z));
    for (int k = 0; k < c->leg_count; k++) {
        const contact_leg *leg = &c->legs[k];
        vec3 *own = set->sum[set->slot_of_node[leg->node]];
        for (int row = 0; row < PATCH_ROWS; row++)
            own[row] = vec3_add(own[row], contact_leg_gradient(leg, direction[row]));
    }
    for (int row = 1; row < PATCH_ROWS_PRINTED; row++) p->start[row] += vec3_dot(direction[row], slipped);
}

/* Adds the remembered force of a contact to the force of the patch. */
static void remember(patch *p, const contact *c, vec3 lever) {
    vec3 force = mat3_mul_vec_transposed(c->frame, vec3_make(0, c->lambda.y, c->lambda.z));
    p->lambda[0] += c->lambda.x;
    p->lambda[1] += vec3_dot(mat3_row(p->frame, 1), force);
    p->lambda[2] += vec3_dot(mat3_row(p->frame, 2), force);
    if (p->law.radius > 0) p->lambda[3] += vec3_dot(mat3_row(p->frame, 0), vec3_cross(lever, force));
}

static vec3 mean_normal(const making *m, const int *list, int count, const double *share) {
    vec3 sum = {0};
    for (int k = 0; k < count; k++) sum = vec3_mul_add(sum, normal_of(m, list[k]), share[k]);
    return sum;
}

/* Positions of the first `count` contacts in the plane of the patch, from its centre, along two of its axes. */
static void find_places(const making *m, const patch *p, const int *list, int count) {
    for (int k = 0; k < count; k++) {
        vec3 lever = vec3_sub(place_of(m, list[k]), p->centre);
        m->set->place[k][0] = vec3_dot(mat3_row(p->frame, 1), lever);
        m->set->place[k][1] = vec3_dot(mat3_row(p->frame, 2), lever);
    }
}

/* Sets the centre of pressure and the tangents, along the principal axes of the pressure. Returns the mean squares
 * along these. */
static vec3 set_frame(const making *m, patch *p, const int *list, int count, const double *share, vec3 normal) {
    double xx = 0, xy = 0, yy = 0;
    p->frame = contact_frame(normal);
    for (int k = 0; k < count; k++) p->centre = vec3_mul_add(p->centre, place_of(m, list[k]), share[k]);
    find_places(m, p, list, count);
    for (int k = 0; k < count; k++) {
        const double *at = m->set->place[k];
        xx += share[k] * at[0] * at[0], xy += share[k] * at[0] * at[1], yy += share[k] * at[1] * at[1];
    }
    double angle = 0.5 * atan2(2 * xy, xx - yy), c = cos(angle), d = sin(angle);
    vec3 t = mat3_row(p->frame, 1), s = mat3_row(p->frame, 2), along = vec3_mul_add(vec3_scale(t, c), s, d);
    p->frame = mat3_transpose(mat3_columns(normal, along, vec3_cross(normal, along)));
    find_places(m, p, list, count);
    return vec3_make(0, c * c * xx + 2 * c * d * xy + d * d * yy, d * d * xx - 2 * c * d * xy + c * c * yy);
}

/* Sets the rim: a polygon around all points, whose corners are the sides of the set of torques that pull no point.
 * Where its corners are not pulled, no point is. */
static void set_rim(const making *m, patch *p, int count, vec3 squares, double min) {
    /* cos and sin of multiples of 22.5 degrees */
    static const double C[PATCH_RIM] = {1, A1, A2, A3, 0, -A3, -A2, -A1, -1, -A1, -A2, -A3, 0, A3, A2, A1},
                        S[PATCH_RIM] = {0, A3, A2, A1, 1, A1, A2, A3, 0, -A3, -A2, -A1, -1, -A1, -A2, -A3};
    double support[PATCH_RIM];
    for (int i = 0; i < PATCH_RIM; i++) support[i] = -INFINITY;
    for (int k = 0; k < count; k++) {
        double x = m->set->place[k][0], y = m->set->place[k][1];
        for (int i = 0; i < PATCH_RIM; i++) {
            double along = C[i] * x + S[i] * y;
            support[i] = along > support[i] ? along : support[i];
        }
    }
    for (int i = 0; i < PATCH_RIM; i++) {
        int next = (i + 1) % PATCH_RIM;
        double from = support[i], to = support[next];
        double x = (from * S[next] - to * S[i]) / S[1], y = (to * C[i] - from * C[next]) / S[1];
        p->rim[i][0] = squares.y > min ? x / squares.y : 0;
        p->rim[i][1] = squares.z > min ? y / squares.z : 0;
    }
}

/* Makes one patch of the contacts in `list`, with the given shares. */
static void make_patch(const making *m, const int *list, int count, const double *share, vec3 normal) {
    patch_set *set = m->set;
    if (set->count == set->max) {
        set->lost += count;
        return;
    }
    patch *p = &set->patches[set->count++];
    *p = (patch){.members = set->members + set->member_count, .mu = m->contacts[list[0]].mu};
    find_legs(set, p, m, list, count);
    set->member_count += count;
    p->member_count = count;
    vec3 squares = set_frame(m, p, list, count, share, normal);
    double min = SMALLEST_RADIUS * SMALLEST_RADIUS, before = 0;
    double square = squares.y + squares.z > min ? squares.y + squares.z : 0;
    if (square == 0) memset(set->place, 0, (size_t)count * sizeof *set->place);
    set_rim(m, p, count, squares, min);
    p->law = contensou_make(count, share, (const double(*)[2])set->place);
    memcpy(p->arm,
           (double[PATCH_ROWS]){1, 1, 1, p->law.radius, squares.y > min ? sqrt(squares.y) : 0,
                                squares.z > min ? sqrt(squares.z) : 0},
           sizeof p->arm);
    for (int k = 0; k < count; k++) {
        const contact *c = &m->contacts[list[k]];
        vec3 n = normal_of(m, list[k]), lever = vec3_sub(place_of(m, list[k]), p->centre);
        patch_member *member = &p->members[k];
        *member = (patch_member){.contact = list[k], .share = share[k]};
        if (square > 0) member->twist = vec3_scale(tangential(vec3_cross(normal, lever), n), share[k] / square);
        for (int i = 0; i < 2; i++) {
            double mean = i == 0 ? squares.y : squares.z;
            if (mean > min) member->slope[i] = share[k] * set->place[k][i] / mean;
        }
        vec3 t = tangential(mat3_row(p->frame, 1), n), s = tangential(mat3_row(p->frame, 2), n);
        const vec3 directions[PATCH_ROWS] = {vec3_scale(n, share[k]),         vec3_scale(t, share[k]),
                                             vec3_scale(s, share[k]),         member->twist,
                                             vec3_scale(n, member->slope[0]), vec3_scale(n, member->slope[1])};
        add_member(set, p, c, directions);
        double start = c->start.x - c->allowed_penetration;
        p->start[0] += share[k] * start;
        for (int i = 0; i < 2; i++) p->start[PATCH_ROWS_PRINTED + i] += member->slope[i] * start;
        before += share[k] * gap_before(c);
        remember(p, c, lever);
    }
    p->allowed_penetration = fmax(0, -before - m->recovery);
    p->start[0] += p->allowed_penetration;
    close_legs(set, p);
}

/* The contact whose normal differs most from the given one. */
static int furthest(const making *m, const int *list, int count, vec3 normal, double *cosine) {
    int at = 0;
    *cosine = INFINITY;
    for (int k = 0; k < count; k++) {
        double here = vec3_dot(normal_of(m, list[k]), normal);
        if (here < *cosine) *cosine = here, at = k;
    }
    return at;
}

/* Moves contacts without a share to the end of the list; returns how many are left. */
static int drop_idle(int *list, int count, double *share) {
    int kept = 0;
    for (int k = 0; k < count; k++) {
        int index = list[k];
        double own = share[k];
        if (!(own > 0)) continue;
        list[k] = list[kept], share[k] = share[kept];
        list[kept] = index, share[kept++] = own;
    }
    return kept;
}

/* Splits contacts whose normals differ too much, or cancel, into two patches: around the two normals that differ
 * most. */
static void make_or_split(const making *m, int *list, int all) {
    double *share = m->set->share, cosine;
    patch_find_shares(m->set, m->pressure, m->contacts, m->points, list, all, share);
    int count = drop_idle(list, all, share);
    vec3 mean = mean_normal(m, list, count, share), normal = vec3_unit(mean);
    bool some = vec3_length(mean) > 0.1;
    int far = furthest(m, list, count, some ? normal : normal_of(m, list[0]), &cosine);
    if (count == 1 || (some && cosine >= SPREAD)) {
        make_patch(m, list, count, share, normal);
        return;
    }
    vec3 a = normal_of(m, list[far]), b = normal_of(m, list[furthest(m, list, count, a, &cosine)]);
    if (cosine > 1 - 1e-9) { /* all normals are alike */
        make_patch(m, list, count, share, a);
        return;
    }
    int first = 0;
    for (int k = 0; k < all; k++) {
        vec3 n = normal_of(m, list[k]);
        if (vec3_dot(n, a) < vec3_dot(n, b)) continue;
        int swapped = list[first];
        list[first++] = list[k], list[k] = swapped;
    }
    make_or_split(m, list, first);
    make_or_split(m, list + first, all - first);
}

/* Groups the contacts of a system; the groups are consecutive in set->order. Returns how many there are. The
 * contacts were evaluated at the end of the free motion; for adaptive pressure, of the motion with their remembered
 * forces. points: by contact.point. skins: by contact_point.skin. */
static int group_contacts(patch_set *set, const contact *contacts, int count, const contact_point *points,
                          const contact_skin_state *const *skins, thenar_contact_pressure pressure) {
    bool adapts = pressure == THENAR_PRESSURE_ADAPTIVE;
    for (int i = 0; i < count; i++) {
        const contact *c = &contacts[i];
        const contact_point *point = &points[c->point];
        set->gap[i] = c->u.x - c->allowed_penetration;
        double depth = fmax(0, -set->gap[i]);
        if (adapts && c->lambda.x > 0) depth = fmax(depth, SMALLEST_DEPTH);
        bool near = depth > 0 && patch_is_proximity(skins[point->skin], point->index, mat3_row(c->frame, 0));
        set->depth[i] = near ? depth : 0;
    }
    int groups = find_groups(set, contacts, count, points, skins), *end = set->ends;
    /* A counting sort by group. */
    for (int g = 0; g < groups; g++) end[g] = 0;
    for (int i = 0; i < count; i++)
        if (set->group[i] >= 0) end[set->group[i]]++;
    for (int g = 0, sum = 0; g < groups; g++) {
        int size = end[g];
        end[g] = sum;
        sum += size;
    }
    for (int i = 0; i < count; i++)
        if (set->group[i] >= 0) set->order[end[set->group[i]]++] = i;
    return groups;
}

/* Adds the patches of the groups to the set; returns how many. */
static int make_patches(patch_set *set, const contact *contacts, const contact_point *points, int groups,
                        thenar_contact_pressure pressure, double h) {
    int before = set->count;
    making m = {set, contacts, points, pressure, pressure == THENAR_PRESSURE_ADAPTIVE ? CONTACT_RECOVERY * h : 0};
    for (int g = 0, first = 0; g < groups; first = set->ends[g++])
        make_or_split(&m, set->order + first, set->ends[g] - first);
    return set->count - before;
}

#define PASSES 2 /* of adaptive pressure within a step */

/* Lists the nodes of the contacts; `grouped`: only of those in a group. */
static int list_nodes(patch_set *set, const contact *contacts, int count, bool grouped) {
    int nodes = 0;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < contacts[i].leg_count && (!grouped || set->group[i] >= 0); k++) {
            int node = contacts[i].legs[k].node;
            if (set->slot_of_node[node] >= 0) continue;
            set->slot_of_node[node] = nodes;
            set->nodes[nodes++] = node;
        }
    for (int k = 0; k < nodes; k++) set->slot_of_node[set->nodes[k]] = -1;
    return nodes;
}

static void clear_nodes(const patch_set *set, int nodes, double *d) {
    for (int k = 0; k < nodes; k++) vec3_store(d + 3 * set->nodes[k], (vec3){0});
}

/* The same with dependent nodes: their carriers are not among the listed nodes, so the whole vector is solved for. */
static void solve_reduced(const patch_set *set, int nodes, const contact_equations *equations, double *d) {
    double h = equations->step->h;
    for (int k = 0; k < nodes; k++) set->slot_of_node[set->nodes[k]] = k;
    for (int i = 0; i < equations->pattern->node_count; i++)
        if (set->slot_of_node[i] < 0) vec3_store(d + 3 * (size_t)i, (vec3){0});
    for (int k = 0; k < nodes; k++) set->slot_of_node[set->nodes[k]] = -1;
    reduction_fold(equations->reduction, d);
    cholesky_solve(equations->factor, d);
    reduction_expand(equations->reduction, d);
    for (int i = 0; i < 3 * equations->pattern->node_count; i++) d[i] *= h * h;
}

/* d = h^2 A^-1 d at the listed nodes, where d is a force on these nodes alone. */
static void respond(const patch_set *set, int nodes, const contact_equations *equations, double *d) {
    double h = equations->step->h;
    if (equations->reduction) {
        solve_reduced(set, nodes, equations, d);
        return;
    }
    cholesky_solve_at(equations->factor, set->nodes, nodes, d);
    for (int k = 0; k < nodes; k++)
        vec3_store(d + 3 * set->nodes[k], vec3_scale(vec3_load(d + 3 * set->nodes[k]), h * h));
}

/* Evaluates the contacts at the end of the free motion; `held`: of the motion with the remembered forces. */
static void move_to_end(patch_set *set, contact *contacts, int count, const contact_equations *equations, bool held) {
    double *d = equations->scratch;
    int nodes = list_nodes(set, contacts, count, false);
    clear_nodes(set, nodes, d);
    if (held) {
        for (int i = 0; i < count; i++)
            if (vec3_dot(contacts[i].lambda, contacts[i].lambda) > 0)
                contact_add_force(&contacts[i], mat3_mul_vec_transposed(contacts[i].frame, contacts[i].lambda), d);
        respond(set, nodes, equations, d);
    }
    for (int k = 0; k < nodes; k++) {
        double *own = d + 3 * set->nodes[k];
        vec3_store(own, vec3_mul_add(vec3_load(own), vec3_load(equations->v + 3 * set->nodes[k]), equations->step->h));
    }
    contact_set_gaps(contacts, count, d);
}

/* Adapts the pressure within each group to close the gaps. */
static void adapt_pressure(patch_set *set, int groups, const contact *contacts, int count,
                           const contact_equations *equations) {
    double *d = equations->scratch;
    int nodes = list_nodes(set, contacts, count, true);
    patch_pressure_start(set, contacts, count, equations->pattern, equations->blocks, equations->step->h);
    for (int pass = 0; pass < PASSES && patch_pressure_find_changes(set, count, groups); pass++) {
        clear_nodes(set, nodes, d);
        for (int i = 0; i < count; i++)
            if (set->change[i] != 0)
                contact_add_force(&contacts[i], vec3_scale(mat3_row(contacts[i].frame, 0), set->change[i]), d);
        respond(set, nodes, equations, d);
        for (int i = 0; i < count; i++)
            if (set->group[i] >= 0) set->motion[i] = contact_motion(&contacts[i], d).x;
        patch_pressure_apply(set, groups);
    }
}

int contact_aggregate(contact_state *state, const contact_model *contacts, int s, const contact_equations *equations,
                      patch **out) {
    patch_set *set = &state->patches;
    contact *own = state->contacts + state->system_start[s];
    int count = state->system_start[s + 1] - state->system_start[s], lost = set->lost;
    bool adapts = contacts->pressure == THENAR_PRESSURE_ADAPTIVE;
    *out = set->patches + set->count;
    if (count == 0) return 0;
    move_to_end(set, own, count, equations, adapts);
    int groups = group_contacts(set, own, count, state->points, state->skin_pointers, contacts->pressure);
    if (adapts) adapt_pressure(set, groups, own, count, equations);
    int made = make_patches(set, own, state->points, groups, contacts->pressure, equations->step->h);
    state->lost += set->lost - lost;
    return made;
}

void contact_spread(contact_state *state, int s, const contact_equations *equations, const patch *patches, int count,
                    const double *displacement) {
    contact *own = state->contacts + state->system_start[s];
    int own_count = state->system_start[s + 1] - state->system_start[s];
    if (own_count == 0) return;
    for (int i = 0; i < 3 * equations->pattern->node_count; i++) {
        equations->scratch[i] = equations->step->h * equations->v[i];
        if (displacement) equations->scratch[i] += displacement[i];
    }
    contact_set_gaps(own, own_count, equations->scratch);
    distribute_forces(patches, count, own, own_count);
}
