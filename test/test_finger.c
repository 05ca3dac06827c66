/* The finger of scenes. */
#include "test.h"

#include "hand/shape.h"
#include "mesh/mesh.h"

#include <thenar/thenar.h>

#include <unistd.h>

typedef struct made {
    thenar_tet_mesh mesh;
    boundary skin;
    thenar_tet_figures figures;
} made;

static made make(double length, double pulp, int tets) {
    made f;
    thenar_error error;
    finger_options options = {.length = length, .pulp = pulp, .target_tets = tets};
    assert_ok(finger_mesh(&options, &f.mesh, &error), error);
    assert_ok(boundary_create(&f.mesh, &f.skin, &error), error);
    assert_ok(thenar_tet_mesh_quality(&f.mesh, &f.figures, &error), error);
    return f;
}

static void unmake(made *f) {
    thenar_tet_mesh_free(&f->mesh);
    boundary_free(&f->skin);
}

static made make_default(void) {
    finger_options options = finger_options_default();
    return make(options.length, options.pulp, options.target_tets);
}

/* Volume between two distances from the tip: a section is two half ellipses, the integral is Simpson's. */
static double volume_between(double from, double to) {
    const double pi = 3.14159265358979323846;
    double sum = 0;
    int pieces = 20000;
    for (int i = 0; i <= pieces; i++) {
        double s = from + (to - from) * i / pieces;
        double across = finger_skin_point(s, pi / 2).x;
        double high = finger_skin_point(s, pi).y - finger_skin_point(s, 0).y;
        sum += pi / 2 * across * high * (i == 0 || i == pieces ? 1 : i % 2 ? 4 : 2);
    }
    return sum * (to - from) / pieces / 3;
}

static void the_default_finger_has_342_tets_of_good_shape(void **state) {
    (void)state;
    made f = make_default();
    assert_int_equal(f.figures.tets, 342);
    assert_int_equal(f.figures.nodes, 113);
    assert_int_equal(f.figures.parts, 1);
    assert_int_equal(f.figures.inverted + f.figures.flat, 0);
    assert_true(f.figures.radius_ratio_min > 0.2);
    assert_true(f.figures.radius_ratio_mean > 0.5);
    assert_true(f.figures.dihedral_min > 6);
    unmake(&f);
}

static void a_finger_of_any_size_has_valid_tets_and_its_size_within_ten_percent(void **state) {
    (void)state;
    static const int tets[] = {FINGER_TETS_MIN, 347, 600, 1200, 3000, 10000, FINGER_TETS_MAX};
    static const double sizes[][2] = {{0.07, 0.006},
                                      {FINGER_LENGTH_MIN, FINGER_PULP_MIN},
                                      {FINGER_LENGTH_MIN, FINGER_PULP_MAX},
                                      {FINGER_LENGTH_MAX, FINGER_PULP_MIN},
                                      {FINGER_LENGTH_MAX, FINGER_PULP_MAX}};
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < (k == 0 ? 7 : 6); i++) {
            made f = make(sizes[k][0], sizes[k][1], tets[i]);
            thenar_error error;
            assert_near(f.figures.tets, tets[i], 0.1 * tets[i]);
            assert_int_equal(f.figures.parts, 1);
            assert_int_equal(f.figures.inverted + f.figures.flat, 0);
            /* A long finger of few tets has long tets. */
            assert_true(f.figures.radius_ratio_min > 0.09);
            assert_ok(surface_check_closed(&f.skin.surface, &error), error);
            assert_near(mass_of_surface(&f.skin.surface, 1).mass, f.figures.volume, 1e-9 * f.figures.volume);
            unmake(&f);
        }
}

static void every_node_of_the_boundary_is_on_the_skin_or_in_the_cut(void **state) {
    (void)state;
    const double pi = 3.14159265358979323846;
    for (int tets = 347; tets < 5000; tets *= 3) {
        made f = make(0.07, 0.006, tets);
        for (int v = 0; v < f.skin.surface.vertex_count; v++) {
            vec3 p = surface_vertex(&f.skin.surface, v);
            double s = p.z + 0.07;
            if (fabs(p.z) < 1e-12 || s < 1e-12) continue;
            double across = finger_skin_point(s, pi / 2).x, high = finger_skin_point(s, p.y < 0 ? 0 : pi).y;
            assert_near(hypot(p.x / across, p.y / high), 1, 1e-6);
        }
        unmake(&f);
    }
}

static void more_tets_come_closer_to_the_volume_of_the_round_form(void **state) {
    (void)state;
    double round = volume_between(0, 0.07), last = 0.06;
    for (int tets = 347; tets < 50000; tets *= 8) {
        made f = make(0.07, 0.006, tets);
        double miss = 1 - f.figures.volume / round;
        /* Chords of arcs: less than the round form, and most of what is added goes to the pad. */
        assert_true(miss > 0 && miss < last);
        last = 0.9 * miss;
        unmake(&f);
    }
}

