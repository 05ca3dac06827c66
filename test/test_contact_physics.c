/* What contact and friction do, against what mechanics says they do. */
#include "contact_tools.h"
#include "poses.h"

static const double pi = 3.14159265358979323846;

/* Body 0, soft or rigid, lies on body 1, the ground. */
static thenar_sim *block_on_ground(bool soft, vec3 gravity, double mu, double h, int threads) {
    scene s = scene_begin(gravity, 0);
    if (soft) {
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.03, 0.02), 4, 3, 4);
        thenar_soft_def def = scene_soft("block", &mesh, 1e5, mu);
        scene_add_soft(&s, &def);
        thenar_tet_mesh_free(&mesh);
    } else {
        thenar_rigid_def def = scene_cube("block", 0.04, 0.1, vec3_make(0, 0.02, 0), mu);
        scene_add_rigid(&s, &def);
    }
    scene_add_ground(&s, mu);
    return scene_sim(&s, h, threads);
}

/* Also what a steep wall would break: gaps and forces are never both there. */
static void a_block_at_rest_weighs_what_it_weighs(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        bool soft = k & 1;
        double h = time_step(k / 2), mu = 0.5;
        thenar_sim *sim = block_on_ground(soft, vec3_make(0, -CONTACT_GRAVITY, 0), mu, h, 1);
        tools_run(sim, steps_in(1, h));
        double weight = CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(sim), 0), force[3], torque[3], area;
        contact_figures f = scene_contacts(sim, mu);
        thenar_sim_contact_wrench(sim, 0, force, torque, &area);
        print_message("  %s h %g: force/weight - 1 = %.1e, sideways %.1e, depth %.2e m, gap of one that pushes %.2e m, "
                      "cone %.6f, %d touch, iterations %d, unconverged %d\n",
                      soft ? "soft " : "rigid", h, force[1] / weight - 1, hypot(force[0], force[2]) / weight, f.depth,
                      f.open_force, f.cone, f.touching, thenar_sim_stats(sim)->iterations,
                      (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED));
        assert_near(force[1] / weight, 1, 0.01); /* the balance tolerance */
        assert_true(f.depth < 2e-6 && f.open_force < 2e-6);
        assert_true(f.cone <= 1 + 1e-9);
        assert_true(scene_kinetic(sim) < 1e-9);
        assert_near(area, soft ? 1.6e-3 : 0, 0.05 * 1.6e-3);
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED), 0);
        thenar_sim_free(sim);
    }
}

/* A block that sticks to the ground and is put 0.2 mm further does not come back. */
static void a_block_that_is_put_elsewhere_sticks_there(void **unused) {
    (void)unused;
    thenar_sim *sim = block_on_ground(true, vec3_make(0, -CONTACT_GRAVITY, 0), 0.8, 0.01, 1);
    tools_run(sim, 50);
    int count = 3 * thenar_model_mesh(thenar_sim_model(sim), 0)->node_count;
    double *x = calloc((size_t)count, sizeof *x);
    memcpy(x, thenar_sim_positions(sim, 0), (size_t)count * sizeof *x);
    for (int i = 0; i < count; i += 3) x[i] += 2e-4;
    assert_int_equal(thenar_sim_set_state(sim, 0, x, NULL), THENAR_OK);
    vec3 before = scene_place(sim, 0);
    tools_run(sim, 50);
    print_message("  moved by %.1e m\n", vec3_distance(scene_place(sim, 0), before));
    assert_true(vec3_distance(scene_place(sim, 0), before) < 1e-6);
    free(x);
    thenar_sim_free(sim);
}

