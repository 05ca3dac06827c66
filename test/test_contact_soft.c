/* Soft bodies that touch each other, and one that touches itself, against what mechanics says of them. */
#include "allocations.h"
#include "contact_tools.h"

#include "core/memory.h"
#include "contact/find.h"
#include "world/sim.h"

/* ---- two blocks ---- */

/* Body 0 lies on the ground, body 1 on it, a little off its middle and on other nodes; body 2 is the ground. */
static scene stacked_blocks(vec3 gravity, double mu) {
    scene s = scene_begin(gravity, 0);
    thenar_tet_mesh low = scene_box(vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.03, 0.02), 4, 3, 4);
    thenar_tet_mesh high = scene_box(vec3_make(-0.013, 0.03, -0.016), vec3_make(0.014, 0.055, 0.011), 3, 3, 3);
    thenar_soft_def a = scene_soft("low", &low, 1e5, mu), b = scene_soft("high", &high, 1e5, mu);
    scene_add_soft(&s, &a);
    scene_add_soft(&s, &b);
    scene_add_ground(&s, mu);
    thenar_tet_mesh_free(&low);
    thenar_tet_mesh_free(&high);
    return s;
}

static void a_soft_block_on_a_soft_block_weighs_what_it_weighs(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        double h = time_step(k), mu = 0.5;
        scene s = stacked_blocks(vec3_make(0, -CONTACT_GRAVITY, 0), mu);
        thenar_sim *sim = scene_sim(&s, h, 1);
        tools_run(sim, steps_in(2, h));
        double weight = CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(sim), 1);
        double below = weight + CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(sim), 0);
        vec3 force = scene_force_between(sim, 1, 0), ground = scene_force_between(sim, 0, 2);
        contact_figures f = scene_contacts(sim, mu);
        print_message(
            "  h %g: force/weight - 1 = %.1e, of both on the ground %.1e, sideways %.1e, depth %.1e m, gap of "
            "one that pushes %.1e m, cone %.6f, %d touch, unconverged %d\n",
            h, force.y / weight - 1, ground.y / below - 1, hypot(force.x, force.z) / weight, f.depth, f.open_force,
            f.cone, f.touching, unconverged(sim));
        assert_near(force.y / weight, 1, 1e-4); /* newton leaves 5e-4 of what it starts from as a trace */
        assert_near(ground.y / below, 1, 1e-3);
        assert_true(hypot(force.x, force.z) < 1e-4 * weight);
        assert_true(f.depth < 5e-6 && f.open_force < 5e-6 && f.cone <= 1 + 1e-9);
        assert_true(scene_kinetic(sim) < 1e-10);
        assert_true(unconverged(sim) == 0);
        thenar_sim_free(sim);
    }
}

/* Nothing may be lost of what a support bears: the lower block's nodes on the ground are held instead. */
static void a_support_bears_what_another_soft_body_puts_on_it(void **unused) {
    (void)unused;
    scene s = scene_begin_on_earth();
    thenar_tet_mesh low = scene_box(vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.01, 0.02), 4, 1, 4);
    thenar_tet_mesh high = scene_box(vec3_make(-0.013, 0.01, -0.016), vec3_make(0.014, 0.035, 0.011), 3, 3, 3);
    thenar_support all = {.name = "all", .region = {.kind = THENAR_REGION_ALL}};
    thenar_soft_def a = scene_soft("low", &low, 1e5, 0.5), b = scene_soft("high", &high, 1e5, 0.5);
    a.supports = &all;
    a.support_count = 1;
    scene_add_soft(&s, &a);
    scene_add_soft(&s, &b);
    thenar_sim *sim = scene_sim(&s, 0.01, 1);
    tools_run(sim, 200);
    double force[3], torque[3], weight = 0;
    thenar_sim_support_wrench(sim, 0, 0, force, torque);
    for (int i = 0; i < 2; i++) weight += CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(sim), i);
    print_message("  the support bears %.9f of the weight\n", force[1] / weight);
    assert_near(force[1] / weight, 1, 1e-6);
    thenar_tet_mesh_free(&low);
    thenar_tet_mesh_free(&high);
    thenar_sim_free(sim);
}

