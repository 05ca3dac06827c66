/* Contact by springs between soft bodies, and of one with itself, against what the law and mechanics say. */
#include "contact_tools.h"

#include "allocations.h"

#include "contact/contact.h"
#include "world/sim.h"

#include "thenar/scene.h"

static const vec3 earth = {0, -CONTACT_GRAVITY, 0};

static scene begin(vec3 gravity, double stiffness) {
    thenar_world_def world = thenar_world_def_default();
    vec3_store(world.gravity, gravity);
    world.contact_stiffness = stiffness;
    world.contact_damping = 1e-4 * stiffness;
    scene s = {.build = thenar_build_create(&world)};
    assert_non_null(s.build);
    return s;
}

static thenar_sim *sim_of(const thenar_model *model, double h, int threads) {
    thenar_error error;
    thenar_sim *sim;
    thenar_sim_options options = {
        .size = sizeof(thenar_sim_options), .dt = h, .threads = threads, .contact = THENAR_CONTACT_PENALTY};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    return sim;
}

static thenar_sim *end(scene *s, double h) {
    thenar_error error;
    thenar_model *model;
    assert_ok(thenar_build_compile(s->build, &model, &error), error);
    thenar_build_free(s->build);
    thenar_sim *sim = sim_of(model, h, 1);
    thenar_model_free(model);
    return sim;
}

static void add_box(scene *s, const char *name, vec3 low, vec3 high, const int cells[3], thenar_soft_def def) {
    thenar_tet_mesh mesh = scene_box(low, high, cells[0], cells[1], cells[2]);
    def.name = name;
    def.mesh = &mesh;
    scene_add_soft(s, &def);
    thenar_tet_mesh_free(&mesh);
}

/* limit: by how much stretches may differ from 1, or 0 */
static thenar_soft_def some_soft(double young, double limit, double mu) {
    thenar_soft_def def = scene_soft(NULL, NULL, young, mu);
    if (limit > 0) def.material.stretch_min = 1 - limit, def.material.stretch_max = 1 + limit;
    return def;
}

/* By how much friction is more than mu times the normal force, of the mean normal force: a pass is the last when forces
 * are the law's to 2 % of that. */
static double over_the_cone(const thenar_sim *sim, double mu) {
    contact_figures f = scene_contacts(sim, mu);
    double max = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &thenar_sim_contacts(sim)[i];
        max = fmax(max, vec3_length(vec3_load(c->friction)) - mu * c->force);
    }
    return f.touching > 0 ? max * f.touching / f.normal : 0;
}

/* ---- two blocks ---- */

/* Body 0 lies on the ground, body 1 on it, with the same face but other nodes; body 2 is the ground. */
static thenar_sim *stacked_blocks(double young, double limit, double stiffness, double h) {
    scene s = begin(earth, stiffness);
    thenar_soft_def def = some_soft(young, limit, 0.5);
    add_box(&s, "low", vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.03, 0.02), (int[]){4, 3, 4}, def);
    add_box(&s, "high", vec3_make(-0.02, 0.03, -0.02), vec3_make(0.02, 0.06, 0.02), (int[]){3, 3, 3}, def);
    scene_add_ground(&s, 0.5);
    return end(&s, h);
}

/* The largest difference of a force from stiffness times area times depth, N, and the mean depth of those that push. */
static double off_the_law(const thenar_sim *sim, double stiffness, double *mean_depth) {
    double worst = 0, depth = 0, area = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &thenar_sim_contacts(sim)[i];
        double rest = fmax(c->area, PENALTY_AREA_MIN);
        worst = fmax(worst, fabs(c->force - stiffness * rest * fmax(0, -c->gap)));
        if (!(c->force > 0) || c->body[0] == 2 || c->body[1] == 2) continue;
        depth -= rest * c->gap;
        area += rest;
    }
    *mean_depth = area > 0 ? depth / area : 0;
    return worst;
}

