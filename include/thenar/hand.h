/* A soft hand that follows a tracked one: bones, flesh attached to them, and their drivers.
 *
 * A hand is a skeleton of 16 bones with 20 joint angles and a free base, and one soft body of its name that springs
 * attach to the bones (or one soft body per bone, thenar_hand_def.phalanges). The soft body is a body like any other:
 * it has contacts, and is read, recorded and shown like one. Functions about bones are here; hands are numbered from
 * 0 in the order in which they were added. docs/hand.md has the conventions. */
#ifndef THENAR_HAND_H
#define THENAR_HAND_H

#include "thenar/model.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define THENAR_HAND_JOINTS 25 /**< WebXR's joints, in its order */
#define THENAR_HAND_BONES 16  /**< the palm, then three bones per finger, thumb first */
#define THENAR_HAND_ANGLES 20 /**< four per finger: flexion, abduction, flexion of the middle and of the end joint */

/** The fingers. */
typedef enum thenar_finger {
    THENAR_FINGER_THUMB,
    THENAR_FINGER_INDEX,
    THENAR_FINGER_MIDDLE,
    THENAR_FINGER_RING,
    THENAR_FINGER_LITTLE,
    THENAR_FINGER_COUNT
} thenar_finger;

/** Number of fingers. */
THENAR_API int thenar_finger_count(void);
/** Name of a finger: "thumb", "index", "middle", "ring" or "little". */
THENAR_API const char *thenar_finger_name(thenar_finger finger);
/** The finger of that name, or -1. */
THENAR_API int thenar_finger_find(const char *name);

/** The joints of a hand, as WebXR orders them. A joint's frame has -z along its bone away from the wrist and -y out of
 * the palm. */
typedef enum thenar_hand_joint {
    THENAR_JOINT_NONE = -1, /**< no joint */
    THENAR_JOINT_WRIST,
    THENAR_JOINT_THUMB_METACARPAL,
    THENAR_JOINT_THUMB_PROXIMAL,
    THENAR_JOINT_THUMB_DISTAL,
    THENAR_JOINT_THUMB_TIP,
    THENAR_JOINT_INDEX_METACARPAL,
    THENAR_JOINT_INDEX_PROXIMAL,
    THENAR_JOINT_INDEX_INTERMEDIATE,
    THENAR_JOINT_INDEX_DISTAL,
    THENAR_JOINT_INDEX_TIP,
    THENAR_JOINT_MIDDLE_METACARPAL,
    THENAR_JOINT_MIDDLE_PROXIMAL,
    THENAR_JOINT_MIDDLE_INTERMEDIATE,
    THENAR_JOINT_MIDDLE_DISTAL,
    THENAR_JOINT_MIDDLE_TIP,
    THENAR_JOINT_RING_METACARPAL,
    THENAR_JOINT_RING_PROXIMAL,
    THENAR_JOINT_RING_INTERMEDIATE,
    THENAR_JOINT_RING_DISTAL,
    THENAR_JOINT_RING_TIP,
    THENAR_JOINT_LITTLE_METACARPAL,
    THENAR_JOINT_LITTLE_PROXIMAL,
    THENAR_JOINT_LITTLE_INTERMEDIATE,
    THENAR_JOINT_LITTLE_DISTAL,
    THENAR_JOINT_LITTLE_TIP,
    THENAR_HAND_JOINT_COUNT
} thenar_hand_joint;

/** Number of joints. */
THENAR_API int thenar_hand_joint_count(void);
/** Name of a joint: WebXR's, "wrist", "thumb-metacarpal", ..., "pinky-finger-tip". */
THENAR_API const char *thenar_hand_joint_name(thenar_hand_joint joint);
/** The hand joint of that name, or -1. */
THENAR_API int thenar_hand_joint_find(const char *name);

/** Name of a bone, 0 to THENAR_HAND_BONES - 1: "palm", or the name of the joint at which it begins. */
THENAR_API const char *thenar_hand_bone_name(int bone);
/** The bone that begins at a joint, the palm at the wrist; -1 if none does. */
THENAR_API int thenar_hand_joint_bone(thenar_hand_joint joint);

