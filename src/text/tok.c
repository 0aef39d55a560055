/*
 * tok.c - tokenizers of both kinds, and merging of pairs.
 *
 * Merging keeps possible pairs in a heap by (order, place). A pair may be outdated when it leaves
 * the heap: its symbols then no longer end where they did, and the pair is skipped. So a word of n
 * symbols takes n log n steps.
 */
#include "text/limits.h"
#include "text/tok_int.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

struct cr_tokenizer {
    const cr_tok_type *type;
    void *self;
};
struct cr_tok_run {
    void *scratch;
    cr_buf text;
};

void cr_tok_ids_put(cr_tok_ids *ids, int64_t id) {
    if (ids->n == ids->cap) {
        int64_t cap = ids->cap ? 2 * ids->cap : 64;
        ids->v = cr_realloc(ids->v, sizeof(int64_t) * (size_t)ids->n, sizeof(int64_t) * (size_t)cap,
                            "ids of tokens");
        ids->cap = cap;
    }
    ids->v[ids->n++] = id;
}

void cr_tok_ids_clear(cr_tok_ids *ids) {
    cr_free(ids->v);
    *ids = (cr_tok_ids){NULL, 0, 0};
}

cr_code cr_tokenizer_new(cr_tokenizer **out, const char *type, const char *data, size_t n,
                         cr_err *err) {
    *out = NULL;
    const cr_tok_type *t = strcmp(type, "bpe") == 0             ? &cr_tok_hf
                           : strcmp(type, "sentencepiece") == 0 ? &cr_tok_spm
                                                                : NULL;
    if (!t)
        return cr_fail_why(err, CR_TOK_TYPE,
                           cr_fail(err, CR_ECONF,
                                   "unknown tokenizer_type '%s'; use bpe or sentencepiece", type));
    void *self = NULL;
    CR_TRY(t->open(&self, data, n, err));
    *out = cr_alloc(sizeof(**out), "a tokenizer");
    **out = (cr_tokenizer){t, self};
    return CR_OK;
}

void cr_tokenizer_free(cr_tokenizer *t) {
    if (!t) return;
    t->type->close(t->self);
    cr_free(t);
}

int64_t cr_tokenizer_size(const cr_tokenizer *t) {
    return t->type->size(t->self);
}

cr_tok_run *cr_tok_run_new(const cr_tokenizer *t) {
    cr_tok_run *r = cr_alloc(sizeof(*r), "a tokenizer");
    r->scratch = t->type->begin(t->self);
    cr_buf_init(&r->text);
    return r;
}

void cr_tok_run_free(const cr_tokenizer *t, cr_tok_run *run) {
    if (!run) return;
    t->type->end(t->self, run->scratch);
    cr_buf_clear(&run->text);
    cr_free(run);
}

bool cr_tokenizer_encode(const cr_tokenizer *t, cr_tok_run *run, const char *text, size_t n,
                         cr_tok_ids *ids) {
    size_t at = 0;
    uint32_t c;
    while (at < n) {
        size_t len = cr_utf8_get(text + at, n - at, &c);
        if (c >= CR_UTF8_BAD) break;
        at += len;
    }
    if (at < n) { /* rare: make a copy that is all UTF-8 */
        cr_buf_reset(&run->text);
        cr_buf_add(&run->text, text, at);
        while (at < n) {
            size_t len = cr_utf8_get(text + at, n - at, &c);
            if (c >= CR_UTF8_BAD)
                cr_buf_str(&run->text, "\xef\xbf\xbd");
            else
                cr_buf_add(&run->text, text + at, len);
            at += len;
        }
        text = run->text.data;
        n = run->text.n;
    }
    if (n > CR_MOST_TEXT) return false;
    return n == 0 || t->type->encode(t->self, run->scratch, text, n, ids);
}

/* ---- merging ---- */

cr_sym *cr_merger_add(cr_merger *m, uint32_t beg, uint32_t end, int64_t id) {
    if (m->n == m->cap) {
        int64_t cap = m->cap ? 2 * m->cap : 64;
        m->v = cr_realloc(m->v, sizeof(cr_sym) * (size_t)m->n, sizeof(cr_sym) * (size_t)cap,
                          "symbols of a word");
        m->cap = cap;
    }
    cr_sym *s = &m->v[m->n];
    *s = (cr_sym){beg, end, (int32_t)m->n - 1, -1, id, false};
    if (m->n) s[-1].next = (int32_t)m->n;
    m->n++;
    return s;
}

void cr_merger_clear(cr_merger *m) {
    cr_free(m->v);
    cr_free(m->heap);
    *m = (cr_merger){0};
}

static bool before(const struct cr_merge *a, const struct cr_merge *b) {
    return a->order != b->order ? a->order < b->order : a->left < b->left;
}

static void push(cr_merger *m, struct cr_merge x) {
    if (m->n_heap == m->cap_heap) {
        int64_t cap = m->cap_heap ? 2 * m->cap_heap : 64;
        m->heap = cr_realloc(m->heap, sizeof(x) * (size_t)m->n_heap, sizeof(x) * (size_t)cap,
                             "pairs of symbols");
        m->cap_heap = cap;
    }
    int64_t i = m->n_heap++;
    for (; i > 0 && before(&x, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = x;
}

static struct cr_merge pop(cr_merger *m) {
    struct cr_merge top = m->heap[0], x = m->heap[--m->n_heap];
    int64_t i = 0;
    for (;;) {
        int64_t k = 2 * i + 1;
        if (k >= m->n_heap) break;
        if (k + 1 < m->n_heap && before(&m->heap[k + 1], &m->heap[k])) k++;
        if (!before(&m->heap[k], &x)) break;
        m->heap[i] = m->heap[k];
        i = k;
    }
    m->heap[i] = x;
    return top;
}

static void consider(cr_merger *m, const char *text, int32_t left, cr_sym_pair pair,
                     const void *ctx) {
    if (left < 0 || m->v[left].next < 0) return;
    const cr_sym *a = &m->v[left], *b = &m->v[a->next];
    struct cr_merge x = {.left = left, .mid = a->end, .end = b->end};
    if (a->frozen || b->frozen || !pair(ctx, text, a, b, &x.order, &x.id)) return;
    push(m, x);
}

void cr_merger_run(cr_merger *m, const char *text, cr_sym_pair pair, const void *ctx) {
    m->n_heap = 0;
    for (int64_t i = 0; i + 1 < m->n; i++)
        consider(m, text, (int32_t)i, pair, ctx);
    while (m->n_heap > 0) {
        struct cr_merge x = pop(m);
        cr_sym *a = &m->v[x.left];
        /* a symbol that was merged into its left neighbour has end == beg */
        if (a->end != x.mid || a->beg == a->end || a->next < 0) continue;
        cr_sym *b = &m->v[a->next];
        if (b->end != x.end) continue;
        a->end = b->end;
        a->id = x.id;
        a->next = b->next;
        b->beg = b->end;
        if (a->next >= 0) m->v[a->next].prev = x.left;
        consider(m, text, a->prev, pair, ctx);
        consider(m, text, x.left, pair, ctx);
    }
}
