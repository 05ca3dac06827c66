/* Retargeting of one tracked frame: prepare the observations, fit directions (retarget_fit.c), place the base, smooth. */
#include "hand/retarget.h"

#include <string.h>

#define LENGTH_WIDTH 0.3 /* a bone whose length is off by this share counts half */
#define LENGTH_GAIN 0.05 /* gain per frame of the measured lengths */
#define SHORTEST 1e-3    /* m: shorter vectors have no direction */
#define ASTRAY 0.03      /* m, for a palm of the model's size */
#define LARGEST 1e6      /* m: beyond, squares lose precision */
#define PALM_WEIGHT 5.0
/* Of the vector from the root of a finger to its tip, relative to that of a bone. Both are divided by their lengths, so
 * an error of the tip in metres counts about four times as much as one of a joint. */
#define TIP_WEIGHT 150.0

const palm_joint retarget_palm[PALM_JOINTS] = {{HAND_WRIST, 1},
                                               {HAND_INDEX_PROXIMAL, 1},
                                               {HAND_MIDDLE_PROXIMAL, 1},
                                               {HAND_RING_PROXIMAL, 1},
                                               {HAND_LITTLE_PROXIMAL, 1},
                                               {HAND_THUMB_METACARPAL, 0.1},
                                               {HAND_INDEX_METACARPAL, 0.1},
                                               {HAND_MIDDLE_METACARPAL, 0.1},
                                               {HAND_RING_METACARPAL, 0.1},
                                               {HAND_LITTLE_METACARPAL, 0.1}};

static bool tracked_is_seen(const tracked_hand *seen, hand_joint joint) {
    vec3 p = seen->position[joint];
    return fabs(p.x) < LARGEST && fabs(p.y) < LARGEST && fabs(p.z) < LARGEST; /* false for NaN */
}

static bool tracked_is_turn_seen(const tracked_hand *seen, hand_joint joint) {
    quat q = seen->orientation[joint];
    return fabs(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w - 1) < 1e-2;
}

/* A palm joint in the frame of the base. */
static vec3 retarget_palm_point(const hand_skeleton *hand, hand_joint joint) {
    int bone = hand_joint_bone(joint);
    return bone == 0 ? hand->joints[joint].position : hand->model->bones[bone].offset;
}

/* The visible palm: centroids of the tracked points in use and of the model's counterparts. */
typedef struct palm_view {
    int count;
    double weight;
    vec3 seen, model;
} palm_view;

static palm_view view_palm(const retarget *r, const tracked_hand *seen) {
    palm_view view = {0};
    for (int i = 0; i < PALM_JOINTS; i++) {
        if (!tracked_is_seen(seen, retarget_palm[i].joint)) continue;
        view.count++;
        view.weight += retarget_palm[i].weight;
        view.seen = vec3_mul_add(view.seen, seen->position[retarget_palm[i].joint], retarget_palm[i].weight);
        view.model =
            vec3_mul_add(view.model, retarget_palm_point(r->hand, retarget_palm[i].joint), retarget_palm[i].weight);
    }
    if (view.count == 0) return view;
    view.seen = vec3_scale(view.seen, 1 / view.weight);
    view.model = vec3_scale(view.model, 1 / view.weight);
    return view;
}

static double median(double *values, int count) {
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && values[j] < values[j - 1]; j--) {
            double t = values[j];
            values[j] = values[j - 1], values[j - 1] = t;
        }
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

/* Distances between two palm joints, tracked and in the model. False if one is not visible. */
static bool palm_distance(const retarget *r, const tracked_hand *seen, int i, int j, double *tracked, double *model) {
    if (i == j || !tracked_is_seen(seen, retarget_palm[i].joint) || !tracked_is_seen(seen, retarget_palm[j].joint))
        return false;
    *tracked = vec3_distance(seen->position[retarget_palm[i].joint], seen->position[retarget_palm[j].joint]);
    *model = vec3_distance(retarget_palm_point(r->hand, retarget_palm[i].joint),
                           retarget_palm_point(r->hand, retarget_palm[j].joint));
    return *model > SHORTEST;
}

