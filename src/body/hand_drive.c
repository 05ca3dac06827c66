/* Where the bones of a hand are wanted: by its script, by a track, or by whoever took it over. */
#include "body/hand.h"

static hand_target seen_by_tracker(hand_state *state, const tracked_hand *seen, double h) {
    const hand_model *hand = state->model;
    retarget fit;
    retarget_result result;
    retarget_start(&fit, &hand->skeleton, &hand->retarget);
    if (state->kept->carried.started) fit.carried = state->kept->carried;
    retarget_frame(&fit, seen, h, &result);
    state->kept->carried = fit.carried;
    hand_target target = {.base = result.base};
    for (int i = 0; i < HAND_ANGLES; i++) target.q[i] = result.q[i];
    return target;
}

void hand_drive(hand_state *state, const body_step *step, hand_target *target) {
    const hand_model *hand = state->model;
    switch ((hand_driver)state->kept->driver) {
    case HAND_BY_JOINTS:
        *target = seen_by_tracker(state, &state->kept->joints, step->h);
        return;
    case HAND_BY_ANGLES:
        *target = state->kept->given;
        return;
    case HAND_BY_SCRIPT:
        break;
    }
    hand_script_sample(&hand->script, step->time, &target->base, target->q);
    if (!hand->track) return;
    const glove_track *glove = &hand->track->gloves[hand->skeleton.left];
    if (glove->count > 0) {
        glove_frame worn = glove_sample(glove, track_start(hand->track) + step->time);
        glove_angles(&hand->skeleton, worn.flexion, target->q);
        if (!isnan(worn.wrist.position.x)) target->base = worn.wrist;
    } else {
        tracked_hand seen;
        track_sample(hand->track, hand->skeleton.left, track_start(hand->track) + step->time, &seen);
        *target = seen_by_tracker(state, &seen, step->h);
    }
}

/* Of so many frames, evenly chosen. */
#define LOOKS 9

bool hand_track_looks_mirrored(const hand_model *hand) {
    const track_hand *frames = &hand->track->hands[hand->skeleton.left];
    int mirrored = 0;
    if (frames->count == 0) return false; /* a glove's */
    for (size_t k = 0; k < LOOKS; k++)
        mirrored +=
            retarget_is_other_hand(&hand->skeleton, &frames->data[k * (frames->count - 1) / (LOOKS - 1)].joints);
    return mirrored > LOOKS / 2;
}
