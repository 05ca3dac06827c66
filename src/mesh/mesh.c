#include "mesh/mesh.h"

#include "core/hash.h"
#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int tet_face_corners[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

thenar_status tet_mesh_create(int node_count, int tet_count, bool tags, thenar_tet_mesh *out, thenar_error *error) {
    assert(node_count >= 0 && tet_count >= 0);
    *out = (thenar_tet_mesh){.node_count = node_count, .tet_count = tet_count};
    out->positions = MEMORY_ARRAY(double, 3 * (size_t)node_count);
    out->tets = MEMORY_ARRAY(int, 4 * (size_t)tet_count);
    if (tags) out->tags = MEMORY_ARRAY(int, tet_count);
    if (out->positions && out->tets && (out->tags || !tags)) return THENAR_OK;
    thenar_tet_mesh_free(out);
    return error_memory(error, "a tet mesh");
}

thenar_status surface_create(int vertex_count, int triangle_count, thenar_surface *out, thenar_error *error) {
    assert(vertex_count >= 0 && triangle_count >= 0);
    *out = (thenar_surface){.vertex_count = vertex_count, .triangle_count = triangle_count};
    out->positions = MEMORY_ARRAY(double, 3 * (size_t)vertex_count);
    out->triangles = MEMORY_ARRAY(int, 3 * (size_t)triangle_count);
    if (out->positions && out->triangles) return THENAR_OK;
    thenar_surface_free(out);
    return error_memory(error, "a surface");
}

thenar_status embedding_create(int vertex_count, thenar_embedding *out, thenar_error *error) {
    assert(vertex_count >= 0);
    *out = (thenar_embedding){.vertex_count = vertex_count};
    out->tet = MEMORY_ARRAY(int, vertex_count);
    out->weights = MEMORY_ARRAY(double, 4 * (size_t)vertex_count);
    if (out->tet && out->weights) return THENAR_OK;
    thenar_embedding_free(out);
    return error_memory(error, "an embedding");
}

void thenar_tet_mesh_free(thenar_tet_mesh *mesh) {
    if (!mesh) return;
    free(mesh->positions);
    free(mesh->tets);
    free(mesh->tags);
    *mesh = (thenar_tet_mesh){0};
}

void thenar_surface_free(thenar_surface *surface) {
    if (!surface) return;
    free(surface->positions);
    free(surface->triangles);
    *surface = (thenar_surface){0};
}

void thenar_embedding_free(thenar_embedding *embedding) {
    if (!embedding) return;
    free(embedding->tet);
    free(embedding->weights);
    *embedding = (thenar_embedding){0};
}

/* An empty mesh may have no arrays. */
static void copy_array(void *to, const void *from, size_t size) {
    if (size > 0) memcpy(to, from, size);
}

thenar_status tet_mesh_copy(const thenar_tet_mesh *mesh, thenar_tet_mesh *out, thenar_error *error) {
    thenar_status status = tet_mesh_create(mesh->node_count, mesh->tet_count, mesh->tags != NULL, out, error);
    if (status != THENAR_OK) return status;
    copy_array(out->positions, mesh->positions, 3 * (size_t)mesh->node_count * sizeof *mesh->positions);
    copy_array(out->tets, mesh->tets, 4 * (size_t)mesh->tet_count * sizeof *mesh->tets);
    if (mesh->tags) copy_array(out->tags, mesh->tags, (size_t)mesh->tet_count * sizeof *mesh->tags);
    return THENAR_OK;
}

thenar_status surface_copy(const thenar_surface *surface, thenar_surface *out, thenar_error *error) {
    thenar_status status = surface_create(surface->vertex_count, surface->triangle_count, out, error);
    if (status != THENAR_OK) return status;
    copy_array(out->positions, surface->positions, 3 * (size_t)surface->vertex_count * sizeof *surface->positions);
    copy_array(out->triangles, surface->triangles, 3 * (size_t)surface->triangle_count * sizeof *surface->triangles);
    return THENAR_OK;
}

