/* The skin of a piece is a net around its solid (hand_cut). Its tets are bricks of five in the bone's own frame, at least
 * three across and two high: then two lines of nodes run along the bone, one on either side of its axis. Held at nodes
 * of both, a piece cannot turn about its bone, which it could on a single line. The boundary is drawn to the skin.
 *   The size of the bricks is sought for each piece, so that all have about as many tets.
 *   Tried and left: a bcc lattice. Of 100 tets, it has a line of nodes on the axis and all others on the boundary; moved
 * aside so that two lines are within the bone, its boundary is all spikes. */
#include "shape/hand_phalanges.h"

#include "base/memory.h"
#include "shape/fill.h"
#include "shape/hand_cut.h"
#include "shape/lattice.h"
#include "shape/mesh.h"
#include "shape/polygonize.h"
#include "shape/surface.h"
#include "shape/tet_wrap.h"

#include <stdlib.h>
#include <string.h>

#define THICK 1.2      /* times the mean thickness: what bricks are counted over */
#define UNCOVERED 0.25 /* of a brick that may be left out: the cover grows over it */
#define GROWN 1.001    /* so that no vertex of the skin is on the side of a brick */
#define ATTEMPTS 10
#define SMALLER 0.98
#define FILLED 0.05 /* a share of a tet from which it is taken */
#define FIT_TURNS 8
#define SEARCH 8          /* sizes of bricks tried */
#define CLOSE_ENOUGH 0.05 /* a number of tets that ends the search */
#define LAST_SHARE 0.85   /* of the last phalanges: how far their bones reach */
#define CUT_DEPTH 0.05    /* of the fillet: what is deeper in the hand is a cut */
#define CUT_SPACING 4.0   /* times the least spacing of the piece */
#define HELD_LEAST 4
#define HELD_WIDTH 0.3      /* of a piece's thickness */
#define TETS_LEAST 60       /* of a piece */
#define TRIANGLES_LEAST 200 /* of a piece */

/* Across, high, along. */
static const double bricks_least[3] = {3, 2, 2};

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
    double volume, radius;
} workpiece;

static void workpiece_free(workpiece *w) {
    thenar_surface_free(&w->skin);
    surface_distance_free(&w->distance);
}

/* -z along the bone; the palm's frame is the wrist's. */
static void place_workpiece(const hand_shape *hand, int bone, workpiece *w) {
    const hand_frame *frame = &hand->joint[hand_bone_joint(bone)];
    w->origin = frame->position;
    w->turn = frame->rotation;
    if (bone == 0) return;
    vec3 z = vec3_unit(vec3_sub(frame[0].position, frame[1].position)), up = hand_frame_up(frame);
    vec3 y = vec3_unit(vec3_mul_add(up, z, -vec3_dot(up, z)));
    w->turn = hand_rotation_of(mat3_columns(vec3_cross(y, z), y, z));
}