/* A coin that spins on its face, on its edge, and one that is dropped askew: energy only falls. */
static void a_spinning_coin_gains_no_energy(void **unused) {
    (void)unused;
    for (int k = 0; k < 6; k++) {
        double h = time_step(k / 3), mu = 0.3, r = 0.012, thick = 0.002;
        scene s = scene_begin_on_earth();
        thenar_rigid_def coin = thenar_rigid_def_default();
        coin.name = "coin";
        coin.shape = (thenar_shape){.kind = THENAR_SHAPE_CYLINDER, .radius = r, .length = thick};
        coin.density = 8000;
        coin.friction = mu;
        vec3_store(coin.pose, vec3_make(0, k % 3 == 0 ? thick / 2 : k % 3 == 1 ? r : 0.03, 0));
        vec3_store(coin.spin, vec3_make(0, 60, 0));
        if (k % 3 == 1) pose_turn(coin.pose, 0, 0, pi / 2);
        if (k % 3 == 2) pose_turn(coin.pose, 0, 0, 1), coin.velocity[0] = 0.5;
        int body = scene_add_rigid(&s, &coin);
        scene_add_ground(&s, mu);
        thenar_sim *sim = scene_sim(&s, h, 1);
        double first = scene_energy(sim), before = first, gain = 0;
        for (int i = 0; i < steps_in(3, h); i++) {
            tools_run(sim, 1);
            double now = scene_energy(sim);
            gain = fmax(gain, now - before);
            before = now;
        }
        print_message("  %s h %g: energy %.2e J, largest gain in a step %.1e, left %.1e J above rest, deepest %.1e m, "
                      "unconverged %d of %d\n",
                      k % 3 == 0   ? "flat   "
                      : k % 3 == 1 ? "on edge"
                                   : "askew  ",
                      h, first, gain,
                      before - thenar_model_mass(thenar_sim_model(sim), body) * CONTACT_GRAVITY * thick / 2,
                      scene_contacts(sim, mu).depth, (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED),
                      steps_in(3, h));
        assert_true(gain < 0.01 * first);
        assert_true(before <= first);
        thenar_sim_free(sim);
    }
}

static void a_soft_block_that_is_thrown_gains_no_energy_and_comes_to_rest(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        double h = time_step(k / 2), mu = 0.4;
        bool limited = k & 1;
        scene s = scene_begin_on_earth();
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.02, 0.05, -0.02), vec3_make(0.02, 0.09, 0.02), 3, 3, 3);
        thenar_soft_def def = scene_soft("block", &mesh, 1e5, mu);
        if (limited) def.material.stretch_min = 0.9, def.material.stretch_max = 1.1;
        vec3_store(def.velocity, vec3_make(1, -1, 0.3));
        if (h < 0.005) vec3_store(def.spin, vec3_make(3, 8, -10)); /* at 10 ms a spinning body swells in free flight */
        scene_add_soft(&s, &def);
        scene_add_ground(&s, mu);
        thenar_sim *sim = scene_sim(&s, h, 1);
        double first = scene_energy(sim), before = first, gain = 0;
        for (int i = 0; i < steps_in(2, h); i++) {
            tools_run(sim, 1);
            double now = scene_energy(sim);
            gain = fmax(gain, now - before);
            before = now;
        }
        double min, max;
        scene_stretches(sim, 0, &min, &max);
        print_message("  %s h %g: energy %.3e J, largest gain in a step %.1e J, kinetic at the end %.1e J, stretches "
                      "%.4f..%.4f, unconverged %d of %d\n",
                      limited ? "limited" : "soft   ", h, first, gain, scene_kinetic(sim), min, max,
                      (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED), steps_in(2, h));
        assert_true(gain < 1e-3 * first);
        assert_true(scene_kinetic(sim) < 1e-8);
        thenar_sim_free(sim);
        thenar_tet_mesh_free(&mesh);
    }
}

/* ---- two bodies ---- */

