/*
 * tok_hf.c - HuggingFace tokenizer.json with a BPE model.
 *
 *   added tokens cut out -> normalizer -> added tokens of normalized text -> pre_tokenizer -> BPE
 *
 * The post_processor and the decoder are not used: no special tokens are put around a text, as in
 * TorchEasyRec. Other models of such files (WordPiece, WordLevel, Unigram) are refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/tok_hf.h"

#define MOST ((int64_t)1 << 24) /* largest number of ids */

typedef struct added {
    char *text;
    size_t n;
    int64_t id;
    bool normalized, single_word, lstrip, rstrip;
} added;

/* A merge: two ids, its rank, and the id of the merged token. */
typedef struct merge {
    int32_t a, b; /* a is -1 in an empty slot */
    int32_t rank, id;
} merge;

typedef struct hf {
    cr_map vocab;
    int64_t size;
    merge *merges; /* a hash table with open addressing */
    uint64_t mask;
    char *prefix, *suffix; /* continuing_subword_prefix, end_of_word_suffix; NULL: none */
    int64_t unk;           /* -1: unknown characters are left out */
    bool fuse_unk, byte_fallback, ignore_merges;
    int64_t byte[256];
    added *added;
    int n_added;
    /* for each first byte of an added token; bit 0: searched in plain text, bit 1: in normalized
     * text */
    uint8_t starts[256];
    cr_hf_steps normalizers, cutters;
} hf;

/* ---- merges ---- */

static uint64_t place_of(int64_t a, int64_t b) {
    uint64_t h = (uint64_t)a * 0x9e3779b97f4a7c15u ^ (uint64_t)b * 0xc2b2ae3d27d4eb4fu;
    return h ^ h >> 29;
}

static merge *find(const hf *t, int64_t a, int64_t b) {
    for (uint64_t i = place_of(a, b) & t->mask;; i = (i + 1) & t->mask) {
        merge *m = &t->merges[i];
        if (m->a < 0 || (m->a == a && m->b == b)) return m;
    }
}

/* halves reads a merge that is written as "a b" or as ["a", "b"]. */
static bool halves(const cr_json *j, const char **a, size_t *na, const char **b, size_t *nb) {
    const char *text = cr_json_str(j);
    if (text) {
        const char *cut = strchr(text, ' ');
        if (!cut || strchr(cut + 1, ' ')) return false;
        *a = text;
        *na = (size_t)(cut - text);
        *b = cut + 1;
        *nb = strlen(cut + 1);
        return true;
    }
    *a = cr_json_str(cr_json_at(j, 0));
    *b = cr_json_str(cr_json_at(j, 1));
    if (!*a || !*b || cr_json_len(j) != 2) return false;
    *na = strlen(*a);
    *nb = strlen(*b);
    return true;
}

static cr_code read_merges(hf *t, const cr_json *list, cr_err *err) {
    size_t n = cr_json_len(list), cap = 16;
    if (!cr_json_is_arr(list) || n > (size_t)MOST)
        return cr_fail(err, CR_ECONF, "model has no list of merges");
    while (cap < 2 * n + 2)
        cap *= 2;
    t->merges = cr_alloc(cap * sizeof(merge), "merges of a tokenizer");
    for (size_t i = 0; i < cap; i++)
        t->merges[i].a = -1;
    t->mask = cap - 1;
    size_t skip = t->prefix ? strlen(t->prefix) : 0;
    cr_buf both;
    cr_buf_init(&both);
    cr_code code = CR_OK;
    for (size_t i = 0; i < n && code == CR_OK; i++) {
        const char *a, *b;
        size_t na, nb;
        if (!halves(cr_json_at(list, i), &a, &na, &b, &nb)) {
            code = cr_fail(err, CR_ECONF, "merge %zu is not a pair of tokens", i + 1);
            break;
        }
        size_t from = nb >= skip ? skip : 0;
        cr_buf_reset(&both);
        cr_buf_add(&both, a, na);
        cr_buf_add(&both, b + from, nb - from);
        int64_t ia = cr_map_get(&t->vocab, a, na, -1), ib = cr_map_get(&t->vocab, b, nb, -1),
                id = cr_map_get(&t->vocab, both.data, both.n, -1);
        if (ia < 0 || ib < 0 || id < 0) {
            code = cr_fail(err, CR_ECONF,
                           "merge %zu names a token that is not in vocab; save the tokenizer again",
                           i + 1);
            break;
        }
        merge *m = find(t, ia, ib);
        /* when a pair is listed twice, the last one counts, as in a map */
        *m = (merge){(int32_t)ia, (int32_t)ib, (int32_t)i, (int32_t)id};
    }
    cr_buf_clear(&both);
    return code;
}

