/*
 * ids.c - turns the tokens of a column into a jagged array of ids.
 *
 * There is one loop over rows, inlined once per (column type, mapping), so that nothing inside it
 * has to ask again for the case. A column with one id in every row, as nearly all columns of CTR
 * data are, never gets offsets: they are made as soon as a row has none or several. For text that
 * comes as codes of a dictionary, each entry is looked at once, and a table keeps its result. An
 * entry that needs more than ids (missing, wrong, out of range) is handled in every row like plain
 * text, so that counts and messages are the same.
 */
#include "feat/feat_int.h"

#include <math.h>
#include <string.h>

#include "base/shown.h"
#include "feat/number.h"

/* Does byte c occur? The loads overlap inside [p, p + n) instead of going byte by byte. */
CR_INLINE bool swar_has8(uint64_t v, uint64_t pat) {
    uint64_t x = v ^ pat;
    return ((x - 0x0101010101010101u) & ~x & 0x8080808080808080u) != 0;
}

CR_INLINE bool has_byte(const char *p, size_t n, char c, uint64_t pat) {
    if (n > 16) return memchr(p, c, n) != NULL;
    if (n >= 8) {
        uint64_t a, b;
        memcpy(&a, p, 8);
        memcpy(&b, p + n - 8, 8);
        return swar_has8(a, pat) || swar_has8(b, pat);
    }
    if (n >= 4) {
        uint32_t a, b;
        memcpy(&a, p, 4);
        memcpy(&b, p + n - 4, 4);
        return swar_has8((uint64_t)a | (uint64_t)b << 32, pat);
    }
    for (size_t i = 0; i < n; i++)
        if (p[i] == c) return true;
    return false;
}

/* A third kind of result, besides CR_NO_RANGE and ids: the vocabulary does not list the token. */
#define UNLISTED (INT64_MIN + 1)

CR_INLINE int64_t in_table(int64_t id, int64_t size, int64_t *range) {
    if ((uint64_t)id < (uint64_t)size) return id;
    *range = id;
    return 0;
}

CR_INLINE int64_t listed(const cr_ids *m, const char *s, size_t n, int64_t *range) {
    bool is;
    int64_t id = cr_vocab_get(&m->vocab, s, n, &is);
    if (!is) *range = UNLISTED;
    return id;
}

CR_INLINE int64_t hashed(const cr_ids *m, const char *s, size_t n) {
    if (m->before) return cr_hash_python2(m->before, m->n_before, s, n, &m->mod);
    return (int64_t)cr_mod_of(m->mod, m->hash(s, n));
}

CR_INLINE bool map_int(const cr_ids *m, cr_id_kind kind, int64_t v, int64_t *id, int64_t *range) {
    char text[24];
    switch (kind) {
    case CR_IDS_HASH: *id = hashed(m, text, cr_fmt_i64(text, v)); break;
    case CR_IDS_VOCAB: *id = listed(m, text, cr_fmt_i64(text, v), range); break;
    default: *id = in_table(v, m->num_embeddings, range); return true;
    }
    if (m->clamp) *id = in_table(*id, m->num_embeddings, range);
    return true;
}

/* Is this several integers with a separator between them that cannot be part of an integer? */
static bool is_list(const char *s, size_t n) {
    size_t digits = 0, breaks = 0;
    for (size_t i = 0; i < n; i++) {
        bool digit = s[i] >= '0' && s[i] <= '9';
        digits += digit;
        breaks += !digit && i > 0 && i + 1 < n && s[i] != '-';
        if (!digit && !memchr(";,|:/#&_ -\t\1\2\3\x1d", s[i], 15)) return false;
    }
    return digits > 1 && breaks > 0;
}