static void two_soft_cubes_that_collide_keep_their_momentum(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        double h = time_step(k);
        scene s = scene_begin(vec3_make(0, 0, 0), 0);
        thenar_tet_mesh mesh[2] = {scene_box(vec3_make(-0.04, -0.01, -0.01), vec3_make(-0.02, 0.01, 0.01), 3, 3, 3),
                                   scene_box(vec3_make(-0.015, -0.005, -0.007), vec3_make(0.01, 0.02, 0.018), 3, 3, 3)};
        thenar_soft_def a = scene_soft("a", &mesh[0], 1e5, 0.5), b = scene_soft("b", &mesh[1], 1e5, 0.5);
        vec3_store(a.velocity, vec3_make(1, 0.2, 0.1));
        scene_add_soft(&s, &a);
        scene_add_soft(&s, &b);
        thenar_sim *sim = scene_sim(&s, h, 1);
        vec3 linear, angular, linear_after, angular_after;
        scene_momentum(sim, &linear, &angular);
        double energy = scene_energy(sim);
        int touched = 0;
        for (int i = 0; i < steps_in(0.15, h); i++) {
            tools_run(sim, 1);
            touched += thenar_sim_stats(sim)->contacts > 0;
        }
        scene_momentum(sim, &linear_after, &angular_after);
        double off = vec3_distance(linear, linear_after) / vec3_length(linear);
        double off_angular = vec3_distance(angular, angular_after) / (0.02 * vec3_length(linear));
        print_message(
            "  h %g: linear off by %.1e, angular by %.1e of it, energy %.3f of before, %d steps in touch, the "
            "other at %.3f m/s, unconverged %d\n",
            h, off, off_angular, scene_energy(sim) / energy, touched, vec3_length(scene_velocity(sim, 1)),
            unconverged(sim));
        assert_true(touched > 0 && thenar_sim_stats(sim)->contacts == 0);
        assert_true(off < 1e-6);
        /* The linearized elastic forces of a soft body have a torque of their own, of second order in its motion. */
        assert_true(off_angular < 5e-3);
        assert_true(scene_energy(sim) <= energy * (1 + 1e-9));
        for (int i = 0; i < 2; i++) thenar_tet_mesh_free(&mesh[i]);
        thenar_sim_free(sim);
    }
}

/* ---- two domes ---- */

/* A block with a dome of 60 mm radius for its lower side, held at its top, moves down by `way`. Its image below (turned
 * by half a turn, so the tets are not those of a mirror) moves up, or a plane is there. */
static double squeeze(bool image, double way, double *area) {
    scene s = scene_begin(vec3_make(0, 0, 0), 0);
    for (int k = 0; k < (image ? 2 : 1); k++) {
        double sign = k == 0 ? 1 : -1;
        thenar_tet_mesh mesh = scene_box(vec3_make(-0.012, 0, -0.012), vec3_make(0.012, 0.012, 0.012), 8, 4, 8);
        for (int i = 0; i < mesh.node_count; i++) {
            double *x = mesh.positions + 3 * i;
            x[1] += (1 - x[1] / 0.012) * (x[0] * x[0] + x[2] * x[2]) / 0.12;
            x[1] *= sign;
            x[2] *= sign;
        }
        thenar_key keys[] = {{.time = 0}, {.time = 0.3, .move = {0, -sign * way, 0}}};
        vec3 a = {-1, k == 0 ? 0.0119 : -1, -1}, b = {1, k == 0 ? 1 : -0.0119, 1};
        thenar_support top = {.name = "top", .region = tools_box_region(a, b), .keys = keys, .key_count = 2};
        thenar_soft_def def = scene_soft(k == 0 ? "dome" : "image", &mesh, 1e5, 0);
        def.supports = &top;
        def.support_count = 1;
        scene_add_soft(&s, &def);
        thenar_tet_mesh_free(&mesh);
    }
    if (!image) scene_add_ground(&s, 0);
    thenar_sim *sim = scene_sim(&s, 0.01, 1);
    tools_run(sim, 60);
    *area = 0;
    for (int i = 0; i < thenar_sim_contact_pair_count(sim); i++) {
        const thenar_contact_pair *pair = &thenar_sim_contact_pairs(sim)[i];
        if (pair->body[0] == 0) *area += pair->area;
    }
    double force = scene_force_between(sim, 0, 1).y;
    print_message("  %d touch, %d iterations, unconverged %d\n", thenar_sim_stats(sim)->contacts,
                  thenar_sim_stats(sim)->iterations, unconverged(sim));
    thenar_sim_free(sim);
    return force;
}

