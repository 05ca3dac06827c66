/* The thread of a device: opens it, goes round at the loop's rate (reads all that came, writes the newest force), and
 * closes it. Whatever the device's functions do, only this thread waits for them. */
#include "device/port.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define OPEN_SECONDS 5     /* that a plugin may take to open its device */
#define CLOSE_MS 500       /* and to let it go */
#define RAMP 0.01          /* s, of the watchdog's way to no force */
#define SAMPLES_AT_ONCE 64 /* that are read before a force is written again */

static void begin_call(device_port *d) {
    atomic_store_explicit(&d->call_began, clock_now(), memory_order_release);
}

static void end_call(device_port *d) {
    atomic_store_explicit(&d->call_began, 0, memory_order_release);
}

static void pump_samples(device_port *d) {
    device_sample sample = {0};
    for (int i = 0; i < SAMPLES_AT_ONCE && !atomic_load(&d->stop); i++) {
        begin_call(d);
        int came = device_read_once(d, 0, &sample);
        end_call(d);
        if (came == 0) return;
        if (came < 0) continue;
        memcpy(triple_slot(&d->samples), &sample, sizeof sample);
        triple_tell(&d->samples);
    }
}

/* The newest force; without a new one for too long, it ends in a ramp. */
static void pump_force(device_port *d) {
    const force_news *force = triple_read(&d->forces, NULL);
    if (force->count == 0) return;
    double late = 1e-9 * (double)(clock_now() - force->time_ns) - d->watchdog;
    double share = late <= 0 ? 1 : fmax(0, 1 - late / RAMP), values[THENAR_DEVICE_CHANNELS];
    if (late > 0 && !d->guarding) device_count(&d->watchdogs, 1);
    d->guarding = late > 0;
    for (int i = 0; i < force->count; i++) values[i] = share * force->values[i];
    begin_call(d);
    if (d->table->write(d->opened, values, force->count) < 0) device_count(&d->errors, 1);
    end_call(d);
}

static void pump_set_phase(device_port *d, enum pump_phase phase) {
    pthread_mutex_lock(&d->mutex);
    d->phase = phase;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->mutex);
}

static void *pump_main(void *argument) {
    device_port *d = argument;
    d->opened = d->table->open(d->argument, d->message, sizeof d->message);
    if (d->opened && d->table->describe) d->table->describe(d->opened, &d->info);
    pump_set_phase(d, d->opened ? PUMP_RUNS : PUMP_FAILED);
    int64_t period = (int64_t)(1e9 * d->period), next = clock_now();
    while (d->opened && !atomic_load(&d->stop)) {
        pump_samples(d);
        pump_force(d);
        next += period;
        int64_t now = clock_now();
        if (next < now) next = now;
        struct timespec at = {next / DEVICE_NS, next % DEVICE_NS};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
    if (d->opened) {
        const double none[THENAR_DEVICE_CHANNELS] = {0};
        const force_news *force = triple_read(&d->forces, NULL);
        if (force->count > 0) d->table->write(d->opened, none, force->count);
        d->table->close(d->opened);
    }
    /* Whoever comes second, this thread or the one that closes, frees the rest. */
    if (atomic_exchange(&d->done, true)) device_release(d);
    return NULL;
}

/* Gives the thread so many milliseconds to end; if it does not, it frees itself when it does. */
static bool pump_join(device_port *d, int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t end = (int64_t)until.tv_sec * DEVICE_NS + until.tv_nsec + ms * 1000000;
    until = (struct timespec){end / DEVICE_NS, end % DEVICE_NS};
    if (pthread_timedjoin_np(d->thread, NULL, &until) == 0) return true;
    pthread_detach(d->thread);
    if (!atomic_exchange(&d->done, true)) return false;
    /* It ended just now: it is about to return and touches nothing any more. */
    return true;
}

thenar_status pump_start(device_port *d, const char *text, thenar_error *error) {
    if (pthread_create(&d->thread, NULL, pump_main, d) != 0) {
        device_release(d);
        return error_set(error, THENAR_ERROR_MEMORY, "device %s: the system refused a thread", text);
    }
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += OPEN_SECONDS;
    pthread_mutex_lock(&d->mutex);
    int waited = 0;
    while (d->phase == PUMP_OPENING && waited == 0) waited = pthread_cond_timedwait(&d->changed, &d->mutex, &until);
    enum pump_phase phase = d->phase;
    pthread_mutex_unlock(&d->mutex);
    if (phase == PUMP_RUNS) return THENAR_OK;
    thenar_status status;
    if (phase == PUMP_OPENING)
        status = error_set(error, THENAR_ERROR_FILE, "device %s did not open within %d s", text, OPEN_SECONDS);
    else {
        d->message[sizeof d->message - 1] = 0;
        status = error_set(error, THENAR_ERROR_FILE, "device %s: %s", text, d->message[0] ? d->message : "cannot open");
    }
    atomic_store(&d->stop, true);
    if (pump_join(d, phase == PUMP_OPENING ? 0 : CLOSE_MS)) device_release(d);
    return status;
}

void pump_stop(device_port *d) {
    atomic_store(&d->stop, true);
    if (pump_join(d, CLOSE_MS)) device_release(d);
}
