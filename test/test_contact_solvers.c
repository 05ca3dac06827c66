/* Contact and friction with every solver: the weight is borne, slopes hold and slide as Coulomb has it, all agree. */
#include "allocations.h"
#include "soft_tools.h"

#include "solver/baseline/baseline.h"
#include "solver/solver.h"
#include "world/sim.h"
#include "poses.h"

#define G 9.81
#define STEP 0.005
#define MU 0.5

/* Gravity on a slope of this angle (radians) that falls towards `along`, seen from the slope. */
static vec3 gravity_on_slope(double angle, vec3 along) {
    return vec3_mul_add(vec3_make(0, -G * cos(angle), 0), along, G * sin(angle));
}

static thenar_build *world(vec3 gravity) {
    thenar_world_def def = thenar_world_def_default();
    vec3_store(def.gravity, gravity);
    thenar_build *build = thenar_build_create(&def);
    assert_non_null(build);
    thenar_rigid_def ground = thenar_rigid_def_default();
    thenar_error error;
    ground.name = "ground";
    ground.motion = THENAR_MOTION_STATIC;
    ground.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {0, 1, 0}};
    ground.friction = MU;
    assert_ok(thenar_build_add_rigid(build, &ground, &error), error);
    return build;
}

/* A block of 40 x 20 x 30 mm, 24 g, on the ground; limits are those of its stretch, or 0. */
static void add_block(thenar_build *build, double limit) {
    thenar_tet_mesh mesh = tools_box(0.04, 0.02, 0.03, 4, 2, 3);
    thenar_soft_def def = thenar_soft_def_default();
    thenar_error error;
    def.name = "block";
    def.mesh = &mesh;
    def.material.young = 0.1e6;
    def.material.poisson = 0.4;
    def.material.damping_stiffness = 0.01;
    def.friction = MU;
    if (limit > 0) def.material.stretch_min = 1 - limit, def.material.stretch_max = 1 + limit;
    assert_ok(thenar_build_add_soft(build, &def, &error), error);
    thenar_tet_mesh_free(&mesh);
}

static void add_cube(thenar_build *build, double side, double mass, vec3 at) {
    thenar_rigid_def def = thenar_rigid_def_default();
    thenar_error error;
    def.name = "cube";
    def.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {side, side, side}};
    def.mass = mass;
    def.friction = MU;
    vec3_store(def.pose, at);
    assert_ok(thenar_build_add_rigid(build, &def, &error), error);
}

static thenar_model *compile(thenar_build *build) {
    thenar_error error;
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    return model;
}

static thenar_sim *sim_with(const thenar_model *model, const char *solver, const char *friction, int threads) {
    thenar_error error;
    thenar_sim *sim;
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .dt = STEP,
                                  .threads = threads,
                                  .solver = solver ? (thenar_solver)thenar_solver_find(solver) : THENAR_SOLVER_NEWTON,
                                  .friction = friction ? (thenar_friction)thenar_friction_find(friction)
                                                       : THENAR_FRICTION_PYRAMID,
                                  .contact = THENAR_CONTACT_OF_MODEL};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    return sim;
}

/* Place and velocity of the centre of mass. */
static vec3 centre(const thenar_sim *sim, int body, bool velocity) {
    const thenar_model *model = thenar_sim_model(sim);
    if (thenar_model_body_kind(model, body) == THENAR_BODY_RIGID) {
        double linear[3], other[4];
        if (velocity)
            body_twist(sim, body, linear, other);
        else
            body_pose(sim, body, linear, other);
        return vec3_load(linear);
    }
    const double *x = velocity ? thenar_sim_velocities(sim, body) : thenar_sim_positions(sim, body);
    const double *mass = thenar_model_masses(model, body);
    vec3 sum = {0};
    for (int i = 0; i < thenar_model_mesh(model, body)->node_count; i++)
        sum = vec3_mul_add(sum, vec3_load(x + 3 * i), mass[i]);
    return vec3_scale(sum, 1 / thenar_model_mass(model, body));
}

static double deepest(const thenar_sim *sim) {
    double worst = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) worst = fmax(worst, -thenar_sim_contacts(sim)[i].gap);
    return worst;
}

static double normal_force(const thenar_sim *sim) {
    double sum = 0;
    for (int i = 0; i < thenar_sim_contact_pair_count(sim); i++) sum += thenar_sim_contact_pairs(sim)[i].normal_force;
    return sum;
}

