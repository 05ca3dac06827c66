/* The shape of a hand: pads, skinning and embedding of its skin; the built-in hand, and one from a skinned mesh. */
#include "hand/shape.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define INSIDE (-1e-12)

typedef struct chooser {
    const hand_shape *hand;
    int vertex;
    vec3 point;
    int tet;
    double agreement;
    double weights[4];
} chooser;

static double shared(const hand_skinning *a, const hand_skinning *b) {
    double sum = 0;
    for (int i = 0; i < HAND_SKINNING_BONES; i++)
        for (int k = 0; k < HAND_SKINNING_BONES; k++)
            if (a->bone[i] == b->bone[k]) sum += fmin(a->weight[i], b->weight[k]);
    return sum;
}

/* Weight of the bones that a vertex shares with the point in the tet. */
static bool try_tet(void *context, int tet) {
    chooser *c = context;
    vec3 corner[4];
    double w[4], agreement = 0;
    tet_mesh_corners(&c->hand->mesh, tet, corner);
    if (tet_weights(corner, c->point, w) < INSIDE) return true;
    for (int k = 0; k < 4; k++)
        agreement += w[k] * shared(&c->hand->vertex_skinning[c->vertex],
                                   &c->hand->node_skinning[tet_mesh_tet(&c->hand->mesh, tet)[k]]);
    if (agreement < c->agreement + 1e-9 && (agreement < c->agreement - 1e-9 || tet > c->tet)) return true;
    c->tet = tet;
    c->agreement = agreement;
    for (int k = 0; k < 4; k++) c->weights[k] = w[k];
    return true;
}

/* Embeds the skin in the tets. Tets of neighbouring fingers may overlap at their roots; a vertex is embedded in a tet
 * that follows the same bones. */
static thenar_status embed(hand_shape *hand, thenar_error *error) {
    tet_finder finder;
    thenar_status status = tet_finder_create(&hand->mesh, &finder, error);
    if (status == THENAR_OK) status = embedding_create(hand->skin.vertex_count, &hand->embedding, error);
    for (int v = 0; v < hand->embedding.vertex_count; v++) {
        vec3 p = surface_vertex(&hand->skin, v);
        chooser c = {.hand = hand, .vertex = v, .point = p, .tet = -1, .agreement = -1};
        bvh_overlap(&finder.tree, box_grow((box){p, p}, 1e-9), try_tet, &c);
        if (c.tet < 0) c.tet = tet_finder_find(&finder, p, c.weights);
        hand->embedding.tet[v] = c.tet;
        for (int k = 0; k < 4; k++) hand->embedding.weights[4 * (size_t)v + (size_t)k] = c.weights[k];
    }
    tet_finder_free(&finder);
    return status;
}

/* For a hand of 190 mm, m. */
#define LENGTH 0.19
#define ON_PADS 0.0025
#define ON_FINE_PADS 0.0001 /* with vertices at the nodes of the tets: every vertex */
#define ON_FINGERS 0.0035   /* their palmar sides, and the tips up to the nails */
#define ON_FINGER_BACKS 0.007
#define ON_PALM 0.007
#define ON_BACK 0.01  /* of the palm, and the cut of the wrist */
#define PALMAR (-0.5) /* largest cosine between the normal and the direction out of the back of the hand */
#define TIP 0.2       /* the same on the distal phalanges */
#define WEB_SHARE 0.3 /* of the first phalanx: what lies before it belongs to the palm */
#define CHAIN 0.99    /* of the length: from the wrist along the bones of the middle finger (Buchholz) */

static double length_of(const hand_shape *hand) {
    const vec3 wrist = hand->joint[HAND_WRIST].position;
    double length = vec3_distance(hand->joint[HAND_MIDDLE_PROXIMAL].position, wrist);
    for (int j = HAND_MIDDLE_PROXIMAL; j < HAND_MIDDLE_TIP; j++)
        length += vec3_distance(hand->joint[j + 1].position, hand->joint[j].position);
    return length / CHAIN;
}

