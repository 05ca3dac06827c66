/* Contact points that are chosen from the vertices of a skin. */
#include "contact_tools.h"

#include "contact/find.h"
#include "mesh/mesh.h"
#include "world/model.h"

#define RADIUS 0.03

/* A soft ball with a fine skin on coarse tets. */
typedef struct ball {
    thenar_surface skin;
    thenar_tet_mesh mesh;
    thenar_embedding embedding;
    thenar_soft_def def;
} ball;

static void make_ball(double height, ball *b) {
    thenar_error error;
    thenar_mesh_options options = thenar_mesh_options_default();
    options.target_tets = 300;
    assert_ok(thenar_surface_sphere(RADIUS, 16, &b->skin, &error), error);
    for (int v = 0; v < b->skin.vertex_count; v++) b->skin.positions[3 * v + 1] += height;
    assert_ok(thenar_tet_mesh_from_surface(&b->skin, &options, &b->mesh, &b->embedding, &error), error);
    b->def = thenar_soft_def_default();
    b->def.name = "ball";
    b->def.mesh = &b->mesh;
    b->def.surface = &b->skin;
    b->def.embedding = &b->embedding;
    b->def.material.young = 2e4;
}

static void free_ball(ball *b) {
    thenar_surface_free(&b->skin);
    thenar_tet_mesh_free(&b->mesh);
    thenar_embedding_free(&b->embedding);
}

static contact_skin skin_of(const thenar_model *model) {
    contact_skin skin;
    thenar_error error;
    assert_ok(contact_skin_create(model->bodies[0], &skin, &error), error);
    return skin;
}

static void points_are_vertices_and_their_areas_add_up_to_that_of_the_skin(void **state) {
    (void)state;
    ball b;
    make_ball(0, &b);
    b.def.contact_spacing = 0.006;
    thenar_model *model = tools_model(&b.def, 0);
    contact_skin skin = skin_of(model);
    assert_true(skin.point_count < b.skin.vertex_count / 4);
    double area = 0;
    for (int t = 0; t < skin.triangle_count; t++) {
        vec3 corner[3];
        for (int k = 0; k < 3; k++) {
            int point = skin.triangles[3 * t + k];
            assert_true(point >= 0 && point < skin.point_count);
            corner[k] = surface_vertex(&b.skin, skin.vertex[point]);
        }
        area += vec3_length(vec3_cross(vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0]))) / 2;
    }
    assert_near(area / (4 * 3.14159265358979 * RADIUS * RADIUS), 1, 0.03);
    for (int i = 0; i < skin.point_count; i++) {
        /* The hold of a point is that of its vertex. */
        vec3 at = {0};
        for (int k = 0; k < 4; k++)
            at = vec3_mul_add(at, tet_mesh_node(&b.mesh, skin.holds[i].node[k]), skin.holds[i].weights[k]);
        assert_near(vec3_distance(at, surface_vertex(&b.skin, skin.vertex[i])), 0, 1e-12);
        for (int k = skin.around_start[i]; k < skin.around_start[i + 1]; k++) {
            const int *face = surface_triangle(&b.skin, skin.around_face[k]);
            assert_true(face[0] == skin.vertex[i] || face[1] == skin.vertex[i] || face[2] == skin.vertex[i]);
        }
    }
    contact_skin_free(&skin);
    thenar_model_free(model);
    free_ball(&b);
}

/* At rest on the ground. */
static thenar_sim *rest(const thenar_soft_def *def) {
    scene s = scene_begin_on_earth();
    scene_add_soft(&s, def);
    scene_add_ground(&s, 0.5);
    thenar_sim *sim = scene_sim(&s, 0.01, 1);
    tools_run(sim, 200);
    return sim;
}

static void a_ball_rests_on_fewer_points_as_deep_as_on_all(void **state) {
    (void)state;
    ball b;
    make_ball(RADIUS, &b);
    thenar_sim *all = rest(&b.def);
    b.def.contact_spacing = 0.004;
    thenar_sim *some = rest(&b.def);
    double weight = CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(some), 0), area[2];
    double force[2][3];
    thenar_sim_contact_wrench(all, 0, force[0], NULL, &area[0]);
    thenar_sim_contact_wrench(some, 0, force[1], NULL, &area[1]);
    for (int i = 0; i < 2; i++) assert_near(force[i][1], weight, 1e-3 * weight);
    assert_true(thenar_sim_contact_count(some) < thenar_sim_contact_count(all) / 2);
    assert_true(thenar_sim_contact_count(some) >= 3);
    /* How deep it sinks differs by no more than a ball stands out of a triangle with sides l between its points: its
     * middle is l / sqrt(3) from the corners, l^2 / (6 r) below the ball. The longest sides are 1.5 times 4 mm. */
    assert_near(scene_place(some, 0).y, scene_place(all, 0).y, 0.006 * 0.006 / (6 * RADIUS));
    for (int i = 0; i < thenar_sim_contact_count(some); i++) {
        const thenar_contact *c = &thenar_sim_contacts(some)[i];
        const int *face = surface_triangle(&b.skin, c->face[0]);
        assert_true(face[0] == c->vertex || face[1] == c->vertex || face[2] == c->vertex);
    }
    thenar_sim_free(all);
    thenar_sim_free(some);
    free_ball(&b);
}

