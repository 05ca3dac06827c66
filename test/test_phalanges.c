/* Hands cut into phalanges. */
#include "test.h"

#include "mesh/mesh.h"
#include "hand/shape.h"
#include "io/file.h"

#include <thenar/thenar.h>

#define RIGHT SOURCE_DIR "/assets/meshes/hand-right.glb"
#define LEFT SOURCE_DIR "/assets/meshes/hand-left.glb"

/* file: NULL for the built-in hand. */
static hand_shape make_hand(const char *file, bool left) {
    hand_options options = hand_options_default();
    hand_shape hand;
    thenar_error error;
    options.left = left;
    options.triangles = 6000;
    if (file)
        assert_ok(hand_gltf_load(file, (hand_fineness){.tets = 600}, &hand, &error), error);
    else
        assert_ok(hand_shape_create(&options, &hand, &error), error);
    return hand;
}

/* As the default, with coarser skins: quicker. */
static hand_phalanges_options quick(void) {
    hand_phalanges_options options = hand_phalanges_options_default();
    options.triangles = 6000;
    return options;
}

static hand_phalanges make(const hand_shape *hand, hand_phalanges_options options) {
    hand_phalanges phalanges;
    thenar_error error;
    assert_ok(hand_phalanges_create(hand, &options, &phalanges, &error), error);
    return phalanges;
}

/* One closed skin without holes, of triangles that are no slivers. */
static double check_skin(const hand_phalanx *piece) {
    thenar_surface_figures figures;
    thenar_error error;
    assert_ok(surface_check_closed(&piece->skin, &error), error);
    assert_ok(thenar_surface_quality(&piece->skin, &figures, &error), error);
    assert_int_equal(figures.vertices - figures.triangles / 2, 2);
    assert_true(figures.angle_min > 8);
    return figures.volume;
}

/* One valid mesh that contains the skin and is filled by it. */
static void check_tets(const hand_phalanx *piece, double volume) {
    thenar_tet_figures figures;
    thenar_error error;
    boundary b;
    assert_ok(thenar_tet_mesh_quality(&piece->mesh, &figures, &error), error);
    assert_int_equal(figures.parts, 1);
    assert_int_equal(figures.inverted + figures.flat, 0);
    assert_true(figures.radius_ratio_min > 0.3);
    assert_ok(boundary_create(&piece->mesh, &b, &error), error);
    assert_ok(surface_check_closed(&b.surface, &error), error);
    boundary_free(&b);
    double filled = 0;
    for (int t = 0; t < piece->mesh.tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(&piece->mesh, t, corner);
        filled += piece->fill[t] * tet_volume(corner);
        assert_int_equal(piece->mesh.tags[t], piece->bone);
    }
    /* The fill is exact to about 3 % of tets this large. */
    assert_near(filled / volume, 1, 0.05);
    /* Coarse flat faces stand off a round skin: twice its volume at most. */
    assert_true(figures.volume < 2 * volume);
    for (int v = 0; v < piece->skin.vertex_count; v++) {
        vec3 sum = {0};
        for (int k = 0; k < 4; k++) {
            double w = piece->embedding.weights[4 * v + k];
            assert_true(w >= -1e-9);
            sum = vec3_mul_add(sum, tet_mesh_node(&piece->mesh, tet_mesh_tet(&piece->mesh, piece->embedding.tet[v])[k]),
                               w);
        }
        assert_near(vec3_distance(sum, surface_vertex(&piece->skin, v)), 0, 1e-12);
    }
}