/* By symmetry the domes meet in a plane. */
static void a_soft_dome_feels_its_image_as_a_plane(void **unused) {
    (void)unused;
    for (int k = 1; k <= 3; k++) {
        double way = 0.0004 * k, area, area_of_plane;
        double force = squeeze(true, way, &area), of_plane = squeeze(false, way, &area_of_plane);
        print_message("  %g mm: %.5f N and on a plane %.5f N, area %.1f and %.1f mm^2\n", 1e3 * way, force, of_plane,
                      1e6 * area, 1e6 * area_of_plane);
        assert_near(force / of_plane, 1, 0.01);
    }
}

/* ---- a body that touches itself ---- */

#define ARM 0.04
#define BEND 0.007
#define THICK 0.008
#define CELLS 27

/* A bar bent to a U that lies: one arm below, one above, open towards -x. */
static thenar_tet_mesh bent_bar(void) {
    double pi = 3.14159265358979323846, turn = pi * BEND;
    thenar_tet_mesh mesh =
        scene_box(vec3_make(0, -THICK / 2, 0), vec3_make(2 * ARM + turn, THICK / 2, 0.012), CELLS, 2, 3);
    for (int i = 0; i < mesh.node_count; i++) {
        double *x = mesh.positions + 3 * i, along = x[0], out = -x[1];
        if (along <= ARM) {
            x[1] = -BEND - out;
            continue;
        }
        double angle = fmin(pi, (along - ARM) / BEND), rest = fmax(0, along - ARM - turn);
        x[0] = ARM + (BEND + out) * sin(angle) - rest;
        x[1] = -(BEND + out) * cos(angle);
    }
    return mesh;
}

/* The end of the lower arm is held, that of the upper one goes down by `way` and comes back. */
static scene closing_bar(double self_distance, double way, double gravity) {
    scene s = scene_begin(vec3_make(0, gravity, 0), 0);
    thenar_tet_mesh mesh = bent_bar();
    thenar_key keys[] = {{.time = 0},
                         {.time = 0.5, .move = {0, -way, 0}},
                         {.time = 0.7, .move = {0, -way, 0}},
                         {.time = 1.2, .move = {0, 0, 0}}};
    thenar_support supports[] = {
        {.name = "low", .region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(0.004, -BEND - 0.0039, 1))},
        {.name = "high",
         .region = tools_box_region(vec3_make(-1, BEND + 0.0039, -1), vec3_make(0.004, 1, 1)),
         .keys = keys,
         .key_count = way > 0 ? 4 : 0}};
    thenar_soft_def def = scene_soft("bar", &mesh, 1e5, 0.5);
    def.self_distance = self_distance;
    def.supports = supports;
    def.support_count = 2;
    scene_add_soft(&s, &def);
    thenar_tet_mesh_free(&mesh);
    return s;
}

