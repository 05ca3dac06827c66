/* The surface of a solid by a net (Gibson 1998, Constrained elastic surface nets): one vertex in each cell of a grid for
 * each sheet of surface that passes through it, a quad around each edge of the grid that it cuts, then the vertices slide
 * to even spacing on the surface.
 *
 * Evaluating the distance takes most of the time, and most of the grid is far from the surface. The net needs a value
 * only at the ends of edges that the surface cuts; elsewhere it needs the sign. Where a distance d is overestimated by at
 * most the factor SURE, no surface is closer than |d| / SURE: one value gives the sign of all points of a block, of
 * BLOCK^3 points first, then of PART^3. A point known by its sign alone holds plus or minus infinity. */
#include "geometry/meshing.h"

#include "core/memory.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define TARGET_MIN 100
#define TARGET_MAX 2000000

#define BLOCK 6 /* cells of a block that is skipped as a whole where the surface is far */
#define PARTS 2 /* of a block, along an edge: a part is a point and its neighbours */
#define PART (BLOCK / PARTS)
#define BATCH 64 /* points evaluated at a time */
#define SURE 1.6 /* largest overestimate of a distance */
#define TRIES 4  /* cell sizes tried for a target number of triangles */
#define PLACES 4 /* grid positions tried until the net is a manifold */
#define CLOSE_ENOUGH 0.03
#define SWEEPS 14 /* of sliding */
#define EXACT_SWEEPS 3
#define CELL_LIMIT 40000000

typedef struct net {
    const signed_distance *solid;
    double cell;
    vec3 origin;
    int points[3];
    double *value; /* at the grid's points, x fastest */
    int *vertex;   /* by the cell's lowest point: its vertex, or -1 */
    ARRAY(vec3) position;
    ARRAY(int) corner; /* of triangles */
} net;

static void net_free(net *n) {
    free(n->value);
    free(n->vertex);
    free(n->position.data);
    free(n->corner.data);
    *n = (net){0};
}

static size_t point_number(const net *n, int x, int y, int z) {
    return ((size_t)z * (size_t)n->points[1] + (size_t)y) * (size_t)n->points[0] + (size_t)x;
}

static vec3 point_at(const net *n, double x, double y, double z) {
    return vec3_add(n->origin, vec3_scale(vec3_make(x, y, z), n->cell));
}

static thenar_status net_begin(net *n, double cell, double shift, thenar_error *error) {
    const box *b = &n->solid->bounds;
    double low[3] = {b->low.x, b->low.y, b->low.z}, high[3] = {b->high.x, b->high.y, b->high.z}, total = 1;
    n->cell = cell;
    n->origin = vec3_sub(b->low, vec3_scale(vec3_make(1, 1, 1), (1.5 + shift) * cell));
    for (int a = 0; a < 3; a++) {
        double count = ceil((high[a] - low[a]) / cell) + 5;
        total *= count;
        if (!(total <= CELL_LIMIT))
            return error_set(error, THENAR_ERROR_INPUT,
                             "too many triangles for a body of this form; expected a grid of at most %d cells",
                             CELL_LIMIT);
        n->points[a] = (int)count;
    }
    n->value = MEMORY_ARRAY(double, total);
    n->vertex = MEMORY_ARRAY(int, total);
    if (!n->value || !n->vertex) return error_memory(error, "surface net");
    memset(n->vertex, -1, (size_t)total * sizeof(int));
    return THENAR_OK;
}

/* Points of the grid to be evaluated. */
typedef struct batch {
    int count;
    vec3 point[BATCH];
    double *value[BATCH];
} batch;

static void batch_evaluate(const signed_distance *solid, batch *b) {
    double value[BATCH];
    signed_distances_at(solid, b->count, b->point, value);
    for (int i = 0; i < b->count; i++) *b->value[i] = value[i];
    b->count = 0;
}