thenar_status embedding_copy(const thenar_embedding *embedding, thenar_embedding *out, thenar_error *error) {
    thenar_status status = embedding_create(embedding->vertex_count, out, error);
    if (status != THENAR_OK) return status;
    copy_array(out->tet, embedding->tet, (size_t)embedding->vertex_count * sizeof *embedding->tet);
    copy_array(out->weights, embedding->weights, 4 * (size_t)embedding->vertex_count * sizeof *embedding->weights);
    return THENAR_OK;
}

/* A tet counts as flat if |volume| <= FLAT_VOLUME * (longest edge)^3. The volume of a tet whose corners are known to
 * double precision has an error of some 1e-16 * edge^3, so at 1e-12 its sign is still certain; and a sliver with a
 * thousandth of the height of a regular tet has 1e-4, so nothing usable is refused. Below, the height is less than
 * 1e-11 of the edge, and rounding of positions alone would mean strains above 1e-5. */
#define FLAT_VOLUME 1e-12

/* Metres: beyond, squares of distances leave the range of doubles. */
#define FARTHEST 1e150

#define LARGEST_LIKELY_EXTENT 20.0  /* metres */
#define SMALLEST_LIKELY_EXTENT 1e-4 /* metres */

static mesh_place place_of(const mesh_place *places, int index) {
    return places ? places[index] : (mesh_place){.number = index};
}

static vec3 position_of(const double *positions, int node) {
    return vec3_make(positions[3 * (size_t)node], positions[3 * (size_t)node + 1], positions[3 * (size_t)node + 2]);
}

static const char *element_name(int per_element) {
    return per_element == 4 ? "tet" : "face";
}

thenar_status mesh_check_indices(const int *indices, int element_count, int per_element, int node_count,
                                 const mesh_origin *origin, thenar_error *error) {
    for (size_t i = 0; i < (size_t)element_count * (size_t)per_element; i++) {
        if (indices[i] >= 0 && indices[i] < node_count) continue;
        mesh_place place = place_of(origin->elements, (int)(i / (size_t)per_element));
        return error_at(error, origin->name, place.line, 0,
                        "%s %d has node index %ld, which is out of range; expected %d..%ld", element_name(per_element),
                        place.number, (long)indices[i] + origin->first_node, origin->first_node,
                        (long)node_count - 1 + origin->first_node);
    }
    return THENAR_OK;
}

static thenar_status check_coordinates(const double *positions, int node_count, const mesh_origin *origin,
                                       thenar_error *error) {
    for (int i = 0; i < node_count; i++) {
        vec3 p = position_of(positions, i);
        if (fabs(p.x) <= FARTHEST && fabs(p.y) <= FARTHEST && fabs(p.z) <= FARTHEST) continue;
        mesh_place place = place_of(origin->nodes, i);
        bool finite = isfinite(p.x) && isfinite(p.y) && isfinite(p.z);
        return error_at(error, origin->name, place.line, 0,
                        "node %d is at (%g, %g, %g), which is %s; expected numbers%s", place.number, p.x, p.y, p.z,
                        finite ? "too far away" : "not finite", finite ? " up to 1e150" : "");
    }
    return THENAR_OK;
}

static thenar_status check_repeated(const int *indices, int element_count, int per_element, const mesh_origin *origin,
                                    thenar_error *error) {
    for (int i = 0; i < element_count; i++) {
        const int *nodes = indices + (size_t)per_element * (size_t)i;
        for (int j = 1; j < per_element; j++)
            for (int k = 0; k < j; k++) {
                if (nodes[j] != nodes[k]) continue;
                mesh_place place = place_of(origin->elements, i);
                mesh_place node = place_of(origin->nodes, nodes[j]);
                return error_at(error, origin->name, place.line, 0,
                                "%s %d is degenerate: it has node %d twice; expected %d different ones",
                                element_name(per_element), place.number, node.number, per_element);
            }
    }
    return THENAR_OK;
}

/* The signed volume over the cube of the longest edge; a regular tet has 0.118. */
static double relative_volume(const thenar_tet_mesh *mesh, int tet) {
    vec3 corner[4];
    for (int i = 0; i < 4; i++) corner[i] = position_of(mesh->positions, mesh->tets[4 * (size_t)tet + (size_t)i]);
    double longest = 0;
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < i; j++) longest = fmax(longest, vec3_length(vec3_sub(corner[i], corner[j])));
    if (!(longest > 0) || !isfinite(longest)) return 0;
    /* Divide before multiplying: the cube of a tiny or huge edge leaves the range of doubles. */
    vec3 a = vec3_scale(vec3_sub(corner[1], corner[0]), 1 / longest);
    vec3 b = vec3_scale(vec3_sub(corner[2], corner[0]), 1 / longest);
    vec3 c = vec3_scale(vec3_sub(corner[3], corner[0]), 1 / longest);
    return vec3_dot(vec3_cross(a, b), c) / 6;
}

