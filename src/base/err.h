/*
 * err.h - how crank says that something is wrong.
 *
 * There are three kinds of errors. For a mistake of the user, or a failure of the files and
 * machines around crank, a function returns a cr_code and fills the caller's cr_err, or adds to a
 * cr_diag when many mistakes are reported at once. Our own mistakes abort (CR_ASSERT in debug
 * builds, CR_BUG always). For want of memory see mem.h. A message is one line: cause; cure.
 */
#ifndef CR_BASE_ERR_H
#define CR_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum cr_code {
    CR_OK = 0,
    CR_EUSAGE,  /* wrong command line: exit 2 */
    CR_ECONF,   /* wrong config: exit 2 */
    CR_EDATA,   /* bad data in an input file: exit 3 */
    CR_EIO,     /* a file could not be read or written: exit 1 */
    CR_ENOMEM,  /* a user-sized thing does not fit in memory: exit 1 */
    CR_ERUN,    /* failed while running (NaN loss, foreign checkpoint): exit 1 */
    CR_ESTOP,   /* stopped by a signal: exit 1 */
    CR_ECLOSED, /* the program that read our output has ended (| head): exit 1 without a message */
} cr_code;

/* A place in the user's text. path NULL: no place. line and col count from 1; 0: unknown. */
typedef struct cr_loc {
    const char *path;
    int line, col;
} cr_loc;

typedef struct cr_err {
    cr_code code;
    cr_loc at;
    const char *src; /* place in crank's source, shown with --debug */
    int src_line;
    /* For callers that decide by the cause: the message is for people, no code looks into it. */
    int why;    /* a value of the enum of the module that failed, as its header says; 0: none */
    int n_cure; /* the last bytes of msg that are the cure ("; check the path"); 0: not known */
    char msg[512];
    char path[256]; /* storage for at.path when cr_fail_at copied it */
} cr_err;

#define CR_CHECKED      __attribute__((warn_unused_result))
#define CR_INLINE       static inline __attribute__((always_inline))
#define CR_PRINTF(f, a) __attribute__((format(printf, f, a)))

#define CR_TRY(call)                                                                               \
    do {                                                                                           \
        cr_code e_ = (call);                                                                       \
        if (e_ != CR_OK) return e_;                                                                \
    } while (0)

#define CR_NOWHERE ((cr_loc){NULL, 0, 0})

/* cr_fail fills err (may be NULL) and returns code; cr_fail_at also copies the path of `at`. */
#define cr_fail(err, code, ...)                                                                    \
    cr_fail_at_((err), (code), CR_NOWHERE, __FILE__, __LINE__, __VA_ARGS__)
#define cr_fail_at(err, code, at, ...)                                                             \
    cr_fail_at_((err), (code), (at), __FILE__, __LINE__, __VA_ARGS__)
cr_code cr_fail_at_(cr_err *err, cr_code code, cr_loc at, const char *src, int src_line,
                    const char *fmt, ...) CR_PRINTF(6, 7);

/* cr_fail_why notes the cause in err (may be NULL) and returns code:
 *     return cr_fail_why(err, CR_PQ_BUDGET, cr_fail(err, CR_EDATA, "..."));  */
static inline cr_code cr_fail_why(cr_err *err, int why, cr_code code) {
    if (err) err->why = why;
    return code;
}
/* cr_err_copy copies an error (to may be NULL). An assignment would not do: at.path may point into
 * the error itself, and the copy would point into the original, which may be gone by then. */
void cr_err_copy(cr_err *to, const cr_err *from);
/* cr_err_cure notes that msg ends with this cure. */
void cr_err_cure(cr_err *err, const char *cure);

/* cr_err_text writes "path:line:col: message" (as much of the place as is known) into out. */
void cr_err_text(const cr_err *err, char *out, size_t size);
/* cr_errno_cure: what a user can do about an errno value, as "; cure"; "" when nothing is known. */
const char *cr_errno_cure(int e);
/* cr_exit_code maps a code to the exit code of the process, as listed above. */
int cr_exit_code(cr_code code);

/* A cr_diag is a list of findings: all errors of a file, not only the first. It owns its texts.
 * Initialise it with cr_diag_init. It is not thread safe. */
typedef enum cr_sev { CR_SEV_ERROR, CR_SEV_WARN, CR_SEV_NOTE } cr_sev;
typedef struct cr_finding {
    cr_sev sev;
    cr_code code;
    cr_loc at; /* path owned by the diag */
    char *msg;
    const char *src; /* place in crank's source, shown with --debug */
    int src_line;
} cr_finding;
typedef struct cr_diag {
    cr_finding *v;
    size_t n, cap;
    size_t n_errors; /* errors added; an error added twice counts twice and is listed once */
} cr_diag;
void cr_diag_init(cr_diag *d);
void cr_diag_clear(cr_diag *d);
/* cr_diag_add(d, sev, code, at, fmt, ...) appends one finding; an identical one (same place and
 * text) is kept once. */
#define cr_diag_add(...) cr_diag_add_(__FILE__, __LINE__, __VA_ARGS__)
void cr_diag_add_(const char *src, int src_line, cr_diag *d, cr_sev sev, cr_code code, cr_loc at,
                  const char *fmt, ...) CR_PRINTF(7, 8);
/* cr_diag_err adds err as one finding and returns its code. */
cr_code cr_diag_err(cr_diag *d, const cr_err *err);
/* cr_diag_append adds all findings of another list. */
void cr_diag_append(cr_diag *d, const cr_diag *from);
/* cr_diag_sort orders findings by path (first seen first), line, column. */
void cr_diag_sort(cr_diag *d);
/* cr_diag_code returns the code of the first error, CR_OK when there is none. */
cr_code cr_diag_code(const cr_diag *d);
/* cr_diag_first copies the first error into err and returns its code. */
cr_code cr_diag_first(const cr_diag *d, cr_err *err);

/* Our own mistakes. */
__attribute__((noreturn)) void cr_bug_(const char *file, int line, const char *what);
#define CR_BUG(what) cr_bug_(__FILE__, __LINE__, what)
#ifdef NDEBUG
#define CR_ASSERT(x) ((void)0)
#else
#define CR_ASSERT(x) ((x) ? (void)0 : cr_bug_(__FILE__, __LINE__, #x))
#endif

#endif
