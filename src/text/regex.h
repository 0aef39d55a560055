/*
 * regex.h - regular expressions over UTF-8; regex.c alone knows PCRE2.
 */
#ifndef CR_TEXT_REGEX_H
#define CR_TEXT_REGEX_H

#include <stdbool.h>

#include "base/buf.h"
#include "text/limits.h"

#define CR_REGEX_GROUPS 10 /* the whole match and groups 1 to 9 */

typedef struct cr_regex cr_regex;
typedef struct cr_regex_run cr_regex_run; /* work memory of one thread */
typedef struct cr_regex_match {
    size_t beg[CR_REGEX_GROUPS], end[CR_REGEX_GROUPS]; /* equal: the group is empty or unused */
} cr_regex_match;

enum {
    CR_REGEX_ICASE = 1,
    CR_REGEX_UNICODE = 2, /* \w, \s and \d follow Unicode, not only ASCII */
    CR_REGEX_WHOLE = 4,   /* the whole text must match, as with Python's re.fullmatch */
};
/* cr_regex_new compiles a pattern; cause and place of a mistake go to err. */
CR_CHECKED cr_code cr_regex_new(cr_regex **out, const char *pattern, unsigned flags, cr_err *err);
void cr_regex_free(cr_regex *r);
/* cr_regex_run_new makes work memory for any expressions, used one after the other. The cost of
 * searches is taken from work, which the caller fills for each text. */
cr_regex_run *cr_regex_run_new(cr_work *work);
void cr_regex_run_free(cr_regex_run *x);
/* cr_regex_find looks for the first match at or after `from`. It returns 1 when found, 0 when there
 * is none, -1 when it takes too much work. With not_empty, empty matches at `from` do not count.
 * Bytes that are no UTF-8 never match. */
int cr_regex_find(const cr_regex *r, cr_regex_run *x, const char *text, size_t n, size_t from,
                  bool not_empty, cr_regex_match *m);

#endif
