/* Promises of rigid bodies: mass, free flight, spin, driving, shapes, and files. */
#include "soft_tools.h"

#include "body/rigid.h"
#include "world/sim.h"
#include "poses.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static thenar_rigid_def rigid(const char *name, thenar_shape shape) {
    thenar_rigid_def def = thenar_rigid_def_default();
    def.name = name;
    def.shape = shape;
    return def;
}

static thenar_shape box_of_size(double x, double y, double z) {
    return (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {x, y, z}};
}

/* The box of the Dzhanibekov effect: y is the middle axis. */
static thenar_rigid_def tumbling_box(void) {
    thenar_rigid_def def = rigid("box", box_of_size(0.2, 0.12, 0.04));
    vec3_store(def.spin, vec3_make(0.02, 8, 0.01));
    return def;
}

static thenar_model *model_of(const thenar_rigid_def *def, double gravity) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    world.gravity[1] = gravity;
    thenar_build *build = thenar_build_create(&world);
    assert_ok(thenar_build_add_rigid(build, def, &error), error);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    return model;
}

static vec3 momentum_of(const thenar_sim *sim) {
    double position[3], q[4], velocity[3], spin[3];
    mat3 inertia;
    body_pose(sim, 0, position, q);
    body_twist(sim, 0, velocity, spin);
    thenar_model_inertia(thenar_sim_model(sim), 0, inertia.m);
    mat3 R = quat_to_mat3((quat){q[0], q[1], q[2], q[3]});
    return mat3_mul_vec(R, mat3_mul_vec(inertia, mat3_mul_vec_transposed(R, vec3_load(spin))));
}

static vec3 body_axis(const thenar_sim *sim, vec3 axis) {
    double position[3], q[4];
    body_pose(sim, 0, position, q);
    return quat_rotate((quat){q[0], q[1], q[2], q[3]}, axis);
}

/* ------------------------------------------------------------------------------------------------ shapes */

static thenar_shape mesh_shape(const thenar_surface *surface, double rounding) {
    return (thenar_shape){.kind = THENAR_SHAPE_MESH, .surface = surface, .rounding = rounding};
}

/* Solids to try everything on; mesh is that of a box of 0.2 x 0.3 x 0.1 m. */
static int sample_shapes(const thenar_surface *mesh, thenar_shape shapes[8]) {
    int count = 0;
    shapes[count++] = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.1};
    shapes[count++] = box_of_size(0.2, 0.3, 0.1);
    shapes[count++] = box_of_size(0.2, 0.3, 0.1);
    shapes[count - 1].rounding = 0.03;
    shapes[count++] = (thenar_shape){.kind = THENAR_SHAPE_CAPSULE, .radius = 0.1, .length = 0.2};
    shapes[count++] = (thenar_shape){.kind = THENAR_SHAPE_CYLINDER, .radius = 0.1, .length = 0.2};
    shapes[count++] = (thenar_shape){.kind = THENAR_SHAPE_CYLINDER, .radius = 0.1, .length = 0.2, .rounding = 0.04};
    shapes[count++] = mesh_shape(mesh, 0);
    shapes[count++] = mesh_shape(mesh, 0.02);
    return count;
}

static thenar_surface box_mesh(double x, double y, double z) {
    thenar_surface surface;
    thenar_error error;
    const double size[3] = {x, y, z};
    assert_ok(thenar_surface_box(size, 3, &surface, &error), error);
    return surface;
}

/* Sums over a fine grid, where a cell counts by how deep its middle is: an error of the second order in the cell. */
static mass_properties integrate_shape(const rigid_shape *shape, int cells) {
    box b = shape->solid.bounds;
    vec3 size = vec3_sub(b.high, b.low);
    double cell = fmax(size.x, fmax(size.y, size.z)) / cells, volume = 0;
    mat3 second = {{0}};
    for (double x = b.low.x - cell / 2; x < b.high.x + cell; x += cell)
        for (double y = b.low.y - cell / 2; y < b.high.y + cell; y += cell)
            for (double z = b.low.z - cell / 2; z < b.high.z + cell; z += cell) {
                vec3 p = {x, y, z};
                double inside = fmin(1, fmax(0, 0.5 - rigid_shape_closest(shape, p).distance / cell));
                volume += inside * cell * cell * cell;
                second = mat3_add(second, mat3_scale(mat3_outer(p, p), inside * cell * cell * cell));
            }
    mat3 inertia = mat3_add(mat3_scale(mat3_identity(), mat3_trace(second)), mat3_scale(second, -1));
    return (mass_properties){.mass = volume, .inertia = inertia};
}

