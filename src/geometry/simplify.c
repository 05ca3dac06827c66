/* Half-edge collapses: vertex u merges into a neighbour v, the two triangles on the edge uv vanish, and v replaces u
 * in the others around it. The cheapest allowed collapse is next; its cost is
 *   (l / L)^2 + BEND E / L^2 + SHAPE (1 - q),   E = sum_t A_t (n_t . x_v + d_t)^2 / sum_t A_t
 * with l = |x_u - x_v|, L the target length there, and t the triangles of the finer surface that u and v represent: E
 * is the mean squared distance of v from their planes (Garland and Heckbert 1997, Surface simplification using quadric
 * error metrics), stored as a quadric x^T A x + 2 b^T x + c. q is the worst shape of the new triangles. The first term
 * dominates: short edges go first, which spaces the points evenly.
 *
 * A collapse is allowed if
 *   l < SHORT L, and no new edge is longer than LONG L;
 *   u and v have no common neighbours but the two across the edge (the link condition: the surface stays a manifold);
 *   new triangles face the same way as the vertices at their corners did, and are no slivers;
 *   no removed vertex is too far from the new triangles. Each removed vertex is assigned to the nearest remaining
 *   triangle of its neighbourhood. */
#include "geometry/meshing.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define SHORT 0.9
#define LONG 1.5
#define BEND 10.0
#define SHAPE 0.3
#define SLIVER 0.25 /* a shape, 1 for equal sides */
#define FACING 0.3  /* cosine */
#define RING 24     /* maximum number of triangles around a vertex; others are kept */
#define REFUSED INFINITY

typedef struct quadric {
    mat3 A;
    vec3 b;
    double c, area;
} quadric;

typedef struct collapse {
    int into; /* -1: none */
    double cost;
} collapse;

typedef struct simplifier {
    const thenar_surface *surface;
    const double *spacing;
    double closeness;
    vec3 *place;  /* of a vertex, from the first one: keeps the quadrics exact far from the origin */
    vec3 *normal; /* of the finer surface at a vertex */
    quadric *error;
    bool *fixed;   /* vertices that must stay */
    int *triangle; /* 3 per triangle; the first is -1 once it is removed */
    int *first;    /* of a vertex: a corner (3 t + k) there, or -1 */
    int *next;     /* of a corner: another one at the same vertex, or -1 */
    int *assigned; /* of a triangle: a removed vertex assigned to it, or -1 */
    int *also;     /* of a removed vertex: another one on the same triangle, or -1 */
    /* The vertices that can be removed, in a heap by cost. */
    int heap_count, *heap, *slot; /* slot[v]: where in the heap v is, -1 if it is not */
    double *cost;
} simplifier;

/* The triangles around a vertex u: (u, a, b) in their orientation. */
typedef struct ring {
    int count; /* -1: too many */
    int triangle[RING], a[RING], b[RING];
} ring;

static bool before(const simplifier *s, int u, int v) {
    return s->cost[u] < s->cost[v] || (s->cost[u] == s->cost[v] && u < v);
}

static void heap_put(simplifier *s, int at, int u) {
    s->heap[at] = u;
    s->slot[u] = at;
}

static void heap_settle(simplifier *s, int u) {
    int at = s->slot[u];
    for (int up; at > 0 && before(s, u, s->heap[up = (at - 1) / 2]); at = up) heap_put(s, at, s->heap[up]);
    for (int down; (down = 2 * at + 1) < s->heap_count; at = down) {
        if (down + 1 < s->heap_count && before(s, s->heap[down + 1], s->heap[down])) down++;
        if (!before(s, s->heap[down], u)) break;
        heap_put(s, at, s->heap[down]);
    }
    heap_put(s, at, u);
}

static void heap_remove(simplifier *s, int u) {
    int at = s->slot[u], last = s->heap[--s->heap_count];
    s->slot[u] = -1;
    if (last == u) return;
    heap_put(s, at, last);
    heap_settle(s, last);
}

static void heap_update(simplifier *s, int u, double cost) {
    if (cost == REFUSED) {
        if (s->slot[u] >= 0) heap_remove(s, u);
        return;
    }
    s->cost[u] = cost;
    if (s->slot[u] < 0) s->slot[u] = s->heap_count++;
    heap_settle(s, u);
}

static quadric quadric_add(quadric p, quadric q) {
    return (quadric){mat3_add(p.A, q.A), vec3_add(p.b, q.b), p.c + q.c, p.area + q.area};
}