static double spacing_at(const hand_shape *hand, int vertex, vec3 normal) {
    int bone = hand->vertex_bone[vertex], phalanx = (bone + 2) % 3;
    const hand_frame *frame = &hand->joint[hand_bone_joint(bone)], *next = frame + 1;
    vec3 from = vec3_sub(surface_vertex(&hand->skin, vertex), frame->position);
    double up = vec3_dot(normal, hand_frame_up(frame)), along = vec3_dot(from, hand_frame_along(frame));
    bool palmar = up < PALMAR;
    /* The thumb's metacarpal lies in the palm, as does everything before the web. */
    if (bone <= 1) return palmar && surface_vertex(&hand->skin, vertex).z < 0 ? ON_PALM : ON_BACK;
    if (palmar && phalanx == 0 && along < WEB_SHARE * vec3_distance(next->position, frame->position)) return ON_PALM;
    return palmar || (phalanx == 2 && up < TIP && along > 0) ? ON_FINGERS : ON_FINGER_BACKS;
}

/* Target spacing of contact points per vertex of the skin, m: dense where fingers feel, sparse elsewhere. The caller
 * frees it. Needs joints, skin, labels and pads. */
static thenar_status hand_spacing(const hand_shape *hand, double **spacing, thenar_error *error) {
    int count = hand->skin.vertex_count;
    vec3 *normal = MEMORY_ARRAY(vec3, count);
    *spacing = MEMORY_ARRAY(double, count);
    if (!normal || !*spacing) {
        free(normal);
        return error_memory(error, "hand");
    }
    surface_vertex_normals(&hand->skin, normal);
    double scale = length_of(hand) / LENGTH, on_pads = hand->graded ? ON_FINE_PADS : ON_PADS;
    for (int v = 0; v < count; v++) (*spacing)[v] = scale * spacing_at(hand, v, normal[v]);
    for (int finger = 0; finger < HAND_FINGERS; finger++)
        for (int i = 0; i < hand->pad[finger].count; i++) (*spacing)[hand->pad[finger].vertex[i]] = scale * on_pads;
    free(normal);
    return THENAR_OK;
}

#define PAD_FACING 0.35 /* smallest cosine between the skin's normal and the direction out of the palm */

hand_options hand_options_default(void) {
    return (hand_options){.length = 0.19, .breadth = 0.086, .triangles = 24000};
}

const char *hand_bone_name(int bone) {
    return bone == 0 ? "palm" : hand_joint_name(hand_bone_joint(bone));
}

void hand_shape_free(hand_shape *hand) {
    thenar_surface_free(&hand->skin);
    thenar_tet_mesh_free(&hand->mesh);
    thenar_embedding_free(&hand->embedding);
    free(hand->node_skinning);
    free(hand->vertex_skinning);
    free(hand->node_bone);
    free(hand->vertex_bone);
    free(hand->node_core);
    free(hand->node_in_bone);
    free(hand->tet_tissue);
    free(hand->contact_spacing);
    for (int i = 0; i < HAND_FINGERS; i++) hand_region_free(&hand->pad[i]);
    *hand = (hand_shape){0};
}

void thenar_hand_shape_free(thenar_hand_shape *shape) {
    if (!shape) return;
    hand_shape_free(&shape->shape);
    free(shape);
}

/* A copy of an array, if there is one; *good becomes false when memory runs out. */
static void *copy_array(const void *from, size_t size, bool *good) {
    void *copy = from ? memory_copy(from, size) : NULL;
    *good = *good && (copy || !from);
    return copy;
}

