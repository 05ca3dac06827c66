/* A whole hand in a world: bones, flesh, and who drives them. */
#include "hand_world.h"
#include "thenar/file.h"

#include "allocations.h"
#include "core/vec3.h"
#include "world/sim.h"

#include <stdlib.h>
#include <string.h>

#define TIME_STEPS (SANITIZED ? 1 : 2) /* the long one first */
#define RADIAN_PER_DEGREE (3.14159265358979323846 / 180)

static void run(thenar_sim *sim, double time) {
    long steps = lround(time / thenar_sim_dt(sim));
    for (long i = 0; i < steps; i++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
}

static vec3 joint_of(const thenar_sim *sim, int joint) {
    double joints[7 * THENAR_HAND_JOINTS];
    thenar_sim_hand_joints(sim, 0, joints);
    return vec3_load(joints + 7 * joint);
}

/* The largest distance of a node from where it is in `before`. */
static double largest_move(const thenar_sim *sim, const double *before) {
    int nodes = thenar_model_mesh(thenar_sim_model(sim), 0)->node_count;
    const double *x = thenar_sim_positions(sim, 0);
    double largest = 0;
    for (int i = 0; i < nodes; i++)
        largest = fmax(largest, vec3_distance(vec3_load(x + 3 * i), vec3_load(before + 3 * i)));
    return largest;
}

static double *copy_positions(const thenar_sim *sim) {
    size_t bytes = 3 * (size_t)thenar_model_mesh(thenar_sim_model(sim), 0)->node_count * sizeof(double);
    double *copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, thenar_sim_positions(sim, 0), bytes);
    return copy;
}

static void a_hand_takes_two_lines(void **unused) {
    (void)unused;
    thenar_hand_def def = thenar_hand_def_default();
    thenar_model *model = hand_world_model(&def);
    int first;
    assert_int_equal(thenar_model_hand_count(model), 1);
    assert_int_equal(thenar_model_hand_bodies(model, 0, &first), 1);
    assert_int_equal(thenar_model_find_body(model, "hand"), first);
    assert_int_equal(thenar_model_hand_of_body(model, first), 0);
    assert_int_equal(thenar_model_mesh(model, first)->tet_count, 602);
    print_message("  %d triangles, flesh of %.3f kg\n", thenar_model_surface(model, first)->triangle_count,
                  thenar_model_mass(model, first));
    assert_near(thenar_model_mass(model, first), 0.8 * 0.4, 0.03);
    thenar_model_free(model);
}

/* A hand without keys starts where it is at rest, and its tips are inside its skin: the renderer finds nails there. */
static void the_joints_at_rest_are_where_the_skin_is_at_rest(void **unused) {
    (void)unused;
    for (int left = 0; left < 2; left++) {
        thenar_hand_def def = hand_world_def();
        const double pose[7] = {0.1, 0.2, 0.3, 0.1, -0.5, 0.2, 0.8};
        memcpy(def.pose, pose, sizeof pose);
        def.left = left;
        thenar_model *model = hand_world_model(&def);
        thenar_sim *sim = hand_world_start(model, 0.01, 1);
        double rest[7 * THENAR_HAND_JOINTS], now[7 * THENAR_HAND_JOINTS];
        assert_int_equal(thenar_model_hand_rest(model, 0, rest), THENAR_OK);
        thenar_sim_hand_joints(sim, 0, now);
        for (int i = 0; i < 7 * THENAR_HAND_JOINTS; i++) assert_near(rest[i], now[i], 1e-9);
        const thenar_surface *skin = thenar_model_surface(model, 0);
        for (int tip = THENAR_JOINT_THUMB_TIP; tip < THENAR_HAND_JOINTS; tip += 5) {
            double nearest = INFINITY;
            for (int v = 0; v < skin->vertex_count; v++) {
                const double *x = skin->positions + 3 * v, *j = rest + 7 * tip;
                nearest = fmin(nearest, hypot(hypot(x[0] - j[0], x[1] - j[1]), x[2] - j[2]));
            }
            assert_true(nearest < 0.012); /* half the thickness of a finger */
        }
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

/* Flesh without weight is at rest in its rest shape; with weight the springs bear it. */
static void a_hand_that_is_held_still_stays_where_it_is(void **unused) {
    (void)unused;
    const double steps[] = {0.01, 0.001};
    for (int weight = 0; weight < 2; weight++)
        for (int k = 0; k < TIME_STEPS; k++) {
            thenar_hand_def def = hand_world_def();
            def.weight = weight;
            thenar_model *model = hand_world_model(&def);
            thenar_sim *sim = hand_world_start(model, steps[k], 1);
            if (weight) run(sim, steps[k] < 0.01 ? 0.5 : 2);
            double *before = copy_positions(sim);
            run(sim, 1);
            double force[3], torque[3], drift = largest_move(sim, before);
            thenar_sim_hand_coupling(sim, 0, 0, force, torque);
            print_message("  h %g s, %s weight: a second moves it by at most %.2e mm; the palm is pulled by %.4f N\n",
                          steps[k], weight ? "with" : "without", 1e3 * drift, force[1]);
            assert_true(drift < 1e-4); /* asked: 0.1 mm */
            if (weight) assert_near(force[1], 9.81 * thenar_model_mass(model, 0) / 0.8, 0.01);
            free(before);
            thenar_sim_free(sim);
            thenar_model_free(model);
        }
}

/* The nodes nearest to a joint share the force. */
static void push_near(thenar_sim *sim, int joint, vec3 force) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(sim), 0);
    vec3 at = joint_of(sim, joint);
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < mesh->node_count; i++) {
            if (vec3_distance(vec3_load(mesh->positions + 3 * i), at) > 0.015) continue;
            double share[3];
            vec3_store(share, vec3_scale(force, 1.0 / (pass ? count : 1)));
            if (pass) assert_int_equal(thenar_sim_apply_force(sim, 0, i, share), THENAR_OK);
            count += !pass;
        }
    assert_true(count > 0);
}

