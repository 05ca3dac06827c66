/* Commands on their way out: over UDP, over a serial line (a pseudo-terminal), into a file, to a plugin. */
#include "test.h"

#include "allocations.h"
#include "hand_world.h"
#include "no_threads.h"
#include "device/device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define PLUGIN "plugin:" BINARY_DIR "/test/"

/* One hand for all tests. */
static thenar_model *one_hand(void) {
    static thenar_model *model;
    if (!model) {
        thenar_hand_def def = hand_world_def();
        model = hand_world_model(&def);
    }
    return model;
}

/* A thimble by displacement, a platform and a vibrating one, where they rest: commands that are known. */
static thenar_tactile *rest_devices(void) {
    thenar_tactile_def worn[3] = {{.name = "press it", .finger = THENAR_FINGER_THUMB},
                                  {.name = "tilt", .finger = THENAR_FINGER_INDEX},
                                  {.name = "buzz", .finger = THENAR_FINGER_INDEX}};
    thenar_wearable_def thimble = thenar_wearable_def_default(THENAR_WEARABLE_THIMBLE),
                        rrs = thenar_wearable_def_default(THENAR_WEARABLE_RRS),
                        vibration = thenar_wearable_def_default(THENAR_WEARABLE_VIBRATION);
    worn[0].device = &thimble, worn[1].device = &rrs, worn[2].device = &vibration;
    for (int i = 0; i < 3; i++) worn[i].size = sizeof *worn;
    thenar_tactile_options options = thenar_tactile_options_default();
    options.devices = worn;
    options.device_count = 3;
    thenar_error error;
    thenar_tactile *tactile;
    assert_ok(thenar_tactile_create(one_hand(), &options, &tactile, &error), error);
    return tactile;
}

static void pause_ms(int ms) {
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* Waits until a condition holds, ten seconds at most. */
#define WAIT_FOR(condition)                                                                                            \
    do {                                                                                                               \
        for (int tries = 0; !(condition) && tries < 2000; tries++) pause_ms(5);                                        \
        assert_true(condition);                                                                                        \
    } while (0)

static void expect_all_accounted(thenar_output_counts counts) {
    assert_true(counts.pushed == counts.sent + counts.superseded + counts.dropped);
}

static double big_endian(const unsigned char *bytes, int size) {
    uint64_t word = 0;
    for (int i = 0; i < size; i++) word = word << 8 | bytes[i];
    if (size == 8) {
        double value;
        memcpy(&value, &word, sizeof value);
        return value;
    }
    uint32_t half = (uint32_t)word;
    float value;
    memcpy(&value, &half, sizeof value);
    return (double)value;
}

static void osc_messages_have_pose_and_values(void **state) {
    (void)state;
#ifndef THENAR_OSC
    skip();
#endif
    thenar_tactile *tactile = rest_devices();
    int receiver = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    assert_int_equal(bind(receiver, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(receiver, (struct sockaddr *)&address, &size), 0);
    char target[64];
    snprintf(target, sizeof target, "osc:127.0.0.1:%d", ntohs(address.sin_port));
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, target, 0, &output, &error), error);
    thenar_output_push(output, tactile);
    for (int i = 0; i < 3; i++) {
        unsigned char packet[512];
        struct pollfd wait = {.fd = receiver, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, 10000), 1);
        long length = recv(receiver, packet, sizeof packet, 0);
        /* Path and types, each filled up to four bytes, then the numbers, big-endian. */
        static const char *const paths[] = {"/thenar/tactile/press_it", "/thenar/tactile/tilt", "/thenar/tactile/buzz"};
        static const char *const types[] = {",dffffif", ",dffffifff", ",dffffiff"};
        assert_string_equal((char *)packet, paths[i]);
        size_t at = (strlen(paths[i]) / 4 + 1) * 4;
        assert_string_equal((char *)packet + at, types[i]);
        at += (strlen(types[i]) / 4 + 1) * 4;
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, i);
        assert_near(big_endian(packet + at, 8), c->time, 0);
        for (int k = 0; k < 3; k++) assert_near(big_endian(packet + at + 8 + 4 * k, 4), c->platform[k], 1e-9);
        for (int v = 0; v < thenar_wearable_value_count(thenar_tactile_device(tactile, i)->device); v++)
            assert_near(big_endian(packet + at + 28 + 4 * v, 4), c->value[v], 1e-5);
        assert_int_equal((long)at + 28 + 4 * thenar_wearable_value_count(thenar_tactile_device(tactile, i)->device),
                         length);
    }
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    assert_int_equal(counts.sent, 3);
    expect_all_accounted(counts);
    close(receiver);
    thenar_tactile_free(tactile);
}

