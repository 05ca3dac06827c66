/* A hand grips a block: friction and weight decide whether it comes along (perez2016, Fig. 6). */
#include "test.h"

#include "core/vec3.h"

#include "thenar/thenar.h"
#include "poses.h"

#define MU 0.6
#define WEIGHT (0.2 * 9.81)

static thenar_sim *load_with(const char *scene, const char *const *sets, int set_count, double dt) {
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    char path[512];
    snprintf(path, sizeof path, SOURCE_DIR "/scenes/%s.yaml", scene);
    thenar_scene_options options = {.size = sizeof(thenar_scene_options), .sets = sets, .set_count = set_count};
    assert_ok(thenar_scene_load(path, &options, &model, NULL, &error), error);
    thenar_sim_options how = thenar_sim_options_default();
    how.dt = dt;
    assert_ok(thenar_sim_create(model, &how, &sim, &error), error);
    thenar_model_free(model);
    return sim;
}

static thenar_sim *load(const char *scene, const char *const *sets, int set_count) {
    return load_with(scene, sets, set_count, 0);
}

static void run_until(thenar_sim *sim, double time) {
    while (thenar_sim_time(sim) < time - 1e-9) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
}

static int block_of(const thenar_sim *sim) {
    return thenar_model_find_body(thenar_sim_model(sim), "block");
}

static vec3 block_place(const thenar_sim *sim) {
    double position[3], quaternion[4];
    body_pose(sim, block_of(sim), position, quaternion);
    return vec3_load(position);
}

/* Sum of the normal forces between the hand and the block, N. */
static double grip_force(const thenar_sim *sim) {
    const thenar_contact_pair *pairs = thenar_sim_contact_pairs(sim);
    int hand = thenar_model_find_body(thenar_sim_model(sim), "hand");
    double sum = 0;
    for (int i = 0; i < thenar_sim_contact_pair_count(sim); i++)
        if (pairs[i].body[0] == hand && pairs[i].body[1] == block_of(sim)) sum += pairs[i].normal_force;
    return sum;
}

static void a_weak_grip_slips_and_a_strong_one_lifts_and_holds(void **unused) {
    (void)unused;
    thenar_sim *weak = load("grip-weak", NULL, 0);
    run_until(weak, 4);
    print_message("  weak: the block is at %.1f mm\n", 1e3 * block_place(weak).y);
    assert_near(block_place(weak).y, 0.05, 1e-3);
    thenar_sim_free(weak);

    thenar_sim *strong = load("grip-strong", NULL, 0);
    run_until(strong, 3.5);
    vec3 before = block_place(strong);
    run_until(strong, 8.5);
    double creep = vec3_distance(block_place(strong), before), pull[3], torque[3], force[3];
    thenar_sim_hand_coupling(strong, 0, 0, pull, torque);
    thenar_sim_contact_wrench(strong, block_of(strong), force, NULL, NULL);
    print_message(
        "  strong: lifted by %.1f mm, gripped by %.2f N in all; creep in 5 s %.4f mm; the hand bears %.6f of the "
        "weight, its tracker %.6f; unconverged %d\n",
        1e3 * (block_place(strong).y - 0.05), grip_force(strong), 1e3 * creep, force[1] / WEIGHT, pull[1] / WEIGHT,
        (int)thenar_sim_warning_count(strong, THENAR_WARNING_NOT_CONVERGED));
    assert_true(before.y > 0.145 && creep < 1e-3); /* asked: 1 mm */
    assert_near(force[1] / WEIGHT, 1, 1e-3);
    assert_near(pull[1] / WEIGHT, 1, 1e-3);
    assert_int_equal(thenar_sim_warning_count(strong, THENAR_WARNING_INVERTED), 0);
    thenar_sim_free(strong);
}

static void twice_the_mass_or_half_the_friction_makes_the_strong_grip_slip(void **unused) {
    (void)unused;
    const char *const heavy[] = {"bodies.block.mass=0.4"};
    const char *const smooth[] = {"bodies.block.friction=0.3", "bodies.hand.friction=0.3"};
    thenar_sim *sims[] = {load("grip-strong", heavy, 1), load("grip-strong", smooth, 2)};
    for (int k = 0; k < 2; k++) {
        run_until(sims[k], 4);
        assert_near(block_place(sims[k]).y, 0.05, 1e-3);
        thenar_sim_free(sims[k]);
    }
}

/* What the hand's contacts with the block do: sizes of their normal and friction forces, the middle of their
 * pressure. */
typedef struct grip {
    double normal, friction; /* N, sums of sizes */
    vec3 centre;             /* m */
} grip;