/* Swaps two nodes of every tet, which flips its sign. */
static void flip_all(thenar_tet_mesh *mesh) {
    for (size_t i = 0; i < (size_t)mesh->tet_count; i++) {
        int *nodes = mesh->tets + 4 * i;
        int third = nodes[2];
        nodes[2] = nodes[3];
        nodes[3] = third;
    }
}

static thenar_status check_volumes(thenar_tet_mesh *mesh, const mesh_origin *origin, mesh_note *note,
                                   thenar_error *error) {
    int inverted = 0, first_inverted = 0;
    for (int i = 0; i < mesh->tet_count; i++) {
        double volume = relative_volume(mesh, i);
        /* Also true for NaN, from coordinates whose differences overflow. */
        if (!(fabs(volume) > FLAT_VOLUME)) {
            mesh_place place = place_of(origin->elements, i);
            return error_at(error, origin->name, place.line, 0,
                            "tet %d is flat: its volume is %.3g of its longest edge cubed; expected more than %g",
                            place.number, volume, FLAT_VOLUME);
        }
        if (volume < 0 && inverted++ == 0) first_inverted = i;
    }
    if (inverted == 0) return THENAR_OK;
    if (inverted < mesh->tet_count) {
        mesh_place place = place_of(origin->elements, first_inverted);
        return error_at(error, origin->name, place.line, 0,
                        "tet %d is inverted (its volume is negative), as are %d of %d tets; expected one orientation: "
                        "swap two nodes of the inverted ones",
                        place.number, inverted, mesh->tet_count);
    }
    flip_all(mesh);
    if (note) snprintf(note->text, sizeof note->text, "all %d tets were inverted and have been turned", inverted);
    return THENAR_OK;
}

static void sort_four(int nodes[4]) {
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0 && nodes[j] < nodes[j - 1]; j--) {
            int swapped = nodes[j];
            nodes[j] = nodes[j - 1];
            nodes[j - 1] = swapped;
        }
}

static thenar_status duplicate_error(const thenar_tet_mesh *mesh, int first, int second, const mesh_origin *origin,
                                     thenar_error *error) {
    mesh_place place = place_of(origin->elements, second), earlier = place_of(origin->elements, first);
    bool two_regions = mesh->tags && mesh->tags[first] != mesh->tags[second];
    return error_at(error, origin->name, place.line, 0,
                    "tet %d is a duplicate: it has the same nodes as tet %d; expected each tet once%s", place.number,
                    earlier.number, two_regions ? " and in one physical group" : "");
}

static thenar_status check_duplicates(const thenar_tet_mesh *mesh, const mesh_origin *origin, thenar_error *error) {
    int *sorted = memory_copy(mesh->tets, 4 * (size_t)mesh->tet_count * sizeof *sorted);
    key_table table = {.key_size = 4 * sizeof *sorted};
    thenar_status status = sorted ? THENAR_OK : error_memory(error, origin->name);
    for (int i = 0; i < mesh->tet_count && status == THENAR_OK; i++) {
        sort_four(sorted + 4 * (size_t)i);
        long first = key_table_put(&table, sorted, (size_t)i);
        if (first == KEY_TABLE_NO_MEMORY)
            status = error_memory(error, origin->name);
        else if (first != i)
            status = duplicate_error(mesh, (int)first, i, origin, error);
    }
    free(table.slots);
    free(sorted);
    return status;
}

thenar_status mesh_check_used(const unsigned char *used, int node_count, const mesh_origin *origin,
                              thenar_error *error) {
    const unsigned char *unused = memchr(used, 0, (size_t)node_count);
    if (!unused) return THENAR_OK;
    mesh_place place = place_of(origin->nodes, (int)(unused - used));
    return error_at(error, origin->name, place.line, 0, "node %d is unused; expected every node in an element",
                    place.number);
}