/* How far a node of the upper arm's inner face is below the lower arm's, at the same x and z; a search of its own. */
static double deepest(const thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    const thenar_surface *surface = thenar_model_surface(model, 0);
    double *now = calloc(3 * (size_t)surface->vertex_count, sizeof *now), depth = -INFINITY;
    const double *rest = surface->positions;
    thenar_sim_surface(sim, 0, now);
    for (int t = 0; t < surface->triangle_count; t++) {
        const int *c = surface->triangles + 3 * t;
        bool inner = true;
        for (int k = 0; k < 3; k++)
            inner = inner && rest[3 * c[k]] <= ARM && fabs(rest[3 * c[k] + 1] + BEND - THICK / 2) < 1e-6;
        if (!inner) continue;
        const double *a = now + 3 * c[0], *b = now + 3 * c[1], *d = now + 3 * c[2];
        double size = (b[0] - a[0]) * (d[2] - a[2]) - (b[2] - a[2]) * (d[0] - a[0]);
        for (int i = 0; i < surface->vertex_count; i++) {
            if (rest[3 * i] > ARM || fabs(rest[3 * i + 1] - BEND + THICK / 2) > 1e-6) continue;
            const double *p = now + 3 * i;
            double v = ((p[0] - a[0]) * (d[2] - a[2]) - (p[2] - a[2]) * (d[0] - a[0])) / size;
            double w = ((b[0] - a[0]) * (p[2] - a[2]) - (b[2] - a[2]) * (p[0] - a[0])) / size;
            if (v < 0 || w < 0 || v + w > 1) continue;
            depth = fmax(depth, a[1] + v * (b[1] - a[1]) + w * (d[1] - a[1]) - p[1]);
        }
    }
    free(now);
    return depth;
}

static void a_soft_bar_bent_onto_itself_does_not_go_through_and_opens_again(void **unused) {
    (void)unused;
    double way = 2 * BEND - THICK + 0.003, worst[2] = {-INFINITY, -INFINITY}, gap = 0;
    int max = 0, newton = 0;
    for (int touches = 0; touches < 2; touches++) {
        scene s = closing_bar(touches ? 0.02 : 0, way, 0);
        thenar_sim *sim = scene_sim(&s, 0.01, 1);
        for (int i = 0; i < 170; i++) {
            tools_run(sim, 1);
            worst[touches] = fmax(worst[touches], deepest(sim));
            if (!touches) continue;
            max = thenar_sim_stats(sim)->contacts > max ? thenar_sim_stats(sim)->contacts : max;
            gap = fmin(gap, -scene_contacts(sim, 0.5).depth);
            newton += thenar_sim_stats(sim)->iterations;
        }
        if (touches) {
            print_message(
                "  depth at most %.4f mm, %.2f mm if it may not touch itself; as reported %.4f mm; %d touch, %d "
                "iterations in 170 steps, unconverged %d, at the end %.4f mm apart\n",
                1e3 * worst[1], 1e3 * worst[0], -1e3 * gap, max, newton, unconverged(sim), -1e3 * deepest(sim));
            assert_true(worst[1] < 0.2e-3 && worst[0] > 1e-3 && max > 10);
            assert_int_equal(thenar_sim_stats(sim)->contacts, 0);
            assert_near(-deepest(sim), 2 * BEND - THICK, 0.5e-3);
            assert_true(unconverged(sim) <= 2);
        }
        thenar_sim_free(sim);
    }
}

/* Neither contacts nor any other number. */
static void a_body_at_rest_does_not_feel_itself(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        scene with = closing_bar(k == 0 ? 0.02 : k == 1 ? 0.012 : 1e-6, 0, -1), without = closing_bar(0, 0, -1);
        thenar_sim *a = scene_sim(&with, 0.01, 1), *b = scene_sim(&without, 0.01, 1);
        for (int i = 0; i < 30; i++) {
            tools_run(a, 1);
            tools_run(b, 1);
            assert_int_equal(thenar_sim_contact_count(a), 0);
        }
        size_t nodes = (size_t)thenar_model_mesh(thenar_sim_model(a), 0)->node_count;
        assert_memory_equal(thenar_sim_positions(a, 0), thenar_sim_positions(b, 0), 3 * nodes * sizeof(double));
        thenar_sim_free(a);
        thenar_sim_free(b);
    }
}

