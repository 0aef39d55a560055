/*
 * paddle_int.h - what the files of PaddleRec's dialect share.
 *
 *   paddle.c        which program a file belongs to; runner, phase and dataset; train_config
 *   paddle_ask.c    reading keys, with places; writing keys of crank; -o key=value
 *   paddle_data.c   readers: data_config and features
 *   paddle_rows.c   rows that lie in several files: where they are written
 *   paddle_envs.c   all keys in one list, which is printed
 *   paddle_model.c  which model is meant
 *   paddle_rank.c, paddle_tasks.c, paddle_pairs.c, paddle_fgcnn.c, paddle_weighed.c,
 *   paddle_steps.c, paddle_match.c, paddle_recall.c, paddle_news.c, paddle_attend.c,
 *   paddle_lists.c, paddle_masked.c, paddle_interval.c, paddle_meta.c,
 *   paddle_digits.c, paddle_sessions.c, paddle_social.c, paddle_rated.c,
 *   paddle_knowledge.c, paddle_package.c  the models
 *   paddle_runs.c   what `crank run` does, one after the other
 *   paddle_servers.c  training with parameter servers
 *   paddle_tables.c   tables with an accessor, and training day by day
 *
 * PaddleRec has two kinds of config. The old one (releases 0.1.0 to 1.8.5) lists runners, phases
 * and datasets by name; the new one (2.0.0 and later) has one runner. A file is of the new kind
 * when `runner` is a map.
 */
#ifndef CR_DIALECT_PADDLE_INT_H
#define CR_DIALECT_PADDLE_INT_H

#include "base/buf.h"
#include "dialect/paddle.h"

typedef struct cr_pd cr_pd;

/* A map of the config and its name in messages. */
typedef struct cr_pd_map {
    const cr_conf_node *map; /* NULL: not given */
    const char *name;
} cr_pd_map;

/* A built-in model of PaddleRec. */
typedef struct cr_pd_model {
    const char *name;
    /* how its lines are written, unless the dataset lists slots */
    void (*reader)(cr_pd *p);
    /* writes feature_configs and model_config */
    void (*build)(cr_pd *p);
    /* hyper-parameters that the model as shipped does not read, NULL-ended */
    const char *const *idle;
    /* the one that the shipped code of the new kind takes, whatever the config says; NULL: that of
     * the config */
    const char *optimizer;
    bool sum_loss; /* old kind: the loss is summed over the batch */
    bool always;   /* the old kind takes that optimizer, too */
} cr_pd_model;

/* A dense slot. */
typedef struct cr_pd_dense {
    const char *name;
    int64_t width;
} cr_pd_dense;

struct cr_pd {
    cr_conf_doc *doc;
    const char *path;
    cr_diag *diag;
    cr_tree_use use; /* keys that were read */
    const cr_dialect_opts *o;
    const cr_conf_node *in; /* the user's tree */
    cr_conf_node *out;      /* crank's */
    bool old;
    const char *workspace;
    cr_pd_map runner, phase, dataset, hyper, optimizer; /* new kind: dataset is the runner */
    const cr_pd_model *model;
    cr_loc model_at;
    int64_t batch;    /* rows of a step */
    int64_t replicas; /* batches that a worker computes at a time */
    bool merges;      /* their gradients are averaged in every step */
    /* what the reader gives */
    const char **ids; /* columns of ids, in order */
    int n_ids;
    int64_t largest_id; /* the largest id in all lines (sign) */
    bool weighted;      /* they are ids with weights */
    cr_pd_dense *dense;
    int n_dense;
    bool no_columns;       /* the data was told as wrong so far that no model can be built on it */
    bool width_unknown;    /* a dense slot was told as wrong, so their widths say nothing */
    const char *padding;   /* of missing ids */
    bool apart;            /* lines of training and of evaluation have other columns */
    int64_t decay_rows;    /* decay_steps counts epochs of so many rows; 0: steps */
    int64_t rows_per_line; /* of the data; 0: one */
    /* rows of a batch in a training and in an evaluation; 0: as the runner says */
    int64_t fixed_batch, fixed_eval;
    int64_t falls_every; /* steps after which the rate falls by gamma (autofis); 0: never */
    /* the key of the runner that has the rows of a batch, by default 1; NULL: train_batch_size */
    const char *batch_key;
    /* SGD's momentum and weight_decay, and how its rate falls: keys with a comma in front
     * (deeprec); NULL: none */
    const char *sgd_keys, *sgd_falls;
    bool sessions; /* a line gives several rows, so that PaddleRec's batches are others */
    bool tables;   /* table_parameters says what the table is */
    cr_loc data_at;
};

