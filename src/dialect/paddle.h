/*
 * paddle.h - configs of PaddleRec: what a config asks to be run, one after the other.
 */
#ifndef CR_DIALECT_PADDLE_H
#define CR_DIALECT_PADDLE_H

#include "dialect/dialect.h"

/* How the rows of a folder are made before they are read. */
typedef enum cr_paddle_rows_kind {
    CR_ROWS_AS_THEY_ARE, /* they are read as they are */
    CR_ROWS_SESSIONS,    /* user,item,time: a line per user (mind) */
    CR_ROWS_PASTED,      /* ids in *x.txt, labels in *y.txt (autofis) */
    CR_ROWS_NEWS,        /* articles, and lines that name them (naml) */
    CR_ROWS_MATRIX,      /* a matrix in HDF5 files, the label last (fgcnn) */
    CR_ROWS_PACKAGES,    /* lines of JSON with lists of packages (iprec) */
    CR_ROWS_RATINGS,     /* user, item, rating: a row per user (deeprec) */
    CR_ROWS_USERS,       /* pairs of users and items: a row per user (ensfm) */
    CR_ROWS_LISTS,       /* lists of items that are drawn; no data is read (listwise) */
    CR_ROWS_MASKED,      /* sessions with masked places, and candidates in a pickle (bert4rec) */
    CR_ROWS_INTERVALS,   /* user, item, rating, time with tabs: a line per user (tisas) */
    CR_ROWS_TASKS,       /* tasks of a pickled frame (metaheac) */
    CR_ROWS_KNOWLEDGE,   /* articles, entities and their graph, and sessions (kim) */
    CR_ROWS_SOCIAL,      /* ratings, and relations of users (mhcn) */
    CR_ROWS_DIGITS,      /* pictures in pickles of NumPy, with two labels each (dselect_k) */
    CR_ROWS_STEPS,       /* sessions in pickles of pandas and NumPy (dsin) */
    CR_ROWS_PICTURES,    /* tasks of pictures (maml) */
} cr_paddle_rows_kind;
/* Sizes of rows of news: words of a title and of a text, browsed articles and other candidates of a
 * row; and the ids that stand for none. */
typedef struct cr_paddle_news {
    int64_t title, content, browsed, others;
    int64_t words, categories, subcategories;
    bool masks; /* with columns that tell words from padding */
} cr_paddle_news;
/* Sizes of drawn lists: how many there are, items of each, ids of users and of items. */
typedef struct cr_paddle_lists {
    int64_t count, length, users, items;
} cr_paddle_lists;
/* Sizes of sessions with masked places: ids of items, and positions. */
typedef struct cr_paddle_masked {
    int64_t items, positions;
} cr_paddle_masked;
/* Sizes of rows with the times of steps: items from 1 on, and steps of the longest row; and how
 * many items an evaluation compares. */
typedef struct cr_paddle_interval {
    int64_t items, longest;
} cr_paddle_interval;
#define CR_PADDLE_CANDIDATES 101
/* Sizes of rows of articles with entities: words of a title, entities of an article, clicked
 * articles, drawn ones, words of all titles and the width of their vectors. */
typedef struct cr_paddle_knowledge {
    int64_t words, entities, clicked, others, vocab, width;
} cr_paddle_knowledge;
#define CR_PADDLE_ENTITY 100 /* width of an entity's vector */
/* Sizes of tasks: rows that are learned from and as many that follow, and tasks of a batch. The
 * columns of their frame: those of a user, lists of the user, and those of an advertisement; each
 * list is NULL-ended. */
typedef struct cr_paddle_tasks {
    int64_t rows, tasks;
} cr_paddle_tasks;
/* Sizes of tasks of pictures: how many tasks there are, characters of each, pictures of each
 * character that are learned from and that are tested, lines and columns of a picture. */
typedef struct cr_paddle_pictures {
    int64_t tasks, ways, support, query, size;
} cr_paddle_pictures;
extern const char *const cr_paddle_user_columns[], *const cr_paddle_list_columns[],
                                                       *const cr_paddle_ad_columns[];
/* Sizes of histories in sessions: how many there are, and the most steps of each; and the columns
 * of ids beside them. */
typedef struct cr_paddle_sessions {
    int64_t sessions, steps;
} cr_paddle_sessions;
#define CR_PADDLE_SESSION_IDS 15
extern const char *const cr_paddle_session_ids[CR_PADDLE_SESSION_IDS];
/* Sizes of rows of packages: the largest ids, friends of a package, items and friends of a user,
 * and packages that the user has seen or that are near by publisher or friends. */
