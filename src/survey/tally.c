/*
 * tally.c - counts of one column: of the blocks of one part, and all parts joined.
 *
 * Most columns have few different values, so a value is first only counted, and looked at once per
 * so many: whether it is a number, its size, its hash. There are two stages. A short value meets
 * those that came a while ago (recent): where it is one of them, that is all. What it replaces
 * there goes on with its count to the known values, which are looked at when all blocks have been.
 * A column with more than KNOWN values is looked at as they leave the first stage, and its
 * different values are counted by hashes. All ways give the same counts. A sum is exact, so neither
 * the order of blocks nor their division matters to it.
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

void cr_sv_tally_init(tally *t, cr_arena *a) {
    *t = (tally){.min = INFINITY, .max = -INFINITY, .arena = a};
}

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

/* Adds a whole number times 2^bits. */
static void add_whole(cr_exact *to, uint64_t x, int bits, bool minus) {
    for (int i = 0; i < 64; i += 32) {
        double part = ldexp((double)(x >> i & UINT32_MAX), bits + i);
        cr_exact_add(to, minus ? -part : part);
    }
}

static void settle_ints(tally *t) {
    uint64_t size = t->int_sum < 0 ? -(uint64_t)t->int_sum : (uint64_t)t->int_sum;
    add_whole(&t->sum, size, 0, t->int_sum < 0);
    add_whole(&t->squares, t->int_squares[0], 0, false);
    add_whole(&t->squares, t->int_squares[1], 64, false);
    t->int_sum = 0;
    t->int_squares[0] = t->int_squares[1] = 0;
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
        note_mark(t, p, len);
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

#define EXACT_SQUARE 94906265 /* smaller whole numbers have squares below 2^53 */

/* Adds a number of few digits. The sums of whole ones wait as integers, which are exact too. */
static inline void add_decimal(tally *t, cr_decimal d, int64_t n) {
    double x = cr_decimal_value(d);
    if (d.fraction || d.digits >= EXACT_SQUARE || n > UINT32_MAX) {
        add_number(t, x, n);
        return;
    }
    t->numbers += n;
    t->whole += n;
    t->min = x < t->min ? x : t->min;
    t->max = x > t->max ? x : t->max;
    t->int_sum += (1 - 2 * (int64_t)d.minus) * n * (int64_t)d.digits;
    cr_u128 sq = (cr_u128)((uint64_t)d.digits * d.digits) * (uint64_t)n + t->int_squares[0];
    t->int_squares[0] = (uint64_t)sq;
    t->int_squares[1] += (uint64_t)(sq >> 64);
    if (t->int_sum > INT64_MAX / 2 || t->int_sum < INT64_MIN / 2) settle_ints(t);
}

/* The same for a word. Most are numbers, and those are not looked at byte by byte. */
static inline void count_word(tally *t, uint64_t w, size_t len, int64_t n) {
    uint64_t hash = cr_hash_murmur_word(w, len);
    cr_decimal d;
    if (t->many && len > 0 && cr_word_decimal(w, len, &d)) {
        t->values += n;
        cr_kmv_add(&t->hashes, hash);
        add_decimal(t, d, n);
        return;
    }
    char text[8];
    for (size_t i = 0; i < len; i++)
        text[i] = (char)(w >> (8 * i));
    count_text(t, text, len, hash, n);
}

static void count_bits(tally *t, uint64_t bits, bool whole, int64_t n) {
    known v = {.hash = cr_mix64(bits + CR_RNG_STEP), .n = n};
    memcpy(&v.number, &bits, sizeof v.number);
    if (whole) v.number = (double)(int64_t)bits;
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
        else if (t->direct)
            count_word(t, p < safe ? cr_word_at(p, n) : cr_word_of(p, n), n, 1);
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
        for (int64_t r = 0; r < n_rows; r++) {
            if (c->valid && !c->valid[r])
                t->missing++;
            else
                count_value(t, c, r, safe);
        }
        t->direct |= t->many && 2 * t->missed > n_rows;
        t->missed = 0;
    }
}

void cr_sv_tally_end(tally *t) {
    int64_t missing = t->missing, marked = t->marked;
    for (int i = 0; t->recent && i < RECENT; i++)
        if (t->recent[i].n) count_recent(t, &t->recent[i]);
    settle_ints(t);
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