/** Named poses of the fingers. */
typedef enum thenar_hand_pose {
    THENAR_HAND_POSE_REST,
    THENAR_HAND_POSE_OPEN,
    THENAR_HAND_POSE_RELAXED,
    THENAR_HAND_POSE_FIST,
    THENAR_HAND_POSE_PINCH,
    THENAR_HAND_POSE_POINT,
    THENAR_HAND_POSE_SPREAD,
    THENAR_HAND_POSE_COUNT
} thenar_hand_pose;

/** Number of poses. */
THENAR_API int thenar_hand_pose_count(void);
/** Name of a pose: "rest", "open", "relaxed", "fist", "pinch", "point" or "spread". */
THENAR_API const char *thenar_hand_pose_name(thenar_hand_pose pose);
/** The hand pose of that name, or -1. */
THENAR_API int thenar_hand_pose_find(const char *name);

/** How fine the tets of a hand are. The two finer levels are graded: small at the finger pads, larger towards the back
 * and the inside, with the bones left out. Edges at the pads of a hand of 190 mm are about 14, 2.8 and 1.8 mm long. */
typedef enum thenar_hand_detail {
    THENAR_HAND_COARSE, /**< about 600 tets */
    THENAR_HAND_MEDIUM, /**< about 4,000 */
    THENAR_HAND_FINE    /**< about 15,000 */
} thenar_hand_detail;

/** The shape of a hand other than the built-in one: skin, flesh and joints. thenar/file.h reads it from a glTF file. */
typedef struct thenar_hand_shape thenar_hand_shape;

/** Frees a shape; NULL is fine. Hands that were made from it do not need it any more. */
THENAR_API void thenar_hand_shape_free(thenar_hand_shape *shape);

/** Recorded motions of one or two hands. thenar/file.h reads them from a file. */
typedef struct thenar_track thenar_track;

/** Frees a track; NULL is fine. Hands that follow it do not need it any more. */
THENAR_API void thenar_track_free(thenar_track *track);

/** Whether it has frames of a left or of a right hand. */
THENAR_API bool thenar_track_has_hand(const thenar_track *track, bool left);

/** Time from its first to its last frame, s. */
THENAR_API double thenar_track_duration(const thenar_track *track);

/** The size of a tracked person's hand: what a hand is built with instead of its proportions. */
typedef struct thenar_hand_size {
    double length;   /**< from the wrist to the tip of the middle finger, m */
    double breadth;  /**< across the knuckles, m, within 0.38 to 0.52 of the length */
    double bone[15]; /**< lengths of the bones 1 to 15, thumb first, m; 0: not measured, as in a hand of that length */
    double root[15]; /**< position of the first joint of each finger relative to the wrist, in the frame of the wrist of
                          a right hand at rest (fingers to -z, palm to -y), m; 0, 0, 0: not measured */
} thenar_hand_size;

/** Measures a hand over its first 200 frames that show the wrist and the four knuckles, without outliers. An error if
 * there are fewer than five such frames, or if that is not the size of a hand (0.08 to 0.3 m long). */
THENAR_API thenar_status thenar_track_measure(const thenar_track *track, bool left, thenar_hand_size *measured,
                                              thenar_error *error);

/** The same for frames of a live tracker, each as for thenar_sim_drive_hand: 7 * THENAR_HAND_JOINTS * frame_count
 * numbers. A hand cannot change its size while it is simulated: measure first, then build it with
 * thenar_hand_def.measured. */
THENAR_API thenar_status thenar_hand_measure(const double *joints, int frame_count, bool left,
                                             thenar_hand_size *measured, thenar_error *error);