static void without_a_spacing_all_is_as_it_was_and_with_another_one_it_is_another_model(void **state) {
    (void)state;
    ball b;
    make_ball(0, &b);
    thenar_model *plain = tools_model(&b.def, 0);
    contact_skin skin = skin_of(plain);
    assert_int_equal(skin.point_count, b.skin.vertex_count);
    assert_int_equal(skin.triangle_count, b.skin.triangle_count);
    assert_null(skin.around_face);
    contact_skin_free(&skin);
    uint64_t hashes[3] = {plain->hash};
    thenar_model_free(plain);
    double *at = malloc((size_t)b.skin.vertex_count * sizeof *at);
    for (int v = 0; v < b.skin.vertex_count; v++) at[v] = surface_vertex(&b.skin, v).y < 0 ? 0.003 : 0.01;
    for (int i = 1; i < 3; i++) {
        if (i == 1) b.def.contact_spacing = 0.005;
        if (i == 2) b.def.contact_spacing_at = at;
        thenar_model *model = tools_model(&b.def, 0);
        hashes[i] = model->hash;
        skin = skin_of(model);
        int below = 0, above = 0;
        for (int p = 0; p < skin.point_count; p++)
            *(surface_vertex(&b.skin, skin.vertex[p]).y < 0 ? &below : &above) += 1;
        assert_true(i == 1 ? abs(below - above) < skin.point_count / 5 : below > 4 * above);
        contact_skin_free(&skin);
        thenar_model_free(model);
    }
    assert_true(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
    free(at);
    free_ball(&b);
}

static void refused(const thenar_soft_def *def, const char *words) {
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_error error;
    assert_int_equal(thenar_build_add_soft(build, def, &error), THENAR_ERROR_INPUT);
    if (!strstr(error.text, words)) fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    thenar_build_free(build);
}

static void spacings_that_are_no_lengths_are_refused(void **state) {
    (void)state;
    ball b;
    make_ball(0, &b);
    const double bad[] = {-0.001, NAN, INFINITY};
    double *at = calloc((size_t)b.skin.vertex_count, sizeof *at);
    for (int i = 0; i < 3; i++) {
        b.def.contact_spacing = bad[i];
        refused(&b.def, "contact_spacing");
        b.def.contact_spacing = 0;
        at[7] = bad[i];
        b.def.contact_spacing_at = at;
        refused(&b.def, "vertex 7");
        b.def.contact_spacing_at = NULL;
    }
    at[7] = 0;
    b.def.contact_spacing_at = at;
    b.def.surface = NULL;
    b.def.embedding = NULL;
    refused(&b.def, "without a surface");
    free(at);
    free_ball(&b);
}

static const char scene_path[] = "contact-spacing-test.yaml";

static thenar_status compile(const char *body, thenar_model **model, thenar_error *error) {
    FILE *file = fopen(scene_path, "wb");
    assert_non_null(file);
    fprintf(file, "thenar: 1\nbodies:\n  hand:\n    material: {young: 1.0e+5}\n%s", body);
    assert_int_equal(fclose(file), 0);
    thenar_status status = thenar_scene_load(scene_path, NULL, model, NULL, error);
    remove(scene_path);
    return status;
}

static void a_scene_spaces_the_points_of_a_hand(void **state) {
    (void)state;
    thenar_model *model;
    thenar_error error;
    static const struct {
        const char *text;
        int min, max;
    } cases[] = {{"    shape: {hand: {side: left}, scale: 2}\n    contact_spacing: hand\n", 1400, 1600},
                 {"    shape: {hand: {side: left}}\n    contact_spacing: 0.01\n", 300, 700},
                 {"    shape: {hand: {side: left}}\n", 11000, 13000}};
    for (int i = 0; i < 3; i++) {
        assert_ok(compile(cases[i].text, &model, &error), error);
        contact_skin skin = skin_of(model);
        assert_true(skin.point_count > cases[i].min && skin.point_count < cases[i].max);
        contact_skin_free(&skin);
        thenar_model_free(model);
    }
    assert_int_equal(compile("    shape: {finger: {}}\n    contact_spacing: hand\n", &model, &error),
                     THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "not a hand"));
    assert_int_equal(compile("    shape: {finger: {}}\n    contact_spacing: -1\n", &model, &error), THENAR_ERROR_INPUT);
    assert_int_equal(compile("    shape: {finger: {}}\n    contact_spacing: near\n", &model, &error),
                     THENAR_ERROR_INPUT);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(points_are_vertices_and_their_areas_add_up_to_that_of_the_skin),
    cmocka_unit_test(a_ball_rests_on_fewer_points_as_deep_as_on_all),
    cmocka_unit_test(without_a_spacing_all_is_as_it_was_and_with_another_one_it_is_another_model),
    cmocka_unit_test(spacings_that_are_no_lengths_are_refused),
    cmocka_unit_test(a_scene_spaces_the_points_of_a_hand),
};

TEST_MAIN(tests)
