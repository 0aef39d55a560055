/*
 * tok_spm.c - SentencePiece models, unigram and BPE.
 *
 * The file is one protobuf message. It holds the pieces with scores and types, and says how text is
 * normalized: by a table of replacements (a double array trie over UTF-8, then the texts); runs of
 * blanks become one blank, which is written as U+2581, and one is put in front. Unigram takes the
 * path of pieces with the largest sum of scores, BPE merges the pair whose piece has the largest
 * score. A run of characters without pieces becomes one unknown token, or bytes where the model has
 * byte pieces. Sums are compared in double and kept in float32, as in the original, so that near
 * ties fall the same way.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/limits.h"
#include "text/tok_int.h"

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };
enum { UNIGRAM = 1, BPE = 2 };
#define SPACE      "\xe2\x96\x81"
#define MOST       ((size_t)1 << 24) /* largest number of pieces */
#define MOST_BEGIN ((size_t)1 << 26) /* bytes of all beginnings of pieces */
#define UNK_BEHIND 10.0f /* an unknown character scores this much below the worst piece */

typedef struct spm {
    int model;
    float *score;
    uint8_t *type;
    int64_t n, unk;
    int64_t byte[256]; /* ids of byte pieces */
    bool bytes;        /* the model has byte_fallback */
    bool user;         /* there are user-defined pieces */
    float least, most; /* smallest and largest score of normal pieces */
    /* all pieces, and their beginnings with the value PREFIX, so that a search can stop early */
    cr_map pieces;
    size_t n_begin; /* bytes of the keys with value PREFIX */
    /* the normalizer */
    const uint32_t *trie;
    size_t n_trie;
    const char *texts;
    size_t n_texts;
    uint32_t *own_trie;
    char *own_texts;
    bool dummy_prefix, fold_blanks, escape, suffix;
} spm;
enum { NONE = -2, PREFIX = -1 };

/* ---- protobuf ---- */

typedef struct reader {
    const unsigned char *p, *end;
    bool bad;
} reader;

static uint64_t varint(reader *r) {
    uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->p == r->end) break;
        unsigned char b = *r->p++;
        x |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return x;
    }
    r->bad = true;
    return 0;
}

typedef struct field {
    uint64_t number;
    int wire;
    uint64_t x;       /* value of a varint or fixed field */
    const char *data; /* content of a bytes field */
    size_t n;
} field;

/* next returns false at the end, or when something is wrong (r->bad). */
static bool next(reader *r, field *f) {
    if (r->bad || r->p == r->end) return false;
    uint64_t tag = varint(r);
    *f = (field){.number = tag >> 3, .wire = (int)(tag & 7)};
    size_t left = (size_t)(r->end - r->p), width = f->wire == 1 ? 8 : 4;
    switch (f->wire) {
    case 0: f->x = varint(r); break;
    case 1:
    case 5:
        if (left < width) {
            r->bad = true;
            return false;
        }
        for (size_t i = 0; i < width; i++)
            f->x |= (uint64_t)r->p[i] << 8 * i;
        r->p += width;
        break;
    case 2:
        f->x = varint(r);
        left = (size_t)(r->end - r->p);
        if (r->bad || f->x > left) {
            r->bad = true;
            return false;
        }
        f->data = (const char *)r->p;
        f->n = (size_t)f->x;
        r->p += f->n;
        break;
    default: r->bad = true;
    }
    return !r->bad && f->number != 0;
}

static reader inside(const field *f) {
    return (reader){(const unsigned char *)f->data, (const unsigned char *)f->data + f->n, false};
}

/* ---- reading the model ---- */

static cr_code cut_short(cr_err *err) {
    return cr_fail(err, CR_ECONF,
                   "not a SentencePiece model, or cut short; give the .model file, not the .vocab");
}

