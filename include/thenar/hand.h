/* A soft hand that follows a tracked one: bones, flesh on them, and what drives them.
 *
 * A hand is a skeleton of 16 bones with 20 angles and a free base, and one soft body of its name that hangs on the
 * bones by springs (or one soft body a bone, thenar_hand_def.phalanges). The soft body is a body as any other: it is
 * touched, read, recorded and shown like one. What is about bones is here; hands are numbered from 0 in the order in
 * which they were added. docs/hand.md has the conventions. */
#ifndef THENAR_HAND_H
#define THENAR_HAND_H

#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THENAR_HAND_JOINTS 25 /**< WebXR's, in its order */
#define THENAR_HAND_BONES 16  /**< the palm, then three of each finger from the thumb on */
#define THENAR_HAND_ANGLES 20 /**< four of each finger: flexion, abduction, flexion of the middle and the end joint */

/** What a scripted hand's fingers do at a time. */
typedef struct thenar_hand_key {
    double time;          /**< s; ascending */
    const char *pose;     /**< rest, open, relaxed, fist, pinch, point or spread; NULL: rest */
    const char *other;    /**< another pose, blended in; NULL: none */
    double share;         /**< of the other pose, 0 to 1 */
    const double *angles; /**< THENAR_HAND_ANGLES, rad, within the joints' limits; NaN: as the pose has it; or NULL */
} thenar_hand_key;

/** A hand. No source has figures for the springs by which a simulated hand follows a tracked one: the defaults are
 * ours, unverified, and each is a field. */
typedef struct thenar_hand_def {
    const char *name; /**< of the hand and its soft body; unique, not empty, printable UTF-8 */
    const char *file; /**< a glTF hand with the 25 joints of WebXR; NULL: the built-in one, of these proportions: */
    double length;    /**< from the wrist to the end of the middle finger, m, 0.08 to 0.3 */
    double breadth;   /**< across the knuckles, m, 0.38 to 0.52 of the length; 0: 0.453 of it */
    bool left;        /**< of a file: not read */
    int triangles;    /**< of the skin that is seen, about that many */
    int tets;         /**< of the flesh, about that many */
    bool phalanges;   /**< one separate soft mesh a phalanx on rigid bones (talvas2015, section 4): bodies NAME.BONE,
                           which do not touch each other; `tets` of them in all, 1000 at least, else 1513 */
    unsigned only;    /**< of phalanges: bit b is bone b, 1 to 15; the others are bare bones. 0: all fifteen */
    double move[3];   /**< where the wrist is at rest, m */
    double turn[3];   /**< how the hand is turned about it, rotation vector, rad; 0: palm down, fingers to -z */

    thenar_material material;   /**< of the flesh */
    double joint_stretch_min;   /**< least stretch around the joints of the fingers, where skin folds, in place of the
                                    material's if that has one; 0: as the material has it */
    double joint_stretch_max;   /**< largest stretch there */
    double bone_share;          /**< of the mass that is the bones', 0.01 to 0.99 */
    bool weight;                /**< gravity pulls at the hand itself. Off: a tracked hand bears its weight already */
    double flesh_stiffness;     /**< of the spring between a node in the core of a finger and its bone, N/m, > 0 */
    double flesh_damping;       /**< N s/m, >= 0 */
    double skin_share;          /**< of these, for nodes at the skin, 0 to 1; in between they fall off smoothly */
    double joint_stiffness;     /**< of the springs of the fingers' first joints, N m/rad, > 0; half and a quarter of it
                                    for the middle and the end joints */
    double joint_damping;       /**< N m s/rad, >= 0 */
    double base_stiffness;      /**< of the 6D coupling of the palm to its tracked pose, N/m, > 0 */
    double base_damping;        /**< N s/m, >= 0 */
    double base_turn_stiffness; /**< N m/rad, > 0 */
    double base_turn_damping;   /**< N m s/rad, >= 0 */
    double max_force;           /**< that this coupling pulls with, N; 0: any. A tracker that jumps pulls no harder */
    double max_torque;          /**< N m; 0: any */
    double bone_coupling;       /**< 6D couplings of the fingers' bones too (perez2016): share of the palm's, 0: none */

    bool touches;           /**< false: nothing touches it */
    double friction;        /**< coefficient of friction of its skin */
    double contact_spacing; /**< of the points with which it touches, share of the built-in spacing (2.5 mm on finger
                                 pads, 10 mm on the back of a hand of 190 mm); 0: every vertex of the skin */
    double self_distance;   /**< points of the skin that are nearer along it than this do not touch, m; 0: no finger
                                 touches another one of the same hand */

    const thenar_hand_key *keys; /**< what the fingers do; NULL: they rest */
    int key_count;
    const thenar_key *base_keys; /**< how the wrist moves from its rest place, and turns about it; NULL: it stays */
    int base_key_count;
    bool linear;       /**< constant speed between keys; false: smooth, at rest at each key */
    const char *track; /**< file of tracked joints, which drives it instead of keys; NULL: none */
    double smoothing;  /**< of tracked joints: cutoff of the low pass for a hand at rest, Hz; 0: none */
} thenar_hand_def;

