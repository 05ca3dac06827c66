/* The contacts of a world: which bodies may touch (model), the points where they do, what these remember from step to
 * step, and what is told of them (state). The constraints themselves are in contact/contact.h. */
#ifndef CONTACT_CONTACTS_H
#define CONTACT_CONTACTS_H

#include "contact/contact.h"
#include "contact/find.h"
#include "contact/patch.h"
#include "contact/penalty.h"
#include "solver/system.h"

#include "thenar/sim.h"

/* Two bodies that may touch, or a soft one that may touch itself; ordered by system, so that the contacts of a system
 * stand together. All of them are listed, since a pair is known by its number: n dynamic rigid bodies have n (n - 1),
 * 40 bytes each in the model and 8 in a simulation, 3.1 MB for the 256 that there can be. A step only looks at those
 * that are near each other (contacts_near.c). */
typedef struct contacts_pair {
    int body[2]; /* whose points; whose distance */
    int system;
    double mu;
} contacts_pair;

struct contacts_model {
    double margin;                    /* m */
    penalty_law law;                  /* of contacts by springs */
    thenar_contact_pressure pressure; /* of aggregated contacts */
    int capacity;                     /* contacts at a time */
    int skin_count;
    contact_skin *skins;
    contact_faces *faces; /* a skin each: what others touch of it; empty where that is nothing */
    int *skin_of;         /* a body: its skin, or -1 */
    int *skin_body;       /* a skin: its body */
    int pair_count;
    contacts_pair *pairs;
    contact_pair *search; /* pair_count: the same as skin and rigid body, or skin and faces */
    int target_count;
    int *targets; /* the bodies that some skin may touch, ascending */
    int *pair_of; /* skin_count * target_count: the number of that pair, or -1 */
};

typedef struct contacts_state {
    contact_skin_state *skins;
    const contact_skin_state **skin_pointers;
    contact_faces_state *faces; /* a skin each, as in the model */
    contact_faces_state **face_pointers;
    const rigid_state **rigids; /* a body each, NULL for soft ones */
    broad_phase near;
    box *reach;                  /* of the skins, then of the rigid bodies that they may touch */
    int *near_pairs, *near_room; /* pair_count: numbers of the pairs whose reaches overlap; what sorting them needs */
    int near_count;
    contact_point *points;
    contact_memory *before; /* what the last step left, of which `remembered` tells each point's, or -1 */
    int *remembered;
    contact *contacts;
    penalty_term *terms; /* of contacts by springs, one a contact */
    patch_set patches;   /* of aggregated contacts */
    int *system_start;   /* system_count + 1: the contacts of each system */
    int point_count;
    int lost; /* points for which there was no room */
    /* kept */
    long long *memory_count;
    contact_memory *memory;
    /* what is told of the last step */
    thenar_contact *reported;
    thenar_contact_pair *pair_reports;
    int report_count, pair_report_count;
} contacts_state;

/* Which bodies may touch: both want it, and one of them can move. On an error nothing is left to free. */
thenar_status contacts_create(body_model *const *bodies, int body_count, double margin, penalty_law law,
                              contacts_model *out, thenar_error *error);
/* Puts bodies that can both move, and may touch, into one island: island[body] is the same number for them. */
void contacts_join(const contacts_model *contacts, body_model *const *bodies, int body_count, int *island);
/* The unknowns of a system's bodies that contacts couple. False: out of memory. */
bool contacts_couple(const contacts_model *contacts, body_model *const *bodies, const system_model *system,
                     body_couplings *couplings);
/* The systems are there. */
thenar_status contacts_assign(contacts_model *contacts, body_model *const *bodies, int body_count,
                              system_model *systems, thenar_error *error);
void contacts_free(contacts_model *contacts);

void contacts_layout(contacts_state *state, const contacts_model *contacts, int body_count, int system_count,
                     bool aggregate, int max_nodes, arena *kept, arena *work);
/* Once the state has its memory and knows its bodies. */
void contacts_open(contacts_state *state, const contacts_model *contacts, body_state *const *bodies, int body_count,
                   int system_count);
void contacts_reset(contacts_state *state, const contacts_model *contacts);
/* Nothing is told until the next step. */
void contacts_clear_report(contacts_state *state);

/* How bodies touch: the first is the default. */
typedef enum contact_method {
    CONTACT_POINT = THENAR_CONTACT_POINT,
    CONTACT_AGGREGATE = THENAR_CONTACT_AGGREGATE,
    CONTACT_PENALTY = THENAR_CONTACT_PENALTY,
    CONTACT_NONE = THENAR_CONTACT_NONE,
    CONTACT_METHODS
} contact_method;
extern const char *const contact_method_names[CONTACT_METHODS];
/* CONTACT_METHODS if there is none of that name. */
contact_method contact_method_find(const char *name);
/* Whether the contacts' memory is sound in a copy of the kept state that is to be taken over: its counts are indices,
 * its numbers finite. */
bool contacts_check(const contacts_model *contacts, const contacts_state *state, const char *from_kept,
                    const char *kept);
/* A body was put elsewhere: its contacts stick to nothing any more. */
void contacts_forget(contacts_state *state, const contacts_model *contacts, int body);

/* Finds the pairs that may have points near each other within the step, by ascending number. The skins are up to
 * date. */
void contacts_find_near(contacts_state *state, const contacts_model *contacts, double margin, double h);
/* Points near each other where the step begins, and what they remember. */
void contacts_find(contacts_state *state, const contacts_model *contacts, body_state *const *bodies,
                   const body_step *step);
/* Constraints of these points; the systems' A are there. */
void contacts_build(contacts_state *state, const contacts_model *contacts, body_state *const *bodies,
                    const system_model *systems, system_state *system_states, int system_count, const body_step *step);

/* Aggregated contacts (contacts_patches.c): the built contacts of each system that was moved freely become patches. */
void contacts_aggregate(contacts_state *state, const contacts_model *contacts, const system_model *systems,
                        system_state *system_states, int system_count, const body_step *step);
/* The systems are solved: what pushes patches out of what they are in. */
void contacts_displace(contacts_state *state, const system_model *systems, system_state *system_states,
                       int system_count, const body_step *step);
/* Where the points end, and their parts of the patches' forces. */
void contacts_spread(contacts_state *state, const system_model *systems, system_state *system_states, int system_count,
                     const body_step *step);

/* Contacts by springs (contacts_penalty.c): the built contacts become equations in A and b, and no constraints. */
void contacts_penalize(contacts_state *state, const contacts_model *contacts, const system_model *systems,
                       system_state *system_states, int system_count, const body_step *step);
/* Whether the equations of system s, solved in the pass of that number, fit the contacts' law at its velocities v. */
bool contacts_fit(contacts_state *state, const system_model *systems, system_state *system_states, int s, double h,
                  int pass);
/* New equations for there. */
void contacts_renew(contacts_state *state, const system_model *systems, system_state *system_states, int s, double h);
/* All are solved: the forces that acted, and the anchors. */
void contacts_settle(contacts_state *state, int system_count);

/* After the bodies were moved: what the next step starts from, what supports bear, what is told. */
void contacts_publish(contacts_state *state, const contacts_model *contacts, body_state *const *bodies,
                      int system_count);
/* Whether all that is told are numbers. */
bool contacts_are_finite(const contacts_state *state);

#endif
