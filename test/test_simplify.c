/* Coarser surfaces on some of the vertices of finer ones. */
#include "test_bunny.h"

#include "geometry/distance.h"
#include "geometry/meshing.h"
#include "hand/shape.h"
#include "mesh/mesh.h"

#include <thenar/thenar.h>

#define CLOSENESS 0.2
#define LONGEST 1.5 /* times the wanted length: no edge that is made is longer (simplify.c) */

typedef struct sample {
    const thenar_surface *fine;
    const double *spacing;
    simple_surface simple;
    thenar_surface coarse;
} sample;

/* The triangles of a coarser surface with its own vertices only. */
static thenar_surface extract(const thenar_surface *fine, const simple_surface *simple) {
    thenar_surface out;
    thenar_error error;
    int *number = malloc((size_t)fine->vertex_count * sizeof *number);
    assert_non_null(number);
    assert_ok(surface_create(simple->vertex_count, simple->triangle_count, &out, &error), error);
    for (int i = 0; i < simple->vertex_count; i++) {
        number[simple->vertex[i]] = i;
        vec3_store(out.positions + 3 * (size_t)i, surface_vertex(fine, simple->vertex[i]));
    }
    for (int i = 0; i < 3 * simple->triangle_count; i++) out.triangles[i] = number[simple->triangles[i]];
    free(number);
    return out;
}

static sample simplify(const thenar_surface *fine, const double *spacing) {
    sample s = {.fine = fine, .spacing = spacing};
    thenar_error error;
    assert_ok(surface_simplify(fine, spacing, NULL, CLOSENESS, &s.simple, &error), error);
    s.coarse = extract(fine, &s.simple);
    return s;
}

static void sample_free(sample *s) {
    simple_surface_free(&s->simple);
    thenar_surface_free(&s->coarse);
}

static double *even(const thenar_surface *surface, double length) {
    double *spacing = malloc((size_t)surface->vertex_count * sizeof *spacing);
    for (int v = 0; v < surface->vertex_count; v++) spacing[v] = length;
    return spacing;
}

/* The length of side k of a triangle over the one wanted there. */
static double side_share(const sample *s, int i) {
    int a = s->simple.triangles[i], b = s->simple.triangles[i - i % 3 + (i + 1) % 3];
    return vec3_distance(surface_vertex(s->fine, a), surface_vertex(s->fine, b)) / (s->spacing[a] + s->spacing[b]) * 2;
}

/* Closed with the same genus; no side too long where one was made, and the mean close to what was asked. */
static void check_triangles(const sample *s, double tolerance) {
    thenar_surface_figures fine, coarse;
    thenar_error error;
    assert_ok(surface_check_closed(&s->coarse, &error), error);
    assert_ok(thenar_surface_quality(s->fine, &fine, &error), error);
    assert_ok(thenar_surface_quality(&s->coarse, &coarse, &error), error);
    assert_int_equal(coarse.vertices - coarse.triangles / 2, fine.vertices - fine.triangles / 2);
    double mean = 0, longest = 0;
    for (int i = 0; i < 3 * s->simple.triangle_count; i++) {
        double share = side_share(s, i);
        mean += share / (3 * s->simple.triangle_count);
        longest = fmax(longest, share);
    }
    assert_true(longest <= LONGEST);
    assert_near(mean, 1, tolerance);
    assert_true(coarse.angle_min > 8);
}

/* Every vertex of the finer surface is as close as promised; no triangle is farther from the finer surface than the
 * largest of these, nor turned away from it. */
static void check_distance(const sample *s, double volume_share) {
    surface_distance to_fine, to_coarse;
    thenar_surface_figures fine, coarse;
    thenar_error error;
    assert_ok(thenar_surface_quality(s->fine, &fine, &error), error);
    assert_ok(thenar_surface_quality(&s->coarse, &coarse, &error), error);
    assert_near(coarse.volume / fine.volume, 1, volume_share);
    assert_ok(surface_distance_create(s->fine, &to_fine, &error), error);
    assert_ok(surface_distance_create(&s->coarse, &to_coarse, &error), error);
    double largest = 0;
    for (int v = 0; v < s->fine->vertex_count; v++) {
        double d = fabs(surface_distance_query(&to_coarse, surface_vertex(s->fine, v)).distance);
        assert_true(d <= CLOSENESS * s->spacing[v] + 1e-12);
        largest = fmax(largest, d);
    }
    for (int t = 0; t < s->coarse.triangle_count; t++) {
        vec3 corner[3], middle = {0};
        surface_corners(&s->coarse, t, corner);
        for (int k = 0; k < 3; k++) middle = vec3_mul_add(middle, corner[k], 1.0 / 3);
        closest_point c = surface_distance_query(&to_fine, middle);
        assert_true(fabs(c.distance) <= 1.5 * largest);
        assert_true(vec3_dot(surface_area_vector(&s->coarse, t), c.pseudonormal) > 0);
    }
    surface_distance_free(&to_fine);
    surface_distance_free(&to_coarse);
}

