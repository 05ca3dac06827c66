#include "geometry/meshing.h"

#include "core/memory.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdlib.h>

/* Grids of tets, and meshes of primitives (thenar/mesh.h): boxes of tets, closed surfaces of round bodies.
 *
 * Corners of a cube are numbered by bits: 1 is +x, 2 is +y, 4 is +z. Odd cubes take the mirror image in x. */
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
        /* Mirroring inverts a tet; swapping its last two nodes restores its orientation. */
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
        /* A point on the plane between two cubes, up to rounding, belongs to both. */
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

#define RESOLUTION_LIMIT 1000

static const double pi = 3.14159265358979323846;

thenar_status thenar_tet_mesh_box(const double low[3], const double high[3], const int cells[3], thenar_lattice lattice,
                                  thenar_tet_mesh *mesh, thenar_error *error) {
    USAGE_STATUS(low && high && cells && mesh, error, "a pointer is NULL");
    *mesh = (thenar_tet_mesh){0};
    if (lattice != THENAR_LATTICE_CUBE && lattice != THENAR_LATTICE_KUHN)
        return error_set(error, THENAR_ERROR_INPUT,
                         "a box cannot be cut into a lattice of kind %d; expected THENAR_LATTICE_CUBE or _KUHN",
                         (int)lattice);
    double size[3];
    for (int a = 0; a < 3; a++) {
        size[a] = high[a] - low[a];
        if (!(size[a] > 0) || !isfinite(size[a]))
            return error_set(error, THENAR_ERROR_INPUT, "the box spans %g..%g along axis %d; expected low < high",
                             low[a], high[a], a);
    }
    if (!grid_fits(cells))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the box has %d x %d x %d cells; expected at least 1 each and at most %d in all", cells[0],
                         cells[1], cells[2], GRID_CELL_LIMIT);
    grid g = {.kind = lattice, .cells = {cells[0], cells[1], cells[2]}, .origin = vec3_load(low)};
    g.cell = vec3_make(size[0] / cells[0], size[1] / cells[1], size[2] / cells[2]);
    return grid_mesh(&g, NULL, mesh, error);
}

static thenar_status check_length(double length, const char *what, thenar_error *error) {
    if (length > 0 && isfinite(length)) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g m; expected a positive length", what, length);
}

static thenar_status check_resolution(int resolution, thenar_error *error) {
    if (resolution >= 1 && resolution <= RESOLUTION_LIMIT) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "resolution is %d; expected 1..%d", resolution, RESOLUTION_LIMIT);
}

static void add_triangle(thenar_surface *surface, int a, int b, int c) {
    int *target = surface->triangles + 3 * (size_t)surface->triangle_count++;
    target[0] = a, target[1] = b, target[2] = c;
}

static int add_vertex(thenar_surface *surface, vec3 p) {
    vec3_store(surface->positions + 3 * (size_t)surface->vertex_count, p);
    return surface->vertex_count++;
}

/* Room for these numbers of vertices and triangles, none of them used yet. */
static thenar_status begin_surface(long long vertices, long long triangles, thenar_surface *surface,
                                   thenar_error *error) {
    thenar_status status = surface_create((int)vertices, (int)triangles, surface, error);
    surface->vertex_count = surface->triangle_count = 0;
    return status;
}

/* ---- Sphere: an icosahedron, each face divided into resolution^2, projected onto the sphere. */

