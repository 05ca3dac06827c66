#include "geometry/meshing.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdint.h>
#include <stdlib.h>

/* A share of the cell size that counts as touching only: a box on the planes of the lattice must not gain a layer. */
#define TOUCH 1e-9

/* No point of a tet is farther than this share of the cell size from its nearest corner (the half diagonal of
 * a cube; less for the body-centred tets). */
#define REACH 0.8661

/* The signed distance of every node, or a bound of the same sign and smaller magnitude where that suffices: distance
 * changes no faster than position. */
static double *node_distances(const signed_distance *solid, const grid *g) {
    int count = grid_node_count(g);
    double *distance = MEMORY_ARRAY(double, count);
    if (!distance) return NULL;
    vec3 previous = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        vec3 here = grid_node(g, i);
        double bound = i == 0 ? 0 : fabs(distance[i - 1]) - vec3_distance(here, previous);
        distance[i] =
            bound > REACH * g->cell.x ? copysign(bound, distance[i - 1]) : signed_distance_at(solid, here, NULL);
        previous = here;
    }
    return distance;
}

static bool shares_volume(const lattice_solid *solid, const grid *g, int tet, const double distance[4]) {
    double tolerance = TOUCH * g->cell.x;
    double lowest = fmin(fmin(distance[0], distance[1]), fmin(distance[2], distance[3]));
    if (lowest < -tolerance) return true;
    if (lowest > REACH * g->cell.x) return false;
    vec3 corner[4];
    grid_tet_corners(g, tet, corner);
    if (!solid->surface) return fill_reaches_tet(&solid->distance, corner, tolerance);
    if (surface_distance_cuts_tet(solid->surface, corner, tolerance)) return true;
    /* If no triangle cuts it, it is entirely inside or outside, even if all its corners lie on the surface. */
    vec3 middle = vec3_scale(vec3_add(vec3_add(corner[0], corner[1]), vec3_add(corner[2], corner[3])), 0.25);
    return signed_distance_at(&solid->distance, middle, NULL) < -tolerance;
}

/* Marks the tet that contains the point, unless a marked one already does. */
static void cover_point(const grid *g, vec3 point, unsigned char *keep) {
    int tets[GRID_NEAR_LIMIT], count = grid_tets_near(g, point, tets), best = -1;
    double best_depth = -INFINITY;
    for (int i = 0; i < count; i++) {
        vec3 corner[4];
        double weights[4];
        grid_tet_corners(g, tets[i], corner);
        double depth = tet_weights(corner, point, weights);
        if (keep[tets[i]] && depth >= -1e-13) return;
        if (depth > best_depth) {
            best_depth = depth;
            best = tets[i];
        }
    }
    if (best >= 0) keep[best] = 1;
}

/* Marks the tets of a grid around the solid: keep[tet] = 1 where it shares volume (deeper than a billionth of a cell)
 * or contains a vertex of the skin. keep has grid_tet_count() bytes, zeroed. */
static thenar_status lattice_mark(const lattice_solid *solid, const grid *g, unsigned char *keep, thenar_error *error) {
    double *distance = node_distances(&solid->distance, g);
    if (!distance) return error_memory(error, "lattice");
    for (int tet = 0; tet < grid_tet_count(g); tet++) {
        int n[4];
        if (!grid_tet(g, tet, n)) continue;
        double at[4] = {distance[n[0]], distance[n[1]], distance[n[2]], distance[n[3]]};
        keep[tet] = shares_volume(solid, g, tet, at);
    }
    free(distance);
    for (int v = 0; solid->skin && v < solid->skin->vertex_count; v++)
        cover_point(g, vec3_load(solid->skin->positions + 3 * (size_t)v), keep);
    return THENAR_OK;
}

/* Sets of tets around one node are bit sets: a node has at most 32 tets around it. */

typedef struct star {
    int count;
    int tet[GRID_STAR_LIMIT];
    int node[GRID_STAR_LIMIT][4];
    uint32_t next_to[GRID_STAR_LIMIT]; /* the tets that share a face with this one */
    uint32_t all, marked;
} star;

static int lowest_bit(uint32_t set) {
    return __builtin_ctz(set);
}

static bool has_node(const star *s, int i, int node) {
    return s->node[i][0] == node || s->node[i][1] == node || s->node[i][2] == node || s->node[i][3] == node;
}

