/* Contact by springs: what the law says, what mechanics says, and how it compares with constraints. */
#include "contact_pinch.h"

#include "allocations.h"

#include "contact/contact.h"
#include "random.h"

#include "thenar/scene.h"
#include "poses.h"

/* ---- the law ---- */

static const penalty_law some_law = {.stiffness = 2e7, .damping = 3e4};

static vec3 random_vector(random_source *random, double size) {
    return vec3_make(random_uniform(random, -size, size), random_uniform(random, -size, size),
                     random_uniform(random, -size, size));
}

/* A free point of mass 1 with one leg, so that the motion is F d. */
static contact random_contact(random_source *random, double mu) {
    contact c = {.mu = mu, .frame = contact_frame(vec3_unit(random_vector(random, 1))), .leg_count = 1};
    c.legs[0] = (contact_leg){.node = 0, .weight = 1};
    c.start = random_vector(random, 1e-4);
    c.start.x -= 1e-4;
    c.known = random_vector(random, 1e-5);
    return c;
}

/* The force on a point of a rigid body (1 cm^2) by the header's words, d in the contact's frame. */
static vec3 law_force(const contact *c, double h, vec3 d) {
    const double k = 1e-4 * some_law.stiffness, damping = 1e-4 * some_law.damping;
    vec3 u = vec3_add(c->start, d), speed = vec3_scale(vec3_add(c->known, d), 1 / h);
    vec3 z = vec3_sub(vec3_scale(u, -k), vec3_scale(speed, damping));
    if (z.x <= 0) return vec3_make(0, 0, 0);
    double size = hypot(z.y, z.z), max = c->mu * z.x;
    return size <= max ? z : vec3_make(z.x, max * z.y / size, max * z.z / size);
}

static void the_equations_are_the_law_and_its_symmetric_slope(void **unused) {
    (void)unused;
    random_source random = {31};
    const contact_point point = {.node = {-1, -1, -1, -1}};
    const double h = 0.004, e = 1e-9;
    int met[3] = {0};
    for (int k = 0; k < 3000; k++) {
        contact c = random_contact(&random, k % 4 == 0 ? 0 : 0.6);
        penalty_term term;
        penalty_fit fit = {.same = true};
        vec3 local = random_vector(&random, 1e-4);
        double d[3];
        vec3_store(d, mat3_mul_vec_transposed(c.frame, local));
        penalty_begin(&term, &c, &point, &some_law, h, d);
        penalty_evaluate(&term, &c, d, &fit);
        /* By halves friction's bound comes to the normal force within rounding. */
        for (int i = 0; i < 60; i++) penalty_renew(&term, &c, k % 2 ? 0 : 1);
        met[term.state]++;
        /* The force is the law's, in either way of writing the equations. */
        vec3 expected = law_force(&c, h, local);
        vec3 force = vec3_sub(term.offset, mat3_mul_vec(term.K, local));
        assert_true(vec3_distance(force, expected) < 1e-12);
        penalty_fit again = {.same = true};
        penalty_evaluate(&term, &c, d, &again);
        assert_true(again.same && again.change < 1e-12);
        assert_near(again.mean, expected.x, 1e-12);
        /* The slope is that of finite differences, along the normal and, with the normal force as it is, across. */
        if (k % 2 == 0 || fabs(term.z.x) < 1e-2) continue;
        if (fabs(hypot(term.z.y, term.z.z) - c.mu * term.z.x) < 1e-2) continue;
        for (int axis = 0; axis < 3; axis++) {
            vec3 step = {axis == 0 ? e : 0, axis == 1 ? e : 0, axis == 2 ? e : 0};
            vec3 ahead = law_force(&c, h, vec3_add(local, step)), behind = law_force(&c, h, vec3_sub(local, step));
            vec3 slope = vec3_scale(vec3_sub(ahead, behind), -1 / (2 * e));
            if (axis == 0) slope.y = slope.z = 0; /* what is left out */
            vec3 column = {term.K.m[axis], term.K.m[3 + axis], term.K.m[6 + axis]};
            assert_true(vec3_distance(slope, column) < 1e-4 * term.rho);
        }
    }
    for (int i = 0; i < 3; i++) assert_true(met[i] > 300);
}

