/* A frame of a tracked hand: what is seen (retarget_see.h) is fitted, then the base is placed, then all is smoothed. */
#include "body/retarget.h"

#include "body/retarget_see.h"

#include <string.h>

#define WIDTH 0.3      /* rad: residuals beyond it count for less and less */
#define COLD_WIDTH 10. /* at first, all count: nothing is known yet */
#define POOR 0.35      /* rad: a fit that may have gone astray; it is tried again from the rest pose */
#define ASTOUNDING 0.7 /* rad: the hand is somewhere else altogether; where it was is no help */
#define MOST_WARM 20   /* iterations: three to ten do; all together stay below 100 us */
#define MOST_COLD 10
#define JUMP 0.2 /* m */

tracked_hand tracked_hand_unseen(void) {
    tracked_hand hand;
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand.position[j] = vec3_make(NAN, NAN, NAN);
        hand.orientation[j] = (quat){NAN, NAN, NAN, NAN};
    }
    return hand;
}

tracked_hand tracked_hand_mirrored(const tracked_hand *seen) {
    tracked_hand hand = *seen;
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand.position[j].x *= -1;
        hand.orientation[j].y *= -1;
        hand.orientation[j].z *= -1;
    }
    return hand;
}

retarget_options retarget_options_default(void) {
    return (retarget_options){.cutoff = 0, .opening = 1, .orientation_weight = 0.05};
}

void retarget_start(retarget *r, const hand_skeleton *hand, const retarget_options *options) {
    *r = (retarget){.hand = hand, .options = *options, .carried = {.palm_scale = 1}};
    for (int i = 0; i < PALM_CORNERS; i++)
        r->palm_centre =
            vec3_mul_add(r->palm_centre, retarget_palm_point(hand, retarget_palm[i].joint), 1. / PALM_CORNERS);
    r->carried.turn = r->carried.smooth_turn = hand->model->bones[0].rotation;
    r->carried.position = r->carried.smooth_position = hand->model->bones[0].offset;
    memcpy(r->carried.q, hand->rest, sizeof r->carried.q);
    for (int i = 0; i < HAND_ANGLES; i++) r->carried.smooth[i].value = hand->rest[i];
}

/* From nothing: the hand in its rest pose, but for fingers of which nothing is seen, turned to where most joints agree,
 * or as the wrist is turned. */
static fit_point cold_start(const retarget *r, const tracked_hand *seen, const fit_problem *problem) {
    fit_point point = {.turn = r->carried.turn};
    memcpy(point.q, r->carried.q, sizeof point.q);
    bool fitted[HAND_FINGERS] = {false};
    for (int i = 0; i < problem->vector_count; i++)
        if (problem->vectors[i].finger >= 0) fitted[problem->vectors[i].finger] = true;
    for (int i = 0; i < problem->turn_count; i++)
        if (problem->turns[i].finger >= 0) fitted[problem->turns[i].finger] = true;
    for (int i = 0; i < HAND_ANGLES; i++)
        if (fitted[i / HAND_FINGER_ANGLES]) point.q[i] = r->hand->rest[i];
    vec3 from[HAND_JOINTS], to[HAND_JOINTS], from_mean = {0, 0, 0}, to_mean = {0, 0, 0};
    double weight[HAND_JOINTS], sum = 0;
    int count = 0;
    for (int finger = 0; finger < HAND_FINGERS; finger++) {
        vec3 vectors[3], at = retarget_palm_point(r->hand, hand_bone_joint(1 + 3 * finger));
        fit_finger_vectors(r->hand, finger, point.q + HAND_FINGER_ANGLES * finger, vectors);
        for (int k = 0; k < 3; k++) {
            hand_joint joint = (hand_joint)((int)hand_bone_joint(1 + 3 * finger) + k + 1);
            at = vec3_add(at, vectors[k]);
            if (!tracked_is_seen(seen, joint)) continue;
            from[count] = at, to[count] = seen->position[joint], weight[count++] = 0.02;
        }
    }
    for (int i = 0; i < PALM_JOINTS; i++) {
        if (!tracked_is_seen(seen, retarget_palm[i].joint)) continue;
        from[count] = retarget_palm_point(r->hand, retarget_palm[i].joint),
        to[count] = seen->position[retarget_palm[i].joint];
        weight[count++] = retarget_palm[i].weight;
    }
    for (int i = 0; i < count; i++) {
        from_mean = vec3_mul_add(from_mean, from[i], weight[i]);
        to_mean = vec3_mul_add(to_mean, to[i], weight[i]);
        sum += weight[i];
    }
    for (int i = 0; i < count; i++) {
        from[i] = vec3_mul_add(from[i], from_mean, -1 / sum);
        to[i] = vec3_mul_add(to[i], to_mean, -1 / sum);
    }
    if (count >= 3)
        point.turn = fit_rotation(from, to, weight, count);
    else if (tracked_is_turn_seen(seen, HAND_WRIST))
        point.turn = quat_unit(seen->orientation[HAND_WRIST]);
    return point;
}

