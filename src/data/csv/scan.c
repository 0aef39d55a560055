/*
 * scan.c - finds separators, row ends and quotes.
 *
 * A classifier turns 64 bytes into three 64-bit masks with the widest registers there are, and
 * everything else walks the set bits. Stretches of 4 KiB without a quote (nearly all of nearly
 * every file) take a short loop; the others go through `step`, the one place that knows the rules
 * for quotes. A prefix-xor of the quote mask would be faster there, but it takes a quote inside an
 * unquoted field (5" disk) for the begin of a quoted one.
 */
#include "data/csv/csv_int.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f,avx512bw"))) static void classify_avx512(const char *text,
                                                                        size_t n_words, char delim,
                                                                        uint64_t *sep, uint64_t *nl,
                                                                        uint64_t *quote) {
    const __m512i d = _mm512_set1_epi8(delim), l = _mm512_set1_epi8('\n'),
                  q = _mm512_set1_epi8('"');
    for (size_t i = 0; i < n_words; i++) {
        __m512i v = _mm512_loadu_si512((const void *)(text + 64 * i));
        nl[i] = _mm512_cmpeq_epi8_mask(v, l);
        sep[i] = nl[i] | _mm512_cmpeq_epi8_mask(v, d);
        quote[i] = _mm512_cmpeq_epi8_mask(v, q);
    }
}

__attribute__((target("avx2"))) static inline uint64_t eq64(__m256i a, __m256i b, __m256i x) {
    uint32_t lo = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, x));
    uint32_t hi = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, x));
    return lo | (uint64_t)hi << 32;
}

__attribute__((target("avx2"))) static void classify_avx2(const char *text, size_t n_words,
                                                          char delim, uint64_t *sep, uint64_t *nl,
                                                          uint64_t *quote) {
    const __m256i d = _mm256_set1_epi8(delim), l = _mm256_set1_epi8('\n'),
                  q = _mm256_set1_epi8('"');
    for (size_t i = 0; i < n_words; i++) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(text + 64 * i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(text + 64 * i + 32));
        nl[i] = eq64(a, b, l);
        sep[i] = nl[i] | eq64(a, b, d);
        quote[i] = eq64(a, b, q);
    }
}
#endif

/* Sets bit 7 of each byte of the result where that byte of v equals that of x. It is exact: a byte
 * never affects its neighbour. */
static inline uint64_t eq_bytes(uint64_t v, uint64_t x) {
    const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
    uint64_t t = v ^ x;
    return ~(((t & low) + low) | t | low);
}

static inline uint64_t gather_bits(uint64_t m) {
    return ((m >> 7) * 0x0102040810204080u) >> 56;
}

