/*
 * tally.c - counts of one column: of a block, and all blocks joined.
 *
 * Most columns have few different values, so a block first counts how often each occurs and then
 * looks at each of them once: whether it is a number, its size, its hash. A column with more than
 * KNOWN values is looked at value by value, and its different values are counted by hashes. Both
 * ways give the same counts. A sum is exact, so the order of blocks does not matter to it.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "data/nulls.h"
#include "feat/hash.h"
#include "survey/survey_int.h"

#define SLOTS (2 * KNOWN)

void cr_sv_tally_init(tally *t, const tally *whole, cr_arena *a) {
    *t = (tally){.min = INFINITY, .max = -INFINITY, .arena = a};
    cr_kmv_init(&t->hashes, HASHES, a);
    if (whole) {
        t->hashes.limit = whole->hashes.limit;
        t->many = whole->many;
    }
    if (t->many) return;
    t->known = cr_arena_alloc(a, KNOWN * sizeof *t->known);
    t->slots = CR_NEW_N(a, uint32_t, SLOTS);
}

const char *cr_sv_cell_text(cr_arena *a, double x) {
    char text[32];
    size_t n = cr_fmt_f64(text, x);
    return cr_arena_strndup(a, text, n);
}

/* Finds a value, or puts it there; NULL: there are too many. */
static known *known_at(tally *t, uint64_t hash) {
    uint32_t i = (uint32_t)(hash >> 32) % SLOTS;
    for (; t->slots[i]; i = (i + 1) % SLOTS)
        if (t->known[t->slots[i] - 1].hash == hash) return &t->known[t->slots[i] - 1];
    if (t->n_known == KNOWN) return NULL;
    t->slots[i] = (uint32_t)++t->n_known;
    known *k = &t->known[t->n_known - 1];
    *k = (known){.hash = hash};
    return k;
}

static bool less(const char *a, const char *b) {
    return !b || strcmp(a, b) < 0;
}

/* Notes a mark of a missing value; of too many the first by their bytes are kept. */
static void note_mark(tally *t, const char *mark) {
    int i = 0;
    while (i < t->n_marks && strcmp(t->marks[i], mark) < 0)
        i++;
    if (i < t->n_marks && strcmp(t->marks[i], mark) == 0) return;
    if (i == N_MARKS) return;
    if (t->n_marks < N_MARKS) t->n_marks++;
    memmove(t->marks + i + 1, t->marks + i, sizeof(*t->marks) * (size_t)(t->n_marks - 1 - i));
    t->marks[i] = mark;
}

static void note_other(tally *t, const char *p, size_t n) {
    n = n < CELL_TEXT ? n : CELL_TEXT;
    if (t->other) {
        size_t k = strlen(t->other);
        int c = memcmp(p, t->other, n < k ? n : k);
        if (c > 0 || (c == 0 && n >= k)) return;
    }
    t->other = cr_arena_strndup(t->arena, p, n);
}

static void add_number(tally *t, double x, int64_t n) {
    double m = (double)n, sq = x * x;
    t->numbers += n;
    if (x == floor(x) && fabs(x) < 0x1p63) t->whole += n;
    t->min = x < t->min ? x : t->min;
    t->max = x > t->max ? x : t->max;
    /* x * n without rounding is a product and its error */
    double p = x * m, e = fma(x, m, -p), q = sq * m, d = fma(sq, m, -q);
    cr_exact_add(&t->sum, p);
    if (isfinite(e)) cr_exact_add(&t->sum, e);
    if (!isfinite(q)) return;
    cr_exact_add(&t->squares, q);
    cr_exact_add(&t->squares, d);
}

bool cr_sv_is_mark(const char *p, size_t n) {
    /* long texts, and those that end with a digit, are none, which saves a search */
    return n > 0 && n <= 8 && (p[n - 1] < '0' || p[n - 1] > '9') && cr_null_like(p, n);
}

/* Looks at a value that occurs n times. */
static void add_text(tally *t, const char *p, size_t len, uint64_t hash, int64_t n) {
    double x;
    if (len == 0) {
        t->missing += n;
        return;
    }
    if (cr_sv_is_mark(p, len)) {
        t->missing += n;
        t->marked += n;
        note_mark(t, cr_arena_strndup(t->arena, p, len));
        return;
    }
    t->values += n;
    if (t->many) cr_kmv_add(&t->hashes, hash);
    if (cr_parse_f64(p, len, &x) && isfinite(x))
        add_number(t, x, n);
    else
        note_other(t, p, len);
}

static void add_known(tally *t, const known *k) {
    if (k->text) {
        add_text(t, k->text, k->len, k->hash, k->n);
        return;
    }
    t->values += k->n;
    if (t->many) cr_kmv_add(&t->hashes, k->hash);
    if (isfinite(k->number)) add_number(t, k->number, k->n);
}

/* There are too many values to count them one by one: those so far are looked at now. */
static void give_up(tally *t) {
    t->many = true;
    for (int i = 0; i < t->n_known; i++)
        add_known(t, &t->known[i]);
    t->n_known = 0;
}

static bool is_value(const known *k) {
    return !k->text || (k->len > 0 && !cr_sv_is_mark(k->text, k->len));
}

/* Hashes take over the counting of different values from the known ones. */
static void hash_known(tally *t, const tally *from) {
    for (int i = 0; i < from->n_known; i++)
        if (is_value(&from->known[i])) cr_kmv_add(&t->hashes, from->known[i].hash);
}

double cr_sv_tally_distinct(const tally *t, bool *exact) {
    *exact = true;
    if (t->many) return cr_kmv_count(&t->hashes, exact);
    int n = 0;
    for (int i = 0; i < t->n_known; i++)
        n += is_value(&t->known[i]);
    return n;
}