thenar_status hand_shape_copy(const hand_shape *from, hand_shape *out, thenar_error *error) {
    bool good = true;
    size_t nodes = (size_t)from->mesh.node_count, tets = (size_t)from->mesh.tet_count;
    size_t vertices = (size_t)from->skin.vertex_count, triangles = (size_t)from->skin.triangle_count;
#define COPY(field, count) out->field = copy_array(from->field, (count) * sizeof *from->field, &good)
    *out = *from;
    COPY(skin.positions, 3 * vertices);
    COPY(skin.triangles, 3 * triangles);
    COPY(mesh.positions, 3 * nodes);
    COPY(mesh.tets, 4 * tets);
    COPY(mesh.tags, tets);
    COPY(embedding.tet, vertices);
    COPY(embedding.weights, 4 * vertices);
    COPY(node_skinning, nodes);
    COPY(vertex_skinning, vertices);
    COPY(node_bone, nodes);
    COPY(vertex_bone, vertices);
    COPY(node_core, nodes);
    COPY(node_in_bone, nodes);
    COPY(tet_tissue, tets);
    COPY(contact_spacing, vertices);
    for (int f = 0; f < HAND_FINGERS; f++) {
        COPY(pad[f].vertex, (size_t)from->pad[f].count);
        COPY(pad[f].area, (size_t)from->pad[f].count);
    }
#undef COPY
    if (good) return THENAR_OK;
    hand_shape_free(out);
    return error_memory(error, "a hand");
}

static thenar_status check_options(const hand_options *o, thenar_error *error) {
    if (!(o->length >= HAND_LENGTH_MIN && o->length <= HAND_LENGTH_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "the hand's length is %g m; expected %g to %g", o->length,
                         HAND_LENGTH_MIN, HAND_LENGTH_MAX);
    if (!(o->breadth >= HAND_SLENDER * o->length && o->breadth <= HAND_BROAD * o->length))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the hand's breadth is %g m; expected %g to %g of its length, %g to %g m", o->breadth,
                         HAND_SLENDER, HAND_BROAD, HAND_SLENDER * o->length, HAND_BROAD * o->length);
    if (o->triangles < HAND_TRIANGLES_MIN || o->triangles > HAND_TRIANGLES_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "a skin of %d triangles; expected %d to %d", o->triangles,
                         HAND_TRIANGLES_MIN, HAND_TRIANGLES_MAX);
    return hand_fineness_check(o->fineness, error);
}

static thenar_status choose_pad(const thenar_surface *skin, const int *bone_of, int bone, const hand_frame *frame,
                                const vec3 *normal, const double *area, hand_region *pad, thenar_error *error) {
    vec3 down = vec3_scale(hand_frame_up(frame), -1), along = hand_frame_along(frame);
    for (int pass = 0; pass < 2; pass++) {
        int count = 0;
        for (int v = 0; v < skin->vertex_count; v++) {
            vec3 from = vec3_sub(surface_vertex(skin, v), frame->position);
            if ((bone_of && bone_of[v] != bone) || vec3_dot(normal[v], down) < PAD_FACING || vec3_dot(from, along) < 0)
                continue;
            if (pass == 1) {
                pad->vertex[count] = v;
                pad->area[count] = area[v];
            }
            count++;
        }
        if (pass == 1) break;
        pad->count = count;
        pad->vertex = MEMORY_ARRAY(int, count);
        pad->area = MEMORY_ARRAY(double, count);
        if (!pad->vertex || !pad->area) return error_memory(error, "hand");
    }
    return THENAR_OK;
}

thenar_status hand_region_find_pad(const thenar_surface *skin, const int *bone_of, int bone,
                                   const hand_frame joint[HAND_JOINTS], hand_region *pad, thenar_error *error) {
    *pad = (hand_region){0};
    vec3 *normal = MEMORY_ARRAY(vec3, skin->vertex_count);
    double *area = MEMORY_ARRAY(double, skin->vertex_count);
    thenar_status status = normal && area ? THENAR_OK : error_memory(error, "hand");
    if (status == THENAR_OK) {
        surface_vertex_normals(skin, normal);
        surface_vertex_areas(skin, area);
        status = choose_pad(skin, bone_of, bone, &joint[hand_bone_joint(bone)], normal, area, pad, error);
    }
    free(normal);
    free(area);
    return status;
}

