/* Coulomb friction of a body on an incline, for every contact method, solver and kind of body: below the angle of friction
 * it stays, above it it slides with the acceleration g (sin a - mu cos a). One table of cases for each. */
#include "solver/solver.h"

#include "contact_tools.h"
#include "poses.h"

/* What lies on the incline. */
typedef enum load_kind {
    CUBE,   /* rigid, 20 mm, 100 g */
    BLOCK,  /* soft */
    STACKED /* a soft block on a soft slab that is held at its bottom */
} load_kind;

typedef enum ground_kind {
    LEVEL, /* a level plane under gravity that is tilted */
    PLANE, /* a tilted plane */
    BOX    /* a tilted box */
} ground_kind;

typedef struct incline {
    load_kind load;
    ground_kind ground;
    const char *contact, *friction; /* NULL: the default */
    const char *solver;             /* "": each of them */
    double dt, mu, angle, heading;  /* s, 1, rad, rad */
} incline;

static void add_box(scene *s, const char *name, vec3 low, vec3 high, const int cells[3], thenar_soft_def def) {
    thenar_tet_mesh mesh = scene_box(low, high, cells[0], cells[1], cells[2]);
    def.name = name;
    def.mesh = &mesh;
    scene_add_soft(s, &def);
    thenar_tet_mesh_free(&mesh);
}

static void add_load(scene *s, const incline *c) {
    const bool tilted = c->ground != LEVEL;
    if (c->load == CUBE) {
        vec3 at = tilted ? vec3_make(-sin(c->angle) * 0.01, cos(c->angle) * 0.01, 0) : vec3_make(0, 0.01, 0);
        thenar_rigid_def def = scene_cube("load", 0.02, 0.1, at, c->mu);
        pose_turn(def.pose, 0, 0, tilted ? c->angle : 0);
        scene_add_rigid(s, &def);
    } else if (c->load == BLOCK) {
        add_box(s, "load", vec3_make(-0.02, 0, -0.02), vec3_make(0.02, 0.03, 0.02), (int[]){4, 3, 4},
                scene_soft(NULL, NULL, 1e5, c->mu));
    } else {
        add_box(s, "load", vec3_make(-0.013, 0.01, -0.016), vec3_make(0.014, 0.025, 0.011), (int[]){3, 2, 3},
                scene_soft(NULL, NULL, 1e5, c->mu));
    }
}

static void add_ground(scene *s, const incline *c) {
    if (c->load == STACKED) {
        thenar_support bottom = {.region = tools_box_region(vec3_make(-1, -1, -1), vec3_make(1, 0.001, 1))};
        thenar_soft_def slab = scene_soft(NULL, NULL, 3e5, c->mu);
        slab.supports = &bottom;
        slab.support_count = 1;
        add_box(s, "slab", vec3_make(-0.03, 0, -0.025), vec3_make(0.25, 0.01, 0.025), (int[]){28, 1, 5}, slab);
        return;
    }
    if (c->ground == LEVEL) {
        scene_add_ground(s, c->mu);
        return;
    }
    thenar_rigid_def def = thenar_rigid_def_default();
    def.name = "incline";
    def.motion = THENAR_MOTION_STATIC;
    def.friction = c->mu;
    def.shape = (thenar_shape){.kind = THENAR_SHAPE_PLANE, .normal = {-sin(c->angle), cos(c->angle), 0}};
    if (c->ground == BOX) {
        def.shape = (thenar_shape){.kind = THENAR_SHAPE_BOX, .size = {20, 1, 20}};
        pose_turn(def.pose, 0, 0, c->angle);
        vec3_store(def.pose, vec3_make(sin(c->angle) * 0.5, -cos(c->angle) * 0.5, 0));
    }
    scene_add_rigid(s, &def);
}

/* The direction down the incline. */
static vec3 downhill(const incline *c) {
    if (c->ground != LEVEL) return vec3_make(-cos(c->angle), -sin(c->angle), 0);
    return vec3_make(cos(c->heading), 0, sin(c->heading));
}

