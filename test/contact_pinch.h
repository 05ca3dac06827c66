/* Two limited soft pads that squeeze a free cube of 100 g: bodies 0 and 1 the pads, 2 the cube. */
#ifndef TEST_CONTACT_PINCH_H
#define TEST_CONTACT_PINCH_H

#include "contact_tools.h"
#include "poses.h"

#define PINCH_MU 0.6
#define PINCH_SIDE 0.02 /* of the cube, m */
#define PINCH_THICK 0.01

static inline void pinch_add_pad(scene *s, const char *name, double from, double to, double held) {
    thenar_tet_mesh mesh = scene_box(vec3_make(from, -0.007, -0.007), vec3_make(to, 0.007, 0.007), 2, 5, 6);
    thenar_soft_def def = scene_soft(name, &mesh, 1e5, PINCH_MU);
    def.material.stretch_min = 0.9;
    def.material.stretch_max = 1.1;
    thenar_support bone = {.name = "bone", .region = tools_box_region(vec3_make(held, -1, -1), vec3_make(held, 1, 1))};
    def.supports = &bone;
    def.support_count = 1;
    scene_add_soft(s, &def);
    thenar_tet_mesh_free(&mesh);
}

static inline thenar_sim *pinch_start(double h, int threads) {
    scene s = scene_begin_on_earth();
    double a = PINCH_SIDE / 2, b = a + PINCH_THICK;
    pinch_add_pad(&s, "left", -b, -a, -b);
    pinch_add_pad(&s, "right", a, b, b);
    thenar_rigid_def cube = scene_cube("cube", PINCH_SIDE, 0.1, vec3_make(0, 0, 0), PINCH_MU);
    scene_add_rigid(&s, &cube);
    return scene_sim(&s, h, threads);
}

/* Both pads come `depth` nearer to each other's side, and are lifted by `height`. Returns what the step did. */
static inline thenar_status pinch_step(thenar_sim *sim, double depth, double height) {
    const double left[3] = {depth, height, 0}, right[3] = {-depth, height, 0}, turn[3] = {0};
    drive_support(sim, 0, 0, left, turn);
    drive_support(sim, 1, 0, right, turn);
    return thenar_sim_step(sim);
}

/* A force on the cube, N, besides its weight. */
static inline void pinch_pull(thenar_sim *sim, double up) {
    const double force[3] = {0, up, 0}, torque[3] = {0};
    assert_int_equal(thenar_sim_apply_wrench(sim, 2, force, torque), THENAR_OK);
}

/* Squeezes over `during` seconds, from 0 to `depth`, while the cube is borne; then it is let go within 0.2 s. */
static inline void pinch_squeeze(thenar_sim *sim, double depth, double during) {
    int steps = (int)lround(during / thenar_sim_dt(sim)), after = (int)lround(0.2 / thenar_sim_dt(sim));
    for (int i = 1; i <= steps + after; i++) {
        pinch_pull(sim, 0.1 * CONTACT_GRAVITY * fmin(1, fmax(0, (double)(steps + after - i) / after)));
        assert_int_equal(pinch_step(sim, depth * fmin(1, (double)i / steps), 0), THENAR_OK);
    }
}

#endif