/* The tolerance of contacts: SOLVER_TOLERANCES.length times the step. */
static const double within = 2e-4 * STEP;

static void every_solver_carries_what_lies_on_the_ground(void **unused) {
    (void)unused;
    for (int kind = 0; kind < 3; kind++) {
        thenar_build *build = world(vec3_make(0, -G, 0));
        if (kind < 2) add_block(build, kind == 1 ? 0.02 : 0);
        if (kind == 2) add_cube(build, 0.02, 0.1, vec3_make(0, 0.01, 0));
        thenar_model *model = compile(build);
        double weight = G * thenar_model_mass(model, 1);
        for (int i = 0; i < solver_count; i++) {
            thenar_sim *sim = sim_with(model, solver_table[i]->name, NULL, 1);
            tools_run(sim, 150);
            double late = 0;
            for (int k = 0; k < 50; k++) {
                tools_run(sim, 1);
                assert_near(normal_force(sim), weight, 0.01 * weight);
                assert_true(deepest(sim) <= within);
                assert_int_equal(thenar_sim_stats(sim)->unconverged, 0);
                late = fmax(late, vec3_length(centre(sim, 1, true)));
            }
            /* In every step a contact may go from one end of its tolerance to the other. */
            assert_true(late <= 2 * SOLVER_TOLERANCES.length);
            thenar_sim_free(sim);
        }
        thenar_model_free(model);
    }
}

/* A cube that is thrown on a soft block slides, sticks and is carried: without limits all solve the same problem. */
static void all_solvers_agree_with_newton(void **unused) {
    (void)unused;
    thenar_build *build = world(gravity_on_slope(0.2, vec3_make(0.8, 0, 0.6)));
    add_block(build, 0);
    add_cube(build, 0.012, 0.01, vec3_make(0.018, 0.0275, 0.016));
    thenar_model *model = compile(build);
    enum { STEPS = 60 };
    vec3 cube[STEPS], block[STEPS];
    for (int i = 0; i < solver_count; i++) {
        thenar_sim *sim = sim_with(model, solver_table[i]->name, "cone", 1);
        double off = 0;
        int iterations = 0, unconverged = 0;
        for (int k = 0; k < STEPS; k++) {
            tools_run(sim, 1);
            iterations += thenar_sim_stats(sim)->iterations;
            unconverged += thenar_sim_stats(sim)->unconverged;
            vec3 c = centre(sim, 2, false), b = centre(sim, 1, false);
            if (i == 0) cube[k] = c, block[k] = b;
            off = fmax(off, fmax(vec3_distance(c, cube[k]), vec3_distance(b, block[k])));
        }
        print_message("%s: %.2g m from newton, %d iterations, %d not converged\n", solver_table[i]->name, off,
                      iterations, unconverged);
        assert_true(off <= 20e-6);
        thenar_sim_free(sim);
    }
    thenar_model_free(model);
}

static void friction_is_within_its_bounds_and_forces_are_complementary(void **unused) {
    (void)unused;
    thenar_build *build = world(gravity_on_slope(0.3, vec3_make(0.8, 0, 0.6)));
    add_block(build, 0.02);
    add_cube(build, 0.012, 0.02, vec3_make(0.02, 0.027, 0.015));
    thenar_model *model = compile(build);
    for (int i = 1; i < solver_count; i++)
        for (int cone = 0; cone < 2; cone++) {
            thenar_sim *sim = sim_with(model, solver_table[i]->name, cone ? "cone" : "pyramid", 1);
            int pushing = 0;
            for (int k = 0; k < 40; k++) {
                tools_run(sim, 1);
                for (int n = 0; n < thenar_sim_contact_count(sim); n++) {
                    const thenar_contact *c = &thenar_sim_contacts(sim)[n];
                    double friction = vec3_length(vec3_load(c->friction)), bound = (cone ? 1 : sqrt(2)) * MU * c->force;
                    assert_true(c->force >= 0 && friction <= bound * (1 + 1e-12) + 1e-15);
                    if (thenar_sim_stats(sim)->unconverged > 0) continue;
                    assert_true(c->gap >= -within);
                    pushing += c->force > 0;
                }
            }
            assert_true(pushing > 100);
            thenar_sim_free(sim);
        }
    thenar_model_free(model);
}