void hand_region_free(hand_region *region) {
    free(region->vertex);
    free(region->area);
    *region = (hand_region){0};
}

static thenar_status find_pads(hand_shape *hand, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int finger = 0; finger < HAND_FINGERS && status == THENAR_OK; finger++)
        status = hand_region_find_pad(&hand->skin, hand->vertex_bone, 3 * finger + 3, hand->joint, &hand->pad[finger],
                                      error);
    return status;
}

/* The bone of a tet is the one with the largest weight over its nodes. */
static void label_tets(const double *node_weight, thenar_tet_mesh *mesh) {
    for (int t = 0; t < mesh->tet_count; t++) {
        double sum[HAND_BONES] = {0};
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < HAND_BONES; i++)
                sum[i] += node_weight[HAND_BONES * (size_t)tet_mesh_tet(mesh, t)[k] + (size_t)i];
        mesh->tags[t] = hand_skinning_of(sum).bone[0];
    }
}

static thenar_status skinning_of(const double *weight, int count, hand_skinning **skinning, int **bone,
                                 thenar_error *error) {
    *skinning = MEMORY_ARRAY(hand_skinning, count);
    *bone = MEMORY_ARRAY(int, count);
    if (!*skinning || !*bone) return error_memory(error, "hand");
    for (int i = 0; i < count; i++) {
        (*skinning)[i] = hand_skinning_of(weight + HAND_BONES * (size_t)i);
        (*bone)[i] = (*skinning)[i].bone[0];
    }
    return THENAR_OK;
}

/* Labels, pads and skinning of skin and nodes from weights (HAND_BONES per vertex or node). Needs joints, skin and
 * mesh. */
static thenar_status finish(const double *vertex_weight, const double *node_weight, hand_shape *hand,
                            thenar_error *error) {
    thenar_status status =
        skinning_of(vertex_weight, hand->skin.vertex_count, &hand->vertex_skinning, &hand->vertex_bone, error);
    if (status == THENAR_OK)
        status = skinning_of(node_weight, hand->mesh.node_count, &hand->node_skinning, &hand->node_bone, error);
    if (status == THENAR_OK) label_tets(node_weight, &hand->mesh);
    if (status == THENAR_OK) status = find_pads(hand, error);
    if (status == THENAR_OK) status = hand_spacing(hand, &hand->contact_spacing, error);
    return status;
}

/* Turns a right hand into a left one and back: mirrors x and reverses the order of corners. */
static void mirror(hand_shape *hand) {
    hand->left = !hand->left;
    for (int j = 0; j < HAND_JOINTS; j++) hand->joint[j] = hand_frame_mirrored(hand->joint[j]);
    for (int v = 0; v < hand->skin.vertex_count; v++) hand->skin.positions[3 * (size_t)v] *= -1;
    for (int n = 0; n < hand->mesh.node_count; n++) hand->mesh.positions[3 * (size_t)n] *= -1;
    for (int t = 0; t < hand->skin.triangle_count; t++) {
        int *v = hand->skin.triangles + 3 * (size_t)t, swap = v[1];
        v[1] = v[2];
        v[2] = swap;
    }
    for (int t = 0; t < hand->mesh.tet_count; t++) {
        int *n = hand->mesh.tets + 4 * (size_t)t, swap = n[2];
        n[2] = n[3];
        n[3] = swap;
    }
}