CR_INLINE bool map_text(const cr_ids *m, cr_id_kind kind, const char *s, size_t n, int64_t *id,
                        int64_t *range, const char **why) {
    if (kind == CR_IDS_BUCKETS || kind == CR_IDS_ENCODED || m->is_int) {
        int64_t v = 0;
        cr_num st = cr_num_whole(s, n, &v);
        if (st == CR_NUM_BAD) {
            *why = is_list(s, n)            ? "not an integer but several; check the delimiter"
                   : kind == CR_IDS_ENCODED ? "not an integer id"
                                            : "not an integer";
            return false;
        }
        if (st == CR_NUM_RANGE) {
            if (kind == CR_IDS_HASH || kind == CR_IDS_VOCAB) {
                *why = "does not fit in 64 bits; declare the column as STRING";
                return false;
            }
            v = INT64_MAX; /* larger than the ids of any table */
        }
        return map_int(m, kind, v, id, range);
    }
    if (kind == CR_IDS_HASH)
        *id = hashed(m, s, n);
    else
        *id = listed(m, s, n, range);
    if (m->clamp) *id = in_table(*id, m->num_embeddings, range);
    return true;
}

bool cr_ids_of(const cr_ids *m, const char *s, size_t n, int64_t *id, int64_t *range,
               const char **why) {
    *range = CR_NO_RANGE;
    bool fine = false;
    switch (m->kind) {
    case CR_IDS_HASH: fine = map_text(m, CR_IDS_HASH, s, n, id, range, why); break;
    case CR_IDS_BUCKETS: fine = map_text(m, CR_IDS_BUCKETS, s, n, id, range, why); break;
    case CR_IDS_VOCAB: fine = map_text(m, CR_IDS_VOCAB, s, n, id, range, why); break;
    case CR_IDS_ENCODED: fine = map_text(m, CR_IDS_ENCODED, s, n, id, range, why); break;
    }
    if (*range == UNLISTED) *range = CR_NO_RANGE;
    return fine;
}

/* The jagged array that is being made. */
typedef struct sink {
    const cr_ids *m;
    const cr_feature *f;
    const cr_chunk *chunk;
    cr_feat_out *out;
    int64_t *ids;
    float *w; /* weighted only */
    int32_t *off;
    int64_t n, cap;
    int64_t n_missing, n_range, first_range, n_unlisted, n_cut, n_bad;
} sink;

static void grow(sink *s, int64_t more) {
    int64_t cap = s->cap * 2;
    if (cap < s->n + more) cap = s->n + more;
    int64_t *ids = cr_arena_alloc(s->out->arena, sizeof(int64_t) * (size_t)cap);
    memcpy(ids, s->ids, sizeof(int64_t) * (size_t)s->n);
    s->ids = ids;
    if (s->w) {
        float *w = cr_arena_alloc(s->out->arena, sizeof(float) * (size_t)cap);
        memcpy(w, s->w, sizeof(float) * (size_t)s->n);
        s->w = w;
    }
    s->cap = cap;
}

CR_INLINE void push(sink *s, int64_t id, float w) {
    if (s->n == s->cap) grow(s, 1);
    if (s->w) s->w[s->n] = w;
    s->ids[s->n++] = id;
}

static void note_range(sink *s, int64_t id) {
    if (id == UNLISTED)
        s->n_unlisted++;
    else if (s->n_range++ == 0)
        s->first_range = id;
}

static void missing(sink *s) {
    s->n_missing++;
    for (int64_t i = 0; i < s->m->n_def; i++)
        push(s, s->m->def[i], 1.0f);
}

/* A bad row keeps one id, so that the column may still have one id per row; the loader drops the
 * row. cell: the value is a whole cell. */
static void bad_value(sink *s, int64_t row, int64_t row_start, const char *p, size_t n, bool cell,
                      const char *why) {
    char show[80];
    const char *cure = cell && cr_null_like(p, n)     ? CR_NULL_CURE
                       : s->m->kind == CR_IDS_ENCODED ? s->f->raw_cure
                                                      : NULL;
    cr_bad_add(s->out->bad, row, cr_line_of(s->chunk, row), "%s, value '%s': %s%s%s", s->f->place,
               cr_show(show, p, n), why, cure ? "; " : "", cure ? cure : "");
    s->n = row_start;
    s->n_bad++;
    push(s, 0, 1.0f);
}

