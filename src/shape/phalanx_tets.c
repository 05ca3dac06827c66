/* Bricks of five tets in the bone's own frame, at least three across and two high: then two lines of nodes run along
 * the bone, one on either side of its axis. Held at nodes of both, a piece cannot turn about its bone, which it could
 * on a single line. The size of the bricks is sought for the number of tets; then the boundary is drawn to the skin.
 *   Tried and left: a bcc lattice. Of 100 tets, it has a line of nodes on the axis and all others on the boundary; moved
 * aside so that two lines are within the bone, its boundary is all spikes. */
#include "shape/phalanx_tets.h"

#include "base/memory.h"
#include "shape/fill.h"
#include "shape/lattice.h"
#include "shape/mesh.h"
#include "shape/tet_wrap.h"

#include <stdlib.h>

#define THICK 1.2      /* times the mean thickness: what bricks are counted over */
#define UNCOVERED 0.25 /* of a brick that may be left out: the cover grows over it */
#define GROWN 1.001    /* so that no vertex of the skin is on the side of a brick */
#define ATTEMPTS 10
#define SMALLER 0.98
#define FILLED 0.05 /* a share of a tet from which it is taken */
#define FIT_TURNS 8
#define SEARCH 8          /* sizes of bricks tried */
#define CLOSE_ENOUGH 0.05 /* a number of tets that ends the search */

/* Across, high, along. */
static const double bricks_least[3] = {3, 2, 2};

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

/* The size of bricks whose number of tets comes closest. The number does not fall evenly with the size: the bracket
 * is a guide only. */
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

/* Where no sound tets come of it, cells are made a little smaller. */
static thenar_status wrap_piece(const workpiece *w, int bone, double cell, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_status status = THENAR_ERROR_INPUT;
    for (int attempt = 0; attempt < ATTEMPTS && status == THENAR_ERROR_INPUT; attempt++, cell *= SMALLER) {
        thenar_tet_mesh_free(mesh);
        status = mesh_workpiece(w, bone, cell, mesh, error);
        if (status == THENAR_OK) status = wrap_workpiece(w, mesh, error);
    }
    return status;
}

/* Back into the hand's frame. */
static void place_mesh(const workpiece *w, int bone, thenar_tet_mesh *mesh) {
    for (int n = 0; n < mesh->node_count; n++)
        vec3_store(mesh->positions + 3 * (size_t)n, vec3_add(w->origin, quat_rotate(w->turn, tet_mesh_node(mesh, n))));
    for (int t = 0; t < mesh->tet_count; t++) mesh->tags[t] = bone;
}

thenar_status phalanx_tets(const hand_cut *cut, int bone, const thenar_surface *skin, int target, thenar_tet_mesh *mesh,
                           thenar_error *error) {
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