/* The size of the tracked palm: a median, low-pass filtered, so that one outlier does not change it. */
static void measure_palm(retarget *r, const tracked_hand *seen) {
    double ratios[PALM_CORNERS * PALM_CORNERS], tracked, model;
    int count = 0;
    for (int i = 0; i < PALM_CORNERS; i++)
        for (int j = 0; j < i; j++)
            if (palm_distance(r, seen, i, j, &tracked, &model)) ratios[count++] = tracked / model;
    if (count < 3) return;
    double scale = median(ratios, count);
    if (!(scale > 0.3 && scale < 3)) return;
    if (!r->carried.started)
        r->carried.palm_scale = scale;
    else
        r->carried.palm_scale += LENGTH_GAIN * fmax(-0.1, fmin(0.1, scale - r->carried.palm_scale));
}

/* Drops palm joints that are too far from, or too close to, most others. */
static void drop_astray(const retarget *r, tracked_hand *seen) {
    bool astray[PALM_JOINTS] = {false};
    for (int i = 0; i < PALM_JOINTS; i++) {
        double off[PALM_JOINTS], tracked, model;
        int count = 0;
        for (int j = 0; j < PALM_JOINTS; j++)
            if (palm_distance(r, seen, i, j, &tracked, &model))
                off[count++] = fabs(tracked - r->carried.palm_scale * model);
        astray[i] = count >= 3 && median(off, count) > ASTRAY * r->carried.palm_scale;
    }
    for (int i = 0; i < PALM_JOINTS; i++)
        if (astray[i]) seen->position[retarget_palm[i].joint].x = NAN;
}

static void add_palm(const retarget *r, const tracked_hand *seen, const palm_view *view, fit_problem *problem) {
    if (view->count < 2) return;
    double size = 0; /* mean distance from the centroid, m */
    for (int i = 0; i < PALM_JOINTS; i++)
        if (tracked_is_seen(seen, retarget_palm[i].joint))
            size += retarget_palm[i].weight / view->weight *
                    vec3_distance(retarget_palm_point(r->hand, retarget_palm[i].joint), view->model) *
                    r->carried.palm_scale;
    if (size < SHORTEST) return;
    for (int i = 0; i < PALM_JOINTS; i++) {
        if (!tracked_is_seen(seen, retarget_palm[i].joint)) continue;
        vec3 model = vec3_sub(retarget_palm_point(r->hand, retarget_palm[i].joint), view->model);
        vec3 tracked = vec3_sub(seen->position[retarget_palm[i].joint], view->seen);
        problem->vectors[problem->vector_count++] =
            (fit_vector){.finger = -1,
                         .seen = vec3_scale(tracked, 1 / size),
                         .fixed = vec3_scale(model, r->carried.palm_scale / size),
                         .weight = PALM_WEIGHT * retarget_palm[i].weight};
    }
}

static double retarget_model_length(const hand_skeleton *hand, int finger, int bone) {
    int b = 1 + 3 * finger + bone;
    vec3 reach = bone < 2 ? hand->model->bones[b + 1].offset : hand->joints[hand_bone_joint(b) + 1].position;
    return vec3_length(reach);
}

/* Lengths of a finger's bone (0..2), m: that of the model, and that of the tracked hand as far as it is known. */
static double retarget_known_length(const retarget *r, int finger, int bone) {
    return r->carried.length[finger][bone] > 0 ? r->carried.length[finger][bone]
                                               : r->carried.palm_scale * retarget_model_length(r->hand, finger, bone);
}

/* One bone between two visible joints gives a direction. The error of its length decides its weight, which is returned.
 */
