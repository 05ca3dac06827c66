/* The compiled world behind thenar_model. */
#ifndef WORLD_MODEL_H
#define WORLD_MODEL_H

#include "body/body.h"
#include "body/rigid.h"
#include "body/soft.h"
#include "contact/contact.h"
#include "core/shared.h"
#include "hand/hand.h"
#include "hand/handle.h"
#include "solver/system.h"

#include "thenar/model.h"
#include "thenar/tactile.h"

#include <stdatomic.h>
#include <stdint.h>

struct thenar_model {
    atomic_int owners;
    char *name;
    vec3 gravity;
    double dt;
    int body_count;
    int handle_count;
    body_model **bodies; /* body_count that are seen, then the handles */
    int hand_count;
    hand_model **hands;
    int tactile_count;
    thenar_tactile_def *tactile; /* what the hands wear; src/tactile/ reads it */
    void *attachment;            /* data of libthenar_io (haptic_scene); NULL: none */
    void (*free_attachment)(void *attachment);
    int system_count;
    system_model *systems;
    int *system_of;     /* of each body and handle */
    int *first_node_of; /* where its unknowns start there */
    contact_model contacts;
    contact_method contact; /* of simulations that do not choose */
    uint64_t hash;          /* of what a state's meaning depends on */
    int warning_count;
    char **warnings;
};

/* One more owner. */
void model_keep(const thenar_model *model);

/* Bodies and handles: all that move. */
static inline int model_mover_count(const thenar_model *model) {
    return model->body_count + model->handle_count;
}

/* The soft or rigid body or the handle of that index; misuse is an assert. */
const handle_model *model_handle(const thenar_model *model, int handle) SHARED(model_handle);
const soft_model *model_soft(const thenar_model *model, int body);
const rigid_model *model_rigid(const thenar_model *model, int body);

#define MODEL_DT_SMALLEST 1e-6 /* s */
#define MODEL_DT_LARGEST 1.0   /* s */
#define MODEL_FRICTION_LARGEST 100.0
#define MODEL_MARGIN_LARGEST 1.0             /* m */
#define MODEL_GRAVITY_LARGEST 1e6            /* m/s^2 */
#define MODEL_CONTACT_STIFFNESS_LARGEST 1e13 /* Pa/m */
#define MODEL_CONTACT_DAMPING_LARGEST 1e10   /* Pa s/m */

#endif
