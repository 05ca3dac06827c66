#include "app/chromium.h"

#include "app/support.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_NS 60000000000 /* time limit for one answer: a software renderer on a busy machine is slow */

struct chromium {
    pid_t process;
    int to, from;
    json_int_t last_id;
    json_t *session; /* of the page, a string */
    LIST(char) incoming;
};

static const char *find_program(void) {
    static const char *const names[] = {"chromium", "chromium-browser", "google-chrome"};
    const char *chosen = getenv("THENAR_BROWSER"), *path = getenv("PATH");
    if (chosen && *chosen) return chosen;
    for (size_t i = 0; path && i < sizeof names / sizeof *names; i++)
        for (const char *at = path; *at; at += strspn(at, ":")) {
            char file[4096];
            size_t length = strcspn(at, ":");
            snprintf(file, sizeof file, "%.*s/%s", (int)length, at, names[i]);
            if (access(file, X_OK) == 0) return names[i];
            at += length;
        }
    return NULL;
}

/* In the new process: the browser reads from 3 and writes to 4. */
static void become_browser(const char *program, const char *folder, const int to[2], const int from[2]) {
    char profile[4200];
    snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", folder);
    const char *const arguments[] = {program, "--headless=new", "--remote-debugging-pipe", profile, "--no-first-run",
                                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                                     "--disable-default-apps", "--disable-extensions", "--hide-scrollbars",
                                     "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
                                     "about:blank",
                                     /* Chromium refuses to run as root with its sandbox. */
                                     geteuid() == 0 ? "--no-sandbox" : NULL, NULL};
    /* First to other numbers, because 3 and 4 may be among them. */
    int input = fcntl(to[0], F_DUPFD, 10), output = fcntl(from[1], F_DUPFD, 10), null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    dup2(input, 3);
    dup2(output, 4);
    for (int i = 5; i < 64; i++) close(i);
    setpgid(0, 0);
    execvp(program, (char *const *)(uintptr_t)arguments);
    _exit(127);
}

static thenar_status start(chromium *browser, const char *folder, thenar_error *error) {
    const char *program = find_program();
    if (!program)
        return fail(error, THENAR_ERROR_FILE,
                    "no Chromium on the PATH; expected chromium (Debian's package), or its path in THENAR_BROWSER");
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0) return fail_errno(error, program, "start");
    if (pipe2(from, O_CLOEXEC) != 0) {
        close(to[0]), close(to[1]);
        return fail_errno(error, program, "start");
    }
    signal(SIGPIPE, SIG_IGN); /* a browser that died is an error that is reported */
    browser->process = fork();
    if (browser->process == 0) become_browser(program, folder, to, from);
    close(to[0]), close(from[1]);
    browser->to = to[1];
    browser->from = from[0];
    return browser->process > 0 ? THENAR_OK : fail_errno(error, program, "start");
}