/* Body 0 is what lies on the incline. */
static thenar_sim *start(const incline *c, const char *solver) {
    vec3 gravity = {0, -CONTACT_GRAVITY, 0};
    if (c->ground == LEVEL)
        gravity = vec3_mul_add(vec3_make(0, -CONTACT_GRAVITY * cos(c->angle), 0), downhill(c),
                               CONTACT_GRAVITY * sin(c->angle));
    scene s = scene_begin(gravity, 0);
    add_load(&s, c);
    add_ground(&s, c);
    thenar_sim_options options = {.size = sizeof(thenar_sim_options),
                                  .dt = c->dt,
                                  .threads = 1,
                                  .contact = (thenar_contact_method)thenar_contact_method_find(c->contact),
                                  .solver = solver ? (thenar_solver)thenar_solver_find(solver) : THENAR_SOLVER_NEWTON,
                                  .friction = c->friction ? (thenar_friction)thenar_friction_find(c->friction)
                                                          : THENAR_FRICTION_PYRAMID};
    return scene_sim_with(&s, &options);
}

/* The k-th solver of a case; NULL: there are no more. Newton knows the cone alone. */
static const char *solver_of(const incline *c, int k) {
    if (c->solver[0]) return k == 0 ? c->solver : NULL;
    if (c->friction && strcmp(c->friction, "pyramid") == 0) k++;
    return k < solver_count ? solver_table[k]->name : NULL;
}

static void print_case(const incline *c, const char *solver) {
    static const char *const loads[] = {"cube", "block", "stacked blocks"}, *const grounds[] = {"", ", plane", ", box"};
    print_error("%s%s, %s contacts, %s, %s, dt %g, mu %g, angle %.3f towards %.2f:\n", loads[c->load],
                grounds[c->ground], c->contact ? c->contact : "default", solver, c->friction ? c->friction : "cone",
                c->dt, c->mu, c->angle, c->heading);
}

/* By how much friction exceeds mu times the normal force, in units of the mean normal force. */
static double beyond_cone(const thenar_sim *sim, double mu) {
    contact_figures f = scene_contacts(sim, mu);
    double max = 0;
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &thenar_sim_contacts(sim)[i];
        max = fmax(max, vec3_length(vec3_load(c->friction)) - mu * c->force);
    }
    return f.touching > 0 ? max * f.touching / f.normal : 0;
}

/* Constraints keep the cone to rounding. Springs are iterated until forces are those of the law to 2 % of their mean. The
 * corners of a pyramid are outside the cone by sqrt 2. */
static double cone_tolerance(const incline *c) {
    if (c->friction && strcmp(c->friction, "pyramid") == 0) return INFINITY;
    return c->contact && strcmp(c->contact, "penalty") == 0 ? 0.02 : 1e-9;
}

static void a_body_stays_below_the_angle_of_friction(void **unused) {
    (void)unused;
    const double mu = 0.5, near = 0.95 * atan(mu), within = 20e-6;
    /* Contacts that stick stay within SOLVER_TOLERANCES.length times the step of their anchors: before and after. */
    const double anchored = 2 * 2e-4 * 0.005;
    const struct {
        incline incline;
        double settle, during, drift; /* s, s, m */
    } cases[] = {
        {{CUBE, LEVEL, NULL, NULL, "newton", time_step(0), mu, near, 0.4}, 1, 1, within},
        {{BLOCK, LEVEL, NULL, NULL, "newton", time_step(0), mu, near, 0.4}, 1, 1, within},
        {{CUBE, LEVEL, NULL, NULL, "newton", 0.01, mu, near, 0.4}, 1, 5, within},
        {{BLOCK, LEVEL, NULL, NULL, "newton", 0.01, mu, near, 0.4}, 1, 5, within},
        {{STACKED, LEVEL, NULL, NULL, "newton", 0.01, mu, near, 0}, 1, 2, within},
        {{STACKED, LEVEL, "penalty", NULL, "newton", 0.01, mu, near, 0}, 1, 2, within},
        {{CUBE, LEVEL, NULL, "cone", "", 0.005, mu, 0.9 * atan(mu), 0}, 1, 1, anchored},
        {{CUBE, LEVEL, NULL, "pyramid", "", 0.005, mu, 0.9 * atan(mu), 0}, 1, 1, anchored},
        {{BLOCK, LEVEL, NULL, "cone", "", 0.005, mu, 0.9 * atan(mu), 0}, 1, 1, anchored},
        {{BLOCK, LEVEL, NULL, "pyramid", "", 0.005, mu, 0.9 * atan(mu), 0}, 1, 1, anchored},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const incline *c = &cases[i].incline;
        const char *solver;
        for (int k = 0; (solver = solver_of(c, k)) != NULL; k++) {
            thenar_sim *sim = start(c, solver);
            tools_run(sim, steps_in(cases[i].settle, c->dt));
            vec3 before = scene_place(sim, 0);
            tools_run(sim, steps_in(cases[i].during, c->dt));
            double drift = vec3_distance(scene_place(sim, 0), before), beyond = beyond_cone(sim, mu);
            bool fails = !(drift <= cases[i].drift) || !(beyond <= cone_tolerance(c)) || unconverged(sim) > 0;
            if (fails) print_case(c, solver);
            if (fails)
                fail_msg("drifts by %g m, beyond the cone by %g, %d unconverged", drift, beyond, unconverged(sim));
            thenar_sim_free(sim);
        }
    }
}