/* Called when row r is complete. */
CR_INLINE void end_row(sink *s, int64_t r) {
    if (s->off) {
        s->off[r + 1] = (int32_t)s->n;
    } else if (s->n != r + 1) {
        s->off = cr_arena_alloc(s->out->arena, sizeof(int32_t) * (size_t)(s->chunk->n_rows + 1));
        for (int64_t i = 0; i <= r; i++)
            s->off[i] = (int32_t)i;
        s->off[r + 1] = (int32_t)s->n;
    }
}

/* Reads one item of text: a token, or key:weight. */
CR_INLINE bool text_item(sink *s, cr_id_kind kind, const char *p, size_t n, const char **why) {
    float w = 1.0f;
    if (s->w) {
        const char *colon = memrchr(p, ':', n);
        double x = 0;
        if (!colon) {
            *why = "no weight; write key:weight";
            return false;
        }
        if (!cr_num_f64(colon + 1, (size_t)(p + n - colon - 1), &x) || !isfinite((float)x)) {
            *why = "the weight is not a number";
            return false;
        }
        w = (float)x;
        n = (size_t)(colon - p);
        if (n == 0) {
            *why = "no key before ':'";
            return false;
        }
    }
    int64_t id = 0, range = CR_NO_RANGE;
    if (!map_text(s->m, kind, p, n, &id, &range, why)) return false;
    if (range != CR_NO_RANGE) note_range(s, range);
    push(s, id, w);
    return true;
}

/* Is there a value in the rest of a row? */
static bool has_value(const cr_ids *m, const char *p, const char *end) {
    while ((size_t)(end - p) >= m->n_sep && memcmp(p, m->sep, m->n_sep) == 0)
        p += m->n_sep;
    return p < end;
}

/* Reads a row with separators in it; empty values between them are skipped. */
static bool text_list(sink *s, cr_id_kind kind, const char *p, size_t n, const char **bad_at,
                      size_t *bad_n, const char **why) {
    const char *end = p + n;
    int64_t left = s->m->value_dim ? s->m->value_dim : INT64_MAX;
    while (p <= end && left > 0) {
        const char *cut = s->m->n_sep == 1 ? memchr(p, s->m->sep[0], (size_t)(end - p))
                                           : memmem(p, (size_t)(end - p), s->m->sep, s->m->n_sep);
        const char *stop = cut ? cut : end;
        if (stop > p) {
            if (!text_item(s, kind, p, (size_t)(stop - p), why)) {
                *bad_at = p;
                *bad_n = (size_t)(stop - p);
                return false;
            }
            left--;
        }
        if (!cut) return true;
        p = cut + s->m->n_sep;
    }
    s->n_cut += has_value(s->m, p, end);
    return true;
}

/* Reads row r of a text column. */
CR_INLINE void row_text(sink *s, cr_id_kind kind, int64_t r, const char *p, size_t n, bool null) {
    const char sep = s->m->sep[0];
    const uint64_t pat = 0x0101010101010101u * (unsigned char)sep;
    int64_t start = s->n;
    if (n == 0 || null) {
        missing(s);
        return;
    }
    const char *bad_at = p, *why = NULL;
    size_t bad_n = n;
    bool fine;
    if (!has_byte(p, n, sep, pat))
        fine = text_item(s, kind, p, n, &why);
    else
        fine = text_list(s, kind, p, n, &bad_at, &bad_n, &why);
    if (!fine)
        bad_value(s, r, start, bad_at, bad_n, bad_n == n, why);
    else if (s->n == start)
        missing(s); /* the text has only separators */
}

CR_INLINE void rows_text(sink *s, cr_id_kind kind, const cr_column *col) {
    for (int64_t r = 0, n_rows = s->chunk->n_rows; r < n_rows; r++) {
        row_text(s, kind, r, col->bytes + col->beg[r], col->end[r] - col->beg[r],
                 col->valid && !col->valid[r]);
        end_row(s, r);
    }
}

