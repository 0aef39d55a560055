/*
 * stats.c - smallest and greatest value of a page or a chunk, in the order of the column's type.
 *
 * The format has these rules: NaN is ignored; a zero is written as -0 for the minimum and +0 for
 * the maximum, so that readers need not know which one occurred; long texts are cut, and the upper
 * bound is then increased by one. Only a prefix of byte strings is kept: the smallest prefix is
 * that of the smallest value, so it is enough to remember whether the prefix is the whole value.
 */
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "parquet/encode_int.h"

cr_pq_order cr_pq_order_of(const cr_pq_node *n) {
    cr_pq_kind k = n->logical.kind;
    if (k == CR_PQ_OTHER || k == CR_PQ_NULL || k == CR_PQ_INTERVAL) return CR_PQ_ORDER_NONE;
    switch (n->type) {
    case CR_PQ_BOOL: return CR_PQ_ORDER_UNSIGNED;
    case CR_PQ_I32:
    case CR_PQ_I64:
        return k == CR_PQ_INT && !n->logical.is_signed ? CR_PQ_ORDER_UNSIGNED : CR_PQ_ORDER_SIGNED;
    case CR_PQ_F32:
    case CR_PQ_F64: return CR_PQ_ORDER_FLOAT;
    case CR_PQ_FIXED:
        if (k == CR_PQ_FLOAT16) return n->type_length == 2 ? CR_PQ_ORDER_HALF : CR_PQ_ORDER_NONE;
        return k == CR_PQ_DECIMAL ? CR_PQ_ORDER_DECIMAL : CR_PQ_ORDER_BYTES;
    case CR_PQ_BYTES: return k == CR_PQ_DECIMAL ? CR_PQ_ORDER_DECIMAL : CR_PQ_ORDER_BYTES;
    default: return CR_PQ_ORDER_NONE;
    }
}

/* ---- comparing ---- */

static int64_t signed_value(const uint8_t *p, int size) {
    int64_t x;
    int32_t y;
    if (size == 8) {
        memcpy(&x, p, 8);
        return x;
    }
    memcpy(&y, p, 4);
    return y;
}

static uint64_t unsigned_value(const uint8_t *p, int size) {
    uint64_t x = 0;
    memcpy(&x, p, (size_t)size);
    return x;
}

static double float_value(const uint8_t *p, int size) {
    double x;
    float y;
    if (size == 2) return cr_pq_half(p);
    if (size == 8) {
        memcpy(&x, p, 8);
        return x;
    }
    memcpy(&y, p, 4);
    return (double)y;
}

static int compare_bytes(const uint8_t *a, int na, const uint8_t *b, int nb) {
    int n = na < nb ? na : nb;
    int c = n ? memcmp(a, b, (size_t)n) : 0;
    return c ? c : (na > nb) - (na < nb);
}

/* compare_decimals compares two's complement numbers, highest byte first; the shorter one is
 * extended by its sign. */
static int compare_decimals(const uint8_t *a, int na, const uint8_t *b, int nb) {
    int sa = na && a[0] >> 7, sb = nb && b[0] >> 7;
    if (sa != sb) return sb - sa;
    int n = na > nb ? na : nb;
    for (int i = 0; i < n; i++) {
        int x = i < n - na ? 255 * sa : a[i - (n - na)];
        int y = i < n - nb ? 255 * sb : b[i - (n - nb)];
        if (x != y) return x - y;
    }
    return 0;
}

int cr_pq_compare(cr_pq_order order, const uint8_t *a, int na, const uint8_t *b, int nb) {
#define SIGN(x, y) (((x) > (y)) - ((x) < (y)))
    switch (order) {
    case CR_PQ_ORDER_SIGNED: return SIGN(signed_value(a, na), signed_value(b, nb));
    case CR_PQ_ORDER_UNSIGNED: return SIGN(unsigned_value(a, na), unsigned_value(b, nb));
    case CR_PQ_ORDER_FLOAT:
    case CR_PQ_ORDER_HALF: return SIGN(float_value(a, na), float_value(b, nb));
    case CR_PQ_ORDER_BYTES: return compare_bytes(a, na, b, nb);
    case CR_PQ_ORDER_DECIMAL: return compare_decimals(a, na, b, nb);
    case CR_PQ_ORDER_NONE: break;
    }
    return 0;
}

int cr_pq_value_compare(const cr_pq_node *n, const uint8_t *a, int na, const uint8_t *b, int nb) {
    return cr_pq_compare(cr_pq_order_of(n), a, na, b, nb);
}

/* ---- collecting ---- */

/* kept_order returns no order for fixed-length values that are too long to keep: they may not be
 * cut. */
static cr_pq_order kept_order(const cr_pq_node *n) {
    bool too_long = n->type == CR_PQ_FIXED && n->type_length > CR_PQ_PREFIX;
    return too_long ? CR_PQ_ORDER_NONE : cr_pq_order_of(n);
}

