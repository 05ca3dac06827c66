/* Recordings: written frame by frame while a simulation runs, read frame by frame afterwards. Reading:
 *
 *     thenar_recording *recording;
 *     thenar_error error;
 *     if (thenar_recording_open("out/recording.thenar", &recording, &error) != THENAR_OK) ...error.text...
 *     int hand = thenar_recording_find_body(recording, "hand");
 *     int nodes = thenar_recording_body_at(recording, hand)->node_count;
 *     double *positions = malloc(3 * (size_t)nodes * sizeof *positions);
 *     for (int frame = 0; frame < thenar_recording_frame_count(recording); frame++)
 *         thenar_recording_read_positions(recording, hand, frame, positions, &error);
 *     thenar_recording_close(recording);
 *
 * Opening reads the header and the index only; a frame is read when it is asked for, and the last one is
 * kept, so that reading several channels of one frame costs one decompression. A recording may be larger than
 * memory.
 *
 * A recording whose writer died, or whose file was cut or damaged, opens with the whole frames before the
 * damage; thenar_recording_damage says so. Files are untrusted: whatever is in one, calls return a status and
 * a message.
 *
 * Units are SI (metres, seconds, newtons), the frame is right-handed with y up, quaternions are (x, y, z, w).
 * Body, channel and frame indices count from 0; an index out of range is a mistake of the caller (assert).
 * One recording must not be used by two threads at once; open it twice instead. docs/recording-format.md has
 * the layout of the file. */
#ifndef THENAR_RECORDING_H
#define THENAR_RECORDING_H

#include "thenar/mesh.h"
#include "thenar/sim.h"
#include "thenar/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An open recording. */
typedef struct thenar_recording thenar_recording;

/** How the surface of a body (what is seen and touched) follows its motion. */
typedef enum thenar_recording_surface {
    /** The body has no surface. */
    THENAR_RECORDING_SURFACE_NONE = 0,
    /** The triangles are between nodes: surface vertex i is node i. */
    THENAR_RECORDING_SURFACE_NODES = 1,
    /** Each vertex is a weighted sum of the four nodes of a tet. */
    THENAR_RECORDING_SURFACE_EMBEDDED = 2,
    /** The vertices are fixed in the frame of a rigid body, whose channel "pose" moves them. */
    THENAR_RECORDING_SURFACE_RIGID = 3
} thenar_recording_surface;

/** What a channel has one element for. */
typedef enum thenar_recording_place {
    /** The run as a whole: residual, iterations, stage times. */
    THENAR_RECORDING_RUN = 0,
    /** A body as a whole, or a list of its parts (bones, fingers): pose, contact force. */
    THENAR_RECORDING_BODY = 1,
    /** Each node of a body. */
    THENAR_RECORDING_NODES = 2,
    /** Each tet of a body. */
    THENAR_RECORDING_TETS = 3,
    /** Each surface vertex of a body. */
    THENAR_RECORDING_VERTICES = 4
} thenar_recording_place;

/** How a channel's numbers are stored. Reading always gives doubles. */
typedef enum thenar_recording_type {
    THENAR_RECORDING_FLOAT32 = 0, /**< 24 bits of mantissa: 60 nm at 1 m */
    THENAR_RECORDING_FLOAT64 = 1  /**< bit for bit what the simulation had */
} thenar_recording_type;

/** A body of a recording. */
typedef struct thenar_recording_body {
    const char *name; /**< unique within the recording */
    const char *kind; /**< "soft", "rigid", "skeleton", "hand", ...: free text */
    int node_count;
    int tet_count;
    int vertex_count; /**< of the surface; node_count for THENAR_RECORDING_SURFACE_NODES */
    int triangle_count;
    thenar_recording_surface surface;
} thenar_recording_body;

/** A channel: an array of element_count * components numbers in every frame. The names with a meaning here
 * are "position" (nodes, 3 components, m) and "pose" (body, 7 components: position in m, quaternion); by
 * custom also "velocity" (nodes, m/s), "force" (nodes, N), "s" (tets, 3 singular values of the deformation
 * gradient) and "joints" (body: the first one of a hand's flesh; 25 elements of 7 components, the poses of WebXR's
 * joints). */
