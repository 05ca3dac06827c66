/* The haptic loop with handles of a simulation: punctuality, cost of a tick, delay from contact to force, and the stiffest
 * wall that is stable for a simulated person, with and without the linearization (garre2009: 1 kHz with 30 fps;
 * perez2013, section 4.4: a plain coupling to the last pose of the handle).
 *
 * In real time the loop runs in its thread with a simulated person, while a scene is stepped as any program would do it.
 * --repeats N: seconds of that with haptic-hand-bunny, 600 for an endurance test; the other scenes take 5. Stability is
 * measured in simulated time (closed_loop.h). */
#include "bench/bench.h"
#include "bench/closed_loop.h"

#include "app/command.h"
#include "core/threads.h"
#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_SECONDS 5
#define STEP 0.01 /* s */
#define SECOND_NS 1000000000
#define PAD_GAP 0.002 /* m between the pad of haptic-wall and the wall */

/* A scene and the motion of the person. */
typedef struct haptic_case {
    const char *scene, *name;
    vec3 pressed, slid; /* m, relative to the handle */
    double stroke;      /* s per part of the motion in real time */
} haptic_case;
static const haptic_case wall_case = {"haptic-wall", "pad at a wall", {0, -0.012, 0}, {0.05, -0.012, 0}, 0.4};
static const haptic_case finger_case = {"haptic-finger", "finger on a table", {0, -0.013, 0}, {0, -0.013, 0.03}, 0.4};
static const haptic_case bunny_case = {
    "haptic-hand-bunny", "soft hand on a soft bunny", {-0.03, -0.12, 0}, {0, -0.12, 0}, 0.8};
static const haptic_case self_case = {
    "haptic-self", "hand with bones, by its palm", {0.02, -0.02, 0}, {-0.02, 0.02, 0}, 0.4};

static thenar_status open_case(const char *scene, const char *const *sets, int count, double dt, thenar_sim **out,
                               thenar_error *error) {
    char path[SCENE_PATH_SIZE];
    thenar_model *model = NULL;
    thenar_scene_options options = {.size = sizeof(thenar_scene_options), .sets = sets, .set_count = count};
    thenar_sim_options sim_options = {.size = sizeof(thenar_sim_options), .dt = dt, .contact = THENAR_CONTACT_OF_MODEL};
    *out = NULL;
    thenar_status status = scene_find(scene, path, error);
    if (status == THENAR_OK) status = thenar_scene_load(path, &options, &model, NULL, error);
    if (status == THENAR_OK) status = thenar_sim_create(model, &sim_options, out, error);
    thenar_model_free(model);
    return status;
}

/* A run in real time. */

typedef struct live_run {
    thenar_sim *sim;
    thenar_haptic *haptic;
    double *step_us;   /* time of a step */
    double *update_us; /* from the publication of a step to the first force that uses it */
    double *touch_us;  /* from the start of the first step in contact to the force */
    int steps, updates, touches, max;
    double seconds;
} live_run;

static thenar_status write_script(const haptic_case *c, char *path, thenar_error *error) {
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file) return error_errno(error, path, "create");
    fprintf(
        file,
        "{\"repeat\": true, \"keys\": [{\"t\": 0, \"position\": [0, 0, 0]}, {\"t\": %g, \"position\": [%g, %g, %g]}, "
        "{\"t\": %g, \"position\": [%g, %g, %g]}, {\"t\": %g, \"position\": [0, 0, 0]}]}",
        c->stroke, c->pressed.x, c->pressed.y, c->pressed.z, 2 * c->stroke, c->slid.x, c->slid.y, c->slid.z,
        3 * c->stroke);
    return fclose(file) == 0 ? THENAR_OK : error_errno(error, path, "write");
}