/* The points of a cube of the grid get a value, or with NULL their own. */
static void fill_cube(net *n, int x0, int y0, int z0, int size, const double *value, batch *b) {
    for (int z = z0; z < z0 + size && z < n->points[2]; z++)
        for (int y = y0; y < y0 + size && y < n->points[1]; y++)
            for (int x = x0; x < x0 + size && x < n->points[0]; x++) {
                double *to = n->value + point_number(n, x, y, z);
                if (value) {
                    *to = *value;
                    continue;
                }
                if (b->count == BATCH) batch_evaluate(n->solid, b);
                b->point[b->count] = point_at(n, x, y, z);
                b->value[b->count++] = to;
            }
}

/* A block that the surface may reach, part by part. */
static void evaluate_block(net *n, int x0, int y0, int z0, batch *b) {
    vec3 point[PARTS * PARTS * PARTS];
    double middle[PARTS * PARTS * PARTS];
    int x[PARTS * PARTS * PARTS], y[PARTS * PARTS * PARTS], z[PARTS * PARTS * PARTS];
    for (int i = 0; i < PARTS * PARTS * PARTS; i++) {
        x[i] = x0 + PART * (i % PARTS);
        y[i] = y0 + PART * (i / PARTS % PARTS);
        z[i] = z0 + PART * (i / (PARTS * PARTS));
        point[i] = point_at(n, x[i] + 1, y[i] + 1, z[i] + 1);
    }
    signed_distances_at(n->solid, PARTS * PARTS * PARTS, point, middle);
    for (int i = 0; i < PARTS * PARTS * PARTS; i++) {
        double sign = copysign(INFINITY, middle[i]);
        bool far = fabs(middle[i]) > SURE * n->cell * sqrt(3);
        fill_cube(n, x[i], y[i], z[i], PART, far ? &sign : NULL, b);
    }
}

static void evaluate(net *n) {
    batch b = {0};
    double half = BLOCK / 2.0, reach = SURE * n->cell * half * sqrt(3);
    for (int z = 0; z < n->points[2]; z += BLOCK)
        for (int y = 0; y < n->points[1]; y += BLOCK)
            for (int x0 = 0; x0 < n->points[0]; x0 += BLOCK * BATCH) {
                vec3 point[BATCH];
                double middle[BATCH];
                int count = 0;
                for (int x = x0; x < n->points[0] && count < BATCH; x += BLOCK)
                    point[count++] = point_at(n, x + half, y + half, z + half);
                signed_distances_at(n->solid, count, point, middle);
                for (int i = 0; i < count; i++)
                    if (fabs(middle[i]) > reach)
                        fill_cube(n, x0 + BLOCK * i, y, z, BLOCK, &middle[i], &b);
                    else
                        evaluate_block(n, x0 + BLOCK * i, y, z, &b);
            }
    batch_evaluate(n->solid, &b);
}

/* The ends of a cell's edges: corners by their bits, x lowest. */
static const int ends[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};

static void join(int part[12], int a, int b) {
    int from = part[b], to = part[a];
    for (int e = 0; e < 12; e++)
        if (part[e] == from) part[e] = to;
}

/* The sheets of surface in a cell: part[edge] is the sheet that cuts it, from 0, or -1. On each face of the cell two
 * cut edges are connected; of four, those that meet in an inner corner, so that the neighbouring cell agrees. */
static int find_sheets(const double value[8], int part[12]) {
    int sheets = 0;
    for (int e = 0; e < 12; e++) part[e] = (value[ends[e][0]] < 0) != (value[ends[e][1]] < 0) ? 100 + e : -1;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            int cut[4], cuts = 0;
            for (int e = 0; e < 12; e++)
                if (part[e] >= 0 && (ends[e][0] >> axis & 1) == side && (ends[e][1] >> axis & 1) == side)
                    cut[cuts++] = e;
            if (cuts == 2) join(part, cut[0], cut[1]);
            for (int i = 0; i < cuts && cuts == 4; i++)
                for (int k = 0; k < i; k++)
                    for (int c = 0; c < 8; c++)
                        if (value[c] < 0 && (ends[cut[i]][0] == c || ends[cut[i]][1] == c) &&
                            (ends[cut[k]][0] == c || ends[cut[k]][1] == c))
                            join(part, cut[i], cut[k]);
        }
    for (int e = 0; e < 12; e++) {
        if (part[e] < 100) continue;
        int old = part[e];
        for (int k = e; k < 12; k++)
            if (part[k] == old) part[k] = sheets;
        sheets++;
    }
    return sheets;
}

