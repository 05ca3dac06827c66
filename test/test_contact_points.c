/* Promises of the candidate contact points: those that brute force finds, with normals that do not flicker. */
#include "soft_tools.h"

#include "contact/points.h"
#include "world/sim.h"

#include <stdlib.h>

/* One soft body, its skin, and rigid bodies around it. */
typedef struct fixture {
    thenar_model *model;
    thenar_sim *sim;
    contact_skin skin;
    contact_skin_state state;
    void *memory;
    const rigid_state *rigids[8];
    int rigid_count;
} fixture;

static void fixture_start(fixture *f, const thenar_soft_def *soft, const thenar_rigid_def *defs, int count) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    assert_ok(thenar_build_add_soft(build, soft, &error), error);
    for (int i = 0; i < count; i++) assert_ok(thenar_build_add_rigid(build, &defs[i], &error), error);
    assert_ok(thenar_build_compile(build, &f->model, &error), error);
    thenar_build_free(build);
    f->sim = tools_sim(f->model, 0.01, 1);
    assert_ok(contact_skin_create(model_soft(f->model, 0), &f->skin, &error), error);
    arena measure = {0};
    contact_skin_layout(&f->state, &f->skin, &measure);
    f->memory = memory_aligned(measure.used);
    arena carve = arena_on(f->memory, measure.used);
    contact_skin_layout(&f->state, &f->skin, &carve);
    f->rigid_count = count;
    for (int i = 0; i < count; i++) f->rigids[i] = sim_rigid(f->sim, i + 1);
    contact_skin_update(&f->state, sim_soft(f->sim, 0));
}

static void fixture_end(fixture *f) {
    contact_skin_free(&f->skin);
    free(f->memory);
    thenar_sim_free(f->sim);
    thenar_model_free(f->model);
}

static int find(const fixture *f, double margin, contact_point *points, int capacity) {
    const contact_skin_state *skins[] = {&f->state};
    return contact_points_find(skins, 1, f->rigids, f->rigid_count, margin, points, capacity);
}

static thenar_rigid_def driven(const char *name, thenar_shape shape) {
    thenar_rigid_def def = thenar_rigid_def_default();
    def.name = name;
    def.shape = shape;
    def.motion = shape.kind == THENAR_SHAPE_PLANE ? THENAR_MOTION_STATIC : THENAR_MOTION_DRIVEN;
    return def;
}

#define BOX_SIZE                                                                                                       \
    { 0.2, 0.3, 0.1 }

static int all_shapes(const thenar_surface *mesh, thenar_rigid_def defs[8]) {
    int count = 0;
    defs[count++] = driven("sphere", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.15});
    defs[count++] = driven("box", (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = BOX_SIZE});
    defs[count++] = driven("capsule", (thenar_shape){.kind = THENAR_SHAPE_CAPSULE, .radius = 0.1, .length = 0.3});
    defs[count++] = driven("cylinder", (thenar_shape){.kind = THENAR_SHAPE_CYLINDER, .radius = 0.1, .length = 0.3});
    defs[count++] = driven("mesh", (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = mesh});
    defs[count++] = driven("grown", (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = mesh, .rounding = 0.03});
    defs[count++] = driven("plane", (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}});
    return count;
}

/* Distances by other formulas than the library's: by how far a point is from ranges of coordinates. The mesh is that of
 * the box. */
static double range_distance(const double *beyond, int count) {
    double out = 0, largest = -INFINITY;
    for (int i = 0; i < count; i++) {
        if (beyond[i] > 0) out += beyond[i] * beyond[i];
        largest = fmax(largest, beyond[i]);
    }
    return largest > 0 ? sqrt(out) : largest;
}

static double plain_distance(const char *shape, vec3 p) {
    const double size[3] = BOX_SIZE;
    if (strcmp(shape, "sphere") == 0) return vec3_length(p) - 0.15;
    if (strcmp(shape, "capsule") == 0) return hypot(hypot(p.x, p.z), fmax(fabs(p.y) - 0.15, 0)) - 0.1;
    if (strcmp(shape, "cylinder") == 0) return range_distance((double[]){hypot(p.x, p.z) - 0.1, fabs(p.y) - 0.15}, 2);
    if (strcmp(shape, "plane") == 0) return p.y;
    return range_distance((double[]){fabs(p.x) - size[0] / 2, fabs(p.y) - size[1] / 2, fabs(p.z) - size[2] / 2}, 3) -
           (strcmp(shape, "grown") == 0 ? 0.03 : 0);
}

