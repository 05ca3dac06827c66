/* What making a skin and its faces does when memory runs out: an error, nothing leaked. */
#include "failing_memory.h"

#if FAILING_MEMORY

#include "soft_tools.h"

#include "contact/find.h"
#include "world/model.h"

static thenar_status make_skin(void *context, thenar_error *error) {
    contact_skin skin;
    thenar_status status = contact_skin_create(context, &skin, error);
    if (status == THENAR_OK) contact_skin_free(&skin);
    return status;
}

/* With what a body that touches itself needs. */
static thenar_status make_faces(void *context, thenar_error *error) {
    contact_faces faces;
    thenar_status status = contact_faces_create(context, 0.2, &faces, error);
    if (status == THENAR_OK) contact_faces_free(&faces);
    return status;
}

static void running_out_of_memory_anywhere_is_reported_and_leaks_nothing(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface mesh;
    const double size[3] = {0.2, 0.2, 0.2};
    assert_ok(thenar_surface_box(size, 2, &mesh, &error), error);
    thenar_tet_mesh tets = tools_box(0.5, 0.5, 0.5, 3, 3, 3);
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_soft_def soft = thenar_soft_def_default();
    thenar_rigid_def ball = thenar_rigid_def_default(), shell = ball;
    soft.name = "soft", ball.name = "ball", shell.name = "shell";
    soft.mesh = &tets;
    ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.1};
    shell.shape = (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = &mesh};
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    soft.name = "coarser";
    soft.contact_spacing = 0.4;
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    assert_ok(thenar_build_add_rigid(build, &ball, &error), error);
    assert_ok(thenar_build_add_rigid(build, &shell, &error), error);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    for (int i = 0; i < 2 * model->body_count; i++) {
        failing_memory_count count = failing_memory_each(make_skin, model->bodies[i / 2], i % 2);
        /* Even a ball needs an order and a place for its one point. */
        assert_true(count.failed > 2);
        assert_int_equal(count.refused, count.failed);
    }
    contact_skin skin;
    assert_ok(contact_skin_create(model->bodies[0], &skin, &error), error);
    for (int once = 0; once < 2; once++) {
        failing_memory_count count = failing_memory_each(make_faces, &skin, once);
        assert_true(count.failed > 20);
        assert_int_equal(count.refused, count.failed);
    }
    contact_skin_free(&skin);
    thenar_model_free(model);
    thenar_tet_mesh_free(&tets);
    thenar_surface_free(&mesh);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(running_out_of_memory_anywhere_is_reported_and_leaks_nothing),
};

TEST_MAIN(tests)
#else
int main(void) {
    return 0;
}
#endif
