/* A finger that wears a tactile device: what the device is to do while a plate is pressed on the finger's pad, and what
 * the pad feels. With a target (osc:127.0.0.1:9000, serial:/dev/ttyUSB0, csv:FILE, plugin:FILE) the commands are sent
 * there too.
 *
 *     cc tactile.c -o tactile $(pkg-config --cflags --libs thenar-io)
 *     ./tactile tactile-flat [TARGET]
 */
#include <stdio.h>
#include <stdlib.h>
#include <thenar/thenar.h>

static void stop_on_error(thenar_status status, const thenar_error *error) {
    if (status == THENAR_OK) return;
    fprintf(stderr, "tactile: %s\n", error->text);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: tactile SCENE [TARGET]\n");
        return 1;
    }
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    thenar_tactile *tactile;
    thenar_output *output = NULL;
    stop_on_error(thenar_scene_load(argv[1], NULL, &model, NULL, &error), &error);
    stop_on_error(thenar_sim_create(model, NULL, &sim, &error), &error);
    stop_on_error(thenar_tactile_create(model, NULL, &tactile, &error), &error);
    if (argc > 2) stop_on_error(thenar_output_open(tactile, argv[2], 0, &output, &error), &error);

    const thenar_tactile_command *command = thenar_tactile_command_of(tactile, 0);
    const thenar_tactile_pad *pad = thenar_tactile_pad_of(tactile, thenar_tactile_device_pad(tactile, 0));
    for (int step = 1; step <= 100; step++) {
        if (thenar_sim_step(sim) != THENAR_OK) break;
        thenar_tactile_update(tactile, sim);
        if (output) thenar_output_push(output, tactile);
        if (step % 20 != 0) continue;
        printf("%.1f s: platform at %+.2f mm, pad pressed with %.2f N in %d of %d points\n", command->time,
               command->platform[2] * 1e3, pad->normal_force, pad->contact_count, pad->point_count);
    }
    thenar_output_close(output, NULL);
    thenar_tactile_free(tactile);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return 0;
}
