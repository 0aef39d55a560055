/*
 * sink.c - writes an Arrow file, or a stream in a file: messages one after the other, and for a
 * file the footer that lists where they are.
 */
#include "data/arrow/sink.h"

#include <string.h>

#include "base/file.h"
#include "data/arrow/ipc_int.h"

#define MAGIC "ARROW1\0" /* with its padding: 8 bytes */

typedef struct place {
    int64_t at;
    int64_t head, body;
} place;

struct cr_arrow_sink {
    cr_arrow_enc *enc;
    cr_outfile *f;
    bool stream;
    int64_t at;
    cr_buf buf;
    place *batches;
    int n, cap;
};

static cr_code flush(cr_arrow_sink *s, cr_err *err) {
    s->at += (int64_t)s->buf.n;
    cr_code code = cr_outfile_write(s->f, s->buf.data, s->buf.n, err);
    cr_buf_reset(&s->buf);
    return code;
}

cr_code cr_arrow_sink_open(cr_arrow_sink **out, const char *path, const cr_sink_col *cols,
                           int n_cols, const cr_arrow_sink_opts *opts, cr_err *err) {
    *out = NULL;
    cr_arrow_sink *s = cr_alloc(sizeof(*s), "an Arrow file");
    cr_buf_init(&s->buf);
    s->enc = cr_arrow_enc_new(cols, n_cols, opts->codec);
    s->stream = opts->stream;
    cr_code code = cr_outfile_open(&s->f, path, err);
    if (code == CR_OK) {
        if (!s->stream) cr_buf_add(&s->buf, MAGIC, 8);
        cr_arrow_enc_begin(s->enc, &s->buf);
        code = flush(s, err);
    }
    if (code != CR_OK) {
        cr_arrow_sink_free(s);
        return code;
    }
    *out = s;
    return CR_OK;
}

cr_code cr_arrow_sink_write(cr_arrow_sink *s, const cr_column *const *cols, int64_t n_rows,
                            cr_err *err) {
    if (n_rows == 0) return CR_OK;
    CR_TRY(cr_arrow_enc_batch(s->enc, cols, n_rows, &s->buf, err));
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 64;
        s->batches = cr_realloc(s->batches, (size_t)s->n * sizeof(place),
                                (size_t)cap * sizeof(place), "an Arrow file");
        s->cap = cap;
    }
    int64_t head = 8 + cr_flat_i32((const uint8_t *)s->buf.data + 4);
    s->batches[s->n++] = (place){s->at, head, (int64_t)s->buf.n - head};
    return flush(s, err);
}

static void put_footer(cr_arrow_sink *s) {
    cr_flat_out o;
    cr_flat_put v[4] = {{2, 4}, {4, 0}, {4, 0}, {4, 0}};
    size_t at[4];
    cr_flat_begin(&o, &s->buf);
    cr_flat_link(&o, 0, cr_flat_put_table(&o, v, 4, at));
    cr_flat_link(&o, at[1], cr_arrow_put_schema(&o, cr_arrow_enc_schema(s->enc)));
    cr_flat_link(&o, at[2], cr_flat_put_list(&o, 0, 24));
    size_t list = cr_flat_put_list(&o, (size_t)s->n, 24);
    cr_flat_link(&o, at[3], list);
    for (int i = 0; i < s->n; i++) {
        size_t p = list + 4 + 24 * (size_t)i;
        cr_flat_set_i64(&o, p, s->batches[i].at);
        cr_flat_set_i64(&o, p + 8, s->batches[i].head);
        cr_flat_set_i64(&o, p + 16, s->batches[i].body);
    }
    int32_t n = (int32_t)(s->buf.n - o.start);
    cr_buf_add(&s->buf, &n, sizeof n);
    cr_buf_add(&s->buf, MAGIC, 6);
}

cr_code cr_arrow_sink_finish(cr_arrow_sink *s, cr_err *err) {
    cr_arrow_enc_end(&s->buf);
    if (!s->stream) put_footer(s);
    CR_TRY(flush(s, err));
    cr_outfile *f = s->f;
    s->f = NULL;
    return cr_outfile_commit(f, err);
}

void cr_arrow_sink_free(cr_arrow_sink *s) {
    if (!s) return;
    if (s->f) cr_outfile_abort(s->f);
    cr_arrow_enc_free(s->enc);
    cr_buf_clear(&s->buf);
    cr_free(s->batches);
    cr_free(s);
}