/** The pose of the fingers of a scripted hand at a time. */
typedef struct thenar_hand_key {
    double time;            /**< s; ascending */
    thenar_hand_pose pose;  /**< pose of the fingers */
    thenar_hand_pose other; /**< another pose, blended in by `share` */
    double share;           /**< of the other pose, 0 to 1 */
    const double *angles;   /**< THENAR_HAND_ANGLES, rad, within the joints' limits; NaN: as in the pose; or NULL */
} thenar_hand_key;

/** A hand. No source has figures for the springs by which a simulated hand follows a tracked one: the defaults are
 * chosen by us and not verified, and each is a field. */
typedef struct thenar_hand_def {
    uint32_t size;                  /**< of this struct, bytes; the default function sets it */
    const char *name;               /**< of the hand and its soft body; unique, not empty, printable UTF-8 */
    const thenar_hand_shape *shape; /**< NULL: the built-in one, with these proportions: */
    double length;                  /**< from the wrist to the tip of the middle finger, m, 0.08 to 0.3 */
    double breadth;                 /**< across the knuckles, m, 0.38 to 0.52 of the length; 0: 0.453 of it */
    bool left;                      /**< a left hand; not read with a shape */
    int triangles;                  /**< approximate number of triangles of the skin; not read with a shape */
    int tets;                       /**< approximate number of tets of the flesh, all of about one size, 350 to
                                         200,000; 0 (default): as `detail` says. Not read with a shape */
    bool phalanges; /**< one separate soft mesh per phalanx on rigid bones (talvas2015, section 4): bodies NAME.BONE,
                           without contact between each other; `tets` of them in all, at least 1000, else 1513 */
    unsigned only;  /**< with phalanges: bit b is bone b, 1 to 15; the others have no flesh. 0: all fifteen */
    double pose[7]; /**< of the wrist at rest: position, m, and quaternion of any length but 0; identity: palm down,
                           fingers to -z */

    thenar_material material;   /**< of the flesh */
    double joint_stretch_min;   /**< smallest stretch around the joints of the fingers, where skin folds, in place of
                                     the material's limit if it has one; 0: as the material; default 0.35, with
                                     medium or fine detail 0.05 */
    double joint_stretch_max;   /**< largest stretch there; 0: as the material; default 1.8, or 6 */
    double bone_share;          /**< share of the mass that belongs to the bones, 0.01 to 0.99 */
    bool weight;                /**< gravity acts on the hand. False: a tracked hand carries its weight already */
    double flesh_stiffness;     /**< of the spring between a node in the core of a finger and its bone, N/m, > 0 */
    double flesh_damping;       /**< N s/m, >= 0 */
    double skin_share;          /**< share of these for nodes at the skin, 0 to 1; smooth in between */
    double joint_stiffness;     /**< of the springs of the fingers' first joints, N m/rad, > 0; half and a quarter of it
                                    for the middle and the end joints */
    double joint_damping;       /**< N m s/rad, >= 0 */
    double base_stiffness;      /**< of the 6D coupling of the palm to its tracked pose, N/m, > 0 */
    double base_damping;        /**< N s/m, >= 0 */
    double base_turn_stiffness; /**< N m/rad, > 0 */
    double base_turn_damping;   /**< N m s/rad, >= 0 */
    double max_force;           /**< maximum force of this coupling, N, also when a tracker jumps; 0: unlimited */
    double max_torque;          /**< maximum torque of this coupling, N m; 0: unlimited */
    double bone_coupling;       /**< 6D couplings of the fingers' bones (perez2016), as a share of the palm's; 0:
                                     none; -1 (default): 0.5 while a tracker drives the hand, else none */

    bool touches;           /**< false: no contact with anything */
    double friction;        /**< coefficient of friction of its skin */
    double contact_spacing; /**< distance between its contact points as a share of the built-in one (2.5 mm on finger
                                 pads, 10 mm on the back of a hand of 190 mm); 0: every vertex of the skin */
    double self_distance;   /**< points closer than this along the skin have no self-contact, m; 0: no self-contact */

    const thenar_hand_key *keys; /**< motion of the fingers; NULL: at rest */
    int key_count;               /**< number of keys */
    const thenar_key *base_keys; /**< motion of the wrist relative to its pose at rest; NULL: none */
    int base_key_count;          /**< number of base keys */
    bool linear;                 /**< constant speed between keys; false: smooth, at rest at each key */
    const thenar_track *track;   /**< tracked joints that drive it instead of keys; NULL: none */
    double smoothing;            /**< cutoff of the low pass on tracked joints for a hand at rest, Hz; 0: none */
    bool fit; /**< with a track of joints: the built-in hand takes the bone lengths and the palm of the tracked hand,
                   measured by thenar_track_measure, in place of length and breadth. If they cannot be measured, it
                   keeps its own, and the model has a warning */
    const thenar_hand_size *measured; /**< size of the built-in hand, in place of length, breadth and `fit`; or NULL */
    double smoothing_opening;         /**< how much that cutoff rises with the speed of a fingertip or of the palm, Hz
                                           per m/s */
    double smoothing_derivative;      /**< cutoff of the low pass on this speed, Hz, > 0 */
    double smoothing_noise;           /**< speed, m/s, below which the cutoff hardly rises: what noise looks like */
    thenar_hand_detail detail;        /**< of the flesh, where `tets` is 0; default THENAR_HAND_COARSE. Not read with a
                                      shape. thenar_hand_def_set_detail sets it with the flesh that belongs to it */
    /** Young's moduli of the tissues of a hand of medium or fine detail, as shares of that of `material`, which is the
     * pulp's: > 0, up to 1000. */
    double skin_young;
    double joint_young; /**< tissue around joints, which lets them bend */
    double palm_young;  /**< flesh of the palm and the back of the hand */
    bool pinch; /**< with tracked joints: thumb and finger touch when the tracked tips are a finger's breadth apart, as
                     trackers report it; false: tips go where the tracked ones are */
} thenar_hand_def;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_API thenar_status thenar_hand_def_init(thenar_hand_def *def, size_t size);

