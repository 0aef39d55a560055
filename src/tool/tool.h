/*
 * tool.h - the commands beside the runs: look at a config, at data and at features, make data and
 * configs, compare trainings. The command line fills an options struct and calls one function.
 */
#ifndef CR_TOOL_TOOL_H
#define CR_TOOL_TOOL_H

#include "base/buf.h"
#include "dialect/dialect.h"
#include "dialect/paddle.h"
#include "job/config.h"
#include "planner/planner.h"
#include "synth/synth.h"

/* cr_synth_for makes data for a config: the columns that its features, labels and weights read.
 * kind and table of o are not used. format NULL: that of dataset_type, or Parquet if dataset_type
 * is neither CSV nor Parquet. The config is written beside the data as pipeline.yaml, with paths
 * that point there. */
CR_CHECKED cr_code cr_synth_for(const cr_config_opts *config, int threads, cr_synth_opts *o,
                                cr_diag *diag);

/* cr_check looks at a config or a model_dir: config, columns, sample_rows rows of the data, memory.
 * out receives the results as lines for users, or as one JSON object. Findings go to diag. */
typedef struct cr_check_opts {
    cr_config_opts config; /* path may be a model_dir or an export */
    int64_t sample_rows;   /* 0: 10000 */
    bool json;
    int threads;
} cr_check_opts;
CR_CHECKED cr_code cr_check(const cr_check_opts *o, cr_buf *out, cr_diag *diag);

/* cr_planning_run plans the tables of a config for ranks that need not exist. The result points
 * into its arena. */
typedef struct cr_planning_opts {
    cr_config_opts config; /* path may be a model_dir or an export */
    int nodes, per_node;   /* machines, and ranks on each */
    double memory;         /* bytes of a machine; 0: those that are free on this one */
    int cores;             /* of a rank; 0: this machine's, divided by per_node */
    int64_t batch_size;    /* of a rank; 0: the config's */
    double zipf;           /* popularity of ids */
    int64_t sample_rows;   /* rows of training data that are counted; 0: none */
    const char *machine;   /* file with figures of a machine; NULL: this one is measured */
    double bandwidth[2];   /* bytes/s inside a machine and between machines; 0: not given */
} cr_planning_opts;
typedef struct cr_planning {
    cr_arena arena;
    cr_planner_job job;
    cr_planner_machine machine;
    cr_planner_result plan;
    double node_memory, reserve;
    int64_t sampled; /* rows */
    bool measured;   /* the figures of the machine */
} cr_planning;
/* The caller clears the result in any case. It is complete when the code is CR_OK, and when it is
 * CR_ENOMEM: the tables do not fit, and diag says what would. */
CR_CHECKED cr_code cr_planning_run(const cr_planning_opts *o, cr_planning *res, cr_diag *diag);
void cr_planning_clear(cr_planning *res);
void cr_planning_json(const cr_planning *res, cr_buf *out);

/* cr_fg reads rows of a data set and shows the result of each feature: text for users, or a JSON
 * object per line. */
typedef struct cr_fg_opts {
    cr_config_opts config; /* path may be a model_dir or an export */
    const char *input;     /* NULL: train_input_path of the config */
    const char *features;  /* comma list; NULL: all */
    int64_t skip, rows;    /* rows that are skipped first; the most rows that are shown */
    bool json;
    bool (*put)(void *ctx, const char *text, size_t n); /* gets the text of a row; false: stop */
    void *ctx;
} cr_fg_opts;
CR_CHECKED cr_code cr_fg(const cr_fg_opts *o, cr_diag *diag);

/* cr_create_fg_json writes fg.json and the files that it names. */
typedef struct cr_fg_json_opts {
    cr_config_opts config; /* path may be a model_dir or an export */
    const char *fg_output_dir;
    const char *reserves; /* comma list; NULL: none */
    bool remove_bucketizer;
} cr_fg_json_opts;
CR_CHECKED cr_code cr_create_fg_json(const cr_fg_json_opts *o, int *n_features, cr_diag *diag);

