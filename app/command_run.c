#include "app/command.h"
#include "app/run.h"
#include "app/support.h"

#include "thenar/recording.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static thenar_status state_file_save(const char *path, const thenar_sim *sim, thenar_error *error) {
    char part[4096];
    int length = snprintf(part, sizeof part, "%s.part", path);
    if (length < 0 || (size_t)length >= sizeof part)
        return fail(error, THENAR_ERROR_FILE, "the path of --save is too long");
    size_t size = thenar_sim_snapshot_size(sim);
    void *bytes = NEW_ARRAY(char, size);
    if (!bytes) return fail_memory(error, path);
    thenar_sim_snapshot(sim, bytes);
    FILE *file = create_file(part, error);
    thenar_status status = THENAR_ERROR_FILE;
    if (file) {
        fwrite(bytes, 1, size, file);
        status = close_file(file, part, error);
        if (status == THENAR_OK && rename(part, path) != 0) status = fail_errno(error, path, "replace");
        if (status != THENAR_OK) unlink(part);
    }
    free(bytes);
    return status;
}

static thenar_status state_file_restore(const char *path, thenar_sim *sim, thenar_error *error) {
    size_t size;
    char *bytes = read_file(path, &size, error);
    if (!bytes) return error->status;
    thenar_error reported;
    thenar_status status = thenar_sim_restore(sim, bytes, size, &reported);
    if (status != THENAR_OK) fail(error, status, "%s: %s", path, reported.text);
    free(bytes);
    return status;
}

static thenar_status state_file_replay(const char *path, thenar_sim *sim, thenar_error *error) {
    thenar_replay *replay;
    thenar_status status = thenar_replay_open(path, sim, &replay, error);
    if (status != THENAR_OK) return status;
    uint64_t steps = 0;
    for (int done = 0; !process_interrupted(); steps++) {
        status = thenar_replay_step(replay, &done, error);
        if (status != THENAR_OK || done) break;
    }
    thenar_replay_close(replay);
    if (status == THENAR_OK) printf("%s: %llu steps, each ends as recorded\n", path, (unsigned long long)steps);
    return status;
}

#define MAX_STEPS 1000000000

typedef struct run_request {
    option_list sets, sends, devices;
    bool offline;
    long steps, threads, iterations;
    double time, dt;
    const char *solver, *friction, *contact, *coupling, *bones, *out;
    const char *track;
    const char *save, *restore, *replay; /* files */
} run_request;

/* Appends a name to a list for the help, which marks the first as the default: "newton (default), ...". */
static void list_name(char *text, size_t size, const char *name, bool first) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s%s", first ? "" : ", ", name, first ? " (default)" : "");
}

static void list_solvers(char *text, size_t size) {
    text[0] = 0;
    for (int i = 0; i < thenar_solver_count(); i++) list_name(text, size, thenar_solver_name((thenar_solver)i), i == 0);
}

static void list_contact_methods(char *text, size_t size) {
    text[0] = 0;
    for (int i = 0; i < thenar_contact_method_count(); i++)
        list_name(text, size, thenar_contact_method_name((thenar_contact_method)i), i == 0);
}

/* The number of steps: as given, from a time, or up to the end of the scene's time. */
static thenar_status count_steps(const run_request *request, double scene_time, const thenar_sim *sim, long *steps,
                                 thenar_error *error) {
    *steps = request->steps;
    if (request->steps >= 0) return THENAR_OK;
    double time = request->time > 0 ? request->time : scene_time - thenar_sim_time(sim), dt = thenar_sim_dt(sim);
    if (!(time / dt >= 0.5 && time / dt <= MAX_STEPS))
        return fail(error, THENAR_ERROR_INPUT, "%s: time is %g s, %g steps of %g s; expected 1 to %d steps",
                    thenar_model_name(thenar_sim_model(sim)), time, time / dt, dt, MAX_STEPS);
    *steps = lround(time / dt);
    return THENAR_OK;
}

/* Stops after the current step if the process is interrupted. clock: steps wait until they are due; NULL: as fast as
 * possible. */
