/* Orders of a viewer to a running simulation, as they come over its WebSocket, one behind the other. */
#include "fuzz.h"

#include "app/view_live.h"

#define ORDERS 16
#define STEPS 3

static void ignore(void *context) {
    (void)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static view_source *source;
    thenar_error error = {0};
    if (!source) {
        view_live_request request = {.scene = SOURCE_DIR "/test/fuzz/scene.yaml", .threads = 1, .paused = true};
        fuzz_check(view_live_create(&request, &source, &error) == THENAR_OK);
    }
    view_live *live = (view_live *)source;
    live->notify = ignore;
    view_message out = {0};
    view_cursor cursor = {0};
    for (int i = 0; i < ORDERS && size > 0; i++) {
        uint32_t kind = 0;
        view_order order;
        if (size >= sizeof kind) memcpy(&kind, data, sizeof kind);
        size_t length = order_size(kind) < size ? order_size(kind) : size;
        /* In a block of its own, so that reading beyond it is seen. */
        file_bytes bytes = fuzz_bytes(data, length);
        const char *wrong = order_read(bytes.data, length, &order);
        free(bytes.data);
        data += length;
        size -= length;
        if (!wrong) wrong = live_check_order(live, &order);
        fuzz_check(!wrong || strlen(wrong) < 124); /* it is the reason of a close, which has that much room */
        if (!wrong) live_take_order(live, &order);
        for (int k = 0; k < live->single_steps && k < STEPS; k++) {
            drag_apply(&live->drag, live->sim);
            thenar_sim_step(live->sim);
        }
        live->single_steps = 0;
        live_publish(live, 0);
        source->updates(source, &cursor, &out);
        fuzz_check(!out.failed);
        message_clear(&out);
    }
    message_free(&out);
    live_take_order(live, &(view_order){.kind = ORDER_RESET});
    return 0;
}
