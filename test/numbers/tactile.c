/* Attacks on tactile devices: their definition, their input, and where their output goes. */
#include "test.h"

#include "finite.h"
#include "numbers/areas.h"
#include "numbers/attack.h"
#include "numbers/parts.h"

static thenar_sim *hand_sim; /* after some steps */
static thenar_tactile_options tactile_options;

static thenar_status use_tactile(thenar_error *error) {
    thenar_tactile *tactile;
    thenar_status status = thenar_tactile_create(thenar_sim_model(hand_sim), &tactile_options, &tactile, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < 2; i++) {
        thenar_tactile_update(tactile, hand_sim);
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, 0);
        assert_true(are_finite(c->platform, 3) && are_finite(c->target, 3) && are_finite(c->value, 3) &&
                    isfinite(c->press));
    }
    thenar_tactile_free(tactile);
    return status;
}

static void attack_wearables(attempt use) {
    for (int kind = 0; kind < THENAR_WEARABLE_KIND_COUNT; kind++) {
        wearable_def = thenar_wearable_def_default((thenar_wearable_kind)kind);
        attack_struct("thenar_wearable_def", &wearable_def, use);
    }
}

void attack_tactile(void) {
    hand_sim = make_hand_sim();
    for (int i = 0; i < 3; i++) assert_int_equal(thenar_sim_step(hand_sim), THENAR_OK);
    tactile_options = thenar_tactile_options_default();
    tactile_options.devices = &tactile_def;
    tactile_options.device_count = 1;
    attack_struct("thenar_tactile_def", &tactile_def, use_tactile);
    attack_struct("thenar_tactile_options", &tactile_options, use_tactile);
    attack_wearables(use_tactile);
    thenar_sim_free(hand_sim);
}

/* A model takes a device as it is; the error comes when its pads are made. */
void attack_add_tactile(void) {
    make_hand();
    for (int i = 0; i < 2; i++) {
        thenar_error error = {0};
        thenar_model *model;
        thenar_tactile *tactile;
        wearable_def.crank = bad_numbers[i];
        thenar_status status = make_hand_model(&model, &error);
        if (status == THENAR_OK) status = thenar_tactile_create(model, NULL, &tactile, &error);
        count_attempt(status != THENAR_OK);
        assert_int_equal(status, THENAR_ERROR_INPUT);
        assert_non_null(strstr(error.text, "crank"));
        thenar_model_free(model);
    }
}

static thenar_status use_wearable(thenar_error *error) {
    return thenar_wearable_check(&wearable_def, error);
}

void attack_wearable(void) {
    make_hand();
    attack_wearables(use_wearable);
}

void attack_kinematics(void) {
    for (int kind = 0; kind < 2; kind++) {
        thenar_wearable_def def = thenar_wearable_def_default((thenar_wearable_kind)kind);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < BAD_COUNT; i++) {
                double in[3] = {0}, out[3] = {0};
                in[k] = bad_numbers[i];
                bool there = thenar_wearable_inverse(&def, in, out);
                if (there) assert_true(are_finite(out, 3));
                bool back = thenar_wearable_forward(&def, in, out);
                if (back) assert_true(are_finite(out, 3));
                count_attempt(!there);
                count_attempt(!back);
                if (!isfinite(in[k])) assert_false(there || back);
            }
    }
}

void attack_output(void) {
    thenar_error error;
    thenar_model *model;
    thenar_tactile *tactile;
    thenar_output *output;
    make_hand();
    assert_ok(make_hand_model(&model, &error), error);
    assert_ok(thenar_tactile_create(model, NULL, &tactile, &error), error);
    for (int i = 0; i < BAD_COUNT; i++) {
        thenar_status status = thenar_output_open(tactile, "osc:127.0.0.1:9", bad_numbers[i], &output, &error);
        count_attempt(status != THENAR_OK);
        if (bad_numbers[i] != 0) assert_int_equal(status, THENAR_ERROR_INPUT);
        thenar_output_close(output, NULL);
    }
    thenar_tactile_free(tactile);
    thenar_model_free(model);
}
