/* Meshing a finger. The start mesh consists of sections of half a finger with seven nodes on the skin, dense at the
 * pad, and three in the bone; prisms of three tets between sections, split by the order of the nodes; and a fan from
 * the first section to the tip. Layers are thin at the pad and grow towards the cut. A coarse finger is this start
 * mesh; for more tets, edges are halved. Then nodes are moved to improve the tets, and the half is mirrored.
 *
 * Tried and rejected:
 * - Layers of tets around a finer embedded skin. Its points move with the large tets around them, and a pressed pad
 *   touches in a few points and does not flatten.
 * - Halving edges of a coarse start: with 347 tets the pad has edges of 5.3 mm instead of 4.3, and the rest too many
 *   tets.
 * - The lattice mesher: with 347 tets its cells of 11 mm stick out in bumps, and none of its nodes form a bone. */
#include "core/memory.h"

#include "hand/shape.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The half of a finger with x >= 0 while it is being meshed. Positions are about the tip: z is the distance from it
 * along the axis. */

typedef struct half_node {
    vec3 place;
    bool on_skin, of_bone;
} half_node;

typedef struct half_tet {
    int node[4];
    int tag;
    uint8_t skin; /* bit i: the face opposite to corner i is skin */
} half_tet;

typedef struct finger_half {
    double length;
    ARRAY(half_node) nodes;
    ARRAY(half_tet) tets;
} finger_half;

static bool finger_half_refine(finger_half *half, size_t target_tets);

/* Halves the edges that are longest relative to the local target size until there are at least target_tets tets. False
 * when out of memory, as for all functions below. */
bool finger_half_refine(finger_half *half, size_t target_tets);

static bool finger_half_relax(finger_half *half);

/* Moves nodes to improve the worst tet around them. Nodes of the skin stay on it, those of the middle plane and of the
 * cut stay in these planes, those of the bone do not move. */
bool finger_half_relax(finger_half *half);

/* The shape of a finger. At distance s from the tip the outline is two half ellipses of breadth w and heights `down`
 * and `up`, times the profile c of the round tip:
 *
 *     w(s) = 7.13 mm + 0.044 s + joints      c(s) = sqrt(1 - (1 - s/a)^2) for s < a = 9 mm, then 1
 *     x = w c sin(angle), y = -down c cos(angle) below, y = up c |cos(angle)| above.
 *
 * The line w(s) passes within 0.02 mm through half the thickness of the index finger's distal, middle and proximal
 * phalanx, .176, .198 and .229 of a hand breadth of 86 mm, at the middle of each; joints at 19.6 and 42 mm after X-ray
 * means of bone lengths. Height over breadth gives the distal and the middle phalanx about the 2.5 and 4.4 cm^3 of an
 * index finger. The 0.5 mm of the joints, the bulge of the pad and the flat of the nail were chosen by eye. */

#define TIP 0.009 /* end of the round tip */

static double bell(double s, double middle, double width) {
    return exp(-0.5 * (s - middle) * (s - middle) / (width * width));
}

/* From 1 at `full` down to 0 at `none`. */
static double fade(double s, double full, double none) {
    double t = fmin(fmax((none - s) / (none - full), 0), 1);
    return t * t * (3 - 2 * t);
}

/* Without the rounding of the tip. */
typedef struct section {
    double breadth, down, up;
} section;

static section section_at(double s) {
    double breadth = 0.00713 + 0.044 * s + 0.0005 * (bell(s, 0.0196, 0.004) + bell(s, 0.042, 0.005));
    return (section){.breadth = breadth,
                     .down = breadth * (0.92 + 0.09 * bell(s, 0.009, 0.006)),
                     .up = breadth * (0.82 - 0.12 * fade(s, 0.010, 0.020))};
}

static double rounding(double s) {
    double t = fmin(fmax(s / TIP, 0), 1);
    return sqrt(t * (2 - t));
}

vec3 finger_skin_point(double s, double angle) {
    section at = section_at(s);
    double across = sin(angle), below = cos(angle), tip = rounding(s);
    return vec3_make(tip * at.breadth * across, -tip * (below > 0 ? at.down : at.up) * below, s);
}

