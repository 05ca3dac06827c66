/* What the files of the live source share: the state of its two threads. view_live.c begins and ends it and has the
 * simulation's thread, view_live_orders.c carries out what viewers want, view_live_record.c records,
 * view_live_show.c writes what they see. */
#ifndef APP_VIEW_LIVE_STATE_H
#define APP_VIEW_LIVE_STATE_H

#include "app/run_haptic.h"
#include "app/run_pace.h"
#include "app/run_tactile.h"
#include "app/scene_find.h"
#include "app/view_drag.h"
#include "app/view_live.h"
#include "app/view_tunables.h"

#include "io/recording.h"
#include "thenar/thenar.h"

#include <pthread.h>

#define ROWS_KEPT 4096      /* steps that a new viewer gets to see in its plots */
#define ORDERS_KEPT 64      /* that wait for the end of a step */
#define FRAME_NS 16000000   /* between two frames */
#define STRETCH_NS 12000000 /* of steps between two looks at the orders */
#define SLOW_SECONDS 2      /* of slow motion until the terminal is told */
#define IDLE_NS 20000000    /* between two looks at the orders when nothing moves */
#define LOOP_NS 250000000   /* between two looks at the haptic loop */
#define FAULT_NS 6000000000 /* for which a fault of a device is shown */
#define SPEED_LEAST 0.001
#define SPEED_MAX 100

typedef struct view_live {
    view_source base;
    pthread_t thread;
    bool started;
    void (*notify)(void *context);
    void *notify_context;

    /* the simulation's thread only, once it runs */
    view_live_request request;
    char path[SCENE_PATH_SIZE];
    thenar_model *model;
    thenar_sim *sim;
    run_tactile *tactile; /* what the hands wear, or NULL */
    recorded_pads pads;   /* what is shown of it */
    run_haptic *haptic;   /* the devices that hold its handles, or NULL */
    view_message loop;    /* what is shown of their loop, and when that was written, ns */
    int64_t loop_ns, fault_ns;
    char fault[512];           /* of them, the last one, and when it came */
    thenar_recorder *recorder; /* or NULL: nothing is recorded, or no longer */
    uint64_t recorded_steps;
    thenar_error record_error; /* what ended the recording, if status is not THENAR_OK */
    view_tunables tunables;
    view_drag drag;
    bool playing;
    int single_steps;
    double speed, dt;
    int solver, contact; /* the second: -1 for the scene's own */
    char notice[1024];
    int64_t origin, last_frame; /* ns */
    pace clock;                 /* how it is kept to */
    bool told_slow;             /* on the terminal */
    view_message frame, state;  /* under work */
    double *fresh;              /* rows since the last frame */
    int fresh_count;
    bool state_changed, frame_due;

    /* never change */
    int column_count, body_count, hand_count, solver_total, tunable_count;
    int *vertex_counts; /* of the bodies */
    view_message head;

    /* both, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop;
    view_message shown_frame, shown_state;
    uint64_t frame_count, state_count, row_count; /* ever */
    double *rows;                                 /* ring of ROWS_KEPT */
    view_order orders[ORDERS_KEPT];
    int order_count;
} view_live;

/* A line that every viewer gets to read; "" takes it away. */
void live_tell(view_live *live, const char *text);

/* Compiles the scene with what was changed, if new_model, and goes on from where the old simulation is. */
thenar_status live_rebuild(view_live *live, bool new_model, thenar_error *error);

/* Carries out an order, between two steps. */
void live_take_order(view_live *live, const view_order *order);

/* What is wrong with an order, or NULL. */
const char *live_check_order(const view_live *live, const view_order *order);

/* Begins the recording, if one is asked for. */
thenar_status live_record_begin(view_live *live, thenar_error *error);

/* The state as it is now: right behind a step, or a reset. What cannot be written ends the recording, not the simulation. */
void live_record(view_live *live, bool stepped);

/* Ends the recording. The first error of it, also of earlier frames. */
thenar_status live_record_end(view_live *live, thenar_error *error);

/* Once: what every new viewer gets. */
void live_write_head(view_live *live, const char *title);

/* Shows what is new, unless a viewer is being served right now: then the next time. */
void live_publish(view_live *live, int64_t now);

#endif