/* ---- dictionaries ---- */

/* The result of each entry of a dictionary: an id with marks, or one of these. */
enum { NEW = -1, PLAIN = -2, LIST = -3 /* and below: number LIST - x in lists */ };
/* Marks of an entry: its value is not in the vocabulary; it had more values than are taken. */
#define MARK_UNLISTED ((int64_t)1 << 62)
#define MARK_CUT      ((int64_t)1 << 61)
#define MARKS         (MARK_UNLISTED | MARK_CUT)
typedef struct entries {
    int64_t *id;
    struct ids_list {
        int64_t n, n_unlisted, n_cut;
        int64_t *ids;
        float *w; /* NULL: not weighted */
    } * lists;
    int64_t n_lists, cap_lists;
    cr_arena *arena;
} entries;

/* Returns NULL when looking at every row is cheaper. */
static entries *entries_of(sink *s, const cr_column *text, int64_t n_values) {
    entries *e = text->memo ? cr_memo_get(text->memo, s->f) : NULL;
    if (e) return e;
    if (!text->memo && text->n_dict > n_values / 4) return NULL;
    cr_arena *a = text->memo ? &text->memo->arena : s->out->arena;
    e = CR_NEW(a, entries);
    e->arena = a;
    e->id = cr_arena_alloc(a, sizeof(int64_t) * (size_t)(text->n_dict + 1));
    memset(e->id, 0xff, sizeof(int64_t) * (size_t)(text->n_dict + 1)); /* sets all to NEW */
    if (text->memo) cr_memo_put(text->memo, s->f, e);
    return e;
}

static int64_t keep_list(entries *e, const sink *s, int64_t from, int64_t n_unlisted,
                         int64_t n_cut) {
    if (e->n_lists == e->cap_lists) {
        int64_t cap = e->cap_lists ? 2 * e->cap_lists : 64;
        struct ids_list *v = cr_arena_alloc(e->arena, sizeof(*v) * (size_t)cap);
        if (e->n_lists) memcpy(v, e->lists, sizeof(*v) * (size_t)e->n_lists);
        e->lists = v;
        e->cap_lists = cap;
    }
    size_t n = (size_t)(s->n - from);
    struct ids_list *l = &e->lists[e->n_lists];
    *l = (struct ids_list){(int64_t)n, n_unlisted, n_cut,
                           cr_arena_alloc(e->arena, n * sizeof(int64_t)), NULL};
    memcpy(l->ids, s->ids + from, n * sizeof(int64_t));
    if (s->w) {
        l->w = cr_arena_alloc(e->arena, n * sizeof(float));
        memcpy(l->w, s->w + from, n * sizeof(float));
    }
    return LIST - e->n_lists++;
}

/* learn looks at a new entry. item: it belongs to a list column, whose items are not split. */
CR_INLINE int64_t learn(sink *s, cr_id_kind kind, entries *e, const cr_column *col, uint32_t code,
                        bool item) {
    const char *p = col->bytes + col->beg[code], *bad_at, *why = NULL;
    size_t n = col->end[code] - col->beg[code], bad_n;
    int64_t start = s->n, n_range = s->n_range, id = PLAIN;
    int64_t unlisted = s->n_unlisted, cut = s->n_cut;
    bool fine = n > 0;
    if (fine)
        fine =
            item ? text_item(s, kind, p, n, &why) : text_list(s, kind, p, n, &bad_at, &bad_n, &why);
    int64_t more = s->n_unlisted - unlisted, less = s->n_cut - cut;
    if (fine && s->n_range == n_range && s->n > start) {
        if (s->n > start + 1 || s->w)
            id = keep_list(e, s, start, more, less);
        else if (s->ids[start] < MARK_CUT)
            id = s->ids[start] | (more ? MARK_UNLISTED : 0) | (less ? MARK_CUT : 0);
    }
    s->n = start;
    s->n_range = n_range;
    s->n_unlisted = unlisted;
    s->n_cut = cut;
    return e->id[code] = id;
}