/* After a slip the anchor is where the spring, with the damper, has the force that acted. */
static void the_anchor_moves_on_until_the_spring_has_the_force_of_friction(void **unused) {
    (void)unused;
    random_source random = {32};
    const contact_point point = {.node = {-1, -1, -1, -1}};
    const double h = 0.004, k = 1e-4 * some_law.stiffness, damping = 1e-4 * some_law.damping;
    int slips = 0;
    for (int n = 0; n < 500; n++) {
        contact c = random_contact(&random, 0.3);
        penalty_term term;
        penalty_fit fit = {.same = true};
        const double d[3] = {1e-5, 2e-5, -1e-5};
        penalty_begin(&term, &c, &point, &some_law, h, d);
        penalty_evaluate(&term, &c, d, &fit);
        penalty_renew(&term, &c, 0);
        penalty_settle(&term, &c);
        vec3 anchored = vec3_sub(c.u, c.slide), speed = vec3_scale(vec3_add(c.known, vec3_sub(c.u, c.start)), 1 / h);
        if (c.settled != CONE_SLIP) {
            assert_near(vec3_length(c.slide), 0, 0);
            continue;
        }
        slips++;
        assert_near(-k * anchored.y - damping * speed.y, c.lambda.y, 1e-12);
        assert_near(-k * anchored.z - damping * speed.z, c.lambda.z, 1e-12);
        assert_near(cone_tangential(c.lambda), 0.3 * c.lambda.x, 1e-12);
    }
    assert_true(slips > 100);
}

/* ---- bodies ---- */

static const vec3 earth = {0, -CONTACT_GRAVITY, 0};

static vec3 slope_gravity(double angle) {
    return vec3_make(CONTACT_GRAVITY * sin(angle), -CONTACT_GRAVITY * cos(angle), 0);
}

static scene begin(vec3 gravity, double stiffness, double damping) {
    thenar_world_def world = thenar_world_def_default();
    vec3_store(world.gravity, gravity);
    if (stiffness > 0) world.contact_stiffness = stiffness;
    if (stiffness > 0) world.contact_damping = damping;
    scene s = {.build = thenar_build_create(&world)};
    assert_non_null(s.build);
    return s;
}

static thenar_sim *sim_of(const thenar_model *model, double h, int threads, const char *method) {
    thenar_error error;
    thenar_sim *sim;
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .dt = h,
                                  .threads = threads,
                                  .contact = (thenar_contact_method)thenar_contact_method_find(method)};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    return sim;
}

/* The same world at time 0 with another method. */
static thenar_sim *with(thenar_sim *sim, const char *method) {
    thenar_sim *other = sim_of(thenar_sim_model(sim), thenar_sim_dt(sim), 1, method);
    thenar_sim_free(sim);
    return other;
}

static void add_soft_block(scene *s, double mu) {
    thenar_tet_mesh mesh = scene_box(vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.03, 0.02), 4, 3, 4);
    thenar_soft_def def = scene_soft("block", &mesh, 1e5, mu);
    scene_add_soft(s, &def);
    thenar_tet_mesh_free(&mesh);
}

/* Body 0, soft or rigid, lies on body 1, the ground. */
static thenar_sim *block_on_ground(bool soft, vec3 gravity, double mu, double h, double stiffness) {
    scene s = begin(gravity, stiffness, stiffness * 1e-4);
    if (soft) {
        add_soft_block(&s, mu);
    } else {
        thenar_rigid_def def = scene_cube("block", 0.04, 0.1, vec3_make(0, 0.02, 0), mu);
        scene_add_rigid(&s, &def);
    }
    scene_add_ground(&s, mu);
    return with(scene_sim(&s, h, 1), "penalty");
}