static void threads_do_not_change_contacts_and_no_step_allocates(void **unused) {
    (void)unused;
    thenar_build *build = world(gravity_on_slope(0.3, vec3_make(0.8, 0, 0.6)));
    add_block(build, 0.02);
    add_cube(build, 0.012, 0.02, vec3_make(0.02, 0.027, 0.015));
    thenar_model *model = compile(build);
    for (int i = 0; i < solver_count; i++) {
        thenar_sim *one = sim_with(model, solver_table[i]->name, NULL, 1);
        thenar_sim *three = sim_with(model, solver_table[i]->name, NULL, 3);
        long before = allocation_count;
        for (int k = 0; k < 8; k++) {
            tools_run(one, 1);
            tools_run(three, 1);
            assert_true(thenar_sim_hash(one) == thenar_sim_hash(three));
        }
        assert_int_equal(allocation_count, before);
        thenar_sim_free(one);
        thenar_sim_free(three);
    }
    thenar_model_free(model);
}

/* A block and a cube near it, and contacts between them that no mesh of a test has: of points inside a tet's face, with
 * the cube's two unknowns six in all. */
typedef struct six_legs {
    thenar_sim *sim;
    solver_problem problem;
    body_step step;
    contact contacts[3];
} six_legs;

static void six_legs_begin(six_legs *s, const thenar_model *model, const char *solver) {
    s->sim = sim_with(model, solver, "cone", 1);
    tools_run(s->sim, 1);
    int island = 0;
    while (model->systems[island].body_count < 2) island++;
    const system_model *system = &model->systems[island];
    s->step = (body_step){.h = STEP};
    s->problem = system_problem(&s->sim->systems[island], system, &s->step);
    assert_true(system_factor(&s->sim->systems[island], system, NULL));
    system_solve(&s->sim->systems[island], system, &s->step);
    const thenar_tet_mesh *mesh = thenar_model_mesh(model, 1);
    random_source random = {7};
    for (int i = 0; i < 3; i++) {
        contact *c = &s->contacts[i];
        double weights[4] = {0.1, 0.2, 0.3, 0.4};
        *c = (contact){.mu = MU, .share = 1, .start = {-20e-6, 3e-6, -2e-6}};
        vec3 n = vec3_add(vec3_make(0, -1, 0), tools_random_vector(&random, 0.3));
        c->frame = contact_frame(vec3_unit(n));
        const int *tet = mesh->tets + 4 * (3 + 9 * i);
        for (int k = 0; k < 4; k++)
            c->legs[c->leg_count++] = (contact_leg){
                .node = system->first_node[0] + model_soft(model, 1)->system_node[tet[k]], .weight = weights[k]};
        for (int k = 0; k < 2; k++)
            c->legs[c->leg_count++] = (contact_leg){.node = system->first_node[1] + k,
                                                    .weight = -1,
                                                    .turns = k == RIGID_ANGULAR,
                                                    .arm = tools_random_vector(&random, 0.005)};
        for (int k = 1; k < 4; k++)
            for (int j = k; j > 0 && c->legs[j - 1].node > c->legs[j].node; j--) {
                contact_leg swapped = c->legs[j];
                c->legs[j] = c->legs[j - 1], c->legs[j - 1] = swapped;
            }
        assert_true(contact_bind(c, &system->pattern));
        c->rho = 1e3;
        c->max = INFINITY;
    }
    s->problem.contacts = s->contacts;
    s->problem.contact_count = 3;
}

static thenar_model *block_and_cube(void) {
    thenar_build *build = world(vec3_make(0, -G, 0));
    thenar_tet_mesh mesh = tools_box(0.02, 0.01, 0.02, 3, 1, 3); /* every node is on the surface */
    thenar_soft_def def = thenar_soft_def_default();
    thenar_error error;
    def.name = "block";
    def.mesh = &mesh;
    def.material.young = 0.1e6;
    def.friction = MU;
    assert_ok(thenar_build_add_soft(build, &def, &error), error);
    thenar_tet_mesh_free(&mesh);
    add_cube(build, 0.01, 0.01, vec3_make(0.01, 0.05, 0.01));
    return compile(build);
}