static double quadric_mean(const quadric *q, vec3 x) {
    double sum = vec3_dot(x, mat3_mul_vec(q->A, x)) + 2 * vec3_dot(q->b, x) + q->c;
    return q->area > 0 ? fmax(sum, 0) / q->area : 0;
}

/* The shape of a triangle: 4 sqrt(3) area over the sum of the squares of its sides. */
static double shape_of(vec3 a, vec3 b, vec3 c, vec3 *unit) {
    vec3 ab = vec3_sub(b, a), bc = vec3_sub(c, b), ca = vec3_sub(a, c), twice = vec3_cross(ab, vec3_sub(c, a));
    double size = vec3_length(twice), squares = vec3_dot(ab, ab) + vec3_dot(bc, bc) + vec3_dot(ca, ca);
    *unit = size > 0 ? vec3_scale(twice, 1 / size) : vec3_make(0, 0, 0);
    return squares > 0 ? 2 * sqrt(3) * size / squares : 0;
}

static ring ring_of(const simplifier *s, int u) {
    ring r;
    r.count = 0;
    for (int c = s->first[u]; c >= 0; c = s->next[c]) {
        if (r.count == RING) {
            r.count = -1;
            break;
        }
        int t = c / 3, k = c % 3;
        r.triangle[r.count] = t;
        r.a[r.count] = s->triangle[3 * t + (k + 1) % 3];
        r.b[r.count++] = s->triangle[3 * t + (k + 2) % 3];
    }
    return r;
}

/* True if the triangles form one closed fan. */
static bool ring_is_closed(const ring *r) {
    int at = 0, seen = 0;
    if (r->count < 3) return false;
    do {
        int found = -1;
        for (int i = 0; i < r->count; i++) {
            if (r->a[i] != r->b[at]) continue;
            if (found >= 0) return false;
            found = i;
        }
        if (found < 0) return false;
        at = found;
        seen++;
    } while (at != 0 && seen <= r->count);
    return seen == r->count;
}

/* Each neighbour of a vertex is the `a` of one of its triangles, except for one at a border. */
static bool ends_border(const simplifier *s, int v, int b) {
    for (int c = s->first[v]; c >= 0; c = s->next[c])
        if (s->triangle[c - c % 3 + (c + 1) % 3] == b) return false;
    return true;
}

/* True if u and v have no common neighbour besides the two across the edge, and no new triangle exists already. */
static bool keeps_manifold(const simplifier *s, const ring *around_u, int v) {
    int shared = 0, valence = 0;
    for (int c = s->first[v]; c >= 0; c = s->next[c]) {
        int t = c / 3, k = c % 3, a = s->triangle[3 * t + (k + 1) % 3], b = s->triangle[3 * t + (k + 2) % 3];
        bool last = s->fixed[v] && ends_border(s, v, b);
        valence++;
        for (int i = 0; i < around_u->count; i++) {
            shared += (a == around_u->a[i]) + (last && b == around_u->a[i]);
            if (around_u->a[i] == b && around_u->b[i] == a) return false;
        }
    }
    return shared == 2 && valence + around_u->count - 4 <= RING;
}

/* The cost of merging u into v; REFUSED if it is not allowed or certainly above `limit`. The terms of the cost are
 * positive, and rounding keeps their order: a partial sum above the limit decides. The cheap terms are the first. */
static double cost_of(const simplifier *s, int u, const ring *around, int v, double limit) {
    double L = (s->spacing[u] + s->spacing[v]) / 2, l = vec3_distance(s->place[u], s->place[v]);
    if (!(l < SHORT * L) || l * l / (L * L) > limit) return REFUSED;
    quadric q = quadric_add(s->error[u], s->error[v]);
    double cost = (l * l + BEND * quadric_mean(&q, s->place[v])) / (L * L), worst = 1;
    if (cost > limit) return REFUSED;
    for (int i = 0; i < around->count; i++) {
        int a = around->a[i], b = around->b[i];
        if (a == v || b == v) continue;
        if (vec3_distance(s->place[v], s->place[a]) > LONG * (s->spacing[v] + s->spacing[a]) / 2) return REFUSED;
        vec3 normal, old;
        double shape = shape_of(s->place[v], s->place[a], s->place[b], &normal);
        if (shape < SLIVER && shape < shape_of(s->place[u], s->place[a], s->place[b], &old)) return REFUSED;
        if (!(vec3_dot(normal, s->normal[v]) > FACING && vec3_dot(normal, s->normal[a]) > FACING &&
              vec3_dot(normal, s->normal[b]) > FACING && vec3_dot(normal, s->normal[u]) > FACING))
            return REFUSED;
        worst = fmin(worst, shape);
        if (cost + SHAPE * (1 - worst) > limit) return REFUSED;
    }
    return keeps_manifold(s, around, v) ? cost + SHAPE * (1 - worst) : REFUSED;
}