typedef struct thenar_recording_channel {
    const char *name; /**< unique within its body, or within the run */
    const char *unit; /**< "m", "N", "us", ...; "" without a unit */
    int body;         /**< index of the body; -1 for a channel of the run */
    thenar_recording_place place;
    int element_count;
    int components; /**< numbers per element */
    thenar_recording_type type;
} thenar_recording_channel;

/** What is known of a whole run. The strings live as long as the recording. */
typedef struct thenar_recording_info {
    const char *scene;          /**< name of the scene */
    const char *thenar_version; /**< of the library that wrote it */
    const char *solver;         /**< name of the solver */
    double dt;                  /**< step of the simulation, s */
    const char *metadata;       /**< a JSON object as text, "{}" when there is none */
    int max_contacts;           /**< that a frame can have; 0: nothing can touch, or the file is older than contacts */
} thenar_recording_info;

/** The meshes of a body; the arrays belong to the recording and live as long as it does: free none of them.
 * What a body lacks has count 0. Surface positions are rest positions, in the body's frame for a rigid
 * surface. */
typedef struct thenar_recording_mesh {
    thenar_tet_mesh volume;
    thenar_surface surface;
    thenar_embedding embedding; /**< only for THENAR_RECORDING_SURFACE_EMBEDDED */
} thenar_recording_mesh;

/** Opens a recording; *out is NULL on failure. */
THENAR_API thenar_status thenar_recording_open(const char *path, thenar_recording **out, thenar_error *error);

/** Closes it and releases all that it handed out. NULL is fine. */
THENAR_API void thenar_recording_close(thenar_recording *recording);

/** NULL for a whole recording. Otherwise one line that says what is missing after the last frame that can be
 * read: "FILE: damaged after frame 41 at byte 123456: ...", "FILE: was not closed by its writer; ...". */
THENAR_API const char *thenar_recording_damage(const thenar_recording *recording);

/** What is known of the whole run. */
THENAR_API thenar_recording_info thenar_recording_get_info(const thenar_recording *recording);

/** Number of frames that can be read. */
THENAR_API int thenar_recording_frame_count(const thenar_recording *recording);

/** Simulated time of a frame, s. */
THENAR_API double thenar_recording_frame_time(const thenar_recording *recording, int frame);

/** Number of steps that had been simulated at a frame. */
THENAR_API uint64_t thenar_recording_frame_step(const thenar_recording *recording, int frame);

/** Number of bodies. */
THENAR_API int thenar_recording_body_count(const thenar_recording *recording);

/** A body; valid as long as the recording is. */
THENAR_API const thenar_recording_body *thenar_recording_body_at(const thenar_recording *recording, int body);

/** Index of a body, -1 if there is none of that name. */
THENAR_API int thenar_recording_find_body(const thenar_recording *recording, const char *name);

/** Number of channels. */
THENAR_API int thenar_recording_channel_count(const thenar_recording *recording);

/** A channel; valid as long as the recording is. */
THENAR_API const thenar_recording_channel *thenar_recording_channel_at(const thenar_recording *recording, int channel);

/** Index of a channel of a body (of the run: body -1), -1 if there is none of that name. */
THENAR_API int thenar_recording_find_channel(const thenar_recording *recording, int body, const char *name);

/** The meshes of a body, read when first asked for. All indices in them are within range. */
THENAR_API thenar_status thenar_recording_read_mesh(thenar_recording *recording, int body,
                                                    const thenar_recording_mesh **out, thenar_error *error);

/** A channel at a frame: element_count * components numbers, element by element. A frame that turns out to be
 * damaged is THENAR_ERROR_INPUT; other frames may still be read. */
THENAR_API thenar_status thenar_recording_read_channel(thenar_recording *recording, int channel, int frame,
                                                       double *values, thenar_error *error);

/** Node positions of a body at a frame: 3 * node_count, m. A body without a channel "position" does not move:
 * its rest positions. */
THENAR_API thenar_status thenar_recording_read_positions(thenar_recording *recording, int body, int frame,
                                                         double *positions, thenar_error *error);

/** World positions of the surface vertices of a body at a frame: 3 * vertex_count, m. They are worked out
 * from the nodes (embedded surface) or from the pose (rigid surface; without a channel "pose" it does not
 * move). */
