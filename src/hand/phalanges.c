/* A hand as separate phalanges: cuts its solid into pieces, and gives each piece a skin polygonized from its solid and
 * tets. */
#include "hand/shape.h"

#include "core/memory.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"

#include <stdlib.h>

#define FILLET 0.3 /* of the thickness of a finger */

/* Along a segment: 0 at its start, 1 at its end, and beyond. */
static double along_segment(vec3 a, vec3 b, vec3 p) {
    vec3 way = vec3_sub(b, a);
    double square = vec3_dot(way, way);
    return square > 0 ? vec3_dot(vec3_sub(p, a), way) / square : 0;
}

static double segment_distance(vec3 a, vec3 b, vec3 p) {
    double t = fmin(fmax(along_segment(a, b, p), 0), 1);
    return vec3_distance(p, vec3_mul_add(a, vec3_sub(b, a), t));
}

/* The proximal end of a finger's metacarpal; the thumb has none in the palm. */
static hand_joint root_of(int finger) {
    return (hand_joint)(HAND_INDEX_METACARPAL + 5 * (finger - 1));
}

/* Distance of a point from a bone: the segment between its two joints; for the palm, all four metacarpals. */
static double hand_cut_bone_distance(const hand_cut *cut, int bone, vec3 p) {
    if (bone > 0) {
        hand_joint j = hand_bone_joint(bone);
        return segment_distance(cut->joint[j].position, cut->joint[j + 1].position, p);
    }
    double min = INFINITY;
    for (int finger = 1; finger < HAND_FINGERS; finger++) {
        const hand_frame *root = &cut->joint[root_of(finger)];
        min = fmin(min, segment_distance(root[0].position, root[1].position, p));
    }
    return min;
}

/* Distance from the chain of a finger's bones including its metacarpal, minus their thickness. */
static double chain_distance(const hand_cut *cut, int finger, vec3 p) {
    double min = INFINITY;
    for (int bone = 3 * finger + 1; bone <= 3 * finger + 3; bone++)
        min = fmin(min, hand_cut_bone_distance(cut, bone, p) - cut->radius[bone]);
    if (finger == 0) return min;
    const hand_frame *root = &cut->joint[root_of(finger)];
    return fmin(min, segment_distance(root[0].position, root[1].position, p) - cut->radius[0]);
}

/* Half the difference between the distances from a finger and from the nearest other one. */
static double beside(const hand_cut *cut, int finger, vec3 p) {
    double other = INFINITY;
    for (int i = 0; i < HAND_FINGERS; i++)
        if (i != finger) other = fmin(other, chain_distance(cut, i, p));
    return (chain_distance(cut, finger, p) - other) / 2;
}

static double before_joint(const hand_cut *cut, int bone, vec3 p) {
    return vec3_dot(cut->plane[bone], vec3_sub(p, cut->joint[hand_bone_joint(bone)].position));
}

double hand_cut_region(const hand_cut *cut, int bone, vec3 p) {
    if (bone == 0) {
        double inside = INFINITY; /* the fingers */
        for (int finger = 0; finger < HAND_FINGERS; finger++)
            inside = fmin(inside, fmax(-before_joint(cut, 3 * finger + 1, p), beside(cut, finger, p)));
        return -inside;
    }
    double region = fmax(-before_joint(cut, bone, p), beside(cut, (bone - 1) / 3, p));
    return bone % 3 == 0 ? region : fmax(region, before_joint(cut, bone + 1, p));
}

/* The same with rounded edges. */
static double rounded_region(const hand_cut *cut, int bone, vec3 p) {
    double k = cut->fillet, region = -2 * k;
    if (bone == 0) {
        for (int finger = 0; finger < HAND_FINGERS; finger++)
            region =
                smooth_max(region, -smooth_max(-before_joint(cut, 3 * finger + 1, p), beside(cut, finger, p), k), k);
        return region;
    }
    region = smooth_max(-before_joint(cut, bone, p), beside(cut, (bone - 1) / 3, p), k);
    return bone % 3 == 0 ? region : smooth_max(region, before_joint(cut, bone + 1, p), k);
}

/* A piece as a solid, with rounded cut edges. */
typedef struct hand_piece {
    const hand_cut *cut;
    int bone;
} hand_piece;

static double piece_value(const hand_piece *piece, vec3 p) {
    double region = rounded_region(piece->cut, piece->bone, p);
    /* This far out the distance to the skin, which is expensive, does not matter. */
    if (region > 2 * piece->cut->fillet) return region;
    return smooth_max(region, surface_distance_query(piece->cut->skin, p).distance, piece->cut->fillet);
}

