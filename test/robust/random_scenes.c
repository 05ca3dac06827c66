/* Random worlds (random_scene.h), each for some simulated seconds: no crash, nothing that is not a number, energy that
 * came from somewhere (random_ledger.h), no allocation in a step.
 *
 *   robust_random_scenes [--seed N] [--count N] [--simulated S] [--seconds S] [--replay FILE] [--keep FILE]
 *                        [--patience S] [--quiet] [--trace]
 *
 * Worlds of the seeds N, N + 1, ...; --replay: those of a file instead, one seed a line. --seconds: stop after about
 * that long. --keep: seeds of failures are added to that file. --patience: a world is left after so many
 * seconds of processor time, 60 by default, and counted as cut short. Each world is a process of its own, so
 * that a crash is one failure. --trace: a line a step. */
#include "random_ledger.h"
#include "random_scene.h"

#include "allocations.h"
#include "core/threads.h"
#include "finite.h"
#include "poses.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool traced;
static double patience = 60; /* s of processor time */

#define LONGEST 120 /* s of processor time for one world */

/* What came of a world; the child hands it over through a pipe. */
typedef struct outcome {
    char scene[512], failure[512];
    long steps, failed, split, unconverged, lost, inverted, slowed;
    int contacts; /* the most that pushed at once */
    double share, share_time, energy;
    double simulated; /* s */
    bool cut_short;
    long allocations;
    double cpu;
} outcome;

static void jump_hand(random_scene *s, thenar_sim *sim, int hand) {
    double wrist[7], angles[THENAR_HAND_ANGLES];
    thenar_sim_hand_target(sim, hand, wrist, angles);
    for (int k = 0; k < THENAR_HAND_ANGLES; k++) angles[k] = scene_between(s, -1, 2);
    for (int k = 0; k < 3; k++) wrist[k] += scene_between(s, -0.1, 0.1);
    thenar_sim_drive_hand_angles(sim, hand, wrist, angles);
}

/* Driven bodies, supports, handles and hands go elsewhere within one step; forces change. */
static void disturb(random_scene *s, thenar_sim *sim) {
    const thenar_model *model = thenar_sim_model(sim);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        bool soft = thenar_model_body_kind(model, i) == THENAR_BODY_SOFT, now = scene_chance(s, 0.5);
        double move[3], turn[4], torque[3];
        vec3_store(move, scene_vector(s, scene_decades(s, 1e-3, 0.3)));
        vec3_store(torque, scene_vector(s, scene_decades(s, 1e-4, 1)));
        if (s->forces && now && soft)
            thenar_sim_apply_force(sim, i, scene_pick(s, thenar_model_mesh(model, i)->node_count), move);
        if (s->forces && now && !soft) thenar_sim_apply_wrench(sim, i, move, torque);
        if (!s->jumps || !now) continue;
        if (soft && thenar_model_find_support(model, i, "held") >= 0) drive_support(sim, i, 0, move, torque);
        if (soft || thenar_model_motion(model, i) != THENAR_MOTION_DRIVEN) continue;
        quat q = quat_from_rotation_vector(vec3_load(torque));
        turn[0] = q.x, turn[1] = q.y, turn[2] = q.z, turn[3] = q.w;
        move[1] = fabs(move[1]);
        drive_body(sim, i, move, turn);
    }
    for (int i = 0; s->jumps && i < thenar_model_hand_count(model); i++) jump_hand(s, sim, i);
    for (int i = 0; s->jumps && i < thenar_model_handle_count(model); i++) {
        double pose[7] = {0, 0, 0, 0, 0, 0, 1};
        vec3_store(pose, scene_vector(s, 0.1));
        thenar_sim_drive_handle(sim, i, pose, NULL);
    }
}

static bool check_step(const thenar_sim *sim, const thenar_tactile *tactile, ledger *energy, outcome *out) {
    const char *nonsense = find_nonsense(sim);
    for (int i = 0; tactile && !nonsense && i < thenar_tactile_device_count(tactile); i++) {
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, i);
        if (!are_finite(c->platform, 3) || !are_finite(c->value, 3)) nonsense = "a tactile command";
    }
    if (nonsense) snprintf(out->failure, sizeof out->failure, "%s not finite", nonsense);
    if (!nonsense && !ledger_step(energy))
        snprintf(out->failure, sizeof out->failure, "%.3g J, but only %.3g J were supplied", energy->has,
                 energy->supplied);
    if (!out->failure[0]) return true;
    size_t used = strlen(out->failure);
    snprintf(out->failure + used, sizeof out->failure - used, " at %.6g s (step %llu)", thenar_sim_time(sim),
             (unsigned long long)thenar_sim_step_count(sim));
    return false;
}

