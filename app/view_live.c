#include "app/command.h"
#include "app/run.h"
#include "app/view_live.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The recording of a running simulation. Everything that viewers and devices do (drags, poses of hands and handles)
 * changes the state before a step and is recorded as its input. A recording has one model, time step, solver and
 * contact method; they cannot be changed while it runs (view_orders.c). */

static thenar_status live_record_begin(view_live *live, thenar_error *error) {
    if (!live->request.record) return THENAR_OK;
    return run_record_open(live->request.record, live->sim, live->tactile, live->haptic, &live->recorder, error);
}

void live_record(view_live *live, bool stepped) {
    if (!live->recorder) return;
    if (thenar_recorder_add(live->recorder, &live->record_error) == THENAR_OK) {
        live->recorded_steps += stepped;
        return;
    }
    thenar_recorder_close(live->recorder, NULL);
    live->recorder = NULL;
    char text[sizeof live->record_error.text + 64];
    snprintf(text, sizeof text, "The recording ended: %s", live->record_error.text);
    live_notice(live, text);
    fprintf(stderr, "thenar: warning: %s\n", text);
}

static thenar_status live_record_end(view_live *live, thenar_error *error) {
    thenar_recorder *recorder = live->recorder;
    live->recorder = NULL;
    if (recorder) {
        uint64_t hash = thenar_recorder_hash(recorder);
        thenar_status status = thenar_recorder_close(recorder, error);
        if (status == THENAR_OK)
            printf("%s: %" PRIu64 " steps recorded\nstate_hash %016" PRIx64 "\n", live->request.record,
                   live->recorded_steps, hash);
        return status;
    }
    if (live->record_error.status != THENAR_OK && error) *error = live->record_error;
    return live->record_error.status;
}

/* Two threads share a view_live. The thread of the simulation only ever tries to take the lock, so it never waits for
 * a viewer; if it fails, it publishes frames and takes orders after the next step. The thread of the server copies
 * what is published. */

/* ------------------------------------------------------------------------------------------- the simulation's thread */

static void step(view_live *live) {
    drag_apply(&live->drag, live->sim);
    run_haptic_before(live->haptic, live->sim);
    run_pace_limit(live->playing ? &live->clock : NULL, live->request.iterations, live->sim);
    uint64_t gains = thenar_sim_warning_count(live->sim, THENAR_WARNING_ENERGY);
    thenar_status status = thenar_sim_step(live->sim);
    if (gains == 0 && thenar_sim_warning_count(live->sim, THENAR_WARNING_ENERGY) > 0)
        live_notice(live,
                    "Energy came from nowhere: the step was repeated in smaller ones. Use a smaller time step, or "
                    "softer materials and springs.");
    if (status != THENAR_OK) {
        live->playing = false;
        live_notice(live, "A step failed; the state before it was kept. Reset the simulation, or change its settings.");
    }
    /* A device exerts forces in real time only: not in single steps, not in slow motion. */
    run_haptic_after(live->haptic, live->sim, live->playing && live->speed == 1);
    run_tactile_step(live->tactile, live->sim);
    live_record(live, true);
    if (live->new_row_count < ROWS_KEPT) {
        double *row = live->new_rows + (size_t)live->new_row_count++ * (size_t)live->column_count;
        run_row(live->sim, false, row);
        row += run_column_count(live->model, false);
        run_tactile_row(live->tactile, row);
        run_haptic_row(live->haptic, row + run_tactile_column_count(live->tactile));
    }
    live->frame_due = true;
}

/* Warns once on the terminal, and only of lasting slow motion; viewers always see the speed. */
static void report_slow(view_live *live) {
    char text[RUN_PACE_TEXT];
    run_pace_text(&live->clock, live->speed, text);
    if (!text[0] || live->slow_reported || live->speed > 1 || live->clock.slow_seconds < SLOW_SECONDS) return;
    live->slow_reported = true;
    fprintf(stderr, "thenar: warning: %s: steps take longer than they simulate\n", text);
}

