/*
 * tally.c - counts of one column: of the blocks of one part, and all parts joined.
 *
 * Most columns have few different values, so a value is first only counted, and looked at once per
 * so many: whether it is a number, its size, its hash. There are two stages. A short value meets
 * those that came a while ago (recent): where it is one of them, that is all. What it replaces
 * there goes on with its count to the known values, which are looked at when all blocks have been.
 * A column with more than KNOWN values is looked at as they leave the first stage, and its
 * different values are counted by hashes; where the first stage has not enough of them, it is left
 * out. All ways give the same counts. A sum is exact, so neither the order of blocks nor their
 * division matters to it. A short decimal is summed as a whole number on every way: its sum then
 * has no error, which the sum of its doubles has, so the two must not mix.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/word.h"
#include "data/nulls.h"
#include "feat/hash.h"
#include "survey/survey_int.h"

#define FIRST_KNOWN 64
/* The low bits of recent.n: the length of a text, or one of these */
enum { INT_BITS = 9, F64_BITS, RECENT_ONE = 16 };

const char *cr_sv_cell_text(cr_arena *a, double x) {
    char text[32];
    size_t n = cr_fmt_f64(text, x);
    return cr_arena_strndup(a, text, n);
}

/* Makes room for twice as many known values; there are never more slots than twice the values. */
static void grow_known(tally *t) {
    int cap = t->cap ? 2 * t->cap : FIRST_KNOWN;
    known *v = cr_arena_alloc(t->arena, (size_t)cap * sizeof *v);
    if (t->n_known) memcpy(v, t->known, (size_t)t->n_known * sizeof *v);
    t->known = v;
    t->cap = cap;
    t->n_slots = 2 * cap;
    t->slots = CR_NEW_N(t->arena, uint32_t, t->n_slots);
    for (int k = 0; k < t->n_known; k++) {
        uint32_t i = (uint32_t)(v[k].hash >> 32) % (uint32_t)t->n_slots;
        while (t->slots[i])
            i = (i + 1) % (uint32_t)t->n_slots;
        t->slots[i] = (uint32_t)k + 1;
    }
}

/* Finds a value, or puts it there; NULL: there are too many. */
static known *known_at(tally *t, uint64_t hash) {
    uint32_t mask = (uint32_t)t->n_slots - 1, i = (uint32_t)(hash >> 32) & mask;
    for (; t->n_slots && t->slots[i]; i = (i + 1) & mask)
        if (t->known[t->slots[i] - 1].hash == hash) return &t->known[t->slots[i] - 1];
    if (t->n_known == KNOWN) return NULL;
    if (t->n_known == t->cap) {
        grow_known(t);
        return known_at(t, hash);
    }
    t->slots[i] = (uint32_t)++t->n_known;
    known *k = &t->known[t->n_known - 1];
    *k = (known){.hash = hash};
    return k;
}

static bool less(const char *a, const char *b) {
    return !b || strcmp(a, b) < 0;
}

/* Notes a mark of a missing value; of too many the first by their bytes are kept. */
static void note_mark(tally *t, const char *p, size_t n) {
    int i = 0, order = 1;
    for (; i < t->n_marks; i++) {
        order = strncmp(t->marks[i], p, n);
        if (order == 0) order = t->marks[i][n] != 0;
        if (order >= 0) break;
    }
    if ((i < t->n_marks && order == 0) || i == N_MARKS) return;
    if (t->n_marks < N_MARKS) t->n_marks++;
    memmove(t->marks + i + 1, t->marks + i, sizeof(*t->marks) * (size_t)(t->n_marks - 1 - i));
    t->marks[i] = cr_arena_strndup(t->arena, p, n);
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
    if (fabs(x) < 0x1p63 && x == (double)(int64_t)x) t->whole += n;
    t->min = x < t->min ? x : t->min;
    t->max = x > t->max ? x : t->max;
    if (n == 1) {
        cr_exact_add(&t->sum, x);
        if (isfinite(sq)) cr_exact_add(&t->squares, sq);
        return;
    }
    /* x * n without rounding is a product and its error */
    double p = x * m, e = fma(x, m, -p), q = sq * m, d = fma(sq, m, -q);
    cr_exact_add(&t->sum, p);
    if (isfinite(e)) cr_exact_add(&t->sum, e);
    if (!isfinite(q)) return;
    cr_exact_add(&t->squares, q);
    cr_exact_add(&t->squares, d);
}

/* ---- decimals ---- */

static const uint32_t tens[FRACTIONS] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