static thenar_status make_workpiece(const hand_shape *hand, const hand_cut *cut, const hand_phalanx *piece,
                                    workpiece *w, thenar_error *error) {
    place_workpiece(hand, piece->bone, w);
    w->radius = cut->radius[piece->bone];
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

/* Bricks over the thickness of the bone's flesh, as many to either side of the bone, and more of them where the piece
 * reaches farther, as in the web; one more layer all around, in which mending may add tets. */
static grid grid_around(const workpiece *w, int bone, double cell) {
    box b = w->distance.bounds;
    double low[3] = {b.low.x, b.low.y, b.low.z}, high[3] = {b.high.x, b.high.y, b.high.z}, origin[3], side[3];
    grid g = {.kind = THENAR_LATTICE_CUBE};
    for (int a = 0; a < 3; a++) {
        bool whole = bone == 0 || a == 2;
        double middle = whole ? (low[a] + high[a]) / 2 : 0;
        double half = GROWN * fmax(high[a] - middle, middle - low[a]);
        if (!whole) half = fmin(half, THICK * w->radius);
        double count = fmin(fmax(round(2 * half / cell), bricks_least[a]), GRID_CELL_LIMIT);
        side[a] = 2 * half / count;
        double before = fmax(ceil((middle - half - low[a]) / side[a] - UNCOVERED), 0);
        double behind = fmax(ceil((high[a] - middle - half) / side[a] - UNCOVERED), 0);
        g.cells[a] = (int)fmin(before + count + behind + 2, GRID_CELL_LIMIT);
        origin[a] = middle - half - (before + 1) * side[a];
    }
    g.origin = vec3_load(origin);
    g.cell = vec3_load(side);
    return g;
}

/* The tets of the grid of which the piece fills a share. */
static thenar_status mesh_workpiece(const workpiece *w, int bone, double cell, thenar_tet_mesh *mesh,
                                    thenar_error *error) {
    *mesh = (thenar_tet_mesh){0};
    grid g = grid_around(w, bone, cell);
    if (!grid_fits(g.cells))
        return error_set(error, THENAR_ERROR_INPUT, "too many tets for a phalanx; expected at most %d cells in its box",
                         GRID_CELL_LIMIT);
    unsigned char *keep = MEMORY_ARRAY(unsigned char, grid_tet_count(&g));
    if (!keep) return error_memory(error, "phalanges");
    signed_distance solid = signed_distance_of_surface(&w->distance);
    for (int t = 0; t < grid_tet_count(&g); t++) {
        int node[4];
        vec3 corner[4];
        if (!grid_tet(&g, t, node)) continue;
        grid_tet_corners(&g, t, corner);
        keep[t] = fill_of_tet(&solid, corner) > FILLED;
    }
    thenar_status status = lattice_mend(&g, keep, error);
    if (status == THENAR_OK) status = grid_mesh(&g, keep, mesh, error);
    free(keep);
    return status;
}

/* Moves the nodes until the mesh covers the skin closely. */
static thenar_status wrap_workpiece(const workpiece *w, thenar_tet_mesh *mesh, thenar_error *error) {
    signed_distance solid = signed_distance_of_surface(&w->distance);
    int *group = MEMORY_ARRAY(int, w->skin.vertex_count);
    tet_wrap wrap = {&solid, &w->skin, group};
    mesh->tags = MEMORY_ARRAY(int, mesh->tet_count);
    thenar_status status = group && mesh->tags ? THENAR_OK : error_memory(error, "phalanges");
    if (status == THENAR_OK) status = tet_wrap_cover(&wrap, mesh, error);
    if (status == THENAR_OK) status = tet_wrap_fit(&wrap, FIT_TURNS, mesh, error);
    free(group);
    return status;
}

/* The size of bricks whose number of tets comes closest. The number does not fall evenly with the size: the bracket is a
 * guide only. */
static thenar_status find_cell(const workpiece *w, int bone, int target, double *best, thenar_error *error) {
    double cell = cbrt(10 * w->volume / target), too_many = 0, too_few = INFINITY, miss = INFINITY;
    for (int attempt = 0; attempt < SEARCH && miss > CLOSE_ENOUGH; attempt++) {
        thenar_tet_mesh mesh;
        thenar_status status = mesh_workpiece(w, bone, cell, &mesh, error);
        if (status != THENAR_OK) return status;
        double ratio = (double)mesh.tet_count / target;
        thenar_tet_mesh_free(&mesh);
        if (fabs(log(ratio)) < miss) {
            miss = fabs(log(ratio));
            *best = cell;
        }
        if (ratio > 1)
            too_many = fmax(too_many, cell);
        else
            too_few = fmin(too_few, cell);
        double next = cell * pow(ratio, 1 / 2.6);
        bool bracketed = too_many > 0 && too_few < INFINITY && too_many < too_few;
        cell = bracketed && (next <= too_many || next >= too_few) ? sqrt(too_many * too_few) : next;
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

/* Where no sound tets come of it, cells are made a little smaller. */
static thenar_status wrap_piece(const workpiece *w, double cell, hand_phalanx *piece, thenar_error *error) {
    thenar_status status = THENAR_ERROR_INPUT;
    for (int attempt = 0; attempt < ATTEMPTS && status == THENAR_ERROR_INPUT; attempt++, cell *= SMALLER) {
        thenar_tet_mesh_free(&piece->mesh);
        status = mesh_workpiece(w, piece->bone, cell, &piece->mesh, error);
        if (status == THENAR_OK) status = wrap_workpiece(w, &piece->mesh, error);
    }
    return status;
}

/* The tets, back in the hand's frame, and what hangs on them. */
static thenar_status finish_piece(const hand_shape *hand, const hand_cut *cut, const workpiece *w, int target,
                                  hand_phalanx *piece, thenar_error *error) {
    double cell;
    thenar_status status = find_cell(w, piece->bone, target, &cell, error);
    if (status == THENAR_OK) status = wrap_piece(w, cell, piece, error);
    if (status != THENAR_OK) return status;
    for (int n = 0; n < piece->mesh.node_count; n++)
        vec3_store(piece->mesh.positions + 3 * (size_t)n,
                   vec3_add(w->origin, quat_rotate(w->turn, tet_mesh_node(&piece->mesh, n))));
    for (int t = 0; t < piece->mesh.tet_count; t++) piece->mesh.tags[t] = piece->bone;
    status = thenar_embedding_create(&piece->mesh, &piece->skin, &piece->embedding, NULL, error);
    if (status == THENAR_OK) status = describe_nodes(cut, piece, error);
    return status == THENAR_OK ? describe_skin(hand, cut, piece, error) : status;
}

/* What one piece has too many or too few, the next ones make up for. */
static thenar_status make_tets(const hand_shape *hand, const hand_cut *cut, const hand_phalanges_options *options,
                               hand_phalanges *out, thenar_error *error) {
    thenar_status status = THENAR_OK;
    int left = options->tets;
    for (int i = 0; i < out->count && status == THENAR_OK; i++) {
        hand_phalanx *piece = &out->piece[i];
        int target = piece->bone == 0 ? options->palm_tets : left / (HAND_BONES - 1 - i);
        if (target < TETS_LEAST) target = TETS_LEAST;
        workpiece w = {0};
        status = make_workpiece(hand, cut, piece, &w, error);
        if (status == THENAR_OK) status = finish_piece(hand, cut, &w, target, piece, error);
        if (status != THENAR_OK) error_prefix(error, "the tets of %s", hand_bone_name(piece->bone));
        left -= piece->mesh.tet_count;
        workpiece_free(&w);
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
