/*
 * tab.h - a table that is to be made up: what each column holds, and which labels follow from it.
 *
 * The features of a config describe the columns that they read (feat/sample.h); synth/ draws,
 * scores and writes the rows. A value is a draw k, a whole number that its cr_tab_value turns into
 * text or a number; small draws are the frequent ones unless the value is a real number.
 */
#ifndef CR_DATA_TAB_H
#define CR_DATA_TAB_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/field.h"

#define CR_TAB_KNOTS 66 /* most knots of a real number */
#define CR_TAB_LINKS 8  /* columns of keys of one map */

typedef enum cr_tab_leaf {
    CR_TAB_TOKEN, /* any text: the name's first letter and a number */
    CR_TAB_WORD,  /* one of the words, now and then one that is none of them */
    CR_TAB_INT,   /* lo .. lo + card - 1 */
    CR_TAB_REAL,  /* between knots, each stretch as likely */
} cr_tab_leaf;

typedef struct cr_tab_value {
    cr_tab_leaf leaf;
    int64_t lo, card;         /* TOKEN, WORD: number of different ones */
    const char *const *words; /* WORD */
    bool closed;              /* WORD: never another one */
    double knots[CR_TAB_KNOTS];
    int n_knots; /* REAL: at least 2, ascending */
} cr_tab_value;

typedef enum cr_tab_form { /* how Parquet stores it; CSV is always text */
                           CR_TAB_TEXT,
                           CR_TAB_PLAIN, /* one int64, double or string */
                           CR_TAB_LIST,
                           CR_TAB_LISTS, /* list of lists */
                           CR_TAB_MAP,
} cr_tab_form;

typedef enum cr_tab_pairs {
    CR_TAB_NO_PAIRS,
    CR_TAB_PAIRS,  /* key, kv, value */
    CR_TAB_NESTED, /* pk^sk:v,sk:v|pk^sk:v */
} cr_tab_pairs;

typedef struct cr_tab_col {
    const char *name;
    cr_tab_value value;
    int min_values, max_values; /* in a row or step */
    bool single;                /* a reader of the column takes only one value */
    const char *sep;            /* between them */
    bool weighted;              /* value:weight */
    int values_of;              /* has as many values as that column; -1: its own number */
    bool seq;
    int max_steps;
    const char *delim; /* between steps */
    int steps_of;      /* has as many steps as that column; -1: its own number */
    cr_tab_pairs pairs;
    char kv;
    int keys[CR_TAB_LINKS], n_keys;   /* columns whose values are found in the map; first keys of a
                                         nested one */
    int skeys[CR_TAB_LINKS], n_skeys; /* second keys */
    int dims;                         /* numbers of one value of a pair, `dim_sep` between them */
    const char *dim_sep;
    double share; /* of what the labels depend on; 0: they do not */
    cr_tab_form form;
    bool narrow, narrow_key; /* Parquet: 32 bits instead of 64 */
    bool text;               /* Parquet: numbers as text */
} cr_tab_col;

typedef struct cr_tab_label {
    const char *name;
    int64_t K;                /* 0: any number; 1, 2: 0 or 1; else 0 .. K - 1 */
    int after;                /* can be 1 only where that other label is; -1: anywhere */
    const cr_conf_map *words; /* label_map: a number is written as the word nearest to it; NULL: as
                                 a number */
    bool whole;               /* K = 0: a whole number */
} cr_tab_label;

typedef struct cr_synth_table {
    const char *name; /* of what it was made for */
    cr_tab_col *cols;
    int n_cols;
    cr_tab_label *labels;
    int n_labels;
    const char *const *weights; /* columns of row weights */
    int n_weights;
    int *order; /* of all columns in a file: cols, then labels, then weights */
    int n_order;
    const char *delimiter; /* CSV */
    bool header;
    const char *config; /* text of pipeline.yaml */
} cr_synth_table;

/* cr_tab_col_init: one token per row */
void cr_tab_col_init(cr_tab_col *c, const char *name);
/* the inverse of the normal distribution function */
double cr_normal_inv(double u);
/* knots of a normal distribution */
void cr_tab_normal(cr_tab_value *v, double mean, double deviation);

#endif