/* Is the number without the point a multiple of its power of ten? Without a division: times the
 * inverse of 5^f modulo 2^32 a multiple becomes its quotient by it, and all others become larger
 * numbers than that can be; the twos move to the top. */
static inline bool is_whole(cr_decimal d) {
    static const uint32_t inverse[FRACTIONS] = {1,          0xcccccccd, 0xc28f5c29, 0x26e978d5,
                                                0x3afb7e91, 0x0bcbe61d, 0x68c26139, 0xae8d46a5};
    uint32_t q = d.digits * inverse[d.fraction];
    q = q >> d.fraction | (uint32_t)((uint64_t)q << (32 - d.fraction));
    return q <= UINT32_MAX / tens[d.fraction];
}

static inline int64_t signed_digits(cr_decimal d) {
    int64_t minus = -(int64_t)d.minus;
    return ((int64_t)d.digits ^ minus) - minus;
}

static void reset_decimals(decimals *v) {
    for (int i = 0; i < FRACTIONS; i++)
        v[i] = (decimals){.min = INT64_MAX, .max = INT64_MIN};
}

void cr_sv_tally_init(tally *t, cr_arena *a) {
    *t = (tally){.min = INFINITY, .max = -INFINITY, .arena = a};
    reset_decimals(t->decimals);
}

static void join_decimals(decimals *to, const decimals *from) {
    to->sum += from->sum;
    to->squares += from->squares;
    to->min = from->min < to->min ? from->min : to->min;
    to->max = from->max > to->max ? from->max : to->max;
}

static void add_decimal(tally *t, cr_decimal d, int64_t n) {
    int64_t x = signed_digits(d);
    t->numbers += n;
    t->whole += is_whole(d) ? n : 0;
    join_decimals(&t->decimals[d.fraction],
                  &(decimals){(wide_int)x * n, (wide_int)(x * x) * n, x, x});
}

/* Adds x / 10^places, the whole part without an error. */
static void add_quotient(cr_exact *to, wide_int x, int places) {
    bool minus = x < 0;
    wide_int power = 1;
    for (int i = 0; i < places; i++)
        power *= 10;
    cr_u128 size = minus ? -(cr_u128)x : (cr_u128)x, whole = size / (cr_u128)power;
    double rest = (double)(size % (cr_u128)power) / (double)power;
    for (int i = 0; i < 128; i += 32) {
        double part = ldexp((double)(uint32_t)(whole >> i), i);
        cr_exact_add(to, minus ? -part : part);
    }
    cr_exact_add(to, minus ? -rest : rest);
}

static double decimal_of(int64_t x, unsigned fraction) {
    cr_decimal d = {(uint32_t)(x < 0 ? -x : x), fraction, x < 0};
    return cr_decimal_value(d);
}

void cr_sv_tally_settle(tally *t) {
    for (unsigned f = 0; f < FRACTIONS; f++) {
        const decimals *d = &t->decimals[f];
        if (d->min > d->max) continue;
        add_quotient(&t->sum, d->sum, (int)f);
        add_quotient(&t->squares, d->squares, 2 * (int)f);
        t->min = fmin(t->min, decimal_of(d->min, f));
        t->max = fmax(t->max, decimal_of(d->max, f));
    }
    reset_decimals(t->decimals);
}

bool cr_sv_is_mark(const char *p, size_t n) {
    /* long texts, and those that end with a digit, are none, which saves a search */
    return n > 0 && n <= 8 && (p[n - 1] < '0' || p[n - 1] > '9') && cr_null_like(p, n);
}