/* Distance from the axis relative to that of the outline without the rounding. */
static double ratio_to_outline(vec3 p) {
    section at = section_at(p.z);
    return hypot(p.x / at.breadth, p.y / (p.y < 0 ? at.down : at.up));
}

/* The point of the skin outward of p (about the tip, not on the axis): radially from the axis and, at the round tip,
 * radially from the centre of its rounding. */
static vec3 finger_skin_above(vec3 p) {
    /* At the tip the ray from the centre ends where the profile has shrunk to the remaining distance. */
    double nearer = 0, further = p.z < TIP ? TIP / (TIP - p.z) : 1;
    for (int i = 0; p.z < TIP && i < 60; i++) {
        double k = 0.5 * (nearer + further);
        vec3 q = vec3_make(k * p.x, k * p.y, TIP + k * (p.z - TIP));
        *(ratio_to_outline(q) < rounding(q.z) ? &nearer : &further) = k;
    }
    if (p.z < TIP) return vec3_make(nearer * p.x, nearer * p.y, TIP + nearer * (p.z - TIP));
    double out = ratio_to_outline(p);
    return vec3_make(p.x / out, p.y / out, p.z);
}

/* Halving edges. An edge is split at its midpoint together with all tets around it; the midpoint of a skin edge is
 * moved onto the skin. The edge that is longest relative to the target size
 *
 *     size(p) = 1 + distance(p, pad) / 8 mm    (only ratios count)
 *
 * comes first, so that no tet degenerates: an edge is never halved next to a longer one of the same tet.
 *
 * Each sweep lists and sorts the edges anew and splits a tet at most once. */

#define PAD_FROM 0.003 /* of the tip, m: the centre of the fine region */
#define PAD_TO 0.014
#define PAD_RADIUS 0.003
#define GROWTH 0.008
#define COARSEST 4
#define SWEEP_SHARE 0.75 /* a sweep halves edges down to this share of the longest */

static const uint8_t corner_pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

/* An edge of one tet. */
typedef struct split_edge {
    int low, high; /* nodes */
    int tet;
    double length; /* relative to the target size */
} split_edge;

static double wanted_size(vec3 p) {
    double s = fmin(fmax(p.z, PAD_FROM), PAD_TO);
    double distance = vec3_distance(p, finger_skin_point(s, 0));
    return fmin(1 + fmax(distance - PAD_RADIUS, 0) / GROWTH, COARSEST);
}

static int by_nodes(const void *left, const void *right) {
    const split_edge *a = left, *b = right;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->high != b->high) return a->high < b->high ? -1 : 1;
    return a->tet < b->tet ? -1 : a->tet > b->tet;
}

/* Longest first. */
static int by_length(const void *left, const void *right) {
    const split_edge *a = left, *b = right;
    if (a->length != b->length) return a->length > b->length ? -1 : 1;
    return by_nodes(left, right);
}

static void list_edges(const finger_half *half, split_edge *edges) {
    size_t count = 0;
    for (size_t t = 0; t < half->tets.count; t++)
        for (int k = 0; k < 6; k++) {
            int a = half->tets.data[t].node[corner_pairs[k][0]], b = half->tets.data[t].node[corner_pairs[k][1]];
            vec3 p = half->nodes.data[a].place, q = half->nodes.data[b].place;
            double size = wanted_size(vec3_scale(vec3_add(p, q), 0.5));
            edges[count++] = (split_edge){a < b ? a : b, a < b ? b : a, (int)t, vec3_distance(p, q) / size};
        }
    qsort(edges, count, sizeof *edges, by_nodes);
}

static bool same_edge(const split_edge *a, const split_edge *b) {
    return a->low == b->low && a->high == b->high;
}

static int corner_of(const half_tet *tet, int node) {
    for (int i = 0; i < 4; i++)
        if (tet->node[i] == node) return i;
    return -1;
}