static void a_block_at_rest_sinks_in_by_pressure_over_stiffness(void **unused) {
    (void)unused;
    for (int k = 0; k < 8; k++) {
        bool soft = k & 1;
        if (SANITIZED && k & 2) continue; /* the same step again */
        double h = time_step(k / 2 % 2), stiffness = k & 4 ? 1e7 : 1e9;
        thenar_sim *sim = block_on_ground(soft, earth, 0.5, h, stiffness);
        tools_run(sim, steps_in(3, h));
        double weight = CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(sim), 0), force[3], worst = 0, deep = 0;
        thenar_sim_contact_wrench(sim, 0, force, NULL, NULL);
        for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
            const thenar_contact *c = &thenar_sim_contacts(sim)[i];
            double area = soft ? c->area : 1e-4;
            worst = fmax(worst, fabs(c->force - stiffness * area * fmax(0, -c->gap)) / weight);
            deep = fmax(deep, -c->gap);
        }
        double expected = weight / (stiffness * (soft ? 1.6e-3 : 4e-4));
        print_message(
            "  %s h %g stiffness %g: depth %.4g m, mean pressure says %.4g m; force/weight - 1 = %.1e, sideways "
            "%.1e, off the law by %.1e, iterations %d\n",
            soft ? "soft " : "rigid", h, stiffness, deep, expected, force[1] / weight - 1,
            hypot(force[0], force[2]) / weight, worst, thenar_sim_stats(sim)->iterations);
        assert_near(force[1] / weight, 1, 1e-6);
        assert_near(hypot(force[0], force[2]) / weight, 0, 1e-6);
        assert_near(worst, 0, 1e-6);
        if (!soft) assert_near(deep / expected, 1, 1e-6);
        if (!soft) assert_near(0.02 - scene_place(sim, 0).y, expected, 1e-6 * expected);
        assert_true(deep >= expected * (1 - 1e-6) && deep < 3 * expected); /* a soft one presses more at its rim */
        assert_int_equal(thenar_sim_stats(sim)->iterations, 1);
        assert_int_equal(unconverged(sim), 0);
        thenar_sim_free(sim);
    }
}

/* The slope's pull on a rigid block is borne at first, at its centre, and let go slowly, so that nothing slips. */
static void let_go(thenar_sim *sim, vec3 gravity, double h) {
    const double torque[3] = {0};
    int steps = steps_in(1, h);
    for (int i = -steps; i <= steps; i++) {
        double force[3] = {-0.1 * gravity.x * fmin(1, 1 - (double)i / steps), 0, 0};
        assert_int_equal(thenar_sim_apply_wrench(sim, 0, force, torque), THENAR_OK);
        tools_run(sim, 1);
    }
}

/* Of the middle of the face on which the rigid block lies. */
static double place_below(const thenar_sim *sim) {
    double position[3], turn[4];
    body_pose(sim, 0, position, turn);
    quat q = {turn[0], turn[1], turn[2], turn[3]};
    return vec3_add(vec3_load(position), quat_rotate(q, vec3_make(0, -0.02, 0))).x;
}

/* All stick: the springs along the slope are stretched by what the slope pulls, and by no more ever after. */
static void anchor_springs_hold_a_block_below_the_angle_of_friction_without_creep(void **unused) {
    (void)unused;
    for (int k = 0; k < 8; k++) {
        bool soft = k & 1;
        if (SANITIZED && k & 2) continue; /* the same step again */
        double h = time_step(k / 2 % 2), stiffness = k & 4 ? 1e7 : 1e9, mu = 0.5, angle = 0.6 * atan(mu);
        vec3 gravity = slope_gravity(angle);
        thenar_sim *sim = block_on_ground(soft, gravity, mu, h, stiffness);
        if (!soft) let_go(sim, gravity, h);
        tools_run(sim, steps_in(3, h));
        vec3 before = scene_place(sim, 0);
        double stretch = soft ? 0 : place_below(sim), expected = 0.1 * gravity.x / (4e-4 * stiffness);
        tools_run(sim, steps_in(test_full() ? 5 : 2, h));
        double creep = vec3_distance(scene_place(sim, 0), before);
        contact_figures f = scene_contacts(sim, mu);
        print_message("  %s h %g stiffness %g: creep %.1e m, stretched by %.6g of %.6g m, cone %.4f, %d of %d "
                      "stick, unconverged %d\n",
                      soft ? "soft " : "rigid", h, stiffness, creep, stretch, soft ? 0 : expected, f.cone, f.sticking,
                      f.touching, unconverged(sim));
        assert_true(creep < 1e-12);
        /* It tilts too, by the square of that: the stiffer, the less. */
        if (!soft) assert_near(stretch / expected, 1, k & 4 ? 0.01 : 1e-4);
        if (!soft) assert_int_equal(f.sticking, f.touching);
        assert_true(f.cone <= 1 + 1e-9);
        thenar_sim_free(sim);
    }
}

