/* Packets of OSC as a haptic device takes them, from the network. Several packets in an input are parted by "\n--\n". */
#include "fuzz.h"

#ifdef THENAR_OSC

#include "device/device.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static int out = -1;
static struct sockaddr_in to = {.sin_family = AF_INET};

/* A port that is free now. */
static void *open_device(void) {
    for (int attempt = 0; attempt < 16; attempt++) {
        char text[16], message[256];
        socklen_t length = sizeof to;
        int probe = socket(AF_INET, SOCK_DGRAM, 0);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = 0;
        fuzz_check(bind(probe, (struct sockaddr *)&to, sizeof to) == 0);
        getsockname(probe, (struct sockaddr *)&to, &length);
        close(probe);
        snprintf(text, sizeof text, "%d", ntohs(to.sin_port));
        void *device = device_osc_table.open(text, message, sizeof message);
        if (device) return device;
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void *device;
    if (!device) {
        device = open_device();
        out = socket(AF_INET, SOCK_DGRAM, 0);
        fuzz_check(device && out >= 0);
    }
    for (size_t begin = 0; begin <= size;) {
        const uint8_t *cut = size - begin >= 4 ? memmem(data + begin, size - begin, "\n--\n", 4) : NULL;
        size_t length = cut ? (size_t)(cut - data) - begin : size - begin;
        if (length < 60000) sendto(out, data + begin, length, 0, (struct sockaddr *)&to, sizeof to);
        begin += length + 4;
    }
    thenar_device_sample sample;
    const double force[6] = {1, 2, 3, 4, 5, 6};
    while (device_osc_table.read(device, &sample) > 0) device_osc_table.write(device, force, 6);
    return 0;
}

#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}
#endif
