/* The skin of a piece is a net around its solid (hand_cut). Its tets are a bcc lattice in the bone's own frame, turned by
 * an eighth about the bone's axis: then a line of corners and a line of cells' middles run along the axis, a quarter of
 * a cell's diagonal to either side of it. Held at nodes of both, a piece cannot turn about its bone, which it could if
 * the lattice had a line of nodes on the axis and, as coarse as it is, no others near.
 *   Cells are c times the cube root of the piece's volume, so that all pieces have about as many tets; c is sought for
 * the number of tets in all. Then the boundary is drawn to the skin. */
#include "shape/hand_phalanges.h"

#include "base/memory.h"
#include "shape/hand_cut.h"
#include "shape/lattice.h"
#include "shape/mesh.h"
#include "shape/polygonize.h"
#include "shape/surface.h"

#include <stdlib.h>
#include <string.h>

#define FIT_QUALITY 0.3
#define FIT_TURNS 8
#define SEARCH 14         /* cells sizes tried */
#define CLOSE_ENOUGH 0.01 /* a number of tets that ends the search */
#define LAST_SHARE 0.85   /* of the last phalanges: how far their bones reach */
#define CUT_DEPTH 0.05    /* of the fillet: what is deeper in the hand is a cut */
#define CUT_SPACING 4.0   /* times the least spacing of the piece */
#define HELD_LEAST 4
#define HELD_WIDTH 0.3      /* of a piece's thickness */
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

/* A piece in the frame of its bone, ready to be meshed. */
typedef struct workpiece {
    vec3 origin;
    quat turn; /* from the bone's frame to the hand's */
    thenar_surface skin;
    surface_distance distance;
    double volume;
} workpiece;

static void workpiece_free(workpiece *w) {
    thenar_surface_free(&w->skin);
    surface_distance_free(&w->distance);
}

/* -z along the bone, y up to the side by an eighth of a turn; the palm's frame is the wrist's. */
static void place_workpiece(const hand_shape *hand, int bone, workpiece *w) {
    const hand_frame *frame = &hand->joint[hand_bone_joint(bone)];
    w->origin = frame->position;
    w->turn = frame->rotation;
    if (bone == 0) return;
    vec3 z = vec3_unit(vec3_sub(frame[0].position, frame[1].position)), up = hand_frame_up(frame);
    vec3 y = vec3_unit(vec3_mul_add(up, z, -vec3_dot(up, z)));
    vec3 x = vec3_cross(y, z), left = vec3_sub(y, x), right = vec3_add(x, y);
    w->turn = hand_rotation_of(mat3_columns(vec3_unit(right), vec3_unit(left), z));
}

static thenar_status make_workpiece(const hand_shape *hand, const hand_phalanx *piece, workpiece *w,
                                    thenar_error *error) {
    place_workpiece(hand, piece->bone, w);
    thenar_status status = surface_copy(&piece->skin, &w->skin, error);
    if (status != THENAR_OK) return status;
    quat back = quat_conjugate(w->turn);
    for (int v = 0; v < w->skin.vertex_count; v++)
        vec3_store(w->skin.positions + 3 * (size_t)v,
                   quat_rotate(back, vec3_sub(surface_vertex(&w->skin, v), w->origin)));
    thenar_surface_figures figures;
    status = thenar_surface_quality(&w->skin, &figures, error);
    w->volume = figures.volume;
    return status == THENAR_OK ? surface_distance_create(&w->skin, &w->distance, error) : status;
}

/* The box that the lattice is centred on: a square about a line beside the bone, on which nodes will be. */
static box lattice_box(const workpiece *w, int bone, double cell) {
    box b = w->distance.bounds;
    if (bone == 0) return b;
    double x = -cell / 4, y = cell / 4;
    double half = fmax(fmax(x - b.low.x, b.high.x - x), fmax(y - b.low.y, b.high.y - y));
    b.low.x = x - half;
    b.low.y = y - half;
    b.high.x = x + half;
    b.high.y = y + half;
    return b;
}

static thenar_status mesh_workpiece(const workpiece *w, int bone, double cell, thenar_tet_mesh *mesh,
                                    thenar_error *error) {
    thenar_mesh_options options = thenar_mesh_options_default();
    options.cell_size = cell;
    lattice_solid solid = {signed_distance_of_surface(&w->distance), &w->distance, &w->skin};
    solid.distance.bounds = lattice_box(w, bone, cell);
    return lattice_mesh(&solid, &options, mesh, error);
}

/* In turns the boundary goes to the skin and the inner nodes make room for it. */
static thenar_status fit_workpiece(const workpiece *w, thenar_tet_mesh *mesh, thenar_error *error) {
    signed_distance distance = signed_distance_of_surface(&w->distance);
    thenar_status status = THENAR_OK;
    for (int turn = 0; turn < FIT_TURNS && status == THENAR_OK; turn++) {
        if (turn > 0) status = lattice_relax(&w->skin, NULL, FIT_QUALITY, mesh, error);
        if (status == THENAR_OK) status = lattice_fit(&distance, &w->skin, NULL, FIT_QUALITY, mesh, error);
    }
    return status;
}

