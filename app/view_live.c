/* Two threads meet here. The simulation's thread steps; it publishes frames and takes orders only when nobody holds the
 * lock, so that it never waits for a viewer. The server's thread copies what is published. */
#include "app/view_live.h"

#include "app/run_row.h"
#include "app/scene_find.h"
#include "app/scene_open.h"
#include "app/view_drag.h"
#include "app/view_tunables.h"
#include "base/clock.h"
#include "solver/solver.h"
#include "world/contacts.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS_KEPT 4096      /* steps that a new viewer gets to see in its plots */
#define ORDERS_KEPT 64      /* that wait for the end of a step */
#define FRAME_NS 16000000   /* between two frames */
#define STRETCH_NS 12000000 /* of steps between two looks at the orders */
#define LAG_SECONDS 0.1     /* of real time that may be made up for */
#define IDLE_NS 20000000    /* between two looks at the orders when nothing moves */
#define SPEED_LEAST 0.001
#define SPEED_MOST 100

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
    view_tunables tunables;
    view_drag drag;
    bool playing;
    int single_steps;
    double speed, dt;
    int solver, contact;
    char notice[1024];
    int64_t origin, last_frame, last_look; /* ns */
    double lag;                            /* simulated seconds that are due */
    view_message frame, state;             /* under work */
    double *fresh;                         /* rows since the last frame */
    int fresh_count;
    bool state_changed, frame_due;

    /* never change */
    int column_count, body_count, solver_total, tunable_count;
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

static void tell(view_live *live, const char *text) {
    snprintf(live->notice, sizeof live->notice, "%s", text);
    live->state_changed = true;
}

/* ------------------------------------------------------------------------------------------ the model and its state */

/* Compiles the scene with what was changed, and goes on from where the old simulation is. */
static thenar_status rebuild(view_live *live, bool new_model, thenar_error *error) {
    option_list sets = live->request.sets;
    tunable_text *texts = MEMORY_ARRAY(tunable_text, 2 * live->tunables.list.count);
    if (!texts) return error_memory(error, "overrides");
    tunables_to_sets(&live->tunables, &sets, texts);
    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    thenar_scene_options with = {.sets = sets.values, .set_count = sets.count};
    thenar_status status = new_model ? thenar_scene_load(live->path, &with, &model, NULL, error) : THENAR_OK;
    thenar_sim_options options = {.dt = live->dt,
                                  .threads = live->request.threads,
                                  .solver = solver_table[live->solver]->name,
                                  .contact = contact_method_names[live->contact]};
    if (status == THENAR_OK) status = thenar_sim_create(model ? model : live->model, &options, &sim, error);
    if (status == THENAR_OK && live->sim) status = thenar_sim_continue(sim, live->sim, error);
    free(texts);
    if (status != THENAR_OK) {
        thenar_sim_free(sim);
        thenar_model_free(model);
        return status;
    }
    bool held = live->drag.active;
    drag_release(&live->drag, sim); /* the forces came along */
    thenar_sim_free(live->sim);
    live->sim = sim;
    if (model) {
        thenar_model_free(live->model);
        live->model = model;
    }
    live->dt = thenar_sim_dt(sim);
    if (held) drag_take(&live->drag, sim, live->drag.body, live->drag.vertex);
    return THENAR_OK;
}

static void rebuild_or_tell(view_live *live, bool new_model, void (*undo)(view_live *live, const view_order *order),
                            const view_order *order) {
    thenar_error error;
    live->state_changed = live->frame_due = true;
    tell(live, "");
    if (rebuild(live, new_model, &error) == THENAR_OK) return;
    undo(live, order);
    tell(live, error.text);
}

static void undo_dt(view_live *live, const view_order *order) {
    (void)order;
    live->dt = thenar_sim_dt(live->sim);
}

static void undo_solver(view_live *live, const view_order *order) {
    (void)order;
    for (int i = 0; i < solver_count; i++)
        if (strcmp(solver_table[i]->name, thenar_sim_solver(live->sim)) == 0) live->solver = i;
}

static void undo_contact(view_live *live, const view_order *order) {
    (void)order;
    live->contact = (int)contact_method_find(thenar_sim_contact_method(live->sim));
}

static void undo_tune(view_live *live, const view_order *order) {
    view_tunable *one = &live->tunables.list.data[order->a];
    one->value = one->before;
}

