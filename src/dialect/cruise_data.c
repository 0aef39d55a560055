/*
 * cruise_data.c - the section data: sources, folders and files.
 *
 * A folder expression has alternatives with | between them, each a glob; $ stands between
 * independent sources, in the directory and in the folder. One directory serves all folders of
 * several sources. Training mixes sources in every batch (data_config.mixing); an evaluation reads
 * every row of every source once.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dialect/cruise_int.h"
#include "dialect/dialect.h"

static const cr_rule data_rules[] = {SPENT("type"), SPENT("dataset"), SPENT("feature_provider"),
                                     SPENT("data_factory"), END};
static const cr_rule dataset_rules[] = {
    SPENT("input_dir"),
    SPENT("val_input_dir"),
    SPENT("test_input_dir"),
    SPENT("train_folder"),
    SPENT("val_folder"),
    SPENT("test_folder"),
    END,
};
static const cr_rule provider_rules[] = {
    SPENT("type"),
    SPENT("feature_num"),
    SPENT("slot_mask"),
    SPENT("feature_norm_info"),
    SPENT("embedding_conf"),
    LOST(
        "tokenizer_path", NULL,
        "the vector of the text is made before, so nothing is tokenized; it is read from the data"),
    IDLE("max_length", NULL, "it matters only with a tokenizer"),
    IDLE("max_len", NULL, "it matters only with a tokenizer"),
    SPENT("use_high_precision"),
    SPENT("filtered_tags"),
    IDLE("save_extra", "false", CR_CRUISE_NONE),
    IDLE("eval_mode", "false", CR_CRUISE_NONE),
    IDLE("trace_mode", "false", CR_CRUISE_NONE),
    END,
};
static const cr_rule factory_rules[] = {
    SPENT("type"),
    TAKE("batch_size", NULL, "128"),
    SPENT("batch_size_val"),
    TAKE("num_workers", NULL, NULL),
    IDLE("num_parallel_reads", "4", CR_CRUISE_NONE),
    TAKE("drop_last", "drop_remainder", "false"),
    TAKE("shuffle", NULL, "true"),
    IDLE("shuffle_files", "false", "shuffle mixes the rows of all files"),
    SPENT("train_max_iteration"),
    SPENT("val_max_iteration"),
    SPENT("test_max_iteration"),
    IDLE("fast_resume", "true", CR_CRUISE_SAME),
    IDLE("parquet_cache_on", "true", CR_CRUISE_NONE),
    SPENT("multiplex_mix_batch"),
    SPENT("multiplex_dataset_weights"),
    SPENT("filename_pattern"),
    SPENT("file_min_size"),
    CUT("group_keys", "it belongs to KVDataFactory, whose format is not published; remove it"),
    CUT("data_schema", "the columns are those of the slots; remove it"),
    END,
};

/* Kinds of files. */
static const struct kind {
    const char *type, *dataset, *pattern;
} kinds[] = {
    {"ParquetDataFactory", "ParquetDataset", "*parquet"},
    {"TFRecordDataFactory", "TFRecordDataset", "*tfrecord"},
    {"JsonLDataFactory", "JsonDataset", "*"},
    {"KVDataFactory", NULL, "*index"},
};

static const struct kind *kind_of(const cr_conf_node *factory) {
    const char *type = factory ? cr_rw_str(factory, "type", "") : "";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].type, type) == 0) return &kinds[i];
    return &kinds[0];
}

/* The names of files: filename_pattern, or those of the kind. */
static const char *pattern_of(const cr_conf_node *factory) {
    const char *said = factory ? cr_rw_str(factory, "filename_pattern", "") : "";
    return *said ? said : kind_of(factory)->pattern;
}

/* ---- paths ---- */

/* Makes globs of a directory and of alternatives: dir/alternative/pattern, with commas. */
static void join(cr_buf *b, const char *dir, size_t n, const char *folders, size_t n_folders,
                 const char *pattern) {
    const char *p = folders, *all = folders + n_folders;
    while (n > 1 && dir[n - 1] == '/')
        n--;
    do {
        const char *end = memchr(p, '|', (size_t)(all - p));
        if (!end) end = all;
        if (b->n && b->data[b->n - 1] != '$') cr_buf_char(b, ',');
        cr_buf_add(b, dir, n);
        if (end > p) cr_buf_printf(b, "/%.*s", (int)(end - p), p);
        cr_buf_printf(b, "/%s", pattern);
        p = end < all ? end + 1 : all;
    } while (p < all);
}

static int count(const char *text) {
    int n = 1;
    for (; *text; text++)
        n += *text == '$';
    return n;
}

/* Puts the sources together, with `between` between them. Returns their number; 0: the directories
 * and the folders do not fit. */