static double evaluate_piece(const void *context, vec3 p, vec3 *normal) {
    const hand_piece *piece = context;
    double value = piece_value(piece, p), h = 0.01 * piece->cut->fillet;
    if (!normal) return value;
    vec3 slope = {piece_value(piece, vec3_make(p.x + h, p.y, p.z)) - piece_value(piece, vec3_make(p.x - h, p.y, p.z)),
                  piece_value(piece, vec3_make(p.x, p.y + h, p.z)) - piece_value(piece, vec3_make(p.x, p.y - h, p.z)),
                  piece_value(piece, vec3_make(p.x, p.y, p.z + h)) - piece_value(piece, vec3_make(p.x, p.y, p.z - h))};
    double length = vec3_length(slope);
    *normal = length > 0 ? vec3_scale(slope, 1 / length) : vec3_make(0, 1, 0);
    return value;
}

/* piece must outlive the result. */
static signed_distance signed_distance_of_piece(const hand_piece *piece) {
    return (signed_distance){.evaluate = evaluate_piece, .context = piece, .bounds = piece->cut->bounds[piece->bone]};
}

/* True if a vertex lies beside its bone rather than beyond an end. */
static bool is_beside(const hand_cut *cut, int bone, vec3 p) {
    if (bone == 0) return true;
    hand_joint j = hand_bone_joint(bone);
    double t = along_segment(cut->joint[j].position, cut->joint[j + 1].position, p);
    return t >= 0 && t <= 1;
}

static void measure(const hand_shape *hand, hand_cut *cut) {
    int count[HAND_BONES] = {0};
    for (int v = 0; v < hand->skin.vertex_count; v++) {
        int bone = hand->vertex_bone[v];
        vec3 p = surface_vertex(&hand->skin, v);
        cut->bounds[bone] = box_join(cut->bounds[bone], (box){p, p});
        if (!is_beside(cut, bone, p)) continue;
        cut->radius[bone] += hand_cut_bone_distance(cut, bone, p);
        count[bone]++;
    }
    for (int bone = 0; bone < HAND_BONES; bone++)
        if (count[bone] > 0) cut->radius[bone] /= count[bone];
    /* Pieces extend farther into the hand than their skin does. */
    for (int bone = 0; bone < HAND_BONES; bone++) cut->bounds[bone] = box_grow(cut->bounds[bone], cut->radius[bone]);
}

void hand_cut_make(const hand_shape *hand, const surface_distance *skin, hand_cut *out) {
    *out = (hand_cut){.skin = skin};
    for (int j = 0; j < HAND_JOINTS; j++) out->joint[j] = hand->joint[j];
    for (int bone = 0; bone < HAND_BONES; bone++) {
        hand_joint j = hand_bone_joint(bone);
        vec3 here = hand->joint[j].position, next = hand->joint[j + 1].position;
        out->bounds[bone] = (box){vec3_min(here, next), vec3_max(here, next)};
        if (bone == 0) continue;
        vec3 way = vec3_unit(vec3_sub(next, here));
        /* The thumb's metacarpal begins in the palm and has no bone before it. */
        if (bone != 1) way = vec3_add(way, vec3_unit(vec3_sub(here, hand->joint[j - 1].position)));
        out->plane[bone] = vec3_unit(way);
    }
    measure(hand, out);
    for (int finger = 0; finger < HAND_FINGERS; finger++)
        out->fillet += FILLET * out->radius[3 * finger + 3] / HAND_FINGERS;
}

/* Tets of one piece, aligned with its bone: bricks of five tets in the frame of the bone, at least three across and
 * two high. Two lines of nodes then run along the bone, one on each side of its axis; a piece held at nodes of both
 * cannot rotate about its bone, which it could on a single line. The brick size is searched for the requested number
 * of tets; then the boundary is moved to the skin.
 *
 * Tried and rejected: a bcc lattice. With 100 tets it has one line of nodes on the axis and all others on the
 * boundary; shifted so that two lines lie within the bone, its boundary is all spikes. */

#define THICK 1.2      /* times the mean thickness: extent over which bricks are counted */
#define UNCOVERED 0.25 /* of a brick that may be left uncovered: the cover grows over it */
#define GROWN 1.001    /* so that no vertex of the skin lies on the side of a brick */
#define ATTEMPTS 10
#define SMALLER 0.98
#define FILLED 0.05 /* smallest filled share of a tet that is kept */
#define FIT_TURNS 8
#define SEARCH 8          /* number of brick sizes tried */
#define CLOSE_ENOUGH 0.05 /* relative error of the number of tets that ends the search */