/* cr_add_feature_info writes a config with what a table says about its features. */
typedef struct cr_feature_info_opts {
    const char *template_path, *output_path, *table;
    const char *reader_type; /* NULL: the ending of the table tells */
} cr_feature_info_opts;
typedef struct cr_feature_info_result {
    int n_edited, n_dropped;
} cr_feature_info_result;
CR_CHECKED cr_code cr_add_feature_info(const cr_feature_info_opts *o, cr_feature_info_result *res,
                                       cr_diag *diag);

/* cr_convert_easyrec writes a config made from one of EasyRec. The file is written whenever the
 * input is a config of EasyRec; errors (and the code) then say what it lacks. */
typedef struct cr_convert_opts {
    const char *easyrec_config_path, *output_tzrec_config_path;
    const char *fg_json_path; /* NULL: none, or the config's own */
    bool use_old_fg;
} cr_convert_opts;
typedef struct cr_convert_result {
    cr_easyrec_result what;
    bool written, refused; /* refused: crank would not accept the file */
} cr_convert_result;
CR_CHECKED cr_code cr_convert_easyrec(const cr_convert_opts *o, cr_convert_result *res,
                                      cr_diag *diag);

/* cr_benchmark_run trains configs several times each and compares the means of their metrics with
 * base results. Each training is a separate process; failed ones are counted. */
typedef enum cr_benchmark_verdict {
    CR_BENCH_NONE, /* there is nothing to compare with */
    CR_BENCH_BETTER,
    CR_BENCH_WORSE,
    CR_BENCH_BALANCE, /* within the threshold */
} cr_benchmark_verdict;
typedef struct cr_benchmark_metric {
    const char *name;
    double base, threshold, mean;
    cr_benchmark_verdict verdict;
} cr_benchmark_metric;
typedef struct cr_benchmark_config {
    const char *path;
    bool has_base;
    int n_runs, n_failed, n_better, n_worse, n_metrics;
    bool unbelievable; /* at least as many runs failed as succeeded */
    cr_benchmark_metric *metrics;
    double rows_per_s;     /* the mean speed of training */
    const char *why, *log; /* why the last failed run failed; the log of the last run */
} cr_benchmark_config;
typedef struct cr_benchmark {
    cr_benchmark_config *v;
    int n, cap;
    const char *dir; /* its name is EXPERIMENT_PATH_<seconds since 1970> */
} cr_benchmark;
typedef struct cr_benchmark_opts {
    const char *config_path; /* a config, or a folder of configs */
    const char *experiment_path;
    const char *base_path; /* NULL: base_eval_metric.json in config_path, or TorchEasyRec's */
    /* with {DIR} and {NAME}; NULL: those of the configs */
    const char *train_input_path, *eval_input_path;
    const char *edit_config_json;
    const char *const *set;
    int n_set, runs, threads; /* runs 0: as many as the base results say */
    bool allow_libraries;     /* trainings may load libraries that configs name */
    void (*begins)(void *ctx, const cr_benchmark *b);
    void (*done)(void *ctx, const cr_benchmark_config *c); /* called after each config */
    void *ctx;
} cr_benchmark_opts;
CR_CHECKED cr_code cr_benchmark_run(const cr_benchmark_opts *o, cr_benchmark *b, cr_arena *arena,
                                    cr_diag *diag);

/* cr_feature_selection orders the features of each group by the drop probabilities that variational
 * dropout learned. Tables (and pictures) of them, and a config with the topk of each group, are
 * written to output_dir. */
typedef struct cr_select_opts {
    cr_config_opts config;
    const char *output_dir;
    int64_t topk;
    bool visualize, clear_variational_dropout;
} cr_select_opts;
typedef struct cr_select_result {
    /* the checkpoint that was read; the config that was written */
    char checkpoint[1088], config[1088];
    int64_t n_before, n_features; /* number of feature configs */
    cr_buf text;                  /* lines for users; clear it */
} cr_select_result;
CR_CHECKED cr_code cr_feature_selection(const cr_select_opts *o, cr_select_result *res,
                                        cr_diag *diag);

/* cr_log_sessions turns a log of users, the files of a folder with lines user,item,time, into
 * out_dir/sessions.txt: a line of items per user, the oldest first. *users: how many there are. */
CR_CHECKED cr_code cr_log_sessions(const char *log_dir, const char *out_dir, int64_t *users,
                                   cr_err *err);