static void cell_values(const net *n, int x, int y, int z, double value[8]) {
    for (int i = 0; i < 8; i++) value[i] = n->value[point_number(n, x + (i & 1), y + (i >> 1 & 1), z + (i >> 2))];
}

/* A sheet's vertex is the mean of the places where it cuts the cell's edges. */
static bool add_vertices(net *n, int x, int y, int z) {
    double value[8];
    int part[12], inside = 0;
    cell_values(n, x, y, z, value);
    for (int i = 0; i < 8; i++) inside += value[i] < 0;
    if (inside == 0 || inside == 8) return true;
    for (int i = 0; i < 8; i++) {
        if (!isinf(value[i])) continue;
        int corner[3] = {x + (i & 1), y + (i >> 1 & 1), z + (i >> 2)};
        value[i] = signed_distance_at(n->solid, point_at(n, corner[0], corner[1], corner[2]), NULL);
        n->value[point_number(n, corner[0], corner[1], corner[2])] = value[i];
    }
    int sheets = find_sheets(value, part);
    n->vertex[point_number(n, x, y, z)] = (int)n->position.count;
    for (int sheet = 0; sheet < sheets; sheet++) {
        vec3 sum = {0};
        int cuts = 0;
        for (int e = 0; e < 12; e++) {
            if (part[e] != sheet) continue;
            int a = ends[e][0], b = ends[e][1];
            double t = value[a] / (value[a] - value[b]);
            vec3 p = {a & 1, a >> 1 & 1, a >> 2}, q = {b & 1, b >> 1 & 1, b >> 2};
            sum = vec3_add(sum, vec3_add(vec3_scale(p, 1 - t), vec3_scale(q, t)));
            cuts++;
        }
        if (!ARRAY_PUSH(&n->position, point_at(n, x + sum.x / cuts, y + sum.y / cuts, z + sum.z / cuts))) return false;
    }
    return true;
}

/* The vertex of the sheet that cuts an edge of the cell at a point; corner: the edge's lower end. */
static int vertex_at(const net *n, int x, int y, int z, int corner, int axis) {
    double value[8];
    int part[12], e = 0;
    cell_values(n, x, y, z, value);
    find_sheets(value, part);
    while (ends[e][0] != corner || ends[e][1] != (corner | 1 << axis)) e++;
    return n->vertex[point_number(n, x, y, z)] + part[e];
}

static bool add_triangle(net *n, int a, int b, int c) {
    return ARRAY_PUSH(&n->corner, a) && ARRAY_PUSH(&n->corner, b) && ARRAY_PUSH(&n->corner, c);
}

