/*
 * stream.c - what the rows of a training depend on: which files, which of their rows, in which
 * order. A checkpoint keeps it as text and digests, and a run that continues is compared with it.
 */
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "data/files.h"
#include "run/stream_int.h"

const char *cr_train_split(const cr_job *j, cr_arena *a) {
    const cr_data_conf *d = j->root->data_config;
    if (d->eval_fraction <= 0) return "";
    return *d->eval_fraction_field ? cr_arena_printf(a, "eval_fraction %.6g of '%s'",
                                                     d->eval_fraction, d->eval_fraction_field)
                                   : cr_arena_printf(a, "eval_fraction %.6g", d->eval_fraction);
}

char *cr_train_stream(const cr_job *j, int64_t bytes, cr_arena *a) {
    const cr_data_conf *d = j->root->data_config;
    char *shuffle = d->shuffle ? cr_arena_printf(a, "shuffle_buffer_size %lld, ",
                                                 (long long)d->shuffle_buffer_size)
                               : cr_arena_strdup(a, "no shuffle, ");
    const char *split = cr_train_split(j, a);
    return cr_arena_printf(a, "batch_size %lld, %s%lld bytes of data%s%s", (long long)j->batch,
                           shuffle, (long long)bytes, *split ? ", " : "", split);
}

/* Returns the rows of a global batch from a text of cr_train_stream; 0: it does not say. */
static int64_t batch_of(const char *stream) {
    static const char before[] = "batch_size ";
    const char *at = stream && strncmp(stream, before, sizeof before - 1) == 0
                         ? stream + sizeof before - 1
                         : NULL;
    int64_t n;
    return at && cr_parse_i64(at, strcspn(at, ","), &n) ? n : 0;
}

int64_t cr_train_bytes(const cr_job *j) {
    cr_arena a;
    char **paths;
    size_t n = 0;
    int64_t all = 0;
    cr_arena_init(&a, 0);
    if (cr_data_files(j->root->data_config, &a, j->root->train_input_path, j->reader->exts, &paths,
                      &n, NULL) != CR_OK)
        n = 0;
    for (size_t i = 0; i < n; i++) {
        cr_fs_stat st;
        const char *dot = strrchr(paths[i], '.');
        if ((dot && (strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0)) ||
            cr_fs_stat_data(paths[i], &st, NULL) != 0 || st.kind == CR_FS_DIR) {
            all = 0; /* the files are compressed, so the size says nothing */
            break;
        }
        all += st.size;
    }
    cr_arena_clear(&a);
    return all;
}

static bool other_files(cr_data_digest was, cr_data_digest now, const char **how) {
    bool known = (was.content || was.times) && (now.content || now.times);
    *how = was.content != now.content ? "hold something else now" : "were written again since then";
    return known && (was.content != now.content || was.times != now.times);
}

void cr_train_compare(cr_job *j, const cr_ckpt_state *s, const char *path, int64_t bytes,
                      cr_data_digest files, const cr_evaluator *ev, cr_diag *diag) {
    const char *now = cr_train_stream(j, bytes, &j->cfg.arena), *how;
    cr_loc at = {path, 0, 0};
    bool inside = s->data.unit > 0 || s->data.row > 0; /* the position is inside an epoch */
    const char *split = cr_train_split(j, &j->cfg.arena), *was = s->split ? s->split : split;
    if (*split && strcmp(split, was) != 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ERUN, at,
                    "made with %s, now it is %s; evaluation may see rows that were trained on",
                    *was ? was : "no eval_fraction", split);
    int64_t batch = batch_of(s->extra);
    if (inside && s->extra && strcmp(s->extra, now) != 0)
        cr_diag_add(diag, CR_SEV_WARN, CR_ERUN, at,
                    "made with %s, now it is %s; rows of this epoch may come again or be missed",
                    s->extra, now);
    else if (batch > 0 && batch != j->batch)
        cr_diag_add(diag, CR_SEV_WARN, CR_ERUN, at,
                    "made with a global batch of %lld rows, and now it has %lld: results differ "
                    "from an unbroken run; data_config.batch_size counts for each rank",
                    (long long)batch, (long long)j->batch);
    else if (other_files(s->train_files, files, &how))
        cr_diag_add(diag, CR_SEV_WARN, CR_ERUN, at,
                    "the training files that it was made with %s: %s", how,
                    inside ? "rows of this epoch may come again or be missed"
                           : "results differ from an unbroken run");
    if (ev && *j->root->eval_input_path && other_files(s->eval_files, cr_evaluator_data(ev), &how))
        cr_diag_add(diag, CR_SEV_WARN, CR_ERUN, at,
                    "the files of eval_input_path %s: metrics from before and from now on are of "
                    "different data",
                    how);
}
