/*
 * paddle_rows.c - data of which a row lies in several files or lines: `crank run` writes the rows
 * to a folder beside the checkpoints before it trains or evaluates, and the config reads that
 * folder.
 *
 *   mind                 user,item,time: <model_save_path>/sessions, a line per user
 *   autofis              ids in *x.txt, labels in *y.txt: <model_save_path>/rows/train and, for an
 *                        evaluation, <infer_load_path>/rows/test
 *   naml, fastformer     articles in article.txt, lines that name them in browse.txt: the same
 *   fgcnn                a matrix in HDF5 files: the same
 *   bert4rec             lines with padding, candidates in a pickle: the same
 *   tisas                user, item, rating, time: the same, a line per user
 *   metaheac             tasks that are drawn from a pickled frame: the same, an evaluation has a
 *                        folder for each task
 *   kim                  articles, entities and their graph, sessions: the same
 *   mhcn                 ratings and relations of users: the same
 *   iprec                lines of JSON with lists of packages: the same
 *   deeprec              user, item, rating: the same, a line per user
 *   maml                 tasks of pictures in PNG files: the same
 *   ensfm                pairs of users and items in train.csv and test.csv: the same
 *   dselect_k            pictures and labels in pickles: the same
 *   dsin                 arrays and a frame in pickles: the same
 *   listwise             drawn lists, without data: <save_checkpoint_path>/rows/train and, for an
 *                        evaluation, rows/test beside the epochs
 *
 * Which data that is follows from hyper-parameters that these models alone have, because the list
 * of runs is made before the model is known.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dialect/paddle_int.h"

static bool has(const cr_pd *p, const char *a, const char *b) {
    return p->hyper.map && cr_conf_find(p->hyper.map, a) && cr_conf_find(p->hyper.map, b);
}

/* The path of a file that the runner names, which lies beside the config. */
static const char *beside(cr_pd *p, const char *key) {
    const char *name = cr_pd_str(p, p->runner, key, true);
    return cr_path_join(&p->doc->arena, cr_path_dir(&p->doc->arena, p->path), name ? name : "");
}

cr_paddle_rows cr_pd_rows(cr_pd *p, bool infer) {
    cr_paddle_rows r = {0};
    cr_arena *a = &p->doc->arena;
    if (p->old) return r;
    if (has(p, "neg_samples", "pow_p")) r.kind = infer ? CR_ROWS_AS_THEY_ARE : CR_ROWS_SESSIONS;
    if (has(p, "grad_c", "grad_mu")) r.kind = CR_ROWS_PASTED;
    if (has(p, "neg_condidate_sample_size", "article_title_size")) r.kind = CR_ROWS_NEWS;
    if (has(p, "new_maps", "pooling_width")) r.kind = CR_ROWS_MATRIX;
    if (has(p, "_voc_size", "_max_position_seq_len")) r.kind = CR_ROWS_MASKED;
    if (has(p, "time_span", "maxlen")) r.kind = CR_ROWS_INTERVALS;
    if (has(p, "negative_weight", "mf_dim")) r.kind = CR_ROWS_USERS;
    if (has(p, "local_lr", "num_expert")) r.kind = CR_ROWS_TASKS;
    if (has(p, "n_layer", "num_factors")) r.kind = CR_ROWS_SOCIAL;
    if (has(p, "u_max_pack", "pack_max_nei_b")) r.kind = CR_ROWS_PACKAGES;
    if (has(p, "layer_sizes", "dp_drop_prob")) r.kind = CR_ROWS_RATINGS;
    if (has(p, "expert_num", "top_k")) r.kind = CR_ROWS_DIGITS;
    if (has(p, "feat_embed_size", "cms_segid_size")) r.kind = CR_ROWS_STEPS;
    if (has(p, "update_step", "k_query")) r.kind = CR_ROWS_PICTURES;
    if (has(p, "max_entity_num", "npratio")) r.kind = CR_ROWS_KNOWLEDGE;
    if (r.kind == CR_ROWS_AS_THEY_ARE) return r;
    if (r.kind == CR_ROWS_PICTURES) r.pictures = cr_pd_picture_sizes(p, infer);
    if (r.kind == CR_ROWS_TASKS) r.tasks = cr_pd_task_sizes(p);
    if (r.kind == CR_ROWS_KNOWLEDGE) r.knowledge = cr_pd_knowledge_sizes(p);
    if (r.kind == CR_ROWS_SOCIAL) {
        r.ratings = beside(p, "rating_file");
        r.relations = beside(p, "relation_file");
    }
    if (r.kind == CR_ROWS_PACKAGES) r.packages = cr_pd_package_sizes(p);
    if (r.kind == CR_ROWS_INTERVALS) r.interval = cr_pd_interval_sizes(p);
    if (r.kind == CR_ROWS_STEPS) r.sessions = cr_pd_session_sizes(p);
    if (r.kind == CR_ROWS_MASKED) r.masked = cr_pd_masked_sizes(p);
    if (r.kind == CR_ROWS_NEWS) r.news = cr_pd_news_sizes(p);
    if (r.kind == CR_ROWS_DIGITS) r.fields = cr_pd_digit_size(p);
    if (r.kind == CR_ROWS_MATRIX) r.fields = cr_pd_matrix_fields(p);
    const char *save =
        cr_pd_str(p, p->runner, infer ? "infer_load_path" : "model_save_path", false);
    const char *data = cr_pd_str(p, p->runner, infer ? "test_data_dir" : "train_data_dir", false);
    r.raw = cr_path_join(a, cr_path_dir(a, p->path), data ? data : "");
    if (r.kind == CR_ROWS_RATINGS) {
        const char *known = cr_pd_str(p, p->runner, "train_data_dir", infer);
        r.known = cr_path_join(a, cr_path_dir(a, p->path), known ? known : "");
        r.items = cr_pd_rated_items(p);
    }
    r.dir = cr_path_join(a, save ? save : "model_output",
                         r.kind == CR_ROWS_SESSIONS ? "sessions"
                         : infer                    ? "rows/test"
                                                    : "rows/train");
    return r;
}

