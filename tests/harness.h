/*
 * harness.h - the whole test framework: TEST(name) { CHECK(...); } and TEST_MAIN(list...).
 * A failed check prints file:line and both sides, marks the test as failed and goes on; the program
 * returns 1 when anything failed or nothing ran.
 */
#ifndef CR_TESTS_HARNESS_H
#define CR_TESTS_HARNESS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_diff.h"

static int t_failed_checks, t_skipped;
static const char *t_name;

static inline void t_other_text(FILE *to, const char *found, const char *expected) {
    if (found && (strchr(found, '\n') || strchr(expected, '\n')))
        text_diff(to, expected, found);
    else
        fprintf(to, "  %s\nexpected\n  %s\n", found ? found : "(null)", expected);
}

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            t_failed_checks++;                                                                     \
            fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, t_name, #x);            \
        }                                                                                          \
    } while (0)
#define CHECK_INT(a, b)                                                                            \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (a_ != b_) {                                                                            \
            t_failed_checks++;                                                                     \
            fprintf(stderr, "%s:%d: %s: %s is %lld, expected %lld\n", __FILE__, __LINE__, t_name,  \
                    #a, a_, b_);                                                                   \
        }                                                                                          \
    } while (0)
/* texts of several lines are shown as a diff */
#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *a_ = (a), *b_ = (b);                                                           \
        if (!a_ || strcmp(a_, b_) != 0) {                                                          \
            t_failed_checks++;                                                                     \
            fprintf(stderr, "%s:%d: %s: %s is\n", __FILE__, __LINE__, t_name, #a);                 \
            t_other_text(stderr, a_, b_);                                                          \
        }                                                                                          \
    } while (0)
/* |a - b| <= abs + rel * |b|; NaN never passes */
#define CHECK_NEAR(a, b, abs_tol, rel_tol)                                                         \
    do {                                                                                           \
        double a_ = (double)(a), b_ = (double)(b);                                                 \
        if (!(fabs(a_ - b_) <= (abs_tol) + (rel_tol)*fabs(b_))) {                                  \
            t_failed_checks++;                                                                     \
            fprintf(stderr, "%s:%d: %s: %s is %.9g, expected %.9g\n", __FILE__, __LINE__, t_name,  \
                    #a, a_, b_);                                                                   \
        }                                                                                          \
    } while (0)

typedef struct t_case {
    const char *name;
    void (*fn)(void);
} t_case;
#define TEST(name) static void name(void)
/* a test that cannot run here says why; it counts as skipped, never as passed */
#define SKIP(why)                                                                                  \
    do {                                                                                           \
        t_skipped++;                                                                               \
        fprintf(stderr, "skipped: %s: %s\n", t_name, why);                                         \
        return;                                                                                    \
    } while (0)

static inline int t_run(const t_case *cases, size_t n, int argc, char **argv) {
    int passed = 0, failed = 0, skipped = 0;
    for (size_t i = 0; i < n; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0) continue;
        t_name = cases[i].name;
        t_failed_checks = t_skipped = 0;
        cases[i].fn();
        if (t_failed_checks)
            failed++;
        else if (t_skipped)
            skipped++;
        else
            passed++;
    }
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed || passed + skipped == 0 ? 1 : 0;
}
#define CASE(f)                                                                                    \
    { #f, f }
#define TEST_MAIN(...)                                                                             \
    int main(int argc, char **argv) {                                                              \
        static const t_case cases[] = {__VA_ARGS__};                                               \
        return t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);                         \
    }

#endif
