/* The haptic loop (thenar/haptic.h): its tick for one handle (tick.c), the proxy of a handle (proxy.c), the thread that
 * ticks (loop.c), and setup from a definition or a scene (setup.c). Vectors of six are linear first, angular second. */
#ifndef HAPTIC_HAPTIC_H
#define HAPTIC_HAPTIC_H

#include "core/threads.h"
#include "core/vec3.h"
#include "device/device.h"
#include "world/sim.h"

#include "thenar/haptic.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Bounds of valid numbers. */
#define SANE_LENGTH 1e3     /* m, m/s, rad/s */
#define SANE_STIFFNESS 1e12 /* N/m and the like, N */
#define SANE_MASS 1e6       /* kg and the like */

/* True if all numbers are finite and their magnitudes at most `max`. */
static inline bool all_within(const double *v, int count, double max) {
    for (int i = 0; i < count; i++)
        if (!(fabs(v[i]) <= max)) return false;
    return true;
}

static inline quat quat_load(const double *q) {
    return quat_unit((quat){q[0], q[1], q[2], q[3]});
}

static inline void quat_store(double *out, quat q) {
    out[0] = q.x, out[1] = q.y, out[2] = q.z, out[3] = q.w;
}

/* The rotation vector from a to b in world axes. */
static inline vec3 turn_between(quat a, quat b) {
    return quat_to_rotation_vector(quat_mul(b, quat_conjugate(a)));
}

/* Translation and rotation vector from one pose to another. */
static inline void pose_difference(double out[6], vec3 from, quat from_turn, vec3 to, quat to_turn) {
    vec3_store(out, vec3_sub(to, from));
    vec3_store(out + 3, turn_between(from_turn, to_turn));
}

/* out += factor matrix v */
static inline void six_add_product(double out[6], const double *matrix, const double *v, double factor) {
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) out[i] += factor * matrix[6 * i + j] * v[j];
}

/* The energy that a device returns to the person, and its limit.
 *
 * Between two ticks the device renders the force f and moves by dx: it returns f dx to the person. The energy put in
 * less the energy returned, plus a small reserve, may still be returned (the passivity observer of Hannaford and Ryu,
 * as an energy tank). A force that would return more within the next HORIZON at the present speed is scaled down. Its
 * direction never changes, and at rest it is not reduced, so a wall that the person leans on stays firm.
 *
 * The weight of the tool has a separate budget. A constant force returns on the way down what was put in on the way up.
 * If it counted, lowering a heavy hand would empty the tank, and the wall that it meets would buzz (4.8 N, 0.3 mm). But
 * the weight is known only as a low-passed force, which lets slow oscillations through: a simulation in slow motion,
 * five times slower than the person who holds its hand, shook that person with 14 J in 3 s. So the separate budget is
 * limited too, with a large reserve. */

typedef struct haptic_energy {
    double in, out;            /* J, since the start */
    double net;                /* returned less put in, without weight, J */
    double worst;              /* maximum of net, J */
    double tank;               /* what may be returned, without the reserve, J */
    double share;              /* of the force without weight that is rendered */
    double lowered;            /* returned by weight less put in by lifting, J */
    double weight_share;       /* of the weight that is rendered */
    double sent[6], weight[6]; /* the rendered force, and its part that is weight */
} haptic_energy;

/* Accounts for a motion of the device (m, rad). */
void haptic_energy_observe(haptic_energy *energy, const double move[6], double max);

/* Reduces a wrench if necessary, for a device that moves at `velocity`; true if it did. */
bool haptic_energy_limit(haptic_energy *energy, const double weight[6], const double velocity[6], double reserve,
                         double h, double wrench[6]);

/* Records what is sent: `gain` times a wrench. */
void haptic_energy_send(haptic_energy *energy, const double wrench[6], const double weight[6], double gain);

/* One tick for one handle: a function of the state, the newest sample of the device, the last linearization that the
 * simulation published, and the time. It uses no threads and no clocks, so that tests need none. */

#define HAPTIC_LONGEST_STEP 0.1 /* s: the longest step of the simulation that the loop waits for */

/* The device by its valid samples. */
typedef struct haptic_device {
    vec3 position;
    quat orientation;
    double velocity[6];
    uint64_t number; /* of the last sample that was read */
    double silence;  /* s since the last valid one */
    bool known;      /* there was a valid one */
} haptic_device;

typedef struct haptic_state {
    haptic_device device;
    /* The proxy. */
    vec3 position;
    quat orientation;
    double velocity[6];
    /* The last valid linearization, with inertia removed from force, stiffness and damping. */
    struct haptic_linear linear;
    uint64_t seen_step;        /* of the last linearization, valid or not */
    double age;                /* s since its publication */
    double weight[6];          /* low-passed force of a free tool */
    double follow;             /* share of the handle's motion that did not change its force, 0 to 1 */
    vec3 push;                 /* unit direction of the push since the tool is in contact; zero: unknown */
    struct haptic_linear wall; /* the last contact; step 0: none is remembered */
    double wall_age;           /* s since then */
    bool both_sides;           /* the tool has pushed in opposite directions: it is clamped, not leaned on something */
    /* What is sent. */
    double wrench[6]; /* before it fades */
    double gain;
    bool stale, silent, restarting; /* why it fades; restarting: the proxy is reset when the force has faded */
    haptic_energy energy;
    int64_t last_ns;
    bool ticked;
    uint64_t updates, samples, faults[THENAR_HAPTIC_FAULT_COUNT];
} haptic_state;

