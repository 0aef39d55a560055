/*
 * rewrite_int.h - rewrites trees by tables with one row per key of the other program.
 *
 * A row says how a key is converted: it is taken over (under another name, through a list of words,
 * with a default to write where it is absent); it is a message with its own table; a function
 * handles it; or it is left out for a reason. A key without a row is unknown to the other program
 * too. A function that reads keys by itself still has a table, in which these keys are SPENT, so
 * that no key is forgotten.
 */
#ifndef CR_DIALECT_REWRITE_INT_H
#define CR_DIALECT_REWRITE_INT_H

#include "base/buf.h"
#include "base/map.h"
#include "conf/tree.h"

typedef struct cr_rw cr_rw;
typedef struct cr_rule cr_rule;

/* Converts a key's value; out is the message that is being made. */
typedef void cr_rw_fn(cr_rw *w, const cr_conf_entry *e, cr_conf_node *out);

typedef enum cr_rw_how {
    CR_RW_TAKE, /* the value as it is */
    CR_RW_WORD, /* a value of an enum, through a list of words */
    CR_RW_TEXT, /* a string, through such a list */
    CR_RW_INTO, /* a message; when it is given twice, the two are joined */
    CR_RW_EACH, /* a repeated message */
    CR_RW_CALL, /* a function handles it */
    CR_RW_LEFT, /* not taken over; reported unless its value is `text` */
    CR_RW_SPENT /* the calling function reads it */
} cr_rw_how;

/* A word of the other program, its number in the schema, and crank's word. `to` is NULL where there
 * is no counterpart; `why` then gives the reason. The last row has no name: with a `why`, words
 * that are not in the list are left out for that reason; without one they are mistakes. */
typedef struct cr_rw_word {
    const char *from;
    int number; /* -1: none */
    const char *to;
    const char *why;
} cr_rw_word;

struct cr_rule {
    const char *key; /* NULL ends the table; `next` goes on in another one */
    cr_rw_how how;
    const char *to;          /* the key that is written; NULL: the same */
    const cr_rule *next;     /* INTO, EACH: the rules of the message */
    const cr_rw_word *words; /* WORD, TEXT */
    cr_rw_fn *fn;            /* CALL */
    /* TAKE, WORD: what is written when the key is absent; LEFT: the value that has no effect */
    const char *text;
    cr_sev sev;      /* LEFT: how serious the loss is */
    const char *why; /* LEFT: the reason, and what to do */
};

#define CR_RW_ROW_(k, h, t, n, w, f, x, s, y)                                                      \
    { k, h, t, n, w, f, x, s, y }
/* TAKE(key, to, absent), WORD(key, to, words, absent): the strings may be NULL. An `absent` that
 * begins with neither a letter nor a digit is a string. */
#define TAKE(k, t, x)    CR_RW_ROW_(k, CR_RW_TAKE, t, NULL, NULL, NULL, x, CR_SEV_NOTE, NULL)
#define WORD(k, t, w, x) CR_RW_ROW_(k, CR_RW_WORD, t, NULL, w, NULL, x, CR_SEV_NOTE, NULL)
#define TEXT(k, t, w)    CR_RW_ROW_(k, CR_RW_TEXT, t, NULL, w, NULL, NULL, CR_SEV_NOTE, NULL)
#define INTO(k, t, n)    CR_RW_ROW_(k, CR_RW_INTO, t, n, NULL, NULL, NULL, CR_SEV_NOTE, NULL)
#define EACH(k, t, n)    CR_RW_ROW_(k, CR_RW_EACH, t, n, NULL, NULL, NULL, CR_SEV_NOTE, NULL)
#define CALL(k, f)       CR_RW_ROW_(k, CR_RW_CALL, NULL, NULL, NULL, f, NULL, CR_SEV_NOTE, NULL)
#define SPENT(k)         CR_RW_ROW_(k, CR_RW_SPENT, NULL, NULL, NULL, NULL, NULL, CR_SEV_NOTE, NULL)
/* IDLE: the loss changes no result; LOST: it changes results; CUT: the config cannot run without
 * it. */