/** A man's right hand, 190 mm by 86 mm, 602 tets, in flesh of 60 kPa that stretches between 0.9 and 1.1, at rest at the
 * origin; its name is "hand". */
THENAR_API thenar_hand_def thenar_hand_def_default(void);

/** Adds a hand and its soft bodies; nothing that `def` points to is needed afterwards. On error the build is as
 * before. */
THENAR_API thenar_status thenar_build_add_hand(thenar_build *build, const thenar_hand_def *def, thenar_error *error);

/** Lets a file of tracked joints (docs/hand.md has the format) drive the hands that were added so far, each by the
 * frames of its side; hands of which it has none go on with their keys. An error if it has frames of none of them. */
THENAR_API thenar_status thenar_build_set_track(thenar_build *build, const char *path, thenar_error *error);

/** Number of hands. */
THENAR_API int thenar_model_hand_count(const thenar_model *model);

/** Index of the hand of that name, or -1. */
THENAR_API int thenar_model_find_hand(const thenar_model *model, const char *name);

/** Its name. */
THENAR_API const char *thenar_model_hand_name(const thenar_model *model, int hand);

/** Whether it is a left one. */
THENAR_API bool thenar_model_hand_is_left(const thenar_model *model, int hand);

/** Number of soft bodies that are its flesh, and the first of them; the others follow. */
THENAR_API int thenar_model_hand_bodies(const thenar_model *model, int hand, int *first);

/** The hand whose flesh a body is, or -1. */
THENAR_API int thenar_model_hand_of_body(const thenar_model *model, int body);

/** Least and largest angles of the joints, rad. */
THENAR_API void thenar_model_hand_limits(const thenar_model *model, int hand, double lower[THENAR_HAND_ANGLES],
                                         double upper[THENAR_HAND_ANGLES]);

/** The angles of a pose by name, rad; false if there is none of that name. */
THENAR_API bool thenar_model_hand_pose(const thenar_model *model, int hand, const char *name,
                                       double angles[THENAR_HAND_ANGLES]);

/** How long the longest track of its hands lasts, s; 0 without one. */
THENAR_API double thenar_model_track_time(const thenar_model *model);

/** WebXR's name of a joint: "wrist", "thumb-metacarpal", ... */
THENAR_API const char *thenar_hand_joint_name(int joint);

/** What a tracker saw: 25 joints of 7 numbers, position (m) and unit quaternion (x, y, z, w), in the world. NaN for
 * what was not seen: one position, one quaternion, or all of a joint. From the next step on the hand follows it, until
 * it is told otherwise; its keys and its track stay out of it until the simulation is reset. Other bone lengths than
 * the hand's own are fine. Refused if a number is infinite, a position more than 1000 m away or a quaternion not of
 * unit length (to 10 %). */
THENAR_API thenar_status thenar_sim_drive_hand(thenar_sim *sim, int hand, const double joints[7 * THENAR_HAND_JOINTS]);

/** The same with the wrist's pose (position, m, and quaternion) and the angles of the joints, rad, which are brought
 * within their limits. Refused if not finite. */
THENAR_API thenar_status thenar_sim_drive_hand_angles(thenar_sim *sim, int hand, const double wrist[7],
                                                      const double angles[THENAR_HAND_ANGLES]);

/** The same with a glove that tells one flexion a finger from the thumb on, 0 open to 1 closed (docs/hand.md has the
 * angles), and the wrist's pose; wrist NULL: where it is wanted now. NaN for a finger that was not measured: it stays as
 * it is wanted now. Values down to -0.5 and up to 1.5 count as 0 and 1. Refused if one is beyond these, or the wrist as
 * above. */
THENAR_API thenar_status thenar_sim_drive_hand_flexion(thenar_sim *sim, int hand, const double flexion[5],
                                                       const double wrist[7]);

/** Where the 25 joints of the simulated hand are: position (m) and quaternion, 7 numbers each. */
THENAR_API void thenar_sim_hand_joints(const thenar_sim *sim, int hand, double joints[7 * THENAR_HAND_JOINTS]);

/** Where it is wanted: wrist (position and quaternion) and angles (rad) after retargeting. Any pointer may be NULL. */
THENAR_API void thenar_sim_hand_target(const thenar_sim *sim, int hand, double wrist[7],
                                       double angles[THENAR_HAND_ANGLES]);

/** The angles of the simulated hand, rad, and the torques of their springs, N m. Any pointer may be NULL. */
THENAR_API void thenar_sim_hand_angles(const thenar_sim *sim, int hand, double angles[THENAR_HAND_ANGLES],
                                       double torques[THENAR_HAND_ANGLES]);

/** Force (N) and torque (N m), at the bone's joint, with which the 6D coupling of a bone pulls at it; what a person
 * with a force-feedback device would feel is the opposite. Zero for bones without a coupling. */
THENAR_API void thenar_sim_hand_coupling(const thenar_sim *sim, int hand, int bone, double force[3], double torque[3]);

#ifdef __cplusplus
}
#endif

#endif