/* A pseudo-terminal: its master, and the name of the line. */
static int open_line(char name[64]) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    snprintf(name, 64, "%s", ptsname(master));
    return master;
}

static void read_exactly(int file, unsigned char *bytes, int count) {
    for (int have = 0; have < count;) {
        struct pollfd wait = {.fd = file, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, 10000), 1);
        long part = read(file, bytes + have, (size_t)(count - have));
        assert_true(part > 0);
        have += (int)part;
    }
}

static void serial_frames_have_checksums_and_microseconds(void **state) {
    (void)state;
    assert_int_equal(driver_crc((const unsigned char *)"123456789", 9), 0x29b1); /* the check value of the CRC */
    thenar_tactile *tactile = rest_devices();
    char line[64], target[80];
    int master = open_line(line);
    snprintf(target, sizeof target, "serial:%s@57600", line);
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, target, 0, &output, &error), error);
    struct termios settings;
    assert_int_equal(tcgetattr(master, &settings), 0);
    assert_int_equal(cfgetospeed(&settings), B57600);
    assert_false(settings.c_oflag & OPOST); /* a byte 0x0a stays one byte */
    thenar_output_push(output, tactile);
    static const int values[] = {1, 3, 2};
    for (int i = 0; i < 3; i++) {
        unsigned char frame[32];
        int size = 8 + 2 * values[i];
        read_exactly(master, frame, size);
        assert_memory_equal(frame, "TH", 2);
        assert_int_equal(frame[2], 3 + 2 * values[i]);
        assert_int_equal(frame[3], i);
        assert_int_equal(frame[4], i);
        assert_int_equal(frame[5], thenar_tactile_device(tactile, i)->device->kind);
        assert_int_equal(driver_crc(frame + 2, size - 4), frame[size - 2] | frame[size - 1] << 8);
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, i);
        for (int v = 0; v < values[i]; v++) {
            int word = frame[6 + 2 * v] | frame[7 + 2 * v] << 8;
            /* 500 to 2500 us from -90 to 90 degrees; -3 to 4 mm as 0 to 65535; amplitude, and tenths of a hertz. */
            double expected = i == 1   ? 500 + 2000 * (c->value[v] * 57.29577951308232 + 90) / 180
                              : i == 0 ? 65535 * (c->value[v] + 0.003) / 0.007
                              : v == 0 ? 65535 * c->value[v]
                                       : 10 * c->value[v];
            assert_near(word, expected, 0.5 + 1e-9);
        }
    }
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    assert_int_equal(counts.sent, 3);
    expect_all_accounted(counts);
    close(master);
    thenar_tactile_free(tactile);
}

/* Nobody reads: the line fills up, commands are dropped and counted, and no push waits or allocates. */
static void a_receiver_that_stops_reading_costs_nothing(void **state) {
    (void)state;
    thenar_tactile *tactile = rest_devices();
    char line[64], target[80];
    int master = open_line(line);
    snprintf(target, sizeof target, "serial:%s", line);
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, target, 10000, &output, &error), error);
    long before = allocation_count;
    for (int i = 0; i < 3000 && thenar_output_count(output).dropped < 3; i++) {
        for (int k = 0; k < 10; k++) thenar_output_push(output, tactile);
        pause_ms(1);
    }
    assert_int_equal(allocation_count, before);
    WAIT_FOR(thenar_output_count(output).dropped >= 3);
    assert_true(thenar_output_count(output).connected);
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    expect_all_accounted(counts);
    assert_true(counts.superseded > 0);
    close(master);
    thenar_tactile_free(tactile);
}

static void a_line_that_comes_back_is_used_again(void **state) {
    (void)state;
    thenar_tactile *tactile = rest_devices();
    char line[64], place[] = "/tmp/test_line_XXXXXX", target[80];
    assert_non_null(mkdtemp(place));
    char link[64];
    snprintf(link, sizeof link, "%s/line", place);
    int master = open_line(line);
    assert_int_equal(symlink(line, link), 0);
    snprintf(target, sizeof target, "serial:%s", link);
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, target, 0, &output, &error), error);
    close(master);
    unlink(link);
    WAIT_FOR((thenar_output_push(output, tactile), !thenar_output_count(output).connected));
    assert_true(thenar_output_count(output).dropped > 0);
    master = open_line(line);
    assert_int_equal(symlink(line, link), 0);
    WAIT_FOR((thenar_output_push(output, tactile), thenar_output_count(output).connected));
    unsigned char frame[10];
    WAIT_FOR((thenar_output_push(output, tactile), poll(&(struct pollfd){.fd = master, .events = POLLIN}, 1, 0) == 1));
    read_exactly(master, frame, 10);
    assert_memory_equal(frame, "TH", 2);
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    assert_int_equal(counts.reconnects, 1);
    expect_all_accounted(counts);
    close(master);
    unlink(link);
    rmdir(place);
    thenar_tactile_free(tactile);
}