/* ---- paddle_ask.c ---- */
#define CR_PD_REQUIRED INT64_MIN
/* Each reads one key, and marks it as read. What is wrong is told; the result is then `absent`, or
 * the least value that is allowed. */
const cr_conf_node *cr_pd_get(cr_pd *p, cr_pd_map m, const char *key);
int64_t cr_pd_int(cr_pd *p, cr_pd_map m, const char *key, int64_t absent, int64_t lo, int64_t hi);
double cr_pd_num(cr_pd *p, cr_pd_map m, const char *key, double absent, double lo, double hi);
bool cr_pd_bool(cr_pd *p, cr_pd_map m, const char *key, bool absent);
/* NULL when it is not given; with required that is a mistake, and the result is "". */
const char *cr_pd_str(cr_pd *p, cr_pd_map m, const char *key, bool required);
/* A list of widths as YAML text, "[512, 256]"; n becomes their number. */
const char *cr_pd_widths(cr_pd *p, cr_pd_map m, const char *key, int64_t *n);
cr_loc cr_pd_at(const cr_pd *p, cr_pd_map m, const char *key);
void cr_pd_wrong(cr_pd *p, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
void cr_pd_warn(cr_pd *p, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
void cr_pd_note(cr_pd *p, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
/* cr_pd_idle marks a key as read that changes nothing. */
void cr_pd_idle(cr_pd *p, cr_pd_map m, const char *key);

/* cr_pd_put adds keys to crank's tree: YAML text of a mapping, all at one place. A message that is
 * there is joined with the new one. */
void cr_pd_put(cr_pd *p, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
/* cr_pd_feature adds one item to feature_configs. */
void cr_pd_feature(cr_pd *p, cr_loc at, const char *fmt, ...) CR_PRINTF(3, 4);
/* cr_pd_remote: a folder as crank opens it: hdfs:/x lies in the file system that fs_name of the
 * runner names, and the user is that of fs_ugi. NULL: it cannot be opened, which was told. */
const char *cr_pd_remote(cr_pd *p, const char *dir, cr_loc at);
/* cr_pd_names writes names as a YAML list, "\"1\", \"2\"", without brackets. */
const char *cr_pd_names(cr_pd *p, const char *const *names, int n);
/* cr_pd_set applies the edits of -o. */
void cr_pd_set(cr_pd *p);

/* ---- paddle_envs.c ---- */
/* cr_pd_envs lists all keys of the config, of which a owns the memory. */
const cr_paddle_env *cr_pd_envs(const cr_pd *p, cr_arena *a, int *n);

/* ---- paddle_data.c ---- */
void cr_pd_intervals(cr_pd *p);     /* items;times;places;next;others;weight;label;candidates */
void cr_pd_session_steps(cr_pd *p); /* label;ids;price;steps of sessions */
void cr_pd_masked(cr_pd *p);        /* items;positions;places;labels;item;weight;candidates */
void cr_pd_criteo(cr_pd *p);        /* click, 1 to 26, dense_feature */
void cr_pd_feat(cr_pd *p);          /* label, feat_idx and feat_value of 39 fields */
void cr_pd_places(cr_pd *p);        /* label, 39 ids, 39 values, without names */
void cr_pd_census(cr_pd *p);        /* two labels, then numbers */
void cr_pd_aliccp(cr_pd *p);        /* id, click, buy, then field:feature with commas */
void cr_pd_history(cr_pd *p);       /* items;categories;item;category;label */
void cr_pd_ratings(cr_pd *p);       /* user,item,label */
void cr_pd_signs(cr_pd *p);         /* sign:slot, the label in slot 1 */
/* cr_pd_data writes data_config and the paths. */
void cr_pd_data(cr_pd *p);
/* cr_pd_id_features adds a feature per column of ids, all with the same table. */
void cr_pd_id_features(cr_pd *p, int64_t rows, int64_t dim, const char *init, bool pads);
/* cr_pd_dense_features adds the dense slots as they are; cr_pd_number_features one feature per
 * number, each with a vector (dim 0: without), and returns their names. */
void cr_pd_dense_features(cr_pd *p);
const char *cr_pd_number_features(cr_pd *p, int64_t dim);
/* The names of the columns of ids and of the dense slots, with commas. */
const char *cr_pd_id_names(cr_pd *p);
const char *cr_pd_dense_names(cr_pd *p);
const char *cr_pd_all_names(cr_pd *p); /* ids, then dense slots */
/* cr_pd_both joins two such lists, of which any may be empty. */
const char *cr_pd_both(cr_pd *p, const char *a, const char *b);

/* ---- paddle_rows.c ---- */
/* cr_pd_rows tells which rows crank run makes, for a training or an evaluation of the new kind;
 * cr_pd_old_rows those of a runner of the old kind. */
cr_paddle_rows cr_pd_rows(cr_pd *p, bool infer);
cr_paddle_rows cr_pd_old_rows(cr_pd *p, cr_pd_map runner, cr_pd_map dataset);

/* ---- paddle_servers.c ---- */
/* cr_pd_servers writes train_config.servers, and finds replicas and merges. */
void cr_pd_servers(cr_pd *p);
/* cr_pd_shipped adds what PaddleRec's shipped models share to the finished tree. */
void cr_pd_shipped(cr_pd *p);
/* Does a runner of the old kind train with several processes? */
bool cr_pd_on_cluster(const cr_conf_node *runner);

/* ---- paddle_tables.c ---- */
/* cr_pd_accessor returns the keys of a feature for table_parameters.embedding, and in *width what
 * the model reads of a row; NULL: there is no accessor. */
const char *cr_pd_accessor(cr_pd *p, int64_t *width);
/* cr_pd_online: is it a config of the online trainer, day by day? cr_pd_daily then writes
 * train_config.daily, which saves into dir. */
bool cr_pd_online(const cr_pd *p);
void cr_pd_daily(cr_pd *p, const char *dir);

/* ---- paddle_model.c ---- */
/* cr_pd_find finds the model of p; NULL: it was told why there is none. */
const cr_pd_model *cr_pd_find(cr_pd *p);

/* ---- paddle_rank.c: what models share ---- */
#define CR_PD_MAX_ROWS 4000000000000
#define CR_PD_ONE_SCORE                                                                            \
    "losses: [{binary_cross_entropy: {}}], metrics: [{auc: {}}], "                                 \
    "train_metrics: [{auc: {}, since_epoch: true}]"
/* Sizes that most models have: sparse_feature_number and sparse_feature_dim. */
typedef struct cr_pd_sizes {
    int64_t rows, dim;
    const char *init; /* of the table */
} cr_pd_sizes;
cr_pd_sizes cr_pd_table(cr_pd *p, bool uniform);
const char *cr_pd_cut_normal(cr_pd *p, double std);
void cr_pd_check_dense(cr_pd *p);
void cr_pd_tell_reg(cr_pd *p);
const char *cr_pd_activation(cr_pd *p, const char *absent);
/* Layers as PaddleRec ships them: linear, ReLU, batch norm, each; the input is a list of inputs,
 * the sizes a list of numbers. Returns the last block as an input. */
const char *cr_pd_shipped_layers(cr_pd *p, cr_buf *b, const char *name, const char *inputs,
                                 const cr_conf_node *sizes);
/* Features and groups of a model with a linear part and fields of one width: wide, the weights of
 * ids; dense, the numbers as they are (if there are any); all, the vectors. first is the list of
 * the blocks that make the linear part, and adds those that add it up. */
typedef struct cr_pd_fields {
    const char *groups, *first, *adds;
} cr_pd_fields;
cr_pd_fields cr_pd_first_and_fields(cr_pd *p, const cr_pd_sizes *s);

/* ---- readers of the models below ---- */
void cr_pd_clicks(cr_pd *p);    /* label, userid, history, cate, position, target, ... */
void cr_pd_histories(cr_pd *p); /* items;categories;item;category;label, and drawn others */
void cr_pd_avazu(cr_pd *p);     /* 23 ids and the label, with commas */
void cr_pd_packages(cr_pd *p);  /* a user, what the user has seen, packages and their friends */
void cr_pd_rated(cr_pd *p);     /* items;ratings;rated;values;weight */
void cr_pd_users(cr_pd *p);     /* a user's features, and all items of the user */
void cr_pd_vectors(cr_pd *p);   /* watch;search;other;label */
void cr_pd_documents(cr_pd *p); /* query, positive and negatives as vectors, with tabs */
void cr_pd_titles(cr_pd *p);    /* slots 0, 1, 2 */
void cr_pd_tagged(cr_pd *p);    /* tag,words */
void cr_pd_words(cr_pd *p);     /* 100 words, their number, the label */
void cr_pd_sessions(cr_pd *p);  /* items of a session: every next one */
void cr_pd_last_item(cr_pd *p); /* items of a session: the last one, and a drawn one */
void cr_pd_skip_gram(cr_pd *p); /* words of a text: pairs of near ones, and drawn ones */
void cr_pd_interests(cr_pd *p); /* user,item,time as sessions; evaluation: slots */
void cr_pd_seeds(cr_pd *p);     /* label, user_seeds, target_user */
void cr_pd_clicked(cr_pd *p);   /* items of a session with commas, a tab, the next item */
void cr_pd_subwords(cr_pd *p);  /* words of a text, and the n-grams of each */
void cr_pd_tree(cr_pd *p);      /* a vector and an item, over a tree of items */
void cr_pd_texts(cr_pd *p);     /* two texts, with a tab */
void cr_pd_movies(cr_pd *p);    /* slots of a user and a movie, and the rating */
void cr_pd_news(cr_pd *p);      /* articles of candidates and browsed ones */
void cr_pd_pasted(cr_pd *p);    /* ids, and labels of another file */
void cr_pd_matrix(cr_pd *p);    /* a matrix of ids, the label last (2.0); feat_idx (1.8.5) */
void cr_pd_purchases(cr_pd *p); /* click, purchase, and ids of feature_vocabulary */
void cr_pd_behaviour(cr_pd *p); /* a history of 50 steps with masks, features, price, label */
void cr_pd_id_lines(cr_pd *p);  /* a label and ids, as many in every line */
void cr_pd_lists(cr_pd *p);     /* drawn lists: label;user;items;place */
void cr_pd_ad_tasks(cr_pd *p);  /* label, ids of a user, lists of ids, ids of an advertisement */
void cr_pd_social(cr_pd *p);    /* item;user;items, and a graph of all users and items */
void cr_pd_pictures(cr_pd *p);  /* label, numbers of a picture */
void cr_pd_knowledge(cr_pd *p); /* label, session, words, entities, neighbours, with tabs */
void cr_pd_page(cr_pd *p);      /* clicks with their places on a page; item;category;place;label */

/* ---- the models ---- */
void cr_pd_gatenet(cr_pd *p);
void cr_pd_difm(cr_pd *p);
void cr_pd_deepfefm(cr_pd *p);
void cr_pd_fat_deepffm(cr_pd *p);
void cr_pd_aitm(cr_pd *p);
void cr_pd_autofis(cr_pd *p);
void cr_pd_naml(cr_pd *p);
void cr_pd_fastformer(cr_pd *p);
/* cr_pd_news_sizes reads the sizes of a model of news. */
cr_paddle_news cr_pd_news_sizes(cr_pd *p);
/* cr_pd_matrix_fields: how many fields feature_name lists; 0: it is no list. */
int64_t cr_pd_matrix_fields(cr_pd *p);
void cr_pd_iprec(cr_pd *p);
/* cr_pd_package_sizes reads the sizes of iprec's rows. */
cr_paddle_packages cr_pd_package_sizes(cr_pd *p);
void cr_pd_deeprec(cr_pd *p);
/* cr_pd_rated_items: how many items deeprec's rows may have. */
int64_t cr_pd_rated_items(cr_pd *p);
void cr_pd_ensfm(cr_pd *p);
void cr_pd_mhcn(cr_pd *p);
void cr_pd_kim(cr_pd *p);
/* cr_pd_knowledge_sizes reads the sizes of kim's rows. */
cr_paddle_knowledge cr_pd_knowledge_sizes(cr_pd *p);
void cr_pd_escm2(cr_pd *p);
void cr_pd_dmr(cr_pd *p);
void cr_pd_dpin(cr_pd *p);
void cr_pd_listwise(cr_pd *p);
void cr_pd_bert4rec(cr_pd *p);
void cr_pd_tisas(cr_pd *p);
void cr_pd_digits(cr_pd *p); /* left;right;numbers of a picture */
void cr_pd_dselect_k(cr_pd *p);
/* cr_pd_digit_size reads how many numbers a picture has. */
int64_t cr_pd_digit_size(cr_pd *p);
void cr_pd_dsin(cr_pd *p);
/* cr_pd_session_sizes reads the sizes of dsin's histories. */
cr_paddle_sessions cr_pd_session_sizes(cr_pd *p);
/* cr_pd_interval_sizes reads the sizes of tisas's rows. */
cr_paddle_interval cr_pd_interval_sizes(cr_pd *p);
/* cr_pd_masked_sizes reads the sizes of bert4rec's sessions. */
cr_paddle_masked cr_pd_masked_sizes(cr_pd *p);
/* cr_pd_list_sizes reads the sizes of listwise's lists, of which a dataset has so many. */
cr_paddle_lists cr_pd_list_sizes(cr_pd *p, cr_pd_map dataset);
/* cr_pd_task_sizes reads the sizes of metaheac's tasks. */
cr_paddle_tasks cr_pd_task_sizes(cr_pd *p);
void cr_pd_metaheac(cr_pd *p);
/* cr_pd_picture_sizes reads the sizes of maml's tasks, of a training or an evaluation. */
cr_paddle_pictures cr_pd_picture_sizes(cr_pd *p, bool infer);
void cr_pd_maml(cr_pd *p);
void cr_pd_sign(cr_pd *p);
void cr_pd_afm(cr_pd *p);
void cr_pd_pnn(cr_pd *p);
void cr_pd_fgcnn(cr_pd *p);
void cr_pd_fibinet(cr_pd *p);
void cr_pd_flen(cr_pd *p);
void cr_pd_bst(cr_pd *p);
void cr_pd_dien(cr_pd *p);
void cr_pd_gru4rec(cr_pd *p);
void cr_pd_ssr(cr_pd *p);
void cr_pd_textcnn(cr_pd *p);
void cr_pd_tagspace(cr_pd *p);
void cr_pd_simnet(cr_pd *p);
void cr_pd_dssm(cr_pd *p);
void cr_pd_youtube_dnn(cr_pd *p);
void cr_pd_word2vec(cr_pd *p);
void cr_pd_look_alike(cr_pd *p);
void cr_pd_mind(cr_pd *p);
void cr_pd_gnn(cr_pd *p);
void cr_pd_fasttext(cr_pd *p);
void cr_pd_tdm(cr_pd *p);
void cr_pd_match_pyramid(cr_pd *p);
void cr_pd_movie_rank(cr_pd *p);
void cr_pd_movie_recall(cr_pd *p);
/* cr_pd_alone: is this an evaluation by itself, whose lines lack what training has? */
bool cr_pd_alone(const cr_pd *p);
/* cr_pd_skip_gram_and reads as cr_pd_skip_gram does, with more made columns and fields: YAML text
 * of list items, each with a comma in front. */
void cr_pd_skip_gram_and(cr_pd *p, const char *made, const char *fields);
void cr_pd_dnn(cr_pd *p);
void cr_pd_logistic_regression(cr_pd *p);
void cr_pd_fm(cr_pd *p);
void cr_pd_ffm(cr_pd *p);
void cr_pd_deepfm(cr_pd *p);
void cr_pd_wide_deep(cr_pd *p);
void cr_pd_dcn(cr_pd *p);
void cr_pd_dcn_v2(cr_pd *p);
void cr_pd_xdeepfm(cr_pd *p);
void cr_pd_autoint(cr_pd *p);
void cr_pd_dlrm(cr_pd *p);
void cr_pd_din(cr_pd *p);
void cr_pd_mmoe(cr_pd *p);
void cr_pd_share_bottom(cr_pd *p);
void cr_pd_ple(cr_pd *p);
void cr_pd_esmm(cr_pd *p);
void cr_pd_fnn(cr_pd *p);
void cr_pd_nfm(cr_pd *p);
void cr_pd_ncf(cr_pd *p);
void cr_pd_slot_dnn(cr_pd *p);
void cr_pd_deep_crossing(cr_pd *p);

/* ---- paddle.c ---- */
/* cr_pd_open reads the tree of a file of PaddleRec: kind, edits, workspace. */
CR_CHECKED cr_code cr_pd_open(cr_pd *p, cr_conf_doc *doc, const cr_dialect_opts *o, cr_diag *diag);
void cr_pd_close(cr_pd *p);
/* cr_pd_item finds the item of a list by its name; NULL: there is none. */
const cr_conf_node *cr_pd_item(const cr_conf_node *list, const char *name);
/* cr_pd_phase_of returns the names of a runner's phases, in order; n: how many. */
const char **cr_pd_phases_of(cr_pd *p, cr_pd_map runner, int *n);
bool cr_pd_infers(const char *runner_class);

#endif