/* What is driven within a step counts for the dampers too: on a plate that moves steadily a block comes to rest. */
static void a_driven_plate_takes_a_block_along(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        bool soft = k & 1;
        double h = time_step(k / 2);
        scene s = begin(earth, 1e8, 1e6);
        if (soft) {
            add_soft_block(&s, 0.5);
        } else {
            thenar_rigid_def def = scene_cube("block", 0.04, 0.1, vec3_make(0, 0.02, 0), 0.5);
            scene_add_rigid(&s, &def);
        }
        thenar_rigid_def plate = thenar_rigid_def_default();
        plate.name = "plate";
        plate.motion = THENAR_MOTION_DRIVEN;
        plate.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {2, 0.1, 1}};
        vec3_store(plate.pose, vec3_make(0, -0.05, 0));
        const thenar_key keys[2] = {{.time = 0}, {.time = 2, .move = {0.4, 0.1, 0}}};
        plate.keys = keys;
        plate.key_count = 2;
        plate.linear = true;
        scene_add_rigid(&s, &plate);
        thenar_sim *sim = with(scene_sim(&s, h, 1), "penalty");
        tools_run(sim, steps_in(1.5, h));
        vec3 v = scene_velocity(sim, 0);
        double force[3], weight = CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(sim), 0);
        thenar_sim_contact_wrench(sim, 0, force, NULL, NULL);
        print_message("  %s h %g: %.6f m/s of 0.2 along, %.6f of 0.05 up, friction %.1e of the weight\n",
                      soft ? "soft " : "rigid", h, v.x, v.y, hypot(force[0], force[2]) / weight);
        assert_near(v.x, 0.2, 1e-5);
        assert_near(v.y, 0.05, 1e-5);
        assert_true(hypot(force[0], force[2]) < 1e-3 * weight);
        thenar_sim_free(sim);
    }
}

/* Contact + support + weight = 0, of forces and of torques about the origin. */
static void a_block_held_against_the_ground_is_in_balance(void **unused) {
    (void)unused;
    scene s = begin(earth, 0, 0);
    thenar_tet_mesh mesh = scene_box(vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.03, 0.02), 4, 3, 4);
    thenar_soft_def def = scene_soft("block", &mesh, 1e5, 0.5);
    const thenar_key keys[2] = {{.time = 0}, {.time = 0.3, .move = {0.001, -0.002, 0}}};
    thenar_support top = {
        .region = tools_box_region(vec3_make(-1, 0.03, -1), vec3_make(1, 0.03, 1)), .keys = keys, .key_count = 2};
    def.supports = &top;
    def.support_count = 1;
    scene_add_soft(&s, &def);
    thenar_tet_mesh_free(&mesh);
    scene_add_ground(&s, 0.5);
    thenar_sim *sim = with(scene_sim(&s, 0.01, 1), "penalty");
    tools_run(sim, 400);
    double support[3], support_torque[3], push[3], push_torque[3];
    thenar_sim_support_wrench(sim, 0, 0, support, support_torque);
    thenar_sim_contact_wrench(sim, 0, push, push_torque, NULL);
    vec3 weight = vec3_scale(earth, thenar_model_mass(thenar_sim_model(sim), 0));
    vec3 weight_torque = vec3_cross(scene_place(sim, 0), weight);
    vec3 force = vec3_add(vec3_add(vec3_load(support), vec3_load(push)), weight);
    vec3 torque = vec3_add(vec3_add(vec3_load(support_torque), vec3_load(push_torque)), weight_torque);
    print_message("  pushed with %.3f N, dragged with %.3f N: out of balance by %.1e N and %.1e N m\n", push[1],
                  push[0], vec3_length(force), vec3_length(torque));
    assert_true(push[1] > 1 && fabs(push[0]) > 0.1);
    assert_true(vec3_length(force) < 1e-6 * push[1]);
    assert_true(vec3_length(torque) < 1e-6 * push[1] * 0.02);
    thenar_sim_free(sim);
}