/* Both ways: what presses the flesh of a fingertip bends the finger, and the tracker's coupling bears all of it. */
static void pressing_a_fingertip_moves_its_bone_and_loads_the_tracker(void **unused) {
    (void)unused;
    const double steps[] = {0.01, 0.001};
    double angle[2] = {0};
    for (int k = 0; k < TIME_STEPS; k++) {
        thenar_hand_def def = hand_world_def();
        thenar_model *model = hand_world_model(&def);
        thenar_sim *sim = hand_world_start(model, steps[k], 1);
        double rest[THENAR_HAND_ANGLES], now[THENAR_HAND_ANGLES], torques[THENAR_HAND_ANGLES], pull[3], turn[3];
        thenar_sim_hand_angles(sim, 0, rest, NULL);
        vec3 tip = joint_of(sim, 9), force = vec3_make(0, 1, 0);
        push_near(sim, 9, force);
        run(sim, steps[k] < 0.01 ? 2 : 3);
        thenar_sim_hand_angles(sim, 0, now, torques);
        thenar_sim_hand_coupling(sim, 0, 0, pull, turn);
        angle[k] = now[4] - rest[4];
        double lever = vec3_distance(tip, joint_of(sim, 6));
        print_message(
            "  h %g s: 1 N at the tip: knuckle turns by %.4f rad (torque %.4f N m, lever %.3f m), tip rises by "
            "%.2f mm, the palm is pulled by %.5f N\n",
            steps[k], angle[k], torques[4], lever, 1e3 * (joint_of(sim, 9).y - tip.y), pull[1]);
        assert_near(pull[1], -1, 1e-3);
        assert_true(angle[k] < -0.01);
        /* The force is at nodes around the tip, and the flesh around the knuckle bears a part. */
        assert_true(torques[4] > 0.7 * lever && torques[4] < 1.02 * lever);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
    if (TIME_STEPS > 1) assert_near(angle[0] / angle[TIME_STEPS - 1], 1, 1e-2);
}

static thenar_hand_def waving_def(const thenar_hand_key *keys, int key_count, const thenar_key *base, int base_count) {
    thenar_hand_def def = hand_world_def();
    def.keys = keys;
    def.key_count = key_count;
    def.base_keys = base;
    def.base_key_count = base_count;
    return def;
}

/* The palm follows within a few millimetres where it is moved as fast as people move, and is there in the end. */
static void a_hand_follows_its_script(void **unused) {
    (void)unused;
    const thenar_key base[] = {{.time = 0}, {.time = 0.5, .move = {0.3, 0.1, 0}, .turn = {0, 0.8, 0}}};
    const double steps[] = {0.01, 0.001};
    for (int k = 0; k < TIME_STEPS; k++) {
        thenar_hand_def def = waving_def(NULL, 0, base, 2);
        thenar_model *model = hand_world_model(&def);
        thenar_sim *sim = hand_world_start(model, steps[k], 1);
        double max = 0, wrist[7];
        for (int i = 0; i < (int)lround(0.5 / steps[k]); i++) {
            assert_int_equal(thenar_sim_step(sim), THENAR_OK);
            thenar_sim_hand_target(sim, 0, wrist, NULL);
            max = fmax(max, vec3_distance(joint_of(sim, 0), vec3_load(wrist)));
        }
        run(sim, 1);
        double end = vec3_distance(joint_of(sim, 0), vec3_load(wrist));
        print_message("  h %g s: the wrist is behind by at most %.2f mm, in the end %.1e mm\n", steps[k], 1e3 * max,
                      1e3 * end);
        assert_true(max < 6e-3 && end < 1e-4);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

/* Into a fist and back: limits hold, no tet turns inside out, bones and flesh come to rest together. */
static void a_fist_comes_to_rest(void **unused) {
    (void)unused;
    const thenar_hand_key keys[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                                    {.time = 0.5, .pose = THENAR_HAND_POSE_FIST}};
    const double steps[] = {0.02, 0.01, 0.001};
    for (int k = 0; k < TIME_STEPS + 1; k++) {
        thenar_hand_def def = waving_def(keys, 2, NULL, 0);
        thenar_model *model = hand_world_model(&def);
        thenar_sim *sim = hand_world_start(model, steps[k], 1);
        run(sim, steps[k] < 0.01 ? 2 : 3);
        double *before = copy_positions(sim);
        run(sim, 0.5);
        double moved = largest_move(sim, before), angles[THENAR_HAND_ANGLES], target[THENAR_HAND_ANGLES];
        thenar_sim_hand_angles(sim, 0, angles, NULL);
        thenar_sim_hand_target(sim, 0, NULL, target);
        print_message("  h %g s: %d limits push, half a second moves it by %.1e mm, the index finger bends by %.0f of "
                      "%.0f degrees\n",
                      steps[k], thenar_sim_stats(sim)->active_constraints, 1e3 * moved,
                      (angles[4] + angles[6] + angles[7]) / RADIAN_PER_DEGREE,
                      (target[4] + target[6] + target[7]) / RADIAN_PER_DEGREE);
        assert_true(moved < 1.5e-3); /* muscles push against strain limits, which hold to a tolerance */
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED), 0);
        assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED), 0);
        assert_true(angles[4] + angles[6] + angles[7] > 0.7 * (target[4] + target[6] + target[7]));
        free(before);
        thenar_sim_free(sim);
        thenar_model_free(model);
    }
}