static int sources(cr_buf *b, const char *dirs, const char *folders, const char *pattern,
                   char between) {
    int n_dirs = count(dirs), n_folders = count(folders);
    int n = n_dirs > n_folders ? n_dirs : n_folders;
    if ((n_dirs != n && n_dirs != 1) || (n_folders != n && n_folders != 1)) return 0;
    const char *dir = dirs, *folder = folders;
    for (int i = 0; i < n; i++) {
        size_t d = strcspn(dir, "$"), f = strcspn(folder, "$");
        if (i) cr_buf_char(b, between);
        if (i && between == ',') b->data[--b->n] = 0; /* join writes it */
        join(b, dir, d, folder, f, pattern);
        if (n_dirs > 1 && i + 1 < n) dir += d + 1;
        if (n_folders > 1 && i + 1 < n) folder += f + 1;
    }
    return n;
}

const char *cr_cruise_test_paths(cr_arena *a, const cr_conf_node *root) {
    const cr_conf_node *data = cr_conf_find(root, "data");
    const cr_conf_node *set = data ? cr_conf_find(data, "dataset") : NULL;
    const cr_conf_node *factory = data ? cr_conf_find(data, "data_factory") : NULL;
    const char *dir = set ? cr_rw_str(set, "test_input_dir", "") : "", *out = NULL;
    if (!*dir || strcmp(dir, "null") == 0) return NULL;
    cr_buf b;
    cr_buf_init(&b);
    if (sources(&b, dir, cr_rw_str(set, "test_folder", ""), pattern_of(factory), ',') > 0)
        out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

int64_t cr_cruise_test_steps(const cr_conf_node *root) {
    static const char *const keys[][3] = {{"trainer", NULL, "limit_test_batches"},
                                          {"data", "data_factory", "test_max_iteration"}};
    double least = 0;
    for (int i = 0; i < 2; i++) {
        const cr_conf_node *m = cr_conf_find(root, keys[i][0]);
        if (m && keys[i][1]) m = cr_conf_find(m, keys[i][1]);
        double n = m ? cr_rw_num(m, keys[i][2], -1) : -1;
        if (n > 0 && (least == 0 || n < least)) least = n;
    }
    return (int64_t)least;
}

static int paths(cr_rw *w, cr_cruise *c, const cr_conf_node *set, const char *dir_key,
                 const char *folder_key, const char *to, bool train) {
    const char *dir = cr_rw_str(set, dir_key, ""), *folder = cr_rw_str(set, folder_key, "");
    cr_loc at = cr_rw_at(set, dir_key);
    if (!*dir) {
        if (train) cr_rw_tell(w, CR_SEV_ERROR, set->at, "%s is missing; name a folder", dir_key);
        return 1;
    }
    cr_buf b;
    cr_buf_init(&b);
    int n = sources(&b, dir, folder, pattern_of(c->factory), train ? '$' : ',');
    if (n == 0)
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(set, folder_key),
                   "%s names %d sources ($) and %s %d; give one directory, or one for each folder",
                   dir_key, count(dir), folder_key, count(folder));
    else
        cr_rw_put_str(w, c->root, to, at, b.data);
    cr_buf_clear(&b);
    return n;
}

/* How the sources of the training are mixed. */
static void mixing(cr_rw *w, cr_cruise *c, int n) {
    const cr_conf_node *l = cr_conf_find(c->factory, "multiplex_dataset_weights");
    bool mix = cr_cruise_bool(w, c->factory, "multiplex_mix_batch", true);
    double sum = 0, x;
    cr_loc at = cr_rw_at(c->factory, "multiplex_dataset_weights");
    if (l && l->kind == CR_NODE_LIST && l->n == 0) l = NULL;
    if (l && (l->kind != CR_NODE_LIST || (n > 1 && l->n != (size_t)n))) {
        cr_rw_tell(w, CR_SEV_ERROR, at, "multiplex_dataset_weights holds a number per source, %d",
                   n);
        return;
    }
    for (size_t i = 0; l && i < l->n; i++)
        if (!cr_cruise_is_number(l->v[i].val, &x) || x <= 0 || x > 1)
            cr_rw_tell(w, CR_SEV_ERROR, l->v[i].at,
                       "a weight of a source is above 0 and at most 1");
        else
            sum += x;
    if (n < 2) return; /* weights of one source change nothing */
    if (l && mix && fabs(sum - 1) > 1e-6)
        cr_rw_tell(w, CR_SEV_ERROR, at, "multiplex_dataset_weights add up to %g and must to 1",
                   sum);
    cr_conf_node *m = cr_rw_map(w, c->set, "mixing", at);
    if (!mix) cr_rw_put_bool(w, m, "whole_batches", at, true);
    if (l) cr_conf_push(w->doc, m, "weights", at, (cr_conf_node *)(uintptr_t)l);
}