static void push_list(sink *s, const struct ids_list *l) {
    if (s->n + l->n > s->cap) grow(s, l->n);
    memcpy(s->ids + s->n, l->ids, (size_t)l->n * sizeof(int64_t));
    if (s->w) memcpy(s->w + s->n, l->w, (size_t)l->n * sizeof(float));
    s->n += l->n;
    s->n_unlisted += l->n_unlisted;
    s->n_cut += l->n_cut;
}

/* count_marks counts the marks of an entry and returns its id without them. */
static int64_t count_marks(sink *s, int64_t id) {
    s->n_unlisted += (id & MARK_UNLISTED) != 0;
    s->n_cut += (id & MARK_CUT) != 0;
    return id & ~MARKS;
}

CR_INLINE void row_code(sink *s, cr_id_kind kind, entries *e, const cr_column *col, int64_t r) {
    uint32_t code = col->code[r];
    bool null = col->valid && !col->valid[r];
    int64_t id = null ? PLAIN : e->id[code];
    if (id == NEW) id = learn(s, kind, e, col, code, false);
    if ((uint64_t)id < MARK_CUT)
        push(s, id, 1.0f);
    else if (id >= 0)
        push(s, count_marks(s, id), 1.0f);
    else if (id <= LIST)
        push_list(s, &e->lists[LIST - id]);
    else
        row_text(s, kind, r, col->bytes + col->beg[code], col->end[code] - col->beg[code], null);
    end_row(s, r);
}

#define GROUP 64
/* Writes the ids of rows [r, r + n); the result is negative when a row is not exactly one known
 * id. */
CR_INLINE int64_t known(const entries *e, const cr_column *col, int64_t r, int64_t n,
                        int64_t *out) {
    int64_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = e->id[col->code[r + i]];
        any |= out[i];
    }
    for (int64_t i = 0; col->valid && i < n; i++)
        any |= (int64_t)col->valid[r + i] - 1;
    return any;
}

CR_INLINE void rows_code(sink *s, cr_id_kind kind, const cr_column *col) {
    entries *e = entries_of(s, col, s->chunk->n_rows);
    int64_t n_rows = s->chunk->n_rows;
    for (int64_t r = 0; !e && r < n_rows; r++) {
        size_t n;
        const char *p = cr_text_at(col, r, &n);
        row_text(s, kind, r, p, n, col->valid && !col->valid[r]);
        end_row(s, r);
    }
    for (int64_t r = 0; e && r < n_rows;) {
        int64_t n = n_rows - r < GROUP ? n_rows - r : GROUP;
        /* the usual case: every row has one id, here and so far */
        if (!s->w && !s->off && s->cap - s->n >= n) {
            int64_t *out = s->ids + s->n, any = known(e, col, r, n, out);
            if (any < 0) {
                for (int64_t i = r; i < r + n; i++)
                    if (e->id[col->code[i]] == NEW) learn(s, kind, e, col, col->code[i], false);
                out = s->ids + s->n; /* a long list may have moved the array */
                any = known(e, col, r, n, out);
            }
            if (any >= 0) {
                for (int64_t i = 0; (any & MARKS) && i < n; i++)
                    out[i] = count_marks(s, out[i]);
                s->n += n;
                r += n;
                continue;
            }
        }
        for (int64_t end = r + n; r < end; r++)
            row_code(s, kind, e, col, r);
    }
}

CR_INLINE int64_t int_at(const cr_column *col, int64_t i) {
    return col->type == CR_COL_I32 ? col->v.i32[i] : col->v.i64[i];
}