static void mass_and_inertia_are_those_of_the_solid_that_the_distance_describes(void **unused) {
    (void)unused;
    thenar_surface mesh = box_mesh(0.2, 0.3, 0.1);
    thenar_shape shapes[8];
    int count = sample_shapes(&mesh, shapes);
    for (int i = 0; i < count - 1; i++) { /* not the grown mesh: its mass is left as it was */
        thenar_error error;
        rigid_shape shape;
        mass_properties exact = rigid_shape_mass(&shapes[i]);
        assert_ok(rigid_shape_create(&shapes[i], exact.centre, &shape, &error), error);
        mass_properties summed = integrate_shape(&shape, shapes[i].kind == THENAR_SHAPE_MESH ? 60 : 120);
        assert_near(exact.mass, summed.mass, 3e-3 * exact.mass);
        for (int k = 0; k < 9; k++)
            assert_near(exact.inertia.m[k], summed.inertia.m[k], 5e-3 * mat3_trace(exact.inertia));
        rigid_shape_free(&shape);
    }
    thenar_surface_free(&mesh);
}

static void a_rounding_that_leaves_no_core_makes_a_box_a_ball_and_a_cylinder_a_capsule(void **unused) {
    (void)unused;
    thenar_shape ball = {.kind = THENAR_SHAPE_SPHERE, .radius = 0.1}, cube = box_of_size(0.2, 0.2, 0.2);
    cube.rounding = 0.1;
    thenar_shape capsule = {.kind = THENAR_SHAPE_CAPSULE, .radius = 0.1, .length = 0.3};
    thenar_shape cylinder = {.kind = THENAR_SHAPE_CYLINDER, .radius = 0.1, .length = 0.5, .rounding = 0.1};
    mass_properties a = rigid_shape_mass(&ball), b = rigid_shape_mass(&cube);
    mass_properties c = rigid_shape_mass(&capsule), d = rigid_shape_mass(&cylinder);
    assert_near(b.mass, a.mass, 1e-14 * a.mass);
    assert_near(d.mass, c.mass, 1e-14 * c.mass);
    for (int k = 0; k < 9; k++) assert_near(b.inertia.m[k], a.inertia.m[k], 1e-14 * a.inertia.m[0]);
    for (int k = 0; k < 9; k++) assert_near(d.inertia.m[k], c.inertia.m[k], 1e-14 * c.inertia.m[0]);
}

static void a_mesh_weighs_what_it_holds_wherever_its_origin_is(void **unused) {
    (void)unused;
    thenar_surface mesh = box_mesh(0.2, 0.3, 0.1);
    for (int i = 0; i < mesh.vertex_count; i++)
        vec3_store(mesh.positions + 3 * i, vec3_add(vec3_load(mesh.positions + 3 * i), vec3_make(5, -3, 2)));
    thenar_rigid_def def = rigid("mesh", mesh_shape(&mesh, 0));
    def.density = 500;
    vec3_store(def.pose, vec3_make(1, 0, 0));
    pose_turn(def.pose, 0, 0, 3.14159265358979 / 2);
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    double inertia[9], position[3], q[4];
    thenar_model_inertia(model, 0, inertia);
    body_pose(sim, 0, position, q);
    assert_near(thenar_model_mass(model, 0), 3, 1e-12);
    assert_near(inertia[0], 3.0 / 12 * (0.09 + 0.01), 1e-12);
    assert_near(inertia[4], 3.0 / 12 * (0.04 + 0.01), 1e-12);
    assert_near(inertia[8], 3.0 / 12 * (0.04 + 0.09), 1e-12);
    /* (5, -3, 2) turned by a quarter about z is (3, 5, 2). */
    assert_near(position[0], 4, 1e-12);
    assert_near(position[1], 5, 1e-12);
    assert_near(position[2], 2, 1e-12);
    /* The surface is where the mesh was put: corner (4.9, -3.15, 1.95) goes to (1 + 3.15, 4.9, 1.95). */
    double *surface = malloc(3 * (size_t)mesh.vertex_count * sizeof *surface), min = INFINITY;
    thenar_sim_surface(sim, 0, surface);
    for (int i = 0; i < mesh.vertex_count; i++)
        min = fmin(min, vec3_distance(vec3_load(surface + 3 * i), vec3_make(4.15, 4.9, 1.95)));
    assert_near(min, 0, 1e-12);
    free(surface);
    thenar_sim_free(sim);
    thenar_model_free(model);
    thenar_surface_free(&mesh);
}

static vec3 random_near(random_source *random, const box *b, double by) {
    return vec3_make(random_uniform(random, b->low.x - by, b->high.x + by),
                     random_uniform(random, b->low.y - by, b->high.y + by),
                     random_uniform(random, b->low.z - by, b->high.z + by));
}

