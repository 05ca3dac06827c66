#include "shape/grid.h"

#include "base/memory.h"
#include "shape/mesh.h"

#include <assert.h>
#include <stdlib.h>

/* Corners of a cube are numbered by bits: 1 is +x, 2 is +y, 4 is +z. Odd cubes take the mirror image in x. */
static const int five_tets[5][4] = {{0, 5, 3, 6}, {1, 3, 0, 5}, {2, 0, 3, 6}, {4, 5, 0, 6}, {7, 3, 5, 6}};
/* The six paths along the edges from corner 0 to corner 7. */
static const int six_tets[6][4] = {{0, 1, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 3, 2, 7}, {0, 6, 4, 7}, {0, 5, 1, 7}};

bool grid_fits(const int cells[3]) {
    double product = 1;
    for (int a = 0; a < 3; a++) {
        if (cells[a] < 1) return false;
        product *= cells[a];
    }
    return product <= GRID_CELL_LIMIT;
}

static int tets_per_cube(const grid *g) {
    return g->kind == THENAR_LATTICE_BCC ? 12 : g->kind == THENAR_LATTICE_CUBE ? 5 : 6;
}

static int cube_count(const grid *g) {
    return g->cells[0] * g->cells[1] * g->cells[2];
}

static int corner_count(const grid *g) {
    return (g->cells[0] + 1) * (g->cells[1] + 1) * (g->cells[2] + 1);
}

static int cube_number(const grid *g, const int c[3]) {
    return c[0] + g->cells[0] * (c[1] + g->cells[1] * c[2]);
}

static int corner_number(const grid *g, const int c[3]) {
    return c[0] + (g->cells[0] + 1) * (c[1] + (g->cells[1] + 1) * c[2]);
}

static void cube_place(const grid *g, int cube, int c[3]) {
    c[0] = cube % g->cells[0];
    c[1] = cube / g->cells[0] % g->cells[1];
    c[2] = cube / g->cells[0] / g->cells[1];
}

static void corner_place(const grid *g, int corner, int c[3]) {
    c[0] = corner % (g->cells[0] + 1);
    c[1] = corner / (g->cells[0] + 1) % (g->cells[1] + 1);
    c[2] = corner / (g->cells[0] + 1) / (g->cells[1] + 1);
}

int grid_node_count(const grid *g) {
    return corner_count(g) + (g->kind == THENAR_LATTICE_BCC ? cube_count(g) : 0);
}

vec3 grid_node(const grid *g, int node) {
    int c[3];
    double shift = 0;
    if (node < corner_count(g)) {
        corner_place(g, node, c);
    } else {
        cube_place(g, node - corner_count(g), c);
        shift = 0.5;
    }
    return (vec3){g->origin.x + (c[0] + shift) * g->cell.x, g->origin.y + (c[1] + shift) * g->cell.y,
                  g->origin.z + (c[2] + shift) * g->cell.z};
}

int grid_tet_count(const grid *g) {
    return cube_count(g) * tets_per_cube(g);
}