/* From the last frame's result; from the rest pose if there is none, or if that leads nowhere. */
static int fit(retarget *r, const tracked_hand *seen, const fit_problem *problem, fit_point *best) {
    int iterations = 0;
    *best = (fit_point){.turn = r->carried.turn};
    memcpy(best->q, r->carried.q, sizeof best->q);
    if (r->carried.started && fit_residual(problem, best) < ASTOUNDING) {
        iterations = fit_solve(problem, WIDTH, MOST_WARM, best);
        if (fit_residual(problem, best) < POOR) return iterations;
    }
    fit_point cold = cold_start(r, seen, problem);
    iterations += fit_solve(problem, COLD_WIDTH, MOST_COLD, &cold);
    iterations += fit_solve(problem, WIDTH, MOST_COLD, &cold);
    if (!r->carried.started || fit_residual(problem, &cold) < fit_residual(problem, best)) *best = cold;
    return iterations;
}

/* Where the wrist is: the middles of the two palms are brought together, seen from each of the tracked joints, so that
 * one that comes or goes moves little. Without any in the palm, those of the fingers tell. */
static void place_base(const retarget *r, const tracked_hand *seen, const fit_point *point, vec3 *position) {
    vec3 middle = {0, 0, 0};
    double sum = 0;
    for (int i = 0; i < PALM_JOINTS; i++) {
        if (!tracked_is_seen(seen, retarget_palm[i].joint)) continue;
        vec3 arm = vec3_scale(vec3_sub(retarget_palm_point(r->hand, retarget_palm[i].joint), r->palm_centre),
                              r->carried.palm_scale);
        vec3 guess = vec3_sub(seen->position[retarget_palm[i].joint], quat_rotate(point->turn, arm));
        middle = vec3_mul_add(middle, guess, retarget_palm[i].weight);
        sum += retarget_palm[i].weight;
    }
    for (int finger = 0; sum == 0 && finger < HAND_FINGERS; finger++) {
        hand_joint root = hand_bone_joint(1 + 3 * finger);
        vec3 vectors[3],
            arm = vec3_scale(vec3_sub(retarget_palm_point(r->hand, root), r->palm_centre), r->carried.palm_scale);
        fit_finger_vectors(r->hand, finger, point->q + HAND_FINGER_ANGLES * finger, vectors);
        for (int k = 0; k < 3; k++) {
            arm = vec3_mul_add(arm, vectors[k],
                               retarget_known_length(r, finger, k) / retarget_model_length(r->hand, finger, k));
            if (!tracked_is_seen(seen, (hand_joint)((int)root + k + 1))) continue;
            middle = vec3_sub(seen->position[(int)root + k + 1], quat_rotate(point->turn, arm));
            sum = 1;
        }
    }
    if (sum > 0) *position = vec3_sub(vec3_scale(middle, 1 / sum), quat_rotate(point->turn, r->palm_centre));
}