#define IDLE(k, x, y) CR_RW_ROW_(k, CR_RW_LEFT, NULL, NULL, NULL, NULL, x, CR_SEV_NOTE, y)
#define LOST(k, x, y) CR_RW_ROW_(k, CR_RW_LEFT, NULL, NULL, NULL, NULL, x, CR_SEV_WARN, y)
#define CUT(k, y)     CR_RW_ROW_(k, CR_RW_LEFT, NULL, NULL, NULL, NULL, NULL, CR_SEV_ERROR, y)
#define END           CR_RW_ROW_(NULL, CR_RW_SPENT, NULL, NULL, NULL, NULL, NULL, CR_SEV_NOTE, NULL)
#define END_THEN(n)   CR_RW_ROW_(NULL, CR_RW_SPENT, NULL, n, NULL, NULL, NULL, CR_SEV_NOTE, NULL)

/* One thing to report, at all its places. */
typedef struct cr_rw_left {
    cr_sev sev;
    const char *text;
    cr_loc at; /* its first place */
    int n;
    cr_buf lines; /* the line numbers of the other places */
    int last;     /* the line that was added last */
} cr_rw_left;

struct cr_rw {
    cr_conf_doc *doc; /* the document that is being made */
    cr_diag *diag;
    const char *program; /* name of the program in messages: "EasyRec" */
    cr_buf path;         /* keys down to the message that is being read */
    int depth;
    bool any_key;       /* keys without a row are not mistakes: they are reported and left out */
    int n_left, n_lost; /* number of places of notes; of warnings and errors */
    cr_rw_left *left;
    size_t n_report, cap_report;
    cr_map index; /* from a text to its number in left */
    void *ctx;    /* the dialect's own data */
};

void cr_rw_init(cr_rw *w, cr_conf_doc *doc, const char *program, void *ctx, cr_diag *diag);
void cr_rw_clear(cr_rw *w);
/* cr_rw_flush adds the report to the diag. */
void cr_rw_flush(cr_rw *w);

/* cr_rw_message rewrites the keys of one message; out may be NULL where all rules are SPENT or
 * LEFT. */
void cr_rw_message(cr_rw *w, const cr_rule *rules, const cr_conf_node *in, cr_conf_node *out);
/* cr_rw_values calls fn for every value of the key: repeated keys, items of lists. */
void cr_rw_values(cr_rw *w, const cr_conf_node *in, const char *key, cr_rw_fn *fn,
                  cr_conf_node *out);

/* cr_rw_tell reports one thing (a whole sentence without its full stop). The same text at many
 * places is one line. It counts in n_lost or n_left. */
void cr_rw_tell(cr_rw *w, cr_sev sev, cr_loc at, const char *fmt, ...) CR_PRINTF(4, 5);
/* cr_rw_drop reports that a key was left out. */
void cr_rw_drop(cr_rw *w, cr_sev sev, cr_loc at, const char *key, const char *why);

/* Reading. A default stands for an absent key and for a value of another kind, which is reported
 * elsewhere. */
typedef struct cr_rw_iter {
    const cr_conf_node *map;
    const char *key;
    size_t i, j;
    cr_conf_entry entry; /* holds the key, place and value that cr_rw_next returns */
} cr_rw_iter;
/* cr_rw_next gives the values of a key in file order, over repeated keys and lists. */
const cr_conf_entry *cr_rw_next(cr_rw_iter *it);
const cr_conf_node *cr_rw_get(const cr_conf_node *map, const char *key); /* the last value */
bool cr_rw_has(const cr_conf_node *map, const char *key);
const char *cr_rw_str(const cr_conf_node *map, const char *key, const char *absent);
double cr_rw_num(const cr_conf_node *map, const char *key, double absent);
bool cr_rw_bool(const cr_conf_node *map, const char *key, bool absent);
size_t cr_rw_count(const cr_conf_node *map, const char *key);
/* cr_rw_at returns the place of the key, or that of the message when the key is absent. */
cr_loc cr_rw_at(const cr_conf_node *map, const char *key);

/* Making nodes. Texts are copied. */
cr_conf_node *cr_rw_map(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at);
/* cr_rw_child returns the message under the key; it makes the message when it is not there. */
cr_conf_node *cr_rw_child(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at);
void cr_rw_put_str(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, const char *text);
void cr_rw_put_word(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, const char *word);
void cr_rw_put_num(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, double x);
void cr_rw_put_bool(cr_rw *w, cr_conf_node *out, const char *key, cr_loc at, bool yes);

#endif