/* Of the triangles that remain when v replaces u, the one nearest to a vertex. */
static int nearest_left(const simplifier *s, const ring *around, int v, int vertex, double *distance) {
    int best = -1;
    *distance = INFINITY;
    for (int i = 0; i < around->count; i++) {
        if (around->a[i] == v || around->b[i] == v) continue;
        triangle_corners t = {{s->place[v], s->place[around->a[i]], s->place[around->b[i]]}};
        double weights[3];
        int feature;
        vec3 closest = closest_in_triangle(&t, s->place[vertex], weights, &feature);
        double here = vec3_distance(closest, s->place[vertex]);
        if (here >= *distance) continue;
        *distance = here;
        best = around->triangle[i];
    }
    return best;
}

static bool stays_close(const simplifier *s, int u, const ring *around, int v) {
    double distance;
    nearest_left(s, around, v, u, &distance);
    if (distance > s->closeness * s->spacing[u]) return false;
    for (int i = 0; i < around->count; i++)
        for (int w = s->assigned[around->triangle[i]]; w >= 0; w = s->also[w]) {
            nearest_left(s, around, v, w, &distance);
            if (distance > s->closeness * s->spacing[w]) return false;
        }
    return true;
}

/* The cheapest collapse of u; with `close`, of those that keep removed vertices close. */
static collapse best_for(const simplifier *s, int u, const ring *around, bool close) {
    collapse best = {-1, REFUSED};
    if (s->fixed[u] || around->count < 3) return best;
    for (int i = 0; i < around->count; i++) {
        int v = around->a[i];
        double cost = cost_of(s, u, around, v, best.cost);
        bool better = cost < best.cost || (cost == best.cost && cost < REFUSED && v < best.into);
        if (!better || (close && !stays_close(s, u, around, v))) continue;
        best = (collapse){v, cost};
    }
    return best;
}

static void unlink_corner(simplifier *s, int vertex, int triangle) {
    int *at = &s->first[vertex];
    while (*at / 3 != triangle) at = &s->next[*at];
    *at = s->next[*at];
}

/* Assigns u, and the vertices assigned to the triangles around it, to the remaining triangles. */
static void reattach(simplifier *s, int u, const ring *around, int v) {
    int loose = u;
    s->also[u] = -1;
    for (int i = 0; i < around->count; i++) {
        for (int w = s->assigned[around->triangle[i]], next; w >= 0; w = next) {
            next = s->also[w];
            s->also[w] = loose;
            loose = w;
        }
        s->assigned[around->triangle[i]] = -1;
    }
    for (int w = loose, next; w >= 0; w = next) {
        double distance;
        next = s->also[w];
        int t = nearest_left(s, around, v, w, &distance);
        s->also[w] = s->assigned[t];
        s->assigned[t] = w;
    }
}

static void do_collapse(simplifier *s, int u, const ring *around, int v) {
    reattach(s, u, around, v);
    for (int i = 0; i < around->count; i++) {
        int t = around->triangle[i], a = around->a[i], b = around->b[i];
        if (a == v || b == v) {
            unlink_corner(s, a, t);
            unlink_corner(s, b, t);
            s->triangle[3 * t] = -1;
            continue;
        }
        int k = s->triangle[3 * t] == u ? 0 : s->triangle[3 * t + 1] == u ? 1 : 2;
        s->triangle[3 * t + k] = v;
        s->next[3 * t + k] = s->first[v];
        s->first[v] = 3 * t + k;
    }
    s->first[u] = -1;
    s->error[v] = quadric_add(s->error[v], s->error[u]);
}

static void look_at(simplifier *s, int u) {
    ring around = ring_of(s, u);
    heap_update(s, u, best_for(s, u, &around, false).cost);
}

static void simplify(simplifier *s) {
    for (int u = 0; u < s->surface->vertex_count; u++) look_at(s, u);
    while (s->heap_count > 0) {
        int u = s->heap[0];
        heap_remove(s, u);
        ring around = ring_of(s, u);
        collapse best = best_for(s, u, &around, true);
        if (best.into < 0) continue; /* it is tried again when something around it changes */
        do_collapse(s, u, &around, best.into);
        look_at(s, best.into);
        for (int i = 0; i < around.count; i++)
            if (around.a[i] != best.into) look_at(s, around.a[i]);
    }
}