/* The cores of the nodes and their weights, HAND_BONES per node. The caller frees them. */
static thenar_status take_nodes(const hand_node *node, hand_shape *hand, double **weight, thenar_error *error) {
    int count = hand->mesh.node_count;
    *weight = MEMORY_ARRAY(double, (size_t)count *HAND_BONES);
    hand->node_core = MEMORY_ARRAY(double, count);
    hand->node_in_bone = MEMORY_ARRAY(bool, count);
    if (!*weight || !hand->node_core || !hand->node_in_bone) return error_memory(error, "hand");
    for (int n = 0; n < count; n++) {
        hand->node_core[n] = node[n].core;
        hand->node_in_bone[n] = node[n].in_bone;
        for (int i = 0; i < HAND_BONES; i++) (*weight)[HAND_BONES * (size_t)n + (size_t)i] = node[n].weight[i];
    }
    return THENAR_OK;
}

thenar_status hand_shape_create(const hand_options *options, hand_shape *out, thenar_error *error) {
    *out = (hand_shape){.graded = hand_fineness_is_graded(options->fineness)};
    thenar_status status = check_options(options, error);
    if (status != THENAR_OK) return status;
    hand_size size = {.length = options->length, .breadth = options->breadth};
    memcpy(size.bone, options->bone, sizeof size.bone);
    memcpy(size.root, options->root, sizeof size.root);
    hand_node *node = NULL;
    double *vertex_weight = NULL, *node_weight = NULL;
    int *group = NULL;
    hand_rest(size, out->joint);
    hand_flesh *flesh = hand_flesh_create(size, out->joint);
    if (!flesh) return error_memory(error, "hand");
    signed_distance solid = signed_distance_of_flesh(flesh);
    status = polygonize(&solid, options->triangles, &out->skin, error);
    if (status == THENAR_OK) {
        vertex_weight = MEMORY_ARRAY(double, (size_t)out->skin.vertex_count *HAND_BONES);
        group = MEMORY_ARRAY(int, out->skin.vertex_count);
        status = vertex_weight && group ? hand_weights(size, out->joint, &out->skin, vertex_weight, error)
                                        : error_memory(error, "hand");
    }
    if (status == THENAR_OK) {
        hand_vertex_groups(out->joint, &out->skin, vertex_weight, group);
        status = hand_tets(size, out->joint, &solid, &out->skin, group, options->fineness, &out->mesh, &node, error);
    }
    if (status == THENAR_OK && out->graded)
        status = hand_pads_follow_nodes(size, out->joint, &solid, &out->mesh, node, &out->skin, &vertex_weight, error);
    if (status == THENAR_OK) status = take_nodes(node, out, &node_weight, error);
    if (status == THENAR_OK) status = finish(vertex_weight, node_weight, out, error);
    if (status == THENAR_OK) status = hand_tissues_find(size, &solid, out, error);
    if (status == THENAR_OK && options->left) mirror(out);
    if (status == THENAR_OK) status = embed(out, error);
    free(flesh);
    free(group);
    free(node);
    free(vertex_weight);
    free(node_weight);
    if (status != THENAR_OK) hand_shape_free(out);
    return status;
}

/* A hand from a skinned mesh: joints, skin and weights are given, and the flesh is made for them. */

#define SHORTEST 1e-3      /* m, of a hand from the wrist to the tip of the middle finger, in some unit or other */
#define LONGEST 1e3        /* m */
#define NARROWEST 0.02     /* of its length */
#define SHORTEST_BONE 1e-3 /* of its length */

/* Moves everything to the wrist's frame and finds out which hand it is. */
static void into_wrist_frame(hand_shape *hand) {
    hand_frame wrist = hand->joint[HAND_WRIST];
    quat back = quat_conjugate(wrist.rotation);
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand->joint[j].position = quat_rotate(back, vec3_sub(hand->joint[j].position, wrist.position));
        hand->joint[j].rotation = quat_unit(quat_mul(back, hand->joint[j].rotation));
    }
    for (int v = 0; v < hand->skin.vertex_count; v++)
        vec3_store(hand->skin.positions + 3 * (size_t)v,
                   quat_rotate(back, vec3_sub(surface_vertex(&hand->skin, v), wrist.position)));
    hand->joint[HAND_WRIST] = (hand_frame){{0, 0, 0}, quat_identity()};
    hand->left = hand->joint[HAND_INDEX_PROXIMAL].position.x > hand->joint[HAND_LITTLE_PROXIMAL].position.x;
}