/* Adds the midpoint of an edge that occurs `count` times with its tets. */
static bool add_middle(finger_half *half, const split_edge *edge, int count) {
    const half_node *a = &half->nodes.data[edge->low], *b = &half->nodes.data[edge->high];
    half_node middle = {.place = vec3_scale(vec3_add(a->place, b->place), 0.5)};
    for (int i = 0; i < count; i++) {
        const half_tet *tet = &half->tets.data[edge[i].tet];
        int at_ends = 1 << corner_of(tet, edge->low) | 1 << corner_of(tet, edge->high);
        middle.on_skin |= (tet->skin & ~at_ends) != 0;
        middle.of_bone |= tet->tag == FINGER_BONE;
    }
    if (middle.on_skin) middle.place = finger_skin_above(middle.place);
    return ARRAY_PUSH(&half->nodes, middle);
}

static bool split_tet(finger_half *half, const split_edge *edge, int middle) {
    half_tet *tet = &half->tets.data[edge->tet], upper = *tet;
    int low = corner_of(tet, edge->low), high = corner_of(tet, edge->high);
    /* The half that keeps an end has a new face opposite to it. */
    tet->node[high] = middle;
    tet->skin &= (uint8_t) ~(1 << low);
    upper.node[low] = middle;
    upper.skin &= (uint8_t) ~(1 << high);
    return ARRAY_PUSH(&half->tets, upper);
}

/* One sweep. False when out of memory. */
static bool sweep(finger_half *half, size_t target_tets, split_edge *edges, split_edge *order, bool *split) {
    size_t listed = 6 * half->tets.count, count = 0;
    list_edges(half, edges);
    for (size_t i = 0; i < listed; i++) {
        if (i > 0 && same_edge(&edges[i], &edges[i - 1])) continue;
        order[count] = edges[i];
        order[count++].tet = (int)i; /* the first occurrence represents all */
    }
    qsort(order, count, sizeof *order, by_length);
    for (size_t i = 0; i < count && half->tets.count < target_tets; i++) {
        const split_edge *edge = &edges[order[i].tet], *end = edges + listed;
        if (order[i].length < SWEEP_SHARE * order[0].length) break;
        int around = 0;
        bool fresh = true;
        for (const split_edge *e = edge; e < end && same_edge(e, edge); e++, around++) fresh &= !split[e->tet];
        /* Edges that meet a split tet wait for the next sweep, as do shorter edges beside them. */
        for (int k = 0; k < around; k++) split[edge[k].tet] = true;
        if (!fresh) continue;
        int middle = (int)half->nodes.count;
        if (!add_middle(half, edge, around)) return false;
        for (int k = 0; k < around; k++)
            if (!split_tet(half, &edge[k], middle)) return false;
    }
    return true;
}

static bool finger_half_refine(finger_half *half, size_t target_tets) {
    bool done = true;
    while (done && half->tets.count < target_tets) {
        split_edge *edges = MEMORY_ARRAY(split_edge, 6 * half->tets.count);
        split_edge *order = MEMORY_ARRAY(split_edge, 6 * half->tets.count);
        bool *split = MEMORY_ARRAY(bool, half->tets.count);
        done = edges && order && split && sweep(half, target_tets, edges, order, split);
        free(edges);
        free(order);
        free(split);
    }
    return done;
}

/* Moving nodes. Each node takes steps along the axes, forwards and backwards, as long as they improve the radius ratio
 * of the worst tet around it; then steps half as long. */

#define SWEEPS 6
#define FIRST_STEP 0.2 /* of the mean edge around the node */

typedef struct stars {
    int *start; /* nodes + 1 */
    int *tets;  /* around each node */
} stars;

static void list_stars(const finger_half *half, stars *s) {
    for (size_t t = 0; t < half->tets.count; t++)
        for (int i = 0; i < 4; i++) s->start[half->tets.data[t].node[i] + 1]++;
    for (size_t n = 0; n < half->nodes.count; n++) s->start[n + 1] += s->start[n];
    /* Filled from the back, so that each node's end becomes its start. */
    for (size_t t = half->tets.count; t-- > 0;)
        for (int i = 0; i < 4; i++) s->tets[--s->start[half->tets.data[t].node[i] + 1]] = (int)t;
    memmove(s->start, s->start + 1, half->nodes.count * sizeof *s->start);
    s->start[half->nodes.count] = (int)(4 * half->tets.count);
}