static thenar_status step_all(thenar_sim *sim, long steps, const run_facts *facts, thenar_pace *clock,
                              run_output *output, thenar_error *error) {
    const char *scene = facts->scene;
    char note[RUN_PACE_TEXT] = "";
    double dt = thenar_sim_dt(sim);
    progress line = progress_start(scene, "steps", (double)steps);
    line.note = note;
    thenar_status status = THENAR_OK;
    for (long i = 0; i < steps && status == THENAR_OK && !process_interrupted(); i++) {
        run_haptic_before(facts->haptic, sim);
        if (clock) run_pace_limit(clock, facts->iterations, sim);
        if (thenar_sim_step(sim) != THENAR_OK)
            status = fail(error, THENAR_ERROR_NUMERIC, "%s: step %ld at %g s failed; the state before it was kept",
                          scene, i + 1, thenar_sim_time(sim));
        run_haptic_after(facts->haptic, sim, status == THENAR_OK);
        run_tactile_step(facts->tactile, sim);
        if (clock) {
            thenar_pace_stepped(clock, clock_ns(), 1, dt);
            run_haptic_late(facts->haptic, clock);
            run_pace_text(clock, 1, note);
        }
        if (status == THENAR_OK) status = run_output_step(output, sim, error);
        progress_update(&line, (double)(i + 1));
        if (clock) run_pace_wait(clock, dt);
    }
    progress_end(&line);
    return status;
}

/* time: duration of the run in simulated time, s. */
static void report(const run_request *request, const thenar_sim *sim, run_output *output, const char *scene,
                   double time, double wall) {
    double median, longest;
    run_output_rates(output, &median, &longest);
    printf("%s: %" PRIu64 " steps of %g s in %.3f s (%.1fx real time), step %.1f us median, %.1f us longest\n", scene,
           thenar_sim_step_count(sim), thenar_sim_dt(sim), wall, time / wall, median, longest);
    run_print_warnings(sim);
    printf("state_hash %016" PRIx64 "\n", thenar_sim_hash(sim));
    if (request->out) printf("written to %s\n", request->out);
    if (request->save) printf("state written to %s\n", request->save);
}

/* Closes the files even if a step fails, so that everything simulated before it is kept. */
static thenar_status step_and_finish(const run_request *request, thenar_sim *sim, long steps, const run_facts *facts,
                                     run_output *output, thenar_error *error) {
    const char *scene = facts->scene;
    process_watch_interrupts();
    int64_t start = clock_ns();
    double begin = thenar_sim_time(sim);
    thenar_status status = run_haptic_start(facts->haptic, error);
    if (run_haptic_refused(facts->haptic))
        fprintf(stderr, "thenar: warning: haptic loop: %s\n", run_haptic_refused(facts->haptic));
    /* A person moves and feels a live device, so a run with one keeps to real time. Its first step is due at once. */
    thenar_pace pace = thenar_pace_start(clock_ns(), thenar_sim_dt(sim));
    thenar_pace *clock = request->sends.count > 0 || run_haptic_is_live(facts->haptic) ? &pace : NULL;
    if (status == THENAR_OK) status = step_all(sim, steps, facts, clock, output, error);
    double wall = 1e-9 * (double)(clock_ns() - start);
    run_haptic_stop(facts->haptic);
    thenar_status finished = run_output_finish(output, sim, clock, wall, status == THENAR_OK ? error : NULL);
    if (status == THENAR_OK) status = finished;
    if (status == THENAR_OK && request->save) status = state_file_save(request->save, sim, error);
    if (status != THENAR_OK) return status;
    if (process_interrupted())
        fprintf(stderr, "thenar: %s: interrupted after %" PRIu64 " of %ld steps\n", scene, thenar_sim_step_count(sim),
                steps);
    report(request, sim, output, scene, thenar_sim_time(sim) - begin, wall);
    if (clock) run_pace_print(clock);
    run_haptic_print(facts->haptic);
    run_tactile_finish(facts->tactile);
    return status;
}

/* Repeats a recorded run. */
static thenar_status replay(const run_request *request, thenar_sim *sim, thenar_error *error) {
    process_watch_interrupts();
    thenar_status status = state_file_replay(request->replay, sim, error);
    if (status == THENAR_OK && request->save) status = state_file_save(request->save, sim, error);
    if (status == THENAR_OK) printf("state_hash %016" PRIx64 "\n", thenar_sim_hash(sim));
    return status;
}