static double add_bone(retarget *r, int finger, int bone, vec3 seen, fit_problem *problem) {
    double length = vec3_length(seen), known = retarget_known_length(r, finger, bone);
    double off = (length / known - 1) / LENGTH_WIDTH, trust = 1 / (1 + off * off);
    fit_vector v = {
        .finger = finger, .first = bone, .last = bone, .seen = vec3_scale(seen, 1 / length), .weight = trust * trust};
    v.share[bone] = 1 / retarget_model_length(r->hand, finger, bone);
    problem->vectors[problem->vector_count++] = v;
    if (r->carried.length[finger][bone] > 0)
        r->carried.length[finger][bone] += LENGTH_GAIN * trust * trust * (length - known);
    else
        r->carried.length[finger][bone] = length;
    return trust * trust;
}

/* Several bones with no visible joint between their ends, possibly starting at the centre of the palm. tip: the weight of
 * the vector to a tip, or 0. */
static void add_span(const retarget *r, int finger, int first, int last, vec3 seen, vec3 fixed, double tip,
                     fit_problem *problem) {
    fit_vector v = {.finger = finger, .first = first, .last = last, .weight = tip > 0 ? tip : 1, .tip = tip > 0};
    double length = vec3_length(fixed);
    for (int k = first; k <= last; k++) length += retarget_known_length(r, finger, k);
    v.seen = vec3_scale(seen, 1 / length);
    v.fixed = vec3_scale(fixed, 1 / length);
    for (int k = first; k <= last; k++)
        v.share[k] = retarget_known_length(r, finger, k) / (retarget_model_length(r->hand, finger, k) * length);
    problem->vectors[problem->vector_count++] = v;
}

static void add_finger(retarget *r, int finger, const tracked_hand *seen, const palm_view *view, fit_problem *problem) {
    hand_joint root = hand_bone_joint(1 + 3 * finger);
    int from =
        tracked_is_seen(seen, root) ? 0 : -1; /* index of the last visible joint so far; -1: the centre of the palm */
    vec3 at = from == 0 ? seen->position[root] : view->seen;
    vec3 fixed = {0, 0, 0};
    if (from < 0) fixed = vec3_scale(vec3_sub(retarget_palm_point(r->hand, root), view->model), r->carried.palm_scale);
    bool known = from == 0 || view->count > 0;
    double trust = from == 0 ? TIP_WEIGHT : 0; /* in the place of the tip, if all joints before it are visible */
    for (int k = 1; k <= 3; k++) {
        if (!tracked_is_seen(seen, (hand_joint)((int)root + k))) continue;
        vec3 to = seen->position[(int)root + k], way = vec3_sub(to, at);
        double weight = 0;
        if (known && vec3_length(way) > SHORTEST) {
            if (from == k - 1)
                weight = add_bone(r, finger, k - 1, way, problem);
            else
                add_span(r, finger, from < 0 ? 0 : from, k - 1, way, fixed, 0, problem);
        }
        trust *= weight;
        from = k, at = to, known = true, fixed = vec3_make(0, 0, 0);
    }
    if (from == 3 && trust > 0)
        add_span(r, finger, 0, 2, vec3_sub(at, seen->position[root]), vec3_make(0, 0, 0), trust, problem);
}

static void add_turns(const retarget *r, const tracked_hand *seen, fit_problem *problem) {
    if (!(r->options.orientation_weight > 0)) return;
    for (int b = 0; b < HAND_BONES; b++) {
        hand_joint joint = hand_bone_joint(b);
        if (!tracked_is_turn_seen(seen, joint)) continue;
        fit_turn turn = {.finger = b == 0 ? -1 : (b - 1) / 3,
                         .bone = b == 0 ? 0 : (b - 1) % 3,
                         .seen = quat_unit(seen->orientation[joint]),
                         .weight = r->options.orientation_weight};
        problem->turns[problem->turn_count++] = turn;
    }
}

/* Measures the tracked hand and sets up the fit. Removes outliers from `seen`. */
static void retarget_see(retarget *r, tracked_hand *seen, fit_problem *problem) {
    *problem = (fit_problem){.hand = r->hand};
    measure_palm(r, seen);
    drop_astray(r, seen);
    palm_view view = view_palm(r, seen);
    add_palm(r, seen, &view, problem);
    for (int finger = 0; finger < HAND_FINGERS; finger++) add_finger(r, finger, seen, &view, problem);
    add_turns(r, seen, problem);
}