/* Across, high, along. */
static const double bricks_min[3] = {3, 2, 2};

/* A piece in the frame of its bone, ready to be meshed. */
typedef struct workpiece {
    vec3 origin;
    quat turn; /* from the frame of the bone to that of the hand */
    thenar_surface skin;
    surface_distance distance;
    double volume, radius;
} workpiece;

static void workpiece_free(workpiece *w) {
    thenar_surface_free(&w->skin);
    surface_distance_free(&w->distance);
}

/* -z along the bone; the frame of the palm is that of the wrist. */
static void place_workpiece(const hand_cut *cut, int bone, workpiece *w) {
    const hand_frame *frame = &cut->joint[hand_bone_joint(bone)];
    w->origin = frame->position;
    w->turn = frame->rotation;
    if (bone == 0) return;
    vec3 z = vec3_unit(vec3_sub(frame[0].position, frame[1].position)), up = hand_frame_up(frame);
    vec3 y = vec3_unit(vec3_mul_add(up, z, -vec3_dot(up, z)));
    w->turn = hand_rotation_of(mat3_columns(vec3_cross(y, z), y, z));
}

static thenar_status make_workpiece(const hand_cut *cut, int bone, const thenar_surface *skin, workpiece *w,
                                    thenar_error *error) {
    place_workpiece(cut, bone, w);
    w->radius = cut->radius[bone];
    thenar_status status = surface_copy(skin, &w->skin, error);
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

/* Bricks over the thickness of the flesh, the same number on both sides of the bone, and more where the piece extends
 * farther, as in the web; plus one layer all around in which repairs may add tets. */
static grid grid_around(const workpiece *w, int bone, double cell) {
    box b = w->distance.bounds;
    double low[3] = {b.low.x, b.low.y, b.low.z}, high[3] = {b.high.x, b.high.y, b.high.z}, origin[3], side[3];
    grid g = {.kind = THENAR_LATTICE_CUBE};
    for (int a = 0; a < 3; a++) {
        bool whole = bone == 0 || a == 2;
        double middle = whole ? (low[a] + high[a]) / 2 : 0;
        double half = GROWN * fmax(high[a] - middle, middle - low[a]);
        if (!whole) half = fmin(half, THICK * w->radius);
        double count = fmin(fmax(round(2 * half / cell), bricks_min[a]), GRID_CELL_LIMIT);
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

/* The tets of the grid that the piece fills sufficiently. */
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

/* Moves the nodes until the mesh closely covers the skin. */
static thenar_status wrap_workpiece(const workpiece *w, thenar_tet_mesh *mesh, thenar_error *error) {
    signed_distance solid = signed_distance_of_surface(&w->distance);
    int *group = MEMORY_ARRAY(int, w->skin.vertex_count);
    tet_wrap wrap = {.solid = &solid, .skin = &w->skin, .group = group};
    mesh->tags = MEMORY_ARRAY(int, mesh->tet_count);
    thenar_status status = group && mesh->tags ? THENAR_OK : error_memory(error, "phalanges");
    if (status == THENAR_OK) status = tet_wrap_cover(&wrap, mesh, error);
    if (status == THENAR_OK) status = tet_wrap_fit(&wrap, FIT_TURNS, mesh, error);
    free(group);
    return status;
}

/* The brick size with the number of tets closest to the target. The number does not fall evenly with the size, so the
 * bracket is only a guide. */
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

/* Where this yields no valid tets, slightly smaller bricks are tried. */
static thenar_status wrap_piece(const workpiece *w, int bone, double cell, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_status status = THENAR_ERROR_INPUT;
    for (int attempt = 0; attempt < ATTEMPTS && status == THENAR_ERROR_INPUT; attempt++, cell *= SMALLER) {
        thenar_tet_mesh_free(mesh);
        status = mesh_workpiece(w, bone, cell, mesh, error);
        if (status == THENAR_OK) status = wrap_workpiece(w, mesh, error);
    }
    return status;
}

/* Back to the frame of the hand. */
static void place_mesh(const workpiece *w, int bone, thenar_tet_mesh *mesh) {
    for (int n = 0; n < mesh->node_count; n++)
        vec3_store(mesh->positions + 3 * (size_t)n, vec3_add(w->origin, quat_rotate(w->turn, tet_mesh_node(mesh, n))));
    for (int t = 0; t < mesh->tet_count; t++) mesh->tags[t] = bone;
}

/* About `target` tets that cover the closed skin of a piece, all tagged with its bone. */
static thenar_status phalanx_tets(const hand_cut *cut, int bone, const thenar_surface *skin, int target,
                                  thenar_tet_mesh *mesh, thenar_error *error) {
    double cell = 0;
    workpiece w = {0};
    *mesh = (thenar_tet_mesh){0};
    thenar_status status = make_workpiece(cut, bone, skin, &w, error);
    if (status == THENAR_OK) status = find_cell(&w, bone, target, &cell, error);
    if (status == THENAR_OK) status = wrap_piece(&w, bone, cell, mesh, error);
    if (status == THENAR_OK)
        place_mesh(&w, bone, mesh);
    else
        thenar_tet_mesh_free(mesh);
    workpiece_free(&w);
    return status;
}

#define LAST_SHARE 0.85 /* of the distal phalanges: extent of their bones */
#define CUT_DEPTH 0.05  /* of the fillet: vertices deeper in the hand lie on a cut */
#define CUT_SPACING 4.0 /* times the smallest spacing of the piece */
#define HELD_LEAST 4
#define HELD_WIDTH 0.3    /* of the thickness of a piece */
#define TETS_MIN 60       /* of a piece */
#define TRIANGLES_MIN 200 /* of a piece */

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

/* The number of triangles is proportional to the hand's skin on the piece. */
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
        status = make_skin(cut, share > TRIANGLES_MIN ? share : TRIANGLES_MIN, &out->piece[i], error);
        if (status != THENAR_OK) error_prefix(error, "the skin of %s", hand_bone_name(bone));
    }
    return status;
}

/* Depth over the sum of depth and distance from the bone. */
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

/* The largest distance between two held nodes, projected along the bone. */
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

/* The nodes inside the bone, plus further nodes in descending order of core until the piece cannot rotate about the
 * bone. */
static void choose_held_nodes(const hand_cut *cut, hand_phalanx *piece) {
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
    choose_held_nodes(cut, piece);
    return thenar_tet_mesh_fill(&piece->mesh, &piece->skin, piece->fill, error);
}

static thenar_status describe_skin(const hand_shape *hand, const hand_cut *cut, hand_phalanx *piece,
                                   thenar_error *error) {
    int count = piece->skin.vertex_count;
    piece->cut = MEMORY_ARRAY(bool, count);
    piece->contact_spacing = MEMORY_ARRAY(double, count);
    if (!piece->cut || !piece->contact_spacing) return error_memory(error, "phalanges");
    double min = INFINITY;
    for (int v = 0; v < count; v++) {
        closest_point c = surface_distance_query(cut->skin, surface_vertex(&piece->skin, v));
        const int *corner = surface_triangle(&hand->skin, c.triangle);
        piece->cut[v] = -c.distance > CUT_DEPTH * cut->fillet;
        for (int k = 0; k < 3; k++) piece->contact_spacing[v] += c.weights[k] * hand->contact_spacing[corner[k]];
        min = fmin(min, piece->contact_spacing[v]);
    }
    for (int v = 0; v < count; v++)
        if (piece->cut[v]) piece->contact_spacing[v] = fmax(piece->contact_spacing[v], CUT_SPACING * min);
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

/* Each piece compensates for the surplus or lack of tets in the pieces before. */
static thenar_status make_tets(const hand_shape *hand, const hand_cut *cut, const hand_phalanges_options *options,
                               hand_phalanges *out, thenar_error *error) {
    thenar_status status = THENAR_OK;
    int fingers = out->count - (options->palm_tets > 0);
    int left = (int)((long)options->tets * fingers / (HAND_BONES - 1));
    for (int i = 0; i < out->count && status == THENAR_OK; i++) {
        hand_phalanx *piece = &out->piece[i];
        int target = piece->bone == 0 ? options->palm_tets : left / (fingers - i);
        if (target < TETS_MIN) target = TETS_MIN;
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
    if (o->palm_tets != 0 && (o->palm_tets < TETS_MIN || o->palm_tets > HAND_PHALANGES_TETS_MAX))
        return error_set(error, THENAR_ERROR_INPUT, "a palm of %d tets; expected none or %d to %d", o->palm_tets,
                         TETS_MIN, HAND_PHALANGES_TETS_MAX);
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
