#include "app/view_source.h"

#include <string.h>

const char *order_read(const void *bytes, size_t length, view_order *order) {
    *order = (view_order){0};
    if (length >= sizeof order->kind) memcpy(&order->kind, bytes, sizeof order->kind);
    if (length != order_size(order->kind))
        return order->kind == ORDER_JOINTS   ? "an order with joints has 716 bytes"
               : order->kind == ORDER_ANGLES ? "an order with angles has 124 bytes"
                                             : "an order has 48 bytes";
    const size_t head = 4 * sizeof(uint32_t);
    memcpy(order, bytes, head);
    memcpy(order_drives(order->kind) ? (void *)order->drive : (void *)order->x, (const char *)bytes + head,
           length - head);
    return order->zero != 0 ? "no such order" : NULL;
}