/* ---- beside constraints ---- */

static void the_pinched_cube_is_held_without_creep(void **unused) {
    (void)unused;
    for (int k = SANITIZED ? 1 : 0; k < 2; k++) {
        double h = time_step(k), depth = 0.9e-3;
        thenar_sim *sim = with(pinch_start(h, 1), "penalty");
        pinch_squeeze(sim, depth, 0.2);
        tools_run(sim, steps_in(0.5, h));
        vec3 before = scene_place(sim, 2);
        tools_run(sim, steps_in(test_full() ? 5 : 2, h));
        double creep = vec3_distance(scene_place(sim, 2), before), force[3];
        contact_figures f = scene_contacts(sim, PINCH_MU);
        thenar_sim_contact_wrench(sim, 2, force, NULL, NULL);
        print_message("  h %g: creep %.1e mm, normal forces %.3f N, bears %.6f of the weight, depth %.1e m, "
                      "cone %.4f, unconverged %d\n",
                      h, 1e3 * creep, f.normal, force[1] / (0.1 * CONTACT_GRAVITY), f.depth, f.cone, unconverged(sim));
        assert_true(creep < 2e-5);
        assert_near(force[1] / (0.1 * CONTACT_GRAVITY), 1, 0.01);
        assert_true(f.depth < 5 * f.normal / 2 / (0.014 * 0.014) / 1e9); /* the rim presses more */
        thenar_sim_free(sim);
    }
}

/* stiffness 0: the default */
static thenar_model *load(const char *name, double stiffness) {
    char path[256], set[64];
    thenar_error error;
    thenar_model *model;
    snprintf(path, sizeof path, SOURCE_DIR "/scenes/%s.yaml", name);
    snprintf(set, sizeof set, "contact={stiffness: %g, damping: %g}", stiffness, 1e-4 * stiffness);
    const char *const sets[] = {set};
    thenar_scene_options options = {
        .size = sizeof(thenar_scene_options), .sets = sets, .set_count = stiffness > 0 ? 1 : 0};
    assert_ok(thenar_scene_load(path, &options, &model, NULL, &error), error);
    return model;
}

/* A finger of 2 MPa that is pressed by 6 MPa: with ever stiffer springs the force comes to that of constraints, and the
 * depth is what the pressure makes of it. */
static void a_pressed_finger_comes_to_the_force_of_constraints(void **unused) {
    (void)unused;
    const double stiffnesses[] = {1e9, 1e10, 1e11, 1e12};
    const char *const names[] = {"finger-press", "finger-press-soft"};
    for (int k = 0; k < 2; k++) {
        double last = INFINITY;
        for (int n = 0; n < 4; n += SANITIZED ? 3 : 1) {
            thenar_model *model = load(names[k], stiffnesses[n]);
            thenar_sim *point = sim_of(model, 0, 1, "point"), *penalty = sim_of(model, 0, 1, "penalty");
            tools_run(point, 300);
            tools_run(penalty, 300);
            contact_figures a = scene_contacts(point, 0.5), b = scene_contacts(penalty, 0.5);
            double area_a, area_b;
            thenar_sim_contact_wrench(point, 0, NULL, NULL, &area_a);
            thenar_sim_contact_wrench(penalty, 0, NULL, NULL, &area_b);
            print_message(
                "  %s, %g Pa/m: %.2f N on %.0f mm^2 with point, %.2f N on %.0f mm^2 with penalty, depth %.1e m, "
                "mean pressure says %.1e m\n",
                names[k], stiffnesses[n], a.normal, 1e6 * area_a, b.normal, 1e6 * area_b, b.depth,
                b.normal / area_b / stiffnesses[n]);
            double off = fabs(b.normal / a.normal - 1);
            assert_true(off < last);
            assert_true(b.depth * stiffnesses[n] > b.normal / area_b && b.depth < 5e-3);
            last = off;
            thenar_sim_free(point);
            thenar_sim_free(penalty);
            thenar_model_free(model);
        }
        assert_true(last < 0.01);
    }
}

