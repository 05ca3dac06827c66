/* The start: sections of half a finger with seven nodes on the skin, close together at the pad, and three of the bone.
 * Prisms between sections, three tets each, cut by the order of the nodes; a fan from the first section to the tip.
 * Layers are thin at the pad and grow towards the cut. A finger of few tets is this start; where more are asked for,
 * edges are halved. Then nodes are moved for the quality of the tets, and the half is mirrored.
 *
 * Tried instead:
 * - Tets in layers around a finer skin that hangs in them. Its points move as the large tets around them do, and a
 *   pressed pad touches in a few points and does not flatten.
 * - Halving edges from a coarse start: with 347 tets the pad has edges of 5.3 mm instead of 4.3, the rest too many
 * tets.
 * - The lattice mesher: with 347 tets its cells of 11 mm stick out in bumps, and none of its nodes make a bone. */
#include "shape/finger.h"

#include "shape/finger_half.h"
#include "shape/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BONE_SIZE 0.45  /* of the bone over that of the finger */
#define BONE_RAISE 0.12 /* of the bone towards the nail, over half the breadth */
#define SKIN_NODES 7    /* of half a section, from the pad to the nail */
#define SECTION 10      /* nodes of half a section: three of the bone come after those of the skin */
#define TRIANGLES 9     /* of half a section */
#define LAYERS_USUAL 6
#define LAYERS_MOST 13
#define LAYER_LENGTH 0.008 /* m, in the mean, where there are enough tets for more layers than usual */
#define FIRST_LAYER 0.004  /* m, behind the end of the bone, if that does not need a growth beyond the next */
#define GROWTH_MOST 1.8    /* from layer to layer */
#define FRONT 0.42         /* of the pulp: the section before the bone's end */
#define START_ENOUGH 0.9   /* of the tets asked for: then nothing is halved, and the mesh stays regular */

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
        /* Three of the skin make a face of it, unless they stand in the cut or in the middle plane. */
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

/* Every other layer is cut the other way round. */
static bool add_prism(finger_half *half, int layer, const int triangle[3]) {
    int near = 1 + SECTION * (layer + layer % 2), far = 1 + SECTION * (layer + 1 - layer % 2);
    int a = triangle[0], b = triangle[1], c = triangle[2];
    int tag = layer > 0 && a >= SKIN_NODES ? FINGER_BONE : 0;
    return add_tet(half, near + a, near + b, near + c, far + c, tag) &&
           add_tet(half, near + a, near + b, far + b, far + c, tag) &&
           add_tet(half, near + a, far + a, far + b, far + c, tag);
}

static int layers_of(const finger_options *options) {
    double most = round((options->target_tets / 2.0 - TRIANGLES) / (3 * TRIANGLES));
    double usual = fmax(1 + round((options->length - options->pulp) / LAYER_LENGTH), LAYERS_USUAL);
    return (int)fmin(most, fmin(usual, LAYERS_MOST));
}

/* By how much layers behind the end of the bone grow, if the first is as asked. */
static double growth_of(double length, int layers) {
    double low = 1, high = GROWTH_MOST;
    for (int i = 0; i < 60; i++) {
        double q = 0.5 * (low + high);
        *(FIRST_LAYER * (pow(q, layers) - 1) / (q - 1) < length ? &low : &high) = q;
    }
    return low;
}

static void choose_sections(const finger_options *options, int layers, double s[LAYERS_MOST + 1]) {
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
    double s[LAYERS_MOST + 1];
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

/* Nodes of the middle plane are there once. twin: for each node of the half its image. */
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
    double least = START_ENOUGH * options->target_tets / 2;
    bool done = make_start(options, &half);
    if (done && (double)half.tets.count < least)
        done = finger_half_refine(&half, (size_t)(options->target_tets - 1) / 2);
    done = done && finger_half_relax(&half);
    status = done ? mirror_half(&half, mesh, error) : error_memory(error, "a finger");
    free(half.nodes.data);
    free(half.tets.data);
    return status;
}