/* Steps until the simulation has caught up with real time (thenar_pace), for BURST_NS at most. */
static void step_as_due(view_live *live, int64_t now) {
    thenar_pace_update(&live->clock, now, live->playing ? live->speed : 0, live->dt);
    while (live->playing && thenar_pace_is_due(&live->clock, live->dt) && clock_ns() - now < BURST_NS) {
        step(live);
        thenar_pace_stepped(&live->clock, clock_ns(), live->speed, live->dt);
        run_haptic_late(live->haptic, &live->clock);
    }
    report_slow(live);
    for (; live->single_steps > 0; live->single_steps--) step(live);
}

static void add_nanoseconds(struct timespec *time, int64_t ns) {
    int64_t sum = time->tv_nsec + ns;
    time->tv_sec += sum / 1000000000;
    time->tv_nsec = sum % 1000000000;
}

/* Executes the waiting orders if the lock is free. sleep: time until the next step is due, ns. False: the thread shall
 * end. */
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
    for (int i = 0; i < count; i++) live_take_order(live, &orders[i]);
    return !stop;
}

static void *simulate(void *context) {
    view_live *live = context;
    live->origin = clock_ns();
    live->clock = thenar_pace_start(live->origin, 0);
    for (;;) {
        int64_t now = clock_ns();
        step_as_due(live, now);
        now = clock_ns();
        if (live->haptic && !live->playing &&
            now - live->last_frame >= 2 * FRAME_NS) { /* devices move while the simulation is paused */
            run_haptic_refresh(live->haptic);
            live->frame_due = true;
        }
        if (live->frame_due && now - live->last_frame >= (live->playing ? FRAME_NS : 0)) live_publish(live, now);
        int64_t sleep = IDLE_NS;
        if (live->playing) {
            sleep = thenar_pace_wait(&live->clock, clock_ns(), live->speed, live->dt);
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

static void live_updates(view_source *source, view_cursor *cursor, view_message *out) {
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

/* An order at the end of the queue that the new one replaces: of several targets for the mouse or for a hand only the
 * latest matters. */
static view_order *superseded(view_live *live, const view_order *order) {
    bool drag = order->kind == ORDER_DRAG, drives = order_drives(order->kind);
    for (int i = live->order_count - 1; i >= 0 && (drag || drives); i--) {
        view_order *waiting = &live->orders[i];
        if (drag && waiting->kind == ORDER_DRAG) return waiting;
        if (drives && order_drives(waiting->kind) && waiting->a == order->a) return waiting;
        if (waiting->kind != ORDER_DRAG && !order_drives(waiting->kind)) break;
    }
    return NULL;
}

static void enqueue(view_live *live, const view_order *order) {
    pthread_mutex_lock(&live->lock);
    view_order *last = superseded(live, order);
    if (last)
        *last = *order;
    else if (live->order_count < ORDERS_KEPT)
        live->orders[live->order_count++] = *order;
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->lock);
}

static const char *live_order(view_source *source, view_cursor *cursor, const view_order *order) {
    view_live *live = (view_live *)source;
    const char *wrong = live_check_order(live, order);
    if (wrong) return wrong;
    if (order->kind == ORDER_DROP && !cursor->drags) return NULL;
    if (order->kind == ORDER_DRAG || order->kind == ORDER_DROP) cursor->drags = order->kind == ORDER_DRAG;
    enqueue(live, order);
    return NULL;
}

static void live_leave(view_source *source, view_cursor *cursor) {
    if (cursor->drags) enqueue((view_live *)source, &(view_order){.kind = ORDER_DROP});
    cursor->drags = false;
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

thenar_status view_live_finish(view_source *source, thenar_error *error) {
    view_live *live = (view_live *)source;
    run_haptic_stop(live->haptic);
    thenar_status status = live_record_end(live, error);
    if (live->clock.steps > 0) run_pace_print(&live->clock);
    run_print_warnings(live->sim);
    run_haptic_print(live->haptic);
    run_tactile_finish(live->tactile);
    return status;
}

static void live_free(view_source *source) {
    view_live *live = (view_live *)source;
    view_live_stop(source);
    thenar_recorder_close(live->recorder, NULL);
    run_haptic_free(live->haptic);
    run_tactile_free(live->tactile);
    free(live->touching);
    thenar_sim_free(live->sim);
    thenar_model_free(live->model);
    tunables_free(&live->tunables);
    drag_free(&live->drag);
    view_message *messages[] = {&live->frame,       &live->state,       &live->head,
                                &live->shown_frame, &live->shown_state, &live->loop};
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) message_free(messages[i]);
    free(live->new_rows);
    free(live->rows);
    free(live->vertex_counts);
    pthread_mutex_destroy(&live->lock);
    pthread_cond_destroy(&live->wake);
    free(live);
}

/* Blocks signals in the threads of devices: the thread of the server handles them. */
static thenar_status open_devices(view_live *live, thenar_error *error) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thenar_status status = run_haptic_create(live->sim, &live->request.devices, false, &live->haptic, error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static thenar_status prepare(view_live *live, thenar_error *error) {
    thenar_scene_info info;
    thenar_status status = scene_find(live->request.scene, live->path, error);
    if (status == THENAR_OK)
        status = scene_open(live->request.scene, &live->request.sets, live->request.track, &live->model, &info, error);
    if (status == THENAR_OK) status = tunables_read(&live->tunables, live->path, &live->request.sets, error);
    if (status == THENAR_OK) status = live_rebuild(live, false, error);
    if (status == THENAR_OK) status = run_tactile_create(live->model, &live->request.sends, &live->tactile, error);
    if (status == THENAR_OK) status = open_devices(live, error);
    if (status != THENAR_OK) return status;
    run_tactile_begin(live->tactile, live->sim);
    const thenar_tactile *tactile = run_tactile_devices(live->tactile);
    int points = 0;
    for (int p = 0; tactile && p < thenar_tactile_pad_count(tactile); p++) {
        int count = thenar_tactile_pad_of(tactile, p)->point_count;
        points = count > points ? count : points;
    }
    live->touching = NEW_ARRAY(double, points);
    live->column_count = run_column_count(live->model, false) + run_tactile_column_count(live->tactile) +
                         run_haptic_column_count(live->haptic);
    live->body_count = thenar_model_body_count(live->model);
    live->hand_count = thenar_model_hand_count(live->model);
    live->solver_total = thenar_solver_count();
    live->tunable_count = (int)live->tunables.list.count;
    live->vertex_counts = NEW_ARRAY(int, live->body_count);
    live->new_rows = NEW_ARRAY(double, ROWS_KEPT *(size_t)live->column_count);
    live->rows = NEW_ARRAY(double, ROWS_KEPT *(size_t)live->column_count);
    if (!live->touching || !live->vertex_counts || !live->new_rows || !live->rows)
        return fail_memory(error, live->path);
    /* Touches all pages now, so that memory does not grow while the simulation runs. */
    memset(live->new_rows, 0, ROWS_KEPT * (size_t)live->column_count * sizeof *live->new_rows);
    memset(live->rows, 0, ROWS_KEPT * (size_t)live->column_count * sizeof *live->rows);
    for (int b = 0; b < live->body_count; b++)
        live->vertex_counts[b] = thenar_model_surface(live->model, b)->vertex_count;
    live_write_head(live, info.title);
    if (!live->head.failed) status = live_record_begin(live, error);
    if (status != THENAR_OK) return status;
    live->state_changed = live->frame_due = true;
    return live->head.failed ? fail_memory(error, live->path) : THENAR_OK;
}

thenar_status view_live_create(const view_live_request *request, view_source **out, thenar_error *error) {
    *out = NULL;
    view_live *live = NEW_ARRAY(view_live, 1);
    if (!live) return fail_memory(error, request->scene);
    live->base = (view_source){live_head, live_updates, live_order, live_leave, live_free};
    live->request = *request;
    live->playing = !request->paused;
    live->speed = 1;
    live->dt = request->dt;
    if (request->solver) live->solver = thenar_solver_find(request->solver);
    live->contact = thenar_contact_method_find(request->contact);
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
    thenar_status status = run_haptic_start(live->haptic, error);
    if (status != THENAR_OK) return status;
    if (run_haptic_refused(live->haptic))
        fprintf(stderr, "thenar: warning: haptic loop: %s\n", run_haptic_refused(live->haptic));
    if (pthread_create(&live->thread, NULL, simulate, live) != 0)
        return fail(error, THENAR_ERROR_MEMORY, "cannot start a thread for the simulation");
    live->started = true;
    return THENAR_OK;
}