static void a_table_has_every_command(void **state) {
    (void)state;
    thenar_tactile *tactile = rest_devices();
    char path[] = "/tmp/test_commands_XXXXXX", target[64];
    int file = mkstemp(path);
    close(file);
    snprintf(target, sizeof target, "csv:%s", path);
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, target, 0, &output, &error), error);
    for (int i = 0; i < 100; i++) thenar_output_push(output, tactile);
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    assert_int_equal(counts.sent, 300);
    expect_all_accounted(counts);
    FILE *table = fopen(path, "r");
    char row[256];
    int rows = 0, presses = 0;
    while (fgets(row, sizeof row, table)) {
        rows++;
        presses += strstr(row, "press it,0,0,-0.001,") != NULL;
    }
    assert_int_equal(rows, 301);
    assert_int_equal(presses, 100);
    fclose(table);
    unlink(path);
    thenar_tactile_free(tactile);
}

static void a_table_on_a_full_disk_is_reported_once(void **state) {
    (void)state;
    thenar_tactile *tactile = rest_devices();
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, "csv:/dev/full", 0, &output, &error), error);
    WAIT_FOR((thenar_output_push(output, tactile), !thenar_output_count(output).connected));
    for (int i = 0; i < 60; i++) { /* longer than until the next attempt to connect */
        thenar_output_push(output, tactile);
        pause_ms(5);
    }
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    assert_true(!counts.connected && counts.reconnects == 0 && counts.dropped > 0);
    expect_all_accounted(counts);
    thenar_tactile_free(tactile);
}

/* Lines of ten numbers in a file; the last one of each of three devices. */
static int read_lines(const char *path, double last[3][10]) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char line[512];
    int count = 0;
    while (fgets(line, sizeof line, file) && strchr(line, '\n')) {
        char *at = line, *end;
        int device = (int)strtol(line, NULL, 10);
        assert_in_range(device, 0, 2);
        for (int i = 0; i < 10; i++, at = end) {
            last[device][i] = strtod(at, &end);
            assert_true(end > at);
        }
        assert_string_equal(at, "\n");
        count++;
    }
    fclose(file);
    return count;
}

static void a_plugin_is_given_ten_numbers_a_command(void **state) {
    (void)state;
    thenar_tactile *tactile = rest_devices();
    char path[] = "/tmp/test_plugin_XXXXXX", target[512];
    close(mkstemp(path));
    snprintf(target, sizeof target, PLUGIN "tactile_plugin.so,%s", path);
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, target, 0, &output, &error), error);
    double last[3][10];
    for (int d = 0; d < 3; d++) last[d][0] = -1;
    WAIT_FOR((thenar_output_push(output, tactile), read_lines(path, last) >= 6));
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    expect_all_accounted(counts);
    int lines = read_lines(path, last);
    assert_true(counts.sent >= 6 && lines >= (int)counts.sent);
    for (int d = 0; d < 3; d++) {
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, d);
        const double expected[10] = {d,        c->time,     c->platform[0], c->platform[1], c->platform[2],
                                     c->press, c->touching, c->value[0],    c->value[1],    c->value[2]};
        for (int i = 0; i < 10; i++) assert_near(last[d][i], expected[i], 1e-8 * (1 + fabs(expected[i])));
    }
    assert_true(last[0][8] == 0 && last[0][9] == 0); /* a thimble has one value */
    unlink(path);
    thenar_tactile_free(tactile);
}

static void a_plugin_that_fails_is_opened_again(void **state) {
    (void)state;
    thenar_tactile *tactile = rest_devices();
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, PLUGIN "faulty_tactile.so,fail third", 0, &output, &error), error);
    WAIT_FOR((thenar_output_push(output, tactile), thenar_output_count(output).reconnects >= 2));
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    expect_all_accounted(counts);
    assert_true(counts.dropped >= 2 && counts.sent >= 2);
    thenar_tactile_free(tactile);
}