/* The reported gap comes from the search itself; the test above measures independently. */
static void a_hand_that_is_curled_touches_itself_and_opens_again(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_model *model;
    thenar_scene_info info;
    assert_ok(thenar_scene_load(SOURCE_DIR "/scenes/hand-curl.yaml", NULL, &model, &info, &error), error);
    thenar_sim *sim = tools_sim(model, 0, 1);
    int max = 0;
    double depth = 0, force = 0;
    tools_run(sim, 70);
    for (int i = 70; i < 200; i++) {
        tools_run(sim, 1);
        contact_figures f = scene_contacts(sim, 0.5);
        max = f.touching > max ? f.touching : max;
        depth = fmax(depth, f.depth);
        force = fmax(force, f.normal);
    }
    print_message(
        "  at most %d points touch with %.2f N together, %.4f mm deep; unconverged %d of 200 steps, at the end "
        "%d touch\n",
        max, force, 1e3 * depth, unconverged(sim), thenar_sim_stats(sim)->contacts);
    assert_true(max >= 5 && depth < 0.2e-3);
    assert_int_equal(thenar_sim_stats(sim)->contacts, 0);
    assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED), 0);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* A bar bent to a ring whose ends overlap by 0.3 mm at rest: they stay there, and hold from there on. */
static void ends_that_overlap_at_rest_do_not_push_but_go_no_deeper(void **unused) {
    (void)unused;
    double pi = 3.14159265358979323846, ring = 0.02, length = 2 * pi * ring + 0.0003;
    double depth[2], force[2];
    for (int pressed = 0; pressed < 2; pressed++) {
        scene s = scene_begin(vec3_make(0, 0, 0), 0);
        thenar_tet_mesh mesh = scene_box(vec3_make(0, -0.004, 0), vec3_make(length, 0.004, 0.008), 32, 2, 2);
        for (int i = 0; i < mesh.node_count; i++) {
            double *x = mesh.positions + 3 * i, angle = x[0] / ring, radius = ring - x[1];
            x[0] = -radius * sin(angle);
            x[1] = -radius * cos(angle);
        }
        /* The ends are below: one is held 4 mm behind its face, the other is pushed on by 0.5 mm. */
        thenar_key keys[] = {{.time = 0}, {.time = 0.2, .move = {-0.0005, 0, 0}}};
        thenar_support supports[] = {
            {.name = "left", .region = tools_box_region(vec3_make(-0.009, -1, -1), vec3_make(-0.003, -0.01, 1))},
            {.name = "right",
             .region = tools_box_region(vec3_make(0.003, -1, -1), vec3_make(0.009, -0.01, 1)),
             .keys = keys,
             .key_count = pressed ? 2 : 0}};
        thenar_soft_def def = scene_soft("ring", &mesh, 1e5, 0.5);
        def.self_distance = 0.02;
        def.supports = supports;
        def.support_count = 2;
        scene_add_soft(&s, &def);
        thenar_sim *sim = scene_sim(&s, 0.01, 1);
        tools_run(sim, 50);
        double moved = 0;
        for (int i = 0; i < 3 * mesh.node_count; i++)
            moved = fmax(moved, fabs(thenar_sim_positions(sim, 0)[i] - mesh.positions[i]));
        contact_figures f = scene_contacts(sim, 0.5);
        depth[pressed] = f.depth;
        force[pressed] = f.normal;
        print_message("  %s: %d near, %d push with %.2e N, %.1e m deeper than at rest, moved by %.1e m\n",
                      pressed ? "squeezed" : "at rest", thenar_sim_contact_count(sim), f.touching, f.normal, f.depth,
                      moved);
        assert_true(thenar_sim_contact_count(sim) > 8);
        assert_true(pressed || moved < 1e-12);
        thenar_tet_mesh_free(&mesh);
        thenar_sim_free(sim);
    }
    assert_true(force[0] < 1e-9 && force[1] > 0.01);
    assert_true(depth[0] < 1e-12 && depth[1] < 20e-6);
}