static grip look(const thenar_sim *sim) {
    grip g = {0};
    int hand = thenar_model_find_body(thenar_sim_model(sim), "hand");
    const thenar_contact *contacts = thenar_sim_contacts(sim);
    for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
        const thenar_contact *c = &contacts[i];
        if (c->body[0] != hand || c->body[1] != block_of(sim)) continue;
        g.normal += c->force;
        g.friction += vec3_length(vec3_load(c->friction));
        g.centre = vec3_mul_add(g.centre, vec3_load(c->position), c->force);
    }
    g.centre = vec3_scale(g.centre, 1 / g.normal);
    return g;
}

/* The block is pulled down, in line with the grip, harder and harder: it slips where friction times the grip's force
 * ends. */
static void it_slips_where_Coulomb_says(void **unused) {
    (void)unused;
    thenar_sim *sim = load("grip-strong", NULL, 0);
    run_until(sim, 4);
    double last = block_place(sim).y, max = 0, used = 0, extra = 0;
    while (extra < 5) {
        extra += 0.5 * thenar_sim_dt(sim);
        double force[3] = {0, -extra, 0}, torque[3];
        /* Weight and pull together act below the middle of the grip. */
        vec3 arm = vec3_sub(look(sim).centre, block_place(sim));
        vec3_store(torque, vec3_cross(arm, vec3_make(0, -extra - WEIGHT, 0)));
        assert_int_equal(thenar_sim_apply_wrench(sim, block_of(sim), force, torque), THENAR_OK);
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        double speed = (last - block_place(sim).y) / thenar_sim_dt(sim);
        last = block_place(sim).y;
        if (speed > 5e-3) break; /* m/s: springs give way far more slowly */
        max = (WEIGHT + extra) / (MU * look(sim).normal);
        used = look(sim).friction / (MU * look(sim).normal);
    }
    print_message("  slips at %.3f N: %.3f of what friction can bear; %.3f of friction was in use\n", WEIGHT + extra,
                  max, used);
    assert_near(max, 1, 0.1);
    assert_near(used, 1, 0.05);
    thenar_sim_free(sim);
}

/* Within 1 mm and 5 %: joint springs make the grip, whatever the mesh and the time step. test/robust/grip_details.sh prints
 * more of them. */
static void coarse_and_medium_hands_grip_alike_at_any_time_step(void **unused) {
    (void)unused;
#define DETAIL(word) "bodies.hand.shape.hand={length: 0.19, breadth: 0.086, side: right, detail: " word "}"
    const struct {
        const char *detail;
        double dt;
    } cases[] = {{DETAIL("coarse"), 0.01}, {DETAIL("coarse"), 0.005}, {DETAIL("coarse"), 0.02}, {DETAIL("medium"), 0.02}};
    double height = 0, force = 0;
    for (int k = 0; k < 4; k++) {
        thenar_sim *sim = load_with("grip-strong", &cases[k].detail, 1, cases[k].dt);
        run_until(sim, 4.5);
        double y = block_place(sim).y, pressing = grip_force(sim);
        print_message("  case %d, %2.0f ms: the block is at %.2f mm, gripped by %.3f N\n", k, 1e3 * cases[k].dt, 1e3 * y,
                      pressing);
        if (k == 0) height = y, force = pressing;
        assert_near(y, height, 1e-3);
        assert_near(pressing / force, 1, 0.05);
        thenar_sim_free(sim);
    }
}

/* Without muscles that carry the flesh, the block is not lifted with flesh of 200 kPa. */
static void stiffer_flesh_does_not_weaken_the_grip(void **unused) {
    (void)unused;
    static const char *const young[] = {"bodies.hand.material.young=30e3", "bodies.hand.material.young=200e3"};
    double force[2];
    for (int k = 0; k < 2; k++) {
        thenar_sim *sim = load("grip-strong", &young[k], 1);
        run_until(sim, 4.5);
        force[k] = grip_force(sim);
        print_message("  %s: %.3f N, the block is at %.2f mm\n", young[k], force[k], 1e3 * block_place(sim).y);
        assert_true(block_place(sim).y > 0.145);
        thenar_sim_free(sim);
    }
    assert_near(force[1] / force[0], 1, 0.1); /* stiffer pads yield less: some tenths of a degree of the joints */
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(coarse_and_medium_hands_grip_alike_at_any_time_step),
    cmocka_unit_test(stiffer_flesh_does_not_weaken_the_grip),
    cmocka_unit_test(a_weak_grip_slips_and_a_strong_one_lifts_and_holds),
    cmocka_unit_test(twice_the_mass_or_half_the_friction_makes_the_strong_grip_slip),
    cmocka_unit_test(it_slips_where_Coulomb_says),
};

TEST_MAIN(tests)
