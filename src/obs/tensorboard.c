/*
 * tensorboard.c - event files: records with checksums around protobuf messages.
 *
 * Only a dozen fields are ever written, so the messages are put together by hand: a field is a key
 * (number << 3 | kind) and a value, and a message inside another is written as its length and its
 * bytes. docs/design/tensorboard.md lists the fields. Lengths come first, so each inner message is
 * built in its own buffer.
 */
#include "obs/tensorboard.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "obs/logfile.h"

struct cr_events {
    cr_logfile *file;
    cr_buf values; /* field 1 of Summary, repeated */
    cr_buf value, part, event, record;
};

/* ---- the wire format ---- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(cr_buf *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        cr_buf_char(b, (char)((v & 0x7f) | 0x80));
    cr_buf_char(b, (char)v);
}
static void put_le(cr_buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        cr_buf_char(b, (char)(v >> 8 * i & 0xff));
}
static void put_key(cr_buf *b, unsigned field, unsigned kind) {
    put_varint(b, field << 3 | kind);
}
static void put_int(cr_buf *b, unsigned field, int64_t v) {
    put_key(b, field, VARINT);
    put_varint(b, (uint64_t)v);
}
static void raw_double(cr_buf *b, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_le(b, bits, 8);
}
static void put_double(cr_buf *b, unsigned field, double v) {
    put_key(b, field, FIXED64);
    raw_double(b, v);
}
static void put_float(cr_buf *b, unsigned field, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_key(b, field, FIXED32);
    put_le(b, bits, 4);
}
static void put_bytes(cr_buf *b, unsigned field, const void *p, size_t n) {
    put_key(b, field, BYTES);
    put_varint(b, n);
    cr_buf_add(b, p, n);
}
static void put_text(cr_buf *b, unsigned field, const char *s) {
    put_bytes(b, field, s, strlen(s));
}

/* ---- records ---- */

