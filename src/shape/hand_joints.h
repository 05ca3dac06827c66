/* The joints and bones of a hand, as everyone counts them: 25 joints in WebXR's order, and the 16 bones that move.
 *
 * A joint's frame has -z along its bone away from the wrist and -y out of the palm (x to the thumb's side of a left
 * hand and away from it on a right one, as right-handedness has it). A bone is named after the joint at which it
 * begins. The palm, one bone from the wrist to the knuckles, holds the four fingers' metacarpals. */
#ifndef SHAPE_HAND_JOINTS_H
#define SHAPE_HAND_JOINTS_H

typedef enum hand_joint {
    HAND_WRIST,
    HAND_THUMB_METACARPAL,
    HAND_THUMB_PROXIMAL,
    HAND_THUMB_DISTAL,
    HAND_THUMB_TIP,
    HAND_INDEX_METACARPAL,
    HAND_INDEX_PROXIMAL,
    HAND_INDEX_INTERMEDIATE,
    HAND_INDEX_DISTAL,
    HAND_INDEX_TIP,
    HAND_MIDDLE_METACARPAL,
    HAND_MIDDLE_PROXIMAL,
    HAND_MIDDLE_INTERMEDIATE,
    HAND_MIDDLE_DISTAL,
    HAND_MIDDLE_TIP,
    HAND_RING_METACARPAL,
    HAND_RING_PROXIMAL,
    HAND_RING_INTERMEDIATE,
    HAND_RING_DISTAL,
    HAND_RING_TIP,
    HAND_LITTLE_METACARPAL,
    HAND_LITTLE_PROXIMAL,
    HAND_LITTLE_INTERMEDIATE,
    HAND_LITTLE_DISTAL,
    HAND_LITTLE_TIP,
    HAND_JOINTS
} hand_joint;

/* The palm, then three bones a finger from the thumb on. */
#define HAND_FINGERS 5
#define HAND_BONES (1 + 3 * HAND_FINGERS)

/* WebXR's name of a joint: "wrist", "thumb-metacarpal", ..., "pinky-finger-tip". */
const char *hand_joint_name(hand_joint joint);
/* The joint of that name, or -1. */
int hand_joint_find(const char *name);
/* The joint at which a bone begins: the wrist, the thumb's metacarpal, proximal and distal ones, the fingers' proximal,
 * intermediate and distal ones. */
hand_joint hand_bone_joint(int bone);
/* The bone that a bone hangs on, -1 for the palm. */
int hand_bone_parent(int bone);
/* The bone that carries a joint's frame: its own, the palm for the fingers' metacarpals, the distal one for a tip. */
int hand_joint_bone(hand_joint joint);

#endif
