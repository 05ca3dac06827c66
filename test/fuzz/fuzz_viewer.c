/* What comes over the network to the viewer's server: a request of any bytes (first byte odd), or a WebSocket that was let in
 * and then sends any bytes. Source and page are stand-ins. */
#include "fuzz.h"

#include "app/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* In place of app/page.c. */
__asm__(".section .rodata\n"
        ".global page_html, page_html_end, page_policy, page_policy_end\n"
        "page_html: .ascii \"<html></html>\"\n"
        "page_html_end: .byte 0\n"
        "page_policy: .ascii \"default-src 'none'; connect-src \"\n"
        "page_policy_end: .byte 0\n"
        ".previous\n");

static void stub_head(view_source *source, view_message *out) {
    (void)source;
    message_text(out, SECTION_NOTICE, "head");
}

static void stub_updates(view_source *source, view_cursor *cursor, view_message *out) {
    (void)source;
    if (cursor->frame++ < 3) message_text(out, SECTION_NOTICE, "news");
}

static const char *stub_order(view_source *source, view_cursor *cursor, const view_order *order) {
    (void)source, (void)cursor;
    fuzz_check(order->zero == 0);
    return order->kind == 0 || order->kind >= ORDER_KINDS ? "no such order" : NULL;
}

static int leaving;
static void stub_leave(view_source *source, view_cursor *cursor) {
    (void)source, (void)cursor;
    leaving++;
}

static view_source source = {stub_head, stub_updates, stub_order, stub_leave, NULL};
static server *served;
static char host[64], token[64];
static struct sockaddr_in to = {.sin_family = AF_INET};

static void begin(void) {
    thenar_error error;
    fuzz_check(server_create(NULL, 0, &source, &served, &error) == THENAR_OK);
    fuzz_check(sscanf(server_address(served), "http://%63[^/]/?token=%63s", host, token) == 2);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)atoi(strchr(host, ':') + 1));
}

/* Both sides take turns, so that nothing waits. */
static void serve(int client, int turns) {
    char answer[4096];
    for (int i = 0; i < turns; i++) {
        server_serve(served);
        while (recv(client, answer, sizeof answer, MSG_DONTWAIT) > 0) {
        }
    }
}

static void send_all(int client, const void *bytes, size_t size) {
    const char *at = bytes;
    for (int tries = 0; size > 0 && tries < 64; tries++) {
        ssize_t sent = send(client, at, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) at += sent, size -= (size_t)sent;
        serve(client, 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char request[1024];
    struct linger hard = {1, 0};
    int one = 1;
    if (!served) begin();
    int client = socket(AF_INET, SOCK_STREAM, 0);
    int connected = client >= 0 ? connect(client, (struct sockaddr *)&to, sizeof to) : -1;
    if (connected != 0 && errno == EINTR) { /* libFuzzer's own clock */
        close(client);
        return 0;
    }
    fuzz_check(connected == 0);
    /* Ended hard, or the ports of the connections that were would be used up. */
    setsockopt(client, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (size > 0 && data[0] % 2 == 0) {
        snprintf(request, sizeof request,
                 "GET /socket?token=%s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nUpgrade: websocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Protocol: thenar-viewer-2\r\n\r\n",
                 token, host, host);
        send_all(client, request, strlen(request));
        serve(client, 3);
    }
    if (size > 0) send_all(client, data + 1, size - 1);
    serve(client, 3);
    close(client);
    for (int i = 0; i < 3; i++) server_serve(served);
    return 0;
}
