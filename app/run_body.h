/* What is told of each body after a step, in steps.csv and in summary.json. */
#ifndef APP_RUN_BODY_H
#define APP_RUN_BODY_H

#include "thenar/thenar.h"

/* Forces on a body in the last step. With its weight and the loads of the scene, contact and supports are all that acts
 * on it. Torques are about the centroid. */
typedef struct run_body_figures {
    double centroid[3];       /* of a soft body the mean of the nodes weighted by mass, of a rigid one its centre, m */
    double force[3];          /* of contact, N */
    double torque[3];         /* of contact, N m */
    double contact_area;      /* of the skin that touches, m^2 */
    int contacts;             /* points that push */
    double normal_force;      /* the sum of their normal forces, N */
    double friction_ratio;    /* the sum of their friction forces over that of the normal ones: mu where all slip */
    double pressure;          /* normal force over area, Pa; 0 without area */
    double largest_pressure;  /* of one point, Pa */
    double support_force[3];  /* of all supports of a soft body, N; 0 of a rigid one */
    double support_torque[3]; /* N m */
} run_body_figures;

run_body_figures run_body_measure(const thenar_sim *sim, int body);

/* Rigid bodies have no supports. */
bool run_body_is_rigid(const thenar_model *model, int body);

#endif
