/* contacts.c: steps a scene and reads the contacts of every step */
#include <stdio.h>
#include <string.h>
#include <thenar/thenar.h>

int main(int argc, char **argv) {
    thenar_error error;
    thenar_model *model;
    thenar_scene_info info;
    thenar_sim *sim;
    if (argc != 2) return fprintf(stderr, "usage: contacts SCENE.yaml\n"), 2;
    if (thenar_scene_load(argv[1], NULL, &model, &info, &error) != THENAR_OK ||
        thenar_sim_create(model, NULL, &sim, &error) != THENAR_OK)
        return fprintf(stderr, "%s\n", error.text), 1;
    printf("time,points,sticking,normal_force,lift\n");
    while (thenar_sim_time(sim) < info.time) {
        thenar_sim_step(sim);
        const thenar_contact *contacts = thenar_sim_contacts(sim); /* no copy: valid until the next step */
        int points = 0, sticking = 0;
        double normal = 0, lift = 0;
        for (int i = 0; i < thenar_sim_contact_count(sim); i++) {
            const char *toucher = thenar_model_body_name(model, contacts[i].body[0]);
            const char *touched = thenar_model_body_name(model, contacts[i].body[1]);
            if (strcmp(toucher, "hand") != 0 || strcmp(touched, "cup") != 0 || contacts[i].force <= 0) continue;
            points++;
            sticking += contacts[i].sticks != 0;
            normal += contacts[i].force;
            /* Normal and friction act on the hand; the cup feels the opposite. */
            lift -= contacts[i].force * contacts[i].normal[1] + contacts[i].friction[1];
        }
        printf("%.2f,%d,%d,%.3f,%.3f\n", thenar_sim_time(sim), points, sticking, normal, lift);
    }
    thenar_sim_free(sim);
    thenar_model_free(model);
}