static const int icosahedron_faces[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                             {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                             {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                             {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};

static void icosahedron_corners(vec3 corner[12]) {
    double t = (1 + sqrt(5)) / 2;
    for (int i = 0; i < 12; i++) {
        double one = i & 1 ? 1 : -1, golden = i & 2 ? -t : t;
        vec3 p = i < 4 ? vec3_make(one, golden, 0) : i < 8 ? vec3_make(0, one, golden) : vec3_make(golden, 0, one);
        corner[i] = vec3_unit(p);
    }
}

/* The vertices between corners a and b, shared by two faces and created for the first. */
typedef struct sphere_edges {
    int resolution;
    int *vertex; /* 12 * 12 * (resolution - 1), -1 where not made yet; [a][b] with a < b, in the direction a
                    to b */
} sphere_edges;

static int edge_vertex(sphere_edges *edges, thenar_surface *surface, const vec3 corner[12], double radius, int a, int b,
                       int step) {
    int r = edges->resolution;
    if (step == 0) return a;
    if (step == r) return b;
    if (a > b) return edge_vertex(edges, surface, corner, radius, b, a, r - step);
    int *slot = edges->vertex + (size_t)(12 * a + b) * (size_t)(r - 1) + (step - 1);
    if (*slot < 0) {
        vec3 p = vec3_add(vec3_scale(corner[a], r - step), vec3_scale(corner[b], step));
        *slot = add_vertex(surface, vec3_scale(vec3_unit(p), radius));
    }
    return *slot;
}

/* Row by row from corner 0 of the face to its opposite side; `row` has room for 2 * (resolution + 1)
 * vertices. */
static void cut_face(sphere_edges *edges, thenar_surface *surface, const vec3 corner[12], double radius,
                     const int face[3], int *row) {
    int r = edges->resolution, *above = row, *below = row + r + 1;
    above[0] = face[0];
    for (int i = 1; i <= r; i++) {
        for (int j = 0; j <= i; j++) {
            vec3 p = vec3_add(vec3_scale(corner[face[0]], r - i),
                              vec3_add(vec3_scale(corner[face[1]], i - j), vec3_scale(corner[face[2]], j)));
            below[j] = j == 0   ? edge_vertex(edges, surface, corner, radius, face[0], face[1], i)
                       : j == i ? edge_vertex(edges, surface, corner, radius, face[0], face[2], i)
                       : i == r ? edge_vertex(edges, surface, corner, radius, face[1], face[2], j)
                                : add_vertex(surface, vec3_scale(vec3_unit(p), radius));
        }
        for (int j = 0; j < i; j++) {
            add_triangle(surface, above[j], below[j], below[j + 1]);
            if (j + 1 < i) add_triangle(surface, above[j], below[j + 1], above[j + 1]);
        }
        int *kept = above;
        above = below;
        below = kept;
    }
}

thenar_status thenar_surface_sphere(double radius, int resolution, thenar_surface *surface, thenar_error *error) {
    USAGE_STATUS(surface, error, "a pointer is NULL");
    *surface = (thenar_surface){0};
    thenar_status status = check_length(radius, "radius", error);
    if (status == THENAR_OK) status = check_resolution(resolution, error);
    if (status != THENAR_OK) return status;
    long long faces = 20LL * resolution * resolution;
    status = begin_surface(faces / 2 + 2, faces, surface, error);
    if (status != THENAR_OK) return status;
    size_t slots = 144 * (size_t)(resolution - 1);
    sphere_edges edges = {resolution, MEMORY_ARRAY(int, slots)};
    int *row = MEMORY_ARRAY(int, 2 * ((size_t)resolution + 1));
    if (edges.vertex && row) {
        vec3 corner[12];
        icosahedron_corners(corner);
        for (size_t i = 0; i < slots; i++) edges.vertex[i] = -1;
        for (int i = 0; i < 12; i++) add_vertex(surface, vec3_scale(corner[i], radius));
        for (int f = 0; f < 20; f++) cut_face(&edges, surface, corner, radius, icosahedron_faces[f], row);
    } else {
        thenar_surface_free(surface);
        status = error_memory(error, "sphere");
    }
    free(edges.vertex);
    free(row);
    return status;
}

/* ---- Capsule and cylinder: a profile of (radius, height) from the bottom to the top, turned about the y
 * axis. The first and the last point of the profile lie on the axis. */

typedef struct profile_point {
    double radius, height;
} profile_point;

static thenar_status turn_profile(const profile_point *profile, int count, int segments, thenar_surface *surface,
                                  thenar_error *error) {
    int rings = count - 2;
    thenar_status status = begin_surface((long long)rings * segments + 2, 2LL * rings * segments, surface, error);
    if (status != THENAR_OK) return status;
    int bottom = add_vertex(surface, vec3_make(0, profile[0].height, 0));
    int top = add_vertex(surface, vec3_make(0, profile[count - 1].height, 0));
    for (int r = 1; r <= rings; r++)
        for (int s = 0; s < segments; s++) {
            double angle = 2 * pi * s / segments;
            add_vertex(surface,
                       vec3_make(profile[r].radius * cos(angle), profile[r].height, -profile[r].radius * sin(angle)));
        }
    for (int s = 0; s < segments; s++) {
        int next = (s + 1) % segments, last = 2 + (rings - 1) * segments;
        add_triangle(surface, bottom, 2 + next, 2 + s);
        add_triangle(surface, top, last + s, last + next);
        for (int r = 0; r + 1 < rings; r++) {
            int low = 2 + r * segments, high = low + segments;
            add_triangle(surface, low + s, low + next, high + next);
            add_triangle(surface, low + s, high + next, high + s);
        }
    }
    return THENAR_OK;
}

static int pieces_along(double length, double radius, int resolution) {
    double wanted = ceil(length / (radius * pi / 2) * resolution);
    return (int)fmin(fmax(wanted, 1), RESOLUTION_LIMIT);
}

static thenar_status check_round(double radius, double length, int resolution, thenar_error *error) {
    thenar_status status = check_length(radius, "radius", error);
    if (status == THENAR_OK) status = check_length(length, "length", error);
    return status == THENAR_OK ? check_resolution(resolution, error) : status;
}

/* A cylinder along y with flat ends, or with half spheres at them. */
static thenar_status turned_surface(double radius, double length, bool rounded, int resolution, thenar_surface *surface,
                                    thenar_error *error) {
    *surface = (thenar_surface){0};
    thenar_status status = check_round(radius, length, resolution, error);
    if (status != THENAR_OK) return status;
    int pieces = pieces_along(length, radius, resolution), count = 2 * resolution + pieces + 1;
    profile_point *profile = MEMORY_ARRAY(profile_point, count);
    if (!profile) return error_memory(error, rounded ? "capsule" : "cylinder");
    for (int i = 0; i <= resolution; i++) {
        double angle = pi / 2 * i / resolution, beyond = rounded ? radius * cos(angle) : 0;
        double from_axis = rounded ? radius * sin(angle) : radius * i / resolution;
        profile[i] = (profile_point){from_axis, -length / 2 - beyond};
        profile[count - 1 - i] = (profile_point){from_axis, length / 2 + beyond};
    }
    for (int i = 1; i < pieces; i++)
        profile[resolution + i] = (profile_point){radius, length * ((double)i / pieces - 0.5)};
    status = turn_profile(profile, count, 4 * resolution, surface, error);
    free(profile);
    return status;
}

thenar_status thenar_surface_capsule(double radius, double length, int resolution, thenar_surface *surface,
                                     thenar_error *error) {
    USAGE_STATUS(surface, error, "a pointer is NULL");
    return turned_surface(radius, length, true, resolution, surface, error);
}

thenar_status thenar_surface_cylinder(double radius, double length, int resolution, thenar_surface *surface,
                                      thenar_error *error) {
    USAGE_STATUS(surface, error, "a pointer is NULL");
    return turned_surface(radius, length, false, resolution, surface, error);
}

/* ---- Torus and box. */

thenar_status thenar_surface_torus(double ring, double tube, int resolution, thenar_surface *surface,
                                   thenar_error *error) {
    USAGE_STATUS(surface, error, "a pointer is NULL");
    *surface = (thenar_surface){0};
    thenar_status status = check_round(ring, tube, resolution, error);
    if (status == THENAR_OK && !(tube < ring))
        status = error_set(error, THENAR_ERROR_INPUT, "tube is %g m; expected less than the ring's %g m", tube, ring);
    if (status != THENAR_OK) return status;
    int around = 4 * pieces_along(ring, tube, resolution), across = 4 * resolution;
    if (around < 3) around = 3;
    status = begin_surface((long long)around * across, 2LL * around * across, surface, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < around; i++)
        for (int j = 0; j < across; j++) {
            double turn = 2 * pi * i / around, angle = 2 * pi * j / across, r = ring + tube * cos(angle);
            add_vertex(surface, vec3_make(r * cos(turn), tube * sin(angle), -r * sin(turn)));
        }
    for (int i = 0; i < around; i++)
        for (int j = 0; j < across; j++) {
            int a = i * across, b = (i + 1) % around * across, k = (j + 1) % across;
            add_triangle(surface, a + j, b + j, b + k);
            add_triangle(surface, a + j, b + k, a + k);
        }
    return THENAR_OK;
}

/* The number of the grid point (i, j, k) of an n x n x n cut box among those on its surface, made on first
 * use. */
static int box_vertex(const double size[3], int n, const int at[3], int *number, thenar_surface *surface) {
    int *slot = number + at[0] + (n + 1) * (at[1] + (n + 1) * at[2]);
    if (*slot == 0) {
        vec3 p = {size[0] * ((double)at[0] / n - 0.5), size[1] * ((double)at[1] / n - 0.5),
                  size[2] * ((double)at[2] / n - 0.5)};
        *slot = 1 + add_vertex(surface, p);
    }
    return *slot - 1;
}

static void box_side(const double size[3], int n, int axis, int level, int *number, thenar_surface *surface) {
    static const int around[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int v[4];
            for (int k = 0; k < 4; k++) {
                int at[3];
                at[axis] = level;
                at[(axis + 1) % 3] = i + around[k][0];
                at[(axis + 2) % 3] = j + around[k][1];
                v[k] = box_vertex(size, n, at, number, surface);
            }
            add_triangle(surface, v[0], v[level ? 1 : 2], v[level ? 2 : 1]);
            add_triangle(surface, v[0], v[level ? 2 : 3], v[level ? 3 : 2]);
        }
}

thenar_status thenar_surface_box(const double size[3], int resolution, thenar_surface *surface, thenar_error *error) {
    USAGE_STATUS(size && surface, error, "a pointer is NULL");
    *surface = (thenar_surface){0};
    thenar_status status = THENAR_OK;
    for (int a = 0; a < 3 && status == THENAR_OK; a++) status = check_length(size[a], "size", error);
    if (status == THENAR_OK) status = check_resolution(resolution, error);
    if (status == THENAR_OK && resolution > 200)
        status = error_set(error, THENAR_ERROR_INPUT, "resolution is %d; expected 1..200 for a box", resolution);
    if (status != THENAR_OK) return status;
    size_t points = (size_t)(resolution + 1) * (size_t)(resolution + 1) * (size_t)(resolution + 1);
    int *number = MEMORY_ARRAY(int, points);
    if (!number) return error_memory(error, "box");
    long long faces = 12LL * resolution * resolution;
    status = begin_surface(faces / 2 + 2, faces, surface, error);
    for (int axis = 0; axis < 3 && status == THENAR_OK; axis++) {
        box_side(size, resolution, axis, 0, number, surface);
        box_side(size, resolution, axis, resolution, number, surface);
    }
    free(number);
    return status;
}