static double wall_time(void) {
    struct timeval t;
    gettimeofday(&t, NULL);
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* begin starts e->event; end writes it as one record. */
static void begin(cr_events *e, int64_t step) {
    cr_buf_reset(&e->event);
    put_double(&e->event, 1, wall_time());
    if (step != 0) put_int(&e->event, 2, step);
}
static void end(cr_events *e) {
    cr_buf *r = &e->record;
    cr_buf_reset(r);
    put_le(r, e->event.n, 8);
    put_le(r, cr_crc32c_masked(r->data, 8), 4);
    cr_buf_add(r, e->event.data, e->event.n);
    put_le(r, cr_crc32c_masked(e->event.data, e->event.n), 4);
    cr_logfile_write(e->file, r->data, r->n);
}

cr_code cr_events_open(cr_events **out, const char *dir, cr_err *err) {
    *out = NULL;
    char host[256] = "localhost";
    if (gethostname(host, sizeof host - 1) != 0 || !*host) snprintf(host, sizeof host, "localhost");
    CR_TRY(cr_mkdirs(dir, err));
    cr_arena a;
    cr_arena_init(&a, 0);
    long long now = (long long)wall_time();
    cr_logfile *f = NULL;
    cr_code code = CR_EIO;
    /* a second run in the same second takes the next number */
    for (int n = 0; code != CR_OK && n < 100; n++) {
        char *path = cr_path_join(&a, dir,
                                  cr_arena_printf(&a, "events.out.tfevents.%010lld.%s.%d.%d", now,
                                                  host, (int)getpid(), n));
        code = cr_logfile_new(&f, path, err);
        if (!cr_path_exists(path)) break;
    }
    cr_arena_clear(&a);
    if (code != CR_OK) return code;
    cr_events *e = cr_alloc(sizeof(*e), "an event file");
    e->file = f;
    cr_buf_init(&e->values);
    cr_buf_init(&e->value);
    cr_buf_init(&e->part);
    cr_buf_init(&e->event);
    cr_buf_init(&e->record);
    begin(e, 0);
    put_text(&e->event, 3, "brain.Event:2");
    put_text(&e->part, 1, "crank");
    put_bytes(&e->event, 10, e->part.data, e->part.n); /* source_metadata.writer */
    end(e);
    *out = e;
    return CR_OK;
}

void cr_events_settle(cr_events *e) {
    if (e) cr_logfile_settle(e->file);
}

void cr_events_close(cr_events *e) {
    if (!e) return;
    cr_logfile_close(e->file);
    cr_buf_clear(&e->values);
    cr_buf_clear(&e->value);
    cr_buf_clear(&e->part);
    cr_buf_clear(&e->event);
    cr_buf_clear(&e->record);
    cr_free(e);
}

void cr_events_restart(cr_events *e, int64_t step) {
    if (!e) return;
    begin(e, step);
    cr_buf_reset(&e->part);
    put_int(&e->part, 1, 1); /* SessionLog.status START */
    put_bytes(&e->event, 7, e->part.data, e->part.n);
    end(e);
}

/* ---- values ---- */

static void add_value(cr_events *e) {
    put_bytes(&e->values, 1, e->value.data, e->value.n);
}

void cr_events_scalar(cr_events *e, const char *tag, double value) {
    if (!e) return;
    cr_buf_reset(&e->value);
    put_text(&e->value, 1, tag);
    put_float(&e->value, 2, (float)value);
    add_value(e);
}

void cr_events_histo(cr_events *e, const char *tag, const cr_histo_scale *s, const cr_histo *h) {
    if (!e || h->n == 0) return;
    int first = 0, last = CR_HISTO_BUCKETS - 1;
    while (h->count[first] == 0)
        first++;
    while (h->count[last] == 0)
        last--;
    if (first > 0) first--; /* include an empty bucket, whose limit tells where the first begins */
    cr_buf *p = &e->part;
    size_t bytes = (size_t)(last - first + 1) * 8;
    cr_buf_reset(p);
    put_double(p, 1, h->min);
    put_double(p, 2, h->max);
    put_double(p, 3, (double)h->n);
    put_double(p, 4, h->sum);
    put_double(p, 5, h->sum_squares);
    put_key(p, 6, BYTES);
    put_varint(p, bytes);
    for (int i = first; i <= last; i++)
        raw_double(p, cr_histo_limit(s, i));
    put_key(p, 7, BYTES);
    put_varint(p, bytes);
    for (int i = first; i <= last; i++)
        raw_double(p, (double)h->count[i]);
    cr_buf_reset(&e->value);
    put_text(&e->value, 1, tag);
    put_bytes(&e->value, 5, p->data, p->n);
    add_value(e);
}

void cr_events_text(cr_events *e, const char *tag, const char *text, size_t n) {
    if (!e) return;
    cr_buf *v = &e->value, *p = &e->part;
    cr_buf_reset(v);
    put_text(v, 1, tag);
    /* tensor: one string, DT_STRING is 7, shape [1] */
    static const char shape[] = {0x12, 0x02, 0x08, 0x01}; /* dim { size: 1 } */
    cr_buf_reset(p);
    put_int(p, 1, 7);
    put_bytes(p, 2, shape, sizeof shape);
    put_bytes(p, 8, text, n);
    put_bytes(v, 8, p->data, p->n);
    /* metadata.plugin_data.plugin_name */
    static const char plugin[] = {0x0a, 0x04, 't', 'e', 'x', 't'};
    cr_buf_reset(p);
    put_bytes(p, 1, plugin, sizeof plugin);
    put_bytes(v, 9, p->data, p->n);
    add_value(e);
}

void cr_events_write(cr_events *e, int64_t step) {
    if (!e || e->values.n == 0) return;
    begin(e, step);
    put_bytes(&e->event, 5, e->values.data, e->values.n);
    end(e);
    cr_buf_reset(&e->values);
}

/* ---- histograms ---- */

void cr_histo_scale_init(cr_histo_scale *s) {
    double v = 1e-12;
    for (int i = 0; i < CR_HISTO_SIDE - 1; i++, v *= 1.1)
        s->edge[i] = v;
    s->edge[CR_HISTO_SIDE - 1] = DBL_MAX;
    for (uint32_t x = 0, k = 0; x < 8192; x++) {
        uint32_t bits = x << 18;
        float low;
        memcpy(&low, &bits, sizeof low);
        while (k < CR_HISTO_SIDE - 1 && s->edge[k] <= (double)low)
            k++;
        s->first[x] = (int16_t)k;
    }
}

double cr_histo_limit(const cr_histo_scale *s, int bucket) {
    int k = bucket - CR_HISTO_SIDE;
    return k == 0 ? 0 : k > 0 ? s->edge[k - 1] : -s->edge[-k - 1];
}

void cr_histo_init(cr_histo *h) {
    memset(h, 0, sizeof *h);
    h->min = INFINITY;
    h->max = -INFINITY;
}

void cr_histo_add(cr_histo *h, const cr_histo_scale *s, const float *v, int64_t n) {
    double lo = h->min, hi = h->max, sum = h->sum, squares = h->sum_squares;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)v[i];
        uint32_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        if ((bits >> 23 & 255) == 255) {
            h->n_odd++;
            continue;
        }
        lo = x < lo ? x : lo;
        hi = x > hi ? x : hi;
        sum += x;
        squares += x * x;
        double a = fabs(x);
        int k = s->first[bits >> 18 & 8191];
        k += s->edge[k] <= a; /* now edge[k] is the first edge above a */
        /* below zero it must be the first edge not below a: buckets hold their lower end */
        if (x < 0) {
            k -= k > 0 && s->edge[k - 1] == a;
            h->count[CR_HISTO_SIDE - k]++;
        } else {
            h->count[CR_HISTO_SIDE + 1 + k]++;
        }
        h->n++;
    }
    h->min = lo;
    h->max = hi;
    h->sum = sum;
    h->sum_squares = squares;
}
