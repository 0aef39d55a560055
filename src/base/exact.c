/*
 * exact.c - carries, joining and rounding of exact sums (exact.h).
 *
 * What a reader may get wrong: digits may be negative between two settlings, and afterwards only
 * the highest one may be, which then carries the sign of the whole sum.
 */
#include "base/exact.h"

#include <math.h>

__extension__ typedef unsigned __int128 wide;

void cr_exact_reset(cr_exact *s) {
    memset(s, 0, sizeof *s);
}

void cr_exact_settle(cr_exact *s) {
    int64_t carry = 0;
    for (int i = 0; i < CR_EXACT_DIGITS - 1; i++) {
        int64_t x = s->digit[i] + carry;
        carry = x >> 32; /* rounds down, also below zero */
        s->digit[i] = x & 0xffffffff;
    }
    s->digit[CR_EXACT_DIGITS - 1] += carry;
    s->n_adds = 0;
}

void cr_exact_add_odd(cr_exact *s, double x) {
    s->odd += x;
}

void cr_exact_join(cr_exact *s, const cr_exact *other) {
    cr_exact o = *other;
    cr_exact_settle(&o);
    cr_exact_settle(s);
    for (int i = 0; i < CR_EXACT_DIGITS; i++)
        s->digit[i] += o.digit[i];
    cr_exact_settle(s);
    s->odd += o.odd;
}

double cr_exact_value(const cr_exact *sum) {
    if (sum->odd != 0) return sum->odd; /* NaN too: it differs from 0 */
    cr_exact s = *sum;
    cr_exact_settle(&s);
    bool minus = s.digit[CR_EXACT_DIGITS - 1] < 0;
    if (minus) {
        for (int i = 0; i < CR_EXACT_DIGITS; i++)
            s.digit[i] = -s.digit[i];
        cr_exact_settle(&s);
    }
    int top = CR_EXACT_DIGITS - 1;
    while (top >= 0 && s.digit[top] == 0)
        top--;
    if (top < 0) return 0;
    /* three digits hold more than the 53 bits of a double; of the lower digits only matters whether
     * one is not zero */
    wide lead = 0;
    bool rest = false;
    for (int i = top; i > top - 3; i--)
        lead = lead << 32 | (i >= 0 ? (uint64_t)s.digit[i] : 0);
    for (int i = top - 3; i >= 0 && !rest; i--)
        rest = s.digit[i] != 0;
    int unit = 32 * (top - 2) - 1075, extra = 0;
    while (lead >> extra >= (wide)1 << 53)
        extra++;
    /* round to the nearest, ties to even; a sum below 2^-1022 has only zeros in `cut` and stays as
     * it is */
    wide cut = lead & (((wide)1 << extra) - 1), half = (wide)1 << (extra - 1);
    lead >>= extra;
    unit += extra;
    if (cut > half || (cut == half && (rest || (lead & 1)))) lead++;
    double v = ldexp((double)lead, unit);
    return minus ? -v : v;
}

void cr_exact_get(const cr_exact *sum, double *out) {
    cr_exact s = *sum;
    cr_exact_settle(&s);
    for (int i = 0; i < CR_EXACT_DIGITS; i++)
        out[i] = (double)s.digit[i];
    out[CR_EXACT_DIGITS] = s.odd;
}

void cr_exact_set(cr_exact *s, const double *in) {
    cr_exact_reset(s);
    for (int i = 0; i < CR_EXACT_DIGITS; i++)
        s->digit[i] = (int64_t)in[i];
    s->odd = in[CR_EXACT_DIGITS];
}
