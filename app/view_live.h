/* A simulation that runs in real time in a thread of its own, for viewers to watch and to take part in. */
#ifndef APP_VIEW_LIVE_H
#define APP_VIEW_LIVE_H

#include "app/options.h"
#include "app/view_source.h"

typedef struct view_live_request {
    const char *scene;
    option_list sets;
    option_list sends;   /* targets for the commands of tactile devices */
    option_list devices; /* that hold its handles, as run's --device */
    const char *track;   /* file of tracked joints that drive its hands, or NULL */
    double dt;           /* 0: the scene's */
    const char *solver;  /* NULL: the default */
    const char *contact; /* NULL: the default */
    const char *record;  /* file for a recording, or NULL */
    int threads;
    int iterations; /* at most in a solve; 0: any */
    bool paused;    /* waits for a viewer to say play */
} view_live_request;

/* Loads the scene; the simulation stands still until view_live_start. */
thenar_status view_live_create(const view_live_request *request, view_source **out, thenar_error *error);

/* Starts the thread; `notify` is called from it whenever there is something new. */
thenar_status view_live_start(view_source *source, void (*notify)(void *context), void *context, thenar_error *error);

/* Ends the thread; no notify comes after it. */
void view_live_stop(view_source *source);

/* After it, once: closes the recording, and prints what came of all in some lines. */
thenar_status view_live_finish(view_source *source, thenar_error *error);

#endif