/* It hangs as long as a file is there, which is until the output is closed: who waits for it would not come back. */
static void a_tactile_plugin_that_hangs_does_not_block_the_program(void **state) {
    (void)state;
    thenar_tactile *tactile = rest_devices();
    char path[] = "/tmp/test_hang_XXXXXX", target[512];
    close(mkstemp(path));
    snprintf(target, sizeof target, PLUGIN "faulty_tactile.so,while %s", path);
    thenar_output *output;
    thenar_error error;
    assert_ok(thenar_output_open(tactile, target, 0, &output, &error), error);
    WAIT_FOR((thenar_output_push(output, tactile), thenar_output_count(output).dropped >= 6));
    assert_false(thenar_output_count(output).connected);
    unlink(path); /* it comes back, */
    WAIT_FOR((thenar_output_push(output, tactile), thenar_output_count(output).sent >= 3));
    int file = open(path, O_CREAT | O_WRONLY, 0600); /* and hangs again */
    WAIT_FOR((thenar_output_push(output, tactile), !thenar_output_count(output).connected));
    thenar_output_counts counts;
    thenar_output_close(output, &counts);
    expect_all_accounted(counts);
    assert_true(counts.reconnects >= 1);
    close(file);
    unlink(path);
    pause_ms(100); /* its thread ends meanwhile and frees what it had: the address sanitizer watches */
    thenar_tactile_free(tactile);
}

static void bad_targets_say_what_was_expected(void **state) {
    (void)state;
    static const struct {
        const char *target;
        double rate;
        thenar_status status;
        const char *words;
    } bad[] = {{"nowhere", 0, THENAR_ERROR_INPUT, "expected osc:HOST:PORT"},
               {"midi:3", 0, THENAR_ERROR_INPUT, "expected osc:HOST:PORT"},
#ifdef THENAR_OSC
               {"osc:localhost", 0, THENAR_ERROR_INPUT, "expected osc:HOST:PORT"},
               {"osc:localhost:70000", 0, THENAR_ERROR_INPUT, "1 to 65535"},
               {"osc:localhost:9000", 1e6, THENAR_ERROR_INPUT, "0.1 to 10000"},
#endif
               {"serial:/dev/ttyNone", 0, THENAR_ERROR_FILE, "/dev/ttyNone"},
               {"serial:/dev/null", 0, THENAR_ERROR_FILE, "/dev/null"},
               {"serial:/dev/ttyS0@12345", 0, THENAR_ERROR_INPUT, "baud"},
               {"csv:/nowhere/at/all.csv", 0, THENAR_ERROR_FILE, "/nowhere/at/all.csv"},
               {"plugin:/nowhere/at/all.so", 0, THENAR_ERROR_FILE, "/nowhere/at/all.so"},
               {PLUGIN "device_plugin.so", 0, THENAR_ERROR_INPUT, "it is a haptic device; expected a tactile one"},
               {PLUGIN "faulty_empty.so", 0, THENAR_ERROR_INPUT, "does not export thenar_device_plugin"},
               {PLUGIN "faulty_old.so", 0, THENAR_ERROR_INPUT, "version 77; expected 1"},
               {PLUGIN "faulty_hollow.so", 0, THENAR_ERROR_INPUT, "is NULL"},
               {PLUGIN "faulty_tactile.so,few", 0, THENAR_ERROR_FILE, "3 channels; expected 10 or more"},
               {PLUGIN "faulty_tactile.so,refuse", 0, THENAR_ERROR_FILE, "the cable is not plugged in"},
               {PLUGIN "tactile_plugin.so", 0, THENAR_ERROR_FILE, "no file; expected plugin:"}};
    thenar_tactile *tactile = rest_devices();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_output *output;
        thenar_error error;
        assert_int_equal(thenar_output_open(tactile, bad[i].target, bad[i].rate, &output, &error), bad[i].status);
        assert_null(output);
        if (!strstr(error.text, bad[i].words)) print_error("%s\n", error.text);
        assert_non_null(strstr(error.text, bad[i].words));
    }
    thenar_tactile_free(tactile);
}