/* The pose of the sample is in world axes. `dt`: nominal length of a tick, s; `now_ns`: the monotonic clock. wrench:
 * force and torque on the device in world axes until the next tick. */
void haptic_tick(const thenar_haptic_settings *settings, haptic_state *state, const device_sample *sample,
                 const struct haptic_linear *linear, int64_t now_ns, double dt, double wrench[6]);

/* Whether all numbers are finite and within bounds, and no diagonal entry of a matrix is negative. */
bool haptic_linear_is_sane(const struct haptic_linear *linear);

/* Moves the proxy by h seconds; wrench: force of the coupling on the device at the end. */
void haptic_proxy_move(const thenar_haptic_settings *settings, haptic_state *state, double h, double wrench[6]);

/* Puts the proxy where the device is. */
void haptic_proxy_restart(haptic_state *state);

/* Punctuality of a loop: counters that the thread of the loop writes and any thread reads, without locks. */

#define TIMING_COST_BIN_NS 50
#define TIMING_COST_BINS 4000

typedef struct timing {
    int64_t period_ns;
    int period_bins; /* of 1 us, up to four periods; the last bin has the rest */
    atomic_uint *periods, *costs;
    atomic_ullong jitter[THENAR_HAPTIC_JITTER];
    atomic_ullong ticks, missed;
    atomic_llong period_worst_ns, cost_worst_ns, began_ns, ended_ns;
} timing;

bool timing_create(timing *t, int64_t period_ns);
void timing_free(timing *t);

/* Requests real-time priority and locked memory for the calling thread, and describes in one line what the system
 * granted. True if memory is locked (munlockall unlocks it). */
bool real_time_begin(int priority, char *text, size_t size);

/* The loop. One thread ticks; the simulation publishes, and any thread reads. */

_Static_assert(sizeof(struct haptic_linear) == sizeof(thenar_haptic_linear), "the same members");

/* One handle with its device. */
typedef struct haptic_channel {
    thenar_haptic_settings settings;
    vec3 origin;
    quat turn, grip;
    device_port *device; /* NULL: none */
    haptic_state state;
    triple_buffer updates; /* struct haptic_linear, from the simulation */
    atomic_ullong refused; /* linearizations that are not finite */
    double latency_us, latency_max_us;
    double peak_force, force_sum, peak_torque; /* of what was sent */
    uint64_t seen_updates, ticks, fades;
    bool fading;
} haptic_channel;

/* What the loop publishes at the end of a tick. */
typedef struct haptic_report {
    int64_t time_ns;
    thenar_haptic_handle_stats handles[THENAR_HAPTIC_HANDLES];
    double velocity[THENAR_HAPTIC_HANDLES][6];
    bool known[THENAR_HAPTIC_HANDLES], silent[THENAR_HAPTIC_HANDLES];
} haptic_report;

struct thenar_haptic {
    double rate;
    bool real_time;
    int priority;
    bool simulated_time;
    int64_t simulated_ns, due_ns; /* simulated time: of the last tick, and up to which it may tick */
    int channel_count;
    haptic_channel *channels;
    pthread_t thread;
    bool running;
    atomic_bool stop;
    timing timing;
    triple_buffer reports;
    pthread_mutex_t readers; /* guards the reading side of reports, and the next two */
    uint64_t noticed[THENAR_HAPTIC_HANDLES][THENAR_HAPTIC_FAULT_COUNT], noticed_missed;
    pthread_mutex_t mutex; /* guards the rest during start */
    pthread_cond_t started;
    bool ready;
    char real_time_text[256];
};

/* Numbers of thenar_haptic_settings by name. */

#define HAPTIC_SLOWEST 100.0 /* ticks per second */
#define HAPTIC_FASTEST 10000.0

#define HAPTIC_SETTINGS 19
typedef struct haptic_setting {
    const char *name, *unit;
    size_t offset;
    bool may_be_zero; /* else above zero */
} haptic_setting;
extern const haptic_setting haptic_setting_table[HAPTIC_SETTINGS];

double *haptic_setting_of(thenar_haptic_settings *settings, int index);

/* How a scene binds a handle to a device. */
typedef struct device_binding {
    bool is_set;
    char *device;                    /* NULL: none */
    thenar_haptic_settings settings; /* NaN where the scene sets nothing */
    bool has_origin, has_turn;
    double origin[3]; /* m */
    quat turn;
} device_binding;

/* The key `haptic` of a scene; attached to its model (thenar_model.attachment). */
typedef struct haptic_scene {
    thenar_haptic_def loop; /* without handles */
    int handle_count;
    device_binding bindings[]; /* one per handle of the model */
} haptic_scene;

#endif