/* Looks at a value that occurs n times. */
static void add_text(tally *t, const char *p, size_t len, uint64_t hash, int64_t n) {
    double x;
    cr_decimal d;
    if (len == 0) {
        t->missing += n;
        return;
    }
    if (cr_sv_is_mark(p, len)) {
        t->missing += n;
        t->marked += n;
        note_mark(t, p, len);
        return;
    }
    t->values += n;
    if (t->many) cr_kmv_add(&t->hashes, hash);
    if (len <= 8 && cr_word_decimal(cr_word_of(p, len), len, &d))
        add_decimal(t, d, n);
    else if (cr_parse_f64(p, len, &x) && isfinite(x))
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

static void open_hashes(tally *t) {
    t->many = true;
    if (!t->hashes.cap) cr_kmv_init(&t->hashes, HASHES, t->arena);
}

/* There are too many values to count them one by one: those so far are looked at now. */
static void give_up(tally *t) {
    open_hashes(t);
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

/* A text that came n times. */
static void count_text(tally *t, const char *p, size_t len, uint64_t hash, int64_t n) {
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

/* The same for a word. */
static void count_word(tally *t, uint64_t w, size_t len, int64_t n) {
    char text[8];
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(w >> (8 * i));
    count_text(t, text, len, cr_hash_murmur_word(w, len), n);
}

static known number_of(uint64_t bits, bool whole) {
    known v = {.hash = cr_mix64(bits + CR_RNG_STEP)};
    memcpy(&v.number, &bits, sizeof v.number);
    if (whole) v.number = (double)(int64_t)bits;
    return v;
}

static void count_bits(tally *t, uint64_t bits, bool whole, int64_t n) {
    known v = number_of(bits, whole);
    v.n = n;
    if (!t->many) {
        known *k = known_at(t, v.hash);
        if (k) {
            k->number = v.number;
            k->n += n;
            return;
        }
        give_up(t);
    }
    add_known(t, &v);
}

static void count_recent(tally *t, const recent *v) {
    unsigned what = v->n % RECENT_ONE;
    int64_t n = (int64_t)(v->n / RECENT_ONE);
    if (what >= INT_BITS)
        count_bits(t, v->word, what == INT_BITS, n);
    else
        count_word(t, v->word, what, n);
}

/* One value: a word of so many bytes, or bits. */
static inline void meet(tally *t, uint64_t word, unsigned what) {
    uint64_t hash = (word + what) * UINT64_C(0x9e3779b97f4a7c15);
    recent *v = &t->recent[(hash ^ hash >> 32) >> 22 & (RECENT - 1)];
    if (v->word == word && v->n % RECENT_ONE == what && v->n) {
        v->n += RECENT_ONE;
        return;
    }
    t->missed++;
    if (v->n) count_recent(t, v);
    *v = (recent){word, RECENT_ONE + what};
}

/* Bits that tell value i of a column of numbers from others; false: it is missing. */
static bool bits_at(const cr_column *c, int64_t i, uint64_t *bits) {
    if (c->type == CR_COL_I64) {
        *bits = (uint64_t)c->v.i64[i];
        return true;
    }
    double x = c->type == CR_COL_F32   ? (double)c->v.f32[i]
               : c->type == CR_COL_F64 ? c->v.f64[i]
                                       : (double)c->v.i32[i];
    x = x == 0 ? 0 : x; /* -0 counts as 0 */
    memcpy(bits, &x, sizeof x);
    return !isnan(x);
}

/* `safe` is a place before which 8 bytes can be read at every text. */
static inline void count_value(tally *t, const cr_column *c, int64_t i, const char *safe) {
    size_t n;
    uint64_t bits;
    if (c->type == CR_COL_STR) {
        const char *p = cr_text_at(c, i, &n);
        if (n > 8)
            count_text(t, p, n, cr_hash_murmur(p, n), 1);
        else
            meet(t, p < safe ? cr_word_at(p, n) : cr_word_of(p, n), (unsigned)n);
    } else if (bits_at(c, i, &bits)) {
        meet(t, bits, c->type == CR_COL_I64 ? INT_BITS : F64_BITS);
    } else {
        t->missing++;
    }
}

/* Texts lie in one block of bytes, so in front of the last one's end all can be read. */
static const char *safe_end(const cr_column *c, int64_t n_values) {
    if (c->type != CR_COL_STR || c->code || n_values == 0) return NULL;
    uint32_t end = c->end[n_values - 1];
    return end >= 8 ? c->bytes + end - 7 : NULL;
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
        if (n[k]) {
            const char *p = c->bytes + c->beg[k];
            size_t len = c->end[k] - c->beg[k];
            count_text(t, p, len, cr_hash_murmur(p, len), n[k]);
        }
    cr_free(n);
    return true;
}

/* ---- columns of many values ---- */

#define BATCH 512

/* What came since the last flush. Sums of so few numbers fit 64 bits. */
typedef struct batch {
    int64_t sum[FRACTIONS], squares[FRACTIONS], min[FRACTIONS], max[FRACTIONS];
    int64_t whole;
    uint64_t hash[BATCH];
    int n;
} batch;

static void flush_batch(tally *t, batch *b) {
    t->values += b->n;
    t->numbers += b->n;
    t->whole += b->whole;
    cr_kmv_add_all(&t->hashes, b->hash, b->n);
    for (int f = 0; f < FRACTIONS; f++) {
        join_decimals(&t->decimals[f], &(decimals){b->sum[f], b->squares[f], b->min[f], b->max[f]});
        b->sum[f] = b->squares[f] = 0;
        b->min[f] = INT64_MAX;
        b->max[f] = INT64_MIN;
    }
    b->whole = 0;
    b->n = 0;
}

/* Counts texts, most of which are decimals, in a column of many values. */
static void count_decimals(tally *t, const cr_column *c, int64_t n_rows, const char *safe) {
    batch b = {.n = 0};
    flush_batch(t, &b);
    for (int64_t r = 0; r < n_rows; r++) {
        size_t n;
        if (c->valid && !c->valid[r]) {
            t->missing++;
            continue;
        }
        const char *p = cr_text_at(c, r, &n);
        cr_decimal d;
        if (n > 8) {
            count_text(t, p, n, cr_hash_murmur(p, n), 1);
            continue;
        }
        uint64_t w = p < safe ? cr_word_at(p, n) : cr_word_of(p, n);
        if (n == 0 || !cr_word_decimal(w, n, &d)) {
            count_word(t, w, n, 1);
            continue;
        }
        int64_t x = signed_digits(d), f = d.fraction;
        b.sum[f] += x;
        b.squares[f] += x * x;
        b.min[f] = x < b.min[f] ? x : b.min[f];
        b.max[f] = x > b.max[f] ? x : b.max[f];
        b.whole += is_whole(d);
        b.hash[b.n] = cr_hash_murmur_word(w, n);
        if (++b.n == BATCH) flush_batch(t, &b);
    }
    flush_batch(t, &b);
}

/* The same for numbers of a typed file. */
static void count_numbers(tally *t, const cr_column *c, int64_t n_rows) {
    uint64_t hash[BATCH], bits;
    int n = 0;
    for (int64_t r = 0; r < n_rows; r++) {
        if ((c->valid && !c->valid[r]) || !bits_at(c, r, &bits)) {
            t->missing++;
            continue;
        }
        known v = number_of(bits, c->type == CR_COL_I64);
        t->values++;
        if (isfinite(v.number)) add_number(t, v.number, 1);
        hash[n++] = v.hash;
        if (n == BATCH) {
            cr_kmv_add_all(&t->hashes, hash, n);
            n = 0;
        }
    }
    cr_kmv_add_all(&t->hashes, hash, n);
}

static void count_lists(tally *t, const cr_column *c, int64_t n_rows) {
    const char *safe = safe_end(c, c->depth == 1 ? c->row_off[n_rows] : 0);
    t->list = true;
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
            if (!c->item_valid || c->item_valid[i]) count_value(t, c, i, safe);
        t->missing = missing; /* only rows without a list are missing ones */
        t->marked = marked;
    }
}

void cr_sv_tally_column(tally *t, const cr_column *c, int64_t n_rows) {
    if (!t->recent) t->recent = CR_NEW_N(t->arena, recent, RECENT);
    t->rows += n_rows;
    if (c->depth > 0) {
        count_lists(t, c, n_rows);
    } else if (!count_codes(t, c, n_rows)) {
        const char *safe = safe_end(c, n_rows);
        if (t->direct) {
            if (c->type == CR_COL_STR)
                count_decimals(t, c, n_rows, safe);
            else
                count_numbers(t, c, n_rows);
            return;
        }
        for (int64_t r = 0; r < n_rows; r++) {
            if (c->valid && !c->valid[r])
                t->missing++;
            else
                count_value(t, c, r, safe);
        }
        t->direct |= t->many && 4 * t->missed > n_rows;
        t->missed = 0;
    }
}

void cr_sv_tally_end(tally *t) {
    int64_t missing = t->missing, marked = t->marked;
    for (int i = 0; t->recent && i < RECENT; i++)
        if (t->recent[i].n) count_recent(t, &t->recent[i]);
    for (int i = 0; !t->many && i < t->n_known; i++)
        add_known(t, &t->known[i]);
    if (t->list) {
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
    for (int f = 0; f < FRACTIONS; f++)
        join_decimals(&t->decimals[f], &o->decimals[f]);
    for (int i = 0; i < o->n_marks; i++)
        note_mark(t, o->marks[i], strlen(o->marks[i]));
    if (o->other && less(o->other, t->other)) t->other = cr_arena_strdup(t->arena, o->other);
    if (!t->many && (o->many || !join_known(t, o))) {
        open_hashes(t);
        hash_known(t, t);
        t->n_known = 0;
    }
    if (!t->many) return;
    if (o->many)
        cr_kmv_join(&t->hashes, &o->hashes);
    else
        hash_known(t, o);
}