/** A man's right hand, 190 mm by 86 mm, 602 tets, with flesh of 60 kPa and stretch limits 0.9 and 1.1, at rest at the
 * origin; its name is "hand". */
static inline thenar_hand_def thenar_hand_def_default(void) {
    thenar_hand_def def;
    thenar_hand_def_init(&def, sizeof def);
    return def;
}

/** Sets the detail of a hand, with `tets` 0, and the flesh that belongs to it: material and stretch limits at joints.
 * Coarse: as above. Medium and fine: see docs/hand.md. Set fields of your own after it. THENAR_ERROR_USAGE for a
 * detail that does not exist. */
THENAR_API thenar_status thenar_hand_def_set_detail(thenar_hand_def *def, thenar_hand_detail detail);

/** Adds a hand and its soft bodies. On error the build is unchanged. */
THENAR_API thenar_status thenar_build_add_hand(thenar_build *build, const thenar_hand_def *def, thenar_error *error);

/** Lets a track drive the hands that were added so far, each by the frames of its side; hands without frames keep their
 * keys. An error if it has frames of none of them. The hands keep their sizes; thenar_hand_def.track with `fit` builds a
 * hand of the size of the tracked one. */
THENAR_API thenar_status thenar_build_set_track(thenar_build *build, const thenar_track *track, thenar_error *error);

/** Number of hands. */
THENAR_API int thenar_model_hand_count(const thenar_model *model);

/** Index of the hand of that name, or -1. */
THENAR_API int thenar_model_find_hand(const thenar_model *model, const char *name);

/** Name of a hand. */
THENAR_API const char *thenar_model_hand_name(const thenar_model *model, int hand);

/** Whether it is a left hand. */
THENAR_API bool thenar_model_hand_is_left(const thenar_model *model, int hand);

/** Number of soft bodies that are its flesh. `first`, if not NULL, receives the index of the first one; the others
 * follow. */
THENAR_API int thenar_model_hand_bodies(const thenar_model *model, int hand, int *first);