static void corners(const finger_half *half, int tet, vec3 corner[4]) {
    for (int i = 0; i < 4; i++) corner[i] = half->nodes.data[half->tets.data[tet].node[i]].place;
}

static double worst_around(const finger_half *half, const stars *s, int node) {
    double worst = INFINITY;
    for (int k = s->start[node]; k < s->start[node + 1]; k++) {
        vec3 corner[4];
        corners(half, s->tets[k], corner);
        worst = fmin(worst, tet_radius_ratio(corner));
    }
    return worst;
}

static double reach_around(const finger_half *half, const stars *s, int node) {
    double sum = 0;
    for (int k = s->start[node]; k < s->start[node + 1]; k++) {
        vec3 corner[4];
        corners(half, s->tets[k], corner);
        for (int i = 0; i < 4; i++) sum += vec3_distance(corner[i], half->nodes.data[node].place);
    }
    return sum / (3 * fmax(s->start[node + 1] - s->start[node], 1));
}

static void move_node(finger_half *half, const stars *s, int number) {
    half_node *node = &half->nodes.data[number];
    bool in_middle = node->place.x == 0, in_cut = node->place.z == half->length;
    double worst = worst_around(half, s, number), step = FIRST_STEP * reach_around(half, s, number);
    for (int halvings = 0; halvings < 3; halvings++, step /= 2)
        for (int way = 0; way < 6; way++) {
            if ((in_middle && way / 2 == 0) || (in_cut && way / 2 == 2)) continue;
            vec3 from = node->place, along = {0};
            *(way / 2 == 0 ? &along.x : way / 2 == 1 ? &along.y : &along.z) = way % 2 ? -step : step;
            node->place = vec3_add(from, along);
            if (node->on_skin && node->place.z > 0) node->place = finger_skin_above(node->place);
            double now = worst_around(half, s, number);
            if (now > worst && node->place.x >= 0 && node->place.z <= half->length)
                worst = now;
            else
                node->place = from;
        }
}

static bool finger_half_relax(finger_half *half) {
    stars s = {MEMORY_ARRAY(int, half->nodes.count + 1), MEMORY_ARRAY(int, 4 * half->tets.count)};
    bool done = s.start && s.tets;
    if (done) list_stars(half, &s);
    for (int i = 0; i < SWEEPS && done; i++)
        for (size_t n = 0; n < half->nodes.count; n++) {
            const half_node *node = &half->nodes.data[n];
            /* The tip stays in place. */
            if (!node->of_bone && node->place.z > 0) move_node(half, &s, (int)n);
        }
    free(s.start);
    free(s.tets);
    return done;
}

#define BONE_SIZE 0.45  /* of the bone over that of the finger */
#define BONE_RAISE 0.12 /* of the bone towards the nail, over half the breadth */
#define SKIN_NODES 7    /* of half a section, from the pad to the nail */
#define SECTION 10      /* nodes of half a section: three of the bone follow those of the skin */
#define TRIANGLES 9     /* of half a section */
#define LAYERS_USUAL 6
#define LAYERS_MAX 13
#define LAYER_LENGTH 0.008 /* m, mean, if there are enough tets for additional layers */
#define FIRST_LAYER 0.004  /* m, behind the end of the bone, unless that needs a growth beyond the next */
#define GROWTH_MAX 1.8     /* from layer to layer */
#define FRONT 0.42         /* of the pulp: the section in front of the bone's end */
#define START_ENOUGH 0.9   /* of the requested tets: then nothing is halved, and the mesh stays regular */

