#include "geometry/distance.h"

#include "core/memory.h"
#include "mesh/mesh.h"

#include <stdlib.h>

#define LEAF_SIZE 4

typedef struct builder {
    const box *boxes;
    bvh *tree;
    double *key; /* by item: position of the box's centre along the current split axis */
} builder;

static bool is_before(const builder *b, int left, int right) {
    return b->key[left] != b->key[right] ? b->key[left] < b->key[right] : left < right;
}

/* Partitions the items of [first, end) around the middle-th one (quickselect; item numbers break ties, so that the
 * order depends on nothing but the input). */
static void split_at(builder *b, int first, int end, int middle) {
    int *item = b->tree->item;
    while (end - first > 1) {
        int pivot = item[first + (end - first) / 2], low = first, high = end - 1;
        while (low <= high) {
            while (is_before(b, item[low], pivot)) low++;
            while (is_before(b, pivot, item[high])) high--;
            if (low > high) break;
            int kept = item[low];
            item[low++] = item[high];
            item[high--] = kept;
        }
        if (middle <= high)
            end = high + 1;
        else if (middle >= low)
            first = low;
        else
            return;
    }
}

static double along(vec3 v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Splits along the axis in which the centres of the boxes vary most. */
static void set_keys(builder *b, int first, int end) {
    const int *item = b->tree->item;
    vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = first; i < end; i++) {
        vec3 middle = vec3_add(b->boxes[item[i]].low, b->boxes[item[i]].high);
        low = vec3_min(low, middle);
        high = vec3_max(high, middle);
    }
    vec3 spread = vec3_sub(high, low);
    int axis = spread.x >= spread.y && spread.x >= spread.z ? 0 : spread.y >= spread.z ? 1 : 2;
    for (int i = first; i < end; i++)
        b->key[item[i]] = along(b->boxes[item[i]].low, axis) + along(b->boxes[item[i]].high, axis);
}

static int build(builder *b, int first, int end) {
    int index = b->tree->node_count++;
    bvh_node node = {.bounds = b->boxes[b->tree->item[first]], .first = first, .count = end - first};
    for (int i = first + 1; i < end; i++) node.bounds = box_join(node.bounds, b->boxes[b->tree->item[i]]);
    if (node.count > LEAF_SIZE) {
        int middle = first + (end - first) / 2;
        set_keys(b, first, end);
        split_at(b, first, end, middle);
        node.count = 0;
        build(b, first, middle);
        node.right = build(b, middle, end);
    }
    b->tree->node[index] = node;
    return index;
}

thenar_status bvh_create(const box *boxes, int count, bvh *out, thenar_error *error) {
    *out = (bvh){0};
    if (count == 0) return THENAR_OK;
    out->item = MEMORY_ARRAY(int, count);
    out->node = MEMORY_ARRAY(bvh_node, 2 * (size_t)count);
    builder b = {boxes, out, MEMORY_ARRAY(double, count)};
    if (!out->item || !out->node || !b.key) {
        free(b.key);
        bvh_free(out);
        return error_memory(error, "box tree");
    }
    for (int i = 0; i < count; i++) out->item[i] = i;
    build(&b, 0, count);
    free(b.key);
    return THENAR_OK;
}

void bvh_free(bvh *tree) {
    free(tree->node);
    free(tree->item);
    *tree = (bvh){0};
}

thenar_status bvh_order_points(int count, const double *positions, int **order, thenar_error *error) {
    *order = NULL;
    box *boxes = MEMORY_ARRAY(box, count);
    if (!boxes) return error_memory(error, "order of points");
    for (int i = 0; i < count; i++) {
        vec3 p = vec3_load(positions + 3 * (size_t)i);
        boxes[i] = (box){p, p};
    }
    bvh tree;
    thenar_status status = bvh_create(boxes, count, &tree, error);
    *order = tree.item;
    tree.item = NULL;
    bvh_free(&tree);
    free(boxes);
    return status;
}

