/* The skin of a piece is a net around its solid (hand_cut); its tets are those of phalanx_tets. */
#include "shape/hand_phalanges.h"

#include "base/memory.h"
#include "shape/hand_cut.h"
#include "shape/mesh.h"
#include "shape/phalanx_tets.h"
#include "shape/polygonize.h"
#include "shape/surface.h"

#include <stdlib.h>

#define LAST_SHARE 0.85 /* of the last phalanges: how far their bones reach */
#define CUT_DEPTH 0.05  /* of the fillet: what is deeper in the hand is a cut */
#define CUT_SPACING 4.0 /* times the least spacing of the piece */
#define HELD_LEAST 4
#define HELD_WIDTH 0.3      /* of a piece's thickness */
#define TETS_LEAST 60       /* of a piece */
#define TRIANGLES_LEAST 200 /* of a piece */

hand_phalanges_options hand_phalanges_options_default(void) {
    return (hand_phalanges_options){.tets = 1513, .triangles = 15000};
}

void hand_phalanges_free(hand_phalanges *phalanges) {
    for (int i = 0; i < phalanges->count; i++) {
        hand_phalanx *piece = &phalanges->piece[i];
        thenar_tet_mesh_free(&piece->mesh);
        thenar_surface_free(&piece->skin);
        thenar_embedding_free(&piece->embedding);
        free(piece->node_core);
        free(piece->held);
        free(piece->fill);
        free(piece->contact_spacing);
        free(piece->cut);
    }
    *phalanges = (hand_phalanges){0};
}

/* The skin of a piece is asked for in proportion to the hand's skin that it has. */
static thenar_status make_skin(const hand_cut *cut, int triangles, hand_phalanx *piece, thenar_error *error) {
    hand_piece solid = {cut, piece->bone};
    signed_distance distance = signed_distance_of_piece(&solid);
    return polygonize(&distance, triangles, &piece->skin, error);
}

static thenar_status make_skins(const hand_shape *hand, const hand_cut *cut, int triangles, hand_phalanges *out,
                                thenar_error *error) {
    double area[HAND_BONES] = {0}, all = 0;
    for (int t = 0; t < hand->skin.triangle_count; t++)
        area[hand->vertex_bone[surface_triangle(&hand->skin, t)[0]]] +=
            vec3_length(surface_area_vector(&hand->skin, t));
    for (int bone = 1; bone < HAND_BONES; bone++) all += area[bone];
    thenar_status status = THENAR_OK;
    for (int i = 0; i < out->count && status == THENAR_OK; i++) {
        int bone = out->piece[i].bone, share = (int)(triangles * area[bone] / all);
        status = make_skin(cut, share > TRIANGLES_LEAST ? share : TRIANGLES_LEAST, &out->piece[i], error);
        if (status != THENAR_OK) error_prefix(error, "the skin of %s", hand_bone_name(bone));
    }
    return status;
}

/* Depth over depth and distance from the bone. */
static double core_at(const hand_cut *cut, int bone, vec3 p) {
    double depth = -surface_distance_query(cut->skin, p).distance, from;
    if (bone > 0 && bone % 3 == 0) {
        const hand_frame *frame = &cut->joint[hand_bone_joint(bone)];
        capsule_shape line = {
            frame[0].position,
            vec3_mul_add(frame[0].position, vec3_sub(frame[1].position, frame[0].position), LAST_SHARE), 0};
        from = capsule_distance(&line, p, NULL);
    } else {
        from = hand_cut_bone_distance(cut, bone, p);
    }
    return depth > 0 ? depth / (depth + from) : 0;
}

/* The largest distance between two held nodes, seen along the bone. */
static double held_width(const hand_phalanx *piece, vec3 axis) {
    double widest = 0;
    for (int a = 0; a < piece->mesh.node_count; a++)
        for (int b = 0; piece->held[a] && b < a; b++) {
            if (!piece->held[b]) continue;
            vec3 way = vec3_sub(tet_mesh_node(&piece->mesh, a), tet_mesh_node(&piece->mesh, b));
            widest = fmax(widest, vec3_length(vec3_cross(way, axis)));
        }
    return widest;
}

/* The nodes in the bone, and more of them, the highest cores first, until the piece cannot turn about it. */
static void choose_held(const hand_cut *cut, hand_phalanx *piece) {
    hand_joint j = hand_bone_joint(piece->bone);
    vec3 axis = vec3_unit(vec3_sub(cut->joint[j + 1].position, cut->joint[j].position));
    int held = 0;
    for (int n = 0; n < piece->mesh.node_count; n++) {
        piece->held[n] = piece->node_core[n] >= HAND_PHALANX_BONE;
        held += piece->held[n];
    }
    while (held < piece->mesh.node_count &&
           (held < HELD_LEAST || held_width(piece, axis) < HELD_WIDTH * cut->radius[piece->bone])) {
        int best = -1;
        for (int n = 0; n < piece->mesh.node_count; n++)
            if (!piece->held[n] && (best < 0 || piece->node_core[n] > piece->node_core[best])) best = n;
        piece->held[best] = true;
        held++;
    }
}