static void the_pinch_scene_holds_its_cube(void **unused) {
    (void)unused;
    if (SANITIZED) skip(); /* long, and the pinched cube above reaches the same code */
    thenar_model *model = load("pinch", 0);
    const char *const methods[] = {"point", "penalty"};
    double end[2];
    for (int k = 0; k < 2; k++) {
        thenar_sim *sim = sim_of(model, 0, 1, methods[k]);
        int cube = thenar_model_find_body(model, "cube");
        tools_run(sim, 675);
        vec3 before = scene_place(sim, cube);
        tools_run(sim, 450);
        end[k] = scene_place(sim, cube).y;
        print_message("  %-7s: the cube is at %.3f mm of 70, creep in 4.5 s %.1e mm, depth %.1e m, unconverged %d\n",
                      methods[k], 1e3 * end[k], 1e3 * vec3_distance(scene_place(sim, cube), before),
                      scene_contacts(sim, 0.6).depth, unconverged(sim));
        assert_true(vec3_distance(scene_place(sim, cube), before) < 2e-5);
        thenar_sim_free(sim);
    }
    assert_near(end[0], 0.07, 0.002);
    assert_near(end[1], end[0], 5e-4);
    thenar_model_free(model);
}

/* ---- robustness ---- */

static void nothing_is_ever_not_a_number(void **unused) {
    (void)unused;
    const double stiffnesses[] = {1e-3, 1e5, 1e9, 1e13}, dampings[] = {0, 1e5, 1e10}, steps[] = {1e-6, 1e-3, 0.1, 1};
    int failed = 0, split = 0, missed = 0, done = 0;
    for (int k = 0; k < 48; k++) {
        scene s = begin(earth, stiffnesses[k % 4], dampings[k / 4 % 3]);
        add_soft_block(&s, 0.5);
        scene_add_ground(&s, 0.5);
        thenar_rigid_def def = scene_cube("cube", 0.02, 0.05, vec3_make(0, 0.045, 0), 0.9);
        vec3_store(def.velocity, vec3_make(1, -10, 0));
        vec3_store(def.spin, vec3_make(30, 0, 40));
        scene_add_rigid(&s, &def);
        thenar_sim *sim = with(scene_sim(&s, steps[k / 12], 1), "penalty");
        for (int i = 0; i < (SANITIZED ? 8 : 40); i++) {
            failed += thenar_sim_step(sim) != THENAR_OK;
            assert_true(scene_is_finite(sim));
            for (int c = 0; c < thenar_sim_contact_count(sim); c++) assert_true(thenar_sim_contacts(sim)[c].force >= 0);
            done++;
        }
        split += (int)thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT);
        missed += unconverged(sim);
        thenar_sim_free(sim);
    }
    print_message("  of %d steps %d failed, %d were split, %d did not converge\n", done, failed, split, missed);
    assert_true(failed < done / 20);
}

