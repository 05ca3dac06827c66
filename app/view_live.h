/* The state of a live source, shared by its files: view_live.c has its beginning, its end and the thread of the simulation,
 * view_orders.c executes orders, view_drag.c applies the force of the mouse, view_show.c writes messages. */
#ifndef APP_VIEW_LIVE_H
#define APP_VIEW_LIVE_H

#include "app/run.h"
#include "app/view.h"

#include <pthread.h>

/* A damped spring from a point of a body's surface to the mouse. */
typedef struct view_drag {
    bool active;
    int body, vertex;
    double target[3];   /* m */
    double strength;    /* 1: twice the body's weight at a tenth of its extent */
    double position[3]; /* position of the vertex, m */
    double force[3];    /* in the last step, N */
    /* where the force acts */
    LIST(int) nodes;      /* of a soft body */
    LIST(double) weights; /* of the nodes, adding up to 1 */
    double point[3];      /* of a rigid body, in its frame */
    double stiffness;     /* N/m at strength 1 */
    double mass;          /* effective mass at the spring, kg */
} view_drag;

/* Attaches the spring to a surface vertex of a body; false if memory ran out or the body cannot move. */
bool drag_take(view_drag *drag, thenar_sim *sim, int body, int vertex);

/* Before each step: applies the force of the spring. */
void drag_apply(view_drag *drag, thenar_sim *sim);

/* Detaches the spring; no force remains. */
void drag_release(view_drag *drag, thenar_sim *sim);
void drag_free(view_drag *drag);

/* Numbers of a scene that can be changed while it runs: material parameters, and friction where the scene has it. */

#define TUNABLE_PATH 512

typedef struct view_tunable {
    char path[TUNABLE_PATH]; /* as for --set */
    char body[128];          /* body that it belongs to, "" for none */
    const char *label, *unit;
    const char *empty; /* label of the default if the scene has no value; NULL: the scene must have one */
    double value;      /* NaN: the scene has none */
    bool changed;
    bool needs_map; /* the scene has no mapping for it yet: "limits" */
} view_tunable;

typedef struct view_tunables {
    LIST(view_tunable) list;
} view_tunables;

/* Reads them from the scene. */
thenar_status tunables_read(view_tunables *tunables, const char *path, const option_list *sets, thenar_error *error);

/* Appends the changed ones to `sets`, as for --set; the caller provides the memory of the texts. */
typedef struct tunable_text {
    char text[TUNABLE_PATH + 64];
} tunable_text;
void tunables_to_sets(const view_tunables *tunables, option_list *sets, tunable_text *texts);

json_t *tunables_describe(const view_tunables *tunables);
json_t *tunables_values(const view_tunables *tunables);
void tunables_free(view_tunables *tunables);

#define ROWS_KEPT 4096      /* steps in the plots of a new viewer */
#define ORDERS_KEPT 64      /* waiting for the end of a step */
#define FRAME_NS 16000000   /* between two frames */
#define BURST_NS 12000000   /* of steps before orders are read */
#define SLOW_SECONDS 2      /* of slow motion before the terminal gets a warning */
#define IDLE_NS 20000000    /* between two checks for orders when nothing moves */
#define LOOP_NS 250000000   /* between two reports of the haptic loop */
#define FAULT_NS 6000000000 /* for which a fault of a device is shown */
#define SPEED_MIN 0.001
#define SPEED_MAX 100

typedef struct view_live {
    view_source base;
    pthread_t thread;
    bool started;
    void (*notify)(void *context);
    void *notify_context;

    /* used by the thread of the simulation only, once it runs */
    view_live_request request;
    char path[SCENE_PATH_SIZE];
    thenar_model *model;
    thenar_sim *sim;
    run_tactile *tactile; /* or NULL */
    double *touching;     /* points of a pad in contact, as many as the largest has */
    run_haptic *haptic;   /* or NULL */
    view_message loop;    /* last report of the haptic loop, and its time, ns */
    int64_t loop_ns, fault_ns;
    char fault[512];           /* last fault of a haptic device */
    thenar_recorder *recorder; /* NULL: nothing is recorded, or no longer */
    uint64_t recorded_steps;
    thenar_error record_error; /* what ended the recording, if status is not THENAR_OK */
    view_tunables tunables;
    view_drag drag;
    bool playing;
    int single_steps;
    double speed, dt;
    int solver, contact; /* contact: -1 for the scene's own */
    char notice[1024];
    int64_t origin, last_frame; /* ns */
    thenar_pace clock;          /* how it keeps to real time */
    bool slow_reported;         /* on the terminal */
    view_message frame, state;  /* being written */
    double *new_rows;           /* rows since the last frame */
    int new_row_count;
    bool state_changed, frame_due;

    /* constant */
    int column_count, body_count, hand_count, solver_total, tunable_count;
    bool split;         /* the model was loaded with bones=split, for its solver */
    int *vertex_counts; /* of the bodies */
    view_message head;

    /* used by both threads, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
    view_message shown_frame, shown_state;
    uint64_t frame_count, state_count, row_count; /* since the beginning */
    double *rows;                                 /* ring of ROWS_KEPT */
    view_order orders[ORDERS_KEPT];
    int order_count;
} view_live;

/* Shows one line to all viewers; "" removes it. */
void live_notice(view_live *live, const char *text);

/* Makes a new simulation that continues from the state of the old one; new_model: with the changed tunables. */
thenar_status live_rebuild(view_live *live, bool new_model, thenar_error *error);

/* Executes an order, between two steps. */
void live_take_order(view_live *live, const view_order *order);

/* What is wrong with an order, or NULL. */
const char *live_check_order(const view_live *live, const view_order *order);

/* Adds the current state to the recording, directly after a step or a reset. A write error ends the recording, not the
 * simulation. */
void live_record(view_live *live, bool stepped);

/* Once: the message for every new viewer. */
void live_write_head(view_live *live, const char *title);

/* Publishes the state, unless a viewer is being served at this moment: then the next call does. */
void live_publish(view_live *live, int64_t now);

#endif
