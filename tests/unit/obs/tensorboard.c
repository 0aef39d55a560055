/*
 * tensorboard.c - event files, read back by a reader of this test's own: framing, checksums,
 * fields; histograms count every value once, between the right edges; a write that fails ends the
 * file with whole records.
 */
#include "obs/tensorboard.h"

#include <float.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/log.h"
#include "harness.h"

static char root[256];

static const char *in_root(const char *name) {
    static char buf[4][512];
    static int k;
    char *b = buf[k++ % 4];
    snprintf(b, sizeof(buf[0]), "%s/%s", root, name);
    return b;
}

/* ---- a reader of the wire format ---- */
typedef struct view {
    const unsigned char *p, *end;
} view;
typedef struct field {
    unsigned number, kind;
    uint64_t v; /* varint and fixed */
    view bytes;
} field;

static uint64_t varint(view *m) {
    uint64_t v = 0;
    for (int shift = 0; m->p < m->end && shift < 64; shift += 7) {
        unsigned char c = *m->p++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) return v;
    }
    t_failed_checks++; /* a varint that does not end */
    return 0;
}
static uint64_t fixed(view *m, int bytes) {
    uint64_t v = 0;
    CHECK(m->end - m->p >= bytes);
    if (m->end - m->p < bytes) {
        m->p = m->end;
        return 0;
    }
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)*m->p++ << 8 * i;
    return v;
}
static bool next_field(view *m, field *f) {
    if (m->p >= m->end) return false;
    uint64_t key = varint(m);
    *f = (field){.number = (unsigned)(key >> 3), .kind = (unsigned)(key & 7)};
    if (f->kind == 0)
        f->v = varint(m);
    else if (f->kind == 1)
        f->v = fixed(m, 8);
    else if (f->kind == 5)
        f->v = fixed(m, 4);
    else {
        CHECK_INT(f->kind, 2);
        uint64_t n = varint(m);
        CHECK(n <= (uint64_t)(m->end - m->p));
        if (n > (uint64_t)(m->end - m->p)) n = (uint64_t)(m->end - m->p);
        f->bytes = (view){m->p, m->p + n};
        m->p += n;
    }
    return true;
}
static bool find(view m, unsigned number, field *out) {
    field f;
    bool found = false;
    while (next_field(&m, &f))
        if (f.number == number) {
            *out = f;
            found = true;
        }
    return found;
}
static double as_double(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}
static float as_float(uint64_t bits) {
    uint32_t b = (uint32_t)bits;
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}
static bool text_is(view v, const char *s) {
    return (size_t)(v.end - v.p) == strlen(s) && memcmp(v.p, s, strlen(s)) == 0;
}

static bool next_record(view *file, view *out) {
    if (file->p == file->end) return false;
    CHECK(file->end - file->p >= 16);
    if (file->end - file->p < 16) return false;
    uint32_t crc = cr_crc32c_masked(file->p, 8);
    uint64_t n = fixed(file, 8);
    CHECK_INT(fixed(file, 4), crc);
    CHECK(n + 4 <= (uint64_t)(file->end - file->p));
    if (n + 4 > (uint64_t)(file->end - file->p)) return false;
    *out = (view){file->p, file->p + n};
    file->p += n;
    CHECK_INT(fixed(file, 4), cr_crc32c_masked(out->p, n));
    return true;
}

/* the only file in a directory */
static cr_buf only_file(const char *dir) {
    cr_arena a;
    char **names;
    size_t n;
    cr_buf b;
    cr_buf_init(&b);
    cr_arena_init(&a, 0);
    CHECK_INT(cr_list_dir(&a, dir, &names, &n, NULL), 0);
    CHECK_INT(n, 1);
    CHECK(n > 0 && strncmp(names[0], "events.out.tfevents.", 20) == 0);
    if (n > 0) CHECK_INT(cr_file_read(cr_path_join(&a, dir, names[0]), 0, &b, NULL), 0);
    cr_arena_clear(&a);
    return b;
}