/* Both faces have springs: points of the lower one on triangles of the upper one, and the other way round. */
static void a_soft_block_sinks_into_another_by_half_its_pressure_over_stiffness(void **unused) {
    (void)unused;
    for (int k = 0; k < 3; k++) {
        double h = time_step(k > 0), stiffness = 1e8, limit = k > 1 ? 0.1 : 0, depth;
        thenar_sim *sim = stacked_blocks(1e6, limit, stiffness, h);
        tools_run(sim, steps_in(h < 0.01 ? 0.3 : 2, h));
        double weight = CONTACT_GRAVITY * thenar_model_mass(thenar_sim_model(sim), 1);
        double expected = weight / (2 * 1.6e-3 * stiffness), worst = off_the_law(sim, stiffness, &depth);
        vec3 force = scene_force_between(sim, 1, 0), ground = scene_force_between(sim, 0, 2);
        print_message("  h %g%s: depth %.4e m, expected %.4e; force/weight - 1 = %.1e, on the ground %.1e, sideways "
                      "%.1e, off the law by %.1e, unconverged %d\n",
                      h, limit > 0 ? " with limits" : "", depth, expected, force.y / weight - 1,
                      ground.y / (2 * weight) - 1, hypot(force.x, force.z) / weight, worst / weight, unconverged(sim));
        assert_near(force.y / weight, 1, 1e-6);
        assert_near(ground.y / (2 * weight), 1, 1e-6);
        assert_true(hypot(force.x, force.z) < 1e-6 * weight);
        assert_true(worst < 1e-6 * weight);
        assert_near(depth / expected, 1, 0.02); /* the faces are not quite flat */
        assert_int_equal(unconverged(sim), 0);
        thenar_sim_free(sim);
    }
}

static vec3 momentum_of(const thenar_sim *sim, int body) {
    return vec3_scale(scene_velocity(sim, body), thenar_model_mass(thenar_sim_model(sim), body));
}

/* In every step each body gains the impulse of the reported force, and the other loses as much. */
static void forces_on_two_soft_bodies_are_equal_and_opposite(void **unused) {
    (void)unused;
    for (int k = 0; k < 4; k++) {
        double h = time_step(k / 2), limit = k & 1 ? 0.01 : 0, worst = 0, off = 0;
        scene s = begin(vec3_make(0, 0, 0), 1e9);
        thenar_soft_def a = some_soft(1e5, limit, 0.5), b = a;
        vec3_store(a.velocity, vec3_make(2, 0.4, 0.2));
        add_box(&s, "a", vec3_make(-0.04, -0.01, -0.01), vec3_make(-0.02, 0.01, 0.01), (int[]){3, 3, 3}, a);
        add_box(&s, "b", vec3_make(-0.015, -0.005, -0.007), vec3_make(0.01, 0.02, 0.018), (int[]){3, 3, 3}, b);
        thenar_sim *sim = end(&s, h);
        vec3 before, angular, after;
        scene_momentum(sim, &before, &angular);
        double energy = scene_energy(sim), size = vec3_length(before), over = 0;
        int touched = 0, active = 0;
        for (int i = 0; i < steps_in(0.15, h); i++) {
            vec3 first = momentum_of(sim, 0), second = momentum_of(sim, 1);
            tools_run(sim, 1);
            first = vec3_sub(momentum_of(sim, 0), first);
            second = vec3_sub(momentum_of(sim, 1), second);
            vec3 impulse = vec3_scale(scene_force_between(sim, 0, 1), h);
            worst = fmax(worst, vec3_length(vec3_add(first, second)) / size);
            off = fmax(off, vec3_distance(first, impulse) / size);
            touched += thenar_sim_stats(sim)->contacts > 0;
            active += thenar_sim_stats(sim)->active_constraints;
            over = fmax(over, over_the_cone(sim, 0.5));
        }
        scene_momentum(sim, &after, &angular);
        print_message(
            "  h %g%s: in a step momentum is off by %.1e, what each gains is off the reported force by %.1e; all "
            "in all off by %.1e, energy %.3f of before, %d steps in touch, friction over its bound by %.1e, "
            "unconverged %d\n",
            h, limit > 0 ? " with limits" : "", worst, off, vec3_distance(before, after) / size,
            scene_energy(sim) / energy, touched, over, unconverged(sim));
        assert_true(touched > 0 && thenar_sim_stats(sim)->contacts == 0);
        assert_true((active > 0) == (limit > 0));
        assert_true(over < 0.02);
        assert_true(worst < 1e-12 && vec3_distance(before, after) < 1e-11 * size);
        /* A contact that pulls by rounding is reported as open. */
        assert_true(off < 1e-6);
        assert_true(scene_energy(sim) <= energy * (1 + 1e-9));
        assert_int_equal(unconverged(sim), 0);
        thenar_sim_free(sim);
    }
}

/* ---- what is solved ---- */