/* The normal of a convex solid at distance d from its core turns by no more than move / d. */
static void normals_outside_turn_no_faster_than_the_point_moves(void **unused) {
    (void)unused;
    thenar_surface mesh = box_mesh(0.2, 0.3, 0.1);
    thenar_shape shapes[8];
    int count = sample_shapes(&mesh, shapes);
    random_source random = {7};
    for (int i = 0; i < count; i++) {
        thenar_error error;
        rigid_shape shape;
        assert_ok(rigid_shape_create(&shapes[i], vec3_make(0, 0, 0), &shape, &error), error);
        double core =
            shapes[i].radius > 0 && shapes[i].kind != THENAR_SHAPE_CYLINDER ? shapes[i].radius : shapes[i].rounding;
        int tried = 0;
        for (int k = 0; k < 20000; k++) {
            vec3 p = random_near(&random, &shape.solid.bounds, 0.02);
            double size = pow(10, random_uniform(&random, -6, -2.5));
            vec3 move = tools_random_vector(&random, size), q = vec3_add(p, move);
            rigid_closest a = rigid_shape_closest(&shape, p), b = rigid_shape_closest(&shape, q);
            double depth = fmin(a.distance, b.distance) + core;
            if (depth < 1e-4) continue;
            tried++;
            /* Rounding turns the direction of a point at distance d by 1e-16 / d. */
            assert_true(vec3_distance(a.normal, b.normal) <= vec3_length(move) / depth * 1.0001 + 1e-9);
            assert_near(vec3_length(a.normal), 1, 1e-12);
            assert_near(rigid_shape_closest(&shape, a.point).distance, 0, 1e-12);
        }
        assert_true(tried > 5000);
        rigid_shape_free(&shape);
    }
    thenar_surface_free(&mesh);
}

/* Where rounding rules the direction to the surface, the normal of the face stands. */
static void normals_on_the_surface_of_a_mesh_are_those_of_its_faces(void **unused) {
    (void)unused;
    thenar_surface mesh = box_mesh(0.2, 0.3, 0.1);
    thenar_shape def = mesh_shape(&mesh, 0);
    thenar_error error;
    rigid_shape shape;
    random_source random = {3};
    assert_ok(rigid_shape_create(&def, vec3_make(0, 0, 0), &shape, &error), error);
    for (int i = 0; i < 2000; i++) {
        vec3 p = {random_uniform(&random, -0.09, 0.09), 0.15 + random_uniform(&random, -1e-15, 1e-15),
                  random_uniform(&random, -0.04, 0.04)};
        assert_true(rigid_shape_closest(&shape, p).normal.y > 1 - 1e-9);
    }
    rigid_shape_free(&shape);
    thenar_surface_free(&mesh);
}

/* On a mesh with a hole, from inside to far outside. */
static void the_lower_bound_is_never_above_the_distance_nor_far_below(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_surface ring;
    assert_ok(thenar_surface_torus(0.1, 0.03, 6, &ring, &error), error);
    thenar_shape def = mesh_shape(&ring, 0.005);
    rigid_shape shape;
    assert_ok(rigid_shape_create(&def, vec3_make(0, 0, 0), &shape, &error), error);
    random_source random = {9};
    double cell = shape.grid.size;
    for (int i = 0; i < 20000; i++) {
        vec3 p = random_near(&random, &shape.solid.bounds, i % 2 ? 0.1 : 0);
        double min = rigid_shape_min_distance(&shape, p), distance = rigid_shape_closest(&shape, p).distance;
        assert_true(min <= distance);
        /* In a cell it is off by two half diagonals at most. */
        if (i % 2 == 0) assert_true(min >= distance - 2 * cell * 1.7320509);
    }
    rigid_shape_free(&shape);
    thenar_surface_free(&ring);
}

/* ------------------------------------------------------------------------------------------------ motion */