/* ---- the search ---- */

/* The force on both sides of a contact has the same point of attack, so it leaves no angular momentum. */
static void both_sides_of_a_contact_meet_in_one_point(void **unused) {
    (void)unused;
    scene s = stacked_blocks(vec3_make(0, -CONTACT_GRAVITY, 0), 0.5);
    thenar_sim *sim = scene_sim(&s, 0.01, 1);
    int seen = 0;
    for (int i = 0; i < 30; i++) {
        tools_run(sim, 1);
        body_step step = {.h = 0.01, .gravity = {0, -CONTACT_GRAVITY, 0}};
        contact_find(&sim->contacts, &sim->model->contacts, sim->bodies, &step);
        for (int k = 0; k < sim->contacts.point_count; k++) {
            const contact_point *point = &sim->contacts.points[k];
            if (point->other_node[0] < 0) continue;
            vec3 x = {0}, y = {0};
            const double *of_skin = thenar_sim_positions(sim, sim->model->contacts.pairs[point->pair].body[0]);
            const double *of_other = thenar_sim_positions(sim, sim->model->contacts.pairs[point->pair].body[1]);
            double sum = 0;
            for (int n = 0; n < 4; n++) {
                x = vec3_mul_add(x, vec3_load(of_skin + 3 * point->node[n]), point->weights[n]);
                y = vec3_mul_add(y, vec3_load(of_other + 3 * point->other_node[n]), point->other_weights[n]);
                sum += point->other_weights[n];
            }
            assert_true(vec3_distance(x, y) < 1e-14);
            assert_near(sum, 1, 1e-14);
            seen++;
        }
    }
    assert_true(seen > 100);
    thenar_sim_free(sim);
}

/* What the factored matrix leaves out and the product adds is the derivative of the gradient, together. */
static void the_crossing_part_completes_the_hessian(void **unused) {
    (void)unused;
    scene s = closing_bar(0.02, 0.009, 0);
    thenar_sim *sim = scene_sim(&s, 0.01, 1);
    tools_run(sim, 60);
    const block_pattern *pattern = &sim->model->systems[0].pattern;
    contact *contacts = sim->systems[0].contacts;
    int count = sim->systems[0].contact_count, n = 3 * pattern->node_count, pushing = 0;
    double *x = calloc((size_t)n, sizeof *x), *d = calloc((size_t)n, sizeof *d),
           *product = calloc((size_t)n, sizeof *d);
    double *gradient[2] = {calloc((size_t)n, sizeof *d), calloc((size_t)n, sizeof *d)};
    double *blocks = calloc(9 * (size_t)pattern->block_count, sizeof *blocks), step = 1e-9, off = 0, size = 0;
    random_source random = {7};
    for (int i = 0; i < n; i++) x[i] = random_uniform(&random, -1, 1);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < n; i++) d[i] = (k ? 0.5 : -0.5) * step * x[i];
        contact_evaluate(contacts, count, d);
        contact_add_gradient(contacts, count, 2, gradient[k]);
    }
    memset(d, 0, (size_t)n * sizeof *d);
    contact_evaluate(contacts, count, d);
    contact_add_hessian(contacts, count, 2, blocks);
    block_pattern_multiply(pattern, blocks, x, product);
    for (int i = 0; i < count; i++) {
        if (contacts[i].state == CONE_OPEN) continue;
        mat3 stiffness = contact_stiffness(&contacts[i]);
        contact_add_soft_coupling(&contacts[i], &stiffness, 2, x, product);
        pushing++;
    }
    for (int i = 0; i < n; i++) {
        off = fmax(off, fabs(product[i] - (gradient[1][i] - gradient[0][i]) / step));
        size = fmax(size, fabs(product[i]));
    }
    print_message("  %d contacts push: off by %.1e of the largest\n", pushing, off / size);
    assert_true(pushing > 5 && off < 1e-5 * size);
    free(x), free(d), free(product), free(blocks), free(gradient[0]), free(gradient[1]);
    thenar_sim_free(sim);
}

