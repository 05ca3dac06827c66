/* The haptic loop: how punctual it is, what a tick costs, how soon news of the simulation are felt, and how stiff a wall
 * stays stable for a simulated person, with and without the linearization (garre2009: 1 kHz beside 30 fps; perez2013,
 * section 4.4: a plain coupling to the last pose of the handle).
 *
 * The loop runs in its thread with a simulated person, while another thread steps a source of news every 10 ms. The
 * stiffest wall is searched in simulated time (haptic_world.h). --repeats N: seconds for which the loop runs beside the
 * hand; alone it runs for 5. */
#include "bench/bench.h"
#include "bench/haptic_world.h"

#include "base/clock.h"
#include "base/file.h"

#include "thenar/thenar.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define USUAL_SECONDS 5
#define STEP_NS 10000000
#define NS 1000000000

/* What steps while the loop runs: given where the device is, it says what it tells of the handle. */
typedef struct haptic_source {
    const char *name;
    thenar_status (*begin)(void **context, thenar_error *error);
    void (*step)(void *context, const double position[3], const double velocity[6], thenar_haptic_linear *out);
    void (*end)(void *context);
} haptic_source;

/* ----------------------------------------------------------------------------------------------------------- sources */

typedef struct wall_source {
    wall_world wall;
    thenar_model *model; /* of a hand that is stepped beside it; NULL: none */
    thenar_sim *sim;
} wall_source;

static thenar_status wall_begin(void **context, thenar_error *error) {
    wall_source *w = calloc(1, sizeof *w);
    if (!w) return error_memory(error, "a wall");
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    w->wall = (wall_world){.stiffness = 3000,
                           .friction = 0.3,
                           .coupling = settings.stiffness,
                           .coupling_damping = settings.damping,
                           .mass = settings.proxy_mass,
                           .step = 1e-9 * STEP_NS,
                           .x = {0, 0.02, 0}};
    *context = w;
    return THENAR_OK;
}

static void wall_end(void *context) {
    wall_source *w = context;
    thenar_sim_free(w->sim);
    thenar_model_free(w->model);
    free(w);
}

static void wall_source_step(void *context, const double position[3], const double velocity[6],
                             thenar_haptic_linear *out) {
    wall_source *w = context;
    struct haptic_linear told;
    if (w->sim) thenar_sim_step(w->sim);
    wall_step(&w->wall, vec3_load(position), vec3_load(velocity), &told);
    memcpy(out, &told, sizeof told);
}

/* A whole hand that makes a fist and opens again is stepped beside the wall: what the loop has to share two cores with. */
static thenar_status hand_begin(void **context, thenar_error *error) {
    thenar_status status = wall_begin(context, error);
    if (status != THENAR_OK) return status;
    wall_source *w = *context;
    const thenar_hand_key keys[] = {
        {.time = 0, .pose = "open"}, {.time = 1, .pose = "fist"}, {.time = 2, .pose = "open"}};
    thenar_hand_def hand = thenar_hand_def_default();
    hand.keys = keys;
    hand.key_count = 3;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    status = build ? thenar_build_add_hand(build, &hand, error) : error_memory(error, "a hand");
    if (status == THENAR_OK) status = thenar_build_compile(build, &w->model, error);
    thenar_build_free(build);
    if (status == THENAR_OK) status = thenar_sim_create(w->model, NULL, &w->sim, error);
    if (status != THENAR_OK) wall_end(w);
    return status;
}

static const haptic_source wall_alone = {"wall", wall_begin, wall_source_step, wall_end};
static const haptic_source wall_and_hand = {"wall, beside a hand that simulates", hand_begin, wall_source_step,
                                            wall_end};

/* ---------------------------------------------------------------------------------------------------------- the loop */

typedef struct source_thread {
    const haptic_source *source;
    void *context;
    thenar_haptic *haptic;
    atomic_bool stop;
    uint64_t steps;
    double seconds;
} source_thread;