static void a_tracker_that_jumps_pulls_with_its_maximum_force(void **unused) {
    (void)unused;
    thenar_hand_def def = hand_world_def();
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    double wrist[7], angles[THENAR_HAND_ANGLES], pull[3], torque[3], max = 0;
    run(sim, 0.1);
    thenar_sim_hand_target(sim, 0, wrist, angles);
    wrist[0] += 0.5;
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, angles), THENAR_OK);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(thenar_sim_step(sim), THENAR_OK);
        thenar_sim_hand_coupling(sim, 0, 0, pull, torque);
        max = fmax(max, vec3_length(vec3_load(pull)));
    }
    double off = vec3_distance(joint_of(sim, 0), vec3_load(wrist));
    print_message("  after a jump of 0.5 m: pulled by at most %.0f N, in the end %.1e mm away\n", max, 1e3 * off);
    assert_true(off < 1e-4);
    assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED), 0);
    assert_int_equal(thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED), 0);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

/* Joints that were read from a posed hand, driven into another one, pose it alike. */
static void joints_from_outside_drive_a_hand(void **unused) {
    (void)unused;
    thenar_hand_def def = hand_world_def();
    def.pinch = false; /* which would bring thumb and index finger closer */
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    double wrist[7] = {0.1, 0.2, 0, 0, 0, 0, 1}, angles[THENAR_HAND_ANGLES], target[THENAR_HAND_ANGLES];
    double joints[7 * THENAR_HAND_JOINTS];
    assert_true(thenar_model_hand_pose(model, 0, THENAR_HAND_POSE_PINCH, angles) == THENAR_OK);
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, angles), THENAR_OK);
    run(sim, 2);
    thenar_sim_hand_joints(sim, 0, joints);
    thenar_sim_hand_angles(sim, 0, angles, NULL);
    for (int i = 0; i < 7 * THENAR_HAND_JOINTS; i += 7) joints[i + 3] = NAN; /* positions only */
    for (int c = 0; c < 7; c++) joints[7 * 5 + c] = NAN;                     /* one joint is not seen at all */
    assert_int_equal(thenar_sim_drive_hand(sim, 0, joints), THENAR_OK);
    run(sim, 0.1);
    thenar_sim_hand_target(sim, 0, wrist, target);
    double worst = 0;
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) worst = fmax(worst, fabs(target[i] - angles[i]));
    print_message("  angles found again to %.2e rad, the wrist to %.2e mm\n", worst, 1e3 * fabs(wrist[0] - joints[0]));
    assert_true(worst < 0.02 && fabs(wrist[0] - joints[0]) < 1e-3);

    /* Of all joints only three of the index finger are seen, 3 cm further: the hand goes after them, most of the
     * way; where the palm is, they do not tell. */
    double moved[7 * THENAR_HAND_JOINTS];
    for (int i = 0; i < 7 * THENAR_HAND_JOINTS; i++) {
        bool seen = i / 7 >= 7 && i / 7 <= 9 && i % 7 < 3;
        moved[i] = seen ? joints[i] + (i % 7 == 0 ? 0.03 : 0) : NAN;
    }
    assert_int_equal(thenar_sim_drive_hand(sim, 0, moved), THENAR_OK);
    run(sim, 1);
    double off = vec3_distance(joint_of(sim, 9), vec3_load(moved + 7 * 9));
    print_message("  by three joints the finger's tip comes to %.2f mm\n", 1e3 * off);
    assert_true(off < 15e-3);

    /* What is hostile is refused, and nothing changes. */
    uint64_t before = thenar_sim_hash(sim);
    joints[1] = INFINITY;
    assert_int_equal(thenar_sim_drive_hand(sim, 0, joints), THENAR_ERROR_INPUT);
    joints[1] = 1e9;
    assert_int_equal(thenar_sim_drive_hand(sim, 0, joints), THENAR_ERROR_INPUT);
    joints[1] = 0, joints[3] = 7, joints[4] = joints[5] = joints[6] = 0;
    assert_int_equal(thenar_sim_drive_hand(sim, 0, joints), THENAR_ERROR_INPUT);
    wrist[2] = NAN;
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, angles), THENAR_ERROR_INPUT);
    wrist[2] = 0, angles[3] = NAN;
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, angles), THENAR_ERROR_INPUT);
    assert_true(thenar_sim_hash(sim) == before);
    /* Nothing seen at all: it stays. */
    for (int i = 0; i < 7 * THENAR_HAND_JOINTS; i++) joints[i] = NAN;
    vec3 place = joint_of(sim, 0);
    assert_int_equal(thenar_sim_drive_hand(sim, 0, joints), THENAR_OK);
    run(sim, 0.5);
    assert_true(vec3_distance(joint_of(sim, 0), place) < 2e-3);
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static void a_hand_s_step_allocates_nothing_and_repeats_bit_for_bit(void **unused) {
    (void)unused;
    const thenar_hand_key keys[] = {{.time = 0, .pose = THENAR_HAND_POSE_OPEN},
                                    {.time = 0.3, .pose = THENAR_HAND_POSE_FIST}};
    thenar_hand_def def = waving_def(keys, 2, NULL, 0);
    thenar_model *model = hand_world_model(&def);
    thenar_sim *one = hand_world_start(model, 0.01, 1), *two = hand_world_start(model, 0.01, 2);
    long before = allocation_count;
    run(one, 0.25);
    assert_int_equal(allocation_count - before, 0);
    void *snapshot = malloc(thenar_sim_snapshot_size(one));
    thenar_sim_snapshot(one, snapshot);
    run(one, 0.25);
    run(two, 0.5);
    assert_true(thenar_sim_hash(one) == thenar_sim_hash(two));
    thenar_error error;
    assert_ok(thenar_sim_restore(two, snapshot, thenar_sim_snapshot_size(two), &error), error);
    run(two, 0.25);
    assert_true(thenar_sim_hash(one) == thenar_sim_hash(two));
    free(snapshot);
    thenar_sim_free(one);
    thenar_sim_free(two);
    thenar_model_free(model);
}