/* Nodes are held in the bone, all along it and on more than a line. */
static void check_binding(const hand_shape *hand, const hand_phalanx *piece) {
    hand_joint j = hand_bone_joint(piece->bone);
    vec3 start = hand->joint[j].position, way = vec3_sub(hand->joint[j + 1].position, start), first = {0};
    double length = vec3_length(way), low = INFINITY, high = -INFINITY, width = 0;
    int held = 0;
    for (int n = 0; n < piece->mesh.node_count; n++) {
        assert_true(piece->node_core[n] >= 0 && piece->node_core[n] <= 1);
        if (!piece->held[n]) continue;
        vec3 p = tet_mesh_node(&piece->mesh, n);
        if (held++ == 0) first = p;
        double along = vec3_dot(vec3_sub(p, start), way) / (length * length);
        low = fmin(low, along);
        high = fmax(high, along);
        width = fmax(width, vec3_length(vec3_cross(vec3_sub(p, first), way)) / length);
        assert_true(piece->node_core[n] > 0.3);
    }
    assert_true(held >= 4 && held < piece->mesh.node_count / 3);
    if (piece->bone == 0) return;
    assert_true(high - low > 0.3);
    assert_true(width > 0.001);
}

static void check_hand(const char *file, bool left) {
    hand_shape hand = make_hand(file, left);
    hand_phalanges_options options = quick();
    options.palm_tets = 400;
    hand_phalanges phalanges = make(&hand, options);
    thenar_surface_figures whole;
    thenar_error error;
    assert_ok(thenar_surface_quality(&hand.skin, &whole, &error), error);
    assert_int_equal(phalanges.count, HAND_BONES);
    double sum = 0;
    int tets = 0;
    for (int i = 0; i < phalanges.count; i++) {
        const hand_phalanx *piece = &phalanges.piece[i];
        assert_int_equal(piece->bone, i < HAND_BONES - 1 ? i + 1 : 0);
        double volume = check_skin(piece);
        check_tets(piece, volume);
        check_binding(&hand, piece);
        sum += volume;
        if (piece->bone == 0) {
            assert_near(piece->mesh.tet_count, options.palm_tets, 0.15 * options.palm_tets);
        } else {
            tets += piece->mesh.tet_count;
            assert_near(piece->mesh.tet_count, options.tets / 15.0, 0.5 * options.tets / 15);
        }
    }
    print_message("%s: %d tets in 15 phalanges; with the palm they hold %.2f %% of the hand\n",
                  file ? "glTF" : "built-in", tets, 100 * sum / whole.volume);
    assert_near(tets, options.tets, 0.04 * options.tets);
    /* Nothing is there twice, and only the rounded edges of the cuts and the flats of new triangles are lost. */
    assert_near(sum / whole.volume, 0.98, 0.02);
    hand_phalanges_free(&phalanges);
    hand_shape_free(&hand);
}

static void a_hand_is_fifteen_closed_phalanges_and_a_palm_on_valid_tets(void **state) {
    (void)state;
    check_hand(NULL, false);
    if (test_full()) check_hand(NULL, true); /* its mirror image */
}

static void a_hand_from_a_file_is_fifteen_closed_phalanges_and_a_palm_too(void **state) {
    (void)state;
    if (test_full()) check_hand(RIGHT, false);
    check_hand(LEFT, true);
}

static void a_vertex_is_on_the_hands_skin_or_on_a_cut_between_two_pieces(void **state) {
    (void)state;
    hand_shape hand = make_hand(NULL, true);
    hand_phalanges phalanges = make(&hand, quick());
    surface_distance skin;
    thenar_error error;
    assert_int_equal(phalanges.count, HAND_BONES - 1);
    assert_ok(surface_distance_create(&hand.skin, &skin, &error), error);
    hand_cut cut;
    hand_cut_make(&hand, &skin, &cut);
    for (int i = 0; i < phalanges.count; i++) {
        const hand_phalanx *piece = &phalanges.piece[i];
        int cuts = 0;
        for (int v = 0; v < piece->skin.vertex_count; v++) {
            vec3 p = surface_vertex(&piece->skin, v);
            double depth = -surface_distance_query(&skin, p).distance;
            cuts += piece->cut[v];
            /* The net lies on the skin to within a fraction of its cells of 3 mm. */
            if (!piece->cut[v]) assert_near(depth, 0, 0.0002);
            /* On a cut it is at the border of its bone's part, to within the fillet. */
            if (piece->cut[v]) assert_near(hand_cut_region(&cut, piece->bone, p), 0, cut.fillet);
            assert_true(hand_cut_region(&cut, piece->bone, p) < 0.0003);
            assert_true(piece->contact_spacing[v] >= 0.002 && piece->contact_spacing[v] < 0.05);
        }
        assert_true(cuts > 10 && cuts < piece->skin.vertex_count * 2 / 3);
    }
    surface_distance_free(&skin);
    hand_phalanges_free(&phalanges);
    hand_shape_free(&hand);
}