/* The solution obeys the equations of both sides: M + C is what J^T K J of whole contacts adds to A. */
static void the_motion_solves_the_equations_of_both_sides(void **unused) {
    (void)unused;
    double h = 0.01;
    thenar_sim *sim = stacked_blocks(1e5, 0, 1e9, h);
    tools_run(sim, 30);
    const system_model *system = &thenar_sim_model(sim)->systems[0];
    system_state *state = &sim->systems[0];
    int n = 3 * system->pattern.node_count, across = 0;
    double *left = calloc((size_t)n, sizeof *left), *right = calloc((size_t)n, sizeof *right), error = 0, size = 0;
    block_pattern_multiply(&system->pattern, state->untouched_blocks, state->v, left);
    memcpy(right, state->untouched_b, (size_t)n * sizeof *right);
    for (int i = 0; i < sim->contacts.system_start[1]; i++) {
        const contact *c = &sim->contacts.contacts[i];
        const penalty_term *term = &sim->contacts.terms[i];
        vec3 force = mat3_mul_vec(term->K, contact_motion(c, state->v));
        contact_add_force(c, mat3_mul_vec_transposed(c->frame, vec3_scale(force, h * h)), left);
        contact_add_force(c, mat3_mul_vec_transposed(c->frame, vec3_scale(term->offset, h)), right);
        across += c->couples_soft && term->state != CONE_OPEN;
    }
    for (int i = 0; i < n; i++) {
        error += (left[i] - right[i]) * (left[i] - right[i]);
        size += right[i] * right[i];
    }
    print_message("  %d contacts couple, residual %.1e, reported %.1e\n", across, sqrt(error / size),
                  thenar_sim_stats(sim)->residual);
    assert_true(across > 10);
    assert_true(sqrt(error / size) < 1e-8);
    assert_near(thenar_sim_stats(sim)->residual, sqrt(error / size), 1e-10);
    free(left);
    free(right);
    thenar_sim_free(sim);
}

/* ---- passes ---- */

/* The smallest case that goes to and fro: a point of mass m that slid until now, and that friction stops within the
 * step. With the force of a slip it goes back, with that of a slip back it goes on. */
static void what_friction_stops_within_the_step_sticks(void **unused) {
    (void)unused;
    const penalty_law law = {.stiffness = 1e9, .damping = 1e5};
    const contact_point point = {.node = {-1, -1, -1, -1}};
    const double h = 0.01, m = 0.1, weight = m * CONTACT_GRAVITY, speed = 0.02, mu = 0.5, deep = weight / 1e5;
    contact c = {.mu = mu, .frame = mat3_identity(), .leg_count = 1, .lambda = {weight, -mu * weight, 0}};
    c.legs[0] = (contact_leg){.node = 0, .weight = 1};
    /* So deep that it bears the weight, and behind it an anchor that pulls with the force of friction. */
    c.start = vec3_make(-deep, mu * deep, 0);
    const double v0[3] = {0, speed, 0};
    double d[3] = {h * v0[0], h * v0[1], h * v0[2]};
    penalty_term term;
    penalty_begin(&term, &c, &point, &law, h, d);
    assert_int_equal(term.state, CONE_SLIP);
    int passes = 0;
    bool fits = false;
    for (; !fits && passes < 10; passes++) {
        double right[3];
        const double pull[3] = {-weight, 0, 0};
        vec3 offset = term.offset;
        for (int i = 0; i < 3; i++) right[i] = h * (m * v0[i] + h * pull[i]);
        vec3 b = vec3_mul_add(vec3_load(right), offset, h * h);
        mat3 A = mat3_add(mat3_diagonal(m, m, m), mat3_scale(term.K, h * h));
        vec3_store(d, mat3_mul_vec(mat3_inverse(A), b));
        penalty_fit fit = {.same = true};
        penalty_evaluate(&term, &c, d, &fit);
        fits = fit.same && fit.change < 1e-6 * weight;
        if (!fits) penalty_renew(&term, &c, 0);
    }
    print_message("  %d passes, then it %s and has gone %.1e m\n", passes,
                  term.state == CONE_STICK ? "sticks" : "slips", d[1]);
    assert_true(fits && passes <= 4);
    assert_int_equal(term.state, CONE_STICK);
    assert_true(fabs(d[1]) < 0.1 * h * speed);
}

/* Many points that come, go, stick and slip at once, on bodies that are much softer than the springs. */
static void a_heap_of_soft_blocks_comes_to_rest(void **unused) {
    (void)unused;
    scene s = begin(earth, 1e9);
    thenar_support bottom = {.name = "bottom",
                             .region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(1, -0.0199, 1))};
    thenar_soft_def slab = some_soft(5e4, 0, 0.4), block = some_soft(5e4, 0, 0.4);
    slab.supports = &bottom;
    slab.support_count = 1;
    slab.material.damping_stiffness = block.material.damping_stiffness = 0.01;
    add_box(&s, "slab", vec3_make(-0.06, -0.02, -0.06), vec3_make(0.06, 0, 0.06), (int[]){7, 1, 7}, slab);
    const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        vec3_store(block.spin, vec3_make(2 - 2 * i, 1, i));
        vec3 low = {-0.02 + 0.004 * i, 0.003 + 0.03 * i, -0.012 + 0.006 * i};
        add_box(&s, names[i], low, vec3_add(low, vec3_make(0.03, 0.015, 0.02)), (int[]){3, 2, 2}, block);
    }
    thenar_sim *sim = end(&s, 0.01);
    int max = 0, passes = 0, steps = SANITIZED ? 30 : 150;
    for (int i = 0; i < steps; i++) {
        tools_run(sim, 1);
        passes += sim->pass - 1;
        max = sim->pass - 1 > max ? sim->pass - 1 : max;
    }
    contact_figures f = scene_contacts(sim, 0.4);
    print_message("  %.2f passes in the mean, %d at most, %d touch, depth %.1e m, %.1e J of motion, unconverged %d\n",
                  (double)passes / steps, max, f.touching, f.depth, scene_kinetic(sim), unconverged(sim));
    assert_int_equal(unconverged(sim), 0);
    assert_true(f.touching > 10 && f.depth < 2e-4);
    if (!SANITIZED) assert_true(scene_kinetic(sim) < 1e-6);
    thenar_sim_free(sim);
}