/** The hand to which a body belongs, or -1. */
THENAR_API int thenar_model_hand_of_body(const thenar_model *model, int body);

/** Poses of its 25 joints at rest, where the surfaces of its bodies are (thenar_model_surface): with them you can tell
 * which part of the hand a vertex belongs to, for example to draw nails and creases. */
THENAR_API thenar_status thenar_model_hand_rest(const thenar_model *model, int hand,
                                                double joints[7 * THENAR_HAND_JOINTS]);

/** Limits of the joint angles, rad. */
THENAR_API thenar_status thenar_model_hand_limits(const thenar_model *model, int hand,
                                                  double angle_min[THENAR_HAND_ANGLES],
                                                  double angle_max[THENAR_HAND_ANGLES]);

/** The joint angles of a pose of this hand, rad. */
THENAR_API thenar_status thenar_model_hand_pose(const thenar_model *model, int hand, thenar_hand_pose pose,
                                                double angles[THENAR_HAND_ANGLES]);

/** Duration of the longest track of its hands, s; 0 without one. */
THENAR_API double thenar_model_track_time(const thenar_model *model);

/** Drives a hand with tracked joints: 25 poses in the world, NaN for what the tracker did not see (one position, one
 * quaternion, or a whole joint). From the next step on the hand follows them until it is driven again; a reset
 * returns to its keys or track. The bone lengths may differ from those of the hand. Refused if a number is infinite,
 * a position more than 1000 m away or a quaternion not of unit length (to 10 %). */
THENAR_API thenar_status thenar_sim_drive_hand(thenar_sim *sim, int hand, const double joints[7 * THENAR_HAND_JOINTS]);

/** The same with the pose of the wrist and the joint angles, rad, which are clamped to their limits. Refused if not
 * finite. */
THENAR_API thenar_status thenar_sim_drive_hand_angles(thenar_sim *sim, int hand, const double wrist[7],
                                                      const double angles[THENAR_HAND_ANGLES]);

/** The same with a glove that measures one flexion per finger, thumb first, 0 open to 1 closed (docs/hand.md has the
 * angles), and the pose of the wrist; wrist NULL: its current target. NaN for a finger that was not measured: it
 * keeps its target. Values down to -0.5 and up to 1.5 count as 0 and 1. Refused beyond these, or for the wrist as
 * above. */
THENAR_API thenar_status thenar_sim_drive_hand_flexion(thenar_sim *sim, int hand, const double flexion[5],
                                                       const double wrist[7]);

/** Poses of the 25 joints of the simulated hand. */
THENAR_API thenar_status thenar_sim_hand_joints(const thenar_sim *sim, int hand, double joints[7 * THENAR_HAND_JOINTS]);

/** Poses of the joints of all hands, one hand after the other: 7 * THENAR_HAND_JOINTS * thenar_model_hand_count
 * numbers. count: of doubles in the array; too few is THENAR_ERROR_USAGE. */
THENAR_API thenar_status thenar_sim_read_hand_joints(const thenar_sim *sim, double *joints, size_t count);

/** The target of a hand after retargeting: pose of the wrist and joint angles (rad). Any pointer may be NULL. */
THENAR_API thenar_status thenar_sim_hand_target(const thenar_sim *sim, int hand, double wrist[7],
                                                double angles[THENAR_HAND_ANGLES]);

/** The joint angles of the simulated hand, rad, and the torques of their springs, N m. Any pointer may be NULL. */
THENAR_API thenar_status thenar_sim_hand_angles(const thenar_sim *sim, int hand, double angles[THENAR_HAND_ANGLES],
                                                double torques[THENAR_HAND_ANGLES]);

/** Force (N) and torque (N m), at the bone's joint, of the 6D coupling on a bone; a person with a force-feedback device
 * feels the opposite. Zero for bones without a coupling. */
THENAR_API thenar_status thenar_sim_hand_coupling(const thenar_sim *sim, int hand, int bone, double force[3],
                                                  double torque[3]);

#ifdef __cplusplus
}
#endif

#endif