static void a_free_body_falls_on_the_parabola_of_implicit_euler(void **unused) {
    (void)unused;
    thenar_rigid_def def = rigid("ball", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.1});
    vec3_store(def.pose, vec3_make(1, 2, 3));
    vec3_store(def.velocity, vec3_make(4, 5, 6));
    thenar_model *model = model_of(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    int n = 100;
    double h = 0.01, position[3], q[4], velocity[3], spin[3];
    tools_run(sim, n);
    body_pose(sim, 0, position, q);
    body_twist(sim, 0, velocity, spin);
    assert_near(position[0], 1 + 4 * n * h, 1e-12);
    assert_near(position[1], 2 + 5 * n * h - 9.81 * h * h * n * (n + 1) / 2, 1e-11);
    assert_near(velocity[1], 5 - 9.81 * n * h, 1e-12);
    assert_near(thenar_sim_stats(sim)->residual, 0, 1e-14);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void a_box_that_spins_about_its_middle_axis_turns_over(void **unused) {
    (void)unused;
    thenar_rigid_def def = tumbling_box();
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.005, 1);
    double lowest = 1;
    for (int i = 0; i < 800; i++) {
        tools_run(sim, 1);
        lowest = fmin(lowest, body_axis(sim, vec3_make(0, 1, 0)).y);
    }
    assert_true(lowest < -0.99);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* Both are invariants of the midpoint rule; what is left is rounding, some 1e-16 a step over 3000 steps. */
static void a_tumbling_body_keeps_its_energy_and_angular_momentum(void **unused) {
    (void)unused;
    const double steps[] = {0.001, 0.01, 0.05};
    for (int s = 0; s < 3; s++) {
        thenar_rigid_def def = tumbling_box();
        thenar_model *model = model_of(&def, 0);
        thenar_sim *sim = tools_sim(model, steps[s], 1);
        vec3 before = momentum_of(sim);
        double first, energy, max;
        thenar_sim_energy(sim, 0, &first, NULL, NULL);
        max = first;
        for (int i = 0; i < 3000; i++) {
            tools_run(sim, 1);
            thenar_sim_energy(sim, 0, &energy, NULL, NULL);
            max = fmax(max, energy);
        }
        assert_near(energy, first, 1e-12 * first);
        assert_near(max, first, 1e-12 * first);
        assert_near(vec3_distance(momentum_of(sim), before), 0, 1e-11 * vec3_length(before));
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

/* Steps so long that nothing can be accurate: hundreds of turns each. */
static void energy_does_not_grow_whatever_the_spin_and_the_step(void **unused) {
    (void)unused;
    random_source random = {5};
    for (int trial = 0; trial < 60; trial++) {
        thenar_rigid_def def = rigid("box", box_of_size(random_uniform(&random, 0.01, 0.3), 0.1, 0.02));
        vec3_store(def.spin, tools_random_vector(&random, pow(10, random_uniform(&random, 0, 5))));
        thenar_model *model = model_of(&def, 0);
        thenar_sim *sim = tools_sim(model, pow(10, random_uniform(&random, -3, 0)), 1);
        double first, energy;
        thenar_sim_energy(sim, 0, &first, NULL, NULL);
        for (int i = 0; i < 200; i++) {
            tools_run(sim, 1);
            thenar_sim_energy(sim, 0, &energy, NULL, NULL);
            assert_true(isfinite(energy) && energy <= first * (1 + 1e-12));
        }
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

/* A ball, whose spin nothing else changes: up to half a turn a step it is left alone, faster it is slowed down to that and
 * counted, whether it was as fast from the beginning or a torque made it so. */
static void a_body_turns_by_half_a_turn_a_step_at_most(void **unused) {
    (void)unused;
    const double h = 0.01, max = 3.14159265358979323846 / h;
    for (int trial = 0; trial < 4; trial++) {
        thenar_rigid_def def = rigid("ball", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.01});
        bool by_torque = trial >= 2, fast = trial % 2;
        double wanted = (fast ? 100 : 0.999) * max, velocity[3], spin[3], inertia[9];
        if (!by_torque) vec3_store(def.spin, vec3_make(0, wanted, 0));
        vec3_store(def.velocity, vec3_make(1, 2, 3));
        thenar_model *model = model_of(&def, 0);
        thenar_sim *sim = tools_sim(model, h, 1);
        thenar_model_inertia(model, 0, inertia);
        if (by_torque) thenar_sim_apply_wrench(sim, 0, (double[3]){0}, (double[3]){0, inertia[4] * wanted / h, 0});
        tools_run(sim, 1);
        body_twist(sim, 0, velocity, spin);
        assert_near(spin[1], fast ? max : wanted, 1e-9 * max);
        assert_near(vec3_distance(vec3_load(velocity), vec3_make(1, 2, 3)), 0, 1e-12);
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_SPIN_LIMITED), fast);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

/* Euler's equations and the quaternion by the classical Runge-Kutta rule, with steps so small that its error, of the
 * fourth order, does not matter. */
typedef struct reference {
    quat q;
    vec3 w; /* in the body's frame */
} reference;

static reference rate_of(reference s, vec3 moments) {
    vec3 L = {moments.x * s.w.x, moments.y * s.w.y, moments.z * s.w.z}, torque = vec3_cross(L, s.w);
    quat spin = {s.w.x / 2, s.w.y / 2, s.w.z / 2, 0};
    return (reference){quat_mul(s.q, spin), {torque.x / moments.x, torque.y / moments.y, torque.z / moments.z}};
}

static reference reference_add(reference a, reference b, double s) {
    a.q = (quat){a.q.x + s * b.q.x, a.q.y + s * b.q.y, a.q.z + s * b.q.z, a.q.w + s * b.q.w};
    a.w = vec3_mul_add(a.w, b.w, s);
    return a;
}

static reference reference_after(vec3 spin, vec3 moments, double time, int steps) {
    reference s = {quat_identity(), spin};
    double h = time / steps;
    for (int i = 0; i < steps; i++) {
        reference a = rate_of(s, moments), b = rate_of(reference_add(s, a, h / 2), moments);
        reference c = rate_of(reference_add(s, b, h / 2), moments), d = rate_of(reference_add(s, c, h), moments);
        s = reference_add(reference_add(reference_add(reference_add(s, a, h / 6), b, h / 3), c, h / 3), d, h / 6);
        s.q = quat_unit(s.q);
    }
    return s;
}

static double error_against_reference(double h, double time) {
    thenar_rigid_def def = tumbling_box();
    vec3_store(def.spin, vec3_make(1, 5, 2));
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, h, 1);
    tools_run(sim, (int)lround(time / h));
    double inertia[9], position[3], q[4];
    thenar_model_inertia(model, 0, inertia);
    reference exact = reference_after(vec3_make(1, 5, 2), vec3_make(inertia[0], inertia[4], inertia[8]), time, 20000);
    body_pose(sim, 0, position, q);
    quat got = {q[0], q[1], q[2], q[3]};
    double error = vec3_length(quat_to_rotation_vector(quat_mul(got, quat_conjugate(exact.q))));
    thenar_sim_free(sim);
    thenar_model_free(model);
    return error;
}

static void rotation_converges_to_that_of_eulers_equations_with_the_square_of_the_step(void **unused) {
    (void)unused;
    double coarse = error_against_reference(0.01, 2), middle = error_against_reference(0.005, 2);
    double fine = error_against_reference(0.0025, 2);
    assert_true(fine < 0.01);
    assert_near(coarse / middle, 4, 0.4);
    assert_near(middle / fine, 4, 0.1);
}

static void a_constant_torque_changes_the_angular_momentum_by_its_time(void **unused) {
    (void)unused;
    thenar_rigid_def def = rigid("ball", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.1});
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    const double force[3] = {1, 2, 3}, torque[3] = {0.01, -0.02, 0.03}, none[3] = {0};
    double velocity[3], spin[3], got_force[3], got_torque[3];
    assert_int_equal(thenar_sim_apply_wrench(sim, 0, force, torque), THENAR_OK);
    tools_run(sim, 50);
    thenar_sim_wrench(sim, 0, got_force, got_torque);
    assert_memory_equal(got_force, force, sizeof force);
    assert_memory_equal(got_torque, torque, sizeof torque);
    thenar_sim_apply_wrench(sim, 0, none, none);
    tools_run(sim, 50);
    body_twist(sim, 0, velocity, spin);
    vec3 momentum = momentum_of(sim);
    assert_near(momentum.x, 0.5 * torque[0], 1e-14);
    assert_near(momentum.y, 0.5 * torque[1], 1e-14);
    assert_near(momentum.z, 0.5 * torque[2], 1e-14);
    for (int c = 0; c < 3; c++) assert_near(velocity[c], 0.5 * force[c] / thenar_model_mass(model, 0), 1e-13);
    const double bad[3] = {0, NAN, 0};
    assert_int_equal(thenar_sim_apply_wrench(sim, 0, bad, none), THENAR_ERROR_INPUT);
    assert_int_equal(thenar_sim_apply_wrench(sim, 0, none, bad), THENAR_ERROR_INPUT);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void damping_slows_as_implicit_euler_does(void **unused) {
    (void)unused;
    thenar_rigid_def def = rigid("ball", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.1});
    def.damping_linear = 2;
    def.damping_angular = 3;
    vec3_store(def.velocity, vec3_make(1, 0, 0));
    vec3_store(def.spin, vec3_make(0, 1, 0));
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    tools_run(sim, 100);
    double velocity[3], spin[3];
    body_twist(sim, 0, velocity, spin);
    assert_near(velocity[0], pow(1.02, -100), 1e-12);
    assert_near(spin[1], pow(1.03, -100), 1e-12);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void a_driven_body_goes_where_its_keys_or_its_driver_take_it(void **unused) {
    (void)unused;
    thenar_key keys[] = {{.time = 0}, {.time = 1, .move = {1, 0, 0}, .turn = {0, 1, 0}}};
    thenar_rigid_def def = rigid("box", box_of_size(0.1, 0.1, 0.1));
    def.motion = THENAR_MOTION_DRIVEN;
    def.keys = keys;
    def.key_count = 2;
    def.linear = true;
    vec3_store(def.pose, vec3_make(0, 2, 0));
    thenar_model *model = model_of(&def, -9.81);
    assert_int_equal(thenar_model_dof_count(model), 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    double position[3], q[4], velocity[3], spin[3];
    tools_run(sim, 50);
    body_pose(sim, 0, position, q);
    body_twist(sim, 0, velocity, spin);
    assert_near(position[0], 0.5, 1e-12);
    assert_near(position[1], 2, 1e-12);
    assert_near(q[1], sin(0.25), 1e-12);
    assert_near(velocity[0], 1, 1e-11);
    assert_near(spin[1], 1, 1e-11);
    const double place[3] = {3, 2, 1}, turn[4] = {0, 0, 2, 2}, zero[4] = {0}, bad[3] = {INFINITY, 0, 0};
    assert_int_equal(drive_body(sim, 0, place, zero), THENAR_ERROR_INPUT);
    assert_int_equal(drive_body(sim, 0, bad, turn), THENAR_ERROR_INPUT);
    assert_int_equal(drive_body(sim, 0, place, turn), THENAR_OK);
    tools_run(sim, 1);
    body_pose(sim, 0, position, q);
    body_twist(sim, 0, velocity, spin);
    for (int c = 0; c < 3; c++) assert_near(position[c], place[c], 0);
    assert_near(q[2], sqrt(0.5), 1e-15);
    assert_near(velocity[2], 100, 1e-9);
    tools_run(sim, 1);
    body_twist(sim, 0, velocity, spin);
    for (int c = 0; c < 3; c++) assert_near(velocity[c], 0, 0);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void keys_turn_a_body_about_the_pivot(void **unused) {
    (void)unused;
    thenar_key keys[] = {{.time = 0}, {.time = 0.1, .turn = {0, 0, 3.14159265358979 / 2}}};
    thenar_rigid_def def = rigid("box", box_of_size(0.1, 0.1, 0.1));
    def.motion = THENAR_MOTION_DRIVEN;
    def.keys = keys;
    def.key_count = 2;
    def.has_pivot = true;
    vec3_store(def.pose, vec3_make(1, 0, 0));
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    double position[3], q[4];
    tools_run(sim, 20);
    body_pose(sim, 0, position, q);
    assert_near(position[0], 0, 1e-12);
    assert_near(position[1], 1, 1e-12);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void a_static_body_stays(void **unused) {
    (void)unused;
    thenar_rigid_def def = rigid("ground", (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 2, 0}});
    def.motion = THENAR_MOTION_STATIC;
    vec3_store(def.pose, vec3_make(0, -1, 0));
    thenar_model *model = model_of(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    double position[3], q[4], kinetic;
    tools_run(sim, 10);
    body_pose(sim, 0, position, q);
    thenar_sim_energy(sim, 0, &kinetic, NULL, NULL);
    assert_near(position[1], -1, 0);
    assert_near(kinetic, 0, 0);
    assert_int_equal(thenar_model_warning_count(model), 0);
    rigid_closest closest = rigid_shape_closest(&rigid_of(sim_rigid(sim, 0))->shape, vec3_make(3, 0.5, 4));
    assert_near(closest.distance, 0.5, 1e-15);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void an_impossible_force_is_survived(void **unused) {
    (void)unused;
    thenar_rigid_def def = rigid("ball", (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.01});
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, 1, 1);
    const double huge[3] = {1e308, 0, 0}, none[3] = {0};
    double position[3], q[4];
    thenar_sim_apply_wrench(sim, 0, huge, none);
    assert_int_equal(thenar_sim_step(sim), THENAR_ERROR_NUMERIC);
    thenar_sim_apply_wrench(sim, 0, none, huge);
    assert_int_equal(thenar_sim_step(sim), THENAR_ERROR_NUMERIC);
    body_pose(sim, 0, position, q);
    assert_near(position[0], 0, 0);
    thenar_sim_apply_wrench(sim, 0, none, none);
    tools_run(sim, 5);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* ------------------------------------------------------------------------------------------------ definitions */

static void refuse(const thenar_rigid_def *def, const char *words) {
    thenar_error error = {0};
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    assert_int_equal(thenar_build_add_rigid(build, def, &error), THENAR_ERROR_INPUT);
    if (!strstr(error.text, words)) fail_msg("%s: expected the words %s", error.text, words);
    thenar_build_free(build);
}

static void invalid_rigid_bodies_are_refused_with_a_reason(void **unused) {
    (void)unused;
    thenar_key late_first[] = {{.time = 1}, {.time = 0.5}};
    const thenar_rigid_def good = tumbling_box();
    thenar_rigid_def def = good;
    def.name = NULL;
    refuse(&def, "no name");
    def = good;
    def.shape.size[1] = 0;
    refuse(&def, "the size is 0 m");
    def = good, def.shape.size[1] = NAN;
    refuse(&def, "the size is nan m");
    def = good, def.shape.rounding = 0.03;
    refuse(&def, "the rounding is 0.03 m; expected 0 to 0.02 m");
    def = good, def.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = -1};
    refuse(&def, "the radius is -1 m");
    def = good, def.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE};
    refuse(&def, "a direction");
    def = good, def.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    refuse(&def, "a plane that moves");
    def = good, def.shape = (thenar_shape){.kind = THENAR_SHAPE_MESH};
    refuse(&def, "no surface");
    def = good, def.shape.kind = (thenar_shape_kind)77;
    refuse(&def, "unknown kind of shape");
    def = good, def.motion = (thenar_motion)77;
    refuse(&def, "unknown kind of motion");
    def = good, def.density = 0;
    refuse(&def, "density is 0; expected > 0");
    def = good, def.mass = -1;
    refuse(&def, "mass is -1; expected > 0");
    def = good, def.density = 1e300;
    refuse(&def, "the mass is");
    def = good, def.inertia[0] = 1, def.inertia[4] = 1, def.inertia[8] = 3;
    refuse(&def, "no inertia");
    def = good, def.inertia[0] = def.inertia[4] = def.inertia[8] = 1, def.inertia[1] = 0.5;
    refuse(&def, "no inertia");
    def = good, def.spin[1] = INFINITY;
    refuse(&def, "spin is not finite");
    def = good, def.damping_angular = -1;
    refuse(&def, "damping is 0 and -1");
    def = good, def.keys = late_first, def.key_count = 2;
    refuse(&def, "keys for a body that is not driven");
    def = good, def.motion = THENAR_MOTION_STATIC;
    refuse(&def, "velocity or spin for a body that is not dynamic");
    def = good, def.motion = THENAR_MOTION_DRIVEN, vec3_store(def.spin, vec3_make(0, 0, 0));
    def.keys = late_first, def.key_count = 2;
    refuse(&def, "expected later than key 0");
    thenar_surface open = box_mesh(1, 1, 1);
    open.triangle_count--;
    def = good, def.shape = mesh_shape(&open, 0);
    refuse(&def, "expected a closed surface");
    open.triangle_count++;
    open.triangles[4] = 10000;
    refuse(&def, "10000");
    thenar_surface_free(&open);
}

static void two_bodies_of_one_name_are_refused(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_rigid_def def = tumbling_box();
    assert_ok(thenar_build_add_rigid(build, &def, &error), error);
    assert_int_equal(thenar_build_add_rigid(build, &def, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "two bodies named box"));
    thenar_build_free(build);
}

static void mass_and_inertia_can_be_given(void **unused) {
    (void)unused;
    thenar_rigid_def def = tumbling_box();
    def.mass = 2;
    thenar_model *model = model_of(&def, 0);
    double inertia[9];
    thenar_model_inertia(model, 0, inertia);
    assert_near(thenar_model_mass(model, 0), 2, 0);
    assert_near(inertia[0], 2.0 / 12 * (0.12 * 0.12 + 0.04 * 0.04), 1e-15);
    thenar_model_free(model);
    def.inertia[0] = 1, def.inertia[4] = 2, def.inertia[8] = 2.5, def.inertia[1] = def.inertia[3] = 0.1;
    model = model_of(&def, 0);
    thenar_model_inertia(model, 0, inertia);
    for (int i = 0; i < 9; i++) assert_near(inertia[i], def.inertia[i], 0);
    thenar_model_free(model);
}

static void kinds_and_motions_can_be_asked_for(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_tet_mesh mesh = tools_box(1, 0.2, 0.2, 5, 1, 1);
    thenar_soft_def soft = thenar_soft_def_default();
    thenar_rigid_def def = tumbling_box();
    soft.name = "beam";
    soft.mesh = &mesh;
    assert_ok(thenar_build_add_soft(build, &soft, &error), error);
    assert_ok(thenar_build_add_rigid(build, &def, &error), error);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    assert_int_equal(thenar_model_body_kind(model, 0), THENAR_BODY_SOFT);
    assert_int_equal(thenar_model_body_kind(model, 1), THENAR_BODY_RIGID);
    assert_int_equal(thenar_model_motion(model, 1), THENAR_MOTION_DYNAMIC);
    assert_int_equal(thenar_model_dof_count(model), 3 * mesh.node_count + 6);
    assert_near(thenar_model_mass(model, 0), 40, 1e-10);
    thenar_build_free(build);
    thenar_model_free(model);
    thenar_tet_mesh_free(&mesh);
}

static void a_call_for_another_kind_of_body_fails_with_a_message(void **unused) {
    (void)unused;
    thenar_rigid_def def = tumbling_box();
    thenar_model *model = model_of(&def, 0);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    const double pose[7] = {0, 0, 0, 0, 0, 0, 1};
    thenar_set_last_error("");
    assert_null(thenar_sim_positions(sim, 0));
    assert_string_not_equal(thenar_last_error(), "");
    assert_null(thenar_model_mesh(thenar_sim_model(sim), 0));
    assert_int_equal(thenar_sim_drive_body(sim, 0, pose), THENAR_ERROR_USAGE);
    assert_int_equal(thenar_sim_surface(sim, 1, NULL), THENAR_ERROR_USAGE);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* ------------------------------------------------------------------------------------------------ files */

static void a_recording_holds_the_pose_of_every_frame(void **unused) {
    (void)unused;
    thenar_error error;
    char path[64];
    snprintf(path, sizeof path, "rigid_%d.thenar", (int)getpid());
    thenar_rigid_def def = tumbling_box();
    thenar_model *model = model_of(&def, -9.81);
    thenar_sim *sim = tools_sim(model, 0.01, 1);
    thenar_recorder *recorder;
    assert_ok(thenar_recorder_create(path, sim, NULL, &recorder, &error), error);
    for (int i = 0; i < 5; i++) {
        tools_run(sim, 1);
        assert_ok(thenar_recorder_add(recorder, &error), error);
    }
    assert_ok(thenar_recorder_close(recorder, &error), error);
    thenar_recording *recording;
    assert_ok(thenar_recording_open(path, &recording, &error), error);
    const thenar_recording_body *body = thenar_recording_body_at(recording, 0);
    assert_string_equal(body->kind, "rigid");
    assert_int_equal(body->surface, THENAR_RECORDING_SURFACE_RIGID);
    double *shown = malloc(3 * (size_t)body->vertex_count * sizeof *shown);
    double *expected = malloc(3 * (size_t)body->vertex_count * sizeof *expected);
    assert_ok(thenar_recording_read_surface(recording, 0, 4, shown, &error), error);
    thenar_sim_surface(sim, 0, expected);
    /* single precision: 6e-8 of 0.2 m */
    for (int i = 0; i < 3 * body->vertex_count; i++) assert_near(shown[i], expected[i], 5e-8);
    double twist[6], velocity[3], spin[3];
    assert_ok(thenar_recording_read_channel(recording, thenar_recording_find_channel(recording, 0, "twist"), 4, twist,
                                            &error),
              error);
    body_twist(sim, 0, velocity, spin);
    for (int c = 0; c < 3; c++) assert_near(twist[c], velocity[c], 1e-6);
    for (int c = 0; c < 3; c++) assert_near(twist[3 + c], spin[c], 1e-6);
    free(shown);
    free(expected);
    thenar_recording_close(recording);
    unlink(path);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mass_and_inertia_are_those_of_the_solid_that_the_distance_describes),
    cmocka_unit_test(a_rounding_that_leaves_no_core_makes_a_box_a_ball_and_a_cylinder_a_capsule),
    cmocka_unit_test(a_mesh_weighs_what_it_holds_wherever_its_origin_is),
    cmocka_unit_test(normals_outside_turn_no_faster_than_the_point_moves),
    cmocka_unit_test(normals_on_the_surface_of_a_mesh_are_those_of_its_faces),
    cmocka_unit_test(the_lower_bound_is_never_above_the_distance_nor_far_below),
    cmocka_unit_test(a_free_body_falls_on_the_parabola_of_implicit_euler),
    cmocka_unit_test(a_box_that_spins_about_its_middle_axis_turns_over),
    cmocka_unit_test(a_tumbling_body_keeps_its_energy_and_angular_momentum),
    cmocka_unit_test(energy_does_not_grow_whatever_the_spin_and_the_step),
    cmocka_unit_test(a_body_turns_by_half_a_turn_a_step_at_most),
    cmocka_unit_test(rotation_converges_to_that_of_eulers_equations_with_the_square_of_the_step),
    cmocka_unit_test(a_constant_torque_changes_the_angular_momentum_by_its_time),
    cmocka_unit_test(damping_slows_as_implicit_euler_does),
    cmocka_unit_test(a_driven_body_goes_where_its_keys_or_its_driver_take_it),
    cmocka_unit_test(keys_turn_a_body_about_the_pivot),
    cmocka_unit_test(a_static_body_stays),
    cmocka_unit_test(an_impossible_force_is_survived),
    cmocka_unit_test(invalid_rigid_bodies_are_refused_with_a_reason),
    cmocka_unit_test(two_bodies_of_one_name_are_refused),
    cmocka_unit_test(mass_and_inertia_can_be_given),
    cmocka_unit_test(kinds_and_motions_can_be_asked_for),
    cmocka_unit_test(a_call_for_another_kind_of_body_fails_with_a_message),
    cmocka_unit_test(a_recording_holds_the_pose_of_every_frame),
};

TEST_MAIN(tests)