/* Velocities after `settle` and after `during` more seconds; what is accelerated across the incline is compared too. */
static void a_body_slides_with_the_acceleration_of_coulomb_above_it(void **unused) {
    (void)unused;
    const double mu = 0.3, angle = 0.5, half = 1.05 * atan(0.5), pi = 3.14159265358979323846;
    const struct {
        incline incline;
        int headings;
        double settle, during, tolerance; /* s, s, relative */
    } cases[] = {
        {{CUBE, LEVEL, NULL, NULL, "newton", time_step(0), mu, angle, 0.1}, 1, 0.3, 0.5, 0.005},
        {{BLOCK, LEVEL, NULL, NULL, "newton", time_step(0), mu, angle, 0.1}, 1, 0.3, 0.5, 0.005},
        {{CUBE, LEVEL, NULL, NULL, "newton", 0.01, mu, angle, 0.1}, 8, 0.3, 0.5, 0.005},
        {{BLOCK, LEVEL, NULL, NULL, "newton", 0.01, mu, angle, 0.1}, 8, 0.3, 0.5, 0.005},
        {{CUBE, PLANE, NULL, NULL, "newton", 0.01, mu, angle, 0}, 1, 0.2, 0.5, 0.005},
        {{CUBE, BOX, NULL, NULL, "newton", 0.01, mu, angle, 0}, 1, 0.2, 0.5, 0.005},
        {{CUBE, PLANE, NULL, NULL, "newton", time_step(0), mu, angle, 0}, 1, 0.2, 0.5, 0.005},
        {{CUBE, BOX, NULL, NULL, "newton", time_step(0), mu, angle, 0}, 1, 0.2, 0.5, 0.005},
        {{CUBE, LEVEL, "penalty", NULL, "newton", time_step(0), mu, angle, 0}, 1, 0.3, 0.5, 0.005},
        {{BLOCK, LEVEL, "penalty", NULL, "newton", time_step(0), mu, angle, 0}, 1, 0.3, 0.5, 0.005},
        {{CUBE, LEVEL, "penalty", NULL, "newton", 0.01, mu, angle, 0}, 1, 0.3, 0.5, 0.005},
        {{BLOCK, LEVEL, "penalty", NULL, "newton", 0.01, mu, angle, 0}, 1, 0.3, 0.5, 0.005},
        /* The slab gives way by a tenth of a millimetre, which the block climbs and comes down again. */
        {{STACKED, LEVEL, NULL, NULL, "newton", 0.01, mu, angle, 0}, 1, 0.15, 0.2, 0.02},
        {{STACKED, LEVEL, "penalty", NULL, "newton", 0.01, mu, angle, 0}, 1, 0.15, 0.2, 0.09},
        {{STACKED, LEVEL, "penalty", NULL, "newton", 0.01, 0.5, half, 0}, 1, 0.15, 0.2, 0.5},
        /* Along the tangents of contacts, and along a corner of the pyramid, where friction is sqrt 2 times too strong. */
        {{CUBE, LEVEL, NULL, "cone", "", 0.005, mu, angle, 0}, 2, 0.3, 0.2, 0.005},
        {{CUBE, LEVEL, NULL, "pyramid", "", 0.005, mu, angle, 0}, 2, 0.3, 0.2, 0.005},
        {{BLOCK, LEVEL, NULL, "cone", "", 0.005, mu, angle, 0}, 2, 0.3, 0.2, 0.005},
        {{BLOCK, LEVEL, NULL, "pyramid", "", 0.005, mu, angle, 0}, 2, 0.3, 0.2, 0.005},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int heading = 0; heading < cases[i].headings; heading++) {
            incline c = cases[i].incline;
            const bool corner = heading == 1 && c.friction && strcmp(c.friction, "pyramid") == 0;
            const double expected = CONTACT_GRAVITY * (sin(c.angle) - (corner ? sqrt(2) : 1) * c.mu * cos(c.angle));
            const char *solver;
            c.heading += heading * pi / 4;
            vec3 along = downhill(&c), across = vec3_cross(along, vec3_make(0, 1, 0));
            for (int k = 0; (solver = solver_of(&c, k)) != NULL; k++) {
                thenar_sim *sim = start(&c, solver);
                tools_run(sim, steps_in(cases[i].settle, c.dt));
                vec3 before = scene_velocity(sim, 0);
                double beyond = 0;
                for (int n = steps_in(cases[i].during, c.dt); n > 0; n--) {
                    tools_run(sim, 1);
                    beyond = fmax(beyond, beyond_cone(sim, c.mu));
                }
                vec3 after = scene_velocity(sim, 0);
                double a = vec3_dot(along, vec3_sub(after, before)) / cases[i].during;
                double sideways = fabs(vec3_dot(across, after) / vec3_dot(along, after));
                bool fails = !(fabs(a / expected - 1) <= cases[i].tolerance) || !(beyond <= cone_tolerance(&c));
                /* The wider tolerance of stacked blocks goes for their direction too. */
                if (!(sideways < (c.load == STACKED ? cases[i].tolerance : 1e-3))) fails = true;
                if (fails) print_case(&c, solver);
                if (fails)
                    fail_msg("accelerates by %.4f of %.4f m/s^2, sideways %g, beyond the cone by %g", a, expected,
                             sideways, beyond);
                thenar_sim_free(sim);
            }
        }
}