static vec3 to_body(const thenar_sim *sim, int body, vec3 p) {
    double position[3], q[4];
    thenar_sim_pose(sim, body, position, q);
    return quat_rotate(quat_conjugate((quat){q[0], q[1], q[2], q[3]}), vec3_sub(p, vec3_load(position)));
}

static vec3 to_world(const thenar_sim *sim, int body, vec3 p) {
    double position[3], q[4];
    thenar_sim_pose(sim, body, position, q);
    return vec3_add(quat_rotate((quat){q[0], q[1], q[2], q[3]}, p), vec3_load(position));
}

/* New random poses, and a soft body shaken out of shape. */
static void shake(fixture *f, random_source *random) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(f->model, 0);
    double *x = malloc(3 * (size_t)mesh->node_count * sizeof *x);
    for (int i = 0; i < 3 * mesh->node_count; i++) x[i] = mesh->positions[i] + random_uniform(random, -0.01, 0.01);
    for (int b = 1; b <= f->rigid_count; b++) {
        if (thenar_model_motion(f->model, b) != THENAR_MOTION_DRIVEN) continue;
        double position[3], turn[4];
        vec3_store(position, tools_random_vector(random, 0.5));
        for (int c = 0; c < 4; c++) turn[c] = random_uniform(random, -1, 1);
        assert_int_equal(thenar_sim_drive_pose(f->sim, b, position, turn), THENAR_OK);
    }
    tools_run(f->sim, 1);
    thenar_sim_set_state(f->sim, 0, x, NULL);
    contact_skin_update(&f->state, sim_soft(f->sim, 0));
    free(x);
}

static const contact_point *point_of(const contact_point *points, int count, int rigid, int vertex) {
    const contact_point *found = NULL;
    for (int i = 0; i < count; i++) {
        if (points[i].rigid != rigid || points[i].vertex != vertex) continue;
        assert_null(found); /* no vertex twice */
        found = &points[i];
    }
    return found;
}

static int compare_with_brute_force(const fixture *f, double margin, const contact_point *points, int count) {
    int vertices = thenar_model_surface(f->model, 0)->vertex_count, expected = 0;
    double *surface = malloc(3 * (size_t)vertices * sizeof *surface);
    thenar_sim_surface(f->sim, 0, surface);
    for (int r = 0; r < f->rigid_count; r++)
        for (int i = 0; i < vertices; i++) {
            vec3 p = vec3_load(surface + 3 * i);
            double gap = plain_distance(thenar_model_body_name(f->model, r + 1), to_body(f->sim, r + 1, p));
            const contact_point *point = point_of(points, count, r, i);
            if (fabs(gap - margin) < 1e-12) continue;
            assert_true((point != NULL) == (gap < margin));
            if (!point) continue;
            expected++;
            assert_near(point->gap, gap, 1e-12);
            assert_near(vec3_distance(point->position, p), 0, 1e-14);
        }
    free(surface);
    return expected;
}

static void candidates_are_those_that_brute_force_finds(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface mesh;
    const double size[3] = BOX_SIZE;
    assert_ok(thenar_surface_box(size, 2, &mesh, &error), error);
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 6, 6, 6);
    for (int i = 0; i < 3 * tets.node_count; i++) tets.positions[i] -= 0.25;
    thenar_soft_def soft = thenar_soft_def_default();
    soft.name = "soft";
    soft.mesh = &tets;
    thenar_rigid_def defs[8];
    fixture f = {0};
    fixture_start(&f, &soft, defs, all_shapes(&mesh, defs));
    random_source random = {11};
    static contact_point points[4000];
    const double margins[] = {0, 0.002, 0.05};
    int found = 0;
    for (int trial = 0; trial < 40; trial++) {
        shake(&f, &random);
        double margin = margins[trial % 3];
        int count = find(&f, margin, points, 4000);
        assert_true(count <= 4000);
        assert_int_equal(compare_with_brute_force(&f, margin, points, count), count);
        found += count;
    }
    assert_true(found > 1000);
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
    thenar_surface_free(&mesh);
}

