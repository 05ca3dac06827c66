#include "app/process.h"

#include "app/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t noted_signal;

static void note_signal(int signal_number) {
    noted_signal = signal_number;
}

void process_begin(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) == -1 && open("/dev/null", O_RDWR) == -1) return;
    signal(SIGXFSZ, SIG_IGN);
}

int process_end(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "thenar: standard output: cannot write: %s\n", errno ? strerror(errno) : "an earlier write failed");
    return status == EXIT_DONE ? EXIT_INPUT : status;
}

static void watch(int signal_number) {
    struct sigaction action;
    if (sigaction(signal_number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) return;
    action = (struct sigaction){.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
}

void process_watch_interrupts(void) {
    noted_signal = 0;
    watch(SIGINT);
    watch(SIGTERM);
    watch(SIGHUP);
}

int process_interrupted(void) {
    return noted_signal;
}

void process_die_of(int signal_number) {
    fflush(stdout);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}