/* Handles rows [r, r + GROUP) at once; false: one of them is not simply an id of the table. */
CR_INLINE bool group_int(const sink *s, const cr_column *col, cr_coltype type, int64_t r) {
    int64_t *out = s->ids + r;
    uint64_t size = (uint64_t)s->m->num_embeddings, wrong = 0;
    for (int64_t i = 0; i < GROUP; i++) {
        out[i] = type == CR_COL_I32 ? col->v.i32[r + i] : col->v.i64[r + i];
        wrong |= (uint64_t)out[i] >= size;
    }
    for (int64_t i = 0; col->valid && i < GROUP; i++)
        wrong |= !col->valid[r + i];
    return !wrong;
}

CR_INLINE void rows_int(sink *s, cr_id_kind kind, const cr_column *col, cr_coltype type) {
    bool plain = (kind == CR_IDS_BUCKETS || kind == CR_IDS_ENCODED) && !s->w;
    for (int64_t r = 0, n_rows = s->chunk->n_rows; r < n_rows;) {
        /* the usual case: every row so far has one id, so there is room */
        if (plain && !s->off && n_rows - r >= GROUP && group_int(s, col, type, r)) {
            s->n += GROUP;
            r += GROUP;
            continue;
        }
        for (int64_t end = n_rows - r < GROUP ? n_rows : r + GROUP; r < end; r++) {
            if (col->valid && !col->valid[r]) {
                missing(s);
            } else {
                int64_t id = 0, range = CR_NO_RANGE;
                map_int(s->m, kind, type == CR_COL_I32 ? col->v.i32[r] : col->v.i64[r], &id,
                        &range);
                if (range != CR_NO_RANGE) note_range(s, range);
                push(s, id, 1.0f);
            }
            end_row(s, r);
        }
    }
}

static double number_at(const cr_column *col, int64_t i) {
    switch (col->type) {
    case CR_COL_I32: return col->v.i32[i];
    case CR_COL_I64: return (double)col->v.i64[i];
    case CR_COL_F32: return (double)col->v.f32[i];
    case CR_COL_F64: return col->v.f64[i];
    case CR_COL_STR: break;
    }
    double x = NAN;
    size_t n;
    const char *p = cr_text_at(col, i, &n);
    return cr_num_f64(p, n, &x) ? x : NAN;
}

/* Is there a value among items [i, end)? */
static bool has_item(const cr_column *item, int64_t i, int64_t end) {
    for (; i < end; i++) {
        size_t n = 1;
        if (item->item_valid && !item->item_valid[i]) continue;
        if (item->type == CR_COL_STR) cr_text_at(item, i, &n);
        if (n > 0) return true;
    }
    return false;
}

/* Reads lists, and maps (keys with weights beside them); null items are left out. */
CR_INLINE void rows_list(sink *s, cr_id_kind kind, const cr_column *col) {
    const cr_column *item = col->keys ? col->keys : col;
    int64_t most = s->m->value_dim ? s->m->value_dim : INT64_MAX;
    bool null_weight = col->keys && s->w && col->item_valid;
    entries *e = item->type == CR_COL_STR && item->code && !s->w
                     ? entries_of(s, item, col->row_off[s->chunk->n_rows])
                     : NULL;
    for (int64_t r = 0, n_rows = s->chunk->n_rows; r < n_rows; r++) {
        int64_t a = col->row_off[r], b = col->row_off[r + 1], start = s->n;
        if (col->valid && !col->valid[r]) b = a;
        int64_t i = a;
        for (; i < b && s->n - start < most; i++) {
            int64_t id = 0, range = CR_NO_RANGE;
            const char *why = NULL, *p = "";
            size_t n = 0;
            bool fine = true;
            if (item->item_valid && !item->item_valid[i]) continue;
            if (e) {
                id = e->id[item->code[i]];
                if (id == NEW) id = learn(s, kind, e, item, item->code[i], true);
                if (id >= 0) {
                    push(s, (uint64_t)id < MARK_CUT ? id : count_marks(s, id), 1.0f);
                    continue;
                }
            }
            if (item->type == CR_COL_STR) {
                p = cr_text_at(item, i, &n);
                if (n == 0) continue;
                if (!col->keys) {
                    fine = text_item(s, kind, p, n, &why);
                } else {
                    fine = map_text(s->m, kind, p, n, &id, &range, &why);
                }
            } else {
                map_int(s->m, kind, int_at(item, i), &id, &range);
            }
            if (fine && (col->keys || item->type != CR_COL_STR)) {
                if (range != CR_NO_RANGE) note_range(s, range);
                double w = col->keys && s->w ? number_at(col, i) : 1.0;
                fine = isfinite((float)w) && !(null_weight && !col->item_valid[i]);
                if (!fine) why = "the weight is not a number";
                push(s, id, (float)w);
            }
            if (!fine) {
                bad_value(s, r, start, p, n, false, why);
                i = b;
            }
        }
        s->n_cut += i < b && has_item(item, i, b);
        if (s->n == start) missing(s);
        end_row(s, r);
    }
}