/* ---- reading the file ---- */

static char *copy_or_null(const char *s) {
    if (!s || !*s) return NULL;
    char *t = cr_alloc(strlen(s) + 1, "a tokenizer");
    return strcpy(t, s);
}

static bool flag(const cr_json *j, const char *key) {
    bool x = false;
    return cr_json_bool(cr_json_get(j, key), &x) && x;
}

static cr_code read_vocab(hf *t, const cr_json *vocab, cr_err *err) {
    const char *key;
    const cr_json *val;
    int64_t id;
    if (!cr_json_is_obj(vocab) || cr_json_len(vocab) == 0)
        return cr_fail(err, CR_ECONF, "model has no vocab; train the tokenizer first");
    for (void *it = NULL; cr_json_next(vocab, &it, &key, &val);) {
        if (!cr_json_i64(val, &id) || id < 0 || id >= MOST)
            return cr_fail(err, CR_ECONF, "id of token '%.40s' is not a number from 0 to 2^24",
                           key);
        cr_map_put(&t->vocab, key, strlen(key), id);
        if (id >= t->size) t->size = id + 1;
    }
    return CR_OK;
}

static cr_code read_model(hf *t, const cr_json *m, cr_err *err) {
    const char *type = cr_json_str(cr_json_get(m, "type"));
    if (!m || !cr_json_is_obj(m))
        return cr_fail(
            err, CR_ECONF,
            "the file has no model; give a tokenizer.json as HuggingFace tokenizers saves it");
    /* old files do not name BPE */
    if (type ? strcmp(type, "BPE") != 0 : !cr_json_get(m, "merges"))
        return cr_fail(err, CR_ECONF, "model '%s' is not in this version; BPE is",
                       type ? type : "?");
    double dropout = 0;
    if (cr_json_f64(cr_json_get(m, "dropout"), &dropout) && dropout != 0)
        return cr_fail(err, CR_ECONF,
                       "dropout makes tokens random; a feature must repeat: set it to null");
    const char *prefix = cr_json_str(cr_json_get(m, "continuing_subword_prefix")),
               *suffix = cr_json_str(cr_json_get(m, "end_of_word_suffix"));
    if ((prefix && strlen(prefix) > CR_MOST_STEP_TEXT) ||
        (suffix && strlen(suffix) > CR_MOST_STEP_TEXT))
        return cr_fail(err, CR_ECONF,
                       "continuing_subword_prefix or end_of_word_suffix has more than %d bytes; is "
                       "it the right tokenizer?",
                       CR_MOST_STEP_TEXT);
    t->prefix = copy_or_null(prefix);
    t->suffix = copy_or_null(suffix);
    t->fuse_unk = flag(m, "fuse_unk");
    t->byte_fallback = flag(m, "byte_fallback");
    t->ignore_merges = flag(m, "ignore_merges");
    CR_TRY(read_vocab(t, cr_json_get(m, "vocab"), err));
    const char *unk = cr_json_str(cr_json_get(m, "unk_token"));
    t->unk = unk ? cr_map_get(&t->vocab, unk, strlen(unk), -1) : -1;
    if (unk && *unk && t->unk < 0)
        return cr_fail(err, CR_ECONF, "unk_token '%.40s' is not in vocab", unk);
    for (int i = 0; i < 256; i++) {
        char name[8];
        int n = snprintf(name, sizeof(name), "<0x%02X>", i);
        t->byte[i] = cr_map_get(&t->vocab, name, (size_t)n, -1);
    }
    return read_merges(t, cr_json_get(m, "merges"), err);
}