static void *source_main(void *argument) {
    source_thread *t = argument;
    int64_t began = clock_now(), next = began;
    thenar_haptic_linear linear;
    while (!atomic_load(&t->stop)) {
        double position[3] = {0, 0.02, 0}, velocity[6] = {0};
        thenar_haptic_pose(t->haptic, 0, 1e-9 * STEP_NS, position, NULL, velocity);
        t->source->step(t->context, position, velocity, &linear);
        linear.step = ++t->steps;
        thenar_haptic_publish(t->haptic, 0, &linear);
        next += STEP_NS;
        if (next < clock_now()) next = clock_now();
        struct timespec at = {next / NS, next % NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    t->seconds = 1e-9 * (double)(clock_now() - began);
    return NULL;
}

static thenar_status write_script(char *path, thenar_error *error) {
    int file = mkstemp(path);
    if (file < 0) return error_errno(error, path, "create");
    static const char script[] =
        "{\"stiffness\": 500, \"damping\": 10, \"repeat\": true, \"keys\": ["
        "{\"t\": 0, \"position\": [0, 0.02, 0]}, {\"t\": 0.4, \"position\": [0, -0.01, 0]}, "
        "{\"t\": 0.8, \"position\": [0.03, -0.01, 0]}, {\"t\": 1.2, \"position\": [0, 0.02, 0]}]}";
    ssize_t written = write(file, script, sizeof script - 1);
    close(file);
    return written == (ssize_t)sizeof script - 1 ? THENAR_OK : error_errno(error, path, "write");
}

static thenar_status run_loop(const haptic_source *source, double rate, int seconds, table *results,
                              thenar_error *error) {
    char path[] = "/tmp/thenar-haptic-XXXXXX", device[64];
    source_thread t = {.source = source};
    thenar_haptic_stats stats;
    thenar_status status = write_script(path, error);
    if (status != THENAR_OK) return status;
    snprintf(device, sizeof device, "user:%s", path);
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    thenar_haptic_def def = thenar_haptic_def_default();
    handle.device = device;
    def.handles = &handle;
    def.handle_count = 1;
    def.rate = rate;
    status = source->begin(&t.context, error);
    if (status == THENAR_OK) {
        status = thenar_haptic_create(&def, &t.haptic, error);
        if (status == THENAR_OK) status = thenar_haptic_start(t.haptic, error);
        pthread_t thread;
        if (status == THENAR_OK && pthread_create(&thread, NULL, source_main, &t) == 0) {
            sleep((unsigned)seconds);
            thenar_haptic_read_stats(t.haptic, &stats);
            atomic_store(&t.stop, true);
            pthread_join(thread, NULL);
            table_add_row(results);
            table_text(results, "what", "%s", source->name);
            table_number(results, "rate_hz", rate);
            table_number(results, "seconds", stats.seconds);
            table_number(results, "period_p50_us", stats.period_p50_us);
            table_number(results, "period_p99_us", stats.period_p99_us);
            table_number(results, "period_p999_us", stats.period_p999_us);
            table_number(results, "period_worst_us", stats.period_worst_us);
            table_number(results, "ticks", (double)stats.ticks);
            table_number(results, "missed", (double)stats.missed);
            table_number(results, "tick_p50_us", stats.tick_p50_us);
            table_number(results, "tick_p99_us", stats.tick_p99_us);
            table_number(results, "latency_us", stats.handles[0].latency_worst_us);
            table_number(results, "visual_hz", (double)t.steps / t.seconds);
            table_number(results, "energy_mj", 1e3 * stats.handles[0].energy_worst);
            table_text(results, "paper", "1 kHz and 30 fps (garre2009)");
            printf("%s, %.0f Hz: %s\n", source->name, rate, thenar_haptic_real_time(t.haptic));
        }
        thenar_haptic_free(t.haptic);
        source->end(t.context);
    }
    unlink(path);
    return status;
}

/* --------------------------------------------------------------------------------------------------- in simulated time */

#define BATCH 1000

static void tick_batch(void *context) {
    haptic_world *w = context;
    device_sample sample = {.number = 1};
    user_sample(&w->person, 1, &sample.body);
    for (int i = 0; i < BATCH; i++) {
        sample.number = w->told.step = (uint64_t)++w->tick;
        w->told.published_ns = w->tick * 1000000;
        haptic_tick(&w->settings, &w->state, &sample, &w->told, w->tick * 1000000, 1e-3, w->wrench);
    }
}

static thenar_status time_tick(table *results, thenar_error *error) {
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 0.5), 3000);
    while (w.tick < 1200) haptic_world_tick(&w);
    bench_clock clock;
    thenar_status status = bench_clock_create(&clock, tick_batch, &w, 101, error);
    if (status != THENAR_OK) return status;
    bench_clock_round(&clock, 101);
    table_add_row(results);
    table_text(results, "what", "a tick alone, in contact");
    table_number(results, "tick_p50_us", bench_clock_median(&clock) / BATCH);
    bench_clock_free(&clock);
    return THENAR_OK;
}