/* --bones as an override of the scene. Solvers other than newton need split bones, so they imply it. */
static thenar_status set_bones(run_request *request, char *text, size_t size, thenar_error *error) {
    thenar_solver solver = (thenar_solver)thenar_solver_find(request->solver);
    const char *bones = request->bones                   ? request->bones
                        : solver != THENAR_SOLVER_NEWTON ? thenar_bones_name(THENAR_BONES_SPLIT)
                                                         : NULL;
    if (!bones) return THENAR_OK;
    if (request->sets.count == OPTION_LIST_LIMIT)
        return fail(error, THENAR_ERROR_INPUT, "--bones and %d --set; expected fewer", OPTION_LIST_LIMIT);
    snprintf(text, size, "bones=%s", bones);
    request->sets.values[request->sets.count++] = text;
    return THENAR_OK;
}

static thenar_status simulate(const run_request *request, const char *scene, thenar_error *error) {
    thenar_model *model;
    thenar_scene_info info;
    thenar_status status = scene_open(scene, &request->sets, request->track, &model, &info, error);
    if (status != THENAR_OK) return status;
    thenar_sim_options options = thenar_sim_options_default();
    options.dt = request->dt;
    options.threads = (int)request->threads;
    options.solver = (thenar_solver)thenar_solver_find(request->solver);
    if (request->friction) options.friction = (thenar_friction)thenar_friction_find(request->friction);
    if (request->contact) options.contact = (thenar_contact_method)thenar_contact_method_find(request->contact);
    if (request->coupling) options.coupling = (thenar_coupling)thenar_coupling_find(request->coupling);
    thenar_sim *sim = NULL;
    run_output *output = NULL;
    status = thenar_sim_create(model, &options, &sim, error);
    if (status == THENAR_OK && request->restore) status = state_file_restore(request->restore, sim, error);
    if (status != THENAR_OK || request->replay) {
        if (status == THENAR_OK) status = replay(request, sim, error);
        thenar_sim_free(sim);
        thenar_model_free(model);
        return status;
    }
    run_facts facts = {
        .scene = thenar_model_name(model), .threads = (int)request->threads, .iterations = (int)request->iterations};
    if (facts.iterations > 0) run_pace_limit(NULL, facts.iterations, sim);
    long steps;
    if (status == THENAR_OK) status = run_tactile_create(model, &request->sends, &facts.tactile, error);
    if (status == THENAR_OK) run_tactile_begin(facts.tactile, sim);
    if (status == THENAR_OK) status = run_haptic_create(sim, &request->devices, request->offline, &facts.haptic, error);
    if (status == THENAR_OK) status = count_steps(request, info.time, sim, &steps, error);
    if (status == THENAR_OK) status = run_output_open(request->out, &facts, sim, &output, error);
    if (status == THENAR_OK) status = step_and_finish(request, sim, steps, &facts, output, error);
    run_output_free(output);
    run_haptic_free(facts.haptic);
    run_tactile_free(facts.tactile);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return status;
}