static thenar_status describe_nodes(const hand_cut *cut, hand_phalanx *piece, thenar_error *error) {
    piece->node_core = MEMORY_ARRAY(double, piece->mesh.node_count);
    piece->fill = MEMORY_ARRAY(double, piece->mesh.tet_count);
    piece->held = MEMORY_ARRAY(bool, piece->mesh.node_count);
    if (!piece->node_core || !piece->fill || !piece->held) return error_memory(error, "phalanges");
    for (int n = 0; n < piece->mesh.node_count; n++)
        piece->node_core[n] = core_at(cut, piece->bone, tet_mesh_node(&piece->mesh, n));
    choose_held(cut, piece);
    return thenar_tet_mesh_fill(&piece->mesh, &piece->skin, piece->fill, error);
}

static thenar_status describe_skin(const hand_shape *hand, const hand_cut *cut, hand_phalanx *piece,
                                   thenar_error *error) {
    int count = piece->skin.vertex_count;
    piece->cut = MEMORY_ARRAY(bool, count);
    piece->contact_spacing = MEMORY_ARRAY(double, count);
    if (!piece->cut || !piece->contact_spacing) return error_memory(error, "phalanges");
    double least = INFINITY;
    for (int v = 0; v < count; v++) {
        closest_point c = surface_distance_query(cut->skin, surface_vertex(&piece->skin, v));
        const int *corner = surface_triangle(&hand->skin, c.triangle);
        piece->cut[v] = -c.distance > CUT_DEPTH * cut->fillet;
        for (int k = 0; k < 3; k++) piece->contact_spacing[v] += c.weights[k] * hand->contact_spacing[corner[k]];
        least = fmin(least, piece->contact_spacing[v]);
    }
    for (int v = 0; v < count; v++)
        if (piece->cut[v]) piece->contact_spacing[v] = fmax(piece->contact_spacing[v], CUT_SPACING * least);
    return THENAR_OK;
}

static thenar_status finish_piece(const hand_shape *hand, const hand_cut *cut, int target, hand_phalanx *piece,
                                  thenar_error *error) {
    thenar_status status = phalanx_tets(cut, piece->bone, &piece->skin, target, &piece->mesh, error);
    if (status == THENAR_OK)
        status = thenar_embedding_create(&piece->mesh, &piece->skin, &piece->embedding, NULL, error);
    if (status == THENAR_OK) status = describe_nodes(cut, piece, error);
    return status == THENAR_OK ? describe_skin(hand, cut, piece, error) : status;
}

/* What one piece has too many or too few, the next ones make up for. */
static thenar_status make_tets(const hand_shape *hand, const hand_cut *cut, const hand_phalanges_options *options,
                               hand_phalanges *out, thenar_error *error) {
    thenar_status status = THENAR_OK;
    int fingers = out->count - (options->palm_tets > 0);
    int left = (int)((long)options->tets * fingers / (HAND_BONES - 1));
    for (int i = 0; i < out->count && status == THENAR_OK; i++) {
        hand_phalanx *piece = &out->piece[i];
        int target = piece->bone == 0 ? options->palm_tets : left / (fingers - i);
        if (target < TETS_LEAST) target = TETS_LEAST;
        status = finish_piece(hand, cut, target, piece, error);
        if (status != THENAR_OK) error_prefix(error, "the tets of %s", hand_bone_name(piece->bone));
        left -= piece->mesh.tet_count;
    }
    return status;
}

static thenar_status check_options(const hand_phalanges_options *o, thenar_error *error) {
    if (o->tets < HAND_PHALANGES_TETS_MIN || o->tets > HAND_PHALANGES_TETS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "phalanges of %d tets; expected %d to %d", o->tets,
                         HAND_PHALANGES_TETS_MIN, HAND_PHALANGES_TETS_MAX);
    if (o->triangles < HAND_TRIANGLES_MIN || o->triangles > HAND_TRIANGLES_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "skins of %d triangles; expected %d to %d", o->triangles,
                         HAND_TRIANGLES_MIN, HAND_TRIANGLES_MAX);
    if (o->palm_tets != 0 && (o->palm_tets < TETS_LEAST || o->palm_tets > HAND_PHALANGES_TETS_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "a palm of %d tets; expected none or %d to %d", o->palm_tets,
                         TETS_LEAST, HAND_PHALANGES_TETS_MAX);
    return THENAR_OK;
}

thenar_status hand_phalanges_create(const hand_shape *hand, const hand_phalanges_options *options, hand_phalanges *out,
                                    thenar_error *error) {
    *out = (hand_phalanges){0};
    thenar_status status = check_options(options, error);
    if (status != THENAR_OK) return status;
    surface_distance skin;
    hand_cut *cut = MEMORY_ARRAY(hand_cut, 1);
    if (!cut) return error_memory(error, "phalanges");
    status = surface_distance_create(&hand->skin, &skin, error);
    if (status == THENAR_OK) {
        hand_cut_make(hand, &skin, cut);
        for (int bone = 1; bone < HAND_BONES; bone++)
            if (!options->only || options->only >> bone & 1) out->piece[out->count++].bone = bone;
        if (options->palm_tets > 0) out->piece[out->count++].bone = 0;
        status = make_skins(hand, cut, options->triangles, out, error);
        if (status == THENAR_OK) status = make_tets(hand, cut, options, out, error);
        surface_distance_free(&skin);
    }
    free(cut);
    if (status != THENAR_OK) hand_phalanges_free(out);
    return status;
}