/* Around the line between the centres of two cubes, one tet for each edge of the face between them. */
static bool bcc_tet(const grid *g, const int c[3], int which, int node[4]) {
    static const int around[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    int axis = which / 4, edge = which % 4;
    int next[3] = {c[0], c[1], c[2]};
    next[axis]++;
    if (next[axis] >= g->cells[axis]) return false;
    node[0] = corner_count(g) + cube_number(g, c);
    node[1] = corner_count(g) + cube_number(g, next);
    for (int end = 0; end < 2; end++) {
        int corner[3] = {next[0], next[1], next[2]};
        corner[(axis + 1) % 3] += around[(edge + end) % 4][0];
        corner[(axis + 2) % 3] += around[(edge + end) % 4][1];
        node[2 + end] = corner_number(g, corner);
    }
    return true;
}

bool grid_tet(const grid *g, int tet, int node[4]) {
    int c[3], which = tet % tets_per_cube(g);
    cube_place(g, tet / tets_per_cube(g), c);
    if (g->kind == THENAR_LATTICE_BCC) return bcc_tet(g, c, which, node);
    bool five = g->kind == THENAR_LATTICE_CUBE;
    int mirror = five ? (c[0] + c[1] + c[2]) & 1 : 0;
    for (int i = 0; i < 4; i++) {
        int bits = (five ? five_tets[which] : six_tets[which])[i] ^ mirror;
        int corner[3] = {c[0] + (bits & 1), c[1] + (bits >> 1 & 1), c[2] + (bits >> 2)};
        /* Mirroring turns a tet inside out; exchanging its last two nodes turns it back. */
        node[mirror && i >= 2 ? 5 - i : i] = corner_number(g, corner);
    }
    return true;
}

void grid_tet_corners(const grid *g, int tet, vec3 corner[4]) {
    int node[4];
    bool exists = grid_tet(g, tet, node);
    assert(exists);
    (void)exists;
    for (int i = 0; i < 4; i++) corner[i] = grid_node(g, node[i]);
}

static bool cube_exists(const grid *g, const int c[3]) {
    for (int a = 0; a < 3; a++)
        if (c[a] < 0 || c[a] >= g->cells[a]) return false;
    return true;
}

/* Adds those tets of a cube that have the node as a corner (node -1: all of them). */
static int add_tets(const grid *g, const int c[3], int node, int *tets, int count, int limit) {
    if (!cube_exists(g, c)) return count;
    int first = cube_number(g, c) * tets_per_cube(g);
    for (int tet = first; tet < first + tets_per_cube(g); tet++) {
        int n[4];
        if (!grid_tet(g, tet, n)) continue;
        if (node >= 0 && n[0] != node && n[1] != node && n[2] != node && n[3] != node) continue;
        assert(count < limit);
        (void)limit;
        tets[count++] = tet;
    }
    return count;
}

int grid_star(const grid *g, int node, int tets[GRID_STAR_LIMIT]) {
    int c[3], count = 0;
    if (node < corner_count(g)) {
        corner_place(g, node, c);
        for (int i = 0; i < 8; i++) {
            int cube[3] = {c[0] - 1 + (i & 1), c[1] - 1 + (i >> 1 & 1), c[2] - 1 + (i >> 2)};
            count = add_tets(g, cube, node, tets, count, GRID_STAR_LIMIT);
        }
        return count;
    }
    cube_place(g, node - corner_count(g), c);
    count = add_tets(g, c, node, tets, count, GRID_STAR_LIMIT);
    for (int a = 0; a < 3; a++) {
        int cube[3] = {c[0] - (a == 0), c[1] - (a == 1), c[2] - (a == 2)};
        count = add_tets(g, cube, node, tets, count, GRID_STAR_LIMIT);
    }
    return count;
}

static int clamp_cell(double at, int cells) {
    return at > 0 ? at < cells ? (int)at : cells - 1 : 0;
}

int grid_tets_near(const grid *g, vec3 point, int tets[GRID_NEAR_LIMIT]) {
    double at[3] = {(point.x - g->origin.x) / g->cell.x, (point.y - g->origin.y) / g->cell.y,
                    (point.z - g->origin.z) / g->cell.z};
    int low[3], high[3], count = 0;
    for (int a = 0; a < 3; a++) {
        /* A point on the plane between two cubes, but for rounding, belongs to both. */
        low[a] = clamp_cell(at[a] - 1e-9, g->cells[a]);
        high[a] = clamp_cell(at[a] + 1e-9, g->cells[a]);
    }
    for (int i = 0; i < 8; i++) {
        int c[3] = {i & 1 ? high[0] : low[0], i & 2 ? high[1] : low[1], i & 4 ? high[2] : low[2]};
        if ((i & 1 && low[0] == high[0]) || (i & 2 && low[1] == high[1]) || (i & 4 && low[2] == high[2])) continue;
        if (g->kind == THENAR_LATTICE_BCC)
            count += grid_star(g, corner_count(g) + cube_number(g, c), tets + count);
        else
            count = add_tets(g, c, -1, tets, count, GRID_NEAR_LIMIT);
    }
    return count;
}

thenar_status grid_mesh(const grid *g, const unsigned char *keep, thenar_tet_mesh *out, thenar_error *error) {
    *out = (thenar_tet_mesh){0};
    int *number = MEMORY_ARRAY(int, grid_node_count(g));
    if (!number) return error_memory(error, "lattice");
    int tet_count = 0, node_count = 0, node[4];
    for (int tet = 0; tet < grid_tet_count(g); tet++) {
        if ((keep && !keep[tet]) || !grid_tet(g, tet, node)) continue;
        tet_count++;
        for (int i = 0; i < 4; i++) number[node[i]] = 1;
    }
    for (int i = 0; i < grid_node_count(g); i++) number[i] = number[i] ? node_count++ : -1;
    thenar_status status = tet_mesh_create(node_count, tet_count, false, out, error);
    if (status == THENAR_OK) {
        for (int i = 0; i < grid_node_count(g); i++)
            if (number[i] >= 0) vec3_store(out->positions + 3 * (size_t)number[i], grid_node(g, i));
        int *target = out->tets;
        for (int tet = 0; tet < grid_tet_count(g); tet++) {
            if ((keep && !keep[tet]) || !grid_tet(g, tet, node)) continue;
            for (int i = 0; i < 4; i++) *target++ = number[node[i]];
        }
    }
    free(number);
    return status;
}