/* One value of the block that is being counted. */
static void count_text(tally *t, const char *p, size_t len, int64_t n) {
    uint64_t hash = cr_hash_murmur(p, len);
    if (!t->many) {
        known *k = known_at(t, hash);
        if (k && !k->text) {
            k->text = cr_arena_strndup(t->arena, p, len);
            k->len = len;
        }
        if (k) {
            k->n += n;
            return;
        }
        give_up(t);
    }
    add_text(t, p, len, hash, n);
}

static void count_number(tally *t, double x, uint64_t bits) {
    uint64_t hash = cr_mix64(bits + CR_RNG_STEP);
    if (!t->many) {
        known *k = known_at(t, hash);
        if (k) {
            k->number = x;
            k->n++;
            return;
        }
        give_up(t);
    }
    add_known(t, &(known){.hash = hash, .n = 1, .number = x});
}

/* Value i of a column of numbers, and bits that tell it from others. */
static double number_at(const cr_column *c, int64_t i, uint64_t *bits) {
    double x = c->type == CR_COL_F32   ? (double)c->v.f32[i]
               : c->type == CR_COL_F64 ? c->v.f64[i]
               : c->type == CR_COL_I32 ? (double)c->v.i32[i]
                                       : (double)c->v.i64[i];
    if (c->type == CR_COL_I64) {
        *bits = (uint64_t)c->v.i64[i];
        return x;
    }
    double plain = x == 0 ? 0 : x; /* -0 counts as 0 */
    memcpy(bits, &plain, sizeof plain);
    return x;
}

static void count_value(tally *t, const cr_column *c, int64_t i) {
    size_t n;
    uint64_t bits;
    if (c->type == CR_COL_STR) {
        const char *p = cr_text_at(c, i, &n);
        count_text(t, p, n, 1);
        return;
    }
    double x = number_at(c, i, &bits);
    if (isnan(x))
        t->missing++;
    else
        count_number(t, x, bits);
}

/* Entries of a dictionary are counted by their codes first. */
static bool count_codes(tally *t, const cr_column *c, int64_t n_rows) {
    if (!c->code || c->n_dict > n_rows) return false;
    int64_t *n = cr_alloc(sizeof(int64_t) * (size_t)(c->n_dict + 1), "counts of a dictionary");
    for (int64_t r = 0; r < n_rows; r++)
        if (!c->valid || c->valid[r])
            n[c->code[r]]++;
        else
            t->missing++;
    for (int64_t k = 0; k < c->n_dict; k++)
        if (n[k]) count_text(t, c->bytes + c->beg[k], c->end[k] - c->beg[k], n[k]);
    cr_free(n);
    return true;
}

static void count_lists(tally *t, const cr_column *c, int64_t n_rows) {
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t a = c->row_off[r], z = c->row_off[r + 1];
        if ((c->valid && !c->valid[r]) || a == z) {
            t->missing++;
            continue;
        }
        t->listed++;
        t->longest = z - a > t->longest ? z - a : t->longest;
        int64_t missing = t->missing, marked = t->marked;
        for (int64_t i = a; c->depth == 1 && i < z; i++)
            if (!c->item_valid || c->item_valid[i]) count_value(t, c, i);
        t->missing = missing; /* only rows without a list are missing ones */
        t->marked = marked;
    }
}

void cr_sv_tally_column(tally *t, const cr_column *c, int64_t n_rows) {
    t->rows += n_rows;
    if (c->depth > 0) {
        count_lists(t, c, n_rows);
    } else if (!count_codes(t, c, n_rows)) {
        for (int64_t r = 0; r < n_rows; r++) {
            if (c->valid && !c->valid[r])
                t->missing++;
            else
                count_value(t, c, r);
        }
    }
    int64_t missing = t->missing, marked = t->marked;
    for (int i = 0; !t->many && i < t->n_known; i++)
        add_known(t, &t->known[i]);
    if (c->depth > 0) {
        t->missing = missing;
        t->marked = marked;
    }
}

/* Adds the known values of o; false: there are too many. */
static bool join_known(tally *t, const tally *o) {
    for (int i = 0; i < o->n_known; i++) {
        const known *from = &o->known[i];
        known *k = known_at(t, from->hash);
        if (!k) return false;
        if (k->n == 0 && from->text) {
            k->text = cr_arena_strndup(t->arena, from->text, from->len);
            k->len = from->len;
        }
        k->number = from->number;
        k->n += from->n;
    }
    return true;
}

void cr_sv_tally_join(tally *t, const tally *o) {
    t->rows += o->rows;
    t->missing += o->missing;
    t->marked += o->marked;
    t->values += o->values;
    t->numbers += o->numbers;
    t->whole += o->whole;
    t->listed += o->listed;
    t->min = o->min < t->min ? o->min : t->min;
    t->max = o->max > t->max ? o->max : t->max;
    t->longest = o->longest > t->longest ? o->longest : t->longest;
    cr_exact_join(&t->sum, &o->sum);
    cr_exact_join(&t->squares, &o->squares);
    for (int i = 0; i < o->n_marks; i++)
        note_mark(t, cr_arena_strdup(t->arena, o->marks[i]));
    if (o->other && less(o->other, t->other)) t->other = cr_arena_strdup(t->arena, o->other);
    if (!t->many && (o->many || !join_known(t, o))) {
        hash_known(t, t);
        t->many = true;
        t->n_known = 0;
    }
    if (!t->many) return;
    if (o->many)
        cr_kmv_join(&t->hashes, &o->hashes);
    else
        hash_known(t, o);
}