static cr_code read_added(hf *t, const cr_json *list, cr_hf_run *run, cr_err *err) {
    size_t n = cr_json_len(list);
    if (n > CR_MOST_ADDED)
        return cr_fail(
            err, CR_ECONF,
            "the file has %zu added_tokens; at most %d are allowed: train the tokenizer with them",
            n, CR_MOST_ADDED);
    t->added = cr_alloc(sizeof(added) * (n + 1), "added tokens");
    for (size_t i = 0; i < n; i++) {
        const cr_json *j = cr_json_at(list, i);
        const char *text = cr_json_str(cr_json_get(j, "content"));
        added *a = &t->added[t->n_added];
        if (!text || !cr_json_i64(cr_json_get(j, "id"), &a->id) || a->id < 0 || a->id >= MOST)
            return cr_fail(err, CR_ECONF, "added token %zu has no content or no id", i + 1);
        /* the id of the vocabulary counts; files that the library wrote agree anyway */
        a->id = cr_map_get(&t->vocab, text, strlen(text), a->id);
        if (a->id >= t->size) t->size = a->id + 1;
        if (!*text) continue;
        if (strlen(text) > CR_MOST_ADDED_TEXT)
            return cr_fail(err, CR_ECONF, "added token %zu has %zu bytes; at most %d are allowed",
                           i + 1, strlen(text), CR_MOST_ADDED_TEXT);
        a->normalized = flag(j, "normalized");
        a->single_word = flag(j, "single_word");
        a->lstrip = flag(j, "lstrip");
        a->rstrip = flag(j, "rstrip");
        a->n = strlen(text);
        if (a->normalized) { /* the token is searched in normalized text */
            run->work.left = CR_MOST_WORK;
            text = cr_hf_normalize(&t->normalizers, run, text, a->n, &a->n);
            if (!text)
                return cr_fail(err, CR_ECONF,
                               "the normalizers make added token %zu too long; use a tokenizer "
                               "whose texts stay short",
                               i + 1);
            if (a->n == 0) continue;
        }
        a->text = cr_alloc(a->n + 1, "added tokens");
        memcpy(a->text, text, a->n);
        t->starts[(unsigned char)a->text[0]] |= a->normalized ? 2 : 1;
        t->n_added++;
    }
    return CR_OK;
}

static void hf_close(void *self) {
    hf *t = self;
    cr_map_clear(&t->vocab);
    cr_free(t->merges);
    cr_free(t->prefix);
    cr_free(t->suffix);
    for (int i = 0; i < t->n_added; i++)
        cr_free(t->added[i].text);
    cr_free(t->added);
    cr_hf_steps_clear(&t->normalizers);
    cr_hf_steps_clear(&t->cutters);
    cr_free(t);
}

typedef struct scratch {
    cr_hf_run run;
    cr_merger word;
    /* unit: a character with the prefix and suffix that mark its place in the word */
    cr_buf text, unit;
} scratch;

static void *hf_begin(const void *self) {
    (void)self;
    scratch *s = cr_alloc(sizeof(*s), "a tokenizer");
    s->run.regex = cr_regex_run_new(&s->run.work);
    cr_buf_init(&s->text);
    cr_buf_init(&s->unit);
    for (int i = 0; i < 2; i++) {
        cr_buf_init(&s->run.buf[i]);
        cr_buf_init(&s->run.pieces[i].text);
    }
    return s;
}

static void hf_end(const void *self, void *p) {
    (void)self;
    scratch *s = p;
    cr_regex_run_free(s->run.regex);
    for (int i = 0; i < 2; i++) {
        cr_buf_clear(&s->run.buf[i]);
        cr_hf_pieces_clear(&s->run.pieces[i]);
    }
    cr_merger_clear(&s->word);
    cr_buf_clear(&s->text);
    cr_buf_clear(&s->unit);
    cr_free(s);
}

