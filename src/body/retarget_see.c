#include "body/retarget_see.h"

#define LENGTH_WIDTH 0.3 /* a bone whose length is off by this share counts for half */
#define LENGTH_GAIN 0.05 /* of a frame in the tracked lengths */
#define SHORTEST 1e-3    /* m: vectors below it have no direction */
#define ASTRAY 0.03      /* m, in a palm of the model's size */
#define LARGEST 1e6      /* m: beyond it, squares lose the hand */
#define PALM_WEIGHT 1.0

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

bool tracked_is_seen(const tracked_hand *seen, hand_joint joint) {
    vec3 p = seen->position[joint];
    return fabs(p.x) < LARGEST && fabs(p.y) < LARGEST && fabs(p.z) < LARGEST; /* false for NaN */
}

bool tracked_is_turn_seen(const tracked_hand *seen, hand_joint joint) {
    quat q = seen->orientation[joint];
    return fabs(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w - 1) < 1e-2;
}

vec3 retarget_palm_point(const hand_skeleton *hand, hand_joint joint) {
    int bone = hand_joint_bone(joint);
    return bone == 0 ? hand->joints[joint].position : hand->model->bones[bone].offset;
}

/* The palm as it is seen: centroids of the tracked and of the model's points that take part. */
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

/* Distances between joints of the palm, tracked and in the model; false if one is not seen. */
static bool palm_distance(const retarget *r, const tracked_hand *seen, int i, int j, double *tracked, double *model) {
    if (i == j || !tracked_is_seen(seen, retarget_palm[i].joint) || !tracked_is_seen(seen, retarget_palm[j].joint))
        return false;
    *tracked = vec3_distance(seen->position[retarget_palm[i].joint], seen->position[retarget_palm[j].joint]);
    *model = vec3_distance(retarget_palm_point(r->hand, retarget_palm[i].joint),
                           retarget_palm_point(r->hand, retarget_palm[j].joint));
    return *model > SHORTEST;
}

/* The tracked palm's size. The median, and slowly: a joint astray must not change it. */
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

/* Joints of the palm that are too far from, or too near to, most others of it are not seen. */
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

double retarget_model_length(const hand_skeleton *hand, int finger, int bone) {
    int b = 1 + 3 * finger + bone;
    vec3 reach = bone < 2 ? hand->model->bones[b + 1].offset : hand->joints[hand_bone_joint(b) + 1].position;
    return vec3_length(reach);
}

double retarget_known_length(const retarget *r, int finger, int bone) {
    return r->carried.length[finger][bone] > 0 ? r->carried.length[finger][bone]
                                               : r->carried.palm_scale * retarget_model_length(r->hand, finger, bone);
}

/* One bone between two joints that are seen: a direction. How far its length is off tells how far to trust it. */
static void add_bone(retarget *r, int finger, int bone, vec3 seen, fit_problem *problem) {
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
}

/* Several bones with nothing seen between their ends, perhaps from the middle of the palm on. */
static void add_span(const retarget *r, int finger, int first, int last, vec3 seen, vec3 fixed, fit_problem *problem) {
    fit_vector v = {.finger = finger, .first = first, .last = last, .weight = 1};
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
        tracked_is_seen(seen, root) ? 0 : -1; /* number of the last joint seen so far; -1: the middle of the palm */
    vec3 at = from == 0 ? seen->position[root] : view->seen;
    vec3 fixed = {0, 0, 0};
    if (from < 0) fixed = vec3_scale(vec3_sub(retarget_palm_point(r->hand, root), view->model), r->carried.palm_scale);
    bool known = from == 0 || view->count > 0;
    for (int k = 1; k <= 3; k++) {
        if (!tracked_is_seen(seen, (hand_joint)((int)root + k))) continue;
        vec3 to = seen->position[(int)root + k], way = vec3_sub(to, at);
        if (known && vec3_length(way) > SHORTEST) {
            if (from == k - 1)
                add_bone(r, finger, k - 1, way, problem);
            else
                add_span(r, finger, from < 0 ? 0 : from, k - 1, way, fixed, problem);
        }
        from = k, at = to, known = true, fixed = vec3_make(0, 0, 0);
    }
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

void retarget_see(retarget *r, tracked_hand *seen, fit_problem *problem) {
    *problem = (fit_problem){.hand = r->hand};
    measure_palm(r, seen);
    drop_astray(r, seen);
    palm_view view = view_palm(r, seen);
    add_palm(r, seen, &view, problem);
    for (int finger = 0; finger < HAND_FINGERS; finger++) add_finger(r, finger, seen, &view, problem);
    add_turns(r, seen, problem);
}
