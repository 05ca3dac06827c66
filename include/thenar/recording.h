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
 * Opening reads the header and the index only; a frame is read on demand, and the last one is cached, so that reading
 * several channels of one frame costs one decompression. A recording may be larger than memory.
 *
 * A recording whose writer died, or whose file was cut or damaged, opens with the whole frames before the
 * damage; thenar_recording_damage says so. Files are untrusted: whatever is in one, calls return a status and a
 * message. Body, channel and frame indices count from 0.
 *
 * One recording must not be used by two threads at once; open it twice instead. docs/recording-format.md has the
 * layout of the file. */
#ifndef THENAR_RECORDING_H
#define THENAR_RECORDING_H

#include "thenar/mesh.h"
#include "thenar/sim.h"
#include "thenar/status.h"
#include "thenar/tactile.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open recording. */
typedef struct thenar_recording thenar_recording;

/** How the surface of a body follows its motion. */
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

/** What the elements of a channel belong to. */
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
    const char *name;                 /**< unique within the recording */
    const char *kind;                 /**< "soft", "rigid", "skeleton", "hand", ...: free text */
    int node_count;                   /**< nodes of its mesh */
    int tet_count;                    /**< tets of its mesh */
    int vertex_count;                 /**< of the surface; node_count for THENAR_RECORDING_SURFACE_NODES */
    int triangle_count;               /**< of the surface */
    thenar_recording_surface surface; /**< how it moves */
} thenar_recording_body;

/** A channel: an array of element_count * components numbers in every frame. The names with a meaning here
 * are "position" (nodes, 3 components, m) and "pose" (body, 7 components: position in m, quaternion); by
 * custom also "velocity" (nodes, m/s), "force" (nodes, N), "s" (tets, 3 singular values of the deformation
 * gradient) and "joints" (body: the first one of a hand's flesh; 25 elements of 7 components, the poses of WebXR's
 * joints). */
typedef struct thenar_recording_channel {
    const char *name;             /**< unique within its body, or within the run */
    const char *unit;             /**< "m", "N", "us", ...; "" without a unit */
    int body;                     /**< index of the body; -1 for a channel of the run */
    thenar_recording_place place; /**< what its elements belong to */
    int element_count;            /**< number of elements */
    int components;               /**< numbers per element */
    thenar_recording_type type;   /**< how they are stored */
} thenar_recording_channel;

/** Information about a run. The strings are valid as long as the recording. */
typedef struct thenar_recording_info {
    const char *scene;          /**< name of the scene */
    const char *thenar_version; /**< of the library that wrote it */
    const char *solver;         /**< name of the solver */
    double dt;                  /**< step of the simulation, s */
    const char *metadata;       /**< a JSON object as text, "{}" when there is none */
    int max_contacts;           /**< of a frame; 0: nothing can touch, or the file is older than contacts */
} thenar_recording_info;

/** The meshes of a body; the arrays belong to the recording and live as long as it does: free none of them.
 * What a body lacks has count 0. Surface positions are rest positions, in the body's frame for a rigid
 * surface. */
typedef struct thenar_recording_mesh {
    thenar_tet_mesh volume;     /**< rest shape */
    thenar_surface surface;     /**< rest positions */
    thenar_embedding embedding; /**< only for THENAR_RECORDING_SURFACE_EMBEDDED */
} thenar_recording_mesh;

/** Opens a recording; *out is NULL on failure. */
THENAR_IO_API thenar_status thenar_recording_open(const char *path, thenar_recording **out, thenar_error *error);

/** Opens a recording in memory. `bytes` are not copied: they must stay valid until it is closed. */
THENAR_IO_API thenar_status thenar_recording_open_memory(const void *bytes, size_t size, thenar_recording **out,
                                                         thenar_error *error);

/** Closes it and releases all that it returned. NULL is fine. */
THENAR_IO_API void thenar_recording_close(thenar_recording *recording);

/** NULL for a whole recording. Otherwise one line that says what is missing after the last frame that can be
 * read: "FILE: damaged after frame 41 at byte 123456: ...", "FILE: was not closed by its writer; ...". */
THENAR_IO_API const char *thenar_recording_damage(const thenar_recording *recording);

/** Information about the run; zeros for NULL. */
THENAR_IO_API thenar_recording_info thenar_recording_get_info(const thenar_recording *recording);

/** Number of frames that can be read. */
THENAR_IO_API int thenar_recording_frame_count(const thenar_recording *recording);

/** Simulated time of a frame, s. */
THENAR_IO_API double thenar_recording_frame_time(const thenar_recording *recording, int frame);

/** Number of steps that had been simulated at a frame. */
THENAR_IO_API uint64_t thenar_recording_frame_step(const thenar_recording *recording, int frame);

/** Number of bodies. */
THENAR_IO_API int thenar_recording_body_count(const thenar_recording *recording);

/** A body; valid as long as the recording is. */
THENAR_IO_API const thenar_recording_body *thenar_recording_body_at(const thenar_recording *recording, int body);

/** Index of a body, -1 if there is none of that name. */
THENAR_IO_API int thenar_recording_find_body(const thenar_recording *recording, const char *name);

