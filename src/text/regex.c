/*
 * regex.c - regular expressions, by calls of PCRE2.
 *
 * TorchEasyRec's feature generator uses RE2. A pattern that both accept means the same: leftmost
 * match, earlier alternatives first, `.` without newline, `$` at the very end. PCRE2 also takes
 * look-around and back-references, which RE2 refuses; and it backtracks, so a match has a limit of
 * steps where RE2 would be linear.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/regex.h"

#include <stdlib.h>
#include <pcre2.h>
#include <stdint.h>

#include "base/mem.h"

#define FEW_STEPS   2000    /* steps of a search; most searches take fewer */
#define MATCH_LIMIT 1000000 /* steps of the second try, when a search took more: about 10 ms */
/* compiled code has a stack of 32 KiB, which a group repeated 1000 times would fill; this larger
 * one takes memory from the system only as it is used */
#define MOST_STACK ((size_t)8 << 20)

struct cr_regex {
    pcre2_code *code;
};
struct cr_regex_run {
    pcre2_match_data *data;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack; /* NULL: there is no JIT */
    cr_work *work;
};

cr_code cr_regex_new(cr_regex **out, const char *pattern, unsigned flags, cr_err *err) {
    int error;
    PCRE2_SIZE at;
    uint32_t o = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY;
    if (flags & CR_REGEX_ICASE) o |= PCRE2_CASELESS;
    if (flags & CR_REGEX_UNICODE) o |= PCRE2_UCP;
    if (flags & CR_REGEX_WHOLE) o |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
    *out = NULL;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, o, &error, &at, NULL);
    if (!code) {
        PCRE2_UCHAR why[160];
        pcre2_get_error_message(error, why, sizeof(why));
        return cr_fail(err, CR_ECONF, "regular expression, character %zu: %s", (size_t)at + 1,
                       (const char *)why);
    }
    /* Compiled patterns read whole words around the text, which valgrind takes for a mistake. */
    if (!getenv("CRANK_TEST_NO_JIT"))
        (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* without it searches are slower */
    *out = cr_alloc(sizeof(**out), "a regular expression");
    (*out)->code = code;
    return CR_OK;
}

void cr_regex_free(cr_regex *r) {
    if (!r) return;
    pcre2_code_free(r->code);
    cr_free(r);
}

cr_regex_run *cr_regex_run_new(cr_work *work) {
    cr_regex_run *x = cr_alloc(sizeof(*x), "a regular expression");
    x->data = pcre2_match_data_create(CR_REGEX_GROUPS, NULL);
    x->limits = pcre2_match_context_create(NULL);
    if (!x->data || !x->limits) cr_no_memory(0, "a search");
    x->work = work;
    x->stack = pcre2_jit_stack_create((size_t)32 << 10, MOST_STACK, NULL);
    if (x->stack) pcre2_jit_stack_assign(x->limits, NULL, x->stack);
    return x;
}

void cr_regex_run_free(cr_regex_run *x) {
    if (!x) return;
    pcre2_match_data_free(x->data);
    pcre2_match_context_free(x->limits);
    pcre2_jit_stack_free(x->stack);
    cr_free(x);
}

int cr_regex_find(const cr_regex *r, cr_regex_run *x, const char *text, size_t n, size_t from,
                  bool not_empty, cr_regex_match *m) {
    const uint32_t o = not_empty ? PCRE2_NOTEMPTY_ATSTART : 0;
    if (!cr_work_spend(x->work, CR_WORK_SEARCH)) return -1;
    pcre2_set_match_limit(x->limits, FEW_STEPS);
    int rc = pcre2_match(r->code, (PCRE2_SPTR)text, n, from, o, x->data, x->limits);
    if (rc == PCRE2_ERROR_MATCHLIMIT) {
        if (!cr_work_spend(x->work, CR_WORK_DEEP)) return -1;
        pcre2_set_match_limit(x->limits, MATCH_LIMIT);
        rc = pcre2_match(r->code, (PCRE2_SPTR)text, n, from, o, x->data, x->limits);
    }
    if (rc == PCRE2_ERROR_NOMATCH) return 0;
    if (rc == PCRE2_ERROR_NOMEMORY) cr_no_memory(0, "a search");
    if (rc < 0) return -1;
    if (rc == 0) rc = CR_REGEX_GROUPS; /* the pattern has more groups than we look at */
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(x->data);
    for (int i = 0; i < CR_REGEX_GROUPS; i++) {
        bool used = i < rc && v[2 * i] != PCRE2_UNSET;
        m->beg[i] = used ? v[2 * i] : 0;
        m->end[i] = used ? v[2 * i + 1] : 0;
    }
    /* \K in a look-behind may end a match before it began */
    if (m->end[0] < m->beg[0]) m->end[0] = m->beg[0];
    return 1;
}