/* Steps in real time. An update that the loop has not used when the next step begins is not counted. */
static void run_steps(live_run *run, int seconds) {
    int64_t began = clock_now(), next = began, period = (int64_t)llround(1e9 * thenar_sim_dt(run->sim));
    bool touches = false, is_first = false;
    double step_us = 0;
    uint64_t published = 0;
    while (clock_now() - began < (int64_t)seconds * SECOND_NS && run->steps < run->max) {
        thenar_haptic_stats stats;
        thenar_haptic_read_stats(run->haptic, &stats);
        if (published > 0 && stats.handles[0].updates == published) {
            run->update_us[run->updates++] = stats.handles[0].latency_us;
            if (is_first) run->touch_us[run->touches++] = step_us + stats.handles[0].latency_us;
        }
        int64_t start = clock_now();
        thenar_haptic_drive_sim(run->haptic, 0, run->sim, 0);
        thenar_sim_step(run->sim);
        published = stats.handles[0].updates + (thenar_haptic_publish_sim(run->haptic, 0, run->sim, 0) == THENAR_OK);
        step_us = 1e-3 * (double)(clock_now() - start);
        run->step_us[run->steps++] = step_us;
        thenar_handle_state handle;
        thenar_sim_handle(run->sim, 0, &handle);
        is_first = handle.contacts > 0 && !touches;
        touches = handle.contacts > 0;
        next += period;
        if (next < clock_now()) next = clock_now();
        struct timespec at = {next / SECOND_NS, next % SECOND_NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    run->seconds = 1e-9 * (double)(clock_now() - began);
}

static void add_live(table *results, const haptic_case *c, double rate, live_run *run) {
    thenar_haptic_stats stats;
    thenar_haptic_read_stats(run->haptic, &stats);
    const thenar_haptic_handle_stats *handle = &stats.handles[0];
    table_add_row(results);
    table_text(results, "what", "%s", c->name);
    table_number(results, "rate_hz", rate);
    table_number(results, "seconds", stats.seconds);
    table_number(results, "period_p50_us", stats.period_p50_us);
    table_number(results, "period_p99_us", stats.period_p99_us);
    table_number(results, "period_p999_us", stats.period_p999_us);
    table_number(results, "period_worst_us", stats.period_max_us);
    table_number(results, "ticks", (double)stats.ticks);
    table_number(results, "missed", (double)stats.missed);
    table_number(results, "tick_p50_us", stats.tick_p50_us);
    table_number(results, "tick_p99_us", stats.tick_p99_us);
    table_number(results, "update_p50_us", bench_quantile(run->update_us, run->updates, 0.5));
    table_number(results, "latency_us", handle->latency_max_us);
    if (run->touches > 0) {
        table_number(results, "touch_p50_ms", 1e-3 * bench_quantile(run->touch_us, run->touches, 0.5));
        table_number(results, "touch_worst_ms", 1e-3 * bench_quantile(run->touch_us, run->touches, 1));
    }
    table_number(results, "visual_hz", run->steps / run->seconds);
    table_number(results, "max_hz", 1e6 / bench_quantile(run->step_us, run->steps, 0.5));
    table_number(results, "late", (double)handle->faults[THENAR_HAPTIC_STALE]);
    table_number(results, "energy_mj", 1e3 * handle->energy_excess_max);
    table_text(results, "paper", "1 kHz and 30 fps (garre2009)");
    printf("%s, %.0f Hz: %s; %d steps, %d touches\n", c->name, rate, thenar_haptic_real_time(run->haptic), run->steps,
           run->touches);
}

static thenar_status run_live(const haptic_case *c, double rate, int seconds, table *results, thenar_error *error) {
    char path[] = "/tmp/thenar-haptic-XXXXXX", device[64];
    live_run run = {.max = (int)(seconds / STEP) + 100};
    thenar_status status = write_script(c, path, error);
    if (status != THENAR_OK) return status;
    snprintf(device, sizeof device, "user:%s", path);
    status = open_case(c->scene, NULL, 0, STEP, &run.sim, error);
    run.step_us = MEMORY_ARRAY(double, run.max);
    run.update_us = MEMORY_ARRAY(double, run.max);
    run.touch_us = MEMORY_ARRAY(double, run.max);
    if (status == THENAR_OK && !(run.step_us && run.update_us && run.touch_us)) status = error_memory(error, "times");
    if (status == THENAR_OK) {
        thenar_haptic_handle handle = thenar_haptic_handle_of(run.sim, 0);
        thenar_haptic_def def = thenar_haptic_def_default();
        handle.device = device;
        def.handles = &handle;
        def.handle_count = 1;
        def.rate = rate;
        status = thenar_haptic_create(&def, &run.haptic, error);
    }
    if (status == THENAR_OK) status = thenar_haptic_start(run.haptic, error);
    if (status == THENAR_OK) {
        run_steps(&run, seconds);
        add_live(results, c, rate, &run);
    }
    thenar_haptic_free(run.haptic);
    thenar_sim_free(run.sim);
    free(run.step_us);
    free(run.update_us);
    free(run.touch_us);
    unlink(path);
    return status;
}

/* In simulated time. */

#define BATCH 1000

/* Ticks, each with a new sample and a new linearization. */
static void tick_batch(void *context) {
    closed_loop *loop = context;
    device_sample sample = {.number = 1};
    user_sample(&loop->person, 1, &sample.body);
    vec3_store(sample.body.pose, closed_loop_position(loop));
    for (int i = 0; i < BATCH; i++) {
        sample.number = loop->published.step = (uint64_t)++loop->tick;
        loop->published.published_ns = loop->tick * 1000000;
        haptic_tick(&loop->handle.settings, &loop->state, &sample, &loop->published, loop->tick * 1000000, 1e-3,
                    loop->wrench);
    }
}

static thenar_status time_tick(table *results, thenar_error *error) {
    thenar_sim *sim;
    thenar_status status = open_case(wall_case.scene, NULL, 0, STEP, &sim, error);
    if (status != THENAR_OK) return status;
    press_script script = press_script_make(wall_case.pressed, wall_case.slid);
    closed_loop w = closed_loop_begin(sim, RENDER_LINEAR, thenar_haptic_handle_of(sim, 0).settings,
                                      press_script_user(&script, 500, 0.5));
    while (w.tick < 1200) closed_loop_tick(&w);
    bench_clock clock;
    status = bench_clock_create(&clock, tick_batch, &w, 101, error);
    if (status == THENAR_OK) {
        bench_clock_round(&clock, 101);
        table_add_row(results);
        table_text(results, "what", "a tick alone, in contact, with new data");
        table_number(results, "tick_p50_us", bench_clock_median(&clock) / BATCH);
        bench_clock_free(&clock);
    }
    thenar_sim_free(sim);
    return status;
}

static const char *const rendering_names[] = {[RENDER_LINEAR] = "",
                                              [RENDER_HELD] = ", force held",
                                              [RENDER_PLAIN] = ", plain",
                                              [RENDER_DIRECT] = ", without a loop"};

/* Hands of 100 to 2000 N/m with little to much damping, in steps by a factor. Gravity is zero, so that the weight of the
 * tool does not count as energy. */
static thenar_status add_hands(table *results, const haptic_case *c, haptic_rendering rendering, double step,
                               double factor, thenar_error *error) {
    const char *weightless[] = {"gravity=[0, 0, 0]"};
    int runs = 0, unstable = 0;
    double energy = 0;
    thenar_sim *sim;
    thenar_status status = open_case(c->scene, weightless, 1, step, &sim, error);
    if (status != THENAR_OK) return status;
    press_script script = press_script_make(c->pressed, c->slid);
    thenar_haptic_settings settings = thenar_haptic_handle_of(sim, 0).settings;
    for (double stiffness = 100; stiffness < 2100; stiffness *= factor)
        for (double share = 0.05; share < 1.3; share *= factor) {
            closed_loop w = closed_loop_begin(sim, rendering, settings, press_script_user(&script, stiffness, share));
            unstable += !closed_loop_is_stable(&w);
            energy = fmax(energy, w.returned_max);
            runs++;
        }
    table_add_row(results);
    table_text(results, "what", "%d hands: %s, %.0f ms%s", runs, c->name, 1e3 * step, rendering_names[rendering]);
    table_number(results, "rate_hz", 1000);
    table_number(results, "energy_mj", 1e3 * energy);
    table_number(results, "unstable", unstable);
    table_number(results, "drag_n", closed_loop_drag(sim, rendering, settings, 0.2));
    table_number(results, "visual_hz", 1 / step);
    thenar_sim_free(sim);
    return status;
}

/* Delay from the crossing of the surface to the force, over speeds and all phases of a step. */
static thenar_status add_delay(table *results, haptic_rendering rendering, int publish_after, thenar_error *error) {
    double delays[40], latest = -INFINITY;
    int count = 0;
    thenar_sim *sim;
    thenar_status status = open_case(wall_case.scene, NULL, 0, STEP, &sim, error);
    if (status != THENAR_OK) return status;
    for (double speed = 0.025; speed < 0.3; speed *= 2)
        for (int phase = 0; phase < 10; phase++) {
            delays[count] = 1e3 * closed_loop_delay(sim, rendering, thenar_haptic_handle_of(sim, 0).settings, PAD_GAP,
                                                    speed, phase, publish_after);
            latest = fmax(latest, delays[count++]);
        }
    table_add_row(results);
    table_text(results, "what", "surface to force, steps published after %d ms%s",
               publish_after > 0 ? publish_after : 10, rendering_names[rendering]);
    table_number(results, "rate_hz", 1000);
    table_number(results, "touch_p50_ms", bench_quantile(delays, count, 0.5));
    table_number(results, "touch_worst_ms", latest);
    table_number(results, "visual_hz", 1 / STEP);
    thenar_sim_free(sim);
    return status;
}

static thenar_sim *make_stiff_pad(void *context, double stiffness, double damping) {
    char k[64], d[64];
    /* With the 5 N m/rad of the scene, a plain coupling oscillates in rotation even in free space. */
    const char *sets[] = {"bodies.pad.material.young=1e7", "handles.device.coupling.turn_stiffness=1",
                          "handles.device.coupling.turn_damping=0.01", k, d};
    snprintf(k, sizeof k, "handles.device.coupling.stiffness=%g", stiffness);
    snprintf(d, sizeof d, "handles.device.coupling.damping=%g", damping);
    thenar_sim *sim;
    return open_case(wall_case.scene, sets, 5, STEP, &sim, context) == THENAR_OK ? sim : NULL;
}

static thenar_status add_stiffest(table *results, const char *name, haptic_rendering rendering, double drag_max,
                                  const char *paper, thenar_error *error) {
    press_script script = press_script_make(wall_case.pressed, wall_case.slid);
    stable_wall wall = closed_loop_stiffest(make_stiff_pad, error, rendering, drag_max, &script, PAD_GAP, 1.25);
    table_add_row(results);
    table_text(results, "what", "%s", name);
    table_number(results, "rate_hz", 1000);
    table_number(results, "stiffest_n_m", wall.felt);
    table_number(results, "drag_n", wall.drag);
    table_number(results, "visual_hz", 1 / STEP);
    table_text(results, "paper", "%s", paper);
    return wall.felt > 0 ? THENAR_OK : error_set(error, THENAR_ERROR_INPUT, "%s: no wall is stable", name);
}

static void add_columns(table *results) {
    table_add_column(results, "what", "what", 0);
    table_add_column(results, "rate_hz", "rate Hz", 0);
    table_add_column(results, "seconds", "s", 0);
    table_add_column(results, "period_p50_us", "period p50 us", 0);
    table_add_column(results, "period_p99_us", "p99", 0);
    table_add_column(results, "period_p999_us", "p99.9", 0);
    table_add_column(results, "period_worst_us", "worst", 0);
    table_add_column(results, "ticks", "ticks", 0);
    table_add_column(results, "missed", "missed", 0);
    table_add_column(results, "tick_p50_us", "tick p50 us", 2);
    table_add_column(results, "tick_p99_us", "p99", 2);
    table_add_column(results, "update_p50_us", "update to force p50 us", 0);
    table_add_column(results, "latency_us", "worst", 0);
    table_add_column(results, "touch_p50_ms", "contact to force p50 ms", 1);
    table_add_column(results, "touch_worst_ms", "worst", 1);
    table_add_column(results, "visual_hz", "steps/s", 0);
    table_add_column(results, "max_hz", "possible", 0);
    table_add_column(results, "late", "times late", 0);
    table_add_column(results, "energy_mj", "largest energy excess mJ", 3);
    table_add_column(results, "unstable", "unstable", 0);
    table_add_column(results, "stiffest_n_m", "stiffest stable wall N/m", 0);
    table_add_column(results, "drag_n", "drag at 0.2 m/s N", 3);
    table_add_column(results, "paper", "papers", 0);
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    int seconds = request->repeats > 0 ? request->repeats : DEFAULT_SECONDS;
    add_columns(results);
    thenar_status status = time_tick(results, error);
    const double rates[] = {1000, 4000, 10000};
    for (int i = 0; i < 3 && status == THENAR_OK; i++)
        status = run_live(&wall_case, rates[i], DEFAULT_SECONDS, results, error);
    if (status == THENAR_OK) status = run_live(&finger_case, 1000, DEFAULT_SECONDS, results, error);
    if (status == THENAR_OK) status = run_live(&self_case, 1000, DEFAULT_SECONDS, results, error);
    if (status == THENAR_OK) status = run_live(&bunny_case, 1000, seconds, results, error);
    for (int after = 0; after < 2 && status == THENAR_OK; after++)
        status = add_delay(results, RENDER_LINEAR, after, error);
    for (int i = RENDER_LINEAR; i <= RENDER_PLAIN && status == THENAR_OK; i++)
        status = add_hands(results, &wall_case, (haptic_rendering)i, STEP, 2.115, error);
    if (status == THENAR_OK) status = add_hands(results, &finger_case, RENDER_LINEAR, STEP, 2.115, error);
    for (int half = 0; half < 2 && status == THENAR_OK; half++)
        status = add_hands(results, &bunny_case, RENDER_LINEAR, half ? STEP / 2 : STEP, 4.47, error);
    if (status == THENAR_OK) status = add_stiffest(results, "linearized", RENDER_LINEAR, 0.1, "", error);
    if (status == THENAR_OK)
        status = add_stiffest(results, "the simulation's force, held", RENDER_HELD, 0.1, "", error);
    if (status == THENAR_OK)
        status = add_stiffest(results, "plain coupling, drag under 0.1 N", RENDER_PLAIN, 0.1, "perez2013, 4.4", error);
    if (status == THENAR_OK)
        status = add_stiffest(results, "plain coupling, any drag", RENDER_PLAIN, INFINITY, "perez2013, 4.4", error);
    return status;
}

const bench_entry bench_haptic = {
    .name = "haptic", .summary = "the haptic loop: punctuality, cost, latency, stiffest stable wall", .run = run};