static void start(simplifier *s) {
    const thenar_surface *surface = s->surface;
    int vertices = surface->vertex_count;
    for (int v = 0; v < vertices; v++) {
        s->place[v] = vec3_sub(surface_vertex(surface, v), surface_vertex(surface, 0));
        s->first[v] = s->also[v] = s->slot[v] = -1;
    }
    surface_vertex_normals(surface, s->normal);
    for (int t = surface->triangle_count - 1; t >= 0; t--) {
        const int *corner = surface_triangle(surface, t);
        vec3 twice = vec3_cross(vec3_sub(s->place[corner[1]], s->place[corner[0]]),
                                vec3_sub(s->place[corner[2]], s->place[corner[0]]));
        double area = vec3_length(twice) / 2;
        quadric q = {.area = area};
        if (area > 0) {
            vec3 n = vec3_scale(twice, 1 / (2 * area));
            double d = -vec3_dot(n, s->place[corner[0]]);
            q.A = mat3_scale(mat3_outer(n, n), area);
            q.b = vec3_scale(n, area * d);
            q.c = area * d * d;
        }
        s->assigned[t] = -1;
        for (int k = 0; k < 3; k++) {
            s->triangle[3 * t + k] = corner[k];
            s->next[3 * t + k] = s->first[corner[k]];
            s->first[corner[k]] = 3 * t + k;
            s->error[corner[k]] = quadric_add(s->error[corner[k]], q);
        }
    }
    for (int v = 0; v < vertices; v++) {
        ring around = ring_of(s, v);
        s->fixed[v] = !ring_is_closed(&around);
    }
}

static thenar_status collect(const simplifier *s, simple_surface *out, thenar_error *error) {
    int vertices = s->surface->vertex_count, triangles = s->surface->triangle_count;
    for (int v = 0; v < vertices; v++) out->vertex_count += s->first[v] >= 0;
    for (int t = 0; t < triangles; t++) out->triangle_count += s->triangle[3 * t] >= 0;
    out->vertex = MEMORY_ARRAY(int, out->vertex_count);
    out->triangles = MEMORY_ARRAY(int, 3 * (size_t)out->triangle_count);
    if (!out->vertex || !out->triangles) {
        simple_surface_free(out);
        return error_memory(error, "simplifying a surface");
    }
    int *vertex = out->vertex, *corner = out->triangles;
    for (int v = 0; v < vertices; v++)
        if (s->first[v] >= 0) *vertex++ = v;
    for (int i = 0; i < 3 * triangles; i++)
        if (s->triangle[i - i % 3] >= 0) *corner++ = s->triangle[i];
    return THENAR_OK;
}

thenar_status surface_simplify(const thenar_surface *surface, const double *spacing, const bool *keep,
                               double closeness, simple_surface *out, thenar_error *error) {
    *out = (simple_surface){0};
    size_t vertices = (size_t)surface->vertex_count, triangles = (size_t)surface->triangle_count;
    simplifier s = {.surface = surface, .spacing = spacing, .closeness = closeness};
    s.place = MEMORY_ARRAY(vec3, vertices);
    s.normal = MEMORY_ARRAY(vec3, vertices);
    s.error = MEMORY_ARRAY(quadric, vertices);
    s.fixed = MEMORY_ARRAY(bool, vertices);
    s.cost = MEMORY_ARRAY(double, vertices);
    s.first = MEMORY_ARRAY(int, vertices);
    s.also = MEMORY_ARRAY(int, vertices);
    s.heap = MEMORY_ARRAY(int, vertices);
    s.slot = MEMORY_ARRAY(int, vertices);
    s.triangle = MEMORY_ARRAY(int, 3 * triangles);
    s.next = MEMORY_ARRAY(int, 3 * triangles);
    s.assigned = MEMORY_ARRAY(int, triangles);
    bool have = s.place && s.normal && s.error && s.fixed && s.cost && s.first && s.also && s.heap && s.slot &&
                s.triangle && s.next && s.assigned;
    thenar_status status = have ? THENAR_OK : error_memory(error, "simplifying a surface");
    if (have) {
        start(&s);
        for (size_t v = 0; v < vertices && keep; v++) s.fixed[v] |= keep[v];
        simplify(&s);
        status = collect(&s, out, error);
    }
    free(s.place);
    free(s.normal);
    free(s.error);
    free(s.fixed);
    free(s.cost);
    free(s.first);
    free(s.also);
    free(s.heap);
    free(s.slot);
    free(s.triangle);
    free(s.next);
    free(s.assigned);
    return status;
}

void simple_surface_free(simple_surface *simple) {
    free(simple->vertex);
    free(simple->triangles);
    *simple = (simple_surface){0};
}
