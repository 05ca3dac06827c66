/* Attacks on hands: what they are made of, and what drives them. */
#include "test.h"

#include "numbers/areas.h"
#include "numbers/attack.h"
#include "numbers/parts.h"

static thenar_hand_def hand;
static thenar_hand_key hand_keys[2];
static double key_angles[THENAR_HAND_ANGLES];
thenar_tactile_def tactile_def;
thenar_wearable_def wearable_def;

void make_hand(void) {
    hand = thenar_hand_def_default();
    hand.triangles = 6000;
    hand.touches = false;
    hand_keys[0] = (thenar_hand_key){
        .time = 0, .pose = THENAR_HAND_POSE_OPEN, .other = THENAR_HAND_POSE_FIST, .share = 0.2, .angles = key_angles};
    hand_keys[1] = (thenar_hand_key){.time = 0.05, .pose = THENAR_HAND_POSE_FIST};
    for (int i = 0; i < THENAR_HAND_ANGLES; i++) key_angles[i] = NAN;
    hand.keys = hand_keys;
    hand.key_count = 2;
    hand.base_keys = keys;
    hand.base_key_count = 3;
    wearable_def = thenar_wearable_def_default(THENAR_WEARABLE_RRS);
    tactile_def = (thenar_tactile_def){
        .size = sizeof tactile_def, .name = "worn", .finger = THENAR_FINGER_INDEX, .device = &wearable_def};
}

thenar_status make_hand_model(thenar_model **model, thenar_error *error) {
    *model = NULL;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    assert_non_null(build);
    thenar_status status = thenar_build_add_hand(build, &hand, error);
    if (status == THENAR_OK) status = thenar_build_add_tactile(build, &tactile_def, error);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    return status;
}

static thenar_status start_hand(thenar_sim **sim, thenar_error *error) {
    thenar_model *model;
    thenar_status status = make_hand_model(&model, error);
    if (status == THENAR_OK) status = thenar_sim_create(model, NULL, sim, error);
    thenar_model_free(model);
    return status;
}

thenar_sim *make_hand_sim(void) {
    thenar_error error;
    thenar_sim *sim;
    make_hand();
    assert_ok(start_hand(&sim, &error), error);
    return sim;
}

static thenar_status use_hand(thenar_error *error) {
    thenar_sim *sim;
    thenar_status status = start_hand(&sim, error);
    if (status != THENAR_OK) return status;
    step_contained(sim, 2);
    thenar_sim_free(sim);
    return status;
}

/* A hand takes a third of a second to make: some of its numbers are tried, or all if that is asked for. */
void attack_hand(void) {
    make_hand();
    sparse = all_are_tried() ? 1 : SANITIZED ? 97 : 41;
    attack_struct("thenar_hand_def", &hand, use_hand);
    attack_array("thenar_material.young", &hand.material.young, 1, use_hand);
    attack_array("thenar_material.poisson", &hand.material.poisson, 1, use_hand);
    attack_struct("thenar_hand_key", &hand_keys[1], use_hand);
    attack_array("angles", key_angles + 3, 1, use_hand);
    attack_struct("thenar_key", &keys[1], use_hand);
    sparse = 1;
}

static thenar_status call_drive_hand_angles(thenar_sim *sim, const double *v) {
    return thenar_sim_drive_hand_angles(sim, 0, v, v + 7);
}

void attack_drive_hand_angles(void) {
    thenar_sim *sim = make_hand_sim();
    double wrist_and_angles[7 + THENAR_HAND_ANGLES] = {[6] = 1};
    attack_call(sim, "wrist and angles", wrist_and_angles, 7 + 4, call_drive_hand_angles);
    thenar_sim_free(sim);
}

/* NaN is a joint or a finger that is not seen, which is fine, and so are the small ones. */
static void check_drive(thenar_sim *sim, double bad, thenar_status status) {
    count_attempt(status != THENAR_OK);
    if (fabs(bad) >= 1) assert_int_equal(status, THENAR_ERROR_INPUT);
    step_contained(sim, 1);
    thenar_sim_reset(sim);
}

void attack_drive_hand(void) {
    thenar_sim *sim = make_hand_sim();
    double joints[7 * THENAR_HAND_JOINTS];
    for (int k = 0; k < 14; k++)
        for (int i = 0; i < BAD_COUNT; i++) {
            name_attack("joints", k + 7 * 4, bad_numbers[i]);
            thenar_sim_hand_joints(sim, 0, joints);
            joints[k + 7 * 4] = bad_numbers[i];
            check_drive(sim, bad_numbers[i], thenar_sim_drive_hand(sim, 0, joints));
        }
    thenar_sim_free(sim);
}

void attack_drive_hand_flexion(void) {
    thenar_sim *sim = make_hand_sim();
    double values[5 + 7] = {[11] = 1}; /* flexion, then the wrist */
    for (int k = 0; k < COUNT(values); k++)
        for (int i = 0; i < BAD_COUNT; i++) {
            double good = values[k];
            name_attack("flexion and wrist", k, bad_numbers[i]);
            values[k] = bad_numbers[i];
            check_drive(sim, bad_numbers[i], thenar_sim_drive_hand_flexion(sim, 0, values, values + 5));
            values[k] = good;
        }
    thenar_sim_free(sim);
}