#define WIDTH 0.3      /* rad: larger residuals are discounted */
#define COLD_WIDTH 10. /* first frame: nothing is discounted, since nothing is known yet */
#define POOR 0.35      /* rad: the fit may be a wrong local minimum, so it is repeated from the rest pose */
#define ASTOUNDING 0.7 /* rad: the hand is in a different pose altogether, so the last pose is no help */
#define MAX_WARM 20    /* iterations: three to ten suffice; all together stay below 100 us */
#define MAX_COLD 10
#define JUMP 0.2 /* m */

tracked_hand tracked_hand_unseen(void) {
    tracked_hand hand;
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand.position[j] = vec3_make(NAN, NAN, NAN);
        hand.orientation[j] = (quat){NAN, NAN, NAN, NAN};
    }
    return hand;
}

/* Mirror image at x = 0: a left hand from a right one. */
static tracked_hand tracked_hand_mirrored(const tracked_hand *seen) {
    tracked_hand hand = *seen;
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand.position[j].x *= -1;
        hand.orientation[j].y *= -1;
        hand.orientation[j].z *= -1;
    }
    return hand;
}

retarget_options retarget_options_default(void) {
    return (retarget_options){
        .cutoff = 0.4,
        .opening = 200,
        .derivative_cutoff = 3,
        .noise_speed = 0.04,
        .orientation_weight = 0.05,
        .pinch = 0,
        .pinch_press = 0.1,
    };
}

void retarget_start(retarget *r, const hand_skeleton *hand, const retarget_options *options) {
    *r = (retarget){.hand = hand, .options = *options, .carried = {.palm_scale = 1}};
    for (int i = 0; i < PALM_CORNERS; i++)
        r->palm_centre =
            vec3_mul_add(r->palm_centre, retarget_palm_point(hand, retarget_palm[i].joint), 1. / PALM_CORNERS);
    r->carried.turn = r->carried.smooth_turn = hand->model->bones[0].rotation;
    r->carried.position = r->carried.smooth_position = hand->model->bones[0].offset;
    memcpy(r->carried.q, hand->rest, sizeof r->carried.q);
    for (int i = 0; i < HAND_ANGLES; i++) r->carried.smooth[i] = hand->rest[i];
}

/* Start without history: the rest pose, with unseen fingers as they were, rotated to where most joints agree or like
 * the tracked wrist. */
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

/* Fits from the last frame's result, or from the rest pose if there is none or if that result leads to a poor fit. */
static int fit(retarget *r, const tracked_hand *seen, fit_problem *problem, fit_point *best) {
    int iterations = 0;
    *best = (fit_point){.turn = r->carried.turn};
    memcpy(best->q, r->carried.q, sizeof best->q);
    if (r->carried.started && fit_residual(problem, best) < ASTOUNDING) {
        iterations = fit_solve(problem, WIDTH, MAX_WARM, best);
        if (fit_residual(problem, best) < POOR) return iterations;
    }
    fit_point cold = cold_start(r, seen, problem);
    problem->without_tips = true;
    iterations += fit_solve(problem, COLD_WIDTH, MAX_COLD, &cold);
    iterations += fit_solve(problem, WIDTH, MAX_COLD, &cold);
    problem->without_tips = false;
    iterations += fit_solve(problem, WIDTH, MAX_COLD, &cold);
    if (!r->carried.started || fit_residual(problem, &cold) < fit_residual(problem, best)) *best = cold;
    return iterations;
}

/* Places the wrist so that the centres of both palms coincide, estimated from each tracked joint, so that a joint that
 * appears or disappears changes little. Without palm joints the finger joints are used. */
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

#define FASTEST 1e3    /* m/s and rad/s */
#define PALM_LEVER 0.1 /* m: a palm that turns by 1 rad/s counts as one that moves at 0.1 m/s */

double retarget_gain(double cutoff, double dt) {
    return -expm1(-6.283185307179586 * cutoff * dt);
}