/* The number of tets of pieces first to last - 1 with cells of c. */
static thenar_status count_tets(const workpiece *w, const hand_phalanges *all, int first, int last, double c,
                                int *count, thenar_error *error) {
    thenar_status status = THENAR_OK;
    *count = 0;
    for (int i = first; i < last && status == THENAR_OK; i++) {
        thenar_tet_mesh mesh;
        status = mesh_workpiece(&w[i], all->piece[i].bone, c * cbrt(w[i].volume), &mesh, error);
        *count += mesh.tet_count;
        thenar_tet_mesh_free(&mesh);
    }
    return status;
}

/* The c whose number of tets comes closest. The number does not fall evenly with c: the bracket is a guide only. */
static thenar_status find_cells(const workpiece *w, const hand_phalanges *all, int first, int last, int target,
                                double *best, thenar_error *error) {
    double c = cbrt(30.0 * (last - first) / target), too_many = 0, too_few = INFINITY, miss = INFINITY;
    for (int attempt = 0; attempt < SEARCH && miss > CLOSE_ENOUGH; attempt++) {
        int count;
        thenar_status status = count_tets(w, all, first, last, c, &count, error);
        if (status != THENAR_OK) return status;
        double ratio = (double)count / target;
        if (fabs(log(ratio)) < miss) {
            miss = fabs(log(ratio));
            *best = c;
        }
        if (ratio > 1)
            too_many = fmax(too_many, c);
        else
            too_few = fmin(too_few, c);
        double next = c * pow(ratio, 1 / 2.6);
        bool bracketed = too_many > 0 && too_few < INFINITY && too_many < too_few;
        c = bracketed && (next <= too_many || next >= too_few) ? sqrt(too_many * too_few) : next;
    }
    return THENAR_OK;
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

/* The tets, back in the hand's frame, and what hangs on them. */
static thenar_status finish_piece(const hand_shape *hand, const hand_cut *cut, const workpiece *w, double c,
                                  hand_phalanx *piece, thenar_error *error) {
    thenar_status status = mesh_workpiece(w, piece->bone, c * cbrt(w->volume), &piece->mesh, error);
    if (status == THENAR_OK) status = fit_workpiece(w, &piece->mesh, error);
    if (status != THENAR_OK) return status;
    for (int n = 0; n < piece->mesh.node_count; n++)
        vec3_store(piece->mesh.positions + 3 * (size_t)n,
                   vec3_add(w->origin, quat_rotate(w->turn, tet_mesh_node(&piece->mesh, n))));
    piece->mesh.tags = MEMORY_ARRAY(int, piece->mesh.tet_count);
    if (!piece->mesh.tags) return error_memory(error, "phalanges");
    for (int t = 0; t < piece->mesh.tet_count; t++) piece->mesh.tags[t] = piece->bone;
    status = thenar_embedding_create(&piece->mesh, &piece->skin, &piece->embedding, NULL, error);
    if (status == THENAR_OK) status = describe_nodes(cut, piece, error);
    return status == THENAR_OK ? describe_skin(hand, cut, piece, error) : status;
}

static thenar_status make_tets(const hand_shape *hand, const hand_cut *cut, const hand_phalanges_options *options,
                               hand_phalanges *out, thenar_error *error) {
    workpiece w[HAND_BONES] = {0};
    double c[2] = {0}; /* of the phalanges, of the palm */
    thenar_status status = THENAR_OK;
    for (int i = 0; i < out->count && status == THENAR_OK; i++)
        status = make_workpiece(hand, &out->piece[i], &w[i], error);
    if (status == THENAR_OK) status = find_cells(w, out, 0, HAND_BONES - 1, options->tets, &c[0], error);
    if (status == THENAR_OK && out->count == HAND_BONES)
        status = find_cells(w, out, HAND_BONES - 1, HAND_BONES, options->palm_tets, &c[1], error);
    for (int i = 0; i < out->count && status == THENAR_OK; i++)
        status = finish_piece(hand, cut, &w[i], c[i == HAND_BONES - 1], &out->piece[i], error);
    for (int i = 0; i < out->count; i++) workpiece_free(&w[i]);
    return status;
}

static thenar_status check_options(const hand_phalanges_options *o, thenar_error *error) {
    if (o->tets < HAND_PHALANGES_TETS_MIN || o->tets > HAND_PHALANGES_TETS_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "phalanges of %d tets; expected %d to %d", o->tets,
                         HAND_PHALANGES_TETS_MIN, HAND_PHALANGES_TETS_MAX);
    if (o->triangles < HAND_TRIANGLES_MIN || o->triangles > HAND_TRIANGLES_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "skins of %d triangles; expected %d to %d", o->triangles,
                         HAND_TRIANGLES_MIN, HAND_TRIANGLES_MAX);
    if (o->palm_tets != 0 && (o->palm_tets < HAND_PHALANGES_TETS_MIN / 15 || o->palm_tets > HAND_PHALANGES_TETS_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "a palm of %d tets; expected none or %d to %d", o->palm_tets,
                         HAND_PHALANGES_TETS_MIN / 15, HAND_PHALANGES_TETS_MAX);
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
        out->count = options->palm_tets > 0 ? HAND_BONES : HAND_BONES - 1;
        for (int i = 0; i < out->count; i++) out->piece[i].bone = (i + 1) % HAND_BONES;
        status = make_skins(hand, cut, options->triangles, out, error);
        if (status == THENAR_OK) status = make_tets(hand, cut, options, out, error);
        surface_distance_free(&skin);
    }
    free(cut);
    if (status != THENAR_OK) hand_phalanges_free(out);
    return status;
}