/* ---- hands ---- */

static thenar_model *load(const char *name) {
    char path[256];
    thenar_error error;
    thenar_model *model;
    snprintf(path, sizeof path, SOURCE_DIR "/scenes/%s.yaml", name);
    assert_ok(thenar_scene_load(path, NULL, &model, NULL, &error), error);
    return model;
}

/* Limits are on. Of hand-self, fingers are pressed together; of two-hands, the ball is taken. */
static void hands_that_touch_themselves_or_what_is_soft_settle(void **unused) {
    (void)unused;
    const char *const names[] = {"hand-self", "two-hands"};
    for (int k = 0; k < (SANITIZED ? 1 : 2); k++) {
        thenar_model *model = load(names[k]);
        thenar_sim *sim = sim_of(model, 0, 1);
        int touched = 0, passes = 0, steps = SANITIZED || k == 1 ? 60 : 120;
        double depth = 0;
        for (int i = 0; i < steps; i++) {
            tools_run(sim, 1);
            touched += thenar_sim_stats(sim)->contacts > 0;
            passes += sim->pass - 1;
            depth = fmax(depth, scene_contacts(sim, 0).depth);
        }
        print_message("  %s: %d of %d steps in touch, %.2f passes, depth %.1e m, unconverged %d\n", names[k], touched,
                      steps, (double)passes / steps, depth, unconverged(sim));
        assert_true(touched > steps / 10);
        assert_int_equal(unconverged(sim), 0);
        assert_true(depth < 3e-3);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

static void threads_make_no_difference_and_steps_allocate_nothing(void **unused) {
    (void)unused;
    thenar_sim *sim = stacked_blocks(1e5, 0.05, 1e9, 0.01), *other = sim_of(thenar_sim_model(sim), 0.01, 3);
    long before = allocation_count;
    tools_run(sim, 40);
    assert_int_equal(allocation_count, before);
    tools_run(other, 40);
    assert_true(thenar_sim_hash(sim) == thenar_sim_hash(other));
    thenar_sim_free(sim);
    thenar_sim_free(other);
}

/* One that works with rows and the factor leaves the coupling out, and says so in the steps in which there is some. */
static void a_solver_on_rows_says_that_it_leaves_out_what_couples(void **unused) {
    (void)unused;
    for (int k = 0; k < 2; k++) {
        thenar_sim *newton = stacked_blocks(1e5, k == 0 ? 0.05 : 0, 1e9, 0.01), *rows = NULL;
        thenar_error error;
        thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                      .dt = 0.01,
                                      .solver = THENAR_SOLVER_PGS,
                                      .contact = THENAR_CONTACT_PENALTY};
        assert_ok(thenar_sim_create(thenar_sim_model(newton), &options, &rows, &error), error);
        tools_run(newton, 20);
        tools_run(rows, 20);
        assert_int_equal(unconverged(newton), 0);
        assert_true((unconverged(rows) > 15) == (k == 0));
        /* Without limits it has no work. */
        if (k == 1)
            assert_true(unconverged(rows) == 0 && vec3_distance(scene_place(newton, 1), scene_place(rows, 1)) == 0);
        thenar_sim_free(rows);
        thenar_sim_free(newton);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_soft_block_sinks_into_another_by_half_its_pressure_over_stiffness),
    cmocka_unit_test(forces_on_two_soft_bodies_are_equal_and_opposite),
    cmocka_unit_test(the_motion_solves_the_equations_of_both_sides),
    cmocka_unit_test(what_friction_stops_within_the_step_sticks),
    cmocka_unit_test(a_heap_of_soft_blocks_comes_to_rest),
    cmocka_unit_test(hands_that_touch_themselves_or_what_is_soft_settle),
    cmocka_unit_test(threads_make_no_difference_and_steps_allocate_nothing),
    cmocka_unit_test(a_solver_on_rows_says_that_it_leaves_out_what_couples),
};

TEST_MAIN(tests)