/* cr_paste_labels joins the files *x.txt and *y.txt of a folder line by line, labels in front, into
 * out_dir/rows.txt. *rows: how many there are, which out_dir/.count says, too. */
CR_CHECKED cr_code cr_paste_labels(const char *raw_dir, const char *out_dir, int64_t *rows,
                                   cr_err *err);

/* cr_knowledge_rows writes the sessions of train.tsv or test.tsv with their articles, entities and
 * the neighbours of these to out_dir (knowledge_rows.c). *left_out: clicked articles of sessions
 * that show no others. */
CR_CHECKED cr_code cr_knowledge_rows(const char *raw_dir, const char *out_dir,
                                     const cr_paddle_knowledge *o, bool test, int64_t *rows,
                                     int64_t *left_out, cr_err *err);
/* cr_news_rows writes a line for each line of the files of browsed articles (news.c), with the
 * articles that it names, to out_dir/rows.txt. *left_out: lines with too few other articles. */
CR_CHECKED cr_code cr_news_rows(const char *raw_dir, const char *out_dir, const cr_paddle_news *o,
                                int64_t *rows, int64_t *left_out, cr_err *err);

/* cr_list_rows draws lists of items, each with a user and a label for every item, and writes them
 * to out_dir/rows.txt, a line per item. Lists of another name are others; the same list of the same
 * name is always the same. */
CR_CHECKED cr_code cr_list_rows(const char *out_dir, const char *name, const cr_paddle_lists *o,
                                int64_t *rows, cr_err *err);

/* cr_masked_rows writes a row for each session of a folder, with its masked places and, where a
 * file has them, its candidates (masked_rows.c), to out_dir/rows.txt. */
CR_CHECKED cr_code cr_masked_rows(const char *raw_dir, const char *out_dir,
                                  const cr_paddle_masked *o, int64_t *rows, cr_err *err);

/* cr_interval_rows writes a row for each user of a log with times (interval_rows.c) to
 * out_dir/rows.txt; infer: with the candidates of an evaluation. */
CR_CHECKED cr_code cr_interval_rows(const char *raw_dir, const char *out_dir,
                                    const cr_paddle_interval *o, bool infer, int64_t *rows,
                                    cr_err *err);

/* cr_task_rows_train draws tasks from the first pickled frame of a folder (task_rows.c) and writes
 * their rows to files of out_dir. cr_task_rows_test writes all tasks of the first frame, each to a
 * folder of its own with the folders support and query; the query rows are those of the second
 * frame. */
CR_CHECKED cr_code cr_task_rows_train(const char *raw_dir, const char *out_dir,
                                      const cr_paddle_tasks *o, int64_t *rows, int64_t *tasks,
                                      cr_err *err);
CR_CHECKED cr_code cr_task_rows_test(const char *raw_dir, const char *out_dir,
                                     const cr_paddle_tasks *o, int64_t *rows, int64_t *tasks,
                                     cr_err *err);

/* cr_session_rows writes a row for each row of a DataFrame with the sessions of its user, from the
 * pickles of a folder (session_rows.c), to out_dir/rows.txt. */
CR_CHECKED cr_code cr_session_rows(const char *raw_dir, const char *out_dir,
                                   const cr_paddle_sessions *o, int64_t *rows, cr_err *err);

/* cr_picture_rows draws tasks of pictures from the PNG files of a folder (picture_rows.c) and
 * writes their rows to files of out_dir; infer: each task to a folder of its own, as above. */
CR_CHECKED cr_code cr_picture_rows(const char *raw_dir, const char *out_dir,
                                   const cr_paddle_pictures *o, bool infer, int64_t *rows,
                                   cr_err *err);

/* cr_digit_rows writes a row for each picture of `size` numbers in the pickles of a folder
 * (digit_rows.c), with its two labels, to out_dir/rows.txt. */
CR_CHECKED cr_code cr_digit_rows(const char *raw_dir, const char *out_dir, int64_t size,
                                 int64_t *rows, cr_err *err);

/* cr_matrix_rows writes the rows of the HDF5 files of a folder, matrices of an id for each of
 * `fields` fields and the label, to out_dir/rows.txt, labels in front. */
CR_CHECKED cr_code cr_matrix_rows(const char *raw_dir, const char *out_dir, int64_t fields,
                                  int64_t *rows, cr_err *err);