static int run(const app_command *command, int argc, char **argv) {
    run_request request = {.steps = -1, .threads = 1, .solver = thenar_solver_name(THENAR_SOLVER_NEWTON)};
    char solver_names[256], contact_names[64];
    list_solvers(solver_names, sizeof solver_names);
    list_contact_methods(contact_names, sizeof contact_names);
    const app_option options[] = {
        {"steps", "N", "number of steps, instead of the scene's time", OPTION_INTEGER, &request.steps, 0, MAX_STEPS},
        {"time", "S", "simulated time in seconds, instead of the scene's", OPTION_NUMBER, &request.time, 1e-6, 1e6},
        {"dt", "S", "time step, instead of the scene's", OPTION_NUMBER, &request.dt, 1e-6, 1},
        {"solver", "NAME", solver_names, OPTION_TEXT, &request.solver, 0, 0},
        {"friction", "NAME", "friction of solvers other than newton: pyramid (default), cone, printed", OPTION_TEXT,
         &request.friction, 0, 0},
        {"contact", "NAME", contact_names, OPTION_TEXT, &request.contact, 0, 0},
        {"coupling", "NAME", "coupling of handles and tools: monolithic (default), schur, cg", OPTION_TEXT,
         &request.coupling, 0, 0},
        {"bones", "NAME",
         "bones and flesh of hands: coupled in one system (default), or split, bones first, as in the papers",
         OPTION_TEXT, &request.bones, 0, 0},
        {"threads", "N", "threads per step (default 1); results do not depend on it", OPTION_INTEGER, &request.threads,
         1, 256},
        {"iterations", "N", "maximum number of solver iterations per step (default: as many as needed)", OPTION_INTEGER,
         &request.iterations, 1, 1000000},
        {"track", "FILE", "tracked joints that drive the hands; sets the duration", OPTION_TEXT, &request.track, 0, 0},
        {"set", "PATH=VALUE", "override a key of the scene; may be given several times", OPTION_LIST, &request.sets, 0,
         0},
        {"send", "TARGET",
         "send commands of tactile devices to osc:HOST:PORT, serial:PATH[@BAUD], csv:FILE, plugin:FILE", OPTION_LIST,
         &request.sends, 0, 0},
        {"device", "[HANDLE=]DEVICE",
         "device for a handle: user:FILE, recorded:FILE, osc:PORT, ws:PORT, plugin:FILE, scene; in real time",
         OPTION_LIST, &request.devices, 0, 0},
        {"offline", NULL, "with --device: in simulated time, as fast as possible, reproducible", OPTION_FLAG,
         &request.offline, 0, 0},
        {"save", "FILE", "write the final state to this file", OPTION_TEXT, &request.save, 0, 0},
        {"restore", "FILE", "continue from a state that --save wrote, with the same scene and options", OPTION_TEXT,
         &request.restore, 0, 0},
        {"replay", "FILE", "repeat the inputs of a recording and compare each state with the recorded one", OPTION_TEXT,
         &request.replay, 0, 0},
        {"out", "DIR", "write summary.json, steps.csv, recording.thenar and final.vtk to this folder", OPTION_TEXT,
         &request.out, 0, 0},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 1, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    if (thenar_solver_find(request.solver) < 0)
        return command_misused(command, "--solver %s; expected %s", request.solver, solver_names);
    if (request.friction && thenar_friction_find(request.friction) < 0)
        return command_misused(command, "--friction %s; expected pyramid, cone or printed", request.friction);
    if (request.contact && thenar_contact_method_find(request.contact) < 0)
        return command_misused(command, "--contact %s; expected %s", request.contact, contact_names);
    if (request.coupling && thenar_coupling_find(request.coupling) < 0)
        return command_misused(command, "--coupling %s; expected monolithic, schur or cg", request.coupling);
    if (request.bones && thenar_bones_find(request.bones) < 0)
        return command_misused(command, "--bones %s; expected coupled or split", request.bones);
    if (request.steps >= 0 && request.time > 0)
        return command_misused(command, "--steps and --time together; expected one of them");
    if (request.offline && request.devices.count == 0)
        return command_misused(command, "--offline without --device; expected a device, as --device user");
    if (request.replay && (request.steps >= 0 || request.time > 0 || request.restore || request.out ||
                           request.sends.count > 0 || request.devices.count > 0))
        return command_misused(
            command, "--replay with --steps, --time, --restore, --send, --device or --out; expected it without these");
    thenar_error error;
    char bones[64];
    if (set_bones(&request, bones, sizeof bones, &error) != THENAR_OK) return command_fail(&error);
    if (simulate(&request, arguments.values[0], &error) != THENAR_OK) return command_fail(&error);
    if (process_interrupted()) process_die_of(process_interrupted());
    return EXIT_DONE;
}

const app_command command_run = {
    .name = "run",
    .summary = "simulate a scene as fast as possible",
    .arguments =
        "SCENE [--steps N | --time S] [--dt S] [--contact NAME] [--threads N] [--track FILE] [--set PATH=VALUE]... "
        "[--send TARGET]... [--device [HANDLE=]DEVICE]... [--offline] [--restore FILE | --replay FILE] [--save FILE] "
        "[--out DIR]",
    .details =
        "SCENE is a name from 'thenar list' or a path. --set overrides any key of the scene by its path:\n"
        "--set bodies.beam.material.young=2e6. Without --out only the rates and the hash of the state are printed.\n"
        "--device binds a device to a handle of the scene, in real time, or with --offline a simulated user or a\n"
        "recorded device in simulated time. --device scene uses the devices that the scene names.\n"
        "--send sends the commands of the tactile devices of the scene and keeps the run to real time.\n"
        "--save and --restore divide a run: its parts end in the same state as the whole, bit for bit. The time of a\n"
        "scene counts from its beginning, --steps and --time from the beginning of the run.\n"
        "--replay FILE repeats the run that 'thenar run --out' recorded, with the same scene and options.\n"
        "An interrupt (Ctrl-C) stops the run after the current step; all files are complete up to there.",
    .run = run};