THENAR_API thenar_status thenar_recording_read_surface(thenar_recording *recording, int body, int frame,
                                                       double *positions, thenar_error *error);

/** Contacts at a frame, as thenar_sim_contacts told them: all in single precision, body and face within range. The
 * array belongs to the recording and is good until the next call of this function. */
THENAR_API thenar_status thenar_recording_read_contacts(thenar_recording *recording, int frame,
                                                        const thenar_contact **contacts, int *count,
                                                        thenar_error *error);

struct thenar_tactile;

/** Writes a recording of a simulation, frame by frame. */
typedef struct thenar_recorder thenar_recorder;

/** Starts a recording of `sim` in a new file (an old one is replaced): positions (m) and outside forces (N) of every
 * node of soft bodies, "pose" and "twist" (velocity in m/s, angular velocity in rad/s) of rigid ones, all in single
 * precision, time (us), residual and iterations of each step, and its contacts. The simulation must outlive the
 * recorder. */
THENAR_API thenar_status thenar_recorder_create(const char *path, const thenar_sim *sim, thenar_recorder **recorder,
                                                thenar_error *error);

/** As thenar_recorder_create, with what the devices of `tactile` do: it must be up to date before each frame and outlive
 * the recorder. NULL: none. Channels of the run: "tactile/NAME", 18 numbers: pose, wanted pose, press, touching, three
 * values (thenar_tactile_command) and the frame of the pad; "pad/HAND.FINGER", 1 for each point of
 * the pad that touches, else 0. */
THENAR_API thenar_status thenar_recorder_create_tactile(const char *path, const thenar_sim *sim,
                                                        const struct thenar_tactile *tactile,
                                                        thenar_recorder **recorder, thenar_error *error);

/** A channel of the run that the caller keeps up to date. */
typedef struct thenar_recorder_channel {
    const char *name;     /**< unique, printable UTF-8 */
    const char *unit;     /**< "" for none */
    int components;       /**< how many numbers */
    const double *values; /**< read with each frame; must outlive the recorder */
} thenar_recorder_channel;

/** As thenar_recorder_create_tactile, with channels of the caller's own; `channels` itself is not needed afterwards. */
THENAR_API thenar_status thenar_recorder_create_more(const char *path, const thenar_sim *sim,
                                                     const struct thenar_tactile *tactile,
                                                     const thenar_recorder_channel *channels, int channel_count,
                                                     thenar_recorder **recorder, thenar_error *error);

/** Adds the state of the simulation as it is now as a frame: right behind its step, before anything is set for the next
 * one, if it is to be replayed. Allocates nothing; the frame is with the operating system
 * when the call returns, so that a program that dies loses at most the frame being written. After a write that failed
 * every later one fails. */
THENAR_API thenar_status thenar_recorder_add(thenar_recorder *recorder, thenar_error *error);

/** Writes the index, closes the file, frees the recorder. NULL is fine. */
THENAR_API thenar_status thenar_recorder_close(thenar_recorder *recorder, thenar_error *error);

/** The inputs of a recording, stepped through again. A recorder also writes the state that it begins with and, with
 * each step, what was set from outside before it and a hash of the state behind it. Where a frame was left out, or the
 * simulation was reset or restored, the replay goes on from the whole state, which is recorded there. */
typedef struct thenar_replay thenar_replay;

/** Puts a simulation where a recording begins. It must be one of an equal model with the same time step, solver,
 * contact, friction and coupling, or it is refused; threads do not matter. It must outlive the replay. */
THENAR_API thenar_status thenar_replay_open(const char *path, thenar_sim *sim, thenar_replay **replay,
                                            thenar_error *error);

/** Sets what was set then, and steps. THENAR_ERROR_INPUT: the state is another one than then, or the file is damaged.
 * *done: 1 if there was no further step. */
THENAR_API thenar_status thenar_replay_step(thenar_replay *replay, int *done, thenar_error *error);

/** Frees it; the simulation stays. NULL is fine. */
THENAR_API void thenar_replay_close(thenar_replay *replay);

#ifdef __cplusplus
}
#endif

#endif