static void a_simpler_sphere_is_round_closed_and_as_fine_as_asked(void **state) {
    (void)state;
    thenar_surface fine;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.05, 24, &fine, &error), error);
    static const double lengths[] = {0.005, 0.008, 0.015};
    for (int i = 0; i < 3; i++) {
        double *spacing = even(&fine, lengths[i]);
        sample s = simplify(&fine, spacing);
        check_triangles(&s, 0.15);
        /* Flat triangles of sides l cut caps off: about l^2 / (2 r^2) of the volume. */
        check_distance(&s, 0.5 * 1.2 * 1.2 * lengths[i] * lengths[i] / (0.05 * 0.05));
        /* Equal triangles of side l have the area sqrt(3)/4 l^2, two a vertex. */
        double points = 4 * 3.14159265358979 * 0.05 * 0.05 / (sqrt(3) / 2 * lengths[i] * lengths[i]);
        assert_near(s.simple.vertex_count / points, 1, 0.3);
        sample_free(&s);
        free(spacing);
    }
    thenar_surface_free(&fine);
}

static void it_is_finer_where_asked(void **state) {
    (void)state;
    thenar_surface fine;
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.05, 24, &fine, &error), error);
    double *spacing = even(&fine, 0.005);
    for (int v = 0; v < fine.vertex_count; v++)
        if (surface_vertex(&fine, v).x < 0) spacing[v] = 0.015;
    sample s = simplify(&fine, spacing);
    check_triangles(&s, 0.15);
    check_distance(&s, 0.05);
    int half[2] = {0};
    for (int i = 0; i < s.simple.vertex_count; i++) half[surface_vertex(&fine, s.simple.vertex[i]).x < 0]++;
    /* Nine times as many; less, as both sides of the border are a mean of the two. */
    assert_true(half[0] > 5 * half[1] && half[0] < 11 * half[1]);
    sample_free(&s);
    free(spacing);
    thenar_surface_free(&fine);
}

static void a_torus_keeps_its_hole_and_the_bunny_its_ears(void **state) {
    (void)state;
    thenar_surface torus, bunny = bunny_load();
    thenar_error error;
    assert_ok(thenar_surface_torus(0.05, 0.02, 24, &torus, &error), error);
    double *spacing = even(&torus, 0.01);
    sample s = simplify(&torus, spacing);
    check_triangles(&s, 0.15);
    check_distance(&s, 0.05);
    sample_free(&s);
    free(spacing);
    spacing = even(&bunny, 0.02);
    s = simplify(&bunny, spacing);
    check_triangles(&s, 0.15);
    check_distance(&s, 0.03);
    assert_true(s.simple.vertex_count < BUNNY_VERTICES / 3);
    sample_free(&s);
    free(spacing);
    thenar_surface_free(&torus);
    thenar_surface_free(&bunny);
}

static void a_hand_touches_with_1500_points_most_of_them_where_it_feels(void **state) {
    (void)state;
    hand_options options = hand_options_default();
    for (int side = 0; side < 2; side++) {
        hand_shape hand;
        thenar_error error;
        options.left = side == 1;
        assert_ok(hand_shape_create(&options, &hand, &error), error);
        sample s = simplify(&hand.skin, hand.contact_spacing);
        check_triangles(&s, 0.15);
        check_distance(&s, 0.04);
        print_message("a hand touches with %d points, %d triangles, of %d vertices\n", s.simple.vertex_count,
                      s.simple.triangle_count, hand.skin.vertex_count);
        assert_near(s.simple.vertex_count, 1500, 75);
        bool *kept = calloc((size_t)hand.skin.vertex_count, sizeof *kept);
        for (int i = 0; i < s.simple.vertex_count; i++) kept[s.simple.vertex[i]] = true;
        for (int finger = 0; finger < HAND_FINGERS; finger++) {
            int points = 0;
            for (int i = 0; i < hand.pad[finger].count; i++) points += kept[hand.pad[finger].vertex[i]];
            assert_true(points > 40);
        }
        free(kept);
        sample_free(&s);
        hand_shape_free(&hand);
    }
}

static void small_hands_have_smaller_spacings(void **state) {
    (void)state;
    hand_options options = hand_options_default();
    options.triangles = HAND_TRIANGLES_MIN;
    double min[2] = {INFINITY, INFINITY};
    for (int i = 0; i < 2; i++) {
        hand_shape hand;
        thenar_error error;
        options.length = i == 0 ? 0.19 : 0.095;
        options.breadth = 0.45 * options.length;
        assert_ok(hand_shape_create(&options, &hand, &error), error);
        for (int v = 0; v < hand.skin.vertex_count; v++) min[i] = fmin(min[i], hand.contact_spacing[v]);
        hand_shape_free(&hand);
    }
    assert_near(min[0], 0.0025, 0.0025 * 0.01);
    assert_near(min[1], min[0] / 2, 1e-9);
}

