/* The levels of detail of a hand's tets: size, shape, bones, cover of the skin. TEST_PRINT=1 prints the figures. */
#include "test.h"

#include "geometry/distance.h"
#include "hand/shape.h"
#include "mesh/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct figures {
    thenar_tet_figures mesh;
    double dihedral_median;         /* of the smallest angle of each tet, degrees */
    double pad_median, pad_longest; /* edges at the skin of the finger pads, m */
    double outside;                 /* how far a weight of the embedding lies outside 0..1 */
    int in_bone, rigid, foreign;    /* nodes in bones; tets with four of one bone; vertices in tets of another finger */
    int tissue[HAND_TISSUES];
    int of_bone[HAND_BONES]; /* nodes in each bone */
    double pad_points;       /* vertices of the pads per 100 mm^2 that contact points could take */
} figures;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, size_t count) {
    if (count == 0) return 0;
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static double smallest_angle(const thenar_tet_mesh *mesh, int tet) {
    vec3 corner[4];
    double angle[6], min = INFINITY;
    tet_mesh_corners(mesh, tet, corner);
    tet_dihedral_angles(corner, angle);
    for (int i = 0; i < 6; i++) min = fmin(min, angle[i] * 180 / 3.14159265358979323846);
    return min;
}

/* Edges of the boundary of the tets in which the pads lie. */
static void measure_pads(const hand_shape *hand, figures *f) {
    boundary b;
    thenar_error error;
    assert_ok(boundary_create(&hand->mesh, &b, &error), error);
    bool *pad = calloc((size_t)hand->mesh.tet_count, sizeof *pad);
    double *edges = malloc(3 * (size_t)b.surface.triangle_count * sizeof *edges);
    size_t count = 0;
    for (int finger = 0; finger < HAND_FINGERS; finger++)
        for (int i = 0; i < hand->pad[finger].count; i++) {
            int v = hand->pad[finger].vertex[i], bone = 3 * finger + 3;
            const hand_frame *frame = &hand->joint[hand_bone_joint(bone)];
            vec3 d = vec3_sub(surface_vertex(&hand->skin, v), frame->position);
            double length = vec3_distance(frame[1].position, frame->position);
            if (vec3_dot(d, hand_frame_along(frame)) > 0.35 * length) pad[hand->embedding.tet[v]] = true;
        }
    for (int t = 0; t < b.surface.triangle_count; t++)
        for (int k = 0; k < 3 && pad[b.tet[t]]; k++) {
            const int *v = surface_triangle(&b.surface, t);
            edges[count++] =
                vec3_distance(surface_vertex(&b.surface, v[k]), surface_vertex(&b.surface, v[(k + 1) % 3]));
        }
    f->pad_median = median(edges, count);
    f->pad_longest = count ? edges[count - 1] : 0;
    free(pad);
    free(edges);
    boundary_free(&b);
}

static bool is_rigid(const hand_shape *hand, int tet) {
    const int *node = tet_mesh_tet(&hand->mesh, tet);
    for (int k = 0; k < 4; k++)
        if (!hand->node_in_bone[node[k]] || hand->node_skinning[node[k]].weight[0] < 1 ||
            hand->node_bone[node[k]] != hand->node_bone[node[0]])
            return false;
    return true;
}

static figures measure(const hand_shape *hand) {
    figures f = {0};
    thenar_error error;
    assert_ok(thenar_tet_mesh_quality(&hand->mesh, &f.mesh, &error), error);
    double *angle = malloc((size_t)hand->mesh.tet_count * sizeof *angle);
    for (int t = 0; t < hand->mesh.tet_count; t++) {
        angle[t] = smallest_angle(&hand->mesh, t);
        f.rigid += is_rigid(hand, t);
        f.tissue[hand->tet_tissue[t]]++;
    }
    f.dihedral_median = median(angle, (size_t)hand->mesh.tet_count);
    free(angle);
    for (int v = 0; v < hand->skin.vertex_count; v++) {
        for (int k = 0; k < 4; k++) {
            double w = hand->embedding.weights[4 * v + k];
            f.outside = fmax(f.outside, fmax(-w, w - 1));
        }
        int a = hand->vertex_bone[v], b = hand->mesh.tags[hand->embedding.tet[v]];
        f.foreign += a > 0 && b > 0 && (a - 1) / 3 != (b - 1) / 3;
    }
    for (int n = 0; n < hand->mesh.node_count; n++) {
        f.in_bone += hand->node_in_bone[n];
        f.of_bone[hand->node_bone[n]] += hand->node_in_bone[n];
    }
    double area = 0, points = 0;
    for (int finger = 0; finger < HAND_FINGERS; finger++)
        for (int i = 0; i < hand->pad[finger].count; i++) {
            area += hand->pad[finger].area[i];
            points++;
        }
    f.pad_points = points / area * 1e-4;
    measure_pads(hand, &f);
    return f;
}

static void print(const char *name, const hand_shape *hand, const figures *f, double seconds) {
    if (!getenv("TEST_PRINT")) return;
    printf("%-22s %6d tets %5d nodes %5d in bone %4d rigid tets, parts %d, quality min %.2f mean %.2f, dihedral min "
           "%.1f median %.1f, pads %.2f (longest %.2f) mm, outside %.1e, foreign %d, tissue %d %d %d %d, points %.0f, "
           "%.2f s\n   bones",
           name, f->mesh.tets, hand->mesh.node_count, f->in_bone, f->rigid, f->mesh.parts, f->mesh.radius_ratio_min,
           f->mesh.radius_ratio_mean, f->mesh.dihedral_min, f->dihedral_median, 1e3 * f->pad_median,
           1e3 * f->pad_longest, f->outside, f->foreign, f->tissue[0], f->tissue[1], f->tissue[2], f->tissue[3],
           f->pad_points, seconds);
    for (int b = 0; b < HAND_BONES; b++) printf(" %d", f->of_bone[b]);
    printf("\n");
}

static hand_shape make(hand_options options, const char *name, figures *f) {
    hand_shape hand;
    thenar_error error;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    assert_ok(hand_shape_create(&options, &hand, &error), error);
    clock_gettime(CLOCK_MONOTONIC, &to);
    *f = measure(&hand);
    print(name, &hand, f, (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    return hand;
}

/* Three nodes of a bone that span a triangle hold it. */
static bool spans_triangle(const hand_shape *hand, int bone) {
    int first = -1, second = -1;
    double largest = 0;
    for (int n = 0; n < hand->mesh.node_count; n++) {
        if (!hand->node_in_bone[n] || hand->node_bone[n] != bone) continue;
        vec3 p = tet_mesh_node(&hand->mesh, n);
        if (first < 0)
            first = n;
        else if (second < 0)
            second = n;
        else
            largest = fmax(largest, vec3_length(vec3_cross(vec3_sub(tet_mesh_node(&hand->mesh, first), p),
                                                           vec3_sub(tet_mesh_node(&hand->mesh, second), p))));
    }
    return largest > 1e-7;
}

static void check(const hand_shape *hand, const figures *f, int tets, double quality, double outside) {
    assert_near(f->mesh.tets, tets, 0.15 * tets);
    assert_int_equal(f->mesh.inverted + f->mesh.flat, 0);
    assert_int_equal(f->mesh.parts, 1);
    assert_true(f->mesh.radius_ratio_min > quality);
    assert_true(f->outside < outside);
    for (int bone = 0; bone < HAND_BONES; bone++) assert_true(spans_triangle(hand, bone));
    for (int n = 0; n < hand->mesh.node_count; n++)
        assert_true(!hand->node_in_bone[n] || hand->node_skinning[n].weight[2] == 0);
}

static void each_level_has_its_number_of_tets_covers_the_skin_and_has_bones(void **state) {
    (void)state;
    static const char *const names[] = {"coarse", "medium", "fine"};
    static const int tets[] = {600, 4000, 15000};
    /* Median edges at the pads, m. Shorter ones at the skin alone leave larger tets below, and the pressure of a pad on
     * a plate is less even (bench pad). */
    static const double quality[] = {0.3, 0.08, 0.08}, pads[] = {1, 2.4e-3, 1.6e-3};
    for (int detail = 0; detail < 3; detail++) {
        hand_options options = hand_options_default();
        options.fineness.detail = (thenar_hand_detail)detail;
        figures f;
        hand_shape hand = make(options, names[detail], &f);
        check(&hand, &f, tets[detail], quality[detail], 1e-9);
        assert_true(f.pad_median < pads[detail]);
        /* 25 points in 100 mm^2 of a pad, if every vertex is one. */
        if (detail > 0) assert_true(f.pad_points >= 25);
        hand_shape_free(&hand);
    }
}

static void medium_hands_of_all_sizes_have_valid_meshes(void **state) {
    (void)state;
    static const double sizes[][2] = {{0.176, 0.077},
                                      {HAND_LENGTH_MIN, HAND_SLENDER * HAND_LENGTH_MIN},
                                      {HAND_LENGTH_MIN, HAND_BROAD * HAND_LENGTH_MIN},
                                      {HAND_LENGTH_MAX, HAND_SLENDER * HAND_LENGTH_MAX},
                                      {HAND_LENGTH_MAX, HAND_BROAD * HAND_LENGTH_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hand_options options = hand_options_default();
        options.length = sizes[i][0];
        options.breadth = sizes[i][1];
        options.triangles = 6000;
        options.fineness.detail = THENAR_HAND_MEDIUM;
        char name[64];
        snprintf(name, sizeof name, "medium %.0f x %.0f", 1e3 * sizes[i][0], 1e3 * sizes[i][1]);
        figures f;
        hand_shape hand = make(options, name, &f);
        check(&hand, &f, 4000, 0.04, 1e-9);
        hand_shape_free(&hand);
    }
}

static void a_medium_left_hand_is_the_mirror_image_of_a_right_one(void **state) {
    (void)state;
    hand_options options = hand_options_default();
    options.triangles = 6000;
    options.fineness.detail = THENAR_HAND_MEDIUM;
    figures f, g;
    hand_shape right = make(options, "right", &f);
    options.left = true;
    hand_shape left = make(options, "left", &g);
    assert_int_equal(f.mesh.tets, g.mesh.tets);
    assert_int_equal(g.mesh.inverted, 0);
    for (int n = 0; n < 3 * right.mesh.node_count; n++)
        assert_true(left.mesh.positions[n] == (n % 3 == 0 ? -1 : 1) * right.mesh.positions[n]);
    assert_memory_equal(left.node_in_bone, right.node_in_bone, (size_t)right.mesh.node_count * sizeof(bool));
    assert_memory_equal(left.tet_tissue, right.tet_tissue, (size_t)right.mesh.tet_count);
    hand_shape_free(&left);
    hand_shape_free(&right);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_level_has_its_number_of_tets_covers_the_skin_and_has_bones),
    cmocka_unit_test(medium_hands_of_all_sizes_have_valid_meshes),
    cmocka_unit_test(a_medium_left_hand_is_the_mirror_image_of_a_right_one),
};

TEST_MAIN(tests)