/* The mean edge of the skin's triangles there. */
static double mean_edge(const made *f, double from, double to, bool pad_side) {
    double sum = 0;
    int count = 0;
    for (int t = 0; t < f->skin.surface.triangle_count; t++) {
        vec3 c[3];
        surface_corners(&f->skin.surface, t, c);
        vec3 middle = vec3_scale(vec3_add(vec3_add(c[0], c[1]), c[2]), 1.0 / 3);
        if (middle.z + 0.07 < from || middle.z + 0.07 > to || (middle.y < -0.003) != pad_side) continue;
        for (int i = 0; i < 3; i++) sum += vec3_distance(c[i], c[(i + 1) % 3]);
        count += 3;
    }
    return sum / count;
}

static void the_pad_is_the_finest(void **state) {
    (void)state;
    for (int tets = 347; tets < 50000; tets *= 5) {
        made f = make(0.07, 0.006, tets);
        double pad = mean_edge(&f, 0.003, 0.014, true);
        if (tets == 347) assert_true(pad < 0.0045);
        assert_true(mean_edge(&f, 0.003, 0.014, false) > 1.1 * pad);
        assert_true(mean_edge(&f, 0.04, 0.069, true) > 2 * pad);
        unmake(&f);
    }
}

static void the_phalanges_have_the_volume_and_thickness_of_an_index_finger(void **state) {
    (void)state;
    const double quarter = 3.14159265358979323846 / 2, breadth = 0.086;
    /* 2.5 and 4.4 cm^3 are of another hand than the thickness: within 10 %. */
    assert_near(volume_between(0, 0.0196), 2.5e-6, 0.25e-6);
    assert_near(volume_between(0.0196, 0.042), 4.4e-6, 0.44e-6);
    /* Shares of hand breadth, in the middle of the phalanges; joints add up to 0.15 mm there. */
    assert_near(2 * finger_skin_point(0.0098, quarter).x, 0.176 * breadth, 0.0003);
    assert_near(2 * finger_skin_point(0.0308, quarter).x, 0.198 * breadth, 0.0003);
    assert_near(2 * finger_skin_point(0.0619, quarter).x, 0.229 * breadth, 0.0003);
}

static void the_finger_points_along_minus_z_with_the_pad_down_and_is_its_own_mirror_image(void **state) {
    (void)state;
    made f = make_default();
    vec3 low = tet_mesh_node(&f.mesh, 0), high = low;
    for (int n = 0; n < f.mesh.node_count; n++) {
        low = vec3_min(low, tet_mesh_node(&f.mesh, n));
        high = vec3_max(high, tet_mesh_node(&f.mesh, n));
    }
    assert_near(low.z, -0.07, 1e-12);
    assert_near(high.z, 0, 1e-12);
    assert_near(low.x, -high.x, 1e-12);
    assert_true(-low.y > high.y);
    /* Every tet has a mirrored one. */
    for (int t = 0; t < f.mesh.tet_count; t++) {
        vec3 corner[4], other[4];
        tet_mesh_corners(&f.mesh, t, corner);
        bool found = false;
        for (int u = 0; u < f.mesh.tet_count && !found; u++) {
            int same = 0;
            tet_mesh_corners(&f.mesh, u, other);
            for (int i = 0; i < 16; i++) {
                vec3 p = corner[i / 4];
                same += vec3_distance(vec3_make(-p.x, p.y, p.z), other[i % 4]) < 1e-9;
            }
            found = same == 4;
        }
        assert_true(found);
    }
    unmake(&f);
}

static void the_bone_is_a_core_that_ends_before_the_tip_and_touches_no_skin(void **state) {
    (void)state;
    for (int tets = 347; tets < 5000; tets *= 3) {
        made f = make(0.07, 0.006, tets);
        bool *bone = calloc((size_t)f.mesh.node_count, sizeof *bone);
        bool *outside = calloc((size_t)f.mesh.node_count, sizeof *outside);
        int count = 0, at_end = 0;
        for (int v = 0; v < f.skin.surface.vertex_count; v++) outside[f.skin.node[v]] = true;
        for (int t = 0; t < f.mesh.tet_count; t++)
            for (int i = 0; i < 4; i++) bone[tet_mesh_tet(&f.mesh, t)[i]] |= f.mesh.tags[t] == FINGER_BONE;
        for (int n = 0; n < f.mesh.node_count; n++) {
            if (!bone[n]) continue;
            vec3 p = tet_mesh_node(&f.mesh, n);
            count++;
            at_end += fabs(p.z + 0.064) < 1e-9;
            assert_true(p.z > -0.064 - 1e-9);
            assert_true(hypot(p.x, p.y) < 0.007);
            assert_true(!outside[n] || p.z > -1e-9); /* the cut end shows it */
        }
        if (tets == 347) assert_int_equal(count, 24);
        assert_true(at_end >= 4);
        free(bone);
        free(outside);
        unmake(&f);
    }
}