typedef struct cr_paddle_packages {
    int64_t users, items, bizs;
    int64_t friends, own_items, own_friends;
    int64_t seen, by_biz, by_friend;
} cr_paddle_packages;
typedef struct cr_paddle_rows {
    cr_paddle_rows_kind kind;
    const char *raw, *dir;           /* the folder of the data, and that of the rows */
    const char *ratings, *relations; /* the files of mhcn */
    const char *known;               /* evaluation of ratings: the folder of the training's data */
    int64_t items;                   /* ... and how many items there may be */
    cr_paddle_news news;
    int64_t fields; /* columns that a matrix has, numbers of a picture */
    cr_paddle_lists lists;
    cr_paddle_masked masked;
    cr_paddle_packages packages;
    cr_paddle_interval interval;
    cr_paddle_knowledge knowledge;
    cr_paddle_tasks tasks;
    cr_paddle_sessions sessions;
    cr_paddle_pictures pictures;
} cr_paddle_rows;

/* A key of the config with its value, as PaddleRec shows them: runner.train.epochs and 4. */
typedef struct cr_paddle_env {
    const char *key, *value;
} cr_paddle_env;

/* One training or one evaluation. */
typedef struct cr_paddle_run {
    bool infer;
    bool old; /* a runner of the old kind of config; else the only runner of the new kind */
    const char *runner, *phase; /* NULL in the new kind */
    /* training: the folder of its checkpoints; evaluation: a checkpoint, or a folder of them */
    const char *dir;
    int64_t first, end; /* evaluation in the new kind: the epochs [first, end) of dir */
    int64_t print_interval;
    int64_t epochs, batch;
    const char *data; /* folder of the data, as the config says it */
    cr_paddle_rows rows;
    bool pair_mask; /* training of autofis: comb_mask.npy tells afterwards which pairs are left */
    /* evaluation of vectors of words: the folder of the questions, and the file with the words and
     * their ids; NULL: the evaluation is one of crank's own */
    const char *questions, *dict;
    int64_t min_n, max_n; /* ... whose words are made of n-grams (fasttext); 0: they are not */
    /* evaluation over a tree of items (tdm): the files of the tree, and how many items are found
     * for each vector of the folder `questions`; NULL: there is no tree */
    const char *tree_info, *tree_layers, *act;
    int64_t top;
    int64_t longest;   /* evaluation of interests (mind): items of a history; 0: it is another */
    bool shows_scores; /* the lines of an evaluation show the scores of the rows */
    bool only_auc;     /* the lines of the new kind show AUCs only (aitm, escm2) */
    bool task_first;   /* ... as click_auc, not auc_click (aitm) */
    bool accuracy;     /* ... and the accuracy is called so, not acc (dlrm) */
    bool by_place;     /* ... and the AUC by place is called PAUC (dpin) */
    bool sessions;     /* ... Acc in training, and four means over sessions at the end (kim) */
    int64_t lists;     /* ... and a list has so many items, with a line for each measure (mhcn) */
    bool capitals;     /* ... and metrics have the names of the old kind, AUC and ACC (sign) */
    bool ad_tasks;     /* ... and an evaluation names the advertisement of a task (metaheac) */
    bool root;         /* ... and the root of the loss, as rmse (deeprec) */
    bool plain_auc;    /* training of the old kind shows one AUC, in small letters (listwise) */
    /* training: the folder of the checkpoints of batches; a file that gets the values of every
     * batch; NULL: none */
    const char *step_dir, *dump;
    /* training: the folder of the exports of epochs, every so many of them; NULL: none. In the new
     * kind an export is <export_dir>/inference_<epoch>, in the old kind <export_dir>/<epoch> */
    const char *export_dir;
    int64_t export_interval;
    const char *init; /* new kind: the checkpoint of model_init_path; NULL: none is named */
    /* training with parameter servers: on this machine the runner starts so many of both; on a
     * cluster the platform does, and `servers` is -1. 0: without servers */
    int64_t servers, workers;
    const cr_paddle_env *envs; /* old kind: all keys of the config, with dots between the words */
    int n_envs;
    bool merges; /* ... and the batches of a worker's threads are averaged: sync and half_async */
} cr_paddle_run;

/* cr_paddle_runs lists what a config asks for. infer: in the new kind, the evaluation and not the
 * training. *n is 0 after mistakes, and when the file is of another program. Memory is from a. */
CR_CHECKED cr_code cr_paddle_runs(const char *path, const cr_dialect_opts *o, bool infer,
                                  cr_arena *a, cr_paddle_run **out, int *n, cr_diag *diag);
/* cr_paddle_model returns the name of the model that a config means, for the runner and phase of o;
 * NULL: it cannot be told. *named: the config says it outright, so that it is known wherever the
 * file lies. */
const char *cr_paddle_model(const char *path, const cr_dialect_opts *o, cr_arena *a, bool *named);

#endif