static void run(random_scene *s, thenar_sim *sim, thenar_tactile *tactile, double simulated, outcome *out) {
    ledger energy = ledger_open(sim);
    long steps = lround(simulated / thenar_sim_dt(sim));
    double next = 0;
    for (long i = 0; i < steps; i++) {
        /* The last fifth is left alone. */
        if (thenar_sim_time(sim) >= next && (s->jumps || s->forces) && i < steps * 4 / 5) {
            disturb(s, sim);
            next = thenar_sim_time(sim) + scene_decades(s, 0.003, 0.5);
        }
        long before = allocation_count;
        thenar_sim_step(sim);
        if (tactile) thenar_tactile_update(tactile, sim);
        out->allocations += allocation_count - before;
        out->steps++;
        const thenar_stats *stats = thenar_sim_stats(sim);
        if (stats->contacts > out->contacts) out->contacts = stats->contacts;
        bool good = check_step(sim, tactile, &energy, out);
        if (traced)
            printf("%.6g s: %.6g J of %.6g J, %d contacts, %d inverted, %d unconverged, residual %.2g\n",
                   thenar_sim_time(sim), energy.has, energy.supplied, stats->contacts, stats->inverted_tets,
                   stats->unconverged, stats->residual);
        out->cut_short = (double)clock() / CLOCKS_PER_SEC > patience && i + 1 < steps;
        if (!good || out->cut_short) break;
    }
    if (!out->failure[0] && out->allocations > 0)
        snprintf(out->failure, sizeof out->failure, "%ld allocations in steps", out->allocations);
    out->failed = (long)thenar_sim_warning_count(sim, THENAR_WARNING_STEP_FAILED);
    out->split = (long)thenar_sim_warning_count(sim, THENAR_WARNING_STEP_SPLIT);
    out->unconverged = (long)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED);
    out->lost = (long)thenar_sim_warning_count(sim, THENAR_WARNING_CONTACTS_LOST);
    out->inverted = (long)thenar_sim_warning_count(sim, THENAR_WARNING_INVERTED);
    out->slowed = (long)thenar_sim_warning_count(sim, THENAR_WARNING_SPIN_LIMITED);
    out->simulated = thenar_sim_time(sim);
    out->share = energy.worst;
    out->share_time = energy.worst_time;
    out->energy = energy.has;
}

/* The child's part. */
static void play(uint64_t seed, double simulated, outcome *out) {
    random_scene s;
    thenar_sim *sim = scene_make(&s, seed);
    snprintf(out->scene, sizeof out->scene, "%s", s.text);
    if (!sim) {
        snprintf(out->failure, sizeof out->failure, "not made: %.400s", s.error.text);
        return;
    }
    thenar_tactile *tactile = NULL;
    thenar_error error;
    if (thenar_model_tactile_count(thenar_sim_model(sim)) > 0 &&
        thenar_tactile_create(thenar_sim_model(sim), NULL, &tactile, &error) != THENAR_OK)
        snprintf(out->failure, sizeof out->failure, "tactile: %.400s", error.text);
    else
        run(&s, sim, tactile, simulated, out);
    thenar_tactile_free(tactile);
    thenar_sim_free(sim);
    out->cpu = (double)clock() / CLOCKS_PER_SEC;
}

static outcome play_apart(uint64_t seed, double simulated) {
    outcome out = {0};
    int ends[2];
    if (pipe(ends) != 0) {
        snprintf(out.failure, sizeof out.failure, "no pipe");
        return out;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        setrlimit(RLIMIT_CPU, &(struct rlimit){LONGEST, LONGEST + 5});
        play(seed, simulated, &out);
        bool whole = write(ends[1], &out, sizeof out) == (ssize_t)sizeof out;
        exit(whole ? 0 : 1); /* not _exit: a sanitizer looks for leaks then */
    }
    close(ends[1]);
    bool whole = child > 0 && read(ends[0], &out, sizeof out) == (ssize_t)sizeof out;
    close(ends[0]);
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (whole && (out.failure[0] || status == 0)) return out;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        snprintf(out.failure, sizeof out.failure, "took longer than %d s", LONGEST);
    else
        snprintf(out.failure, sizeof out.failure, "crashed (status %#x)", (unsigned)status);
    return out;
}

