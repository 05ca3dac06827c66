/* Devices: opened by name, read, written, and none of what they do wrong reaches the loop. With threads and real time,
 * so that nothing here depends on when something happens, only on that it does. */
#include "test.h"

#include "no_threads.h"

#include "core/threads.h"
#include "random.h"
#include "device/device.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef THENAR_OSC
#include <lo/lo.h>
#endif
#ifdef THENAR_WEBSOCKET
#include <libwebsockets.h>
#endif

#define PLUGIN BINARY_DIR "/test/"
#define PATIENCE 20000 /* ms */

static void sleep_ms(long ms) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static device_port *open_ok(const char *text) {
    thenar_error error;
    device_port *d = NULL;
    assert_ok(device_open(text, 1e-3, 0.01, &d, &error), error);
    return d;
}

/* The device is refused with a message that has all of these in it. */
static void refused(const char *text, const char *first, const char *second) {
    thenar_error error = {0};
    device_port *d = NULL;
    assert_true(device_open(text, 1e-3, 0.01, &d, &error) < 0);
    assert_null(d);
    if (strstr(error.text, first) && strstr(error.text, second)) return;
    print_error("%s: \"%s\" has no \"%s\" or no \"%s\"\n", text, error.text, first, second);
    fail();
}

static const char *write_file(const char *name, const char *text) {
    static char path[512];
    snprintf(path, sizeof path, "%s/test/%s", BINARY_DIR, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void with_file(char *out, size_t size, const char *kind, const char *name, const char *text) {
    snprintf(out, size, "%s:%s", kind, write_file(name, text));
}

/* ----------------------------------------------------------------------------------------------------- triple buffer */

typedef struct pages {
    triple_buffer buffer;
    uint64_t until;
} pages;

#define PAGE 64

static void *write_pages(void *argument) {
    pages *p = argument;
    for (uint64_t n = 1; n <= p->until; n++) {
        uint64_t *slot = triple_buffer_slot(&p->buffer);
        for (int i = 0; i < PAGE; i++) slot[i] = n;
        triple_buffer_publish(&p->buffer);
    }
    return NULL;
}

static void a_triple_buffer_gives_whole_updates_in_order_and_the_last_in_the_end(void **unused) {
    (void)unused;
    pages p = {.until = SANITIZED ? 20000 : 200000};
    assert_true(triple_buffer_create(&p.buffer, PAGE * sizeof(uint64_t)));
    pthread_t thread;
    pthread_create(&thread, NULL, write_pages, &p);
    uint64_t last = 0;
    while (last < p.until) {
        bool updates;
        const uint64_t *page = triple_buffer_read(&p.buffer, &updates);
        for (int i = 1; i < PAGE; i++) assert_int_equal(page[i], page[0]);
        assert_true(updates ? page[0] > last : page[0] == last);
        last = page[0];
    }
    pthread_join(thread, NULL);
    triple_buffer_free(&p.buffer);
}

/* ------------------------------------------------------------------------------------------------ names and figures */

static void bad_device_names_and_files_are_refused_with_a_reason(void **unused) {
    (void)unused;
    static const struct {
        const char *kind, *text, *first, *second;
    } files[] = {
        {"user", "{\"keys\": [{\"t\": 0}, {\"t\": 0}]}", "device.json", "key 1"},
        {"user", "{\"keys\": [{\"t\": 0}, {\"t\": 5e-321}]}", "device.json", "1e-06 later than the one before"},
        {"user", "{\"keys\": [{\"t\": 0, \"postion\": [0, 1, 0]}]}", "key 0: unknown postion", "did you mean position"},
        {"user", "{\"keys\": [{\"t\": 0, \"colour\": 1}]}", "key 0: unknown colour", "expected t, position or turn"},
        {"user", "{\"stifness\": 3, \"keys\": [{\"t\": 0}]}", "stifness", "did you mean stiffness"},
        {"user", "{\"mass\": 0, \"keys\": [{\"t\": 0}]}", "mass", "0.001"},
        {"user", "{\"keys\": [{\"t\": 0, \"position\": [1, 2]}]}", "position", "three numbers"},
        {"user", "{\"keys\": \n[}", "device.json:2", ""},
        {"recorded", "{\"t\": 0, \"position\": [0, 0, 0]}\n{\"t\": 0}\n", "device.json:2", "position"},
        {"recorded", "\n\n", "device.json", "no frames"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char text[600];
        with_file(text, sizeof text, files[i].kind, "device.json", files[i].text);
        refused(text, files[i].first, files[i].second);
    }
    refused("usr:x", "unknown device usr", "did you mean user");
    refused("user:/nowhere/at/all", "/nowhere/at/all", "cannot");
    refused("plugin:/nowhere.so", "/nowhere.so", "cannot load");
    refused("a-name-that-is-much-longer-than-any-kind-of-device-is:x", "unknown device", "expected user:FILE");
#ifdef THENAR_OSC
    refused("osc:99999999", "99999999", "port");
#endif
#ifdef THENAR_WEBSOCKET
    refused("ws:x", "x is not a port", "ws:PORT");
#endif
}

static void a_simulated_hand_at_rest_obeys_hooke(void **unused) {
    (void)unused;
    user_key keys[] = {{0, {0.1, 0, 0}, {0, 0, 0}}};
    user_model user = user_model_default();
    user.keys = keys;
    user.key_count = 1;
    user.damping = 20;
    user_state state = user_begin(&user);
    const double wrench[6] = {0, 2, 0, 0, 0, 0.05};
    for (int i = 0; i < 3000; i++) user_advance(&user, &state, wrench, 1e-3);
    assert_near(state.position.x, 0.1, 1e-9);
    assert_near(state.position.y, 2 / user.stiffness, 1e-9);
    assert_near(quat_to_rotation_vector(state.orientation).z, 0.05 / user.turn_stiffness, 1e-6);
}

static void a_simulated_hand_swings_with_its_own_frequency(void **unused) {
    (void)unused;
    user_key keys[] = {{0, {0, 0, 0}, {0, 0, 0}}};
    user_model user = user_model_default();
    user.keys = keys;
    user.key_count = 1;
    user.damping = user.friction = 0;
    user_state state = user_begin(&user);
    state.position.x = 0.01;
    const double none[6] = {0};
    double period = 2 * M_PI * sqrt(user.mass / user.stiffness);
    for (int i = 0; i < 10; i++) user_advance(&user, &state, none, period);
    assert_near(state.position.x, 0.01, 1e-5); /* symplectic Euler of 0.1 ms: its phase is off by (w h)^2/24 a step */
}

static void a_script_and_a_recording_move_a_device(void **unused) {
    (void)unused;
    char text[600];
    with_file(
        text, sizeof text, "user", "good.json",
        "{\"stiffness\": 2000, \"damping\": 40, \"keys\": [{\"t\": 0}, {\"t\": 0.05, \"position\": [0.1, 0, 0]}]}");
    device_port *d = open_ok(text);
    device_sample sample = {0};
    for (int ms = 0; ms < PATIENCE && sample.body.pose[0] < 0.099; ms++) {
        device_read(d, clock_now(), &sample);
        sleep_ms(1);
    }
    assert_true(sample.body.pose[0] >= 0.099);
    device_close(d);
    with_file(text, sizeof text, "recorded", "good.jsonl",
              "{\"t\": 5, \"position\": [0, 0, 0], \"orientation\": [0, 0, 0, 1]}\n"
              "{\"t\": 5.1, \"position\": [0.2, 0, 0], \"orientation\": [0, 0, 0.70710678, 0.70710678]}\n");
    d = open_ok(text);
    double last = -1;
    uint64_t number = 0;
    memset(&sample, 0, sizeof sample);
    for (int ms = 0; ms < 200; ms++) {
        device_read(d, clock_now(), &sample);
        assert_true(sample.body.pose[0] >= last && sample.body.pose[0] <= 0.2);
        last = sample.body.pose[0];
        number = sample.number;
        sleep_ms(1);
    }
    device_read(d, clock_now(), &sample);
    assert_int_equal(sample.number, number); /* it is over, and silent */
    device_close(d);
}

/* ---------------------------------------------------------------------------------------------------------- plugins */

static void plugins_of_another_kind_are_refused(void **unused) {
    (void)unused;
    refused("plugin:" PLUGIN "faulty_empty.so", "faulty_empty.so", "does not export thenar_device_plugin");
    refused("plugin:" PLUGIN "faulty_old.so", "version 77", "expected 1");
    refused("plugin:" PLUGIN "faulty_hollow.so", "faulty_hollow.so", "NULL");
    refused("plugin:" PLUGIN "faulty_null.so", "faulty_null.so", "table is NULL");
    refused("plugin:" PLUGIN "faulty_tactile.so", "it is a tactile device", "expected a haptic one");
    refused("plugin:" PLUGIN "faulty.so,refuse", "refuse", "the cable is not plugged in");
    refused("plugin:" PLUGIN "faulty.so,mute", "mute", "cannot open");
}

static int read_nothing(void *device, thenar_device_sample *sample) {
    (void)device, (void)sample;
    return 0;
}

static void a_table_of_neither_kind_is_refused(void **unused) {
    (void)unused;
    thenar_device_table table = device_user_table;
    table.read = read_nothing;
    assert_null(device_table_fault(&table, true));
    table.kind = 7;
    assert_string_equal(device_table_fault(&table, true), "it is neither a haptic nor a tactile device");
}

static void the_example_plugin_swings_and_gives_way(void **unused) {
    (void)unused;
    refused("plugin:" PLUGIN "device_plugin.so,far", "far", "amplitude");
    device_port *d = open_ok("plugin:" PLUGIN "device_plugin.so,0.001");
    assert_near(device_info(d)->max_force, 5, 0);
    const double push[6] = {0, 2, 0, 0, 0, 0};
    device_sample sample = {0};
    for (int ms = 0; ms < PATIENCE && !(sample.body.pose[1] > 0.015); ms++) {
        device_read(d, clock_now(), &sample);
        device_write(d, clock_now(), push, 6);
        sleep_ms(1);
    }
    assert_true(sample.body.pose[1] > 0.015); /* 2 N / 100 N/m = 20 mm */
    device_close(d);
}

static void a_device_without_a_thread_is_refused(void **unused) {
    (void)unused;
    no_threads_begin();
    refused("plugin:" PLUGIN "device_plugin.so", "device_plugin.so", "the system refused a thread");
    no_threads_end();
}

static void a_plugin_that_hangs_does_not_block_the_loop(void **unused) {
    (void)unused;
    device_port *d = open_ok("plugin:" PLUGIN "faulty.so,hang");
    device_sample sample = {0};
    int64_t longest = 0;
    const double none[6] = {0};
    for (int ms = 0; ms < PATIENCE && device_read_counts(d).hung == 0; ms++) {
        int64_t begin = clock_now();
        device_read(d, begin, &sample);
        device_write(d, begin, none, 6);
        if (clock_now() - begin > longest) longest = clock_now() - begin;
        sleep_ms(1);
    }
    assert_int_equal(device_read_counts(d).hung, 1);
    uint64_t number = sample.number;
    for (int ms = 0; ms < PATIENCE && sample.number < number + 5; ms++) { /* it comes back */
        device_read(d, clock_now(), &sample);
        sleep_ms(1);
    }
    assert_true(sample.number >= number + 5);
    print_message("longest call while the plugin hung for 300 ms: %.3f ms\n", 1e-6 * (double)longest);
    device_close(d);
}

static void a_plugin_that_hangs_on_close_does_not_block_the_program(void **unused) {
    (void)unused;
    device_port *d = open_ok("plugin:" PLUGIN "faulty.so,close-hangs");
    device_close(d);
    sleep_ms(700); /* its thread ends meanwhile and frees what it had: the address sanitizer watches */
}

static void garbage_and_failures_of_a_plugin_are_counted(void **unused) {
    (void)unused;
    device_port *d = open_ok("plugin:" PLUGIN "faulty.so,garbage");
    const thenar_device_info *info = device_info(d);
    assert_true(info->max_force >= 0 && info->max_force < 1e5 && info->channels == 6 && info->can < 64);
    device_sample sample = {0};
    for (int ms = 0; ms < PATIENCE && device_read_counts(d).doubled < 3; ms++) {
        device_read(d, clock_now(), &sample);
        sleep_ms(1);
    }
    assert_int_equal(sample.number, 1); /* its sequence does not go on */
    assert_true(device_read_counts(d).doubled >= 3);
    device_close(d);
    d = open_ok("plugin:" PLUGIN "faulty.so,fail");
    const double none[6] = {0};
    for (int ms = 0; ms < PATIENCE && device_read_counts(d).errors < 10; ms++) {
        device_write(d, clock_now(), none, 6);
        sleep_ms(1);
    }
    assert_true(device_read_counts(d).errors >= 10);
    device_close(d);
}

static void lost_doubled_and_late_samples_are_counted_and_left_out(void **unused) {
    (void)unused;
    device_port *d = open_ok("plugin:" PLUGIN "faulty.so,sequence");
    device_sample sample = {0};
    uint64_t last = 0;
    for (int ms = 0; ms < PATIENCE && sample.number < 40; ms++) {
        device_read(d, clock_now(), &sample);
        assert_true(sample.body.sequence >= last);
        last = sample.body.sequence;
        sleep_ms(1);
    }
    device_counts counts = device_read_counts(d);
    /* Ten times 1 2 2 4 3 5: one doubled, one late, and 3 was missing when 4 came. */
    assert_int_equal(sample.number, 40);
    assert_int_equal(counts.doubled, 10);
    assert_int_equal(counts.reordered, 10);
    assert_int_equal(counts.lost, 10);
    device_close(d);
}

static void without_new_forces_the_watchdog_ends_the_last_one(void **unused) {
    (void)unused;
    device_port *d = open_ok("plugin:" PLUGIN "device_plugin.so,0.001");
    const double push[6] = {0, 2, 0, 0, 0, 0};
    device_sample sample = {0};
    for (int ms = 0; ms < PATIENCE && !(sample.body.pose[1] > 0.015); ms++) {
        device_read(d, clock_now(), &sample);
        device_write(d, clock_now(), push, 6);
        sleep_ms(1);
    }
    for (int ms = 0; ms < PATIENCE && fabs(sample.body.pose[1]) > 0.003; ms++) { /* nobody writes any more */
        device_read(d, clock_now(), &sample);
        sleep_ms(1);
    }
    assert_true(fabs(sample.body.pose[1]) <= 0.003);
    assert_true(device_read_counts(d).watchdog > 0);
    device_close(d);
}

/* -------------------------------------------------------------------------------------------------------------- OSC */

#ifdef THENAR_OSC
/* Packets that are no OSC, or nearly. */
static void send_garbage(int port) {
    char good[] = "/thenar/pose\0\0\0\0,iddd\0\0\0\0\0\0\7........................";
    random_source random = {7};
    int to = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int n = 0; n < 400; n++) {
        char packet[256];
        size_t size = random_bits(&random) % sizeof packet;
        for (size_t i = 0; i < size; i++) packet[i] = (char)random_bits(&random);
        if (n % 2) { /* a good one with some bytes changed, cut off somewhere */
            memcpy(packet, good, sizeof good);
            size = 1 + random_bits(&random) % (sizeof good - 1);
            for (int k = 0; k < 3; k++) packet[random_bits(&random) % sizeof good] = (char)random_bits(&random);
        }
        sendto(to, packet, size, 0, (const struct sockaddr *)&address, sizeof address);
        if (n % 20 == 0) sleep_ms(1);
    }
    close(to);
}

static int take_force(const char *path, const char *types, lo_arg **argv, int argc, lo_message message, void *user) {
    (void)path, (void)types, (void)argc, (void)message;
    float force;
    memcpy(&force, argv[2], sizeof force);
    *(double *)user = (double)force;
    return 0;
}

static void poses_come_and_forces_go_by_osc(void **unused) {
    (void)unused;
    char text[32];
    thenar_error error;
    device_port *d = NULL;
    int port = 27410;
    do snprintf(text, sizeof text, "osc:%d", ++port);
    while (device_open(text, 1e-3, 10, &d, &error) != THENAR_OK && port < 27450);
    assert_non_null(d);
    char number[16];
    snprintf(number, sizeof number, "%d", port);
    lo_address there = lo_address_new("127.0.0.1", number);
    lo_server here = lo_server_new(NULL, NULL);
    double force = 0;
    lo_server_add_method(here, "/thenar/force", "iffffff", take_force, &force);
    const double push[6] = {0, 3, 0, 0, 0, 0};
    device_sample sample = {0};
    /* Lost (3), doubled (2) and late (4) on the way, and messages that are none of ours. */
    const int order[] = {1, 2, 2, 5, 4, 6};
    for (int i = 0; i < 6; i++) {
        lo_send_from(there, here, LO_TT_IMMEDIATE, "/thenar/pose", "iddddddd", order[i], 0.01 * order[i], 0.2, 0.3, 0.0,
                     0.0, 0.0, 1.0);
        lo_send_from(there, here, LO_TT_IMMEDIATE, "/thenar/pose", "is", 9, "nonsense");
        lo_send_from(there, here, LO_TT_IMMEDIATE, "/other", "f", 1.0);
    }
    for (int ms = 0; ms < PATIENCE && !(sample.body.sequence == 6 && force == 3); ms++) {
        device_read(d, clock_now(), &sample);
        device_write(d, clock_now(), push, 6);
        while (lo_server_recv_noblock(here, 0) > 0) continue;
        sleep_ms(1);
    }
    assert_int_equal(sample.body.sequence, 6);
    assert_near(sample.body.pose[0], 0.06, 1e-12);
    assert_true(sample.body.has & THENAR_DEVICE_ORIENTATION);
    assert_near(force, 3, 0);
    device_counts counts = device_read_counts(d);
    assert_int_equal(counts.doubled, 1);
    assert_int_equal(counts.reordered, 1);
    assert_int_equal(counts.lost, 2);
    send_garbage(port);
    for (int ms = 0; ms < PATIENCE && sample.body.pose[0] != 0.5; ms++) { /* UDP may lose some */
        lo_send_from(there, here, LO_TT_IMMEDIATE, "/thenar/pose", "ifff", 0, 0.5, 0.0, 0.0);
        device_read(d, clock_now(), &sample);
        sleep_ms(1);
    }
    assert_true(sample.body.pose[0] == 0.5); /* it goes on */
    device_close(d);
    lo_server_free(here);
    lo_address_free(there);
}
#endif

/* -------------------------------------------------------------------------------------------------------- WebSocket */

static void messages_of_the_inverse_service_are_read_and_written(void **unused) {
    (void)unused;
    const char *text =
        "{\"inverse3\":[{\"device_id\":\"049D\",\"state\":{\"cursor_position\":{\"x\":0.1,\"y\":-0.2,\"z\":"
        "0.3},\"cursor_velocity\":{\"x\":1,\"y\":2,\"z\":3}}}],\"wireless_verse_grip\":[{\"state\":{"
        "\"orientation\":{\"w\":0.5,\"x\":0.5,\"y\":-0.5,\"z\":0.5}}}]}";
    thenar_device_sample sample;
    char id[INVERSE_ID], out[512];
    assert_true(inverse_read(text, strlen(text), &sample, id));
    assert_string_equal(id, "049D");
    assert_near(sample.pose[1], -0.2, 0);
    assert_near(sample.velocity[2], 3, 0);
    assert_near(sample.pose[4], -0.5, 0);
    assert_near(sample.pose[6], 0.5, 0);
    assert_false(sample.has & THENAR_DEVICE_SPIN);
    for (size_t cut = 0; cut < strlen(text); cut++) assert_false(inverse_read(text, cut, &sample, id));
    const char *wrong[] = {"[]", "7", "{\"inverse3\":{}}", "{\"inverse3\":[{\"state\":{\"cursor_position\":[1,2,3]}}]}",
                           "{\"inverse3\":[{\"state\":{\"cursor_position\":{\"x\":\"1\",\"y\":2,\"z\":3}}}]}"};
    for (int i = 0; i < 5; i++) assert_false(inverse_read(wrong[i], strlen(wrong[i]), &sample, id));
    const double force[3] = {1, -2.5, 0};
    size_t length = inverse_write("049D", force, out, sizeof out);
    assert_string_equal((out[length] = 0, out),
                        "{\"inverse3\":[{\"device_id\":\"049D\",\"commands\":{\"set_cursor_force\":"
                        "{\"values\":{\"x\":1.0,\"y\":-2.5,\"z\":0.0}}}}]}");
    assert_int_equal(inverse_write("049D", force, out, 10), 0);
}

#ifdef THENAR_WEBSOCKET
#define FAR 9          /* m, where no device is */
#define TOO_LONG 70000 /* bytes of a message */

/* A service on loopback that answers every order with where its device is: it follows the force. Its first message is
 * too long for anyone, and says that the device is far away. */
typedef struct service {
    struct lws_context *context;
    atomic_bool stop;
    bool said_too_much;
    double force, position;
    int orders;
    char last[600];
} service;

static int serve(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length) {
    (void)user;
    service *s = lws_context_user(lws_get_context(wsi));
    static unsigned char out[LWS_PRE + TOO_LONG];
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED:
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_RECEIVE: {
        if (length >= sizeof s->last) return -1;
        memcpy(s->last, in, length);
        s->last[length] = 0;
        const char *y = strstr(s->last, "\"y\":");
        s->force = y ? atof(y + 4) : NAN;
        s->orders++;
        lws_callback_on_writable(wsi);
        return 0;
    }
    case LWS_CALLBACK_SERVER_WRITEABLE: {
        s->position = s->said_too_much ? 0.01 * s->force : FAR;
        int size = snprintf((char *)out + LWS_PRE, TOO_LONG,
                            "{\"inverse3\":[{\"device_id\":\"A1\",\"state\":{\"cursor_position\":{\"x\":0,\"y\":%.6f,"
                            "\"z\":0},\"cursor_velocity\":{\"x\":0,\"y\":0,\"z\":0}}}]}",
                            s->position);
        if (!s->said_too_much) {
            memset(out + LWS_PRE + size, ' ', (size_t)(TOO_LONG - size));
            size = TOO_LONG;
        }
        s->said_too_much = true;
        return lws_write(wsi, out + LWS_PRE, (size_t)size, LWS_WRITE_TEXT) < 0 ? -1 : 0;
    }
    default:
        return 0;
    }
}

static void *run_service(void *argument) {
    service *s = argument;
    while (!atomic_load(&s->stop)) {
        lws_service(s->context, -1);
        sleep_ms(1);
    }
    return NULL;
}

static void poses_come_and_forces_go_by_websocket(void **unused) {
    (void)unused;
    static const struct lws_protocols protocols[] = {{"inverse", serve, 0, 4096, 0, NULL, 0},
                                                     {NULL, NULL, 0, 0, 0, NULL, 0}};
    service s = {0};
    lws_set_log_level(0, NULL);
    struct lws_context_creation_info info = {.port = 0,
                                             .iface = "127.0.0.1",
                                             .protocols = protocols,
                                             .user = &s,
                                             .gid = -1,
                                             .uid = -1,
                                             .options = LWS_SERVER_OPTION_DISABLE_IPV6};
    s.context = lws_create_context(&info);
    assert_non_null(s.context);
    int port = lws_get_vhost_listen_port(lws_get_vhost_by_name(s.context, "default"));
    pthread_t thread;
    pthread_create(&thread, NULL, run_service, &s);
    char text[32];
    snprintf(text, sizeof text, "ws:%d", port);
    device_port *d = open_ok(text);
    const double push[6] = {0, 2.5, 0, 0, 0, 0};
    device_sample sample = {0};
    for (int ms = 0; ms < PATIENCE && !(fabs(sample.body.pose[1] - 0.025) < 1e-6); ms++) {
        device_read(d, clock_now(), &sample);
        assert_true(sample.body.pose[1] < FAR);
        device_write(d, clock_now(), push, 6);
        sleep_ms(1);
    }
    assert_near(sample.body.pose[1], 0.025, 1e-6);
    device_close(d);
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    assert_true(s.orders > 0);
    assert_non_null(strstr(s.last, "\"device_id\":\"A1\""));
    lws_context_destroy(s.context);
}
#endif

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_triple_buffer_gives_whole_updates_in_order_and_the_last_in_the_end),
    cmocka_unit_test(bad_device_names_and_files_are_refused_with_a_reason),
    cmocka_unit_test(a_simulated_hand_at_rest_obeys_hooke),
    cmocka_unit_test(a_simulated_hand_swings_with_its_own_frequency),
    cmocka_unit_test(a_script_and_a_recording_move_a_device),
    cmocka_unit_test(plugins_of_another_kind_are_refused),
    cmocka_unit_test(a_table_of_neither_kind_is_refused),
    cmocka_unit_test(the_example_plugin_swings_and_gives_way),
    cmocka_unit_test(a_device_without_a_thread_is_refused),
    cmocka_unit_test(a_plugin_that_hangs_does_not_block_the_loop),
    cmocka_unit_test(a_plugin_that_hangs_on_close_does_not_block_the_program),
    cmocka_unit_test(garbage_and_failures_of_a_plugin_are_counted),
    cmocka_unit_test(lost_doubled_and_late_samples_are_counted_and_left_out),
    cmocka_unit_test(without_new_forces_the_watchdog_ends_the_last_one),
    cmocka_unit_test(messages_of_the_inverse_service_are_read_and_written),
#ifdef THENAR_OSC
    cmocka_unit_test(poses_come_and_forces_go_by_osc),
#endif
#ifdef THENAR_WEBSOCKET
    cmocka_unit_test(poses_come_and_forces_go_by_websocket),
#endif
};

TEST_MAIN(tests)
