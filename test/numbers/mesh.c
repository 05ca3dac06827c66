/* Attacks on meshes: those that are made of lengths, and what is made of corners. */
#include "test.h"

#include "finite.h"
#include "numbers/areas.h"
#include "numbers/attack.h"
#include "numbers/parts.h"

static double lengths[8];
static thenar_surface ball;
static thenar_mesh_options mesh_options;

static thenar_status free_mesh(thenar_status status, thenar_tet_mesh *made) {
    if (status == THENAR_OK)
        assert_true(are_finite(made->positions, 3 * made->node_count));
    else
        assert_null(made->positions);
    thenar_tet_mesh_free(made);
    return status;
}

static thenar_status free_surface(thenar_status status, thenar_surface *made) {
    if (status == THENAR_OK)
        assert_true(are_finite(made->positions, 3 * made->vertex_count));
    else
        assert_null(made->positions);
    thenar_surface_free(made);
    return status;
}

static thenar_status use_box(thenar_error *error) {
    const int cells[3] = {1, 1, 1};
    thenar_tet_mesh made = {0};
    return free_mesh(thenar_tet_mesh_box(lengths, lengths + 3, cells, THENAR_LATTICE_CUBE, &made, error), &made);
}

void attack_box(void) {
    for (int i = 0; i < 3; i++) lengths[i] = 0, lengths[3 + i] = 1;
    attack_array("corners", lengths, 6, use_box);
}

static thenar_status use_sphere(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_sphere(lengths[0], 1, &made, error), &made);
}

static thenar_status use_capsule(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_capsule(lengths[0], lengths[1], 1, &made, error), &made);
}

static thenar_status use_cylinder(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_cylinder(lengths[0], lengths[1], 1, &made, error), &made);
}

static thenar_status use_surface_box(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_box(lengths, 1, &made, error), &made);
}

static thenar_status use_torus(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_surface_torus(lengths[0], lengths[1], 1, &made, error), &made);
}

static void attack_primitive(const char *what, int count, attempt use) {
    lengths[0] = 0.02, lengths[1] = 0.01, lengths[2] = 0.01;
    attack_array(what, lengths, count, use);
}

void attack_sphere(void) {
    attack_primitive("sphere", 1, use_sphere);
}
void attack_capsule(void) {
    attack_primitive("capsule", 2, use_capsule);
}
void attack_cylinder(void) {
    attack_primitive("cylinder", 2, use_cylinder);
}
void attack_surface_box(void) {
    attack_primitive("box", 3, use_surface_box);
}
void attack_torus(void) {
    attack_primitive("torus", 2, use_torus);
}

static void make_ball(void) {
    thenar_error error;
    assert_ok(thenar_surface_sphere(0.01, 1, &ball, &error), error);
}

static thenar_status use_from_surface(thenar_error *error) {
    thenar_tet_mesh made = {0};
    thenar_embedding embedding = {0};
    thenar_status status = thenar_tet_mesh_from_surface(&ball, &mesh_options, &made, &embedding, error);
    if (status == THENAR_OK) assert_true(are_finite(embedding.weights, 4 * embedding.vertex_count));
    thenar_embedding_free(&embedding);
    return free_mesh(status, &made);
}

static thenar_status use_fill(thenar_error *error) {
    double fill[64];
    thenar_status status = thenar_tet_mesh_fill(&mesh, &ball, fill, error);
    if (status == THENAR_OK) assert_true(are_finite(fill, mesh.tet_count));
    return status;
}

static thenar_status use_embedding(thenar_error *error) {
    thenar_embedding embedding = {0};
    thenar_status status = thenar_embedding_create(&mesh, &ball, &embedding, NULL, error);
    if (status == THENAR_OK) assert_true(are_finite(embedding.weights, 4 * embedding.vertex_count));
    thenar_embedding_free(&embedding);
    return status;
}

static thenar_status use_tet_surface(thenar_error *error) {
    thenar_surface made = {0};
    return free_surface(thenar_tet_mesh_surface(&mesh, &made, NULL, error), &made);
}

static thenar_status use_check(thenar_error *error) {
    return thenar_surface_check(&ball, error);
}

static thenar_status use_quality(thenar_error *error) {
    thenar_tet_figures figures;
    return thenar_tet_mesh_quality(&mesh, &figures, error);
}

static thenar_status use_surface_quality(thenar_error *error) {
    thenar_surface_figures figures;
    return thenar_surface_quality(&ball, &figures, error);
}

/* The ball's corners, and with `tets` those of the small world's mesh. */
static void attack_ball(attempt use, bool tets) {
    make_ball();
    attack_array("surface", ball.positions, 3, use);
    if (tets) attack_array("mesh", mesh.positions, 6, use);
    thenar_surface_free(&ball);
}

void attack_from_surface(void) {
    mesh_options = thenar_mesh_options_default();
    mesh_options.target_tets = 100;
    mesh_options.fit = true;
    attack_ball(use_from_surface, false);
    make_ball();
    attack_struct("thenar_mesh_options", &mesh_options, use_from_surface);
    thenar_surface_free(&ball);
}

void attack_fill(void) {
    attack_ball(use_fill, true);
}
void attack_embedding(void) {
    attack_ball(use_embedding, true);
}
void attack_tet_surface(void) {
    attack_ball(use_tet_surface, true);
}
void attack_check(void) {
    attack_ball(use_check, false);
}
void attack_quality(void) {
    attack_ball(use_quality, true);
}
void attack_surface_quality(void) {
    attack_ball(use_surface_quality, false);
}