/* ---- what holds for every simulation ---- */

static void soft_contacts_are_the_same_with_any_number_of_threads(void **unused) {
    (void)unused;
    uint64_t hash[2][2];
    for (int k = 0; k < 2; k++) {
        scene s = stacked_blocks(vec3_make(1, -CONTACT_GRAVITY, 0), 0.5), bar = closing_bar(0.02, 0.009, 0);
        thenar_sim *stack = scene_sim(&s, 0.01, 1 + 3 * k), *closing = scene_sim(&bar, 0.01, 1 + 3 * k);
        tools_run(stack, 30);
        tools_run(closing, 60);
        assert_true(thenar_sim_stats(stack)->contacts > 0 && thenar_sim_stats(closing)->contacts > 0);
        hash[k][0] = thenar_sim_hash(stack);
        hash[k][1] = thenar_sim_hash(closing);
        thenar_sim_free(stack);
        thenar_sim_free(closing);
    }
    assert_memory_equal(hash[0], hash[1], sizeof hash[0]);
}

static void a_snapshot_with_soft_contacts_continues_bit_for_bit(void **unused) {
    (void)unused;
    thenar_error error;
    for (int k = 0; k < 2; k++) {
        scene one = k ? closing_bar(0.02, 0.009, 0) : stacked_blocks(vec3_make(1, -CONTACT_GRAVITY, 0), 0.5);
        scene two = k ? closing_bar(0.02, 0.009, 0) : stacked_blocks(vec3_make(1, -CONTACT_GRAVITY, 0), 0.5);
        thenar_sim *sim = scene_sim(&one, 0.01, 1), *other = scene_sim(&two, 0.01, 1);
        tools_run(sim, 55);
        assert_true(thenar_sim_stats(sim)->contacts > 0);
        size_t size = thenar_sim_snapshot_size(sim);
        char *bytes = malloc(size);
        thenar_sim_snapshot(sim, bytes);
        tools_run(other, 3);
        assert_ok(thenar_sim_restore(other, bytes, size, &error), error);
        for (int i = 0; i < 10; i++) {
            tools_run(sim, 1);
            tools_run(other, 1);
            assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
        }
        free(bytes);
        thenar_sim_free(sim);
        thenar_sim_free(other);
    }
}

/* A memory that points out of the skin is an index that must not be followed. */
static void a_contact_memory_of_a_triangle_that_is_not_there_is_refused(void **unused) {
    (void)unused;
    scene s = stacked_blocks(vec3_make(0, -CONTACT_GRAVITY, 0), 0.5);
    thenar_sim *sim = scene_sim(&s, 0.01, 1);
    tools_run(sim, 10);
    const contact_state *state = &sim->contacts;
    const contact_model *contacts = &sim->model->contacts;
    assert_true(contact_memory_is_valid(contacts, state, sim->kept, sim->kept));
    int tried = 0;
    for (long long i = 0; i < *state->memory_count; i++) {
        const contact_pair *pair = &contacts->pairs[state->memory[i].pair];
        if (pair->faces < 0) continue;
        int face = state->memory[i].face, wrong[] = {-1, contacts->faces[pair->faces].triangle_count, 1 << 30};
        for (int k = 0; k < 3; k++) {
            state->memory[i].face = wrong[k];
            assert_false(contact_memory_is_valid(contacts, state, sim->kept, sim->kept));
            tried++;
        }
        state->memory[i].face = face;
    }
    assert_true(tried > 0);
    thenar_sim_free(sim);
}