static void bad_hands_are_refused(void **unused) {
    (void)unused;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_hand_def fine = hand_world_def();
    const thenar_hand_key wrong[] = {{.time = 0, .pose = (thenar_hand_pose)7}};
    struct {
        thenar_hand_def def;
        const char *says;
    } bad[] = {{fine, "name"},
               {fine, "length"},
               {fine, "base_stiffness is -1"},
               {fine, "pose 0 is of kind 7 and 0; expected 0 to 6"},
               {fine, "skin_share is nan"},
               {fine, "only is 0x2; expected bones 1 to 15, of a hand of phalanges"},
               {fine, "the pose is not finite"}};
    bad[0].def.name = "";
    bad[1].def.length = 5;
    bad[2].def.base_stiffness = -1;
    bad[3].def.keys = wrong, bad[3].def.key_count = 1;
    bad[4].def.skin_share = NAN;
    bad[5].def.only = 2;
    bad[6].def.pose[4] = INFINITY;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_error error;
        assert_int_not_equal(thenar_build_add_hand(build, &bad[i].def, &error), THENAR_OK);
        if (!strstr(error.text, bad[i].says)) fail_msg("'%s' does not say '%s'", error.text, bad[i].says);
    }
    thenar_error error;
    assert_ok(thenar_build_add_hand(build, &fine, &error), error);
    assert_int_equal(thenar_build_add_hand(build, &fine, &error), THENAR_ERROR_INPUT); /* the same name again */
    /* A phalanx whose name another body has: none of its hand is added. */
    thenar_rigid_def ball = thenar_rigid_def_default();
    ball.name = "other.index-finger-phalanx-distal";
    ball.shape = (thenar_shape){.kind = THENAR_SHAPE_SPHERE, .radius = 0.01};
    assert_ok(thenar_build_add_rigid(build, &ball, &error), error);
    fine.name = "other";
    fine.phalanges = true;
    fine.tets = 3000;
    fine.only = 1u << 5 | 1u << 6;
    assert_int_equal(thenar_build_add_hand(build, &fine, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "two bodies named other.index-finger-phalanx-distal"));
    thenar_model *model = hand_world_compile(build);
    assert_int_equal(thenar_model_body_count(model), 2);
    assert_int_equal(thenar_model_hand_count(model), 1);
    thenar_model_free(model);
}