double retarget_cutoff(const retarget_options *options, double speed) {
    double square = speed * speed, noise = options->noise_speed * options->noise_speed;
    return options->cutoff + (square > 0 ? options->opening * speed * square / (square + noise) : 0);
}

/* Filters a velocity and returns its length. */
static double follow_speed(const retarget *r, float velocity[2][3], vec3 way, double dt) {
    double gain = retarget_gain(r->options.derivative_cutoff, dt), in[3], square = 0;
    vec3_store(in, vec3_scale(way, 1 / dt));
    for (int i = 0; i < 3; i++) {
        velocity[0][i] += (float)(gain * (fmax(-FASTEST, fmin(FASTEST, in[i])) - velocity[0][i]));
        velocity[1][i] += (float)(gain * ((double)velocity[0][i] - velocity[1][i]));
        square += (double)velocity[1][i] * velocity[1][i];
    }
    return sqrt(square);
}

static vec3 tip_of(const hand_skeleton *hand, int finger, const double q[HAND_ANGLES]) {
    vec3 vectors[3];
    fit_finger_vectors(hand, finger, q + HAND_FINGER_ANGLES * finger, vectors);
    return vec3_add(vectors[0], vec3_add(vectors[1], vectors[2]));
}

/* The distance between the tracked tips of the thumb and a finger. */
static void follow_distance(retarget *r, const tracked_hand *seen, int finger, double gain) {
    hand_joint thumb = HAND_THUMB_TIP, tip = (hand_joint)((int)hand_bone_joint(3 * finger + 3) + 1);
    double *apart = &r->carried.tips_apart[finger];
    if (!tracked_is_seen(seen, thumb) || !tracked_is_seen(seen, tip)) return;
    double now = vec3_distance(seen->position[thumb], seen->position[tip]);
    *apart = *apart > 0 ? *apart + gain * (now - *apart) : now;
}

/* before: the unfiltered pose of the last frame. follow: without delay. */
static void smooth(retarget *r, const tracked_hand *seen, const retarget_carried *before, double dt, bool follow) {
    retarget_carried *now = &r->carried;
    if (follow || !(r->options.cutoff > 0) || !(dt > 0)) {
        for (int f = 1; f < HAND_FINGERS; f++) follow_distance(r, seen, f, 1);
        now->smooth_position = now->position;
        now->smooth_turn = now->turn;
        memcpy(now->smooth, now->q, sizeof now->smooth);
        memset(now->velocity, 0, sizeof now->velocity);
        return;
    }
    vec3 turned = quat_to_rotation_vector(quat_mul(now->turn, quat_conjugate(before->turn)));
    vec3 moved = vec3_sub(vec3_add(now->position, quat_rotate(now->turn, r->palm_centre)),
                          vec3_add(before->position, quat_rotate(before->turn, r->palm_centre)));
    double speed = follow_speed(r, now->velocity[HAND_FINGERS], moved, dt) +
                   PALM_LEVER * follow_speed(r, now->velocity[HAND_FINGERS + 1], turned, dt);
    double gain = retarget_gain(retarget_cutoff(&r->options, speed), dt);
    vec3 turn = quat_to_rotation_vector(quat_mul(now->turn, quat_conjugate(now->smooth_turn)));
    now->smooth_position = vec3_mul_add(now->smooth_position, vec3_sub(now->position, now->smooth_position), gain);
    now->smooth_turn = quat_unit(quat_mul(quat_from_rotation_vector(vec3_scale(turn, gain)), now->smooth_turn));
    double thumb_gain = 0;
    for (int f = 0; f < HAND_FINGERS; f++) {
        vec3 way = vec3_sub(tip_of(r->hand, f, now->q), tip_of(r->hand, f, before->q));
        speed = follow_speed(r, now->velocity[f], way, dt);
        gain = retarget_gain(retarget_cutoff(&r->options, speed), dt);
        if (f == 0) thumb_gain = gain;
        if (f > 0) follow_distance(r, seen, f, fmax(gain, thumb_gain));
        for (int k = 0; k < HAND_FINGER_ANGLES; k++) {
            int i = HAND_FINGER_ANGLES * f + k;
            now->smooth[i] += gain * (now->q[i] - now->smooth[i]);
        }
    }
}