TEST(events) {
    cr_events *e;
    cr_histo_scale scale;
    cr_histo h;
    cr_histo_scale_init(&scale);
    cr_histo_init(&h);
    const float v[] = {-1.5f, 0, 0.25f, 0.25f, 3};
    cr_histo_add(&h, &scale, v, 5);
    CHECK_INT(cr_events_open(&e, in_root("a/b"), NULL), 0);
    cr_events_restart(e, 7);
    cr_events_scalar(e, "loss/total", 0.5);
    cr_events_scalar(e, "lr/g0", 1e-3);
    cr_events_histo(e, "w", &scale, &h);
    cr_events_text(e, "config/text_summary", "a: 1\n", 5);
    cr_events_write(e, 300);
    cr_events_write(e, 301); /* nothing new: no event */
    cr_events_close(e);
    cr_buf b = only_file(in_root("a/b"));
    view file = {(unsigned char *)b.data, (unsigned char *)b.data + b.n}, ev;
    field f, value, inner;
    CHECK(next_record(&file, &ev));
    CHECK(find(ev, 1, &f) && f.kind == 1 && as_double(f.v) > 1.5e9);
    CHECK(find(ev, 3, &f) && text_is(f.bytes, "brain.Event:2"));
    CHECK(next_record(&file, &ev));
    CHECK(find(ev, 2, &f) && f.v == 7);
    CHECK(find(ev, 7, &f) && find(f.bytes, 1, &inner) && inner.v == 1);
    CHECK(next_record(&file, &ev));
    CHECK(find(ev, 2, &f) && f.v == 300);
    CHECK(find(ev, 5, &f));
    view summary = f.bytes;
    int k = 0;
    for (; next_field(&summary, &value); k++) {
        CHECK_INT(value.number, 1);
        CHECK(find(value.bytes, 1, &f));
        static const char *const tags[] = {"loss/total", "lr/g0", "w", "config/text_summary"};
        if (k < 4) CHECK(text_is(f.bytes, tags[k]));
        if (k == 0) CHECK(find(value.bytes, 2, &f) && f.kind == 5 && as_float(f.v) == 0.5f);
        if (k == 1) CHECK(find(value.bytes, 2, &f) && as_float(f.v) == 1e-3f);
        if (k == 2) {
            CHECK(find(value.bytes, 5, &f));
            CHECK(find(f.bytes, 1, &inner) && as_double(inner.v) == -1.5);
            CHECK(find(f.bytes, 2, &inner) && as_double(inner.v) == 3);
            CHECK(find(f.bytes, 3, &inner) && as_double(inner.v) == 5);
            CHECK(find(f.bytes, 4, &inner) && as_double(inner.v) == 2);
            CHECK(find(f.bytes, 5, &inner) && as_double(inner.v) == 11.375);
            field limits = {0}, counts = {0};
            CHECK(find(f.bytes, 6, &limits) && find(f.bytes, 7, &counts));
            CHECK_INT(limits.bytes.end - limits.bytes.p, counts.bytes.end - counts.bytes.p);
            double sum = 0, last = -INFINITY, left = -INFINITY;
            bool first = true;
            while (limits.bytes.p < limits.bytes.end) {
                double limit = as_double(fixed(&limits.bytes, 8));
                double count = as_double(fixed(&counts.bytes, 8));
                CHECK(limit > last);
                left = last;
                last = limit;
                if (first) CHECK(count == 0); /* tells where the first one begins */
                first = false;
                double want = 0;
                for (int i = 0; i < 5; i++)
                    want += (double)v[i] >= left && (double)v[i] < limit;
                CHECK(count == want);
                sum += count;
            }
            CHECK(sum == 5 && last > 3 && last < 3.4);
        }
        if (k == 3) {
            CHECK(find(value.bytes, 8, &f) && find(f.bytes, 1, &inner) && inner.v == 7);
            CHECK(find(f.bytes, 8, &inner) && text_is(inner.bytes, "a: 1\n"));
            CHECK(find(f.bytes, 2, &inner) && find(inner.bytes, 2, &inner) &&
                  find(inner.bytes, 1, &inner) && inner.v == 1);
            CHECK(find(value.bytes, 9, &f) && find(f.bytes, 1, &inner) &&
                  find(inner.bytes, 1, &inner) && text_is(inner.bytes, "text"));
        }
    }
    CHECK_INT(k, 4);
    CHECK(!next_record(&file, &ev));
    cr_buf_clear(&b);
}