#define ENTRIES 200000
static void devices_that_cannot_be_worn_are_refused_by_name(void **state) {
    (void)state;
    const thenar_wearable_def thimble = thenar_wearable_def_default(THENAR_WEARABLE_THIMBLE);
    struct {
        thenar_tactile_def worn[2];
        int count, points;
        const char *words;
    } bad[] = {
        {.count = 0, .points = 100, .words = "no device on any finger"},
        {{{.name = "a", .device = &thimble}}, 1, 5, "5 points per pad; expected 10 to 1000"},
        {{{.name = "", .device = &thimble}}, 1, 100, "a device without a name"},
        {{{.name = "a", .finger = (thenar_finger)9, .device = &thimble}}, 1, 100, "a: finger 9; expected 0 to 4"},
        {{{.name = "a", .hand = "foot", .device = &thimble}}, 1, 100, "a: there is no hand 'foot'"},
        {{{.name = "a", .device = &thimble}, {.name = "a", .finger = THENAR_FINGER_INDEX, .device = &thimble}},
         2,
         100,
         "there are two devices named a"},
        {{{.name = "a", .device = &thimble}, {.name = "b", .mount_angle = 0.5, .device = &thimble}},
         2,
         100,
         "two devices on a thumb are turned by 0 and 0.5 rad"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        thenar_tactile_options options = thenar_tactile_options_default();
        for (int k = 0; k < 2; k++) bad[i].worn[k].size = sizeof *bad[i].worn;
        options.devices = bad[i].worn;
        options.device_count = bad[i].count;
        options.points = bad[i].points;
        thenar_tactile *tactile;
        thenar_error error = {0};
        assert_int_equal(thenar_tactile_create(one_hand(), &options, &tactile, &error), THENAR_ERROR_INPUT);
        assert_null(tactile);
        if (!strstr(error.text, bad[i].words)) fail_msg("\"%s\" does not say \"%s\"", error.text, bad[i].words);
    }
}

static void outputs_without_a_thread_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"csv:/dev/null", "cannot start a thread for csv:/dev/null"},
        {PLUGIN "tactile_plugin.so", "tactile_plugin.so: the system refused a thread"}};
    thenar_tactile *tactile = rest_devices();
    for (int i = 0; i < 2; i++) {
        thenar_output *output = NULL;
        thenar_error error = {0};
        no_threads_begin();
        thenar_status status = thenar_output_open(tactile, cases[i][0], 0, &output, &error);
        no_threads_end();
        assert_int_equal(status, THENAR_ERROR_MEMORY);
        assert_null(output);
        if (!strstr(error.text, cases[i][1])) fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i][1]);
    }
    thenar_tactile_free(tactile);
}

static void *write_entries(void *queue) {
    for (int n = 0; n < (SANITIZED ? ENTRIES / 10 : ENTRIES); n++) {
        double values[RING_WORDS];
        for (int i = 0; i < RING_WORDS; i++) values[i] = n + 0.1 * i;
        ring_write(queue, values);
    }
    return NULL;
}

static void entries_of_a_queue_are_whole_or_lost(void **state) {
    (void)state;
    static command_ring queue;
    pthread_t thread;
    uint64_t total = SANITIZED ? ENTRIES / 10 : ENTRIES, whole = 0, lost = 0;
    assert_int_equal(pthread_create(&thread, NULL, write_entries, &queue), 0);
    for (uint64_t next = 0; next < total;) {
        if (next == atomic_load(&queue.count)) continue;
        double values[RING_WORDS];
        if (ring_read(&queue, next, values)) {
            for (int i = 0; i < RING_WORDS; i++) assert_true(values[i] == (double)next + 0.1 * i);
            whole++;
        } else {
            lost++;
        }
        next++;
    }
    pthread_join(thread, NULL);
    assert_true(whole > 0 && whole + lost == total);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(osc_messages_have_pose_and_values),
    cmocka_unit_test(serial_frames_have_checksums_and_microseconds),
    cmocka_unit_test(a_receiver_that_stops_reading_costs_nothing),
    cmocka_unit_test(a_line_that_comes_back_is_used_again),
    cmocka_unit_test(a_table_has_every_command),
    cmocka_unit_test(a_table_on_a_full_disk_is_reported_once),
    cmocka_unit_test(a_plugin_is_given_ten_numbers_a_command),
    cmocka_unit_test(a_plugin_that_fails_is_opened_again),
    cmocka_unit_test(a_tactile_plugin_that_hangs_does_not_block_the_program),
    cmocka_unit_test(bad_targets_say_what_was_expected),
    cmocka_unit_test(devices_that_cannot_be_worn_are_refused_by_name),
    cmocka_unit_test(outputs_without_a_thread_are_refused),
    cmocka_unit_test(entries_of_a_queue_are_whole_or_lost),
};
TEST_MAIN(tests)