static void what_does_not_fit_a_hand_is_refused_by_name(void **unused) {
    (void)unused;
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *empty = thenar_build_create(&world);
    const char *line = "{\"t\": 0, \"hand\": \"right\", \"flexion\": [0, 0, 0, 0, 0]}\n";
    thenar_track *wave;
    assert_ok(thenar_track_parse(line, strlen(line), &wave, &error), error);
    assert_int_equal(thenar_build_set_track(empty, wave, &error), THENAR_ERROR_INPUT);
    thenar_track_free(wave);
    assert_non_null(strstr(error.text, "a track for a world without hands"));
    thenar_build_free(empty);

    thenar_hand_def hand = hand_world_def();
    thenar_build *build = hand_world_build(&hand);
    const thenar_key key = {.time = 0};
    thenar_handle_def handle = thenar_handle_def_default();
    handle.name = "first";
    handle.tool = "hand";
    handle.joint = THENAR_JOINT_INDEX_DISTAL;
    assert_ok(thenar_build_add_handle(build, &handle, &error), error);
    handle.name = "second";
    assert_int_equal(thenar_build_add_handle(build, &handle, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "two handles on index-finger-phalanx-distal of hand; expected one per bone"));
    handle.joint = THENAR_JOINT_INDEX_TIP;
    assert_int_equal(thenar_build_add_handle(build, &handle, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "handle second: no bone begins at index-finger-tip"));
    handle.joint = THENAR_JOINT_WRIST;
    handle.keys = &key;
    handle.key_count = 1;
    assert_int_equal(thenar_build_add_handle(build, &handle, &error), THENAR_ERROR_INPUT);
    assert_non_null(strstr(error.text, "handle second: keys for a bone"));

    static const struct {
        const char *name, *hand, *words;
    } cases[] = {{NULL, NULL, "a device without a name"},
                 {"thimble", "foot", "there is no hand 'foot'"},
                 {"thimble", "hand", NULL},
                 {"thimble", NULL, "there are two devices named thimble"}};
    thenar_wearable_def thimble = thenar_wearable_def_default(THENAR_WEARABLE_THIMBLE);
    thenar_tactile_def device = thenar_tactile_def_default();
    device.device = &thimble;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        device.name = cases[i].name;
        device.hand = cases[i].hand;
        thenar_status status = thenar_build_add_tactile(build, &device, &error);
        assert_int_equal(status, cases[i].words ? THENAR_ERROR_INPUT : THENAR_OK);
        if (cases[i].words && !strstr(error.text, cases[i].words))
            fail_msg("'%s' does not say '%s'", error.text, cases[i].words);
    }
    thenar_model *model = hand_world_compile(build);
    assert_int_equal(thenar_model_find_hand(model, "hand"), 0);
    assert_int_equal(thenar_model_find_hand(model, "foot"), -1);
    assert_int_equal(thenar_model_tactile_count(model), 1);
    assert_string_equal(thenar_model_tactile(model, 0)->name, "thimble");
    assert_string_equal(thenar_hand_joint_name(9), "index-finger-tip");
    thenar_model_free(model);
}

