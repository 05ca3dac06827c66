/* The shortest program: a soft beam bends under its weight.
 *
 *     cc first.c -o first $(pkg-config --cflags --libs thenar-io)
 *     ./first beam-soft
 */
#include <stdio.h>
#include <thenar/thenar.h>

int main(int argc, char **argv) {
    thenar_error error;
    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    if (argc != 2) return fprintf(stderr, "usage: first SCENE.yaml\n"), 2;
    if (thenar_scene_load(argv[1], NULL, &model, NULL, &error) != THENAR_OK ||
        thenar_sim_create(model, NULL, &sim, &error) != THENAR_OK)
        return fprintf(stderr, "%s\n", error.text), 1;

    int tip = thenar_model_mesh(model, 0)->node_count - 1; /* a box ends at its far corner */
    for (int step = 1; step <= 200 && thenar_sim_step(sim) == THENAR_OK; step++)
        if (step % 20 == 0)
            printf("%.2f s  tip at %.4f m\n", thenar_sim_time(sim), thenar_sim_positions(sim, 0)[3 * tip + 1]);
    thenar_sim_free(sim);
    thenar_model_free(model);
}
