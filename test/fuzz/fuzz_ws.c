/* What a service says to the haptic device behind a WebSocket, frames and all: any bytes behind the answer that lets the
 * client in. */
#include "fuzz.h"

#ifdef THENAR_WEBSOCKET

#include "device/device.h"

#include <arpa/inet.h>
#include <libwebsockets.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

static int listening = -1, port;
static const uint8_t *said;
static size_t said_size;
static sem_t opened; /* the device is connected: now it may hear anything */

static void listen_somewhere(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    listening = socket(AF_INET, SOCK_STREAM, 0);
    fuzz_check(listening >= 0 && bind(listening, (struct sockaddr *)&at, sizeof at) == 0 && listen(listening, 8) == 0);
    getsockname(listening, (struct sockaddr *)&at, &length);
    port = ntohs(at.sin_port);
}

/* RFC 6455, 4.2.2: the client's key and a constant, hashed. */
static bool let_in(int client) {
    char request[4096], joined[128], digest[64], answer[256];
    unsigned char hash[20];
    size_t used = 0;
    while (used < sizeof request - 1) {
        ssize_t got = recv(client, request + used, sizeof request - 1 - used, 0);
        if (got <= 0) return false;
        used += (size_t)got;
        request[used] = 0;
        if (strstr(request, "\r\n\r\n")) break;
    }
    const char *key = strcasestr(request, "Sec-WebSocket-Key: ");
    if (!key) return false;
    snprintf(joined, sizeof joined, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key + 19);
    lws_SHA1((unsigned char *)joined, strlen(joined), hash);
    lws_b64_encode_string((const char *)hash, sizeof hash, digest, sizeof digest);
    snprintf(answer, sizeof answer,
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Accept: %s\r\n\r\n",
             digest);
    return send(client, answer, strlen(answer), MSG_NOSIGNAL) > 0;
}

static void *service(void *ignored) {
    (void)ignored;
    struct timeval patience = {1, 0};
    struct linger hard = {1, 0};
    struct pollfd wait = {.fd = listening, .events = POLLIN};
    int client = poll(&wait, 1, 4000) > 0 ? accept(listening, NULL, NULL) : -1;
    if (client < 0) return NULL;
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    char heard[4096];
    if (let_in(client)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 2;
        if (sem_timedwait(&opened, &until) == 0) send(client, said, said_size, MSG_NOSIGNAL);
        shutdown(client, SHUT_WR);
        while (recv(client, heard, sizeof heard, 0) > 0) {
        }
    }
    setsockopt(client, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(client);
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[16], message[256];
    pthread_t thread;
    if (listening < 0) {
        listen_somewhere();
        sem_init(&opened, 0, 0);
    }
    said = data;
    said_size = size;
    snprintf(text, sizeof text, "%d", port);
    fuzz_check(pthread_create(&thread, NULL, service, NULL) == 0);
    void *device = device_ws_table.open(text, message, sizeof message);
    /* A machine that is very busy may let the client wait for too long. */
    if (!device) {
        pthread_join(thread, NULL);
        return 0;
    }
    sem_post(&opened);
    const double force[6] = {1, 2, 3, 0, 0, 0};
    for (int i = 0; i < 12; i++) {
        thenar_device_sample sample;
        sched_yield();
        if (device_ws_table.read(device, &sample) > 0)
            for (int k = 0; k < 3; k++) fuzz_check(isfinite(sample.pose[k]));
        device_ws_table.write(device, force, 6);
    }
    device_ws_table.close(device);
    pthread_join(thread, NULL);
    while (sem_trywait(&opened) == 0) {
    }
    return 0;
}

#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}
#endif