static thenar_status write_all(chromium *browser, const char *text, size_t length, thenar_error *error) {
    while (length > 0) {
        ssize_t written = write(browser->to, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail_errno(error, "chromium", "write to its pipe");
        text += written;
        length -= (size_t)written;
    }
    return THENAR_OK;
}

/* The next message; messages end with a zero. */
static thenar_status read_message(chromium *browser, int64_t deadline, json_t **message, thenar_error *error) {
    for (;;) {
        char *end = browser->incoming.count > 0 ? memchr(browser->incoming.data, 0, browser->incoming.count) : NULL;
        if (end) {
            size_t length = (size_t)(end - browser->incoming.data) + 1;
            *message = json_of_text(browser->incoming.data);
            browser->incoming.count -= length;
            memmove(browser->incoming.data, end + 1, browser->incoming.count);
            return *message ? THENAR_OK : fail(error, THENAR_ERROR_FILE, "chromium: its answer is not valid JSON");
        }
        int64_t left = deadline - clock_ns();
        struct pollfd wait = {.fd = browser->from, .events = POLLIN};
        int ready = left > 0 ? poll(&wait, 1, (int)(left / 1000000) + 1) : 0;
        if (ready < 0 && errno == EINTR) return fail(error, THENAR_ERROR_FILE, "chromium: interrupted");
        if (ready <= 0) return fail(error, THENAR_ERROR_FILE, "chromium: no answer within a minute");
        if (!LIST_RESERVE(&browser->incoming, browser->incoming.count + 65536)) return fail_memory(error, "chromium");
        ssize_t got = read(browser->from, browser->incoming.data + browser->incoming.count, 65536);
        if (got <= 0) return fail(error, THENAR_ERROR_FILE, "chromium: it ended; does it run on this machine?");
        browser->incoming.count += (size_t)got;
    }
}

/* Sends a command and waits for its result, which the caller releases. Takes the reference of parameters. */
static thenar_status call(chromium *browser, const char *method, json_t *parameters, json_t **result,
                          thenar_error *error) {
    *result = NULL;
    json_int_t id = ++browser->last_id;
    json_t *command = json_pack("{s:I, s:s, s:o}", "id", id, "method", method, "params", parameters);
    if (command && browser->session) json_object_set(command, "sessionId", browser->session);
    char *text = command ? json_dumps(command, JSON_COMPACT) : NULL;
    json_decref(command);
    if (!text) return fail_memory(error, "chromium");
    thenar_status status = write_all(browser, text, strlen(text) + 1, error);
    free(text);
    int64_t deadline = clock_ns() + ANSWER_NS;
    while (status == THENAR_OK) {
        json_t *message;
        status = read_message(browser, deadline, &message, error);
        if (status != THENAR_OK) break;
        if (json_integer_value(json_object_get(message, "id")) != id) { /* an event */
            json_decref(message);
            continue;
        }
        const char *wrong = json_string_value(json_object_get(json_object_get(message, "error"), "message"));
        if (wrong)
            status = fail(error, THENAR_ERROR_FILE, "chromium: %s: %s", method, wrong);
        else
            *result = json_incref(json_object_get(message, "result"));
        json_decref(message);
        break;
    }
    return status;
}

/* For commands whose result does not matter. */
static thenar_status send_command(chromium *browser, const char *method, json_t *parameters, thenar_error *error) {
    json_t *result;
    thenar_status status = call(browser, method, parameters, &result, error);
    json_decref(result);
    return status;
}

static thenar_status evaluate(chromium *browser, const char *script, json_t **value, thenar_error *error) {
    json_t *result;
    thenar_status status =
        call(browser, "Runtime.evaluate",
             json_pack("{s:s, s:b, s:b}", "expression", script, "awaitPromise", 1, "returnByValue", 1), &result, error);
    if (status != THENAR_OK) return status;
    const json_t *failure = json_object_get(result, "exceptionDetails");
    const char *text = json_string_value(json_object_get(json_object_get(failure, "exception"), "description"));
    if (failure) status = fail(error, THENAR_ERROR_FILE, "the page: %s", text ? text : "a script failed");
    if (value) *value = json_incref(json_object_get(json_object_get(result, "result"), "value"));
    json_decref(result);
    return status;
}

thenar_status chromium_run(chromium *browser, const char *script, thenar_error *error) {
    return evaluate(browser, script, NULL, error);
}

thenar_status chromium_wait(chromium *browser, const char *expression, thenar_error *error) {
    int64_t deadline = clock_ns() + ANSWER_NS;
    for (;;) {
        json_t *value = NULL;
        thenar_status status = evaluate(browser, expression, &value, error);
        bool done = json_is_true(value);
        json_decref(value);
        if (status != THENAR_OK || done) return status;
        if (clock_ns() > deadline) return fail(error, THENAR_ERROR_FILE, "the page was not ready within a minute");
        usleep(20000);
    }
}

thenar_status chromium_open(const char *folder, const char *page, int width, int height, chromium **out,
                            thenar_error *error) {
    *out = NULL;
    chromium *browser = NEW_ARRAY(chromium, 1);
    if (!browser) return fail_memory(error, "chromium");
    browser->to = browser->from = -1;
    char url[4200];
    snprintf(url, sizeof url, "file://%s", page);
    json_t *target = NULL, *session = NULL;
    thenar_status status = start(browser, folder, error);
    if (status == THENAR_OK)
        status = call(browser, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"), &target, error);
    if (status == THENAR_OK)
        status = call(browser, "Target.attachToTarget",
                      json_pack("{s:O, s:b}", "targetId", json_object_get(target, "targetId"), "flatten", 1), &session,
                      error);
    if (status == THENAR_OK) {
        browser->session = json_incref(json_object_get(session, "sessionId"));
        status = send_command(
            browser, "Emulation.setDeviceMetricsOverride",
            json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height, "deviceScaleFactor", 1, "mobile", 0),
            error);
    }
    if (status == THENAR_OK) status = send_command(browser, "Page.navigate", json_pack("{s:s}", "url", url), error);
    json_decref(target);
    json_decref(session);
    if (status == THENAR_OK)
        *out = browser;
    else
        chromium_close(browser);
    return status;
}

static size_t decode_base64(const char *text, unsigned char *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned word = 0;
    int bits = 0;
    size_t count = 0;
    for (; *text && *text != '='; text++) {
        const char *digit = strchr(digits, *text);
        if (!digit) break;
        word = word << 6 | (unsigned)(digit - digits);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out[count++] = (unsigned char)(word >> bits & 0xff);
    }
    return count;
}

thenar_status chromium_picture(chromium *browser, const char *path, thenar_error *error) {
    json_t *result;
    thenar_status status = call(browser, "Page.captureScreenshot", json_pack("{s:s}", "format", "png"), &result, error);
    if (status != THENAR_OK) return status;
    const char *data = json_string_value(json_object_get(result, "data"));
    unsigned char *bytes = data ? NEW_ARRAY(unsigned char, strlen(data)) : NULL;
    FILE *file = bytes ? create_file(path, error) : NULL;
    status = bytes ? THENAR_ERROR_FILE : fail_memory(error, path);
    if (file) {
        fwrite(bytes, 1, decode_base64(data, bytes), file);
        status = close_file(file, path, error);
    }
    free(bytes);
    json_decref(result);
    return status;
}

void chromium_close(chromium *browser) {
    if (!browser) return;
    thenar_error ignored;
    json_decref(browser->session);
    browser->session = NULL;
    if (browser->process > 0) {
        if (browser->to >= 0) send_command(browser, "Browser.close", json_object(), &ignored);
        for (int i = 0; i < 150 && waitpid(browser->process, NULL, WNOHANG) == 0; i++) usleep(20000);
        kill(-browser->process, SIGKILL); /* the rest of its process group */
        waitpid(browser->process, NULL, 0);
    }
    if (browser->to >= 0) close(browser->to);
    if (browser->from >= 0) close(browser->from);
    free(browser->incoming.data);
    free(browser);
}
