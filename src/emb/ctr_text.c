/*
 * ctr_text.c - rows of the CTR accessor as lines of text, in Paddle's order of values.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/stream.h"
#include "emb/ctr.h"

#define LONGEST      100 /* characters of a number that are shown in a message */
#define LONGEST_LINE ((size_t)16 << 20)
#define CHUNK        ((size_t)1 << 20)

/* The runs of floats of a line, in their order. */
typedef struct run {
    float *v;
    int64_t n;
} run;
enum { N_BRIEF = 5, N_RUNS = 7 };
static void runs_of(const cr_ctr_rules *r, int64_t X, cr_ctr_row row, run out[N_RUNS]) {
    out[0] = (run){row.head + CR_CTR_SLOT, 1};
    out[1] = (run){row.days, CR_CTR_DAYS};
    out[2] = (run){row.head + CR_CTR_SHOW, 2};
    out[3] = (run){row.head + CR_CTR_EMBED, 1};
    out[4] = (run){row.embed_state, cr_ctr_state(r->embed.kind, 1)};
    out[5] = (run){row.embedx, X};
    out[6] = (run){row.embedx_state, cr_ctr_state(r->embedx.kind, X)};
}

void cr_ctr_write(const cr_ctr_rules *r, int64_t X, int64_t id, cr_ctr_row row, cr_buf *out) {
    run runs[N_RUNS];
    char text[32];
    runs_of(r, X, row, runs);
    cr_buf_i64(out, id);
    for (int k = 0; k < (row.embedx ? N_RUNS : N_BRIEF); k++)
        for (int64_t i = 0; i < runs[k].n; i++) {
            size_t n = cr_fmt_f32(text, runs[k].v[i]);
            cr_buf_char(out, ' ');
            cr_buf_add(out, text, n);
        }
    cr_buf_char(out, '\n');
}

/* Takes the next word of a line; returns its length, 0 where the line ends. */
static size_t word(const char **p, const char *end, bool first) {
    if (!first) {
        if (*p == end || **p != ' ') return 0;
        ++*p;
    }
    const char *from = *p;
    while (*p < end && **p != ' ')
        ++*p;
    return (size_t)(*p - from);
}

cr_code cr_ctr_read(const cr_ctr_rules *r, int64_t X, const char *line, size_t n, int64_t *id,
                    float *record, bool *brief, cr_err *err) {
    const char *p = line, *end = line + n;
    run runs[N_RUNS];
    int64_t count = 0, least = cr_ctr_floats(r, X, true), most = cr_ctr_floats(r, X, false);
    size_t len = word(&p, end, true);
    if (!cr_parse_i64(line, len, id) || *id < 0 || *id == INT64_MAX)
        return cr_fail(err, CR_EDATA,
                       "column 1: '%.*s' is no id; an id is a number from 0 to 2^63 - 2",
                       (int)(len < LONGEST ? len : LONGEST), line);
    runs_of(r, X, cr_ctr_at(r, X, false, record), runs);
    memset(record, 0, (size_t)most * sizeof(float));
    for (int k = 0; k < N_RUNS; k++)
        for (int64_t i = 0; i < runs[k].n; i++, count++) {
            double x;
            len = word(&p, end, false);
            if (len == 0 && p == end && end[-1] != ' ' && count == least) {
                *brief = true;
                return CR_OK;
            }
            const char *at = p - len;
            if (len == 0 || !cr_parse_f64(at, len, &x) || !isfinite((float)x))
                return cr_fail(
                    err, CR_EDATA,
                    "column %lld: %s%.*s%s; a row has %lld values behind its id, or %lld "
                    "without its second part, each a finite number",
                    (long long)count + 2, len ? "'" : "a value is missing",
                    (int)(len < LONGEST ? len : LONGEST), at, len ? "' is no such value" : "",
                    (long long)most, (long long)least);
            runs[k].v[i] = (float)x;
        }
    if (p != end)
        return cr_fail(err, CR_EDATA,
                       "column %lld: there are more values than the %lld of a row; is the table of "
                       "another width, or of another rule?",
                       (long long)count + 2, (long long)most);
    *brief = most == least;
    return CR_OK;
}

/* ---- files ---- */

typedef struct reading {
    const cr_ctr_rules *r;
    int64_t X;
    float *record;
    cr_loc at; /* of the last line */
    cr_ctr_take take;
    void *ctx;
} reading;

static cr_code take_line(reading *l, const char *p, size_t n, cr_err *err) {
    int64_t id;
    bool brief;
    cr_err why;
    l->at.line++;
    if (n > 0 && p[n - 1] == '\r') n--;
    if (cr_ctr_read(l->r, l->X, p, n, &id, l->record, &brief, &why) != CR_OK)
        return cr_fail_at(err, CR_EDATA, l->at, "%s", why.msg);
    return l->take(l->ctx, id, l->record, brief, err);
}

/* Takes the whole lines of b, and at the end (all) what is left. */
static cr_code take_lines(reading *l, cr_buf *b, bool all, cr_err *err) {
    size_t from = 0;
    while (from < b->n) {
        const char *end = memchr(b->data + from, '\n', b->n - from);
        if (!end && !all) break;
        size_t n = end ? (size_t)(end - b->data) - from : b->n - from;
        CR_TRY(take_line(l, b->data + from, n, err));
        from += n + (end != NULL);
    }
    memmove(b->data, b->data + from, b->n - from);
    b->n -= from;
    if (b->n <= LONGEST_LINE) return CR_OK;
    l->at.line++;
    return cr_fail_at(err, CR_EDATA, l->at,
                      "the line is longer than %zu MiB; this is no text file of a table",
                      LONGEST_LINE >> 20);
}

cr_code cr_ctr_read_file(const cr_ctr_rules *r, int64_t X, const char *path, cr_ctr_take take,
                         void *ctx, cr_err *err) {
    cr_stream *s;
    cr_buf b;
    size_t got = 1;
    CR_TRY(cr_stream_open(&s, path, err));
    reading l = {.r = r, .X = X, .at = {.path = path}, .take = take, .ctx = ctx};
    l.record = cr_alloc((size_t)cr_ctr_floats(r, X, false) * sizeof(float), "a row");
    cr_buf_init(&b);
    cr_code code = CR_OK;
    while (code == CR_OK && got > 0) {
        cr_buf_reserve(&b, CHUNK);
        code = cr_stream_read(s, b.data + b.n, CHUNK, &got, err);
        if (code != CR_OK) break;
        b.n += got;
        code = take_lines(&l, &b, got == 0, err);
    }
    cr_buf_clear(&b);
    cr_free(l.record);
    cr_stream_close(s);
    return code;
}
