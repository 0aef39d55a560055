/*
 * exact.h - sums of doubles without rounding, so that neither the order of the summands nor their
 * division among threads, batches or processes changes a bit of the result.
 *
 * A sum is a whole number in units of 2^-1075, kept in base 2^32: every finite double is such a
 * number. Each digit has room for more than 32 bits, so an addition touches two digits and carries
 * are settled once in a while (Neal, "Fast exact summation using small and large
 * superaccumulators", 2015). The value is rounded once, at the end, to the nearest double.
 */
#ifndef CR_BASE_EXACT_H
#define CR_BASE_EXACT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CR_EXACT_DIGITS 68
/* cr_exact_get writes so many numbers: the digits, and the sum of the summands that are not
 * finite. */
#define CR_EXACT_STATE (CR_EXACT_DIGITS + 1)

typedef struct cr_exact {
    int64_t digit[CR_EXACT_DIGITS]; /* sum = digit[i] * 2^(32 i - 1075) */
    int n_adds;                     /* additions since carries were settled */
    double odd; /* sum of the infinities and NaNs, as doubles add them; else 0 */
} cr_exact;

/* cr_exact_reset empties a sum; a zeroed cr_exact is an empty sum too. */
void cr_exact_reset(cr_exact *s);
/* cr_exact_settle carries, so that all digits but the highest are in [0, 2^32). The additions call
 * it when it is needed. */
void cr_exact_settle(cr_exact *s);
/* cr_exact_add_odd takes infinities and NaNs; cr_exact_add calls it. */
void cr_exact_add_odd(cr_exact *s, double x);

static inline void cr_exact_add(cr_exact *s, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t mantissa = bits & 0xfffffffffffffU;
    unsigned e = (unsigned)(bits >> 52) & 0x7ff;
    if (e == 0x7ff) {
        cr_exact_add_odd(s, x);
        return;
    }
    if (e == 0)
        e = 1; /* the number is too small to have a leading one */
    else
        mantissa |= (uint64_t)1 << 52;
    unsigned at = e >> 5, shift = e & 31;
    int64_t low = (int64_t)((mantissa << shift) & 0xffffffffU),
            high = (int64_t)(mantissa >> (32 - shift));
    int64_t minus = -(int64_t)(bits >> 63); /* no branch: signs cannot be predicted */
    s->digit[at] += (low ^ minus) - minus;
    s->digit[at + 1] += (high ^ minus) - minus;
    if (++s->n_adds == 1 << 9) cr_exact_settle(s);
}
/* cr_exact_join adds another sum. */
void cr_exact_join(cr_exact *s, const cr_exact *other);
/* cr_exact_value returns the double nearest to the sum; NaN or an infinity when such a number was
 * added. */
double cr_exact_value(const cr_exact *s);
/* cr_exact_get writes the sum as CR_EXACT_STATE doubles, and cr_exact_set reads them; both are
 * exact. */
void cr_exact_get(const cr_exact *s, double *out);
void cr_exact_set(cr_exact *s, const double *in);

#endif