static void momentum_of(const thenar_sim *sim, vec3 *linear, vec3 *angular) {
    const thenar_model *model = thenar_sim_model(sim);
    *linear = *angular = vec3_make(0, 0, 0);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        if (thenar_model_body_kind(model, i) == THENAR_BODY_RIGID) {
            double position[3], turn[4], velocity[3], spin[3], inertia[9];
            body_pose(sim, i, position, turn);
            body_twist(sim, i, velocity, spin);
            thenar_model_inertia(model, i, inertia);
            mat3 I;
            memcpy(I.m, inertia, sizeof I.m);
            quat q = {turn[0], turn[1], turn[2], turn[3]};
            vec3 p = vec3_scale(vec3_load(velocity), thenar_model_mass(model, i));
            vec3 own = quat_rotate(q, mat3_mul_vec(I, quat_rotate(quat_conjugate(q), vec3_load(spin))));
            *linear = vec3_add(*linear, p);
            *angular = vec3_add(*angular, vec3_add(own, vec3_cross(vec3_load(position), p)));
            continue;
        }
        const double *x = thenar_sim_positions(sim, i), *v = thenar_sim_velocities(sim, i);
        const double *mass = thenar_model_masses(model, i);
        for (int k = 0; k < thenar_model_mesh(model, i)->node_count; k++) {
            vec3 p = vec3_scale(vec3_load(v + 3 * k), mass[k]);
            *linear = vec3_add(*linear, p);
            *angular = vec3_add(*angular, vec3_cross(vec3_load(x + 3 * k), p));
        }
    }
}

/* A soft ball thrown against a free cube, off its middle, without gravity. */
static void two_free_bodies_that_collide_keep_their_momentum(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        double h = time_step(k / 2), mu = 0.5;
        bool rigid = k & 1; /* a rigid ball instead */
        thenar_error error;
        scene s = scene_begin(vec3_make(0, 0, 0), 0);
        thenar_rigid_def cube = scene_cube("cube", 0.04, 0.05, vec3_make(0.05, 0, 0), mu);
        if (rigid) {
            thenar_rigid_def ball = thenar_rigid_def_default();
            ball.name = "ball";
            ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.015};
            ball.friction = mu;
            vec3_store(ball.velocity, vec3_make(1, 0.2, 0.1));
            vec3_store(ball.pose, vec3_make(0, 0.008, 0.003));
            scene_add_rigid(&s, &ball);
        } else {
            thenar_surface surface;
            thenar_tet_mesh mesh;
            thenar_embedding embedding;
            assert_ok(thenar_surface_sphere(0.015, 4, &surface, &error), error);
            for (int i = 0; i < surface.vertex_count; i++) surface.positions[3 * i + 1] += 0.008;
            thenar_mesh_options options = thenar_mesh_options_default();
            options.target_tets = 200;
            assert_ok(thenar_tet_mesh_from_surface(&surface, &options, &mesh, &embedding, &error), error);
            thenar_soft_def ball = scene_soft("ball", &mesh, 1e5, mu);
            ball.surface = &surface;
            ball.embedding = &embedding;
            vec3_store(ball.velocity, vec3_make(1, 0.2, 0.1));
            scene_add_soft(&s, &ball);
            thenar_surface_free(&surface);
            thenar_tet_mesh_free(&mesh);
            thenar_embedding_free(&embedding);
        }
        scene_add_rigid(&s, &cube);
        thenar_sim *sim = scene_sim(&s, h, 1);
        vec3 linear, angular, linear_after, angular_after;
        momentum_of(sim, &linear, &angular);
        double energy = scene_energy(sim);
        int touched = 0;
        for (int i = 0; i < steps_in(0.2, h); i++) {
            tools_run(sim, 1);
            touched += thenar_sim_stats(sim)->contacts > 0;
        }
        momentum_of(sim, &linear_after, &angular_after);
        double scale = vec3_length(linear) * 0.02; /* of the angular momentum: it is thrown about that far off */
        double off = vec3_distance(linear, linear_after) / vec3_length(linear);
        double off_angular = vec3_distance(angular, angular_after) / scale;
        print_message("  %s h %g: linear off by %.1e, angular by %.1e of it, energy %.3f of before, %d steps in touch, "
                      "cube at %.3f m/s, unconverged %d\n",
                      rigid ? "rigid" : "soft ", h, off, off_angular, scene_energy(sim) / energy, touched,
                      vec3_length(scene_velocity(sim, 1)),
                      (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED));
        assert_true(touched > 0);
        assert_true(off < 1e-6);
        /* The linearized elastic forces of a soft body have a torque of their own, of second order in its motion. */
        assert_true(off_angular < (rigid ? 1e-6 : 5e-3));
        assert_true(scene_energy(sim) <= energy * (1 + 1e-9));
        thenar_sim_free(sim);
    }
}