static const double pi = 3.14159265358979323846;
static const double skin_angles[SKIN_NODES] = {0, 17, 38, 68, 105, 143, 180}; /* degrees */
static const int section_triangles[TRIANGLES][3] = {{0, 1, 7}, {1, 2, 7}, {2, 3, 7}, {3, 7, 8}, {3, 4, 8},
                                                    {4, 5, 8}, {5, 8, 9}, {5, 6, 9}, {7, 8, 9}};

finger_options finger_options_default(void) {
    return (finger_options){.length = 0.07, .pulp = 0.006, .target_tets = 347};
}

static vec3 start_place(double s, int k) {
    if (k < SKIN_NODES) {
        vec3 p = finger_skin_point(s, skin_angles[k] * pi / 180);
        if (k == 0 || k == SKIN_NODES - 1) p.x = 0;
        return p;
    }
    vec3 p = finger_skin_point(s, (k - SKIN_NODES) * pi / 2);
    double raise = BONE_RAISE * finger_skin_point(s, pi / 2).x;
    return vec3_make(k == SKIN_NODES + 1 ? BONE_SIZE * p.x : 0, BONE_SIZE * p.y + raise, s);
}

static bool add_tet(finger_half *half, int a, int b, int c, int d, int tag) {
    half_tet tet = {.node = {a, b, c, d}, .tag = tag};
    vec3 corner[4];
    for (int i = 0; i < 4; i++) corner[i] = half->nodes.data[tet.node[i]].place;
    if (tet_volume(corner) < 0) tet.node[2] = d, tet.node[3] = c;
    for (int i = 0; i < 4; i++) {
        /* Three skin nodes form a skin face unless they lie in the cut or in the middle plane. */
        int skin = 0, cut = 0, middle = 0;
        for (int k = 0; k < 4; k++) {
            const half_node *node = &half->nodes.data[tet.node[k]];
            if (k == i) continue;
            skin += node->on_skin;
            cut += node->place.z == half->length;
            middle += node->place.x == 0;
        }
        if (skin == 3 && cut < 3 && middle < 3) tet.skin |= (uint8_t)(1 << i);
    }
    return ARRAY_PUSH(&half->tets, tet);
}

/* Every other layer is split the other way round. */
static bool add_prism(finger_half *half, int layer, const int triangle[3]) {
    int near = 1 + SECTION * (layer + layer % 2), far = 1 + SECTION * (layer + 1 - layer % 2);
    int a = triangle[0], b = triangle[1], c = triangle[2];
    int tag = layer > 0 && a >= SKIN_NODES ? FINGER_BONE : 0;
    return add_tet(half, near + a, near + b, near + c, far + c, tag) &&
           add_tet(half, near + a, near + b, far + b, far + c, tag) &&
           add_tet(half, near + a, far + a, far + b, far + c, tag);
}

static int layers_of(const finger_options *options) {
    double max = round((options->target_tets / 2.0 - TRIANGLES) / (3 * TRIANGLES));
    double usual = fmax(1 + round((options->length - options->pulp) / LAYER_LENGTH), LAYERS_USUAL);
    return (int)fmin(max, fmin(usual, LAYERS_MAX));
}

/* Growth of the layers behind the end of the bone for the requested first layer. */
static double growth_of(double length, int layers) {
    double low = 1, high = GROWTH_MAX;
    for (int i = 0; i < 60; i++) {
        double q = 0.5 * (low + high);
        *(FIRST_LAYER * (pow(q, layers) - 1) / (q - 1) < length ? &low : &high) = q;
    }
    return low;
}

static void choose_sections(const finger_options *options, int layers, double s[LAYERS_MAX + 1]) {
    double behind = options->length - options->pulp, q = growth_of(behind, layers - 1), sum = 0, thick = 1;
    s[0] = FRONT * options->pulp;
    for (int i = 1; i < layers; i++, thick *= q) {
        s[i] = sum;
        sum += thick;
    }
    for (int i = 1; i < layers; i++) s[i] = options->pulp + behind * s[i] / sum;
    s[layers] = options->length;
}

