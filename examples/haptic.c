/* Force feedback without the rest of Thenar: a wall that is computed here, at 100 steps a second, is felt at 1000.
 * usage: haptic [DEVICE] [SECONDS]      DEVICE: user: (a simulated person, the default), osc:PORT, ws:PORT, plugin:FILE */
#include <thenar/haptic.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WALL 2000.0 /* N/m, below y = 0 */

int main(int argc, char **argv) {
    thenar_error error;
    thenar_haptic_handle handle = thenar_haptic_handle_default();
    handle.device = argc > 1 ? argv[1] : "user:";
    thenar_haptic_def def = thenar_haptic_def_default();
    def.handles = &handle;
    def.handle_count = 1;
    thenar_haptic *haptic;
    if (thenar_haptic_create(&def, &haptic, &error) != THENAR_OK || thenar_haptic_start(haptic, &error) != THENAR_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    printf("%s\n", thenar_haptic_real_time(haptic));
    double seconds = argc > 2 ? atof(argv[2]) : 1, strongest = 0;
    char notice[256];
    thenar_haptic_stats stats;
    for (int step = 1; step <= 100 * seconds; step++) {
        /* One step of a simulation: the handle is where coupling and wall are in balance. */
        double x[3] = {0, 1, 0};
        thenar_haptic_pose(haptic, 0, 0.01, x, NULL, NULL);
        double y = x[1] < 0 ? x[1] * handle.settings.stiffness / (handle.settings.stiffness + WALL) : x[1];
        thenar_haptic_linear linear = {.position = {x[0], y, x[2]}, .orientation = {0, 0, 0, 1}, .step_length = 0.01};
        linear.step = (uint64_t)step;
        linear.contacts = y < 0;
        if (y < 0) {
            linear.force[1] = -WALL * y; /* what the tool does to the handle, */
            linear.stiffness[7] = WALL;  /* and how that changes as the handle moves up */
        }
        thenar_haptic_publish(haptic, 0, &linear);
        thenar_haptic_read_stats(haptic, &stats);
        if (stats.handles[0].force[1] > strongest) strongest = stats.handles[0].force[1];
        if (thenar_haptic_notice(haptic, notice, sizeof notice)) printf("%s\n", notice);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    thenar_haptic_read_stats(haptic, &stats);
    printf("%llu ticks, period p50 %.0f us, worst %.0f us; the wall pushed with up to %.1f N\n",
           (unsigned long long)stats.ticks, stats.period_p50_us, stats.period_worst_us, strongest);
    thenar_haptic_free(haptic);
    return 0;
}