static cr_code read_file(hf *t, const cr_json *root, cr_err *err) {
    if (!cr_json_is_obj(root)) return cr_fail(err, CR_ECONF, "not a tokenizer.json");
    CR_TRY(read_model(t, cr_json_get(root, "model"), err));
    CR_TRY(cr_hf_normalizers(&t->normalizers, cr_json_get(root, "normalizer"), err));
    CR_TRY(cr_hf_pre_tokenizers(&t->cutters, cr_json_get(root, "pre_tokenizer"), err));
    scratch *s = hf_begin(t);
    cr_code code = read_added(t, cr_json_get(root, "added_tokens"), &s->run, err);
    hf_end(t, s);
    return code;
}

static cr_code hf_open(void **self, const char *data, size_t n, cr_err *err) {
    cr_json *root = NULL;
    CR_TRY(cr_json_parse(&root, data, n, err));
    hf *t = cr_alloc(sizeof(*t), "a tokenizer");
    cr_map_init(&t->vocab);
    cr_code code = read_file(t, root, err);
    cr_json_free(root);
    if (code == CR_OK)
        *self = t;
    else
        hf_close(t);
    return code;
}

static int64_t hf_size(const void *self) {
    return ((const hf *)self)->size;
}

/* ---- a word ---- */

static bool pair(const void *ctx, const char *text, const cr_sym *a, const cr_sym *b,
                 int64_t *order, int64_t *id) {
    (void)text;
    if (a->id < 0 || b->id < 0) return false;
    const merge *m = find(ctx, a->id, b->id);
    if (m->a < 0) return false;
    *order = m->rank;
    *id = m->id;
    return true;
}

/* put_unknown adds a character that is not in vocab. */
static void put_unknown(const hf *t, cr_merger *w, const char *p, size_t beg, size_t end,
                        bool *after_unk) {
    bool all = t->byte_fallback;
    for (size_t i = beg; all && i < end; i++)
        all = t->byte[(unsigned char)p[i]] >= 0;
    if (all) {
        for (size_t i = beg; i < end; i++)
            cr_merger_add(w, (uint32_t)i, (uint32_t)i + 1, t->byte[(unsigned char)p[i]]);
        *after_unk = false;
    } else if (t->unk >= 0) {
        if (*after_unk && t->fuse_unk)
            w->v[w->n - 1].end = (uint32_t)end;
        else
            cr_merger_add(w, (uint32_t)beg, (uint32_t)end, t->unk);
        *after_unk = true;
    }
}

static void encode_word(const hf *t, scratch *s, const char *p, size_t n, cr_tok_ids *ids) {
    int64_t id = t->ignore_merges ? cr_map_get(&t->vocab, p, n, -1) : -1;
    if (id >= 0) {
        cr_tok_ids_put(ids, id);
        return;
    }
    cr_merger *w = &s->word;
    bool after_unk = false;
    uint32_t c;
    w->n = 0;
    for (size_t at = 0; at < n;) {
        size_t len = cr_utf8_get(p + at, n - at, &c);
        const char *unit = p + at;
        size_t n_unit = len;
        if ((t->prefix && at > 0) || (t->suffix && at + len == n)) {
            cr_buf_reset(&s->unit);
            if (t->prefix && at > 0) cr_buf_str(&s->unit, t->prefix);
            cr_buf_add(&s->unit, unit, len);
            if (t->suffix && at + len == n) cr_buf_str(&s->unit, t->suffix);
            unit = s->unit.data;
            n_unit = s->unit.n;
        }
        id = cr_map_get(&t->vocab, unit, n_unit, -1);
        if (id >= 0) {
            cr_merger_add(w, (uint32_t)at, (uint32_t)(at + len), id);
            after_unk = false;
        } else {
            put_unknown(t, w, p, at, at + len, &after_unk);
        }
        at += len;
    }
    cr_merger_run(w, p, pair, t);
    for (int32_t i = w->n ? 0 : -1; i >= 0; i = w->v[i].next)
        cr_tok_ids_put(ids, w->v[i].id);
}

/* ---- added tokens ---- */

static bool is_word_char(uint32_t c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c >= 0x80;
}