static bool make_start(const finger_options *options, finger_half *half) {
    bool done = ARRAY_PUSH(&half->nodes, (half_node){.on_skin = true});
    int layers = layers_of(options);
    double s[LAYERS_MAX + 1];
    choose_sections(options, layers, s);
    for (int i = 0; i <= layers; i++)
        for (int k = 0; k < SECTION && done; k++) {
            bool skin = k < SKIN_NODES;
            done = ARRAY_PUSH(&half->nodes, (half_node){start_place(s[i], k), skin, .of_bone = !skin && i > 0});
        }
    for (int t = 0; t < TRIANGLES && done; t++) {
        const int *corner = section_triangles[t];
        done = add_tet(half, 0, 1 + corner[0], 1 + corner[1], 1 + corner[2], 0);
        for (int layer = 0; layer < layers && done; layer++) done = add_prism(half, layer, corner);
    }
    return done;
}

/* Nodes of the middle plane are shared. twin: the mirror image of each node of the half. */
static void mirror(const finger_half *half, const int *twin, thenar_tet_mesh *mesh) {
    for (size_t n = 0; n < half->nodes.count; n++) {
        vec3 p = half->nodes.data[n].place;
        p.z -= half->length;
        vec3_store(mesh->positions + 3 * n, p);
        p.x = -p.x;
        if (twin[n] != (int)n) vec3_store(mesh->positions + 3 * (size_t)twin[n], p);
    }
    for (size_t t = 0; t < half->tets.count; t++) {
        const half_tet *tet = &half->tets.data[t];
        size_t other = t + half->tets.count;
        memcpy(mesh->tets + 4 * t, tet->node, sizeof tet->node);
        for (int i = 0; i < 4; i++) mesh->tets[4 * other + (size_t)i] = twin[tet->node[i ^ (i < 2)]];
        mesh->tags[t] = mesh->tags[other] = tet->tag;
    }
}

static thenar_status mirror_half(const finger_half *half, thenar_tet_mesh *mesh, thenar_error *error) {
    int count = (int)half->nodes.count;
    int *twin = MEMORY_ARRAY(int, count);
    if (!twin) return error_memory(error, "a finger");
    for (int n = 0, next = count; n < (int)half->nodes.count; n++)
        twin[n] = half->nodes.data[n].place.x == 0 ? n : (count++, next++);
    thenar_status status = tet_mesh_create(count, 2 * (int)half->tets.count, true, mesh, error);
    if (status == THENAR_OK) mirror(half, twin, mesh);
    free(twin);
    return status;
}

static thenar_status check_options(const finger_options *options, thenar_error *error) {
    if (!(options->length >= FINGER_LENGTH_MIN && options->length <= FINGER_LENGTH_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "the finger's length is %g m; expected %g to %g", options->length,
                         FINGER_LENGTH_MIN, FINGER_LENGTH_MAX);
    if (!(options->pulp >= FINGER_PULP_MIN && options->pulp <= FINGER_PULP_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "the finger's pulp is %g m long; expected %g to %g", options->pulp,
                         FINGER_PULP_MIN, FINGER_PULP_MAX);
    if (options->target_tets < FINGER_TETS_MIN || options->target_tets > FINGER_TETS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "a finger of %d tets; expected %d to %d", options->target_tets,
                         FINGER_TETS_MIN, FINGER_TETS_MAX);
    return THENAR_OK;
}

thenar_status finger_mesh(const finger_options *options, thenar_tet_mesh *mesh, thenar_error *error) {
    *mesh = (thenar_tet_mesh){0};
    thenar_status status = check_options(options, error);
    if (status != THENAR_OK) return status;
    finger_half half = {.length = options->length};
    double min = START_ENOUGH * options->target_tets / 2;
    bool done = make_start(options, &half);
    if (done && (double)half.tets.count < min) done = finger_half_refine(&half, (size_t)(options->target_tets - 1) / 2);
    done = done && finger_half_relax(&half);
    status = done ? mirror_half(&half, mesh, error) : error_memory(error, "a finger");
    free(half.nodes.data);
    free(half.tets.data);
    return status;
}