/* What lands does not come back faster than it came, for lack of energy. */
static void a_block_that_lands_gains_no_energy(void **unused) {
    (void)unused;
    for (int k = 0; k < 8; k++) {
        bool soft = k & 1;
        if (SANITIZED && k & 2) continue; /* the same step again */
        double h = time_step(k / 2 % 2), stiffness = k & 4 ? 1e7 : 1e9;
        scene s = begin(earth, stiffness, 1e-4 * stiffness);
        if (soft) add_soft_block(&s, 0.5);
        thenar_rigid_def def = scene_cube("cube", 0.02, 0.05, vec3_make(0.003, 0.08, 0), 0.5);
        pose_turn(def.pose, 0.3, 0.2, 0.5);
        vec3_store(def.velocity, vec3_make(0.2, -2, 0));
        scene_add_rigid(&s, &def);
        scene_add_ground(&s, 0.5);
        thenar_sim *sim = with(scene_sim(&s, h, 1), "penalty");
        double before = scene_energy(sim), max = before;
        for (int i = 0; i < steps_in(2, h); i++) {
            tools_run(sim, 1);
            max = fmax(max, scene_energy(sim));
        }
        print_message("  %s h %g stiffness %g: energy %.4f J at first, at most %.4f, %.1e J of motion after 2 s\n",
                      soft ? "on soft" : "on hard", h, stiffness, before, max, scene_kinetic(sim));
        assert_true(max <= before + 1e-3 * fabs(before));
        assert_true(scene_kinetic(sim) < 1e-6);
        thenar_sim_free(sim);
    }
}

static void a_snapshot_continues_bit_for_bit_and_threads_make_no_difference(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model = load("pinch", 0);
    thenar_sim *sim = sim_of(model, 0, 1, "penalty"), *other = sim_of(model, 0, 3, "penalty");
    int first = SANITIZED ? 40 : 120, then = SANITIZED ? 20 : 100;
    tools_run(sim, first);
    size_t size = thenar_sim_snapshot_size(sim);
    void *bytes = malloc(size);
    thenar_sim_snapshot(sim, bytes);
    assert_ok(thenar_sim_restore(other, bytes, size, &error), error);
    free(bytes);
    tools_run(sim, then);
    tools_run(other, then);
    assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
    thenar_sim_reset(other);
    tools_run(other, first + then);
    assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
    thenar_sim_free(sim);
    thenar_sim_free(other);
    thenar_model_free(model);
}

/* As a person who watches changes it. */
static void contact_methods_can_be_changed_while_running(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_sim *sim = with(pinch_start(0.01, 1), "point");
    pinch_squeeze(sim, 0.9e-3, 0.2);
    tools_run(sim, 50);
    vec3 before = scene_place(sim, 2);
    const char *const methods[] = {"penalty", "point", "penalty"};
    for (int k = 0; k < 3; k++) {
        thenar_sim *next = sim_of(thenar_sim_model(sim), 0.01, 1, methods[k]);
        assert_ok(thenar_sim_continue(next, sim, &error), error);
        thenar_sim_free(sim);
        sim = next;
        assert_string_equal(thenar_contact_method_name(thenar_sim_contact_method(sim)), methods[k]);
        tools_run(sim, 100);
        double moved = vec3_distance(scene_place(sim, 2), before), force[3];
        thenar_sim_contact_wrench(sim, 2, force, NULL, NULL);
        print_message("  then %s: the cube has moved by %.1e mm, bears %.4f of its weight\n", methods[k], 1e3 * moved,
                      force[1] / (0.1 * CONTACT_GRAVITY));
        assert_true(moved < 1e-4);
        assert_near(force[1] / (0.1 * CONTACT_GRAVITY), 1, 0.01);
    }
    thenar_sim_free(sim);
}

/* Constraints and springs differ in what they do, not in what they leave behind: nothing of one gets into the other. */
static void a_step_by_springs_leaves_nothing_in_the_equations(void **unused) {
    (void)unused;
    thenar_sim *sim = block_on_ground(false, earth, 0.5, 0.01, 0);
    tools_run(sim, 50);
    thenar_sim_reset(sim);
    thenar_sim *fresh = sim_of(thenar_sim_model(sim), 0.01, 1, "penalty");
    tools_run(sim, 50);
    tools_run(fresh, 50);
    assert_true(thenar_sim_hash(sim) == thenar_sim_hash(fresh));
    thenar_sim_free(sim);
    thenar_sim_free(fresh);
}

