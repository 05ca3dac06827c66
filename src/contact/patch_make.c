/* What a patch is made of. Points that are inside the other body after the free motion, and at whose vertex the distance is
 * least around (patch_group.h), have a part in it, each with its share of the pressure (patch_pressure.h). The sums of the rows
 * run over the legs of the points' own contacts (contact.h), so forces reach the nodes of the flesh, and by these the bones, as
 * those of points do.
 *
 * With adapted pressures the mean gap stays so near 0 that patches are asked out of the other body as points are
 * (contact_make.c). With the paper's, the mean gap jumps as shares do: a patch that is inside when the step begins is asked not
 * to go deeper, u_n counts from there (leeway), and it comes out after the velocities are found, by a displacement alone
 * (patch_forces_stabilize, Algorithm 1), so that this adds no speed. */
#include "contact/patch_group.h"
#include "contact/patch_pressure.h"

#include <math.h>
#include <string.h>

#define SPREAD 0.5             /* cosine: normals of one patch are within 60 degrees of their mean */
#define SMALLEST_DEPTH 1e-9    /* m, of points that take part */
#define SMALLEST_RADIUS 1e-6   /* m, of gyration: below, a patch is a point and bears no torque */
#define A1 0.92387953251128674 /* cosines of 22.5, 45 and 67.5 degrees */
#define A2 0.70710678118654752
#define A3 0.38268343236508977

void patch_set_layout(patch_set *set, int most_contacts, int most_nodes, int most_points, arena *work) {
    int most = most_contacts < PATCHES_MOST ? most_contacts : PATCHES_MOST;
    int legs = CONTACT_LEGS * most_contacts;
    if (most == 0) most_nodes = most_points = 0;
    *set = (patch_set){.most = most,
                       .most_nodes = most_nodes,
                       .most_points = most_points,
                       .patches = ARENA_ARRAY(work, patch, most),
                       .members = ARENA_ARRAY(work, patch_member, most_contacts),
                       .node = ARENA_ARRAY(work, int, legs),
                       .gradient = ARENA_ARRAY(work, vec3, PATCH_ROWS * legs),
                       .depth = ARENA_ARRAY(work, double, most_contacts),
                       .share = ARENA_ARRAY(work, double, most_contacts),
                       .gap = ARENA_ARRAY(work, double, most_contacts),
                       .compliance = ARENA_ARRAY(work, double, most_contacts),
                       .force = ARENA_ARRAY(work, double, most_contacts),
                       .change = ARENA_ARRAY(work, double, most_contacts),
                       .motion = ARENA_ARRAY(work, double, most_contacts),
                       .load = ARENA_ARRAY(work, double, most_nodes),
                       .nodes = ARENA_ARRAY(work, int, most_nodes),
                       .sum = arena_take(work, (size_t)most_nodes, sizeof *set->sum),
                       .place = arena_take(work, (size_t)most_contacts, sizeof *set->place),
                       .group = ARENA_ARRAY(work, int, most_contacts),
                       .order = ARENA_ARRAY(work, int, most_contacts),
                       .ends = ARENA_ARRAY(work, int, most_contacts),
                       .box = ARENA_ARRAY(work, box, most_contacts),
                       .normal = ARENA_ARRAY(work, vec3, most_contacts),
                       .slot_of_node = ARENA_ARRAY(work, int, most_nodes),
                       .slot_of_point = ARENA_ARRAY(work, int, most_points)};
}

void patch_set_open(patch_set *set) {
    for (int i = 0; i < set->most_nodes; i++) set->slot_of_node[i] = -1;
    for (int i = 0; i < set->most_points; i++) set->slot_of_point[i] = -1;
}

/* What a patch is made from. */
typedef struct making {
    patch_set *set;
    const contact *contacts;
    const contact_point *points;
    thenar_contact_pressure pressure;
    double recovery; /* m, by which a patch may come out of the other body within the step */
} making;

static vec3 place_of(const making *m, int index) {
    return m->points[m->contacts[index].point].position;
}

static vec3 normal_of(const making *m, int index) {
    return mat3_row(m->contacts[index].frame, 0);
}

/* Where the contact was when the step began: negative inside. */
static double gap_before(const contact *c) {
    return c->start.x - c->leeway - c->known.x;
}

/* A node that may be new to the patch. */
static void add_leg(patch_set *set, patch *p, int node) {
    if (set->slot_of_node[node] >= 0) return;
    set->slot_of_node[node] = p->leg_count;
    p->node[p->leg_count++] = node;
}

/* First all nodes, then the gradients of each row: these lie one after the other. There is room for all legs that contacts
 * have. */
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

/* All members are there. */
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

/* A contact's part of the rows: directions are what of its motion each row takes. */
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

/* What the points remember, as the patch's force. */
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

/* Places of the first `count` contacts in the plane of the patch, from its centre, along two of its axes. */
static void find_places(const making *m, const patch *p, const int *list, int count) {
    for (int k = 0; k < count; k++) {
        vec3 lever = vec3_sub(place_of(m, list[k]), p->centre);
        m->set->place[k][0] = vec3_dot(mat3_row(p->frame, 1), lever);
        m->set->place[k][1] = vec3_dot(mat3_row(p->frame, 2), lever);
    }
}

