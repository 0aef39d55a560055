/*
 * pickle.h - data in Python's pickle format, protocols 2 to 5: whole numbers, numbers, texts, lists
 * and tuples of them, and single whole numbers of NumPy.
 *
 * A pickle is a program that may call any function of Python. Nothing is called here: the three
 * names that NumPy writes for a number are known, and any other name is refused.
 */
#ifndef CR_BASE_PICKLE_H
#define CR_BASE_PICKLE_H

#include "base/mem.h"

typedef enum cr_pickle_kind {
    CR_PICKLE_NONE, /* None */
    CR_PICKLE_INT,  /* also True and False */
    CR_PICKLE_FLOAT,
    CR_PICKLE_TEXT, /* a text or bytes */
    CR_PICKLE_LIST, /* a list or a tuple; it may hold itself */
    CR_PICKLE_NAME, /* inside of a pickle only: a name of Python */
    CR_PICKLE_TYPE, /* ... and a type of NumPy's numbers */
} cr_pickle_kind;
typedef struct cr_pickle cr_pickle;
struct cr_pickle {
    cr_pickle_kind kind;
    int64_t i; /* TYPE: bytes of a number */
    double x;
    const char *text; /* n bytes of the caller's data, or of the arena */
    size_t n;         /* bytes of a text, items of a list */
    cr_pickle **v;
    size_t cap;
    bool is_signed, swapped; /* TYPE: big-endian numbers are swapped */
};

/* cr_pickle_read reads a pickle of `size` bytes. The result is in a and may point into data; path
 * is for messages, which name the byte. */
CR_CHECKED cr_code cr_pickle_read(const void *data, size_t size, const char *path, cr_arena *a,
                                  const cr_pickle **out, cr_err *err);

#endif
