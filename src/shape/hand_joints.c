#include "shape/hand_joints.h"

#include <assert.h>
#include <string.h>

static const char *const names[HAND_JOINTS] = {"wrist",
                                               "thumb-metacarpal",
                                               "thumb-phalanx-proximal",
                                               "thumb-phalanx-distal",
                                               "thumb-tip",
                                               "index-finger-metacarpal",
                                               "index-finger-phalanx-proximal",
                                               "index-finger-phalanx-intermediate",
                                               "index-finger-phalanx-distal",
                                               "index-finger-tip",
                                               "middle-finger-metacarpal",
                                               "middle-finger-phalanx-proximal",
                                               "middle-finger-phalanx-intermediate",
                                               "middle-finger-phalanx-distal",
                                               "middle-finger-tip",
                                               "ring-finger-metacarpal",
                                               "ring-finger-phalanx-proximal",
                                               "ring-finger-phalanx-intermediate",
                                               "ring-finger-phalanx-distal",
                                               "ring-finger-tip",
                                               "pinky-finger-metacarpal",
                                               "pinky-finger-phalanx-proximal",
                                               "pinky-finger-phalanx-intermediate",
                                               "pinky-finger-phalanx-distal",
                                               "pinky-finger-tip"};

const char *hand_joint_name(hand_joint joint) {
    assert((unsigned)joint < HAND_JOINTS);
    return names[joint];
}

int hand_joint_find(const char *name) {
    for (int i = 0; i < HAND_JOINTS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

/* The first joint of a finger, its metacarpal. */
static int first_joint(int finger) {
    return finger == 0 ? HAND_THUMB_METACARPAL : HAND_INDEX_METACARPAL + 5 * (finger - 1);
}

hand_joint hand_bone_joint(int bone) {
    assert(bone >= 0 && bone < HAND_BONES);
    if (bone == 0) return HAND_WRIST;
    int finger = (bone - 1) / 3, place = (bone - 1) % 3;
    return (hand_joint)(first_joint(finger) + (finger == 0 ? place : place + 1));
}

int hand_bone_parent(int bone) {
    assert(bone >= 0 && bone < HAND_BONES);
    return bone == 0 ? -1 : (bone - 1) % 3 == 0 ? 0 : bone - 1;
}

int hand_joint_bone(hand_joint joint) {
    assert((unsigned)joint < HAND_JOINTS);
    if (joint == HAND_WRIST) return 0;
    int finger = joint < HAND_INDEX_METACARPAL ? 0 : 1 + ((int)joint - (int)HAND_INDEX_METACARPAL) / 5;
    int place = (int)joint - first_joint(finger) - (finger > 0); /* -1 for a finger's metacarpal */
    if (place < 0) return 0;
    return 1 + 3 * finger + (place < 3 ? place : 2);
}