/* A ball rolls if mu > 2/7 tan a = 0.088, with 5/7 of the incline's acceleration; otherwise it slips, and friction spins it
 * with 5/2 mu g cos a / r. */
static void a_ball_rolls_or_slips_down_as_mechanics_says(void **unused) {
    (void)unused;
    const double angle = 0.3, r = 0.02;
    for (int k = 0; k < 8; k++) {
        const bool slips = k & 1, penalty = k & 2;
        const double h = time_step(k / 4), mu = slips ? 0.03 : 0.6;
        const incline c = {.angle = angle, .heading = 0.7};
        vec3 along = downhill(&c), axis = vec3_cross(vec3_make(0, 1, 0), along);
        scene s = scene_begin(
            vec3_mul_add(vec3_make(0, -CONTACT_GRAVITY * cos(angle), 0), along, CONTACT_GRAVITY * sin(angle)), 0);
        thenar_rigid_def ball = thenar_rigid_def_default();
        ball.name = "ball";
        ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = r};
        ball.friction = mu;
        vec3_store(ball.pose, vec3_make(0, r, 0));
        scene_add_rigid(&s, &ball);
        scene_add_ground(&s, mu);
        thenar_sim_options options = {
            .size = sizeof(thenar_sim_options),
            .dt = h,
            .threads = 1,
            .contact = (thenar_contact_method)thenar_contact_method_find(penalty ? "penalty" : NULL)};
        thenar_sim *sim = scene_sim_with(&s, &options);
        double velocity[2][3], spin[2][3];
        tools_run(sim, steps_in(0.2, h));
        body_twist(sim, 0, velocity[0], spin[0]);
        tools_run(sim, steps_in(0.5, h));
        body_twist(sim, 0, velocity[1], spin[1]);
        double a = vec3_dot(along, vec3_sub(vec3_load(velocity[1]), vec3_load(velocity[0]))) / 0.5;
        double angular = vec3_dot(axis, vec3_sub(vec3_load(spin[1]), vec3_load(spin[0]))) / 0.5;
        double expected = CONTACT_GRAVITY * (slips ? sin(angle) - mu * cos(angle) : 5.0 / 7 * sin(angle));
        double expected_angular = slips ? 2.5 * mu * CONTACT_GRAVITY * cos(angle) / r : expected / r;
        if (fabs(a / expected - 1) > 0.005 || fabs(angular / expected_angular - 1) > 0.005)
            print_error("%s contacts, mu %g, dt %g\n", penalty ? "penalty" : "default", mu, h);
        assert_near(a / expected, 1, 0.005);
        assert_near(angular / expected_angular, 1, 0.005);
        thenar_sim_free(sim);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_body_stays_below_the_angle_of_friction),
    cmocka_unit_test(a_body_slides_with_the_acceleration_of_coulomb_above_it),
    cmocka_unit_test(a_ball_rolls_or_slips_down_as_mechanics_says),
};

TEST_MAIN(tests)