/* first8 returns the first eight bytes as a number that has the order of the bytes. */
static uint64_t first8(const uint8_t *p, size_t n) {
    uint64_t x = 0;
    if (n >= 8)
        memcpy(&x, p, 8);
    else if (n)
        memcpy(&x, p, n);
    return __builtin_bswap64(x);
}

static void set_bound(cr_pq_bound *b, const uint8_t *p, int n, bool more) {
    if (n) memcpy(b->v, p, (size_t)n);
    b->n = n;
    b->more = more;
    b->first8 = first8(b->v, (size_t)n);
}

static void add_prefix(cr_pq_range *r, cr_pq_order order, const uint8_t *p, int n, bool lo_more,
                       bool hi_more) {
    if (!r->any) {
        r->any = true;
        set_bound(&r->lo, p, n, lo_more);
        set_bound(&r->hi, p, n, hi_more);
        return;
    }
    int c = cr_pq_compare(order, p, n, r->lo.v, r->lo.n);
    if (c < 0) set_bound(&r->lo, p, n, lo_more);
    if (c == 0) r->lo.more = r->lo.more && lo_more;
    c = cr_pq_compare(order, p, n, r->hi.v, r->hi.n);
    if (c > 0) set_bound(&r->hi, p, n, hi_more);
    if (c == 0) r->hi.more = r->hi.more || hi_more;
}

static void add_bytes(cr_pq_range *r, cr_pq_order order, const uint8_t *p, size_t n) {
    bool more = n > CR_PQ_PREFIX;
    if (order == CR_PQ_ORDER_BYTES && r->any) {
        uint64_t x = first8(p, n);
        if (x > r->lo.first8 && x < r->hi.first8) return;
    }
    if (order == CR_PQ_ORDER_DECIMAL && more) { /* a decimal cannot be cut */
        r->off = true;
        return;
    }
    add_prefix(r, order, p, more ? CR_PQ_PREFIX : (int)n, more, more);
}

/* min and max of an array; m says which values count, NULL: all */
#define SCAN(T, p, m)                                                                              \
    do {                                                                                           \
        const T *v_ = (const T *)(const void *)(p);                                                \
        size_t i_ = 0;                                                                             \
        while (i_ < n && (m) && !(m)[i_])                                                          \
            i_++;                                                                                  \
        if (i_ == n) return;                                                                       \
        T lo_ = v_[i_], hi_ = lo_;                                                                 \
        if (m)                                                                                     \
            for (; i_ < n; i_++) {                                                                 \
                if (!(m)[i_]) continue;                                                            \
                lo_ = v_[i_] < lo_ ? v_[i_] : lo_;                                                 \
                hi_ = v_[i_] > hi_ ? v_[i_] : hi_;                                                 \
            }                                                                                      \
        else                                                                                       \
            for (; i_ < n; i_++) {                                                                 \
                lo_ = v_[i_] < lo_ ? v_[i_] : lo_;                                                 \
                hi_ = v_[i_] > hi_ ? v_[i_] : hi_;                                                 \
            }                                                                                      \
        add_prefix(r, order, (const uint8_t *)&lo_, sizeof(T), false, false);                      \
        add_prefix(r, order, (const uint8_t *)&hi_, sizeof(T), false, false);                      \
    } while (0)

/* NaN compares false with every number, so it never replaces a bound */
#define SCAN_FLOAT(T, p, m)                                                                        \
    do {                                                                                           \
        const T *v_ = (const T *)(const void *)(p);                                                \
        T lo_ = (T)INFINITY, hi_ = (T)-INFINITY;                                                   \
        bool any_ = false;                                                                         \
        for (size_t i_ = 0; i_ < n; i_++) {                                                        \
            if ((m) && !(m)[i_]) continue;                                                         \
            lo_ = v_[i_] < lo_ ? v_[i_] : lo_;                                                     \
            hi_ = v_[i_] > hi_ ? v_[i_] : hi_;                                                     \
            any_ |= v_[i_] == v_[i_];                                                              \
        }                                                                                          \
        if (!any_) return;                                                                         \
        add_prefix(r, order, (const uint8_t *)&lo_, sizeof(T), false, false);                      \
        add_prefix(r, order, (const uint8_t *)&hi_, sizeof(T), false, false);                      \
    } while (0)

