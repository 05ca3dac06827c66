#include "shape/lattice.h"

#include "base/memory.h"
#include "shape/boundary.h"
#include "shape/embedding.h"
#include "shape/mesh.h"

#include <stdlib.h>

#define MARGIN 2             /* cells around the box of the solid: mending may add tets outside */
#define SEARCH_LIMIT 16      /* cell sizes tried for a target number of tets, for each place of the grid */
#define PLACES 4             /* places of the grid tried */
#define CLOSE_ENOUGH 0.01    /* a number of tets this close to the target ends the search */
#define ACCEPTABLE 0.03      /* and one this close saves trying other places of the grid */
#define TARGET_LIMIT 5000000 /* tets */
#define CELL_LARGEST 1e100   /* m; squares of distances are still numbers */

thenar_mesh_options thenar_mesh_options_default(void) {
    return (thenar_mesh_options){.lattice = THENAR_LATTICE_BCC, .target_tets = 5000, .fit_quality = 0.3};
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

/* The grid is centred on the solid's box, so that a symmetric solid gets a symmetric lattice, or shifted from
 * there by a share of a cell. */
static bool place_grid(const box *bounds, thenar_lattice kind, double size, double shift, grid *g) {
    double low[3] = {bounds->low.x, bounds->low.y, bounds->low.z};
    double high[3] = {bounds->high.x, bounds->high.y, bounds->high.z}, origin[3];
    for (int a = 0; a < 3; a++) {
        /* A box that fits the cells but for rounding must not gain a layer of them. */
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

/* The next cell size: along the law tets ~ size^-2.6 (between that of a skin and that of a solid) from the
 * last one, but within the bracket of sizes known to give too many and too few. */
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

/* Tries one cell size; *ratio is the number of tets it gives over the target. */
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

/* Looks for the size with one place of the grid. The number of tets does not fall evenly with the size, so
 * that the bracket is a guide only and the best lattice on the way is taken. */
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

/* A body with flat sides gains whole layers of tets at once; with the grid elsewhere it gains them at other
 * sizes. Cells that are too small for the limit of the grid end the search, and are an error if nothing was
 * found before. */
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

/* Which parts of the mesh to keep: the largest one and those that hold a vertex of the skin. */
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

/* Unmarks the tets of parts that are not wanted. The mesh has the marked tets in their order. */
static thenar_status drop_crumbs(const thenar_tet_mesh *mesh, const thenar_surface *skin, lattice *l,
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
    if (status == THENAR_OK) status = drop_crumbs(mesh, skin, l, error);
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

/* The vertices that triangles use, without the triangles: a stray one must not grow a tet of its own. */
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
    *mesh = (thenar_tet_mesh){0};
    if (embedding) *embedding = (thenar_embedding){0};
    thenar_mesh_options defaults = thenar_mesh_options_default();
    surface_distance distance;
    thenar_surface skin = {0};
    thenar_status status = surface_distance_create(surface, &distance, error);
    if (status != THENAR_OK) return status;
    status = used_vertices(surface, &skin, error);
    lattice_solid solid = {signed_distance_of_surface(&distance), &distance, &skin};
    if (status == THENAR_OK) status = lattice_mesh(&solid, options ? options : &defaults, mesh, error);
    if (status == THENAR_OK && embedding) status = thenar_embedding_create(mesh, surface, embedding, NULL, error);
    thenar_surface_free(&skin);
    surface_distance_free(&distance);
    if (status != THENAR_OK) thenar_tet_mesh_free(mesh);
    return status;
}