void bvh_overlap(const bvh *tree, box query, bvh_visit visit, void *context) {
    int stack[BVH_STACK], depth = 0;
    if (tree->node_count > 0) stack[depth++] = 0;
    while (depth > 0) {
        int index = stack[--depth];
        const bvh_node *node = tree->node + index;
        if (!box_overlaps(&node->bounds, &query)) continue;
        if (node->count == 0) {
            stack[depth++] = node->right;
            stack[depth++] = index + 1;
            continue;
        }
        for (int i = 0; i < node->count; i++)
            if (!visit(context, tree->item[node->first + i])) return;
    }
}

/* Distance to a point with a radius around it; `fallback` is the normal at the point itself. */
static double ball_distance(vec3 centre, double radius, vec3 point, vec3 fallback, vec3 *normal) {
    vec3 offset = vec3_sub(point, centre);
    double length = vec3_length(offset);
    if (normal) *normal = length > 0 ? vec3_scale(offset, 1 / length) : fallback;
    return length - radius;
}

double sphere_distance(const sphere_shape *sphere, vec3 point, vec3 *normal) {
    return ball_distance(sphere->centre, sphere->radius, point, vec3_make(0, 1, 0), normal);
}

/* A unit vector at a right angle to v. */
static vec3 any_perpendicular(vec3 v) {
    vec3 other = fabs(v.x) <= fabs(v.y) && fabs(v.x) <= fabs(v.z) ? vec3_make(1, 0, 0)
                 : fabs(v.y) <= fabs(v.z)                         ? vec3_make(0, 1, 0)
                                                                  : vec3_make(0, 0, 1);
    vec3 cross = vec3_cross(v, other);
    return vec3_dot(cross, cross) > 0 ? vec3_unit(cross) : other;
}

double capsule_distance(const capsule_shape *capsule, vec3 point, vec3 *normal) {
    vec3 axis = vec3_sub(capsule->b, capsule->a);
    double squared = vec3_dot(axis, axis);
    double along = squared > 0 ? vec3_dot(vec3_sub(point, capsule->a), axis) / squared : 0;
    vec3 centre = vec3_mul_add(capsule->a, axis, fmin(fmax(along, 0), 1));
    return ball_distance(centre, capsule->radius, point, any_perpendicular(axis), normal);
}

double box_distance(const box_shape *shape, vec3 point, vec3 *normal) {
    vec3 p = vec3_sub(point, shape->centre);
    vec3 beyond = {fabs(p.x) - shape->half.x, fabs(p.y) - shape->half.y, fabs(p.z) - shape->half.z};
    vec3 sign = {copysign(1, p.x), copysign(1, p.y), copysign(1, p.z)};
    vec3 out = vec3_max(beyond, vec3_make(0, 0, 0));
    double outside = vec3_length(out);
    if (outside > 0) {
        if (normal) *normal = vec3_scale(vec3_make(out.x * sign.x, out.y * sign.y, out.z * sign.z), 1 / outside);
        return outside - shape->radius;
    }
    bool x = beyond.x >= beyond.y && beyond.x >= beyond.z, y = !x && beyond.y >= beyond.z;
    if (normal) *normal = vec3_make(x ? sign.x : 0, y ? sign.y : 0, x || y ? 0 : sign.z);
    return fmax(beyond.x, fmax(beyond.y, beyond.z)) - shape->radius;
}

static double cylinder_distance(const cylinder_shape *cylinder, vec3 point, vec3 *normal) {
    vec3 p = vec3_sub(point, cylinder->centre);
    double across = sqrt(p.x * p.x + p.z * p.z), up = copysign(1, p.y);
    double aside = across - cylinder->core_radius, above = fabs(p.y) - cylinder->half_length;
    vec3 sideways = across > 0 ? vec3_make(p.x / across, 0, p.z / across) : vec3_make(1, 0, 0);
    double out_aside = fmax(aside, 0), out_above = fmax(above, 0);
    double outside = sqrt(out_aside * out_aside + out_above * out_above);
    if (outside > 0) {
        if (normal)
            *normal = vec3_add(vec3_scale(sideways, out_aside / outside), vec3_make(0, up * out_above / outside, 0));
        return outside - cylinder->radius;
    }
    if (normal) *normal = aside >= above ? sideways : vec3_make(0, up, 0);
    return fmax(aside, above) - cylinder->radius;
}