CR_INLINE void rows(sink *s, cr_id_kind kind, const cr_column *col) {
    if (col->depth > 0)
        rows_list(s, kind, col);
    else if (col->type == CR_COL_STR && col->code)
        rows_code(s, kind, col);
    else if (col->type == CR_COL_STR)
        rows_text(s, kind, col);
    else if (col->type == CR_COL_I32)
        rows_int(s, kind, col, CR_COL_I32);
    else
        rows_int(s, kind, col, CR_COL_I64);
}

const char *cr_ids_refuses(const cr_ids *m, const cr_colkind *kind) {
    cr_coltype item = kind->key >= 0 ? (cr_coltype)kind->key : kind->type;
    if (kind->depth > 1) return "single values or lists";
    if (item == CR_COL_F32 || item == CR_COL_F64)
        return "integers or text: give it an integer input_type in input_fields, or use "
               "raw_feature";
    /* id:weight comes as text or as a map */
    if (m->weighted && kind->key < 0 && item != CR_COL_STR)
        return "text (key:weight) or a map because it is weighted";
    return NULL;
}

cr_code cr_ids_encode(const cr_ids *m, const cr_feature *f, const cr_column *col,
                      const cr_chunk *chunk, cr_feat_out *out, cr_err *err) {
    const cr_column *item = col->keys ? col->keys : col;
    if (item->type == CR_COL_F32 || item->type == CR_COL_F64 || col->depth > 1)
        return cr_fail(err, CR_EDATA, "%s: %s holds %s; feature '%s' needs integers or text",
                       chunk->path ? chunk->path : "input", f->place,
                       col->depth > 1 ? "lists of lists" : "floats", f->name);
    sink s = {.m = m, .f = f, .chunk = chunk, .out = out, .cap = chunk->n_rows ? chunk->n_rows : 1};
    s.ids = cr_arena_alloc(out->arena, sizeof(int64_t) * (size_t)s.cap);
    if (m->weighted) s.w = cr_arena_alloc(out->arena, sizeof(float) * (size_t)s.cap);
    switch (m->kind) {
    case CR_IDS_HASH: rows(&s, CR_IDS_HASH, col); break;
    case CR_IDS_BUCKETS: rows(&s, CR_IDS_BUCKETS, col); break;
    case CR_IDS_VOCAB: rows(&s, CR_IDS_VOCAB, col); break;
    case CR_IDS_ENCODED: rows(&s, CR_IDS_ENCODED, col); break;
    }
    if (s.n > INT32_MAX)
        return cr_fail(err, CR_EDATA, "feature '%s': more than 2^31 ids in one block of rows",
                       f->name);
    *out->ids = (cr_jagged){.off = s.off, .ids = s.ids, .w = s.w, .n_ids = s.n};
    cr_feature_counts *c = out->counts;
    if (s.n_range && c->out_of_range == 0) c->first_bad = s.first_range;
    c->ids += s.n - s.n_missing * m->n_def - s.n_bad;
    c->missing += s.n_missing;
    c->out_of_range += s.n_range;
    c->unknown += s.n_unlisted;
    c->unparsable += s.n_bad;
    c->cut += s.n_cut;
    return CR_OK;
}