/* Pinches. What a tracker calls a tip lies anywhere between the skin and the end of the bone, and the pads of a person
 * may be thicker than those of the model: in a recorded pinch the tips stay 18 mm apart, where the skins of the model
 * have 8 mm of air between them. Therefore, near a touch, the distance between the tips decides and not their places (as
 * for robots' hands: Handa et al. 2020, DexPilot). With the tracked distance d, that of the model L after fit and
 * filter, and D the sum of the two fingers' radii, which is where trackers' capsules meet, the model's becomes
 *     L' = L + w min(0, c - p + max(0, d - D) - L),   w = smoothstep(2 - d/D): 0 beyond 2 D, 1 below D,
 * c: the distance at which the skins of the model touch, p: how far they then overlap. Tips that are closer
 * already stay. Each of the two tips moves by half of it towards the other, by damped least squares,
 * dq = J^T (J J^T + damping)^-1 dx. A thumb at the limits of its joints moves by less, and the finger by more: the whole
 * hand then moves by w times the way of the point between the tips, so that the pinch stays where it is (a
 * recorded pinch: index finger 7.5 mm off at p95 instead of 9.1). All of it is continuous in d and the pose. */
#define PINCH_ROUNDS 3
#define PINCH_MIN_LENGTH 1e-4 /* m: tips closer than this have no direction */
#define PINCH_DAMPING 25e-6   /* m^2: of a direction in which the angles hardly move a tip */

/* Distance from a tip to the skin along a unit vector (in the frame of the base): that of an ellipsoid, of a cylinder
 * where it points back along the bone. */
static double tip_radius(const hand_skeleton *hand, int finger, const finger_reach *reach, vec3 towards) {
    vec3 u = mat3_mul_vec(mat3_transpose(reach->end), towards), half = hand->tip_half[finger];
    double x = u.x / half.x, y = u.y / half.y, z = fmin(0, u.z) / half.z;
    return fmin(fmax(half.x, half.y), 1 / sqrt(fmax(1e-12, x * x + y * y + z * z)));
}

static void reach_both(const hand_skeleton *hand, int finger, const double *q, finger_reach reach[2]) {
    fit_finger_reach(hand, 0, q, &reach[0]);
    fit_finger_reach(hand, finger, q + HAND_FINGER_ANGLES * finger, &reach[1]);
}

/* L' and w; w is 0 where the fit stays as it is. */
static double pinch_length(const retarget *r, int finger, const double q[HAND_ANGLES], double *weight) {
    *weight = 0;
    const hand_skeleton *hand = r->hand;
    double scale = r->carried.palm_scale, d = r->carried.tips_apart[finger];
    double meet = scale * (hand->finger_radius[0] + hand->finger_radius[finger]);
    if (!(d > 0 && d < 2 * meet)) return 0;
    double w = fmin(1, 2 - d / meet);
    w *= r->options.pinch * w * (3 - 2 * w);
    finger_reach reach[2];
    reach_both(hand, finger, q, reach);
    vec3 way = vec3_sub(reach[1].tip, reach[0].tip);
    double length = vec3_length(way);
    if (!(length > PINCH_MIN_LENGTH)) return 0;
    vec3 u = vec3_scale(way, 1 / length);
    double touch = tip_radius(hand, 0, &reach[0], u) + tip_radius(hand, finger, &reach[1], vec3_scale(u, -1));
    double goal = (1 - r->options.pinch_press) * touch + fmax(0, d - meet) / scale;
    *weight = w;
    return length + w * fmin(0, goal - length);
}