/* before returns where the character before `at` begins; at > 0. */
static size_t before(const char *p, size_t at) {
    do
        at--;
    while (at > 0 && ((unsigned char)p[at] & 0xc0) == 0x80);
    return at;
}

static bool alone(const char *p, size_t n, size_t beg, size_t end) {
    uint32_t c;
    if (end < n) {
        cr_utf8_get(p + end, n - end, &c);
        if (is_word_char(c)) return false;
    }
    if (beg == 0) return true;
    size_t at = before(p, beg);
    cr_utf8_get(p + at, n - at, &c);
    return !is_word_char(c);
}

/* added_at returns the longest added token that begins at `at`; NULL: none. */
static const added *added_at(const hf *t, const char *p, size_t n, size_t at, bool normalized) {
    const added *best = NULL;
    for (int i = 0; i < t->n_added; i++) {
        const added *a = &t->added[i];
        if (a->normalized != normalized || a->text[0] != p[at] || a->n > n - at) continue;
        if ((!best || a->n > best->n) && memcmp(a->text, p + at, a->n) == 0 &&
            (!a->single_word || alone(p, n, at, at + a->n)))
            best = a;
    }
    return best;
}

typedef bool (*part_fn)(const hf *t, scratch *s, const char *p, size_t n, bool first,
                        cr_tok_ids *ids);

/* each_part cuts added tokens out of a text and calls fn for the parts between them. */
static bool each_part(const hf *t, scratch *s, const char *p, size_t n, bool first, bool normalized,
                      part_fn fn, cr_tok_ids *ids) {
    size_t from = 0;
    const int mask = normalized ? 2 : 1;
    for (size_t at = 0; t->n_added && at < n;) {
        bool may = t->starts[(unsigned char)p[at]] & mask;
        if (may && !cr_work_spend(&s->run.work, (size_t)t->n_added)) return false;
        const added *a = may ? added_at(t, p, n, at, normalized) : NULL;
        if (!a) {
            at++;
            continue;
        }
        size_t beg = at, end = at + a->n;
        uint32_t c;
        size_t len;
        for (size_t k = beg; a->lstrip && k > from; beg = k) {
            k = before(p, k);
            cr_utf8_get(p + k, n - k, &c);
            if (!cr_hf_is_blank(c)) break;
        }
        for (; a->rstrip && end < n; end += len) {
            len = cr_utf8_get(p + end, n - end, &c);
            if (!cr_hf_is_blank(c)) break;
        }
        if (beg > from && !fn(t, s, p + from, beg - from, first && from == 0, ids)) return false;
        cr_tok_ids_put(ids, a->id);
        at = from = end;
    }
    return from >= n || fn(t, s, p + from, n - from, first && from == 0, ids);
}

/* ---- a text ---- */

static bool words(const hf *t, scratch *s, const char *p, size_t n, bool first, cr_tok_ids *ids) {
    const cr_hf_pieces *w = cr_hf_cut(&t->cutters, &s->run, p, n, first);
    if (!w) return false;
    for (int64_t i = 0; i < w->n; i++)
        encode_word(t, s, w->text.data + w->v[i].beg, w->v[i].end - w->v[i].beg, ids);
    return true;
}

static bool normalized(const hf *t, scratch *s, const char *p, size_t n, bool first,
                       cr_tok_ids *ids) {
    const char *q = cr_hf_normalize(&t->normalizers, &s->run, p, n, &n);
    if (!q) return false;
    /* cutting reuses the memory of the run, so the normalized text is copied first */
    cr_buf_reset(&s->text);
    cr_buf_add(&s->text, q, n);
    return n == 0 || each_part(t, s, s->text.data, n, first, true, words, ids);
}

static bool hf_encode(const void *self, void *p, const char *text, size_t n, cr_tok_ids *ids) {
    ((scratch *)p)->run.work.left = CR_MOST_WORK;
    return each_part(self, p, text, n, true, false, normalized, ids);
}

const cr_tok_type cr_tok_hf = {hf_open, hf_close, hf_size, hf_begin, hf_end, hf_encode};