static void points_belong_to_one_bone_each(void **state) {
    (void)state;
    hand_shape hand = make_hand(NULL, false);
    surface_distance skin;
    thenar_error error;
    assert_ok(surface_distance_create(&hand.skin, &skin, &error), error);
    hand_cut cut;
    hand_cut_make(&hand, &skin, &cut);
    box b = skin.bounds;
    for (int i = 0; i < 20 * 20 * 40; i++) {
        vec3 share = {i % 20 / 19.0, i / 20 % 20 / 19.0, i / 400 / 39.0}, size = vec3_sub(b.high, b.low), p;
        p = vec3_add(b.low, vec3_make(share.x * size.x, share.y * size.y, share.z * size.z));
        if (surface_distance_query(&skin, p).distance > 0) continue;
        int owners = 0;
        for (int bone = 0; bone < HAND_BONES; bone++) owners += hand_cut_region(&cut, bone, p) < 0;
        assert_int_equal(owners, 1);
    }
    surface_distance_free(&skin);
    hand_shape_free(&hand);
}

static void more_tets_are_there_when_asked_for_and_the_same_each_time(void **state) {
    (void)state;
    hand_shape hand = make_hand(NULL, false);
    hand_phalanges_options options = quick();
    options.tets = 3000;
    hand_phalanges a = make(&hand, options), b = make(&hand, options);
    int tets = 0;
    for (int i = 0; i < a.count; i++) {
        const hand_phalanx *p = &a.piece[i], *q = &b.piece[i];
        check_tets(p, check_skin(p));
        check_binding(&hand, p);
        tets += p->mesh.tet_count;
        assert_int_equal(p->mesh.tet_count, q->mesh.tet_count);
        assert_memory_equal(p->mesh.positions, q->mesh.positions, 3 * (size_t)p->mesh.node_count * sizeof(double));
        assert_memory_equal(p->skin.positions, q->skin.positions, 3 * (size_t)p->skin.vertex_count * sizeof(double));
        assert_memory_equal(p->held, q->held, (size_t)p->mesh.node_count * sizeof(bool));
    }
    assert_near(tets, 3000, 0.04 * 3000);
    hand_phalanges_free(&a);
    hand_phalanges_free(&b);
    hand_shape_free(&hand);
}

static void numbers_that_make_no_phalanges_are_refused(void **state) {
    (void)state;
    static const hand_phalanges_options bad[] = {{10, 15000, 0, 0}, {-1, 15000, 0, 0},   {100000000, 15000, 0, 0},
                                                 {1513, 10, 0, 0},  {1513, 15000, 1, 0}, {1513, 15000, -5, 0}};
    hand_shape hand = make_hand(NULL, false);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hand_phalanges phalanges;
        thenar_error error;
        assert_int_equal(hand_phalanges_create(&hand, &bad[i], &phalanges, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "expected"));
        assert_int_equal(phalanges.count, 0);
    }
    hand_shape_free(&hand);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_hand_is_fifteen_closed_phalanges_and_a_palm_on_valid_tets),
    cmocka_unit_test(a_hand_from_a_file_is_fifteen_closed_phalanges_and_a_palm_too),
    cmocka_unit_test(a_vertex_is_on_the_hands_skin_or_on_a_cut_between_two_pieces),
    cmocka_unit_test(points_belong_to_one_bone_each),
    cmocka_unit_test(more_tets_are_there_when_asked_for_and_the_same_each_time),
    cmocka_unit_test(numbers_that_make_no_phalanges_are_refused),
};

TEST_MAIN(tests)