static cr_code add_piece(spm *m, const char *text, size_t n, int64_t id, cr_err *err) {
    uint32_t c;
    for (size_t at = 0; at < n; at += cr_utf8_get(text + at, n - at, &c)) {
        if (at == 0 || cr_map_get(&m->pieces, text, at, NONE) != NONE) continue;
        m->n_begin += at;
        if (m->n_begin > MOST_BEGIN)
            return cr_fail(err, CR_ECONF,
                           "the pieces up to piece %lld, which has %zu bytes, are too long for "
                           "parts of words; is it the right file?",
                           (long long)id, n);
        cr_map_put(&m->pieces, text, at, PREFIX);
    }
    cr_map_put(&m->pieces, text, n, id);
    return CR_OK;
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

static cr_code read_piece(spm *m, const field *f, int64_t id, cr_err *err) {
    reader r = inside(f);
    field x;
    const char *text = "";
    size_t n = 0;
    uint32_t bits = 0;
    uint64_t type = NORMAL;
    while (next(&r, &x)) {
        if (x.number == 1 && x.wire == 2) {
            text = x.data;
            n = x.n;
        } else if (x.number == 2 && x.wire == 5) {
            bits = (uint32_t)x.x;
        } else if (x.number == 3 && x.wire == 0) {
            type = x.x;
        }
    }
    if (r.bad || type < NORMAL || type > BYTE) return cut_short(err);
    if (n > CR_MOST_PIECE)
        return cr_fail(err, CR_ECONF, "piece %lld has %zu bytes; at most %d are allowed",
                       (long long)id, n, CR_MOST_PIECE);
    float score;
    memcpy(&score, &bits, sizeof(score));
    if (isnan(score))
        return cr_fail(err, CR_ECONF, "the score of piece %lld is not a number", (long long)id);
    m->score[id] = score;
    m->type[id] = (uint8_t)type;
    if (type == UNKNOWN) m->unk = id;
    if (type == USER) m->user = true;
    if (type == BYTE && n == 6 && hex(text[3]) >= 0 && hex(text[4]) >= 0)
        m->byte[16 * hex(text[3]) + hex(text[4])] = id;
    if (type == NORMAL) {
        m->least = fminf(m->least, score);
        m->most = fmaxf(m->most, score);
    }
    if (type == NORMAL || type == USER || type == UNUSED) return add_piece(m, text, n, id, err);
    return CR_OK;
}

static cr_code read_trainer(spm *m, const field *f, cr_err *err) {
    reader r = inside(f);
    field x;
    while (next(&r, &x)) {
        if (x.wire != 0) continue;
        if (x.number == 3) m->model = x.x > 100 ? 100 : (int)x.x;
        if (x.number == 24) m->suffix = x.x != 0;
        if (x.number == 35) m->bytes = x.x != 0;
    }
    return r.bad ? cut_short(err) : CR_OK;
}

static cr_code read_charsmap(spm *m, const char *data, size_t n, cr_err *err) {
    uint32_t size;
    if (n == 0) return CR_OK;
    if (n < 4) return cut_short(err);
    memcpy(&size, data, 4);
    if (size > n - 4 || size % 4 != 0 || size < 4)
        return cr_fail(err, CR_ECONF, "the model's table of replacements is broken");
    m->own_trie = cr_alloc(size, "a SentencePiece model");
    memcpy(m->own_trie, data + 4, size);
    m->trie = m->own_trie;
    m->n_trie = size / 4;
    m->n_texts = n - 4 - size;
    m->own_texts = cr_alloc(m->n_texts + 1, "a SentencePiece model");
    memcpy(m->own_texts, data + 4 + size, m->n_texts);
    m->texts = m->own_texts;
    return CR_OK;
}

static cr_code read_normalizer(spm *m, const field *f, cr_err *err) {
    reader r = inside(f);
    field x;
    while (next(&r, &x)) {
        if (x.number == 2 && x.wire == 2 && !m->own_trie)
            CR_TRY(read_charsmap(m, x.data, x.n, err));
        if (x.wire != 0) continue;
        if (x.number == 3) m->dummy_prefix = x.x != 0;
        if (x.number == 4) m->fold_blanks = x.x != 0;
        if (x.number == 5) m->escape = x.x != 0;
    }
    return r.bad ? cut_short(err) : CR_OK;
}

static void spm_close(void *self) {
    spm *m = self;
    cr_free(m->score);
    cr_free(m->type);
    cr_free(m->own_trie);
    cr_free(m->own_texts);
    cr_map_clear(&m->pieces);
    cr_free(m);
}

static cr_code read_model(spm *m, const char *data, size_t n, cr_err *err) {
    reader r = {(const unsigned char *)data, (const unsigned char *)data + n, false};
    field f;
    size_t count = 0;
    while (next(&r, &f))
        count += f.number == 1 && f.wire == 2;
    if (r.bad || r.p != r.end || count == 0) return cut_short(err);
    if (count > MOST) return cr_fail(err, CR_ECONF, "the model has more than 2^24 pieces");
    m->score = cr_alloc(sizeof(float) * count, "a SentencePiece model");
    m->type = cr_alloc(count, "a SentencePiece model");
    m->n = (int64_t)count;
    r = (reader){(const unsigned char *)data, (const unsigned char *)data + n, false};
    int64_t id = 0;
    while (next(&r, &f)) {
        if (f.wire != 2) continue;
        if (f.number == 1) CR_TRY(read_piece(m, &f, id++, err));
        if (f.number == 2) CR_TRY(read_trainer(m, &f, err));
        if (f.number == 3) CR_TRY(read_normalizer(m, &f, err));
    }
    if (m->model != UNIGRAM && m->model != BPE)
        return cr_fail(
            err, CR_ECONF,
            "the model splits by words or characters; only unigram and bpe are in this version");
    if (m->unk < 0) return cr_fail(err, CR_ECONF, "the model has no unknown piece");
    for (int i = 0; m->bytes && i < 256; i++)
        if (m->byte[i] < 0)
            return cr_fail(err, CR_ECONF, "the model has byte_fallback, but no piece for byte %d",
                           i);
    return CR_OK;
}

static cr_code spm_open(void **self, const char *data, size_t n, cr_err *err) {
    spm *m = cr_alloc(sizeof(*m), "a SentencePiece model");
    *m = (spm){.model = UNIGRAM,
               .unk = -1,
               .least = FLT_MAX,
               .most = -FLT_MAX,
               .dummy_prefix = true,
               .fold_blanks = true,
               .escape = true};
    for (int i = 0; i < 256; i++)
        m->byte[i] = -1;
    cr_map_init(&m->pieces);
    cr_code code = read_model(m, data, n, err);
    if (code == CR_OK)
        *self = m;
    else
        spm_close(m);
    return code;
}

static int64_t spm_size(const void *self) {
    return ((const spm *)self)->n;
}

/* ---- normalizing ---- */

typedef struct scratch {
    cr_work work; /* units of work that the text may still cost */
    cr_buf text;
    cr_merger word;
    float *best;
    int32_t *from; /* where the last piece of the best path up to here begins */
    int64_t *id;
    size_t cap;
    cr_tok_ids back;
} scratch;

static void *spm_begin(const void *self) {
    (void)self;
    scratch *s = cr_alloc(sizeof(*s), "a tokenizer");
    cr_buf_init(&s->text);
    return s;
}

static void spm_end(const void *self, void *p) {
    (void)self;
    scratch *s = p;
    cr_buf_clear(&s->text);
    cr_merger_clear(&s->word);
    cr_free(s->best);
    cr_free(s->from);
    cr_free(s->id);
    cr_tok_ids_clear(&s->back);
    cr_free(s);
}

/* user_piece returns the length of the longest user-defined piece that p begins with; 0: none. */
static size_t user_piece(const spm *m, cr_work *work, const char *p, size_t n, int64_t *id) {
    size_t longest = 0;
    uint32_t c;
    for (size_t at = 0; m->user && at < n;) {
        at += cr_utf8_get(p + at, n - at, &c);
        int64_t k = cr_work_spend(work, at) ? cr_map_get(&m->pieces, p, at, NONE) : NONE;
        if (k == NONE) break;
        if (k >= 0 && m->type[k] == USER) {
            longest = at;
            *id = k;
        }
    }
    return longest;
}

/* replace returns the text that replaces the first *len bytes at p. */
static const char *replace(const spm *m, cr_work *work, const char *p, size_t n, size_t *len,
                           size_t *n_out) {
    int64_t id;
    uint32_t c;
    if ((*len = user_piece(m, work, p, n, &id)) > 0) {
        *n_out = *len;
        return p;
    }
    size_t node = 0, value = 0;
    if (m->n_trie) {
        uint32_t unit = m->trie[0];
        node ^= (unit >> 10) << ((unit & 512) >> 6);
        for (size_t i = 0; i < n; i++) {
            node ^= (unsigned char)p[i];
            if (node >= m->n_trie) break;
            unit = m->trie[node];
            if ((unit & 0x800000ffu) != (unsigned char)p[i]) break;
            node ^= (unit >> 10) << ((unit & 512) >> 6);
            if (node >= m->n_trie) break;
            if (!(unit >> 8 & 1)) continue;
            *len = i + 1;
            value = m->trie[node] & 0x7fffffffu;
        }
    }
    if (*len > 0 && value < m->n_texts) {
        *n_out = strnlen(m->texts + value, m->n_texts - value);
        return m->texts + value;
    }
    *n_out = *len = cr_utf8_get(p, n, &c);
    return p;
}

/* normalize returns false when it takes too much work. */
static bool normalize(const spm *m, cr_work *work, const char *p, size_t n, cr_buf *out) {
    const char *blank = m->escape ? SPACE : " ";
    size_t n_blank = strlen(blank), len, k;
    cr_buf_reset(out);
    for (; m->fold_blanks && n > 0; p += len, n -= len) {
        const char *s = replace(m, work, p, n, &len, &k);
        if (k != 1 || *s != ' ') break;
    }
    if (n == 0) return true;
    if (m->dummy_prefix && !m->suffix) cr_buf_add(out, blank, n_blank);
    bool after_blank = m->fold_blanks;
    for (; n > 0; p += len, n -= len) {
        const char *s = replace(m, work, p, n, &len, &k);
        if (!cr_work_spend(work, k * n_blank)) return false;
        for (; after_blank && k > 0 && *s == ' '; s++)
            k--;
        for (size_t i = 0; i < k; i++) {
            if (s[i] == ' ')
                cr_buf_add(out, blank, n_blank);
            else
                cr_buf_char(out, s[i]);
        }
        if (k > 0) after_blank = s[k - 1] == ' ';
        if (!m->fold_blanks) after_blank = false;
    }
    while (m->fold_blanks && out->n >= n_blank &&
           memcmp(out->data + out->n - n_blank, blank, n_blank) == 0)
        out->n -= n_blank;
    if (m->dummy_prefix && m->suffix) cr_buf_add(out, blank, n_blank);
    return true;
}

/* ---- encoding ---- */

static void put_unknown(const spm *m, const char *p, size_t n, bool *after_unknown,
                        cr_tok_ids *ids) {
    if (m->bytes) {
        for (size_t i = 0; i < n; i++)
            cr_tok_ids_put(ids, m->byte[(unsigned char)p[i]]);
        return;
    }
    if (!*after_unknown) cr_tok_ids_put(ids, m->unk);
    *after_unknown = true;
}

static void put(const spm *m, int64_t id, const char *p, size_t n, bool *after_unknown,
                cr_tok_ids *ids) {
    if (id < 0) {
        put_unknown(m, p, n, after_unknown, ids);
        return;
    }
    cr_tok_ids_put(ids, id);
    *after_unknown = false;
}

static void room(scratch *s, size_t n) {
    if (s->cap > n) return;
    size_t cap = 2 * n + 64;
    cr_free(s->best);
    cr_free(s->from);
    cr_free(s->id);
    s->best = cr_alloc(sizeof(float) * cap, "paths of pieces");
    s->from = cr_alloc(sizeof(int32_t) * cap, "paths of pieces");
    s->id = cr_alloc(sizeof(int64_t) * cap, "paths of pieces");
    s->cap = cap;
}

/* step enters a piece (id -1: an unknown character) from `at` to `to`. */
static void step(scratch *s, size_t at, size_t to, double sum, int64_t id) {
    if (s->from[to] >= 0 && !(sum > (double)s->best[to])) return;
    s->best[to] = (float)sum;
    s->from[to] = (int32_t)at;
    s->id[to] = id;
}

static bool unigram(const spm *m, scratch *s, cr_tok_ids *ids) {
    const char *p = s->text.data;
    size_t n = s->text.n;
    const float unk = (m->least == FLT_MAX ? 0 : m->least) - UNK_BEHIND;
    uint32_t c;
    room(s, n + 1);
    for (size_t i = 0; i <= n; i++)
        s->from[i] = -1;
    s->best[0] = 0;
    for (size_t at = 0; at < n;) {
        size_t one = cr_utf8_get(p + at, n - at, &c), to = at;
        bool single = false;
        while (to < n) {
            to += cr_utf8_get(p + to, n - to, &c);
            if (!cr_work_spend(&s->work, to - at)) return false;
            int64_t id = cr_map_get(&m->pieces, p + at, to - at, NONE);
            if (id == NONE) break;
            if (id < 0 || m->type[id] == UNUSED) continue;
            double score = m->type[id] == USER ? (double)((float)(to - at) * m->most) - 0.1
                                               : (double)m->score[id];
            step(s, at, to, score + (double)s->best[at], id);
            single |= to - at == one;
        }
        if (!single) step(s, at, at + one, (double)(unk + s->best[at]), -1);
        at += one;
    }
    s->back.n = 0;
    for (size_t to = n; to > 0; to = (size_t)s->from[to])
        cr_tok_ids_put(&s->back, (int64_t)to);
    bool after = false;
    for (int64_t i = s->back.n; i-- > 0;) {
        size_t to = (size_t)s->back.v[i], from = (size_t)s->from[to];
        put(m, s->id[to], p + from, to - from, &after, ids);
    }
    return true;
}

static bool pair(const void *ctx, const char *text, const cr_sym *a, const cr_sym *b,
                 int64_t *order, int64_t *id) {
    const spm *m = ctx;
    int64_t k = cr_map_get(&m->pieces, text + a->beg, b->end - a->beg, NONE);
    if (k < 0) return false;
    /* a larger score is a smaller number; the bits of a float order like sign and magnitude */
    int32_t bits;
    float score = m->score[k] + 0.0f;
    memcpy(&bits, &score, sizeof(bits));
    *order = -(int64_t)(bits < 0 ? (int32_t)((uint32_t)INT32_MIN - (uint32_t)bits) : bits);
    *id = k;
    return true;
}

static bool bpe(const spm *m, scratch *s, cr_tok_ids *ids) {
    const char *p = s->text.data;
    size_t n = s->text.n;
    uint32_t c;
    s->word.n = 0;
    for (size_t at = 0; at < n;) {
        int64_t id = -1;
        size_t len = user_piece(m, &s->work, p + at, n - at, &id);
        bool frozen = len > 0;
        if (!frozen) {
            len = cr_utf8_get(p + at, n - at, &c);
            id = cr_map_get(&m->pieces, p + at, len, NONE);
        }
        cr_merger_add(&s->word, (uint32_t)at, (uint32_t)(at + len), id < 0 ? -1 : id)->frozen =
            frozen;
        at += len;
    }
    cr_merger_run(&s->word, p, pair, m);
    bool after = false;
    for (int32_t i = s->word.n ? 0 : -1; i >= 0; i = s->word.v[i].next) {
        const cr_sym *x = &s->word.v[i];
        put(m, x->id, p + x->beg, x->end - x->beg, &after, ids);
    }
    return s->work.left >= 0;
}

static bool spm_encode(const void *self, void *p, const char *text, size_t n, cr_tok_ids *ids) {
    const spm *m = self;
    scratch *s = p;
    s->work.left = CR_MOST_WORK;
    if (!normalize(m, &s->work, text, n, &s->text)) return false;
    if (s->text.n == 0) return true;
    return m->model == BPE ? bpe(m, s, ids) : unigram(m, s, ids);
}

const cr_tok_type cr_tok_spm = {spm_open, spm_close, spm_size, spm_begin, spm_end, spm_encode};