/* As any body: where a step cannot be done, a hand stays where it is, at rest, and goes on once the cause is gone. */
static void a_hand_whose_step_fails_stays_where_it_was_at_rest(void **unused) {
    (void)unused;
    thenar_hand_def def = hand_world_def();
    thenar_model *model = hand_world_model(&def);
    thenar_sim *sim = hand_world_start(model, 0.01, 1);
    const double none[3] = {0}, immense[3] = {0, 1e300, 0}, wrist[7] = {0, 0, 0, 0, 0, 0, 1};
    double before[7 * THENAR_HAND_JOINTS], after[7 * THENAR_HAND_JOINTS], q[THENAR_HAND_ANGLES];
    assert_true(thenar_model_hand_pose(model, 0, THENAR_HAND_POSE_FIST, q) == THENAR_OK);
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, q), THENAR_OK);
    run(sim, 0.02);
    thenar_sim_hand_joints(sim, 0, before);
    const double *rate = sim->hands[0].skeleton.rate; /* rad/s */
    double fastest = 0;
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) fastest = fmax(fastest, fabs(rate[i]));
    assert_true(fastest > 0.1);
    assert_int_equal(thenar_sim_apply_force(sim, 0, 0, immense), THENAR_OK);
    assert_int_equal(thenar_sim_step(sim), THENAR_ERROR_NUMERIC);
    thenar_sim_hand_joints(sim, 0, after);
    for (int i = 0; i < 7 * THENAR_HAND_JOINTS; i++) assert_near(after[i], before[i], 1e-12);
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) assert_near(rate[i], 0, 0);
    assert_int_equal(thenar_sim_apply_force(sim, 0, 0, none), THENAR_OK);
    assert_true(thenar_model_hand_pose(model, 0, THENAR_HAND_POSE_OPEN, q) == THENAR_OK);
    assert_int_equal(thenar_sim_drive_hand_angles(sim, 0, wrist, q), THENAR_OK);
    run(sim, 0.1);
    thenar_sim_hand_joints(sim, 0, after);
    assert_true(fabs(after[7 * 9 + 1] - before[7 * 9 + 1]) > 1e-3); /* the tip of the index finger */
    thenar_sim_free(sim);
    thenar_model_free(model);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_hand_takes_two_lines),
    cmocka_unit_test(the_joints_at_rest_are_where_the_skin_is_at_rest),
    cmocka_unit_test(a_hand_that_is_held_still_stays_where_it_is),
    cmocka_unit_test(pressing_a_fingertip_moves_its_bone_and_loads_the_tracker),
    cmocka_unit_test(a_hand_follows_its_script),
    cmocka_unit_test(a_fist_comes_to_rest),
    cmocka_unit_test(a_tracker_that_jumps_pulls_with_its_maximum_force),
    cmocka_unit_test(joints_from_outside_drive_a_hand),
    cmocka_unit_test(a_hand_s_step_allocates_nothing_and_repeats_bit_for_bit),
    cmocka_unit_test(bad_hands_are_refused),
    cmocka_unit_test(what_does_not_fit_a_hand_is_refused_by_name),
    cmocka_unit_test(a_hand_whose_step_fails_stays_where_it_was_at_rest),
};

TEST_MAIN(tests)