/* The quad around the edge from a point along an axis, cut along its shorter diagonal. */
static bool add_quad(net *n, int x, int y, int z, int axis) {
    static const int step[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int *along = step[axis], *u = step[(axis + 1) % 3], *v = step[(axis + 2) % 3];
    bool here = n->value[point_number(n, x, y, z)] < 0;
    bool there = n->value[point_number(n, x + along[0], y + along[1], z + along[2])] < 0;
    if (here == there) return true;
    int c[4];
    for (int i = 0; i < 4; i++) {
        int du = i == 1 || i == 2 ? 0 : 1, dv = i < 2 ? 1 : 0; /* around the edge, from -u -v */
        int corner = du << (axis + 1) % 3 | dv << (axis + 2) % 3;
        c[i] =
            vertex_at(n, x - du * u[0] - dv * v[0], y - du * u[1] - dv * v[1], z - du * u[2] - dv * v[2], corner, axis);
    }
    if (!here) {
        int swap = c[1];
        c[1] = c[3];
        c[3] = swap;
    }
    vec3 *p = n->position.data;
    if (vec3_distance(p[c[0]], p[c[2]]) <= vec3_distance(p[c[1]], p[c[3]]))
        return add_triangle(n, c[0], c[1], c[2]) && add_triangle(n, c[0], c[2], c[3]);
    return add_triangle(n, c[0], c[1], c[3]) && add_triangle(n, c[1], c[2], c[3]);
}

static bool connect(net *n) {
    for (int z = 0; z + 1 < n->points[2]; z++)
        for (int y = 0; y + 1 < n->points[1]; y++)
            for (int x = 0; x + 1 < n->points[0]; x++)
                if (!add_vertices(n, x, y, z)) return false;
    for (int z = 1; z + 1 < n->points[2]; z++)
        for (int y = 1; y + 1 < n->points[1]; y++)
            for (int x = 1; x + 1 < n->points[0]; x++)
                for (int axis = 0; axis < 3; axis++)
                    if (!add_quad(n, x, y, z, axis)) return false;
    return true;
}

static thenar_status net_surface(const net *n, thenar_surface *out, thenar_error *error) {
    thenar_status status = surface_create((int)n->position.count, (int)(n->corner.count / 3), out, error);
    if (status != THENAR_OK) return status;
    if (n->corner.count == 0) return THENAR_OK; /* the whole solid lies within a cell */
    memcpy(out->positions, n->position.data, n->position.count * sizeof(vec3));
    memcpy(out->triangles, n->corner.data, n->corner.count * sizeof(int));
    return THENAR_OK;
}

static thenar_status make_net(const signed_distance *solid, double cell, double shift, thenar_surface *out,
                              thenar_error *error) {
    net n = {.solid = solid};
    *out = (thenar_surface){0};
    thenar_status status = net_begin(&n, cell, shift, error);
    if (status == THENAR_OK) {
        evaluate(&n);
        if (!connect(&n)) status = error_memory(error, "surface net");
    }
    if (status == THENAR_OK) status = net_surface(&n, out, error);
    net_free(&n);
    return status;
}

/* Around every vertex one fan of triangles: a vertex where two fans meet has more triangles than its first fan. */
static thenar_status check_fans(const thenar_surface *s, thenar_error *error) {
    int *neighbour = NULL, *around = MEMORY_ARRAY(int, s->vertex_count), *seen = MEMORY_ARRAY(int, s->vertex_count);
    thenar_status status =
        around && seen ? surface_neighbours(s, &neighbour, error) : error_memory(error, "surface net");
    for (int i = 0; status == THENAR_OK && i < 3 * s->triangle_count; i++) around[s->triangles[i]]++;
    for (int t = 0; t < s->triangle_count && status == THENAR_OK; t++)
        for (int k = 0; k < 3; k++) {
            int v = s->triangles[3 * t + k];
            if (seen[v]) continue;
            int count = 0, at = t, corner = k;
            do {
                count++;
                int next = neighbour[3 * at + (corner + 2) % 3];
                if (next < 0) break;
                corner = s->triangles[3 * next] == v ? 0 : s->triangles[3 * next + 1] == v ? 1 : 2;
                at = next;
            } while (at != t && count <= around[v]);
            seen[v] = 1;
            if (count != around[v])
                status = error_set(error, THENAR_ERROR_INPUT,
                                   "the surface is pinched at vertex %d; expected a finer grid", v);
        }
    free(neighbour);
    free(around);
    free(seen);
    return status;
}

static thenar_status make_manifold(const signed_distance *solid, double cell, thenar_surface *out,
                                   thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int place = 0; place < PLACES; place++) {
        status = make_net(solid, cell, (double)place / PLACES, out, error);
        if (status != THENAR_OK) return status;
        status = surface_check_closed(out, error);
        if (status == THENAR_OK) status = check_fans(out, error);
        if (status != THENAR_ERROR_INPUT) break;
        thenar_surface_free(out);
    }
    return status;
}

/* One sweep: each vertex moves half way to the mean of its neighbours, weighted by the area around them so that
 * spacing becomes even, but only along the surface; then back to the surface, along the normal of the mesh or, with
 * six more evaluations, along that of the solid (exact). order: of evaluating, which is faster with neighbours. */