static void a_step_with_soft_contacts_allocates_nothing(void **unused) {
    (void)unused;
    scene s = stacked_blocks(vec3_make(1, -CONTACT_GRAVITY, 0), 0.5), bar = closing_bar(0.02, 0.009, 0);
    thenar_sim *stack = scene_sim(&s, 0.01, 2), *closing = scene_sim(&bar, 0.01, 2);
    long before = allocation_count;
    tools_run(stack, 20);
    tools_run(closing, 60);
    assert_int_equal(allocation_count - before, 0);
    free(memory_array(1, 1)); /* the counter counts */
    assert_int_equal(allocation_count - before, 1);
    thenar_sim_free(stack);
    thenar_sim_free(closing);
}

/* The solvers on rows see the same contacts. */
static void every_solver_holds_a_soft_block_on_a_soft_block(void **unused) {
    (void)unused;
    static const char *const solvers[] = {"newton", "pgs", "sqp-pgs", "sqp-pjls", "njls", "njls-reach", "njls+"};
    for (size_t k = 0; k < sizeof solvers / sizeof *solvers; k++) {
        thenar_error error;
        thenar_model *model;
        thenar_sim *sim;
        scene s = stacked_blocks(vec3_make(0, -CONTACT_GRAVITY, 0), 0.5);
        assert_ok(thenar_build_compile(s.build, &model, &error), error);
        thenar_build_free(s.build);
        thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                      .dt = 0.01,
                                      .threads = 1,
                                      .solver = (thenar_solver)thenar_solver_find(solvers[k]),
                                      .friction = THENAR_FRICTION_CONE,
                                      .contact = THENAR_CONTACT_OF_MODEL};
        assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
        tools_run(sim, 100);
        double force = scene_force_between(sim, 1, 0).y / (CONTACT_GRAVITY * thenar_model_mass(model, 1));
        contact_figures f = scene_contacts(sim, 0.5);
        print_message("  %-10s force/weight - 1 = %+.1e, depth %.1e m, height %.4f mm\n", solvers[k], force - 1,
                      f.depth, 1e3 * scene_place(sim, 1).y);
        assert_near(force, 1, 0.01);
        assert_true(f.depth < 20e-6);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_soft_block_on_a_soft_block_weighs_what_it_weighs),
    cmocka_unit_test(a_support_bears_what_another_soft_body_puts_on_it),
    cmocka_unit_test(two_soft_cubes_that_collide_keep_their_momentum),
    cmocka_unit_test(a_soft_dome_feels_its_image_as_a_plane),
    cmocka_unit_test(a_soft_bar_bent_onto_itself_does_not_go_through_and_opens_again),
    cmocka_unit_test(a_hand_that_is_curled_touches_itself_and_opens_again),
    cmocka_unit_test(a_body_at_rest_does_not_feel_itself),
    cmocka_unit_test(ends_that_overlap_at_rest_do_not_push_but_go_no_deeper),
    cmocka_unit_test(both_sides_of_a_contact_meet_in_one_point),
    cmocka_unit_test(the_crossing_part_completes_the_hessian),
    cmocka_unit_test(soft_contacts_are_the_same_with_any_number_of_threads),
    cmocka_unit_test(a_snapshot_with_soft_contacts_continues_bit_for_bit),
    cmocka_unit_test(a_contact_memory_of_a_triangle_that_is_not_there_is_refused),
    cmocka_unit_test(a_step_with_soft_contacts_allocates_nothing),
    cmocka_unit_test(every_solver_holds_a_soft_block_on_a_soft_block),
};

TEST_MAIN(tests)