static void rows_of_contacts_are_those_of_the_contacts(void **unused) {
    (void)unused;
    thenar_model *model = block_and_cube();
    six_legs s;
    six_legs_begin(&s, model, "njls");
    const solver_problem *problem = &s.problem;
    int components = 3 * problem->pattern->node_count;
    arena measure = {0};
    row_set set;
    rows_layout(&set, problem, 3, &measure);
    arena carve = arena_on(memory_aligned(measure.used), measure.used);
    rows_layout(&set, problem, 3, &carve);
    set.contacts.all = true;
    rows_begin(&set, problem, rows_diagonal);
    rows_collect(&set, problem);
    assert_int_equal(set.count, 9);
    double *d = calloc((size_t)components, sizeof *d), *x = calloc((size_t)components, sizeof *x), B[9 * 16] = {0};
    random_source random = {5};
    for (int i = 0; i < components; i++) d[i] = random_uniform(&random, -1e-3, 1e-3);
    contact_evaluate(problem->contacts, 3, d);
    double whole[9];
    rows_diagonal(&set, problem, 0, 9);
    memcpy(whole, set.diagonal, sizeof whole);
    rows_diagonal_by_reach(&set, problem, 0, 9);
    rows_matrix(&set, problem, B, 16);
    for (int k = 0; k < 9; k++) {
        const contact *c = &problem->contacts[k / 3];
        double u[3], start[3], lambda[9] = {0};
        vec3_store(u, c->u);
        vec3_store(start, c->start);
        assert_non_null(set.rows[k].tail);
        assert_near(start[k % 3] + row_times(&set.rows[k], d), u[k % 3], 1e-15);
        lambda[k] = 1;
        double square = rows_push(&set, problem, lambda, 9);
        memcpy(x, set.force, (size_t)components * sizeof *x);
        cholesky_solve(problem->factor, x);
        double size = row_times(&set.rows[k], x);
        assert_near(square, size, 1e-12 * size);
        assert_near(whole[k], size, 1e-12 * size);
        assert_near(set.diagonal[k], size, 1e-12 * size);
        for (int l = 0; l < 9; l++) assert_near(B[16 * l + k], row_times(&set.rows[l], x), 1e-12 * size);
    }
    free(d);
    free(x);
    free(carve.base);
    thenar_sim_free(s.sim);
    thenar_model_free(model);
}

static void contacts_of_six_unknowns_end_the_same_with_every_solver(void **unused) {
    (void)unused;
    thenar_model *model = block_and_cube();
    vec3 force[3], end[3];
    for (int i = 0; i < solver_count; i++) {
        six_legs s;
        six_legs_begin(&s, model, solver_table[i]->name);
        solver_report report;
        s.problem.tolerance.length = i == 0 ? 1e-7 : 1e-8;
        s.problem.tolerance.force = 1e-4;
        s.problem.tolerance.stationarity = 1e-6;
        s.problem.tolerance.balance = 1e-5;
        int island = 0;
        while (model->systems[island].body_count < 2) island++;
        assert_true(solver_table[i]->solve(s.sim->systems[island].solver, &s.problem, &report));
        assert_true(report.converged);
        for (int k = 0; k < 3 && i == 0; k++) force[k] = s.contacts[k].lambda;
        for (int k = 0; k < 3; k++) {
            const contact *c = &s.contacts[k];
            if (i == 0) end[k] = c->u;
            assert_true(c->lambda.x > 0 && cone_tangential(c->lambda) <= MU * c->lambda.x * (1 + 1e-6));
            /* One sticks, two slip; newton's forces are within 1e-4 of their mean, and the contacts lean on each
             * other. */
            assert_near(vec3_distance(c->lambda, force[k]), 0, 1e-3 * (force[0].x + force[1].x + force[2].x) / 3);
            assert_near(vec3_distance(c->u, end[k]), 0, 2e-8);
        }
        thenar_sim_free(s.sim);
    }
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_solver_carries_what_lies_on_the_ground),
    cmocka_unit_test(all_solvers_agree_with_newton),
    cmocka_unit_test(friction_is_within_its_bounds_and_forces_are_complementary),
    cmocka_unit_test(threads_do_not_change_contacts_and_no_step_allocates),
    cmocka_unit_test(rows_of_contacts_are_those_of_the_contacts),
    cmocka_unit_test(contacts_of_six_unknowns_end_the_same_with_every_solver),
};

TEST_MAIN(tests)
