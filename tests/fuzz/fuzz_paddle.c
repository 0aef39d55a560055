/*
 * fuzz_paddle.c - any bytes as a config of PaddleRec: it becomes a config of crank, or is refused
 * with words.
 *
 * The first byte chooses the part (training, evaluation, both) and the variant; the rest is the
 * YAML text. The second byte, from 'A' on, names a model that the text is taken for (phase.model,
 * the folder of the config), so that every model is reached; new ones go to the end of the list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "dialect/paddle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const models[] = {"afm",
                                     "autoint",
                                     "bst",
                                     "dcn",
                                     "dcn_v2",
                                     "deep_crossing",
                                     "deepfm",
                                     "dien",
                                     "din",
                                     "dlrm",
                                     "dnn",
                                     "dssm",
                                     "esmm",
                                     "ffm",
                                     "fgcnn",
                                     "fibinet",
                                     "flen",
                                     "fm",
                                     "fnn",
                                     "gru4rec",
                                     "mmoe",
                                     "ncf",
                                     "nfm",
                                     "ple",
                                     "pnn",
                                     "slot_dnn",
                                     "share_bottom",
                                     "ssr",
                                     "look_alike_recall",
                                     "multiview_simnet",
                                     "tagspace",
                                     "textcnn",
                                     "wide_deep",
                                     "word2vec",
                                     "xdeepfm",
                                     "youtube_dnn",
                                     "logistic_regression",
                                     "aitm",
                                     "autofis",
                                     "deepfefm",
                                     "difm",
                                     "dmr",
                                     "dpin",
                                     "escm2",
                                     "fastformer",
                                     "fasttext",
                                     "fat_deepffm",
                                     "gatenet",
                                     "gnn",
                                     "listwise",
                                     "match_pyramid",
                                     "mind",
                                     "movie_rank",
                                     "movie_recall",
                                     "naml",
                                     "tdm",
                                     "textcnn_pretrain",
                                     "dsin",
                                     "metaheac",
                                     "maml",
                                     "dselect_k",
                                     "mhcn",
                                     "kim"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 20000) return 0;
    size_t n = sizeof models / sizeof *models;
    char path[64];
    snprintf(path, sizeof path, "%s/config.yaml", models[(uint8_t)(data[1] - 'A') % n]);
    cr_conf_doc doc;
    cr_diag diag;
    cr_dialect_opts o = {.part = (cr_dialect_part)(data[0] % 3), .compat = data[0] & 4};
    cr_conf_doc_init(&doc);
    cr_diag_init(&diag);
    cr_code code =
        cr_conf_parse(&doc, CR_SYNTAX_YAML, path, (const char *)data + 2, size - 2, &diag);
    if (code == CR_OK) code = cr_dialect_rewrite(&doc, &o, &diag);
    if (code != CR_OK && diag.n_errors == 0) abort(); /* refused without a word */
    for (size_t i = 0; i < diag.n; i++)
        if (!diag.v[i].msg || !*diag.v[i].msg) abort();
    cr_diag_clear(&diag);
    cr_conf_doc_clear(&doc);
    return 0;
}