static void sizes_that_make_no_finger_are_refused(void **state) {
    (void)state;
    static const finger_options bad[] = {{0.02, 0.006, 347},
                                         {0.2, 0.006, 347},
                                         {NAN, 0.006, 347},
                                         {0.07, 0, 347},
                                         {0.07, 0.011, 347},
                                         {0.07, NAN, 347},
                                         {0.07, 0.006, FINGER_TETS_MIN - 1},
                                         {0.07, 0.006, -1},
                                         {0.07, 0.006, FINGER_TETS_MAX + 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_tet_mesh mesh;
        thenar_error error;
        assert_int_equal(finger_mesh(&bad[i], &mesh, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "expected"));
        assert_int_equal(mesh.tet_count, 0);
    }
}

static void a_finger_in_a_scene_has_its_mass_and_follows_its_bone(void **state) {
    (void)state;
    static const char scene[] =
        "thenar: 1\n"
        "gravity: [0, 0, 0]\n"
        "bodies:\n"
        "  finger:\n"
        "    shape: {finger: {tets: 3000}, scale: 0.5, turn: [0, 0.3, 0], move: [0.1, 0.2, 0.3]}\n"
        "    material: {young: 2e6, density: 1000}\n"
        "    supports:\n"
        "      bone: {where: {tag: bone}, keys: [{time: 0}, {time: 1, move: [0, 0.01, 0]}]}\n";
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    char path[] = "finger-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, scene, sizeof scene - 1) == (ssize_t)(sizeof scene - 1));
    close(file);
    assert_ok(thenar_scene_load(path, NULL, &model, NULL, &error), error);
    remove(path);
    made f = make(0.07, 0.006, 3000);
    double mass = 1000 * 0.125 * f.figures.volume;
    unmake(&f);
    assert_near(thenar_model_mass(model, 0), mass, 1e-9 * mass);
    assert_ok(thenar_sim_create(model, NULL, &sim, &error), error);
    double rest = thenar_sim_positions(sim, 0)[1];
    for (int i = 0; i < 150; i++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
    /* At rest in the new place: nothing but the bone has pulled it there. */
    assert_near(thenar_sim_positions(sim, 0)[1] - rest, 0.01, 1e-6);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* What a scene of the finger does over its time. */
typedef struct outcome {
    uint64_t inverted, unconverged;
    double min, largest; /* stretch of a tet after any step */
    int contacts;        /* at most */
} outcome;

static outcome run_scene(const char *name) {
    char path[4096];
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    thenar_scene_info info;
    snprintf(path, sizeof path, SOURCE_DIR "/scenes/%s.yaml", name);
    assert_ok(thenar_scene_load(path, NULL, &model, &info, &error), error);
    assert_ok(thenar_sim_create(model, NULL, &sim, &error), error);
    int tets = thenar_model_mesh(model, 0)->tet_count, steps = (int)round(info.time / thenar_sim_dt(sim));
    double *s = calloc(3 * (size_t)tets, sizeof *s);
    outcome o = {.min = INFINITY};
    for (int i = 0; i < steps; i++) {
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        thenar_sim_stretches(sim, 0, s);
        for (int t = 0; t < tets; t++) {
            o.min = fmin(o.min, s[3 * t + 2]);
            o.largest = fmax(o.largest, s[3 * t]);
        }
        o.contacts = (int)fmax(o.contacts, thenar_sim_stats(sim)->contacts);
    }
    o.inverted = thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED);
    o.unconverged = thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED);
    free(s);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return o;
}

/* perez2013, Figs. 5 and 6. A limit counts as met within 1e-3 (solver/solver.h). */
static void the_limited_finger_keeps_its_shape_where_the_linear_one_turns_inside_out(void **state) {
    (void)state;
    static const char *const scenes[] = {"finger-press", "finger-slide-forward", "finger-slide-back"};
    for (int i = 0; i < 3; i++) {
        char soft[64];
        snprintf(soft, sizeof soft, "%s-soft", scenes[i]);
        outcome limited = run_scene(scenes[i]), linear = run_scene(soft);
        assert_int_equal(limited.inverted, 0);
        assert_int_equal(limited.unconverged, 0);
        assert_true(limited.min > 0.9 - 1e-3 && limited.largest < 1.1 + 1e-3);
        assert_true(limited.contacts >= 4);
        assert_true(linear.inverted > 0 && linear.min < 0);
        assert_true(linear.contacts > limited.contacts);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_default_finger_has_342_tets_of_good_shape),
    cmocka_unit_test(a_finger_of_any_size_has_valid_tets_and_its_size_within_ten_percent),
    cmocka_unit_test(every_node_of_the_boundary_is_on_the_skin_or_in_the_cut),
    cmocka_unit_test(more_tets_come_closer_to_the_volume_of_the_round_form),
    cmocka_unit_test(the_pad_is_the_finest),
    cmocka_unit_test(the_phalanges_have_the_volume_and_thickness_of_an_index_finger),
    cmocka_unit_test(the_finger_points_along_minus_z_with_the_pad_down_and_is_its_own_mirror_image),
    cmocka_unit_test(the_bone_is_a_core_that_ends_before_the_tip_and_touches_no_skin),
    cmocka_unit_test(sizes_that_make_no_finger_are_refused),
    cmocka_unit_test(a_finger_in_a_scene_has_its_mass_and_follows_its_bone),
    cmocka_unit_test(the_limited_finger_keeps_its_shape_where_the_linear_one_turns_inside_out),
};

TEST_MAIN(tests)