static void add_stiffest(table *results, const char *name, bool plain, bool held, double most_drag, const char *paper) {
    stiff_wall wall = stiffest(plain, held, most_drag);
    table_add_row(results);
    table_text(results, "what", "%s", name);
    table_number(results, "rate_hz", 1000);
    table_number(results, "stiffest_n_m", wall.felt);
    table_number(results, "drag_n", wall.drag);
    table_text(results, "paper", "%s", paper);
}

static void add_hands(table *results, double step, bool plain, bool passivity) {
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    settings.plain = plain;
    settings.passivity = passivity;
    calm_hands all = try_hands(settings, step);
    table_add_row(results);
    table_text(results, "what", "%d hands at walls, steps of %.0f ms%s%s", all.runs, 1e3 * step, plain ? ", plain" : "",
               passivity ? "" : ", passivity off");
    table_number(results, "rate_hz", 1000);
    table_number(results, "energy_mj", 1e3 * all.energy);
    table_number(results, "not_calm", all.not_calm);
    table_number(results, "visual_hz", 1 / step);
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    int seconds = request->repeats > 0 ? request->repeats : USUAL_SECONDS;
    table_add_column(results, "what", "what", 0);
    table_add_column(results, "rate_hz", "asked Hz", 0);
    table_add_column(results, "seconds", "s", 0);
    table_add_column(results, "period_p50_us", "period p50 us", 0);
    table_add_column(results, "period_p99_us", "p99", 0);
    table_add_column(results, "period_p999_us", "p99.9", 0);
    table_add_column(results, "period_worst_us", "worst", 0);
    table_add_column(results, "ticks", "ticks", 0);
    table_add_column(results, "missed", "missed", 0);
    table_add_column(results, "tick_p50_us", "tick p50 us", 2);
    table_add_column(results, "tick_p99_us", "p99", 2);
    table_add_column(results, "latency_us", "news to force, worst us", 0);
    table_add_column(results, "visual_hz", "steps/s", 0);
    table_add_column(results, "energy_mj", "most out over in mJ", 3);
    table_add_column(results, "not_calm", "that swing up", 0);
    table_add_column(results, "stiffest_n_m", "stiffest stable wall N/m", 0);
    table_add_column(results, "drag_n", "drag at 0.2 m/s N", 3);
    table_add_column(results, "paper", "papers", 0);
    thenar_status status = time_tick(results, error);
    const double rates[] = {1000, 4000, 10000};
    for (int i = 0; i < 3 && status == THENAR_OK; i++)
        status = run_loop(&wall_alone, rates[i], USUAL_SECONDS, results, error);
    if (status == THENAR_OK) status = run_loop(&wall_and_hand, 1000, seconds, results, error);
    if (status != THENAR_OK) return status;
    for (int passivity = 1; passivity >= 0; passivity--) {
        add_hands(results, 0.005, false, passivity);
        add_hands(results, 0.01, false, passivity);
        add_hands(results, 0.033, false, passivity);
    }
    add_stiffest(results, "linearized", false, false, 0.1, "");
    add_stiffest(results, "the simulation's force, held", false, true, 0.1, "");
    add_stiffest(results, "plain coupling, drag under 0.1 N", true, false, 0.1, "perez2013, 4.4");
    add_stiffest(results, "plain coupling, any drag", true, false, INFINITY, "perez2013, 4.4");
    return THENAR_OK;
}

const bench_entry bench_haptic = {.name = "haptic",
                                  .summary = "the haptic loop: punctuality, cost, latency, stiffest stable wall",
                                  .run = run,
                                  .plot = NULL};
