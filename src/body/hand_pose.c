#include "body/hand_pose.h"

#include <string.h>

#define DEGREE (3.14159265358979323846 / 180)

const char *const hand_pose_names[] = {"rest", "open", "relaxed", "fist", "pinch", "point", "spread"};

/* Degrees, in the order of the names without "rest": flexion, abduction, middle joint, end joint of the thumb and the
 * fingers. Chosen by us; the thumb's first two count from the rest pose, so where its tip ends depends on the hand. */
static const double poses[][HAND_FINGERS][HAND_FINGER_ANGLES] = {
    {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {{5, 5, 10, 15}, {20, 2, 30, 15}, {25, 0, 32, 16}, {28, -2, 34, 16}, {28, -5, 32, 15}},
    {{25, 25, 45, 50}, {82, 0, 98, 60}, {85, 0, 98, 62}, {86, 0, 98, 62}, {86, 0, 96, 60}},
    {{10, 56, 52, 0}, {70, 3, 35, 8}, {25, 0, 30, 15}, {22, -2, 28, 14}, {20, -5, 25, 12}},
    {{25, 25, 45, 50}, {0, 0, 5, 2}, {85, 0, 98, 62}, {86, 0, 98, 62}, {86, 0, 96, 60}},
    {{-20, -10, 0, -5}, {0, 18, 0, 0}, {0, 4, 0, 0}, {0, -12, 0, 0}, {0, -28, 0, 0}},
};

int hand_pose_count(void) {
    return (int)(sizeof hand_pose_names / sizeof *hand_pose_names);
}

bool hand_pose_find(const hand_skeleton *hand, const char *name, double q[HAND_ANGLES]) {
    for (int p = 0; p < hand_pose_count(); p++) {
        if (strcmp(name, hand_pose_names[p]) != 0) continue;
        for (int i = 0; i < HAND_ANGLES; i++) {
            double angle =
                p == 0 ? hand->rest[i] : poses[p - 1][i / HAND_FINGER_ANGLES][i % HAND_FINGER_ANGLES] * DEGREE;
            q[i] = fmax(hand->lower[i], fmin(hand->upper[i], angle));
        }
        return true;
    }
    return false;
}
