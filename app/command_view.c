#include "app/command.h"
#include "app/server.h"
#include "app/support.h"
#include "app/view.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* Opens a browser with a temporary page that redirects to the address: other users can see the arguments of a process,
 * but not the contents of this file. page: empty if there is no display. */
static void open_browser(const char *address, char page[128]) {
    page[0] = 0;
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) return;
    const char *folder = getenv("XDG_RUNTIME_DIR");
    snprintf(page, 128, "%.80s/thenar-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int file = mkstemps(page, 5); /* readable by its owner only */
    if (file < 0) {
        page[0] = 0;
        return;
    }
    dprintf(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\">\n", address);
    close(file);
    char *const command[] = {"xdg-open", page, NULL};
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    signal(SIGCHLD, SIG_IGN);
    posix_spawnp(&child, command[0], &quiet, NULL, command, environ);
    posix_spawn_file_actions_destroy(&quiet);
}

/* Blocks signals in the new thread: the thread of the server handles them. */
static thenar_status start_live(view_source *source, server *s, thenar_error *error) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thenar_status status = view_live_start(source, server_notify, s, error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static thenar_status view(const view_live_request *request, const char *host, int port, bool browser,
                          thenar_error *error) {
    bool recorded = view_is_recording(request->scene);
    view_source *source = NULL;
    server *s = NULL;
    char page[128] = "";
    thenar_status status =
        recorded ? view_recorded_open(request->scene, &source, error) : view_live_create(request, &source, error);
    if (status == THENAR_OK) status = server_create(host, port, source, &s, error);
    process_watch_interrupts();
    if (status == THENAR_OK && !recorded) status = start_live(source, s, error);
    if (status == THENAR_OK) {
        printf("%s\n", server_address(s));
        fflush(stdout);
        fprintf(stderr, "Open this address in a browser on this machine; Ctrl-C ends the viewer.\n");
        if (browser) open_browser(server_address(s), page);
        status = server_run(s, error);
    }
    if (source && !recorded) {
        view_live_stop(source);
        thenar_status finished = view_live_finish(source, status == THENAR_OK ? error : NULL);
        if (status == THENAR_OK) status = finished;
    }
    server_free(s);
    if (source) source->free(source);
    if (page[0]) unlink(page);
    return status;
}

static int run(const app_command *command, int argc, char **argv) {
    view_live_request request = {.threads = 1};
    const char *host = NULL;
    long port = 0, threads = 1, iterations = 0;
    bool no_browser = false;
    const app_option options[] = {
        {"host", "ADDRESS", "IP address to listen on (default 127.0.0.1: this machine only)", OPTION_TEXT, &host, 0, 0},
        {"port", "N", "port to listen on (default: any free one)", OPTION_INTEGER, &port, 1, 65535},
        {"no-browser", NULL, "do not open a browser", OPTION_FLAG, &no_browser, 0, 0},
        {"paused", NULL, "start with the simulation paused", OPTION_FLAG, &request.paused, 0, 0},
        {"dt", "S", "time step, instead of the scene's", OPTION_NUMBER, &request.dt, 1e-6, 1},
        {"solver", "NAME", "solver of strain limits and contacts, as for run", OPTION_TEXT, &request.solver, 0, 0},
        {"contact", "NAME", "contact method, as for run", OPTION_TEXT, &request.contact, 0, 0},
        {"threads", "N", "threads per step (default 1)", OPTION_INTEGER, &threads, 1, 256},
        {"iterations", "N", "maximum number of solver iterations per step", OPTION_INTEGER, &iterations, 1, 1000000},
        {"track", "FILE", "tracked joints that drive the hands", OPTION_TEXT, &request.track, 0, 0},
        {"set", "PATH=VALUE", "override a key of the scene; may be given several times", OPTION_LIST, &request.sets, 0,
         0},
        {"send", "TARGET", "send commands of tactile devices, as for run", OPTION_LIST, &request.sends, 0, 0},
        {"device", "[HANDLE=]DEVICE", "device for a handle, as for run", OPTION_LIST, &request.devices, 0, 0},
        {"record", "FILE", "record the session to this file, for 'thenar run SCENE --replay FILE'", OPTION_TEXT,
         &request.record, 0, 0},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 1, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    if (request.solver && thenar_solver_find(request.solver) < 0)
        return command_misused(command, "--solver %s; expected one listed by 'thenar run --help'", request.solver);
    if (request.contact && thenar_contact_method_find(request.contact) < 0)
        return command_misused(command, "--contact %s; expected one listed by 'thenar run --help'", request.contact);
    request.scene = arguments.values[0];
    if (request.record && view_is_recording(request.scene))
        return command_misused(command, "--record with %s; expected a scene", request.scene);
    request.threads = (int)threads;
    request.iterations = (int)iterations;
    thenar_error error;
    return view(&request, host, (int)port, !no_browser, &error) == THENAR_OK ? EXIT_DONE : command_fail(&error);
}

const app_command command_view = {
    .name = "view",
    .summary = "watch a scene or a recording in the browser",
    .arguments = "SCENE|RECORDING|DIR [--host ADDRESS] [--port N] [--no-browser] [--paused] [--track FILE] "
                 "[--set PATH=VALUE]... [--send TARGET]... [--device [HANDLE=]DEVICE]... [--record FILE]",
    .details =
        "Runs the scene in real time, or replays a recording of 'thenar run --out DIR', and serves the viewer. The\n"
        "printed address contains a token that is new each time; without it nobody can connect.\n"
        "--record FILE records the simulation with everything that viewers and devices do: 'thenar run SCENE --replay\n"
        "FILE' repeats it step by step, bit for bit. Viewers cannot change time step, solver, contact method and\n"
        "materials while it is recorded.",
    .run = run};