/* Moves a tip by damped least squares. Angles that would exceed their limits stay there, and the others do it. */
static void move_tip(const hand_skeleton *hand, int finger, const finger_reach *reach, vec3 move,
                     double q[HAND_ANGLES]) {
    double change[HAND_FINGER_ANGLES] = {0};
    bool fixed[HAND_FINGER_ANGLES] = {false};
    for (bool again = true; again;) {
        vec3 rest = move;
        mat3 A = mat3_diagonal(PINCH_DAMPING, PINCH_DAMPING, PINCH_DAMPING);
        for (int a = 0; a < HAND_FINGER_ANGLES; a++)
            if (fixed[a])
                rest = vec3_mul_add(rest, reach->column[a], -change[a]);
            else
                A = mat3_add(A, mat3_outer(reach->column[a], reach->column[a]));
        vec3 x = mat3_mul_vec(mat3_inverse(A), rest);
        again = false;
        for (int a = 0; a < HAND_FINGER_ANGLES; a++) {
            int i = HAND_FINGER_ANGLES * finger + a;
            if (fixed[a]) continue;
            double end = q[i] + vec3_dot(reach->column[a], x), within = fmax(hand->lower[i], fmin(hand->upper[i], end));
            change[a] = within - q[i];
            if (end != within) fixed[a] = again = true; /* at most once per angle */
        }
    }
    for (int a = 0; a < HAND_FINGER_ANGLES; a++) q[HAND_FINGER_ANGLES * finger + a] += change[a];
}

/* One step towards a distance between the tips of the thumb and a finger. */
static void pinch_step(const hand_skeleton *hand, int finger, double goal, double q[HAND_ANGLES]) {
    finger_reach reach[2];
    reach_both(hand, finger, q, reach);
    vec3 way = vec3_sub(reach[1].tip, reach[0].tip);
    double length = vec3_length(way);
    if (!(length > PINCH_MIN_LENGTH)) return;
    for (int k = 0; k < 2; k++)
        move_tip(hand, k == 0 ? 0 : finger, &reach[k],
                 vec3_scale(way, (k == 0 ? -0.5 : 0.5) * (goal - length) / length), q);
}

/* The point between the tips of the thumb and a finger. */
static vec3 pinch_centre(const hand_skeleton *hand, int finger, const double q[HAND_ANGLES]) {
    finger_reach reach[2];
    reach_both(hand, finger, q, reach);
    return vec3_scale(vec3_add(reach[0].tip, reach[1].tip), 0.5);
}

static void pinch(const retarget *r, skeleton_pose *base, double q[HAND_ANGLES]) {
    double goal[HAND_FINGERS], weight[HAND_FINGERS], sum = 0;
    vec3 centre[HAND_FINGERS], way = {0, 0, 0};
    for (int f = 1; f < HAND_FINGERS; f++) {
        goal[f] = pinch_length(r, f, q, &weight[f]);
        centre[f] = pinch_centre(r->hand, f, q);
    }
    for (int round = 0; round < PINCH_ROUNDS; round++)
        for (int f = 1; f < HAND_FINGERS; f++)
            if (weight[f] > 0) pinch_step(r->hand, f, goal[f], q);
    for (int f = 1; f < HAND_FINGERS; f++) {
        way = vec3_mul_add(way, vec3_sub(centre[f], pinch_centre(r->hand, f, q)), weight[f]);
        sum += weight[f];
    }
    base->position = vec3_add(base->position, quat_rotate(base->orientation, vec3_scale(way, 1 / fmax(1, sum))));
}

void retarget_frame(retarget *r, const tracked_hand *tracked, double dt, retarget_result *out) {
    *out = (retarget_result){0};
    tracked_hand is_finite = *tracked;
    const tracked_hand *seen = &is_finite;
    fit_problem problem;
    retarget_see(r, &is_finite, &problem);
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
        const retarget_carried before = r->carried;
        r->carried.turn = point.turn;
        r->carried.position = position;
        memcpy(r->carried.q, point.q, sizeof r->carried.q);
        smooth(r, seen, &before, dt, !before.started || out->jumped);
        r->carried.started = 1;
    }
    out->base = (skeleton_pose){r->carried.smooth_position, r->carried.smooth_turn};
    for (int i = 0; i < HAND_ANGLES; i++) out->q[i] = r->carried.smooth[i];
    if (r->options.pinch > 0) pinch(r, &out->base, out->q);
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
