/*
 * pickle.h - data in Python's pickle format, protocols 2 to 5: numbers, texts, lists, tuples and
 * mappings of them, NumPy's numbers and arrays, and the objects that pandas writes (frame.h).
 *
 * A pickle is a program that may call any function of Python. Nothing is called here: the names
 * that NumPy and pandas write for their data are known, and any other name is refused.
 */
#ifndef CR_BASE_PICKLE_H
#define CR_BASE_PICKLE_H

#include "base/mem.h"

typedef enum cr_pickle_kind {
    CR_PICKLE_NONE, /* None */
    CR_PICKLE_INT,  /* also True and False */
    CR_PICKLE_FLOAT,
    CR_PICKLE_TEXT,   /* a text or bytes */
    CR_PICKLE_LIST,   /* a list or a tuple; it may hold itself */
    CR_PICKLE_MAP,    /* a dict: keys and values in turn, as they were set */
    CR_PICKLE_ARRAY,  /* NumPy's: numbers, or with a type of 'O' other values */
    CR_PICKLE_OBJECT, /* what a known class or function of pandas makes of v, and state */
    CR_PICKLE_NAME,   /* inside of a pickle only: a name of Python */
    CR_PICKLE_TYPE,   /* ... and a type of NumPy's numbers */
} cr_pickle_kind;
typedef struct cr_pickle cr_pickle;
struct cr_pickle {
    cr_pickle_kind kind;
    int64_t i; /* TYPE: bytes of a number */
    double x;
    /* n bytes of the caller's data, or of the arena; OBJECT, NAME: what it is called in Python */
    const char *text;
    size_t n; /* bytes of a text or an array, items of a list; MAP: keys and values together */
    cr_pickle **v;
    size_t cap;
    char letter;      /* TYPE: i, u, f, b or O, as NumPy writes it */
    bool swapped;     /* TYPE: big-endian numbers are swapped */
    cr_pickle *bytes; /* TEXT: the bytes that were made of it; NULL: none */
    /* ARRAY: its sizes, and how many numbers they make; an array of no sizes is one number */
    const cr_pickle *type;
    const int64_t *shape;
    size_t dims;
    int64_t items;
    bool columns_first;     /* the first place varies fastest (Fortran's order) */
    const cr_pickle *state; /* OBJECT; NULL: none */
};

/* cr_pickle_read reads a pickle of `size` bytes. The result is in a and may point into data; path
 * is for messages, which name the byte. */
CR_CHECKED cr_code cr_pickle_read(const void *data, size_t size, const char *path, cr_arena *a,
                                  const cr_pickle **out, cr_err *err);

/* cr_pickle_find returns the value of a key of a MAP; NULL: it is none, or lacks the key. */
const cr_pickle *cr_pickle_find(const cr_pickle *map, const char *key);
/* cr_pickle_is: is it an object that Python calls `name`, such as "pandas.core.frame.DataFrame"? */
bool cr_pickle_is(const cr_pickle *v, const char *name);

/* cr_pickle_dim returns size d of an array, counted from 0; -1: it is no array, or has fewer
 * sizes. */
int64_t cr_pickle_dim(const cr_pickle *array, size_t d);
/* cr_pickle_item returns item k of an array of other values; NULL: it has numbers. Items are
 * counted from 0, with the last place varying fastest; k is below `items`. */
const cr_pickle *cr_pickle_item(const cr_pickle *array, int64_t k);
/* cr_pickle_number and cr_pickle_whole read item k of an array, or k = 0 of a single number; false:
 * it is not a number, or not a whole one. */
bool cr_pickle_number(const cr_pickle *v, int64_t k, double *out);
bool cr_pickle_whole(const cr_pickle *v, int64_t k, int64_t *out);

#endif