cr_paddle_rows cr_pd_old_rows(cr_pd *p, cr_pd_map runner, cr_pd_map dataset) {
    cr_paddle_rows r = {0};
    cr_arena *a = &p->doc->arena;
    if (!has(p, "user_vocab", "item_len")) return r;
    bool infer = cr_pd_infers(cr_conf_find_text(runner.map, "class"));
    const char *dir =
        cr_pd_str(p, runner, infer ? "init_model_path" : "save_checkpoint_path", false);
    if (!dir || !*dir) dir = "model_output";
    /* an evaluation may name one epoch, which is a checkpoint and gets no other files */
    const char *base = cr_path_base(dir);
    if (infer &&
        (strspn(base, "0123456789") == strlen(base) || strncmp(base, "model.ckpt", 10) == 0))
        dir = cr_path_dir(a, dir);
    r.kind = CR_ROWS_LISTS;
    r.lists = cr_pd_list_sizes(p, dataset);
    r.dir = cr_path_join(a, dir, infer ? "rows/test" : "rows/train");
    return r;
}

/* ---- autofis ---- */

/* The rate falls five times in an epoch, so the number of rows is needed. */
static void find_falls(cr_pd *p) {
    cr_paddle_rows r = cr_pd_rows(p, false);
    cr_err err;
    cr_buf text;
    int64_t batch = cr_pd_int(p, p->runner, "train_batch_size", 1, 1, 1000000000);
    cr_buf_init(&text);
    /* without the keys of autofis nothing says where its rows are, and the keys are asked for */
    if (r.dir &&
        cr_file_read(cr_path_join(&p->doc->arena, r.dir, ".count"), 64, &text, &err) == CR_OK)
        p->falls_every = strtoll(text.data, NULL, 10) / batch / 5;
    if (p->falls_every == 0) cr_pd_idle(p, p->optimizer, "gamma");
    cr_buf_clear(&text);
}

void cr_pd_pasted(cr_pd *p) {
    find_falls(p);
    int64_t n = cr_pd_int(p, p->hyper, "num_inputs", CR_PD_REQUIRED, 2, 10000);
    cr_buf fields, widths;
    cr_buf_init(&fields);
    cr_buf_init(&widths);
    cr_buf_str(&fields, "{input_name: label, input_type: INT64}");
    cr_buf_str(&widths, "1");
    p->ids = CR_NEW_N(&p->doc->arena, const char *, n + 1);
    p->n_ids = (int)n;
    for (int i = 0; i < (int)n; i++) {
        p->ids[i] = cr_arena_printf(&p->doc->arena, "field_%d", i + 1);
        cr_buf_printf(&fields, ", {input_name: %s, input_type: ARRAY_INT64}", p->ids[i]);
        cr_buf_str(&widths, ", 1");
    }
    cr_pd_put(p, p->data_at,
              "data_config: {dataset_type: SlotDataset, fg_mode: FG_NONE, label_fields: [label], "
              "slot_text: {form: FIXED, widths: [%s]}, input_fields: [%s]}",
              widths.data, fields.data);
    cr_buf_clear(&fields);
    cr_buf_clear(&widths);
}