static void take_order(view_live *live, const view_order *order) {
    live->state_changed = live->state_changed || (order->kind != ORDER_DRAG && order->kind != ORDER_DROP);
    live->frame_due = true;
    switch (order->kind) {
    case ORDER_PLAY:
        live->playing = true;
        tell(live, "");
        break;
    case ORDER_PAUSE:
        live->playing = false;
        break;
    case ORDER_STEP:
        live->playing = false;
        live->single_steps++;
        break;
    case ORDER_RESET:
        drag_release(&live->drag, live->sim);
        thenar_sim_reset(live->sim);
        tell(live, "");
        break;
    case ORDER_SPEED:
        live->speed = order->x[0];
        break;
    case ORDER_DT:
        live->dt = order->x[0];
        rebuild_or_tell(live, false, undo_dt, order);
        break;
    case ORDER_SOLVER:
        live->solver = (int)order->a;
        rebuild_or_tell(live, false, undo_solver, order);
        break;
    case ORDER_CONTACT:
        live->contact = (int)order->a;
        rebuild_or_tell(live, false, undo_contact, order);
        break;
    case ORDER_TUNE: {
        view_tunable *one = &live->tunables.list.data[order->a];
        one->before = one->value;
        one->value = order->x[0];
        one->changed = true;
        rebuild_or_tell(live, true, undo_tune, order);
        break;
    }
    case ORDER_DRAG: {
        view_drag *drag = &live->drag;
        bool same = drag->active && drag->body == (int)order->a && drag->vertex == (int)order->b;
        memcpy(drag->target, order->x, sizeof drag->target);
        drag->strength = order->x[3];
        if (!same) drag_take(drag, live->sim, (int)order->a, (int)order->b);
        drag_apply(drag, live->sim); /* shows at once, also when time stands still */
        break;
    }
    default:
        drag_release(&live->drag, live->sim);
    }
}

/* --------------------------------------------------------------------------------------- what the viewers get to see */

static json_t *describe_bodies(const thenar_model *model) {
    static const char *const motions[] = {"dynamic", "driven", "static"};
    json_t *bodies = json_array();
    for (int b = 0; b < thenar_model_body_count(model); b++) {
        bool rigid = thenar_model_body_kind(model, b) == THENAR_BODY_RIGID;
        const thenar_tet_mesh *mesh = rigid ? NULL : thenar_model_mesh(model, b);
        const thenar_surface *surface = thenar_model_surface(model, b);
        json_array_append_new(bodies,
                              json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i}", "name", thenar_model_body_name(model, b),
                                        "kind", rigid ? "rigid" : "soft", "motion",
                                        rigid ? motions[thenar_model_motion(model, b)] : "soft", "nodes",
                                        mesh ? mesh->node_count : 0, "tets", mesh ? mesh->tet_count : 0, "vertices",
                                        surface->vertex_count, "triangles", surface->triangle_count));
    }
    return bodies;
}

static void write_head(view_live *live, const char *title) {
    const thenar_model *model = live->model;
    json_t *columns = json_array(), *solvers = json_array(), *methods = json_array();
    char name[RUN_COLUMN_NAME];
    for (int i = 0; i < live->column_count; i++) {
        run_column_name(model, i, name);
        json_array_append_new(columns, json_string(name));
    }
    for (int i = 0; i < solver_count; i++) json_array_append_new(solvers, json_string(solver_table[i]->name));
    for (int i = 0; i < CONTACT_METHODS; i++) json_array_append_new(methods, json_string(contact_method_names[i]));
    json_t *head =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:f, s:o, s:o, s:o, s:o, s:o}", "protocol", 1, "mode", "live",
                  "scene", thenar_model_name(model), "title", title, "version", thenar_version(), "solver",
                  thenar_sim_solver(live->sim), "dt", live->dt, "bodies", describe_bodies(model), "columns", columns,
                  "solvers", solvers, "contacts", methods, "tunables", tunables_describe(&live->tunables));
    message_json(&live->head, SECTION_HEAD, head);
    for (int b = 0; b < live->body_count; b++) {
        bool rigid = thenar_model_body_kind(model, b) == THENAR_BODY_RIGID;
        message_mesh(&live->head, b, rigid ? NULL : thenar_model_mesh(model, b), thenar_model_surface(model, b),
                     rigid ? NULL : thenar_model_embedding(model, b), NULL);
    }
}