/* ---- rows ---- */

/* Which rows are left out: those of the source high_precision, and those with a filtered tag. */
static void rows(cr_rw *w, cr_cruise *c) {
    const cr_conf_node *p = c->provider;
    const char *tags = cr_rw_str(p, "filtered_tags", "");
    bool high = cr_cruise_bool(w, p, "use_high_precision", true);
    if (!*tags && high) return;
    cr_conf_node *list = cr_cruise_list(w, c->set, "skip_rows", p->at);
    if (!high) {
        cr_loc at = cr_rw_at(p, "use_high_precision");
        cr_conf_node *m = cr_cruise_item(w, list, at);
        cr_rw_put_str(w, m, "column", at, "source");
        cr_rw_put_str(w, m, "pattern", at, "^high_precision$");
    }
    if (*tags) {
        cr_loc at = cr_rw_at(p, "filtered_tags");
        cr_conf_node *m = cr_cruise_item(w, list, at);
        cr_rw_put_str(w, m, "column", at, "verify_reason");
        cr_rw_put_str(w, m, "pattern", at, tags);
    }
}

/* Files that do not say what their columns hold are told. */
static void columns(cr_rw *w, cr_cruise *c) {
    static const char *const labels[] = {"label", "censor_label", "reject_label"};
    cr_conf_node *list = cr_cruise_list(w, c->set, "label_fields", c->data->at);
    for (int i = c->two_tasks ? 1 : 0; i < (c->two_tasks ? 3 : 1); i++)
        cr_cruise_name(w, list, labels[i]);
}

void cr_cruise_data(cr_rw *w, cr_cruise *c) {
    static const char *const modules[] = {"ParquetAutoDisDataModule",
                                          "EcomLiveGandalfParquetAutoDisCruiseDataModule", NULL};
    static const char *const providers[] = {"AutoDisFeatureProvider",
                                            "EcomLiveGandalfParquetAutoDisFeatureProvider",
                                            "EcomLiveGandalfParquetAutoDisMtlFeatureProvider",
                                            NULL};
    static const char *const factories[] = {"ParquetDataFactory", "TFRecordDataFactory",
                                            "JsonLDataFactory", NULL};
    cr_cruise_section(w, "data", data_rules, c->data, NULL);
    const cr_conf_node *set = cr_cruise_part(w, c->data, "dataset", true);
    c->provider = cr_cruise_part(w, c->data, "feature_provider", true);
    c->factory = cr_cruise_part(w, c->data, "data_factory", true);
    (void)cr_cruise_type(w, c->data, "data", modules);
    c->two_tasks = cr_cruise_type(w, c->provider, "data.feature_provider", providers) == 2;
    const struct kind *kind = kind_of(c->factory);
    if (kind->dataset)
        (void)cr_cruise_type(w, c->factory, "data.data_factory", factories);
    else
        cr_rw_tell(w, CR_SEV_ERROR, cr_rw_at(c->factory, "type"),
                   "the files of %s are not published, so crank cannot read them; write Parquet "
                   "files, TFRecords or JSON lines",
                   kind->type);
    cr_cruise_section(w, "data.dataset", dataset_rules, set, NULL);
    cr_cruise_section(w, "data.feature_provider", provider_rules, c->provider, NULL);
    cr_rw_put_word(w, c->set, "dataset_type", c->data->at,
                   kind->dataset ? kind->dataset : "ParquetDataset");
    cr_rw_put_word(w, c->set, "fg_mode", c->data->at, "FG_NORMAL");
    columns(w, c);
    cr_cruise_section(w, "data.data_factory", factory_rules, c->factory, c->set);
    /* a batch_size that is no number is told when the native key is bound */
    const cr_conf_node *size = cr_conf_find(c->factory, "batch_size");
    double batch = 128;
    if (size && !cr_cruise_is_number(size, &batch)) batch = 128;
    double val = cr_cruise_number(w, c->factory, "batch_size_val", -1);
    cr_rw_put_num(w, c->set, "eval_batch_size", c->factory->at,
                  val > 0 ? val : fmax(1, floor(batch / 2)));
    cr_rw_put_bool(w, c->set, "unique_files", c->factory->at, true);
    double least = cr_cruise_number(w, c->factory, "file_min_size", 0);
    if (least > 0)
        cr_rw_put_num(w, c->set, "min_file_bytes", cr_rw_at(c->factory, "file_min_size"),
                      floor(least) + 1);
    mixing(w, c, paths(w, c, set, "input_dir", "train_folder", "train_input_path", true));
    (void)paths(w, c, set, "val_input_dir", "val_folder", "eval_input_path", false);
    rows(w, c);
}