/* The share of a new value that a low pass lets through within dt, at a speed; `speed` is low-passed at 1 Hz itself. */
static double opened(const retarget_options *options, double *speed, double now, double dt) {
    const double tau = 6.283185307179586;
    double slow = 1 / (1 + 1 / (tau * dt));
    *speed += slow * (now - *speed);
    return 1 / (1 + 1 / (tau * (options->cutoff + options->opening * fabs(*speed)) * dt));
}

static void smooth(retarget *r, double dt) {
    bool follow = !r->carried.started || !(r->options.cutoff > 0) || !(dt > 0);
    vec3 way = vec3_sub(r->carried.position, r->carried.smooth_position);
    vec3 turn = quat_to_rotation_vector(quat_mul(r->carried.turn, quat_conjugate(r->carried.smooth_turn)));
    if (follow) {
        r->carried.smooth_position = r->carried.position;
        r->carried.smooth_turn = r->carried.turn;
        for (int i = 0; i < HAND_ANGLES; i++) r->carried.smooth[i] = (retarget_filter){r->carried.q[i], 0};
        return;
    }
    double share = opened(&r->options, &r->carried.position_speed, 10 * vec3_length(way) / dt, dt);
    r->carried.smooth_position = vec3_mul_add(r->carried.smooth_position, way, share);
    share = opened(&r->options, &r->carried.turn_speed, vec3_length(turn) / dt, dt);
    r->carried.smooth_turn =
        quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(turn, share)), r->carried.smooth_turn));
    for (int i = 0; i < HAND_ANGLES; i++) {
        retarget_filter *f = &r->carried.smooth[i];
        f->value +=
            opened(&r->options, &f->speed, (r->carried.q[i] - f->value) / dt, dt) * (r->carried.q[i] - f->value);
    }
}

void retarget_frame(retarget *r, const tracked_hand *tracked, double dt, retarget_result *out) {
    *out = (retarget_result){0};
    tracked_hand sound = *tracked;
    const tracked_hand *seen = &sound;
    fit_problem problem;
    retarget_see(r, &sound, &problem);
    for (int j = 0; j < HAND_JOINTS; j++) out->seen += tracked_is_seen(seen, (hand_joint)j);
    out->held = problem.vector_count + problem.turn_count == 0;
    if (!out->held) {
        fit_point point;
        vec3 position = r->carried.position;
        out->iterations = fit(r, seen, &problem, &point);
        out->residual = fit_residual(&problem, &point);
        place_base(r, seen, &point, &position);
        vec3 turned = quat_to_rotation_vector(quat_mul(point.turn, quat_conjugate(r->carried.turn)));
        out->jumped = r->carried.started &&
                      (vec3_distance(position, r->carried.position) > JUMP || vec3_length(turned) > 1.5707963267948966);
        r->carried.turn = point.turn;
        r->carried.position = position;
        memcpy(r->carried.q, point.q, sizeof r->carried.q);
        smooth(r, dt);
        r->carried.started = 1;
    }
    out->base = (skeleton_pose){r->carried.smooth_position, r->carried.smooth_turn};
    for (int i = 0; i < HAND_ANGLES; i++) out->q[i] = r->carried.smooth[i].value;
}

bool retarget_is_other_hand(const hand_skeleton *hand, const tracked_hand *seen) {
    retarget_options options = retarget_options_default();
    options.orientation_weight = 0;
    double residual[2];
    for (int n = 0; n < 2; n++) {
        retarget r;
        retarget_result result;
        tracked_hand view = n == 0 ? *seen : tracked_hand_mirrored(seen);
        retarget_start(&r, hand, &options);
        retarget_frame(&r, &view, 0, &result);
        if (result.held) return false;
        residual[n] = result.residual;
    }
    return residual[0] > 0.15 && residual[0] > 2 * residual[1];
}