static void write_state(view_live *live) {
    json_t *warnings = json_object();
    for (int w = 0; w < THENAR_WARNING_COUNT; w++)
        json_object_set_new(warnings, thenar_warning_name((thenar_warning)w),
                            json_integer((json_int_t)thenar_sim_warning_count(live->sim, (thenar_warning)w)));
    message_clear(&live->state);
    message_json(&live->state, SECTION_STATE,
                 json_pack("{s:b, s:f, s:f, s:s, s:s, s:o, s:s, s:o}", "playing", live->playing, "speed", live->speed,
                           "dt", live->dt, "solver", thenar_sim_solver(live->sim), "contact",
                           thenar_sim_contact_method(live->sim), "values", tunables_values(&live->tunables), "notice",
                           live->notice, "warnings", warnings));
    for (int b = 0; b < live->body_count; b++) {
        if (thenar_model_body_kind(live->model, b) == THENAR_BODY_RIGID) continue;
        size_t tets = (size_t)thenar_model_mesh(live->model, b)->tet_count;
        double *limits = MEMORY_ARRAY(double, 2 * tets);
        if (limits && thenar_model_stretch_limits(live->model, b, limits))
            message_floats(&live->state, SECTION_LIMITS, b, tets, limits, 2 * tets);
        else
            message_section(&live->state, SECTION_LIMITS, b, 0, 0);
        free(limits);
    }
}

static void write_frame(view_live *live, int64_t now) {
    view_message *out = &live->frame;
    message_clear(out);
    message_frame(out, thenar_sim_time(live->sim), (double)thenar_sim_step_count(live->sim), -1,
                  1e-9 * (double)(now - live->origin));
    for (int b = 0; b < live->body_count; b++)
        if (thenar_model_body_kind(live->model, b) == THENAR_BODY_RIGID) {
            double pose[7];
            thenar_sim_pose(live->sim, b, pose, pose + 3);
            message_floats(out, SECTION_POSE, b, 1, pose, 7);
        } else {
            size_t nodes = (size_t)thenar_model_mesh(live->model, b)->node_count;
            message_floats(out, SECTION_POSITIONS, b, nodes, thenar_sim_positions(live->sim, b), 3 * nodes);
        }
    message_contacts(out, thenar_sim_contacts(live->sim), thenar_sim_contact_count(live->sim));
    if (!live->drag.active) return;
    double values[9];
    memcpy(values, live->drag.held, sizeof live->drag.held);
    memcpy(values + 3, live->drag.target, sizeof live->drag.target);
    memcpy(values + 6, live->drag.force, sizeof live->drag.force);
    message_floats(out, SECTION_DRAG, live->drag.body, 1, values, 9);
}

static void swap(view_message *a, view_message *b) {
    view_message kept = *a;
    *a = *b;
    *b = kept;
}

/* Shows what is new, unless a viewer is being served right now: then the next time. */
static void publish(view_live *live, int64_t now) {
    if (live->state_changed) write_state(live);
    write_frame(live, now);
    if (pthread_mutex_trylock(&live->lock) != 0) return;
    swap(&live->frame, &live->shown_frame);
    live->frame_count++;
    if (live->state_changed) {
        swap(&live->state, &live->shown_state);
        live->state_count++;
    }
    size_t width = (size_t)live->column_count;
    for (int i = 0; i < live->fresh_count; i++)
        memcpy(live->rows + live->row_count++ % ROWS_KEPT * width, live->fresh + (size_t)i * width,
               width * sizeof *live->rows);
    pthread_mutex_unlock(&live->lock);
    live->fresh_count = 0;
    live->state_changed = live->frame_due = false;
    live->last_frame = now;
    live->notify(live->notify_context);
}

/* ------------------------------------------------------------------------------------------- the simulation's thread */

static void step(view_live *live) {
    drag_apply(&live->drag, live->sim);
    if (thenar_sim_step(live->sim) != THENAR_OK) {
        live->playing = false;
        tell(live, "A step could not be done; the state before it was kept. Reset, or change what it is run with.");
    }
    if (live->fresh_count < ROWS_KEPT)
        run_row(live->sim, live->fresh + (size_t)live->fresh_count++ * (size_t)live->column_count);
    live->frame_due = true;
}

/* Steps until real time is caught up with, a stretch at most. What cannot be caught up with is let go. */
static void step_as_due(view_live *live, int64_t now) {
    if (live->playing) live->lag += 1e-9 * (double)(now - live->last_look) * live->speed;
    live->last_look = now;
    live->lag = fmin(live->lag, fmax(LAG_SECONDS * live->speed, live->dt));
    while (live->playing && live->lag >= live->dt && clock_now() - now < STRETCH_NS) {
        step(live);
        live->lag -= live->dt;
    }
    for (; live->single_steps > 0; live->single_steps--) step(live);
}