void cr_pq_range_add(cr_pq_range *r, const cr_pq_node *node, const uint8_t *p, size_t n,
                     const uint8_t *seen) {
    cr_pq_order order = kept_order(node);
    if (order == CR_PQ_ORDER_NONE || n == 0) return;
    bool is_unsigned = order == CR_PQ_ORDER_UNSIGNED;
    switch (node->type) {
    case CR_PQ_BOOL: SCAN(uint8_t, p, seen); break;
    case CR_PQ_I32:
        if (is_unsigned)
            SCAN(uint32_t, p, seen);
        else
            SCAN(int32_t, p, seen);
        break;
    case CR_PQ_I64:
        if (is_unsigned)
            SCAN(uint64_t, p, seen);
        else
            SCAN(int64_t, p, seen);
        break;
    case CR_PQ_F32: SCAN_FLOAT(float, p, seen); break;
    case CR_PQ_F64: SCAN_FLOAT(double, p, seen); break;
    case CR_PQ_FIXED: {
        size_t w = (size_t)node->type_length;
        for (size_t i = 0; i < n; i++, p += w) {
            if (seen && !seen[i]) continue;
            if (order == CR_PQ_ORDER_HALF && isnan(cr_pq_half(p))) continue;
            add_bytes(r, order, p, w);
        }
        break;
    }
    case CR_PQ_BYTES:
        for (size_t i = 0; i < n; i++) {
            uint32_t k;
            memcpy(&k, p, 4);
            if (!seen || seen[i]) add_bytes(r, order, p + 4, k);
            p += 4 + (size_t)k;
        }
        break;
    default: break;
    }
}

void cr_pq_range_merge(cr_pq_range *r, const cr_pq_range *from, const cr_pq_node *node) {
    cr_pq_order order = kept_order(node);
    r->off = r->off || from->off;
    if (!from->any) return;
    add_prefix(r, order, from->lo.v, from->lo.n, from->lo.more, from->lo.more);
    add_prefix(r, order, from->hi.v, from->hi.n, from->hi.more, from->hi.more);
}

/* ---- writing min and max ---- */

static bool is_text(const cr_pq_node *n) {
    cr_pq_kind k = n->logical.kind;
    return n->type == CR_PQ_BYTES && (k == CR_PQ_STRING || k == CR_PQ_ENUM || k == CR_PQ_JSON);
}

/* last_char returns the last character of a text and where it begins; -1: it is not UTF-8. */
static int32_t last_char(const uint8_t *p, int n, int *at) {
    int i = n - 1;
    while (i > 0 && n - i < 4 && (p[i] & 0xC0) == 0x80)
        i--;
    int len = n - i;
    uint8_t b = p[i];
    *at = i;
    if (len == 1 && b < 0x80) return b;
    if (len == 2 && (b & 0xE0) == 0xC0) return (b & 31) << 6 | (p[i + 1] & 63);
    if (len == 3 && (b & 0xF0) == 0xE0)
        return (b & 15) << 12 | (p[i + 1] & 63) << 6 | (p[i + 2] & 63);
    if (len == 4 && (b & 0xF8) == 0xF0)
        return (b & 7) << 18 | (p[i + 1] & 63) << 12 | (p[i + 2] & 63) << 6 | (p[i + 3] & 63);
    return -1;
}

/* whole_chars drops a character that is cut in two at the end. */
static int whole_chars(const uint8_t *p, int n) {
    int at;
    if (n == 0 || last_char(p, n, &at) >= 0) return n;
    return n - at <= 3 && p[at] >= 0xC0 ? at : n;
}

/* count_up replaces p by the smallest value of at most this length that is above all values
 * beginning with p (p has room for three more bytes). It returns the length, -1 when there is
 * none. */
static int count_up(uint8_t *p, int n, bool text) {
    while (n > 0) {
        int at = n - 1;
        int32_t c = text ? last_char(p, n, &at) : -1;
        if (c >= 0) {
            c = c == 0xD7FF ? 0xE000 : c + 1; /* no characters lie between these two */
            if (c <= 0x10FFFF) return at + (int)cr_utf8_put((char *)p + at, (uint32_t)c);
            n = at;
            continue;
        }
        if (p[n - 1] != 0xFF) {
            p[n - 1]++;
            return n;
        }
        n--;
    }
    return -1;
}

/* set_zero makes a zero -0 as the minimum and +0 as the maximum. */
static void set_zero(uint8_t *p, int n, cr_pq_order order, bool low) {
    if ((order != CR_PQ_ORDER_FLOAT && order != CR_PQ_ORDER_HALF) || float_value(p, n) != 0) return;
    memset(p, 0, (size_t)n);
    if (low) p[n - 1] = 0x80;
}

void cr_pq_range_stats(const cr_pq_range *r, const cr_pq_node *node, cr_arena *arena,
                       cr_pq_stats *out) {
    cr_pq_order order = kept_order(node);
    if (!r->any || r->off || order == CR_PQ_ORDER_NONE) return;
    bool text = is_text(node);
    uint8_t *p = cr_arena_alloc(arena, 2 * CR_PQ_PREFIX + 16), *q = p + CR_PQ_PREFIX + 8;
    int n = r->lo.n, k = r->hi.n;
    memcpy(p, r->lo.v, (size_t)n);
    memcpy(q, r->hi.v, (size_t)k);
    if (r->lo.more && text) n = whole_chars(p, n);
    set_zero(p, n, order, true);
    out->min = p;
    out->min_size = n;
    out->min_exact = !r->lo.more;
    if (r->hi.more) k = count_up(q, text ? whole_chars(q, k) : k, text);
    if (k < 0) return; /* there is no value above */
    set_zero(q, k, order, false);
    out->max = q;
    out->max_size = k;
    out->max_exact = !r->hi.more;
}