static void every_solver_only_sees_the_limits(void **unused) {
    (void)unused;
    thenar_error error;
    const char *const solvers[] = {"newton", "pgs", "sqp-pgs", "sqp-pjls", "njls", "njls-reach", "njls+"};
    double height = 0;
    thenar_sim *first = pinch_start(0.01, 1);
    for (int k = 0; k < 7; k += SANITIZED ? 2 : 1) {
        thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                      .dt = 0.01,
                                      .solver = (thenar_solver)thenar_solver_find(solvers[k]),
                                      .contact = THENAR_CONTACT_PENALTY};
        thenar_sim *sim;
        assert_ok(thenar_sim_create(thenar_sim_model(first), &options, &sim, &error), error);
        pinch_squeeze(sim, 0.9e-3, 0.2);
        tools_run(sim, 30);
        double y = scene_place(sim, 2).y;
        print_message("  %-10s: the cube is at %.4f mm, %d limits, normal forces %.3f N\n", solvers[k], 1e3 * y,
                      thenar_sim_stats(sim)->active_constraints, scene_contacts(sim, PINCH_MU).normal);
        if (k == 0) height = y;
        assert_near(y, height, 2e-4); /* at a feasible point near the optimum, or near a feasible one */
        thenar_sim_free(sim);
    }
    thenar_sim_free(first);
}

static void a_step_allocates_nothing(void **unused) {
    (void)unused;
    thenar_sim *sim = with(pinch_start(0.01, 1), "penalty");
    long before = allocation_count;
    for (int i = 0; i < 60; i++) assert_int_equal(pinch_step(sim, fmin(0.9e-3, 5e-5 * i), 0), THENAR_OK);
    assert_int_equal(allocation_count, before);
    thenar_sim_free(sim);
}

static void stiffness_and_damping_that_make_no_sense_are_refused(void **unused) {
    (void)unused;
    const double bad[] = {0, -1, 1e14, INFINITY, NAN};
    for (int k = 0; k < 10; k++) {
        if (k == 5) continue; /* no damping is fine */
        thenar_error error;
        thenar_model *model;
        thenar_world_def world = thenar_world_def_default();
        *(k < 5 ? &world.contact_stiffness : &world.contact_damping) = bad[k % 5];
        thenar_build *build = thenar_build_create(&world);
        assert_int_equal(thenar_build_compile(build, &model, &error), THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, k < 5 ? "contact stiffness is" : "contact damping is"));
        thenar_build_free(build);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_equations_are_the_law_and_its_symmetric_slope),
    cmocka_unit_test(the_anchor_moves_on_until_the_spring_has_the_force_of_friction),
    cmocka_unit_test(a_block_at_rest_sinks_in_by_pressure_over_stiffness),
    cmocka_unit_test(anchor_springs_hold_a_block_below_the_angle_of_friction_without_creep),
    cmocka_unit_test(a_driven_plate_takes_a_block_along),
    cmocka_unit_test(a_block_held_against_the_ground_is_in_balance),
    cmocka_unit_test(the_pinched_cube_is_held_without_creep),
    cmocka_unit_test(a_pressed_finger_comes_to_the_force_of_constraints),
    cmocka_unit_test(the_pinch_scene_holds_its_cube),
    cmocka_unit_test(nothing_is_ever_not_a_number),
    cmocka_unit_test(a_block_that_lands_gains_no_energy),
    cmocka_unit_test(a_snapshot_continues_bit_for_bit_and_threads_make_no_difference),
    cmocka_unit_test(contact_methods_can_be_changed_while_running),
    cmocka_unit_test(a_step_by_springs_leaves_nothing_in_the_equations),
    cmocka_unit_test(every_solver_only_sees_the_limits),
    cmocka_unit_test(a_step_allocates_nothing),
    cmocka_unit_test(stiffness_and_damping_that_make_no_sense_are_refused),
};

TEST_MAIN(tests)
