/* All contacts of a world. The model says which bodies may touch; the state has the points where they do, their
 * constraints, their memory from step to step, and the report of the last step.
 *
 * A contact passes through skin.c and faces.c (the points and triangles of a body), find.c (contact points near
 * another body), constraint.c (a constraint per point) or penalty.c (springs) or patch.c and patch_law.c (patches of
 * points), and report.c. step.c calls them in this order for world/step.c. */
#ifndef CONTACT_CONTACT_H
#define CONTACT_CONTACT_H

#include "contact/constraint.h"
#include "contact/find.h"
#include "contact/patch.h"
#include "core/shared.h"

#include "thenar/sim.h"

/* Spring contacts: penalty.c has the law. */

/* Stiffness and damping per area of skin, so that they do not depend on the mesh. */
typedef struct penalty_law {
    double stiffness; /* Pa/m */
    double damping;   /* Pa s/m */
} penalty_law;

#define PENALTY_RIGID_AREA 1e-4 /* m^2: area of a point of a rigid body */
#define PENALTY_AREA_MIN 1e-7   /* m^2: minimum of a soft point; skin seen edge on has none */

typedef struct penalty_term {
    double k, rho;             /* N/m */
    vec3 still;                /* z at d = 0, N */
    cone_state state;          /* of the linearization */
    double bound;              /* N: friction is limited to mu times this */
    double share, last_change; /* damping of the update of the bound; its last change, N */
    vec3 slip;                 /* t, if it slips */
    int turns;                 /* how often that reversed */
    double secant;             /* its own s, after that */
    mat3 K;                    /* N/m, in the frame */
    vec3 offset;               /* f + K B d, N: the linearized force is offset - K B d */
    vec3 motion;               /* B d of the last evaluation, m */
    vec3 z;                    /* of the last evaluation, N */
} penalty_term;

/* Linearizes the law for the first solve, at d (the continued motion, say): with the remembered force or, if there is
 * none and d leads inside, without friction. */
void penalty_begin(penalty_term *term, const contact *c, const contact_point *point, const penalty_law *law, double h,
                   const double *d);

/* How well the linearized forces agree with the law at the solution. */
typedef struct penalty_fit {
    bool same;     /* no contact pulls, and none that touches was left open */
    double change; /* N: largest difference between linearized force and law */
    double mean;   /* N: mean normal force of the active contacts */
    int active;
} penalty_fit;

/* Evaluates the contact at d and adds it to the fit; `mean` is a sum until all are added. */
void penalty_evaluate(penalty_term *term, const contact *c, const double *d, penalty_fit *fit);
/* Linearizes the law at the last evaluation; secant: s. */
void penalty_renew(penalty_term *term, const contact *c, double secant);
/* The end of the step: sets the contact's force, by the linearization, and moves its anchor. */
void penalty_settle(const penalty_term *term, contact *c);

typedef struct contact_model {
    double margin;                    /* m */
    penalty_law law;                  /* of spring contacts */
    thenar_contact_pressure pressure; /* of aggregated contacts */
    int capacity;                     /* maximum number of contacts at a time */
    int skin_count;
    contact_skin *skins;
    contact_faces *faces; /* skin_count: the triangles that others may touch; empty if none may */
    int *skin_of;         /* of each body, or -1 */
    int *skin_body;       /* skin_count: the body of each skin */
    int pair_count;
    contact_pair *pairs; /* all pairs, near or not, sorted by system. n dynamic rigid bodies have n (n - 1), 32 bytes
                          * each in the model and 8 in a simulation: 2.6 MB for the maximum of 256. */
    int target_count;
    int *targets; /* the second bodies of all pairs, ascending */
    int *pair_of; /* skin_count * target_count: index of the pair, or -1 */
} contact_model;

typedef struct contact_state {
    contact_skin_state *skins;
    const contact_skin_state **skin_pointers;
    contact_faces_state *faces; /* skin_count */
    contact_faces_state **face_pointers;
    const rigid_state **rigids; /* of each body, NULL for soft ones */
    broad_phase near;
    box *reach;                  /* boxes of the skins, then of the targets, over the whole step */
    int *near_pairs, *near_room; /* pair_count: indices of the pairs whose boxes overlap; scratch for sorting them */
    int near_count;
    contact_point *points;
    contact_memory *before; /* memory of the last step; `remembered` has the index of each point's entry, or -1 */
    int *remembered;
    contact *contacts;
    penalty_term *terms; /* of spring contacts, one per contact */
    patch_set patches;   /* of aggregated contacts */
    int system_count;
    int *system_start; /* system_count + 1: the contacts of each system */
    double *secant;    /* system_count: s in the slope of friction of spring contacts (penalty.c) */
    int point_count;
    int next_point; /* the first point that no system has made a contact of yet */
    int lost;       /* points beyond the capacity */
    /* part of snapshots and of the state hash: */
    long long *memory_count;
    contact_memory *memory;
    /* report of the last step: */
    thenar_contact *reported;
    thenar_contact_pair *pair_reports;
    int report_count, pair_report_count;
} contact_state;