/** Number of channels. */
THENAR_IO_API int thenar_recording_channel_count(const thenar_recording *recording);

/** A channel; valid as long as the recording is. */
THENAR_IO_API const thenar_recording_channel *thenar_recording_channel_at(const thenar_recording *recording,
                                                                          int channel);

/** Index of a channel of a body (of the run: body -1), -1 if there is none of that name. */
THENAR_IO_API int thenar_recording_find_channel(const thenar_recording *recording, int body, const char *name);

/** The meshes of a body, read when first asked for. All indices in them are within range. */
THENAR_IO_API thenar_status thenar_recording_read_mesh(thenar_recording *recording, int body,
                                                       const thenar_recording_mesh **out, thenar_error *error);

/** A channel at a frame: element_count * components numbers, element by element. A frame that turns out to be
 * damaged is THENAR_ERROR_INPUT; other frames may still be read. */
THENAR_IO_API thenar_status thenar_recording_read_channel(thenar_recording *recording, int channel, int frame,
                                                          double *values, thenar_error *error);

/** Node positions of a body at a frame: 3 * node_count, m. A body without a channel "position" does not move:
 * its rest positions. */
THENAR_IO_API thenar_status thenar_recording_read_positions(thenar_recording *recording, int body, int frame,
                                                            double *positions, thenar_error *error);

/** World positions of the surface vertices of a body at a frame: 3 * vertex_count, m. They are worked out
 * from the nodes (embedded surface) or from the pose (rigid surface; without a channel "pose" it does not
 * move). */
THENAR_IO_API thenar_status thenar_recording_read_surface(thenar_recording *recording, int body, int frame,
                                                          double *positions, thenar_error *error);

/** Contacts at a frame, as from thenar_sim_contacts, in single precision, body and face within range. The array
 * belongs to the recording and is valid until the next call of this function. */
THENAR_IO_API thenar_status thenar_recording_read_contacts(thenar_recording *recording, int frame,
                                                           const thenar_contact **contacts, int *count,
                                                           thenar_error *error);

/** The formats that a recording can be exported to. */
typedef enum thenar_export_format {
    THENAR_EXPORT_VTK,  /**< a directory: frame_000123.vtk per frame and frames.vtk.series; where bodies can touch also
                             contacts_000123.vtk and contacts.vtk.series */
    THENAR_EXPORT_GLTF, /**< one binary glTF 2.0 file (.glb) with an animation */
    THENAR_EXPORT_CSV   /**< one file: a row per frame and body, or per contact */
} thenar_export_format;

/** Number of export formats. */
THENAR_IO_API int thenar_export_format_count(void);
/** Name of a format: "vtk", "gltf" or "csv". */
THENAR_IO_API const char *thenar_export_format_name(thenar_export_format format);
/** The export format of that name, or -1. */
THENAR_IO_API int thenar_export_format_find(const char *name);

/** Options of an export. */
typedef struct thenar_export_options {
    uint32_t size;               /**< of this struct, bytes; the default function sets it */
    int first;                   /**< first frame */
    int end;                     /**< frame to stop before; 0: all frames */
    int every;                   /**< of these, every n-th frame; 0 or 1: each */
    const char *const *channels; /**< CSV: names of channels; NULL: all of the run and of whole bodies. A channel on
                                      nodes, tets or vertices becomes the sum of each component (NAME_sum_x) and the
                                      largest magnitude (NAME_max) */
    int channel_count;           /**< number of names */
    bool contacts;               /**< CSV: a row per contact instead of one per frame and body */
    /** Called after each frame; may be NULL. False stops the export, which is not an error: the output is complete up
     * to there. */
    bool (*progress)(void *context, int frames_done, int frame_count);
    void *context; /**< passed to `progress` */
} thenar_export_options;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_IO_API thenar_status thenar_export_options_init(thenar_export_options *options, size_t size);

/** Every frame. */
static inline thenar_export_options thenar_export_options_default(void) {
    thenar_export_options options;
    thenar_export_options_init(&options, sizeof options);
    return options;
}

/** Writes a recording in a format of other programs; options may be NULL. */
THENAR_IO_API thenar_status thenar_recording_export(thenar_recording *recording, thenar_export_format format,
                                                    const char *path, const thenar_export_options *options,
                                                    thenar_error *error);

/** Writes a recording of a simulation, frame by frame. */
typedef struct thenar_recorder thenar_recorder;

/** A channel of the run with values of the caller. */
typedef struct thenar_recorder_channel {
    const char *name;     /**< unique, printable UTF-8 */
    const char *unit;     /**< "" for none */
    int components;       /**< number of values */
    const double *values; /**< read with each frame; must outlive the recorder */
} thenar_recorder_channel;

/** What to record besides the simulation. */
typedef struct thenar_recorder_options {
    uint32_t size;                           /**< of this struct, bytes; the default function sets it */
    int channel_count;                       /**< number of additional channels */
    const thenar_recorder_channel *channels; /**< additional channels of the run */
    /** Devices, or NULL: must be updated before each frame and outlive the recorder. Channels of the run:
     * "tactile/NAME", THENAR_TACTILE_NUMBERS numbers as thenar_tactile_read_device; "pad/HAND.FINGER", 1 for each
     * point of the pad that touches, else 0. */
    const thenar_tactile *tactile;
} thenar_recorder_options;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_IO_API thenar_status thenar_recorder_options_init(thenar_recorder_options *options, size_t size);

