/*
 * odd_int.h - a sum in double, rounded to odd: inexact results get an odd last bit, so that
 * rounding once more to float is right in every case (Boldo and Melquiond). With an exact product
 * as one term this is a fused multiply-add for CPUs that have no such instruction. The compiler
 * must not contract it.
 */
#ifndef CR_KERN_ODD_INT_H
#define CR_KERN_ODD_INT_H

#include "kern/kern_int.h"

CR_INLINE double sum_to_odd(double p, double d) {
    double s = p + d;
    double t = s - p;
    double e = (p - (s - t)) + (d - t); /* s + e is p + d exactly; NaN when s is not finite */
    uint64_t us, ue;
    memcpy(&us, &s, 8);
    memcpy(&ue, &e, 8);
    /* an inexact result with an even last bit: step by one towards the true value */
    uint64_t step = e > 0 || e < 0 ? ~us & 1 : 0;
    uint64_t away = (us ^ ue) >> 63; /* the error points towards zero */
    us += step - 2 * (step & away);
    memcpy(&s, &us, 8);
    return s;
}

#endif