static void classify_c(const char *text, size_t n_words, char delim, uint64_t *sep, uint64_t *nl,
                       uint64_t *quote) {
    const uint64_t ones = 0x0101010101010101u;
    const uint64_t d = ones * (unsigned char)delim, l = ones * '\n', q = ones * '"';
    for (size_t i = 0; i < n_words; i++) {
        uint64_t ms = 0, ml = 0, mq = 0;
        for (unsigned j = 0; j < 8; j++) {
            uint64_t v;
            memcpy(&v, text + 64 * i + 8 * j, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            v = __builtin_bswap64(v);
#endif
            uint64_t el = eq_bytes(v, l);
            ml |= gather_bits(el) << (8 * j);
            ms |= gather_bits(el | eq_bytes(v, d)) << (8 * j);
            mq |= gather_bits(eq_bytes(v, q)) << (8 * j);
        }
        nl[i] = ml;
        sep[i] = ms;
        quote[i] = mq;
    }
}

cr_csv_classify cr_csv_classify_best(void) {
    static const cr_csv_classify of[CR_CPU_LEVELS] = {
        [CR_CPU_C] = classify_c,
#if defined(__x86_64__)
        [CR_CPU_AVX2] = classify_avx2,
        [CR_CPU_AVX512] = classify_avx512,
#endif
    };
    cr_cpu_level level = cr_cpu_level_max();
    return CR_CPU_PICK(of, level);
}

/* ---- the rules ---- */

typedef struct walk {
    const cr_csv_form *f;
    const char *text;
    size_t n;
    size_t field; /* where the field begins; SIZE_MAX: before this text */
    size_t skip;  /* marks before this place belong to what came before them */
    bool in_quote;
    int64_t lines, faults;
} walk;

enum { NOTHING, FIELD_END, ROW_END };

static bool is_delim(const walk *w, size_t pos) {
    return w->n - pos >= w->f->n_delim && memcmp(w->text + pos, w->f->delim, w->f->n_delim) == 0;
}

/* step looks at one marked byte. */
static inline int step(walk *w, size_t pos) {
    char c = w->text[pos];
    if (c == '\n') {
        w->lines++;
        if (w->in_quote) return NOTHING;
        w->field = pos + 1;
        return ROW_END;
    }
    if (pos < w->skip) return NOTHING;
    if (c != '"') {
        if (w->in_quote || (w->f->n_delim > 1 && !is_delim(w, pos))) return NOTHING;
        w->field = w->skip = pos + w->f->n_delim;
        return FIELD_END;
    }
    if (!w->in_quote) {
        if (pos == w->field)
            w->in_quote = true;
        else
            w->faults++;
        return NOTHING;
    }
    if (pos + 1 < w->n && w->text[pos + 1] == '"') {
        w->skip = pos + 2;
        return NOTHING;
    }
    w->in_quote = false;
    if (pos + 1 < w->n) {
        char after = w->text[pos + 1];
        if (after != '\n' && after != '\r' && !is_delim(w, pos + 1)) w->faults++;
    }
    return NOTHING;
}

/* Finds the marks of up to 4 KiB at base and clears those behind the text. Returns the number of
 * words. */
#define SEG_WORDS 64
typedef struct seg {
    uint64_t sep[SEG_WORDS], nl[SEG_WORDS], quote[SEG_WORDS], any_quote;
} seg;

static size_t load(const cr_csv_form *f, const char *text, size_t n, size_t base, seg *g) {
    size_t left = n - base;
    size_t words = left >= 64 * SEG_WORDS ? SEG_WORDS : (left + 63) / 64;
    f->classify(text + base, words, f->delim[0], g->sep, g->nl, g->quote);
    if (left < 64 * words) {
        uint64_t keep = (UINT64_C(1) << (left % 64)) - 1;
        g->sep[words - 1] &= keep;
        g->nl[words - 1] &= keep;
        g->quote[words - 1] &= keep;
    }
    g->any_quote = 0;
    for (size_t i = 0; i < words; i++)
        g->any_quote |= g->quote[i];
    return words;
}

/* ---- all separators of a block ---- */

static uint32_t *grown(cr_arena *a, const uint32_t *old, size_t n, size_t cap) {
    uint32_t *v = cr_arena_alloc(a, cap * sizeof(*v));
    if (n) memcpy(v, old, n * sizeof(*v));
    return v;
}

static void make_room(cr_arena *a, cr_csv_marks *m) {
    if (m->cap_sep - m->n_sep < 64 * SEG_WORDS) {
        m->cap_sep = 2 * m->cap_sep + 64 * SEG_WORDS;
        m->sep = grown(a, m->sep, m->n_sep, m->cap_sep);
    }
    if (m->cap_rows - m->n_rows < 64 * SEG_WORDS) {
        m->cap_rows = 2 * m->cap_rows + 64 * SEG_WORDS;
        m->row_end = grown(a, m->row_end, m->n_rows, m->cap_rows);
        m->row_line = grown(a, m->row_line, m->n_rows, m->cap_rows);
    }
}

void cr_csv_index(const cr_csv_form *f, const char *text, size_t n, cr_arena *a, cr_csv_marks *m) {
    *m = (cr_csv_marks){0};
    m->cap_sep = n / 6;
    m->cap_rows = n / 64;
    if (m->cap_sep) m->sep = grown(a, NULL, 0, m->cap_sep);
    if (m->cap_rows) {
        m->row_end = grown(a, NULL, 0, m->cap_rows);
        m->row_line = grown(a, NULL, 0, m->cap_rows);
    }
    walk w = {f, text, n, 0, 0, false, 0, 0};
    seg g;
    for (size_t base = 0; base < n; base += 64 * SEG_WORDS) {
        size_t words = load(f, text, n, base, &g);
        make_room(a, m);
        uint32_t *sep = m->sep, *row_end = m->row_end, *row_line = m->row_line;
        size_t n_sep = m->n_sep, n_rows = m->n_rows;
        if (f->n_delim == 1 && !g.any_quote && !w.in_quote) {
            for (size_t i = 0; i < words; i++) {
                uint64_t s = g.sep[i];
                for (uint64_t l = g.nl[i]; l; l &= l - 1) {
                    row_end[n_rows] =
                        (uint32_t)(n_sep + (size_t)__builtin_popcountll(s & ((l & -l) - 1)));
                    row_line[n_rows++] = (uint32_t)++w.lines;
                }
                uint32_t at = (uint32_t)(base + 64 * i);
                for (; s; s &= s - 1)
                    sep[n_sep++] = at + (uint32_t)__builtin_ctzll(s);
            }
            if (n_sep) w.field = sep[n_sep - 1] + 1;
        } else {
            m->quotes |= g.any_quote != 0;
            for (size_t i = 0; i < words; i++) {
                for (uint64_t b = g.sep[i] | g.quote[i]; b; b &= b - 1) {
                    size_t pos = base + 64 * i + (size_t)__builtin_ctzll(b);
                    int what = step(&w, pos);
                    if (what == NOTHING) continue;
                    if (what == ROW_END) {
                        row_end[n_rows] = (uint32_t)n_sep;
                        row_line[n_rows++] = (uint32_t)w.lines;
                    }
                    sep[n_sep++] = (uint32_t)pos;
                }
            }
        }
        m->n_sep = n_sep;
        m->n_rows = n_rows;
    }
    m->open_quote = w.in_quote;
}

size_t cr_csv_row_end(const cr_csv_form *f, const char *text, size_t n, size_t target,
                      size_t *last) {
    *last = 0;
    if (f->no_quotes || !memchr(text, '"', n)) {
        size_t from = target > 0 ? target - 1 : 0;
        const char *p = from < n ? memchr(text + from, '\n', n - from) : NULL;
        if (p) return (size_t)(p - text) + 1;
        p = n ? memrchr(text, '\n', n) : NULL;
        if (p) *last = (size_t)(p - text) + 1;
        return SIZE_MAX;
    }
    walk w = {f, text, n, 0, 0, false, 0, 0};
    seg g;
    for (size_t base = 0; base < n; base += 64 * SEG_WORDS) {
        size_t words = load(f, text, n, base, &g);
        for (size_t i = 0; i < words; i++) {
            for (uint64_t b = g.sep[i] | g.quote[i]; b; b &= b - 1) {
                size_t pos = base + 64 * i + (size_t)__builtin_ctzll(b);
                if (step(&w, pos) != ROW_END) continue;
                if (pos + 1 >= target) return pos + 1;
                *last = pos + 1;
            }
        }
    }
    return SIZE_MAX;
}

cr_csv_guess cr_csv_try(const cr_csv_form *f, const char *text, size_t from, size_t n,
                        size_t target, bool at_eof, bool in_quote, int n_cols) {
    cr_csv_guess r = {SIZE_MAX, 0, 0};
    walk w = {f, text, n, SIZE_MAX, from, in_quote, 0, 0};
    /* Is text[from] the first byte of a field? */
    size_t d = f->n_delim;
    if (from > 0 && text[from - 1] == '\n') w.field = from;
    if (from >= d && memcmp(text + from - d, f->delim, d) == 0) w.field = from;
    int64_t fields = 0;
    size_t row = SIZE_MAX; /* where the row begins */
    seg g;
    for (size_t base = from; base < n; base += 64 * SEG_WORDS) {
        size_t words = load(f, text, n, base, &g);
        for (size_t i = 0; i < words; i++) {
            for (uint64_t b = g.sep[i] | g.quote[i]; b; b &= b - 1) {
                size_t pos = base + 64 * i + (size_t)__builtin_ctzll(b);
                int what = step(&w, pos);
                if (what == NOTHING) continue;
                fields++;
                if (what != ROW_END) continue;
                bool empty = pos == row || (pos == row + 1 && text[row] == '\r');
                if (row != SIZE_MAX && !empty) {
                    r.rows++;
                    if (fields != n_cols) w.faults++;
                }
                if (r.start == SIZE_MAX && pos + 1 >= target) r.start = pos + 1;
                row = pos + 1;
                fields = 0;
            }
        }
    }
    if (at_eof && w.in_quote) w.faults++;
    r.faults = w.faults;
    return r;
}