/* An embedded sphere, whose vertices are no nodes. */
static void embedded_sphere(thenar_surface *surface, thenar_tet_mesh *tets, thenar_embedding *embedding,
                            thenar_soft_def *def) {
    thenar_error error;
    thenar_mesh_options options = thenar_mesh_options_default();
    options.target_tets = 300;
    assert_ok(thenar_surface_sphere(0.1, 6, surface, &error), error);
    assert_ok(thenar_tet_mesh_from_surface(surface, &options, tets, embedding, &error), error);
    *def = thenar_soft_def_default();
    def->name = "soft";
    def->mesh = tets;
    def->surface = surface;
    def->embedding = embedding;
}

static void a_point_knows_where_it_hangs_on_both_bodies(void **unused) {
    (void)unused;
    thenar_surface surface;
    thenar_tet_mesh tets;
    thenar_embedding embedding;
    thenar_soft_def soft;
    embedded_sphere(&surface, &tets, &embedding, &soft);
    thenar_rigid_def brick = driven("brick", (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.1, 0.1, 0.1}});
    vec3_store(brick.move, vec3_make(0.1, 0.02, 0));
    vec3_store(brick.turn, vec3_make(0.3, 0.2, 0.1));
    fixture f = {0};
    fixture_start(&f, &soft, &brick, 1);
    static contact_point points[1000];
    int count = find(&f, 0.01, points, 1000);
    assert_true(count > 10);
    const double *x = thenar_sim_positions(f.sim, 0);
    for (int i = 0; i < count; i++) {
        const contact_point *c = &points[i];
        vec3 sum = {0};
        for (int k = 0; k < 4; k++) sum = vec3_mul_add(sum, vec3_load(x + 3 * c->node[k]), c->weights[k]);
        assert_near(vec3_distance(sum, c->position), 0, 1e-15);
        assert_near(c->weights[0] + c->weights[1] + c->weights[2] + c->weights[3], 1, 1e-12);
        vec3 on_brick = to_world(f.sim, 1, c->anchor);
        assert_near(vec3_distance(vec3_mul_add(on_brick, c->normal, c->gap), c->position), 0, 1e-14);
        assert_near(vec3_length(c->normal), 1, 1e-14);
    }
    fixture_end(&f);
    thenar_surface_free(&surface);
    thenar_tet_mesh_free(&tets);
    thenar_embedding_free(&embedding);
}

static void areas_add_up_to_that_of_the_surface(void **unused) {
    (void)unused;
    thenar_surface surface;
    thenar_tet_mesh tets;
    thenar_embedding embedding;
    thenar_soft_def soft;
    thenar_error error;
    embedded_sphere(&surface, &tets, &embedding, &soft);
    thenar_rigid_def all = driven("all", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 1});
    fixture f = {0};
    fixture_start(&f, &soft, &all, 1);
    static contact_point points[1000];
    int count = find(&f, 0, points, 1000);
    assert_int_equal(count, surface.vertex_count);
    double sum = 0;
    for (int i = 0; i < count; i++) sum += points[i].area;
    thenar_surface_figures figures;
    assert_ok(thenar_surface_quality(&surface, &figures, &error), error);
    assert_near(sum, figures.area, 1e-13);
    fixture_end(&f);
    thenar_surface_free(&surface);
    thenar_tet_mesh_free(&tets);
    thenar_embedding_free(&embedding);
}

static void a_full_array_is_not_overrun_and_the_number_is_told(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 6, 6, 6);
    thenar_soft_def soft = thenar_soft_def_default();
    soft.name = "soft";
    soft.mesh = &tets;
    thenar_rigid_def all = driven("all", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 2});
    fixture f = {0};
    fixture_start(&f, &soft, &all, 1);
    static contact_point points[1000], first[11];
    int count = find(&f, 0, points, 1000);
    assert_int_equal(count, f.skin.vertex_count);
    first[10].vertex = -77;
    assert_int_equal(find(&f, 0, first, 10), count);
    assert_int_equal(first[10].vertex, -77);
    assert_memory_equal(first, points, 10 * sizeof *points);
    assert_int_equal(find(&f, 0, NULL, 0), count);
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