/* The centre of pressure, the tangents along the principal axes of the pressure, and what lies in them. Returns the mean
 * squares along these. */
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

/* The polygon of tangents around the places of all points, and the sides that its corners are of the set of torques that pull
 * at none: a corner in it would be pushed at least as little as any point. */
static void set_rim(const making *m, patch *p, int count, vec3 squares, double least) {
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
        p->rim[i][0] = squares.y > least ? x / squares.y : 0;
        p->rim[i][1] = squares.z > least ? y / squares.z : 0;
    }
}

/* One patch of the contacts in `list`, whose shares are there. */
static void make_patch(const making *m, const int *list, int count, const double *share, vec3 normal) {
    patch_set *set = m->set;
    if (set->count == set->most) {
        set->lost += count;
        return;
    }
    patch *p = &set->patches[set->count++];
    *p = (patch){.members = set->members + set->member_count, .mu = m->contacts[list[0]].mu};
    find_legs(set, p, m, list, count);
    set->member_count += count;
    p->member_count = count;
    vec3 squares = set_frame(m, p, list, count, share, normal);
    double least = SMALLEST_RADIUS * SMALLEST_RADIUS, before = 0;
    double square = squares.y + squares.z > least ? squares.y + squares.z : 0;
    if (square == 0) memset(set->place, 0, (size_t)count * sizeof *set->place);
    set_rim(m, p, count, squares, least);
    p->law = contensou_make(count, share, (const double(*)[2])set->place);
    memcpy(p->arm,
           (double[PATCH_ROWS]){1, 1, 1, p->law.radius, squares.y > least ? sqrt(squares.y) : 0,
                                squares.z > least ? sqrt(squares.z) : 0},
           sizeof p->arm);
    for (int k = 0; k < count; k++) {
        const contact *c = &m->contacts[list[k]];
        vec3 n = normal_of(m, list[k]), lever = vec3_sub(place_of(m, list[k]), p->centre);
        patch_member *member = &p->members[k];
        *member = (patch_member){.contact = list[k], .share = share[k]};
        if (square > 0) member->twist = vec3_scale(tangential(vec3_cross(normal, lever), n), share[k] / square);
        for (int i = 0; i < 2; i++) {
            double mean = i == 0 ? squares.y : squares.z;
            if (mean > least) member->slope[i] = share[k] * set->place[k][i] / mean;
        }
        vec3 t = tangential(mat3_row(p->frame, 1), n), s = tangential(mat3_row(p->frame, 2), n);
        const vec3 directions[PATCH_ROWS] = {vec3_scale(n, share[k]),         vec3_scale(t, share[k]),
                                             vec3_scale(s, share[k]),         member->twist,
                                             vec3_scale(n, member->slope[0]), vec3_scale(n, member->slope[1])};
        add_member(set, p, c, directions);
        double start = c->start.x - c->leeway;
        p->start[0] += share[k] * start;
        for (int i = 0; i < 2; i++) p->start[PATCH_ROWS_PRINTED + i] += member->slope[i] * start;
        before += share[k] * gap_before(c);
        remember(p, c, lever);
    }
    p->leeway = fmax(0, -before - m->recovery);
    p->start[0] += p->leeway;
    close_legs(set, p);
}

/* The contact of the list whose normal is furthest from one. */
static int furthest(const making *m, const int *list, int count, vec3 normal, double *cosine) {
    int at = 0;
    *cosine = INFINITY;
    for (int k = 0; k < count; k++) {
        double here = vec3_dot(normal_of(m, list[k]), normal);
        if (here < *cosine) *cosine = here, at = k;
    }
    return at;
}

/* Those without a share go to the end of the list; returns how many are left. */
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

/* Contacts that look too different ways, or cancel each other, are two patches: the two that differ most take those that
 * are more like them. */
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
    if (cosine > 1 - 1e-9) { /* they all look the same way after all */
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

int patches_group(patch_set *set, const contact *contacts, int count, const contact_point *points,
                  const contact_skin_state *const *skins, thenar_contact_pressure pressure) {
    bool adapts = pressure == THENAR_PRESSURE_ADAPTIVE;
    for (int i = 0; i < count; i++) {
        const contact *c = &contacts[i];
        const contact_point *point = &points[c->point];
        set->gap[i] = c->u.x - c->leeway;
        double depth = fmax(0, -set->gap[i]);
        if (adapts && c->lambda.x > 0) depth = fmax(depth, SMALLEST_DEPTH);
        bool near = depth > 0 && patch_is_proximity(skins[point->skin], point->index, mat3_row(c->frame, 0));
        set->depth[i] = near ? depth : 0;
    }
    int groups = patch_group(set, contacts, count, points, skins), *end = set->ends;
    /* By groups: where each ends is found by counting, in the order of the contacts. */
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

int patches_make(patch_set *set, const contact *contacts, const contact_point *points, int groups,
                 thenar_contact_pressure pressure, double h) {
    int before = set->count;
    making m = {set, contacts, points, pressure, pressure == THENAR_PRESSURE_ADAPTIVE ? CONTACT_RECOVERY * h : 0};
    for (int g = 0, first = 0; g < groups; first = set->ends[g++])
        make_or_split(&m, set->order + first, set->ends[g] - first);
    return set->count - before;
}