/* Lists the pairs of bodies that may touch: both allow it, and one of them can move. On an error nothing is left to
 * free. */
thenar_status contact_model_create(body_model *const *bodies, int body_count, double margin, penalty_law law,
                                   contact_model *out, thenar_error *error);
/* Joins bodies that can both move, and may touch, in one island: island[body] is the same number for them. */
void contact_join_islands(const contact_model *contacts, body_model *const *bodies, int body_count, int *island);
/* Adds the pairs of nodes of one system that contacts couple. False: out of memory. */
bool contact_couple(const contact_model *contacts, body_model *const *bodies, const int *system_bodies,
                    const int *first_node, int system_body_count, body_couplings *couplings);
/* Sorts the pairs by system. system_of: the system of each body. */
thenar_status contact_model_assign(contact_model *contacts, body_model *const *bodies, int body_count,
                                   const int *system_of, thenar_error *error);
/* How many contacts a system can have at a time; couples_soft: whether some of them are between soft bodies. */
int contact_system_capacity(const contact_model *contacts, int system, bool *couples_soft);
void contact_model_free(contact_model *contacts);

void contact_state_layout(contact_state *state, const contact_model *contacts, int body_count, int system_count,
                          bool aggregate, int max_nodes, arena *kept, arena *work);
/* Fills in the pointers, once the state has its memory. */
void contact_state_open(contact_state *state, const contact_model *contacts, body_state *const *bodies, int body_count,
                        int system_count);
void contact_state_reset(contact_state *state, const contact_model *contacts);
/* Empties the report. */
void contact_report_clear(contact_state *state);

/* Contact methods; the first is the default. */
typedef enum contact_method {
    CONTACT_POINT = THENAR_CONTACT_POINT,
    CONTACT_AGGREGATE = THENAR_CONTACT_AGGREGATE,
    CONTACT_PENALTY = THENAR_CONTACT_PENALTY,
    CONTACT_NONE = THENAR_CONTACT_NONE,
    CONTACT_METHODS
} contact_method;
extern const char *const contact_method_names[CONTACT_METHODS] SHARED(contact_method_names);
extern const char *const contact_pressure_names[THENAR_CONTACT_PRESSURE_COUNT] SHARED(contact_pressure_names);
/* Whether the contact memory is valid in a copy of the kept state: counts and indices are in range, numbers are
 * finite. */
bool contact_memory_is_valid(const contact_model *contacts, const contact_state *state, const char *from_kept,
                             const char *kept);
/* Drops the memory of a body's contacts, after the body was moved by hand. */
void contact_forget(contact_state *state, const contact_model *contacts, int body);

/* The pairs that may come into contact within the step, ascending. The skins are up to date. */
void contact_find_pairs(contact_state *state, const contact_model *contacts, double margin, double h);
/* Finds the contact points at the start of the step, and the memory of each. */
void contact_find(contact_state *state, const contact_model *contacts, body_state *const *bodies,
                  const body_step *step);
/* Makes constraints of the points of system s, whose A is assembled. The systems are built in ascending order. Returns
 * how many constraints there are; they start at *out. */
int contact_build(contact_state *state, const contact_model *contacts, body_state *const *bodies, int s,
                  const contact_equations *equations, contact **out);

/* Aggregated contacts (patch.c). The contacts of system s become patches where its free motion ends; returns how many
 * there are; they start at *out. */
int contact_aggregate(contact_state *state, const contact_model *contacts, int s, const contact_equations *equations,
                      patch **out);
/* Distributes the forces of the patches of system s over their contacts. displacement: 3 per node, m, or NULL. */
void contact_spread(contact_state *state, int s, const contact_equations *equations, const patch *patches, int count,
                    const double *displacement);

/* Contacts by springs (penalty.c). The contacts of system s become terms of A and b; returns how many links there
 * are. */
int contact_penalize(contact_state *state, const contact_model *contacts, int s, const contact_equations *equations);
/* Whether the linearized forces of system s agree with the contact law at the velocities v, to `tolerance` of the mean
 * force. pass: counts the solves of this step from 1. */
bool contact_penalty_fits(contact_state *state, int s, const contact_equations *equations, double tolerance, int pass);
/* Linearizes the forces there; returns how many links there are. */
int contact_penalty_renew(contact_state *state, int s, const contact_equations *equations);
/* All systems are solved: the final forces and anchors. */
void contact_penalty_settle(contact_state *state);

/* The bodies have moved. Stores what the next step starts from: the contacts that push. */
void contact_keep_memory(contact_state *state, const contact_model *contacts, body_state *const *bodies);

/* The report (report.c): every contact, the sums of each pair, the loads on supports and the touched nodes. */
void contact_report(contact_state *state, const contact_model *contacts, body_state *const *bodies);
bool contact_report_is_finite(const contact_state *state);

#endif