static double plane_distance(const plane_shape *plane, vec3 point, vec3 *normal) {
    if (normal) *normal = plane->normal;
    return vec3_dot(plane->normal, point) - plane->offset;
}

static double evaluate_sphere(const void *context, vec3 point, vec3 *normal) {
    return sphere_distance(context, point, normal);
}
static double evaluate_capsule(const void *context, vec3 point, vec3 *normal) {
    return capsule_distance(context, point, normal);
}
static double evaluate_box(const void *context, vec3 point, vec3 *normal) {
    return box_distance(context, point, normal);
}
static double evaluate_cylinder(const void *context, vec3 point, vec3 *normal) {
    return cylinder_distance(context, point, normal);
}
static double evaluate_plane(const void *context, vec3 point, vec3 *normal) {
    return plane_distance(context, point, normal);
}

signed_distance signed_distance_of_sphere(const sphere_shape *sphere) {
    return (signed_distance){
        .evaluate = evaluate_sphere, .context = sphere, .bounds = box_grow(box_of(&sphere->centre, 1), sphere->radius)};
}

signed_distance signed_distance_of_capsule(const capsule_shape *capsule) {
    vec3 ends[2] = {capsule->a, capsule->b};
    return (signed_distance){
        .evaluate = evaluate_capsule, .context = capsule, .bounds = box_grow(box_of(ends, 2), capsule->radius)};
}

signed_distance signed_distance_of_box(const box_shape *shape) {
    box core = {vec3_sub(shape->centre, shape->half), vec3_add(shape->centre, shape->half)};
    return (signed_distance){.evaluate = evaluate_box, .context = shape, .bounds = box_grow(core, shape->radius)};
}

signed_distance signed_distance_of_cylinder(const cylinder_shape *cylinder) {
    vec3 half = {cylinder->core_radius, cylinder->half_length, cylinder->core_radius};
    box core = {vec3_sub(cylinder->centre, half), vec3_add(cylinder->centre, half)};
    return (signed_distance){
        .evaluate = evaluate_cylinder, .context = cylinder, .bounds = box_grow(core, cylinder->radius)};
}