static void slide(const signed_distance *solid, thenar_surface *s, const int *order, double cell, bool exact, vec3 *sum,
                  double *count, vec3 *normal) {
    memset(sum, 0, (size_t)s->vertex_count * sizeof *sum);
    memset(count, 0, (size_t)s->vertex_count * sizeof *count);
    surface_vertex_normals(s, normal);
    for (int t = 0; t < s->triangle_count; t++) {
        const int *v = surface_triangle(s, t);
        vec3 corner[3];
        surface_corners(s, t, corner);
        vec3 middle = vec3_scale(vec3_add(corner[0], vec3_add(corner[1], corner[2])), 1.0 / 3);
        double area = vec3_length(surface_area_vector(s, t));
        for (int k = 0; k < 3; k++) {
            sum[v[k]] = vec3_mul_add(sum[v[k]], middle, area);
            count[v[k]] += area;
        }
    }
    for (int first = 0; first < s->vertex_count; first += BATCH) {
        vec3 place[BATCH];
        double distance[BATCH];
        int size = s->vertex_count - first < BATCH ? s->vertex_count - first : BATCH;
        for (int i = 0; i < size; i++) {
            int v = order[first + i];
            place[i] = surface_vertex(s, v);
            if (!(count[v] > 0)) continue;
            vec3 way = vec3_sub(vec3_scale(sum[v], 1 / count[v]), place[i]);
            way = vec3_mul_add(way, normal[v], -vec3_dot(way, normal[v]));
            place[i] = vec3_mul_add(place[i], way, 0.7);
        }
        if (!exact) signed_distances_at(solid, size, place, distance);
        for (int i = 0; i < size; i++) {
            int v = order[first + i];
            if (!(count[v] > 0)) continue;
            if (exact) distance[i] = signed_distance_at(solid, place[i], &normal[v]);
            double back = -fmin(fmax(distance[i], -cell / 2), cell / 2);
            vec3_store(s->positions + 3 * (size_t)v, vec3_mul_add(place[i], normal[v], back));
        }
    }
}

static thenar_status even_out(const signed_distance *solid, double cell, thenar_surface *s, thenar_error *error) {
    int *order = NULL;
    vec3 *sum = MEMORY_ARRAY(vec3, s->vertex_count), *normal = MEMORY_ARRAY(vec3, s->vertex_count);
    double *count = MEMORY_ARRAY(double, s->vertex_count);
    thenar_status status = sum && normal && count ? bvh_order_points(s->vertex_count, s->positions, &order, error)
                                                  : error_memory(error, "surface net");
    for (int sweep = 0; sweep < SWEEPS && status == THENAR_OK; sweep++)
        slide(solid, s, order, cell, sweep >= SWEEPS - EXACT_SWEEPS, sum, count, normal);
    free(order);
    free(sum);
    free(normal);
    free(count);
    return status;
}

thenar_status polygonize(const signed_distance *solid, int target, thenar_surface *out, thenar_error *error) {
    *out = (thenar_surface){0};
    if (target < TARGET_MIN || target > TARGET_MAX)
        return error_set(error, THENAR_ERROR_INPUT, "%d triangles; expected %d to %d", target, TARGET_MIN, TARGET_MAX);
    /* The number of triangles scales with the inverse square of the cell size: a coarse net predicts it. */
    vec3 size = vec3_sub(solid->bounds.high, solid->bounds.low);
    double area = 2 * (size.x * size.y + size.y * size.z + size.z * size.x), cell = sqrt(12 * area / target);
    thenar_status status = make_net(solid, cell, 0, out, error);
    for (int attempt = 0; attempt < TRIES && status == THENAR_OK; attempt++) {
        double ratio = (double)out->triangle_count / target;
        if (attempt > 0 && fabs(ratio - 1) < CLOSE_ENOUGH) break;
        cell *= sqrt(fmin(fmax(ratio, 0.01), 4));
        thenar_surface_free(out);
        status = make_manifold(solid, cell, out, error);
    }
    if (status == THENAR_OK) status = even_out(solid, cell, out, error);
    if (status != THENAR_OK) thenar_surface_free(out);
    return status;
}
