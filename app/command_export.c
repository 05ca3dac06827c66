#include "app/command.h"
#include "app/support.h"

#include "thenar/recording.h"

#include <stdio.h>
#include <sys/stat.h>

static bool show_progress(void *context, int frames_done, int frame_count) {
    progress *line = context;
    line->total = frame_count;
    progress_update(line, frames_done);
    return true;
}

/* In the current directory. */
static const char *default_path(thenar_export_format kind, bool contacts) {
    if (kind == THENAR_EXPORT_CSV) return contacts ? "contacts.csv" : "recording.csv";
    return kind == THENAR_EXPORT_VTK ? "frames" : "recording.glb";
}

static int run(const app_command *command, int argc, char **argv) {
    const char *to = NULL, *out = NULL;
    long first = 0, end = 0, every = 1;
    bool contacts = false;
    const app_option options[] = {
        {"to", "KIND", "vtk (a folder for ParaView), gltf (one .glb with animation) or csv", OPTION_TEXT, &to, 0, 0},
        {"out", "PATH", "output (default frames, recording.glb, recording.csv or contacts.csv)", OPTION_TEXT, &out, 0,
         0},
        {"contacts", NULL, "csv: a row per contact point instead of one per frame and body", OPTION_FLAG, &contacts, 0,
         0},
        {"first", "N", "first frame, from 0", OPTION_INTEGER, &first, 0, 1e9},
        {"end", "N", "frame to stop before (default all)", OPTION_INTEGER, &end, 0, 1e9},
        {"every", "N", "only every N-th frame", OPTION_INTEGER, &every, 1, 1e9},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 1, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    int found = thenar_export_format_find(to);
    thenar_export_format kind = (thenar_export_format)found;
    if (found < 0) return command_misused(command, "--to %s; expected vtk, gltf or csv", to ? to : "is missing");
    if (contacts && kind != THENAR_EXPORT_CSV)
        return command_misused(command, "--contacts with --to %s; expected csv (vtk always has them)", to);
    if (!out) out = default_path(kind, contacts);
    if (is_same_file(arguments.values[0], out))
        return command_misused(command, "--out %s is the recording itself; expected another file", out);

    thenar_error error;
    thenar_recording *recording;
    if (thenar_recording_open(arguments.values[0], &recording, &error) != THENAR_OK) return command_fail(&error);
    if (thenar_recording_damage(recording))
        fprintf(stderr, "thenar: warning: %s\n", thenar_recording_damage(recording));
    if (contacts && thenar_recording_get_info(recording).max_contacts == 0)
        fprintf(stderr, "thenar: warning: %s: no contacts were recorded; none of its bodies can touch\n",
                arguments.values[0]);
    progress line = progress_start(arguments.values[0], "frames", thenar_recording_frame_count(recording));
    thenar_export_options chosen = thenar_export_options_default();
    chosen.first = (int)first;
    chosen.end = (int)end;
    chosen.every = (int)every;
    chosen.contacts = contacts;
    chosen.progress = show_progress;
    chosen.context = &line;
    thenar_status result = thenar_recording_export(recording, kind, out, &chosen, &error);
    progress_end(&line);
    thenar_recording_close(recording);
    if (result != THENAR_OK) return command_fail(&error);
    printf("%s\n", out);
    return EXIT_DONE;
}

const app_command command_export = {
    .name = "export",
    .summary = "convert a recording to VTK, glTF or CSV",
    .arguments = "RECORDING --to vtk|gltf|csv [--contacts] [--out PATH] [--first N] [--end N] [--every N]",
    .details = "An incomplete recording is exported up to its last complete frame.\n"
               "If bodies can touch, vtk also has a file of contact points per frame.",
    .run = run};