/* cr_user_rows writes the pairs of users and items in train.csv as rows of users with all of their
 * items, to out_dir/rows.txt; with `test` a row for each pair of test.csv. out_dir/.items has the
 * features of the items. */
CR_CHECKED cr_code cr_user_rows(const char *raw_dir, const char *out_dir, bool test, int64_t *rows,
                                cr_err *err);
/* cr_social_rows writes the ratings and relations of two files as rows to out_dir/rows.txt, and the
 * graph of all users and items to out_dir/.graph; with `test` the rows of an evaluation. */
CR_CHECKED cr_code cr_social_rows(const char *ratings, const char *relations, const char *out_dir,
                                  bool test, int64_t *rows, cr_err *err);

/* cr_package_rows writes rows of users with packages, from the lines of JSON in raw_dir, to
 * out_dir/rows.txt. */
CR_CHECKED cr_code cr_package_rows(const char *raw_dir, const char *out_dir,
                                   const cr_paddle_packages *o, int64_t *rows, cr_err *err);

/* cr_rating_rows writes the ratings of a folder as rows of users, to out_dir/rows.txt: what a user
 * has rated, and what is to be given back, which is the same or, with a test_dir, the user's
 * ratings there; left_out: ratings there that the training has no user or item for. More than
 * `items` items are a mistake. */
CR_CHECKED cr_code cr_rating_rows(const char *train_dir, const char *test_dir, const char *out_dir,
                                  int64_t items, int64_t *rows, int64_t *left_out, cr_err *err);

/* cr_pair_mask writes a NumPy file with a 1 for each pair of fields whose weight in an autofis
 * checkpoint is not 0, and a 0 for the others. *left of *n pairs have a 1. */
CR_CHECKED cr_code cr_pair_mask(const char *ckpt_dir, const char *path, int64_t *left, int64_t *n,
                                cr_err *err);

/* cr_analogies asks the vectors of words of a checkpoint: a is to b as c is to which word? */
typedef struct cr_analogy_opts {
    const char *ckpt_dir, *table; /* the table of the vectors */
    const char *dict;             /* a file with a word and its id per line */
    const char *questions;        /* a folder of files with four words per line */
    int top;                      /* the answer is among so many nearest words */
    /* the vector of a word is the mean of that of <word> and those of its n-grams of min_n to max_n
     * letters; 0: it is that of the word */
    int min_n, max_n;
} cr_analogy_opts;
CR_CHECKED cr_code cr_analogies(const cr_analogy_opts *o, int64_t *right, int64_t *n, cr_err *err);

/* cr_interest_recall looks for the next items of users with the interests of a mind checkpoint,
 * among all items of its table. */
typedef struct cr_recall_opts {
    const char *ckpt_dir;
    const char *data_dir; /* a folder of files with slots hist_item and eval_item */
    int64_t longest;      /* items of a history, and items to find, that are read */
    int top;              /* items that are found per user */
    bool over_steps;      /* the form of PaddleRec, see the block capsules */
} cr_recall_opts;
typedef struct cr_recall_result {
    int64_t users;
    double recall, ndcg, hit_rate; /* means over the users */
} cr_recall_result;
CR_CHECKED cr_code cr_interest_recall(const cr_recall_opts *o, cr_recall_result *r, cr_err *err);

/* cr_tree_search finds items for vectors with the tree and the classifiers of a tdm checkpoint:
 * from layer to layer the `top` best nodes stay, and their children are looked at next. */
typedef struct cr_tree_search_opts {
    const char *ckpt_dir;
    const char *info;    /* a NumPy file (nodes, 3 + children): item, layer, parent, children */
    const char *layers;  /* a file with the nodes of a layer per line */
    const char *vectors; /* a folder of files with a vector per line */
    const char *act;     /* activation of its layers: tanh, relu or sigmoid; NULL: tanh */
    int top;
    /* gets the items of line number `line` (from 0), the best first */
    void (*found)(void *ctx, int64_t line, const int64_t *items, int n);
    void *ctx;
} cr_tree_search_opts;
CR_CHECKED cr_code cr_tree_search(const cr_tree_search_opts *o, int64_t *lines, cr_err *err);

#endif
