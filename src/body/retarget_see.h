/* What a frame of a tracked hand becomes for the fit: vectors between joints that are seen, and turns of bones. */
#ifndef BODY_RETARGET_SEE_H
#define BODY_RETARGET_SEE_H

#include "body/retarget.h"
#include "body/retarget_fit.h"

/* Joints that lie in the palm, and how well trackers and hands agree on them. The fingers' metacarpals and the thumb's
 * lie elsewhere in every model. */
typedef struct palm_joint {
    hand_joint joint;
    double weight;
} palm_joint;
#define PALM_JOINTS 10
#define PALM_CORNERS 5 /* the first ones: wrist and knuckles */
extern const palm_joint retarget_palm[PALM_JOINTS];

bool tracked_is_seen(const tracked_hand *seen, hand_joint joint);
bool tracked_is_turn_seen(const tracked_hand *seen, hand_joint joint);

/* Where a joint of the palm is in the base's frame. */
vec3 retarget_palm_point(const hand_skeleton *hand, hand_joint joint);

/* The lengths of a finger's bone (0..2), m: the model's, and the tracked hand's as far as it is known. */
double retarget_model_length(const hand_skeleton *hand, int finger, int bone);
double retarget_known_length(const retarget *r, int finger, int bone);

/* Measures what is seen of the tracked hand and makes the problem; takes joints that are astray from `seen`. */
void retarget_see(retarget *r, tracked_hand *seen, fit_problem *problem);

#endif