typedef struct totals {
    long worlds, failures, cut_short, steps, failed, split, unconverged, lost, inverted, slowed;
    int contacts;
    double share, simulated;
} totals;

static void count(totals *all, uint64_t seed, const outcome *out, const char *keep, bool quiet) {
    all->worlds++;
    all->steps += out->steps;
    all->cut_short += out->cut_short;
    all->simulated += out->simulated;
    all->failed += out->failed;
    all->split += out->split;
    all->unconverged += out->unconverged;
    all->lost += out->lost;
    all->inverted += out->inverted;
    all->slowed += out->slowed;
    if (out->contacts > all->contacts) all->contacts = out->contacts;
    if (out->share > all->share) all->share = out->share;
    bool bad = out->failure[0];
    if (bad || !quiet)
        printf("%s seed %llu: %s: %ld steps, %d contacts, energy %.3g of supplied at %.3g s, failed %ld, split %ld, "
               "unconverged %ld, inverted %ld, %.1f s%s%s%s\n",
               bad ? "FAILED" : "ok", (unsigned long long)seed, out->scene, out->steps, out->contacts, out->share,
               out->share_time, out->failed, out->split, out->unconverged, out->inverted, out->cpu,
               out->cut_short ? ", cut short" : "", bad ? ": " : "", out->failure);
    if (!bad) return;
    all->failures++;
    printf("  again: robust_random_scenes --seed %llu --count 1\n", (unsigned long long)seed);
    FILE *file = keep ? fopen(keep, "a") : NULL;
    if (file) {
        fprintf(file, "%llu\n", (unsigned long long)seed);
        fclose(file);
    }
}

int main(int argc, char **argv) {
    uint64_t seed = 1;
    long max = 500;
    double simulated = SCENE_SECONDS, seconds = INFINITY;
    const char *replay = NULL, *keep = NULL;
    bool quiet = false;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        quiet = quiet || strcmp(argv[i], "--quiet") == 0;
        traced = traced || strcmp(argv[i], "--trace") == 0;
        if (strcmp(argv[i], "--quiet") == 0 || strcmp(argv[i], "--trace") == 0) continue;
        if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--count") == 0)
            max = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--simulated") == 0)
            simulated = strtod(value, NULL);
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = strtod(value, NULL);
        else if (strcmp(argv[i], "--patience") == 0)
            patience = strtod(value, NULL);
        else if (strcmp(argv[i], "--replay") == 0)
            replay = value;
        else if (strcmp(argv[i], "--keep") == 0)
            keep = value;
        else {
            fprintf(stderr, "random_scenes: %s is not an option; see the head of test/robust/random_scenes.c\n",
                    argv[i]);
            return 2;
        }
        i++;
    }
    FILE *list = replay ? fopen(replay, "r") : NULL;
    if (replay && !list) {
        fprintf(stderr, "random_scenes: cannot open %s\n", replay);
        return 2;
    }
    /* All at once: a child that ends would take the file back to where it stands. */
    static uint64_t seeds[1000];
    long seed_count = 0;
    char line[256];
    while (list && seed_count < 1000 && fgets(line, sizeof line, list))
        if (line[0] >= '0' && line[0] <= '9') seeds[seed_count++] = strtoull(line, NULL, 10);
    if (list) fclose(list);
    if (list) max = seed_count;
    totals all = {0};
    int64_t start = clock_now();
    for (long i = 0; i < max && (double)(clock_now() - start) * 1e-9 <= seconds; i++) {
        uint64_t now = list ? seeds[i] : seed + (uint64_t)i;
        outcome out = play_apart(now, simulated);
        count(&all, now, &out, keep, quiet);
    }
    printf(
        "%ld worlds, %ld of them cut short, %.1f s simulated, %ld steps: %ld failed and held, %ld done in pieces, %ld "
        "not converged, %ld with contacts "
        "left out, %ld that began with inverted tets, %ld in which a spin was limited; at most %d contacts; energy at "
        "most %.3g of what was supplied\n",
        all.worlds, all.cut_short, all.simulated, all.steps, all.failed, all.split, all.unconverged, all.lost,
        all.inverted, all.slowed, all.contacts, all.share);
    printf("random scenes\t%ld\t%ld\n", all.worlds, all.failures);
    return all.failures > 0;
}
