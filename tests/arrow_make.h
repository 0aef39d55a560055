/*
 * arrow_make.h - Arrow streams for tests, buffer by buffer: what our writer does not write
 * (dictionaries, views, lists that hide items), and what no writer should.
 */
#ifndef CR_TESTS_ARROW_MAKE_H
#define CR_TESTS_ARROW_MAKE_H

#include <string.h>

#include "base/buf.h"
#include "data/arrow/ipc_int.h"

/* A buffer; p NULL: it is empty. */
typedef struct am_buf {
    const void *p;
    size_t n;
} am_buf;
#define AM_OF(...)                                                                                 \
    (am_buf) {                                                                                     \
        __VA_ARGS__, sizeof(__VA_ARGS__)                                                           \
    }
#define AM_I8(...)  AM_OF((const int8_t[]){__VA_ARGS__})
#define AM_I32(...) AM_OF((const int32_t[]){__VA_ARGS__})
#define AM_I64(...) AM_OF((const int64_t[]){__VA_ARGS__})
#define AM_TEXT(s)                                                                                 \
    (am_buf) {                                                                                     \
        (s), strlen(s)                                                                             \
    }
#define AM_NONE                                                                                    \
    (am_buf) {                                                                                     \
        NULL, 0                                                                                    \
    }

static inline size_t am_begin(cr_flat_out *o, cr_buf *out, int kind, int64_t body, size_t *header) {
    cr_flat_put v[4] = {{2, 4}, {1, kind}, {4, 0}, {8, body}};
    size_t place[4], from = out->n;
    int64_t mark = -1;
    cr_buf_add(out, &mark, 8);
    cr_flat_begin(o, out);
    cr_flat_link(o, 0, cr_flat_put_table(o, v, 4, place));
    *header = place[2];
    return from;
}

static inline void am_end(cr_buf *out, size_t from) {
    while ((out->n - from) % 8)
        cr_buf_char(out, 0);
    int32_t n = (int32_t)(out->n - from - 8);
    memcpy(out->data + from + 4, &n, 4);
}

static inline void am_schema(cr_buf *out, cr_arrow_field *fields, int n) {
    cr_arrow_schema s = {.v = fields, .n = n};
    cr_arrow_schema_link(&s);
    cr_flat_out o;
    size_t header, from = am_begin(&o, out, CR_ARROW_MSG_SCHEMA, 0, &header);
    cr_flat_link(&o, header, cr_arrow_put_schema(&o, &s));
    am_end(out, from);
}

/* nodes: pairs of length and nulls; views: buffers per view column. dict < 0: a record batch. */
static inline void am_batch(cr_buf *out, int64_t dict, bool delta, int64_t n_rows,
                            const int64_t *nodes, int n_nodes, const am_buf *bufs, int n_bufs,
                            const int64_t *views, int n_views) {
    cr_flat_out o;
    size_t header, place[5], body = 0, at = 0;
    for (int i = 0; i < n_bufs; i++)
        body += (bufs[i].n + 7) / 8 * 8;
    size_t from = am_begin(&o, out, dict < 0 ? CR_ARROW_MSG_BATCH : CR_ARROW_MSG_DICT,
                           (int64_t)body, &header);
    if (dict >= 0) {
        cr_flat_put d[3] = {{8, dict}, {4, 0}, {1, delta}};
        cr_flat_link(&o, header, cr_flat_put_table(&o, d, 3, place));
        header = place[1];
    }
    cr_flat_put v[5] = {{8, n_rows}, {4, 0}, {4, 0}, {0, 0}, {n_views ? 4 : 0, 0}};
    cr_flat_link(&o, header, cr_flat_put_table(&o, v, 5, place));
    size_t list = cr_flat_put_list(&o, (size_t)n_nodes, 16);
    cr_flat_link(&o, place[1], list);
    for (int i = 0; i < 2 * n_nodes; i++)
        cr_flat_set_i64(&o, list + 4 + 8 * (size_t)i, nodes[i]);
    list = cr_flat_put_list(&o, (size_t)n_bufs, 16);
    cr_flat_link(&o, place[2], list);
    for (int i = 0; i < n_bufs; i++) {
        cr_flat_set_i64(&o, list + 4 + 16 * (size_t)i, (int64_t)at);
        cr_flat_set_i64(&o, list + 12 + 16 * (size_t)i, (int64_t)bufs[i].n);
        at += (bufs[i].n + 7) / 8 * 8;
    }
    if (n_views) {
        list = cr_flat_put_list(&o, (size_t)n_views, 8);
        cr_flat_link(&o, place[4], list);
        for (int i = 0; i < n_views; i++)
            cr_flat_set_i64(&o, list + 4 + 8 * (size_t)i, views[i]);
    }
    am_end(out, from);
    for (int i = 0; i < n_bufs; i++) {
        if (bufs[i].n) cr_buf_add(out, bufs[i].p, bufs[i].n);
        while (out->n % 8)
            cr_buf_char(out, 0);
    }
}
#define AM_BATCH(out, n_rows, nodes, ...)                                                          \
    am_batch(out, -1, false, n_rows, nodes, (int)(sizeof(nodes) / 16),                             \
             (const am_buf[])__VA_ARGS__,                                                          \
             (int)(sizeof((const am_buf[])__VA_ARGS__) / sizeof(am_buf)), NULL, 0)

#endif
