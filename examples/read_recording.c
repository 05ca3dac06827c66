/* Reading what `thenar run SCENE --out DIR` recorded: the mean height of a body's nodes over time.
 *
 *     cc read_recording.c -o read_recording $(pkg-config --cflags --libs thenar-io)
 *     thenar run beam-soft --out out && ./read_recording out/recording.thenar beam
 */
#include <stdio.h>
#include <stdlib.h>
#include <thenar/thenar.h>

int main(int argc, char **argv) {
    thenar_error error;
    thenar_recording *recording;
    if (argc != 3) return fprintf(stderr, "usage: read_recording FILE BODY\n"), 2;
    if (thenar_recording_open(argv[1], &recording, &error) != THENAR_OK) return fprintf(stderr, "%s\n", error.text), 1;
    if (thenar_recording_damage(recording)) fprintf(stderr, "%s\n", thenar_recording_damage(recording));

    thenar_recording_info info = thenar_recording_get_info(recording);
    int frames = thenar_recording_frame_count(recording);
    printf("scene %s, %d frames, step %g s\n", info.scene, frames, info.dt);
    int body = thenar_recording_find_body(recording, argv[2]);
    if (body < 0) return fprintf(stderr, "%s: no body %s\n", argv[1], argv[2]), 1;
    int nodes = thenar_recording_body_at(recording, body)->node_count;
    if (nodes == 0) return fprintf(stderr, "%s: body %s has no nodes\n", argv[1], argv[2]), 1;

    double *positions = malloc(3 * (size_t)nodes * sizeof *positions);
    if (!positions) return 1;
    for (int frame = 0; frame < frames; frame++) {
        if (thenar_recording_read_positions(recording, body, frame, positions, &error) != THENAR_OK)
            return fprintf(stderr, "%s\n", error.text), 1;
        double height = 0;
        for (int i = 0; i < nodes; i++) height += positions[3 * i + 1] / nodes;
        printf("%8.3f s  %.6f m\n", thenar_recording_frame_time(recording, frame), height);
    }
    free(positions);
    thenar_recording_close(recording);
}
