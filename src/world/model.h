/* A compiled world: thenar_model. */
#ifndef WORLD_MODEL_H
#define WORLD_MODEL_H

#include "body/body.h"
#include "body/rigid.h"
#include "body/soft.h"
#include "contact/contact.h"
#include "core/error.h"
#include "core/shared.h"
#include "hand/hand.h"
#include "solver/solver.h"

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
    int bones_count;     /* hands whose bones are coupled with their flesh */
    body_model **bodies; /* body_count bodies of the API, then the handles, then the bones */
    int hand_count;
    hand_model **hands;
    int tactile_count;
    thenar_tactile_def *tactile; /* devices on the hands; src/tactile/ reads them */
    void *attachment;            /* data of libthenar_io (haptic_scene), or NULL */
    void (*free_attachment)(void *attachment);
    int system_count;
    system_model *systems;
    int *system_of;     /* of each mover */
    int *first_node_of; /* first node of each mover in its system */
    contact_model contacts;
    contact_method contact; /* for simulations that do not choose one */
    thenar_bones bones;
    uint64_t hash; /* of everything that gives a state its meaning; a snapshot has it */
    int warning_count;
    char **warnings;
};

/* Adds an owner. */
void model_keep(const thenar_model *model);

/* Number of bodies, handles and bones. */
static inline int model_mover_count(const thenar_model *model) {
    return model->body_count + model->handle_count + model->bones_count;
}

static inline bool model_is_rigid(const thenar_model *model, int body) {
    return model->bodies[body]->kind == &rigid_class;
}

/* The soft body, rigid body or handle of that index; a wrong index is an assert. */
const handle_model *model_handle(const thenar_model *model, int handle) SHARED(model_handle);
const soft_model *model_soft(const thenar_model *model, int body);
const bones_model *model_bones(const thenar_model *model, int bones);
const rigid_model *model_rigid(const thenar_model *model, int body);

/* The checks that API functions begin with. object: the parameter that has the model; body, hand and handle are parameters
 * too. */
#define USAGE_ELEMENT(object, element, count, result)                                                                  \
    do {                                                                                                               \
        USAGE_POINTER(object, result);                                                                                 \
        USAGE_INDEX(element, count, result);                                                                           \
    } while (0)
#define USAGE_BODY(object, model, result) USAGE_ELEMENT(object, body, (model)->body_count, result)
#define USAGE_HAND(object, model, result) USAGE_ELEMENT(object, hand, (model)->hand_count, result)
#define USAGE_HANDLE(object, model, result) USAGE_ELEMENT(object, handle, (model)->handle_count, result)
#define USAGE_KIND(object, model, rigid, result)                                                                       \
    do {                                                                                                               \
        USAGE_BODY(object, model, result);                                                                             \
        USAGE(model_is_rigid(model, body) == rigid, result, "body %d (%s) is %s; expected a %s one", body,             \
              (model)->bodies[body]->name, rigid ? "soft" : "rigid", rigid ? "rigid" : "soft");                        \
    } while (0)

#define MODEL_DT_SMALLEST 1e-6 /* s */
#define MODEL_DT_LARGEST 1.0   /* s */
#define MODEL_FRICTION_LARGEST 100.0
#define MODEL_MARGIN_LARGEST 1.0             /* m */
#define MODEL_GRAVITY_LARGEST 1e6            /* m/s^2 */
#define MODEL_CONTACT_STIFFNESS_LARGEST 1e13 /* Pa/m */
#define MODEL_CONTACT_DAMPING_LARGEST 1e10   /* Pa s/m */

#endif