static int shared_nodes(const star *s, int i, int j) {
    int count = 0;
    for (int k = 0; k < 4; k++) count += has_node(s, i, s->node[j][k]);
    return count;
}

static star star_make(const grid *g, int node, const unsigned char *keep) {
    star s;
    s.count = grid_star(g, node, s.tet);
    s.all = s.marked = 0;
    for (int i = 0; i < s.count; i++) {
        grid_tet(g, s.tet[i], s.node[i]);
        s.next_to[i] = 0;
        s.all |= (uint32_t)1 << i;
        if (keep[s.tet[i]]) s.marked |= (uint32_t)1 << i;
        for (int j = 0; j < i; j++) {
            if (shared_nodes(&s, i, j) != 3) continue;
            s.next_to[i] |= (uint32_t)1 << j;
            s.next_to[j] |= (uint32_t)1 << i;
        }
    }
    return s;
}

static uint32_t neighbours_of(const star *s, uint32_t set) {
    uint32_t result = 0;
    for (; set; set &= set - 1) result |= s->next_to[lowest_bit(set)];
    return result;
}

/* The connected part of a set that contains its lowest tet. */
static uint32_t first_part(const star *s, uint32_t set) {
    uint32_t part = set & (~set + 1), more;
    while ((more = neighbours_of(s, part) & set & ~part)) part |= more;
    return part;
}

/* Marks a shortest chain of unmarked tets between the first part of the marked ones and another part; false if there
 * is none. */
static bool join_parts(star *s) {
    uint32_t level[GRID_STAR_LIMIT + 1], start = first_part(s, s->marked), seen = start;
    int depth = 0;
    level[0] = start;
    uint32_t goal = s->marked & ~start;
    while (!(level[depth] & goal)) {
        level[depth + 1] = neighbours_of(s, level[depth]) & ~seen;
        seen |= level[++depth];
        if (!level[depth]) return false;
    }
    int at = lowest_bit(level[depth] & goal);
    while (--depth > 0) {
        at = lowest_bit(s->next_to[at] & level[depth]);
        s->marked |= (uint32_t)1 << at;
    }
    return true;
}

static void join_marked(star *s) {
    while (first_part(s, s->marked) != s->marked)
        if (!join_parts(s)) return;
}

/* Marks all unmarked tets except the largest part. */
static void fill_pockets(star *s) {
    uint32_t unmarked = s->all & ~s->marked, largest = 0;
    for (uint32_t rest = unmarked; rest;) {
        uint32_t part = first_part(s, rest);
        if (__builtin_popcount(part) > __builtin_popcount(largest)) largest = part;
        rest &= ~part;
    }
    s->marked |= unmarked & ~largest;
}

/* With the marked tets in one part and the unmarked ones in one part, edges are manifold as well: on a small sphere
 * around the node, an edge where two marked sectors meet in a point would separate the unmarked ones from each other. */
static void mend_star(star *s) {
    uint32_t before;
    do {
        before = s->marked;
        join_marked(s);
        fill_pockets(s);
    } while (s->marked != before);
}

static bool any_marked_and_not(const star *s) {
    return s->marked && s->marked != s->all;
}

thenar_status lattice_mend(const grid *g, unsigned char *keep, thenar_error *error) {
    /* A node is checked again when a tet around it has been marked. */
    unsigned char *pending = MEMORY_ARRAY(unsigned char, grid_node_count(g));
    if (!pending) return error_memory(error, "lattice");
    for (int tet = 0; tet < grid_tet_count(g); tet++) {
        int n[4];
        if (!keep[tet] || !grid_tet(g, tet, n)) continue;
        for (int i = 0; i < 4; i++) pending[n[i]] = 1;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int node = 0; node < grid_node_count(g); node++) {
            if (!pending[node]) continue;
            pending[node] = 0;
            star s = star_make(g, node, keep);
            if (!any_marked_and_not(&s)) continue;
            mend_star(&s);
            for (int i = 0; i < s.count; i++) {
                if (!(s.marked >> i & 1) || keep[s.tet[i]]) continue;
                keep[s.tet[i]] = 1;
                changed = true;
                for (int k = 0; k < 4; k++) pending[s.node[i][k]] = 1;
            }
        }
    }
    free(pending);
    return THENAR_OK;
}