static void a_paddle_pushes_a_block_along_and_a_belt_carries_it(void **unused) {
    (void)unused;
    for (int k = 0; k < 8; k++) {
        double h = time_step(k / 4), mu = 0.4, speed = 0.1;
        bool soft = k & 1, belt = k & 2;
        scene s = scene_begin_on_earth();
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.03, 0.02), 3, 2, 3);
        int block;
        if (soft) {
            thenar_soft_def def = scene_soft("block", &mesh, 1e5, mu);
            block = scene_add_soft(&s, &def);
        } else {
            thenar_rigid_def def = scene_cube("block", 0.04, 0.1, vec3_make(0, 0.02, 0), mu);
            block = scene_add_rigid(&s, &def);
        }
        thenar_key keys[] = {{.time = 0}, {.time = 10, .move = {10 * speed, 0, 0}}};
        thenar_rigid_def mover = thenar_rigid_def_default();
        mover.name = "mover";
        mover.motion = THENAR_MOTION_DRIVEN;
        mover.keys = keys;
        mover.key_count = 2;
        mover.linear = true;
        mover.friction = mu;
        if (belt) {
            mover.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {4, 0.1, 1}};
            vec3_store(mover.pose, vec3_make(0, -0.05, 0));
        } else {
            mover.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {0.02, 0.05, 0.1}};
            vec3_store(mover.pose, vec3_make(-0.04, 0.03, 0));
            scene_add_ground(&s, mu);
        }
        scene_add_rigid(&s, &mover);
        thenar_sim *sim = scene_sim(&s, h, 1);
        /* The belt takes it to its speed at mu g. */
        double half = 0.5 * speed / (mu * CONTACT_GRAVITY), early = 0;
        if (belt) {
            tools_run(sim, steps_in(half, h));
            early = scene_velocity(sim, block).x / (mu * CONTACT_GRAVITY * thenar_sim_time(sim));
        }
        tools_run(sim, steps_in(2, h));
        vec3 from = scene_place(sim, block), v = scene_velocity(sim, block);
        tools_run(sim, steps_in(1, h));
        double moved = vec3_distance(scene_place(sim, block), from);
        print_message(
            "  %s %s h %g: speed %.6f of the mover's, in 1 s off by %.1e m, early acceleration %.4f of mu g\n",
            belt ? "belt  " : "paddle", soft ? "soft " : "rigid", h, v.x / speed, moved - speed, early);
        assert_near(moved, speed, 2e-5);
        if (belt && h < 0.005 && !soft) assert_near(early, 1, 0.01);
        thenar_sim_free(sim);
        thenar_tet_mesh_free(&mesh);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_block_at_rest_weighs_what_it_weighs),
    cmocka_unit_test(a_block_that_is_put_elsewhere_sticks_there),
    cmocka_unit_test(a_spinning_coin_gains_no_energy),
    cmocka_unit_test(a_soft_block_that_is_thrown_gains_no_energy_and_comes_to_rest),
    cmocka_unit_test(two_free_bodies_that_collide_keep_their_momentum),
    cmocka_unit_test(a_paddle_pushes_a_block_along_and_a_belt_carries_it),
};

TEST_MAIN(tests)