/** The simulation alone. */
static inline thenar_recorder_options thenar_recorder_options_default(void) {
    thenar_recorder_options options;
    thenar_recorder_options_init(&options, sizeof options);
    return options;
}

/** Starts a recording of `sim` in a new file (an old one is replaced): positions (m) and external forces (N) of every
 * node of soft bodies, "pose" and "twist" (velocity in m/s, angular velocity in rad/s) of rigid ones, all in single
 * precision, time (us), residual and iterations of each step, and its contacts. options may be NULL. The simulation
 * must outlive the recorder. */
THENAR_IO_API thenar_status thenar_recorder_create(const char *path, const thenar_sim *sim,
                                                   const thenar_recorder_options *options, thenar_recorder **recorder,
                                                   thenar_error *error);

/** Adds the current state of the simulation as a frame. To replay it later, call this directly after its step, before
 * anything is set for the next one. Allocates nothing; the frame has been passed to the operating system when the
 * call returns, so a program that dies loses at most the frame being written. After a write that failed every later
 * one fails. */
THENAR_IO_API thenar_status thenar_recorder_add(thenar_recorder *recorder, thenar_error *error);

/** Hash of the state that was recorded last (thenar_sim_hash): a replay ends with it. */
THENAR_IO_API uint64_t thenar_recorder_hash(const thenar_recorder *recorder);

/** Writes the index, closes the file, frees the recorder. NULL is fine. */
THENAR_IO_API thenar_status thenar_recorder_close(thenar_recorder *recorder, thenar_error *error);

/** A replay of the inputs of a recording. A recorder also writes its initial state and, with each step, what was set
 * from outside before it and a hash of the state after it. Where a frame was left out, or the simulation was reset or
 * restored, the replay continues from the whole state, which is recorded there. */
typedef struct thenar_replay thenar_replay;

/** Sets a simulation to the beginning of a recording. It must be one of an equal model with the same time step, solver,
 * contact method, friction and coupling, or it is refused; threads do not matter. It must outlive the replay. */
THENAR_IO_API thenar_status thenar_replay_open(const char *path, thenar_sim *sim, thenar_replay **replay,
                                               thenar_error *error);

/** The same for a recording in memory; `bytes` must stay valid until it is closed. */
THENAR_IO_API thenar_status thenar_replay_open_memory(const void *bytes, size_t size, thenar_sim *sim,
                                                      thenar_replay **replay, thenar_error *error);

/** Applies the recorded inputs and steps. THENAR_ERROR_INPUT: the state differs from the recorded one, or the file is
 * damaged. *done: 1 if there was no further step. */
THENAR_IO_API thenar_status thenar_replay_step(thenar_replay *replay, int *done, thenar_error *error);

/** Frees it; the simulation stays. NULL is fine. */
THENAR_IO_API void thenar_replay_close(thenar_replay *replay);

/** Computes the commands of tactile devices from a recording that has a hand. */
typedef struct thenar_tactile_replay thenar_tactile_replay;

/** Makes one for the devices in `options`, which must be given. The recording must outlive it. An error if it has no
 * hand with pads. */
THENAR_IO_API thenar_status thenar_tactile_replay_create(thenar_recording *recording,
                                                         const thenar_tactile_options *options,
                                                         thenar_tactile_replay **out, thenar_error *error);
/** Frees it; NULL is fine. */
THENAR_IO_API void thenar_tactile_replay_free(thenar_tactile_replay *replay);
/** Pads and devices, up to date after each frame; valid as long as the replay. */
THENAR_IO_API thenar_tactile *thenar_tactile_replay_devices(const thenar_tactile_replay *replay);
/** Computes the commands at a frame. Velocities are differences to the frame before. */
THENAR_IO_API thenar_status thenar_tactile_replay_frame(thenar_tactile_replay *replay, int frame, thenar_error *error);

#define THENAR_TACTILE_NUMBERS 18 /**< numbers of a channel "tactile/NAME" */

/** The numbers of a device as a recording has them: platform, target (3 each), press, touching, three values and the
 * pose of the pad (7). */
THENAR_IO_API thenar_status thenar_tactile_read_device(const thenar_tactile *tactile, int device,
                                                       double numbers[THENAR_TACTILE_NUMBERS]);

/** 1 for each point of a pad that touches, else 0: thenar_tactile_pad.point_count numbers. */
THENAR_IO_API thenar_status thenar_tactile_read_touching(const thenar_tactile *tactile, int pad, double *touching);

/** Devices and pads as a JSON object, {"devices": [...], "pads": [...]}: what they are, and which points of which
 * skin. Free it with thenar_text_free. NULL when memory runs out. */
THENAR_IO_API char *thenar_tactile_describe(const thenar_tactile *tactile);

/** Frees a text that the library returned; NULL is fine. */
THENAR_IO_API void thenar_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