static void add_nanoseconds(struct timespec *time, int64_t ns) {
    int64_t sum = time->tv_nsec + ns;
    time->tv_sec += sum / 1000000000;
    time->tv_nsec = sum % 1000000000;
}

/* Takes the orders, if nobody holds the lock; sleeps until the next step is due. False: time to end. */
static bool take_orders(view_live *live, int64_t sleep) {
    view_order orders[ORDERS_KEPT];
    if (sleep <= 0) {
        if (pthread_mutex_trylock(&live->lock) != 0) return true;
    } else {
        pthread_mutex_lock(&live->lock);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        add_nanoseconds(&until, sleep);
        while (!live->stop && live->order_count == 0 &&
               pthread_cond_timedwait(&live->wake, &live->lock, &until) != ETIMEDOUT) {
        }
    }
    int count = live->order_count;
    memcpy(orders, live->orders, (size_t)count * sizeof *orders);
    live->order_count = 0;
    bool stop = live->stop;
    pthread_mutex_unlock(&live->lock);
    for (int i = 0; i < count; i++) take_order(live, &orders[i]);
    return !stop;
}

static void *simulate(void *context) {
    view_live *live = context;
    live->origin = live->last_look = clock_now();
    for (;;) {
        int64_t now = clock_now();
        step_as_due(live, now);
        now = clock_now();
        if (live->frame_due && now - live->last_frame >= (live->playing ? FRAME_NS : 0)) publish(live, now);
        int64_t sleep = IDLE_NS;
        if (live->playing) {
            sleep = (int64_t)(1e9 * (live->dt - live->lag) / live->speed) - (clock_now() - live->last_look);
            if (sleep > IDLE_NS) sleep = IDLE_NS;
        }
        if (!take_orders(live, sleep)) return NULL;
    }
}

/* ---------------------------------------------------------------------------------------------- the server's thread */

static void live_head(view_source *source, view_message *out) {
    view_live *live = (view_live *)source;
    message_append(out, live->head.bytes.data, live->head.bytes.count);
}

static void live_news(view_source *source, view_cursor *cursor, view_message *out) {
    view_live *live = (view_live *)source;
    pthread_mutex_lock(&live->lock);
    if (cursor->state != live->state_count) {
        message_append(out, live->shown_state.bytes.data, live->shown_state.bytes.count);
        cursor->state = live->state_count;
    }
    if (cursor->frame != live->frame_count) {
        uint64_t first = live->row_count > ROWS_KEPT ? live->row_count - ROWS_KEPT : 0;
        if (cursor->steps > first) first = cursor->steps;
        size_t width = (size_t)live->column_count, count = (size_t)(live->row_count - first);
        double *rows = count > 0 ? message_section(out, SECTION_STEPS, 0, count, count * width * sizeof *rows) : NULL;
        for (size_t i = 0; rows && i < count; i++)
            memcpy(rows + i * width, live->rows + (first + i) % ROWS_KEPT * width, width * sizeof *rows);
        cursor->steps = live->row_count;
        message_append(out, live->shown_frame.bytes.data, live->shown_frame.bytes.count);
        cursor->frame = live->frame_count;
    }
    pthread_mutex_unlock(&live->lock);
}

/* A drag takes the place of one that still waits: only where the mouse is now matters. */
static void enqueue(view_live *live, const view_order *order) {
    pthread_mutex_lock(&live->lock);
    view_order *last = live->order_count > 0 ? &live->orders[live->order_count - 1] : NULL;
    if (last && last->kind == ORDER_DRAG && order->kind == ORDER_DRAG)
        *last = *order;
    else if (live->order_count < ORDERS_KEPT)
        live->orders[live->order_count++] = *order;
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->lock);
}

static bool within(double value, double low, double high) {
    return value >= low && value <= high; /* false for NaN */
}

static bool is_valid(const view_live *live, const view_order *order) {
    const double *x = order->x;
    switch (order->kind) {
    case ORDER_PLAY:
    case ORDER_PAUSE:
    case ORDER_STEP:
    case ORDER_RESET:
    case ORDER_DROP:
        return true;
    case ORDER_SPEED:
        return within(x[0], SPEED_LEAST, SPEED_MOST);
    case ORDER_DT:
        return within(x[0], 1e-6, 1);
    case ORDER_SOLVER:
        return order->a < (uint32_t)live->solver_total;
    case ORDER_CONTACT:
        return order->a < CONTACT_METHODS;
    case ORDER_TUNE:
        return order->a < (uint32_t)live->tunable_count && !isinf(x[0]);
    case ORDER_DRAG:
        return order->a < (uint32_t)live->body_count && order->b < (uint32_t)live->vertex_counts[order->a] &&
               within(x[0], -1e6, 1e6) && within(x[1], -1e6, 1e6) && within(x[2], -1e6, 1e6) &&
               within(x[3], 0.001, 1000);
    default:
        return false;
    }
}

