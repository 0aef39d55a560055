/*
 * checked.h - arithmetic on sizes that cannot wrap around.
 *
 * A result that does not fit becomes the largest value of its type. Every allocation refuses that
 * size, and every comparison with a limit fails, so a chain of calls needs one test at its end
 * instead of one test per call. Sizes and counts are never negative; a negative one counts as too
 * large.
 */
#ifndef CR_BASE_CHECKED_H
#define CR_BASE_CHECKED_H

#include <stddef.h>
#include <stdint.h>

static inline size_t cr_mul_size(size_t a, size_t b) {
    size_t x;
    return __builtin_mul_overflow(a, b, &x) ? SIZE_MAX : x;
}

/* cr_bytes returns the size of n elements of `each` bytes. */
static inline size_t cr_bytes(int64_t n, size_t each) {
    return n < 0 ? SIZE_MAX : cr_mul_size((size_t)n, each);
}

static inline int64_t cr_mul_i64(int64_t a, int64_t b) {
    int64_t x;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &x) ? INT64_MAX : x;
}

static inline int64_t cr_add_i64(int64_t a, int64_t b) {
    int64_t x;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &x) ? INT64_MAX : x;
}

/* cr_i64_from turns a number that a user wrote into a count. NaN and numbers that do not fit become
 * the largest count. */
static inline int64_t cr_i64_from(double x) {
    return x >= 0 && x < 0x1p63 ? (int64_t)x : INT64_MAX;
}

#endif