#define MARGIN 2             /* cells around the box of the solid: repairs may add tets outside */
#define SEARCH_LIMIT 16      /* cell sizes tried for a target number of tets, for each position of the grid */
#define PLACES 4             /* positions of the grid tried */
#define CLOSE_ENOUGH 0.01    /* relative error of the number of tets that ends the search */
#define ACCEPTABLE 0.03      /* relative error that avoids trying other grid positions */
#define TARGET_LIMIT 5000000 /* tets */
#define CELL_LARGEST 1e100   /* m; squares of distances are still finite */

static const char *const lattice_names[] = {"bcc", "cube", "kuhn"};
NAMES(thenar_lattice, lattice_names)

thenar_status thenar_mesh_options_init(thenar_mesh_options *options, size_t size) {
    const thenar_mesh_options defaults = {.lattice = THENAR_LATTICE_BCC, .target_tets = 5000, .fit_quality = 0.3};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_mesh_options");
}

static thenar_status check_options(const thenar_mesh_options *options, thenar_error *error) {
    if (options->lattice < THENAR_LATTICE_BCC || options->lattice > THENAR_LATTICE_KUHN)
        return error_set(error, THENAR_ERROR_INPUT, "lattice is %d; expected a thenar_lattice", (int)options->lattice);
    if (!(options->cell_size >= 0 && options->cell_size <= CELL_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT,
                         "cell_size is %g m; expected a positive length, or 0 to find it from target_tets",
                         options->cell_size);
    if (options->cell_size == 0 && (options->target_tets < 1 || options->target_tets > TARGET_LIMIT))
        return error_set(error, THENAR_ERROR_INPUT, "target_tets is %d; expected 1..%d", options->target_tets,
                         TARGET_LIMIT);
    if (options->fit && !(options->fit_quality > 0 && options->fit_quality < 1))
        return error_set(error, THENAR_ERROR_INPUT, "fit_quality is %g; expected a radius ratio between 0 and 1",
                         options->fit_quality);
    return THENAR_OK;
}

/* A grid and which of its tets are kept. */
typedef struct lattice {
    grid g;
    unsigned char *keep;
    int tets;
} lattice;

static void lattice_free(lattice *l) {
    free(l->keep);
    *l = (lattice){0};
}

/* The grid is centred on the box of the solid, so that a symmetric solid gets a symmetric lattice, or shifted from
 * there by a share of a cell. */
static bool place_grid(const box *bounds, thenar_lattice kind, double size, double shift, grid *g) {
    double low[3] = {bounds->low.x, bounds->low.y, bounds->low.z};
    double high[3] = {bounds->high.x, bounds->high.y, bounds->high.z}, origin[3];
    for (int a = 0; a < 3; a++) {
        /* A box that fits the cells up to rounding must not gain a layer. */
        double cells = ceil((high[a] - low[a]) / size - 1e-9);
        if (!(cells <= GRID_CELL_LIMIT)) return false;
        g->cells[a] = (int)fmax(cells, 1) + 2 * MARGIN;
        origin[a] = (low[a] + high[a]) / 2 - (g->cells[a] / 2.0 + shift) * size;
    }
    g->kind = kind;
    g->cell = vec3_make(size, size, size);
    g->origin = vec3_load(origin);
    return grid_fits(g->cells);
}

static thenar_status lattice_create(const lattice_solid *solid, thenar_lattice kind, double size, double shift,
                                    lattice *out, thenar_error *error) {
    *out = (lattice){0};
    const box *b = &solid->distance.bounds;
    if (!place_grid(b, kind, size, shift, &out->g))
        return error_set(error, THENAR_ERROR_INPUT,
                         "cells of %g m are too small for a body of %g x %g x %g m; expected at most %d cells in its "
                         "box",
                         size, b->high.x - b->low.x, b->high.y - b->low.y, b->high.z - b->low.z, GRID_CELL_LIMIT);
    out->keep = MEMORY_ARRAY(unsigned char, grid_tet_count(&out->g));
    if (!out->keep) return error_memory(error, "lattice");
    thenar_status status = lattice_mark(solid, &out->g, out->keep, error);
    if (status == THENAR_OK) status = lattice_mend(&out->g, out->keep, error);
    for (int t = 0; t < grid_tet_count(&out->g); t++) out->tets += out->keep[t];
    if (status == THENAR_OK && out->tets == 0)
        status =
            error_set(error, THENAR_ERROR_INPUT,
                      "no tet of a lattice of %g m shares volume with the body; expected a solid with volume", size);
    if (status != THENAR_OK) lattice_free(out);
    return status;
}

/* The next cell size: along the law tets ~ size^-2.6 (between that of a skin and that of a solid) from the last one,
 * but within the bracket of sizes known to give too many and too few. */
static double next_size(double size, double ratio, double too_many, double too_few) {
    double next = size * pow(ratio, 1 / 2.6);
    if (too_many > 0 && next <= too_many * 1.0001)
        next = too_few < INFINITY ? sqrt(too_many * too_few) : too_many * 1.2;
    if (too_few < INFINITY && next >= too_few / 1.0001) next = too_many > 0 ? sqrt(too_many * too_few) : too_few / 1.2;
    return next;
}

typedef struct search {
    const lattice_solid *solid;
    thenar_lattice kind;
    int target;
    lattice best;
    double best_miss; /* |log(tets / target)| */
    double size;      /* to try next */
} search;

/* Tries one cell size; *ratio is the resulting number of tets over the target. */
static thenar_status try_size(search *s, double shift, double *ratio, thenar_error *error) {
    lattice trial;
    thenar_status status = lattice_create(s->solid, s->kind, s->size, shift, &trial, error);
    if (status != THENAR_OK) return status;
    *ratio = (double)trial.tets / s->target;
    double miss = fabs(log(*ratio));
    if (miss < s->best_miss) {
        lattice kept = s->best;
        s->best_miss = miss;
        s->best = trial;
        trial = kept;
    }
    lattice_free(&trial);
    return THENAR_OK;
}

/* Searches the size with one position of the grid. The number of tets does not fall evenly with the size, so the
 * bracket is only a guide, and the best lattice found is taken. */
static thenar_status search_size(search *s, double shift, thenar_error *error) {
    double too_many = 0, too_few = INFINITY;
    for (int attempt = 0; attempt < SEARCH_LIMIT && s->best_miss > CLOSE_ENOUGH; attempt++) {
        double ratio;
        thenar_status status = try_size(s, shift, &ratio, error);
        if (status != THENAR_OK) return status;
        if (ratio > 1)
            too_many = fmax(too_many, s->size);
        else
            too_few = fmin(too_few, s->size);
        if (too_many >= too_few) {
            too_many = too_few / 1.02;
            too_few = too_few * 1.02;
        }
        if (too_few < too_many * 1.0002) break;
        s->size = next_size(s->size, ratio, too_many, too_few);
    }
    return THENAR_OK;
}

/* A body with flat sides gains whole layers of tets at once; with another grid position it gains them at other sizes.
 * Cells too small for the limit of the grid end the search, and are an error if nothing was found before. */
static thenar_status lattice_search(const lattice_solid *solid, const thenar_mesh_options *options, lattice *out,
                                    thenar_error *error) {
    const box *b = &solid->distance.bounds;
    double longest = fmax(b->high.x - b->low.x, fmax(b->high.y - b->low.y, b->high.z - b->low.z));
    search s = {.solid = solid, .kind = options->lattice, .target = options->target_tets, .best_miss = INFINITY};
    s.size = longest / 8;
    thenar_status status = THENAR_OK;
    for (int place = 0; place < PLACES && s.best_miss > ACCEPTABLE && status == THENAR_OK; place++)
        status = search_size(&s, (double)place / (2 * PLACES), error);
    *out = s.best;
    if (status == THENAR_ERROR_MEMORY) lattice_free(out);
    return s.best.keep && status != THENAR_ERROR_MEMORY ? THENAR_OK : status;
}

/* Selects the parts of the mesh to keep: the largest one and those that contain a vertex of the skin. */
static thenar_status choose_parts(const thenar_tet_mesh *mesh, const int *part, int part_count,
                                  const thenar_surface *skin, int *wanted, thenar_error *error) {
    for (int t = 0; t < mesh->tet_count; t++) wanted[part[t]]++;
    int largest = 0;
    for (int p = 1; p < part_count; p++)
        if (wanted[p] > wanted[largest]) largest = p;
    for (int p = 0; p < part_count; p++) wanted[p] = p == largest;
    if (!skin) return THENAR_OK;
    thenar_embedding embedding;
    thenar_status status = thenar_embedding_create(mesh, skin, &embedding, NULL, error);
    for (int v = 0; v < embedding.vertex_count; v++) wanted[part[embedding.tet[v]]] = 1;
    thenar_embedding_free(&embedding);
    return status;
}

/* Unmarks the tets of unwanted parts. The mesh has the marked tets in their order. */
static thenar_status drop_small_parts(const thenar_tet_mesh *mesh, const thenar_surface *skin, lattice *l,
                                      thenar_error *error) {
    int *part, part_count;
    thenar_status status = tet_mesh_parts(mesh, &part, &part_count, error);
    if (status != THENAR_OK) return status;
    int *wanted = MEMORY_ARRAY(int, part_count);
    status = wanted ? choose_parts(mesh, part, part_count, skin, wanted, error) : error_memory(error, "lattice");
    for (int t = 0, i = 0; t < grid_tet_count(&l->g) && status == THENAR_OK; t++) {
        if (!l->keep[t] || wanted[part[i++]]) continue;
        l->keep[t] = 0;
        l->tets--;
    }
    free(wanted);
    free(part);
    return status;
}

static thenar_status mesh_of(lattice *l, const thenar_surface *skin, thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_status status = grid_mesh(&l->g, l->keep, mesh, error);
    if (status == THENAR_OK) status = drop_small_parts(mesh, skin, l, error);
    if (status != THENAR_OK || l->tets == mesh->tet_count) return status;
    thenar_tet_mesh_free(mesh);
    return grid_mesh(&l->g, l->keep, mesh, error);
}

thenar_status lattice_mesh(const lattice_solid *solid, const thenar_mesh_options *options, thenar_tet_mesh *mesh,
                           thenar_error *error) {
    *mesh = (thenar_tet_mesh){0};
    thenar_status status = check_options(options, error);
    if (status != THENAR_OK) return status;
    lattice l;
    status = options->cell_size > 0 ? lattice_create(solid, options->lattice, options->cell_size, 0, &l, error)
                                    : lattice_search(solid, options, &l, error);
    if (status == THENAR_OK) status = mesh_of(&l, solid->skin, mesh, error);
    lattice_free(&l);
    if (status == THENAR_OK && options->fit)
        status = lattice_fit(&solid->distance, solid->skin, NULL, options->fit_quality, mesh, error);
    if (status != THENAR_OK) thenar_tet_mesh_free(mesh);
    return status;
}

/* The vertices used by triangles, without the triangles: an unused vertex must not create a tet. */
static thenar_status used_vertices(const thenar_surface *surface, thenar_surface *out, thenar_error *error) {
    thenar_status status = surface_create(surface->vertex_count, 0, out, error);
    if (status != THENAR_OK) return status;
    bool *used = MEMORY_ARRAY(bool, surface->vertex_count);
    if (!used) {
        thenar_surface_free(out);
        return error_memory(error, "lattice");
    }
    for (size_t i = 0; i < 3 * (size_t)surface->triangle_count; i++) used[surface->triangles[i]] = true;
    out->vertex_count = 0;
    for (int v = 0; v < surface->vertex_count; v++)
        if (used[v]) vec3_store(out->positions + 3 * (size_t)out->vertex_count++, surface_vertex(surface, v));
    free(used);
    return THENAR_OK;
}

thenar_status thenar_tet_mesh_from_surface(const thenar_surface *surface, const thenar_mesh_options *options,
                                           thenar_tet_mesh *mesh, thenar_embedding *embedding, thenar_error *error) {
    USAGE_STATUS(surface && mesh, error, "a pointer is NULL");
    *mesh = (thenar_tet_mesh){0};
    if (embedding) *embedding = (thenar_embedding){0};
    thenar_mesh_options chosen = thenar_mesh_options_default();
    surface_distance distance;
    thenar_surface skin = {0};
    thenar_status status =
        options ? sized_take(&chosen, sizeof chosen, options, "thenar_mesh_options", error) : THENAR_OK;
    if (status == THENAR_OK) status = surface_distance_create(surface, &distance, error);
    if (status != THENAR_OK) return status;
    status = used_vertices(surface, &skin, error);
    lattice_solid solid = {signed_distance_of_surface(&distance), &distance, &skin};
    if (status == THENAR_OK) status = lattice_mesh(&solid, &chosen, mesh, error);
    if (status == THENAR_OK && embedding) status = thenar_embedding_create(mesh, surface, embedding, NULL, error);
    thenar_surface_free(&skin);
    surface_distance_free(&distance);
    if (status != THENAR_OK) thenar_tet_mesh_free(mesh);
    return status;
}