static hand_size size_of(const hand_shape *hand) {
    double length = 0;
    for (int j = HAND_MIDDLE_PROXIMAL; j <= HAND_MIDDLE_TIP; j++)
        length += vec3_distance(hand->joint[j].position,
                                hand->joint[j == HAND_MIDDLE_PROXIMAL ? HAND_WRIST : j - 1].position);
    /* The knuckles of the index and the little finger are 0.653 of the breadth apart (Buchholz). */
    return (hand_size){.length = length,
                       .breadth = vec3_distance(hand->joint[HAND_INDEX_PROXIMAL].position,
                                                hand->joint[HAND_LITTLE_PROXIMAL].position) /
                                  0.653};
}

/* That the joints are those of some hand: the mesher divides by their distances. */
static thenar_status check_sizes(const hand_shape *hand, thenar_error *error) {
    hand_size size = size_of(hand);
    if (!(size.length >= SHORTEST && size.length <= LONGEST))
        return error_set(error, THENAR_ERROR_INPUT, "the hand is %g m long; expected %g to %g m", size.length, SHORTEST,
                         LONGEST);
    if (!(size.breadth >= NARROWEST * size.length && size.breadth <= size.length / NARROWEST))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the hand is %g m long and %g m broad; expected the sizes of a hand", size.length,
                         size.breadth);
    for (int bone = 1; bone < HAND_BONES; bone++) {
        hand_joint j = hand_bone_joint(bone);
        double length = vec3_distance(hand->joint[j].position, hand->joint[j + 1].position);
        if (!(length >= SHORTEST_BONE * size.length && length <= size.length))
            return error_set(error, THENAR_ERROR_INPUT,
                             "the bone from %s to %s is %g m long; expected the sizes of a hand", hand_joint_name(j),
                             hand_joint_name((hand_joint)(j + 1)), length);
    }
    return THENAR_OK;
}

static thenar_status make_flesh(hand_shape *hand, const double *vertex_weight, hand_fineness fineness,
                                thenar_error *error) {
    surface_distance distance;
    hand_node *node = NULL;
    double *node_weight = NULL;
    thenar_status status = surface_distance_create(&hand->skin, &distance, error);
    if (status != THENAR_OK) return status;
    signed_distance solid = signed_distance_of_surface(&distance);
    int *group = MEMORY_ARRAY(int, hand->skin.vertex_count);
    if (group) hand_vertex_groups(hand->joint, &hand->skin, vertex_weight, group);
    status =
        group ? hand_tets(size_of(hand), hand->joint, &solid, &hand->skin, group, fineness, &hand->mesh, &node, error)
              : error_memory(error, "hand");
    free(group);
    if (status == THENAR_OK) status = take_nodes(node, hand, &node_weight, error);
    if (status == THENAR_OK) status = finish(vertex_weight, node_weight, hand, error);
    if (status == THENAR_OK) status = hand_tissues_find(size_of(hand), &solid, hand, error);
    free(node);
    free(node_weight);
    surface_distance_free(&distance);
    return status;
}

thenar_status hand_shape_import(hand_shape *hand, const double *vertex_weight, hand_fineness fineness,
                                thenar_error *error) {
    into_wrist_frame(hand);
    hand->graded = hand_fineness_is_graded(fineness);
    bool left = hand->left;
    if (left) mirror(hand); /* the mesher knows right hands only */
    thenar_status status = check_sizes(hand, error);
    if (status == THENAR_OK) status = make_flesh(hand, vertex_weight, fineness, error);
    if (status == THENAR_OK && left) mirror(hand);
    if (status == THENAR_OK) status = embed(hand, error);
    return status;
}