static thenar_status check_all_used(const thenar_tet_mesh *mesh, const mesh_origin *origin, thenar_error *error) {
    unsigned char *used = MEMORY_ARRAY(unsigned char, mesh->node_count);
    if (!used) return error_memory(error, origin->name);
    for (size_t i = 0; i < 4 * (size_t)mesh->tet_count; i++) used[mesh->tets[i]] = 1;
    thenar_status status = mesh_check_used(used, mesh->node_count, origin, error);
    free(used);
    return status;
}

thenar_status mesh_check_tets(thenar_tet_mesh *mesh, const mesh_origin *origin, mesh_note *note, thenar_error *error) {
    if (note) *note = (mesh_note){0};
    if (mesh->tet_count < 1) return error_at(error, origin->name, 0, 0, "has no tets; expected at least one");
    thenar_status status = mesh_check_indices(mesh->tets, mesh->tet_count, 4, mesh->node_count, origin, error);
    if (status == THENAR_OK) status = check_coordinates(mesh->positions, mesh->node_count, origin, error);
    if (status == THENAR_OK) status = check_all_used(mesh, origin, error);
    if (status == THENAR_OK) status = check_repeated(mesh->tets, mesh->tet_count, 4, origin, error);
    if (status == THENAR_OK) status = check_duplicates(mesh, origin, error);
    if (status == THENAR_OK) status = check_volumes(mesh, origin, note, error);
    return status;
}

thenar_status mesh_check_surface(const thenar_surface *surface, const mesh_origin *origin, thenar_error *error) {
    if (surface->triangle_count < 1)
        return error_at(error, origin->name, 0, 0, "has no triangles; expected at least one");
    thenar_status status =
        mesh_check_indices(surface->triangles, surface->triangle_count, 3, surface->vertex_count, origin, error);
    if (status == THENAR_OK) status = check_coordinates(surface->positions, surface->vertex_count, origin, error);
    if (status == THENAR_OK) status = check_repeated(surface->triangles, surface->triangle_count, 3, origin, error);
    return status;
}

bool thenar_mesh_size_warning(const double *positions, int count, char *text, size_t size) {
    mesh_note warning;
    USAGE(positions && count >= 0, false, "the positions are NULL or fewer than none");
    if (!mesh_size_warning(positions, count, &warning)) return false;
    if (text && size > 0) snprintf(text, size, "%s", warning.text);
    return true;
}

bool mesh_size_warning(const double *positions, int count, mesh_note *warning) {
    *warning = (mesh_note){0};
    double extent = 0;
    for (int axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < count; i++) {
            low = fmin(low, positions[3 * (size_t)i + (size_t)axis]);
            high = fmax(high, positions[3 * (size_t)i + (size_t)axis]);
        }
        extent = fmax(extent, high - low);
    }
    if (count < 1 || (extent >= SMALLEST_LIKELY_EXTENT && extent <= LARGEST_LIKELY_EXTENT)) return false;
    if (extent > LARGEST_LIKELY_EXTENT)
        snprintf(warning->text, sizeof warning->text,
                 "is %.3g m across; a mesh in millimetres? scale it with scale: 0.001", extent);
    else
        snprintf(warning->text, sizeof warning->text,
                 "is %.3g mm across; scaled to metres twice? scale it with scale: 1000", extent * 1e3);
    return true;
}

thenar_status tet_mesh_validate(const thenar_tet_mesh *mesh, thenar_error *error) {
    const mesh_origin origin = {.name = "mesh"};
    thenar_status status = check_coordinates(mesh->positions, mesh->node_count, &origin, error);
    if (status != THENAR_OK) return status;
    return mesh_check_indices(mesh->tets, mesh->tet_count, 4, mesh->node_count, &origin, error);
}

thenar_status surface_validate(const thenar_surface *surface, thenar_error *error) {
    const mesh_origin origin = {.name = "surface"};
    thenar_status status = check_coordinates(surface->positions, surface->vertex_count, &origin, error);
    if (status != THENAR_OK) return status;
    return mesh_check_indices(surface->triangles, surface->triangle_count, 3, surface->vertex_count, &origin, error);
}