TEST(several_in_one_second) {
    cr_events *e[3];
    for (int i = 0; i < 3; i++)
        CHECK_INT(cr_events_open(&e[i], in_root("c"), NULL), 0);
    for (int i = 0; i < 3; i++)
        cr_events_close(e[i]);
    cr_arena a;
    char **names;
    size_t n;
    cr_arena_init(&a, 0);
    CHECK_INT(cr_list_dir(&a, in_root("c"), &names, &n, NULL), 0);
    CHECK_INT(n, 3);
    cr_arena_clear(&a);
    cr_err err;
    CHECK_INT(cr_events_open(&e[0], "/dev/null/x", &err), CR_EIO);
    cr_events_scalar(NULL, "a", 1); /* no file: nothing happens */
    cr_events_write(NULL, 1);
    cr_events_close(NULL);
}

TEST(odd_values) {
    cr_histo_scale s;
    cr_histo h, g;
    cr_histo_scale_init(&s);
    cr_histo_init(&h);
    const float v[] = {NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1e-45f, -1e-45f, 0, -0.0f};
    cr_histo_add(&h, &s, v, 9);
    CHECK_INT(h.n, 6);
    CHECK_INT(h.n_odd, 3);
    CHECK(h.min == -(double)FLT_MAX && h.max == (double)FLT_MAX && h.sum == 0);
    for (int i = 1; i < CR_HISTO_BUCKETS; i++)
        CHECK(cr_histo_limit(&s, i) > cr_histo_limit(&s, i - 1));
    CHECK(cr_histo_limit(&s, CR_HISTO_BUCKETS - 1) == DBL_MAX);
    /* every bucket is found, from both of its sides */
    for (int i = 0; i < CR_HISTO_BUCKETS; i++) {
        double limit = cr_histo_limit(&s, i);
        if (fabs(limit) > 1e30) continue;
        const float at[] = {(float)limit, nextafterf((float)limit, -INFINITY),
                            nextafterf((float)limit, INFINITY)};
        for (int k = 0; k < 3; k++) {
            cr_histo_init(&g);
            cr_histo_add(&g, &s, &at[k], 1);
            int b = 0;
            while (g.count[b] == 0)
                b++;
            CHECK((double)at[k] < cr_histo_limit(&s, b));
            CHECK((double)at[k] >= cr_histo_limit(&s, b - 1));
        }
    }
}

TEST(no_room) {
    /* a limit on file sizes stands for a full disk: the write comes back short, then fails */
    struct rlimit old, few;
    getrlimit(RLIMIT_FSIZE, &old);
    few = old;
    few.rlim_cur = 3000;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &few);
    cr_events *e;
    CHECK_INT(cr_events_open(&e, in_root("full"), NULL), 0);
    for (int i = 0; i < 500; i++) {
        cr_events_scalar(e, "loss/total", i);
        cr_events_write(e, i);
    }
    cr_events_close(e);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, before);
    cr_buf b = only_file(in_root("full"));
    CHECK(b.n > 2000 && b.n <= 3000);
    view file = {(unsigned char *)b.data, (unsigned char *)b.data + b.n}, ev;
    int n = 0;
    while (next_record(&file, &ev))
        n++;
    CHECK(file.p == file.end && n > 20 && n < 500);
    cr_buf_clear(&b);
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(events), CASE(several_in_one_second), CASE(odd_values),
                                   CASE(no_room)};
    const char *tmp = getenv("TMPDIR");
    snprintf(root, sizeof(root), "%s/crank-events-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(root)) return 1;
    cr_log_set_level(CR_LOG_ERROR);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    if (cr_rmtree(root, NULL) != CR_OK) rc = 1;
    return rc;
}