/* What a vertex sees that slides over the edge of a box along a path of constant gap, and a little inside. */
static void slide(const thenar_shape *def, double radius, double gap, double wobble) {
    thenar_error error;
    rigid_shape shape;
    assert_ok(rigid_shape_create(def, vec3_make(0, 0, 0), &shape, &error), error);
    random_source random = {1};
    double reach = radius + gap, step = 2e-6, angle = 0;
    vec3 last = {0, 1, 0};
    int turned = 0;
    /* Along the top, around the edge whose centre is (0.1 - radius, 0.1 - radius), down the side. */
    for (double s = 0; s < 0.02 + reach * 1.5707963; s += step) {
        double over = s - 0.01, t = fmin(fmax(over / reach, 0), 1.5707963);
        vec3 p = vec3_make(0.1 - radius + reach * sin(t) - fmax(-over, 0), 0.1 - radius + reach * cos(t), 0.02);
        if (over > reach * 1.5707963) p.y -= over - reach * 1.5707963;
        vec3 noisy = vec3_add(p, tools_random_vector(&random, wobble));
        rigid_closest c = rigid_shape_closest(&shape, noisy);
        assert_near(c.distance, gap, 2 * wobble + 1e-12);
        /* No faster than the point moves around the centre of the edge: no flicker. */
        double allowed = (step + 4 * wobble) / (reach - 2 * wobble);
        assert_true(vec3_distance(c.normal, last) <= allowed + 1e-9);
        double now = atan2(c.normal.x, c.normal.y);
        assert_true(now >= angle - allowed);
        angle = fmax(angle, now);
        turned += vec3_distance(c.normal, last) > 1e-9;
        last = c.normal;
    }
    assert_near(angle, 1.5707963, 1e-3);
    assert_true(turned > 100);
    rigid_shape_free(&shape);
}

static void normals_do_not_flicker_when_a_point_slides_over_an_edge(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface mesh;
    const double size[3] = {0.2, 0.2, 0.2}, inner[3] = {0.198, 0.198, 0.198};
    thenar_shape cube = {.kind = THENAR_SHAPE_BOX, .size = {0.2, 0.2, 0.2}}, round = cube;
    round.rounding = 1e-3;
    /* A sharp edge: outside only. */
    slide(&cube, 0, 1e-3, 0);
    slide(&cube, 0, 1e-3, 1e-7);
    /* A round edge: outside, in touch, and half a millimetre inside. */
    const double gaps[] = {1e-3, 0, -5e-4};
    for (int i = 0; i < 3; i++) slide(&round, 1e-3, gaps[i], 1e-7);
    assert_ok(thenar_surface_box(inner, 3, &mesh, &error), error);
    thenar_shape grown = {.kind = THENAR_SHAPE_MESH, .surface = &mesh, .rounding = 1e-3};
    for (int i = 0; i < 3; i++) slide(&grown, 1e-3, gaps[i], 1e-7);
    thenar_surface_free(&mesh);
    assert_ok(thenar_surface_box(size, 3, &mesh, &error), error);
    thenar_shape sharp = {.kind = THENAR_SHAPE_MESH, .surface = &mesh};
    slide(&sharp, 0, 1e-3, 1e-7);
    thenar_surface_free(&mesh);
}

static void bodies_far_away_touch_nothing(void **unused) {
    (void)unused;
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 3, 3, 3);
    thenar_soft_def soft = thenar_soft_def_default();
    soft.name = "soft";
    soft.mesh = &tets;
    thenar_rigid_def far = driven("far", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 1});
    vec3_store(far.move, vec3_make(0, -3, 0));
    fixture f = {0};
    fixture_start(&f, &soft, &far, 1);
    contact_point points[1];
    assert_int_equal(find(&f, 0.1, points, 1), 0);
    fixture_end(&f);
    thenar_tet_mesh_free(&tets);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(candidates_are_those_that_brute_force_finds),
    cmocka_unit_test(a_point_knows_where_it_hangs_on_both_bodies),
    cmocka_unit_test(areas_add_up_to_that_of_the_surface),
    cmocka_unit_test(a_full_array_is_not_overrun_and_the_number_is_told),
    cmocka_unit_test(normals_do_not_flicker_when_a_point_slides_over_an_edge),
    cmocka_unit_test(bodies_far_away_touch_nothing),
};

TEST_MAIN(tests)