static bool live_order(view_source *source, view_cursor *cursor, const view_order *order) {
    view_live *live = (view_live *)source;
    if (!is_valid(live, order)) return false;
    if (order->kind == ORDER_DROP && !cursor->holds) return true;
    if (order->kind == ORDER_DRAG || order->kind == ORDER_DROP) cursor->holds = order->kind == ORDER_DRAG;
    enqueue(live, order);
    return true;
}

static void live_leave(view_source *source, view_cursor *cursor) {
    if (cursor->holds) enqueue((view_live *)source, &(view_order){.kind = ORDER_DROP});
    cursor->holds = false;
}

/* ------------------------------------------------------------------------------------------------- beginning and end */

void view_live_stop(view_source *source) {
    view_live *live = (view_live *)source;
    if (!live->started) return;
    pthread_mutex_lock(&live->lock);
    live->stop = true;
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->lock);
    pthread_join(live->thread, NULL);
    live->started = false;
}

static void live_free(view_source *source) {
    view_live *live = (view_live *)source;
    view_live_stop(source);
    thenar_sim_free(live->sim);
    thenar_model_free(live->model);
    tunables_free(&live->tunables);
    drag_free(&live->drag);
    view_message *messages[] = {&live->frame, &live->state, &live->head, &live->shown_frame, &live->shown_state};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) message_free(messages[i]);
    free(live->fresh);
    free(live->rows);
    free(live->vertex_counts);
    pthread_mutex_destroy(&live->lock);
    pthread_cond_destroy(&live->wake);
    free(live);
}

static thenar_status prepare(view_live *live, thenar_error *error) {
    thenar_scene_info info;
    thenar_status status = scene_find(live->request.scene, live->path, error);
    if (status == THENAR_OK) status = scene_open(live->request.scene, &live->request.sets, &live->model, &info, error);
    if (status == THENAR_OK) status = tunables_read(&live->tunables, live->path, &live->request.sets, error);
    if (status == THENAR_OK) status = rebuild(live, false, error);
    if (status != THENAR_OK) return status;
    live->column_count = run_column_count(live->model);
    live->body_count = thenar_model_body_count(live->model);
    live->solver_total = solver_count;
    live->tunable_count = (int)live->tunables.list.count;
    live->vertex_counts = MEMORY_ARRAY(int, live->body_count);
    live->fresh = MEMORY_ARRAY(double, ROWS_KEPT *(size_t)live->column_count);
    live->rows = MEMORY_ARRAY(double, ROWS_KEPT *(size_t)live->column_count);
    if (!live->vertex_counts || !live->fresh || !live->rows) return error_memory(error, live->path);
    for (int b = 0; b < live->body_count; b++)
        live->vertex_counts[b] = thenar_model_surface(live->model, b)->vertex_count;
    write_head(live, info.title);
    live->state_changed = live->frame_due = true;
    return live->head.failed ? error_memory(error, live->path) : THENAR_OK;
}

thenar_status view_live_create(const view_live_request *request, view_source **out, thenar_error *error) {
    *out = NULL;
    view_live *live = MEMORY_ARRAY(view_live, 1);
    if (!live) return error_memory(error, request->scene);
    live->base = (view_source){live_head, live_news, live_order, live_leave, live_free};
    live->request = *request;
    live->playing = !request->paused;
    live->speed = 1;
    live->dt = request->dt;
    for (int i = 0; i < solver_count; i++)
        if (request->solver && strcmp(solver_table[i]->name, request->solver) == 0) live->solver = i;
    live->contact = request->contact ? (int)contact_method_find(request->contact) : 0;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&live->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&live->lock, NULL);
    thenar_status status = prepare(live, error);
    if (status == THENAR_OK)
        *out = &live->base;
    else
        live_free(&live->base);
    return status;
}

thenar_status view_live_start(view_source *source, void (*notify)(void *context), void *context, thenar_error *error) {
    view_live *live = (view_live *)source;
    live->notify = notify;
    live->notify_context = context;
    if (pthread_create(&live->thread, NULL, simulate, live) != 0)
        return error_set(error, THENAR_ERROR_MEMORY, "cannot start a thread for the simulation");
    live->started = true;
    return THENAR_OK;
}