signed_distance signed_distance_of_plane(const plane_shape *plane) {
    box everything = {{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    return (signed_distance){.evaluate = evaluate_plane, .context = plane, .bounds = everything};
}

/* Triangle-tet overlap by separating axes: two convex bodies are disjoint exactly if they are separated along a face
 * normal of either or along the cross product of an edge of each (Gottschalk, Lin and Manocha 1996). */

typedef struct tri_tet {
    vec3 corner[4];
    vec3 edge[6];
    vec3 face_normal[4]; /* unit */
    double tolerance;    /* m: smaller overlaps do not count */
} tri_tet;

static tri_tet tri_tet_make(const vec3 corner[4], double tolerance) {
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    tri_tet tet = {.tolerance = tolerance};
    for (int i = 0; i < 4; i++) {
        const int *face = tet_face_corners[i];
        tet.corner[i] = corner[i];
        tet.face_normal[i] = vec3_unit(
            vec3_cross(vec3_sub(corner[face[1]], corner[face[0]]), vec3_sub(corner[face[2]], corner[face[0]])));
    }
    for (int i = 0; i < 6; i++) tet.edge[i] = vec3_sub(corner[ends[i][1]], corner[ends[i][0]]);
    return tet;
}

/* True if both are separated along a unit axis. */
static bool apart_along(const tri_tet *tet, const vec3 triangle[3], vec3 axis) {
    double low = INFINITY, high = -INFINITY, triangle_low = INFINITY, triangle_high = -INFINITY;
    for (int i = 0; i < 4; i++) {
        double at = vec3_dot(tet->corner[i], axis);
        low = fmin(low, at);
        high = fmax(high, at);
    }
    for (int i = 0; i < 3; i++) {
        double at = vec3_dot(triangle[i], axis);
        triangle_low = fmin(triangle_low, at);
        triangle_high = fmax(triangle_high, at);
    }
    return triangle_low > high - tet->tolerance || triangle_high < low + tet->tolerance;
}

static bool tri_tet_overlaps(const tri_tet *tet, const vec3 triangle[3]) {
    for (int i = 0; i < 4; i++)
        if (apart_along(tet, triangle, tet->face_normal[i])) return false;
    vec3 side[3];
    for (int i = 0; i < 3; i++) side[i] = vec3_sub(triangle[(i + 1) % 3], triangle[i]);
    vec3 normal = vec3_cross(side[0], side[1]);
    if (vec3_dot(normal, normal) > 0 && apart_along(tet, triangle, vec3_unit(normal))) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++) {
            vec3 axis = vec3_cross(side[i], tet->edge[j]);
            double squared = vec3_dot(axis, axis),
                   scale = vec3_dot(side[i], side[i]) * vec3_dot(tet->edge[j], tet->edge[j]);
            /* Nearly parallel edges give an axis of rounding errors; the face normals decide there. */
            if (squared <= 1e-20 * scale) continue;
            if (apart_along(tet, triangle, vec3_scale(axis, 1 / sqrt(squared)))) return false;
        }
    return true;
}

static box triangle_box(const thenar_surface *surface, int t) {
    vec3 corner[3];
    surface_corners(surface, t, corner);
    return box_of(corner, 3);
}

static thenar_status build_tree(const thenar_surface *surface, surface_distance *out, thenar_error *error) {
    box *boxes = MEMORY_ARRAY(box, surface->triangle_count);
    if (!boxes) return error_memory(error, "distance to a surface");
    for (int t = 0; t < surface->triangle_count; t++) boxes[t] = triangle_box(surface, t);
    thenar_status status = bvh_create(boxes, surface->triangle_count, &out->tree, error);
    free(boxes);
    return status;
}

static triangle_normals prepare_normals(const thenar_surface *surface, int t, const int *neighbour,
                                        const vec3 *vertex_normal) {
    triangle_normals normals;
    vec3 face = vec3_unit(surface_area_vector(surface, t));
    normals.of[FEATURE_FACE] = face;
    for (int k = 0; k < 3; k++) {
        vec3 across = vec3_unit(surface_area_vector(surface, neighbour[3 * (size_t)t + (size_t)k]));
        normals.of[FEATURE_EDGE + k] = vec3_unit(vec3_add(face, across));
        normals.of[FEATURE_VERTEX + k] = vertex_normal[surface_triangle(surface, t)[k]];
    }
    return normals;
}

/* original[t] for the triangles of a welded surface: those that lost a corner are skipped there. */
static void find_originals(const thenar_surface *surface, int *original) {
    int kept = 0;
    for (int t = 0; t < surface->triangle_count; t++) {
        vec3 c[3];
        surface_corners(surface, t, c);
        bool lost = false;
        for (int k = 0; k < 3; k++) {
            vec3 side = vec3_sub(c[k], c[(k + 1) % 3]);
            lost |= side.x == 0 && side.y == 0 && side.z == 0;
        }
        if (!lost) original[kept++] = t;
    }
}

static thenar_status prepare(const thenar_surface *surface, const thenar_surface *welded, surface_distance *out,
                             thenar_error *error) {
    int count = welded->triangle_count, *neighbour = NULL;
    thenar_status status = build_tree(welded, out, error);
    if (status == THENAR_OK) status = surface_neighbours(welded, &neighbour, error);
    if (status != THENAR_OK) return status;
    out->triangle_count = count;
    out->triangle = MEMORY_ARRAY(triangle_corners, count);
    out->normals = MEMORY_ARRAY(triangle_normals, count);
    out->original = MEMORY_ARRAY(int, count);
    int *original = MEMORY_ARRAY(int, surface->triangle_count);
    vec3 *vertex_normal = MEMORY_ARRAY(vec3, welded->vertex_count);
    if (out->triangle && out->normals && out->original && original && vertex_normal) {
        surface_vertex_normals(welded, vertex_normal);
        find_originals(surface, original);
        for (int i = 0; i < count; i++) {
            int t = out->tree.item[i];
            surface_corners(welded, t, out->triangle[i].corner);
            out->normals[i] = prepare_normals(welded, t, neighbour, vertex_normal);
            out->original[i] = original[t];
        }
        /* The triangles are now in the order of the leaves. */
        for (int i = 0; i < count; i++) out->tree.item[i] = i;
        out->bounds = out->tree.node[0].bounds;
    } else {
        status = error_memory(error, "distance to a surface");
    }
    free(original);
    free(vertex_normal);
    free(neighbour);
    return status;
}

thenar_status surface_distance_create(const thenar_surface *surface, surface_distance *out, thenar_error *error) {
    *out = (surface_distance){0};
    thenar_surface welded;
    thenar_status status = surface_validate(surface, error);
    if (status == THENAR_OK) status = surface_weld(surface, &welded, error);
    if (status != THENAR_OK) return status;
    status = surface_check_closed(&welded, error);
    if (status == THENAR_OK) status = prepare(surface, &welded, out, error);
    thenar_surface_free(&welded);
    if (status != THENAR_OK) surface_distance_free(out);
    return status;
}

void surface_distance_free(surface_distance *solid) {
    free(solid->triangle);
    free(solid->normals);
    free(solid->original);
    bvh_free(&solid->tree);
    *solid = (surface_distance){0};
}

/* The cases are the Voronoi regions of the corners, the edges and the face. */
vec3 closest_in_triangle(const triangle_corners *t, vec3 p, double w[3], int *feature) {
    vec3 ab = vec3_sub(t->corner[1], t->corner[0]), ac = vec3_sub(t->corner[2], t->corner[0]);
    vec3 ap = vec3_sub(p, t->corner[0]), bp = vec3_sub(p, t->corner[1]), cp = vec3_sub(p, t->corner[2]);
    double ab_ap = vec3_dot(ab, ap), ac_ap = vec3_dot(ac, ap), ab_bp = vec3_dot(ab, bp), ac_bp = vec3_dot(ac, bp),
           ab_cp = vec3_dot(ab, cp), ac_cp = vec3_dot(ac, cp);
    double area_a = ab_bp * ac_cp - ab_cp * ac_bp, area_b = ab_cp * ac_ap - ab_ap * ac_cp,
           area_c = ab_ap * ac_bp - ab_bp * ac_ap;
    if (ab_ap <= 0 && ac_ap <= 0) {
        w[1] = w[2] = 0;
        *feature = FEATURE_VERTEX;
    } else if (ab_bp >= 0 && ac_bp <= ab_bp) {
        w[1] = 1, w[2] = 0;
        *feature = FEATURE_VERTEX + 1;
    } else if (ac_cp >= 0 && ab_cp <= ac_cp) {
        w[1] = 0, w[2] = 1;
        *feature = FEATURE_VERTEX + 2;
    } else if (area_c <= 0 && ab_ap >= 0 && ab_bp <= 0) {
        w[1] = ab_ap / (ab_ap - ab_bp), w[2] = 0;
        *feature = FEATURE_EDGE;
    } else if (area_b <= 0 && ac_ap >= 0 && ac_cp <= 0) {
        w[1] = 0, w[2] = ac_ap / (ac_ap - ac_cp);
        *feature = FEATURE_EDGE + 2;
    } else if (area_a <= 0 && ac_bp - ab_bp >= 0 && ab_cp - ac_cp >= 0) {
        w[2] = (ac_bp - ab_bp) / ((ac_bp - ab_bp) + (ab_cp - ac_cp));
        w[1] = 1 - w[2];
        *feature = FEATURE_EDGE + 1;
    } else {
        double sum = area_a + area_b + area_c;
        w[1] = area_b / sum, w[2] = area_c / sum;
        *feature = FEATURE_FACE;
    }
    w[0] = 1 - w[1] - w[2];
    return vec3_mul_add(vec3_mul_add(t->corner[0], ab, w[1]), ac, w[2]);
}

typedef struct nearest {
    double squared;
    int triangle; /* -1: none yet */
    int feature;
    vec3 point;
    double weights[3];
} nearest;

static void try_leaf(const surface_distance *solid, const bvh_node *node, vec3 p, nearest *best) {
    for (int i = node->first; i < node->first + node->count; i++) {
        double w[3];
        int feature;
        vec3 point = closest_in_triangle(solid->triangle + i, p, w, &feature), offset = vec3_sub(p, point);
        double squared = vec3_dot(offset, offset);
        if (squared < best->squared) *best = (nearest){squared, i, feature, point, {w[0], w[1], w[2]}};
    }
}

/* The nearest triangle among those closer than the square root of `limit_squared`. */
static nearest find_nearest(const surface_distance *solid, vec3 p, double limit_squared) {
    struct {
        int node;
        double squared;
    } stack[BVH_STACK];
    int depth = 0;
    nearest best = {.squared = limit_squared, .triangle = -1};
    stack[depth].node = 0;
    stack[depth++].squared = box_distance_squared(&solid->tree.node[0].bounds, p);
    while (depth > 0) {
        depth--;
        if (stack[depth].squared >= best.squared) continue;
        int left = stack[depth].node + 1;
        const bvh_node *node = solid->tree.node + stack[depth].node;
        if (node->count > 0) {
            try_leaf(solid, node, p, &best);
            continue;
        }
        int right = node->right;
        double left_squared = box_distance_squared(&solid->tree.node[left].bounds, p);
        double right_squared = box_distance_squared(&solid->tree.node[right].bounds, p);
        bool left_first = left_squared <= right_squared;
        stack[depth].node = left_first ? right : left;
        stack[depth++].squared = left_first ? right_squared : left_squared;
        stack[depth].node = left_first ? left : right;
        stack[depth++].squared = left_first ? left_squared : right_squared;
    }
    return best;
}

bool surface_distance_within(const surface_distance *solid, vec3 point, double limit, closest_point *out) {
    nearest best = find_nearest(solid, point, limit * limit);
    if (best.triangle < 0) return false;
    vec3 offset = vec3_sub(point, best.point), pseudonormal = solid->normals[best.triangle].of[best.feature];
    double sign = vec3_dot(offset, pseudonormal) < 0 ? -1 : 1, length = sqrt(best.squared);
    *out = (closest_point){.distance = sign * length,
                           .point = best.point,
                           .normal = length > 0 ? vec3_scale(offset, sign / length) : pseudonormal,
                           .pseudonormal = pseudonormal,
                           .triangle = solid->original[best.triangle],
                           .weights = {best.weights[0], best.weights[1], best.weights[2]}};
    return true;
}

closest_point surface_distance_query(const surface_distance *solid, vec3 point) {
    closest_point result = {0};
    bool found = surface_distance_within(solid, point, INFINITY, &result);
    assert(found);
    (void)found;
    return result;
}

static double evaluate_surface(const void *context, vec3 point, vec3 *normal) {
    closest_point closest = surface_distance_query(context, point);
    if (normal) *normal = closest.normal;
    return closest.distance;
}

signed_distance signed_distance_of_surface(const surface_distance *solid) {
    return (signed_distance){.evaluate = evaluate_surface, .context = solid, .bounds = solid->bounds};
}

typedef struct cut_query {
    const surface_distance *solid;
    const tri_tet *tet;
    box bounds;
    bool cuts;
} cut_query;

static bool visit_cut(void *context, int item) {
    cut_query *query = context;
    const vec3 *corner = query->solid->triangle[item].corner;
    box triangle = box_of(corner, 3);
    if (!box_overlaps(&triangle, &query->bounds)) return true;
    query->cuts = tri_tet_overlaps(query->tet, corner);
    return !query->cuts;
}

bool surface_distance_cuts_tet(const surface_distance *solid, const vec3 corner[4], double tolerance) {
    tri_tet tet = tri_tet_make(corner, tolerance);
    cut_query query = {solid, &tet, box_of(corner, 4), false};
    bvh_overlap(&solid->tree, query.bounds, visit_cut, &query);
    return query.cuts;
}