static void the_border_of_an_open_sheet_stays(void **state) {
    (void)state;
    enum { SIDE = 21 };
    thenar_surface sheet;
    thenar_error error;
    assert_ok(surface_create(SIDE * SIDE, 2 * (SIDE - 1) * (SIDE - 1), &sheet, &error), error);
    for (int v = 0; v < SIDE * SIDE; v++)
        vec3_store(sheet.positions + 3 * v, vec3_make(v % SIDE * 0.01, 0.02 * sin(v / SIDE * 0.3), v / SIDE * 0.01));
    for (int i = 0, *t = sheet.triangles; i < SIDE * (SIDE - 1); i++) {
        if (i % SIDE == SIDE - 1) continue;
        *t++ = i, *t++ = i + SIDE, *t++ = i + 1;
        *t++ = i + 1, *t++ = i + SIDE, *t++ = i + SIDE + 1;
    }
    double *spacing = even(&sheet, 0.03);
    sample s = simplify(&sheet, spacing);
    bool kept[SIDE * SIDE] = {false};
    for (int i = 0; i < s.simple.vertex_count; i++) kept[s.simple.vertex[i]] = true;
    for (int v = 0; v < SIDE * SIDE; v++) {
        bool border = v % SIDE == 0 || v % SIDE == SIDE - 1 || v / SIDE == 0 || v / SIDE == SIDE - 1;
        assert_true(kept[v] || !border);
    }
    assert_true(s.simple.vertex_count < SIDE * SIDE / 2);
    /* A disc has Euler's number 1: vertices - edges + triangles, with 4 (SIDE - 1) sides on the border. */
    int edges = (3 * s.simple.triangle_count + 4 * (SIDE - 1)) / 2;
    assert_int_equal(s.simple.vertex_count - edges + s.simple.triangle_count, 1);
    sample_free(&s);
    free(spacing);
    thenar_surface_free(&sheet);
}

static void what_is_as_coarse_as_can_be_and_what_is_to_stay_stays(void **state) {
    (void)state;
    /* A tetrahedron, far larger lengths asked for; and two that share a corner. */
    double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 0, 0, -1, 0, 0, 0, -1};
    int triangles[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3, 0, 4, 5, 0, 6, 4, 0, 5, 6, 4, 6, 5};
    for (int parts = 1; parts <= 2; parts++) {
        thenar_surface s = {
            .vertex_count = 1 + 3 * parts, .triangle_count = 4 * parts, .positions = positions, .triangles = triangles};
        double *spacing = even(&s, 100);
        sample kept = simplify(&s, spacing);
        assert_int_equal(kept.simple.vertex_count, 1 + 3 * parts);
        assert_int_equal(kept.simple.triangle_count, 4 * parts);
        sample_free(&kept);
        free(spacing);
    }
    thenar_surface bunny = bunny_load();
    double *spacing = even(&bunny, 0);
    sample s = simplify(&bunny, spacing);
    assert_int_equal(s.simple.vertex_count, BUNNY_VERTICES);
    assert_memory_equal(s.simple.triangles, bunny.triangles, sizeof(int) * 3 * BUNNY_TRIANGLES);
    sample_free(&s);
    free(spacing);
    thenar_surface_free(&bunny);
}

static void it_is_the_same_each_time_and_wherever_the_surface_is(void **state) {
    (void)state;
    thenar_surface bunny = bunny_load(), moved = bunny_load();
    /* By whole numbers that leave the digits of the positions as they are to 1e-13. */
    for (int i = 0; i < 3 * moved.vertex_count; i++) moved.positions[i] += 64;
    double *spacing = even(&bunny, 0.02);
    sample a = simplify(&bunny, spacing), b = simplify(&bunny, spacing), c = simplify(&moved, spacing);
    assert_int_equal(a.simple.triangle_count, b.simple.triangle_count);
    assert_memory_equal(a.simple.vertex, b.simple.vertex, (size_t)a.simple.vertex_count * sizeof(int));
    assert_memory_equal(a.simple.triangles, b.simple.triangles, 3 * (size_t)a.simple.triangle_count * sizeof(int));
    assert_int_equal(a.simple.vertex_count, c.simple.vertex_count);
    for (int i = 1; i < a.simple.vertex_count; i++) assert_true(a.simple.vertex[i] > a.simple.vertex[i - 1]);
    sample_free(&a);
    sample_free(&b);
    sample_free(&c);
    free(spacing);
    thenar_surface_free(&bunny);
    thenar_surface_free(&moved);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_simpler_sphere_is_round_closed_and_as_fine_as_asked),
    cmocka_unit_test(it_is_finer_where_asked),
    cmocka_unit_test(a_torus_keeps_its_hole_and_the_bunny_its_ears),
    cmocka_unit_test(a_hand_touches_with_1500_points_most_of_them_where_it_feels),
    cmocka_unit_test(small_hands_have_smaller_spacings),
    cmocka_unit_test(the_border_of_an_open_sheet_stays),
    cmocka_unit_test(what_is_as_coarse_as_can_be_and_what_is_to_stay_stays),
    cmocka_unit_test(it_is_the_same_each_time_and_wherever_the_surface_is),
};

TEST_MAIN(tests)
