/*
 * ui.c - the words a person sees: progress line, counts of findings, quoting.
 */
#include "cli/cli.h"

#include "harness.h"

static const cr_cmd *const no_cmds[] = {NULL};

TEST(progress) {
    char s[200];
    cr_progress p = {.stage = "train",
                     .step = 1200,
                     .epoch = 0,
                     .n_epochs = 2,
                     .rows = 1200000,
                     .rows_per_s = 145000,
                     .loss = 0.45231,
                     .seconds_left = 72};
    cr_progress_text(s, sizeof s, &p, 200);
    CHECK_STR(s, "train  epoch 1/2  step 1200  1.2M rows  145k rows/s  loss 0.4523  1m 12s left");
    p.epoch = 2; /* all done */
    p.seconds_left = -1;
    cr_progress_text(s, sizeof s, &p, 200);
    CHECK_STR(s, "train  epoch 2/2  step 1200  1.2M rows  145k rows/s  loss 0.4523");
    p.n_epochs = 0;
    p.n_steps = 5000;
    cr_progress_text(s, sizeof s, &p, 200);
    CHECK_STR(s, "train  step 1200/5000  1.2M rows  145k rows/s  loss 0.4523");
    p.metric = "auc";
    p.metric_value = 0.78125;
    cr_progress_text(s, sizeof s, &p, 200);
    CHECK_STR(s, "train  step 1200/5000  1.2M rows  145k rows/s  loss 0.4523  auc 0.7812");
    p.metric_value = NAN; /* undefined: one class only */
    cr_progress_text(s, sizeof s, &p, 200);
    CHECK_STR(s, "train  step 1200/5000  1.2M rows  145k rows/s  loss 0.4523");
    cr_progress q = {.stage = "predict", .rows = 850, .seconds_left = -1};
    cr_progress_text(s, sizeof s, &q, 200);
    CHECK_STR(s, "predict  850 rows");
    char few[8];
    cr_progress_text(few, sizeof few, &p, 200);
    CHECK_STR(few, "train  ");
}

/* what fits: the least important goes first, loss and time left stay */
TEST(narrow_progress) {
    cr_progress p = {.stage = "train",
                     .step = 1200,
                     .n_steps = 5000,
                     .n_epochs = 2,
                     .rows = 1200000,
                     .rows_per_s = 145000,
                     .loss = 0.45231,
                     .metric = "auc",
                     .metric_value = 0.78125,
                     .seconds_left = 72};
    static const struct {
        int width;
        const char *text;
    } rows[] = {
        {200, "train  epoch 1/2  step 1200/5000  1.2M rows  145k rows/s  loss 0.4523  auc 0.7812  "
              "1m 12s left"},
        {92, "train  epoch 1/2  step 1200/5000  145k rows/s  loss 0.4523  auc 0.7812  1m 12s left"},
        {80, "train  epoch 1/2  step 1200/5000  loss 0.4523  auc 0.7812  1m 12s left"},
        {60, "train  step 1200/5000  loss 0.4523  auc 0.7812  1m 12s left"},
        {58, "step 1200/5000  loss 0.4523  auc 0.7812  1m 12s left"},
        {49, "step 1200/5000  loss 0.4523  1m 12s left"},
        {39, "loss 0.4523  1m 12s left"},
        {24, "loss 0.4523  1m 12s left"},
        {19, "loss 0.4523  1m 12s"},
        {18, "0.4523  1m 12s"},
        {10, "0.4523"},
    };
    char s[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_progress_text(s, sizeof s, &p, rows[i].width);
        CHECK_STR(s, rows[i].text);
    }
    cr_progress q = {.stage = "predict", .rows = 850000, .rows_per_s = 1e5, .seconds_left = -1};
    cr_progress_text(s, sizeof s, &q, 20);
    CHECK_STR(s, "predict  850k rows");
    cr_progress_text(s, sizeof s, &q, 12);
    CHECK_STR(s, "850k rows");
}

TEST(findings) {
    cr_ui ui;
    char counts[64];
    cr_ui_init(&ui, no_cmds);
    CHECK(!cr_ui_counts(&ui, counts));
    cr_diag_add(&ui.diag, CR_SEV_WARN, CR_OK, CR_NOWHERE, "w");
    CHECK(cr_ui_counts(&ui, counts));
    CHECK_STR(counts, "1 warning");
    CHECK_INT(cr_ui_wrong(&ui, "a %d", 1), CR_EUSAGE);
    cr_err err;
    CHECK_INT(cr_fail_at(&err, CR_EDATA, ((cr_loc){"f.csv", 3, 4}), "bad"), CR_EDATA);
    CHECK_INT(cr_ui_fail(&ui, &err), CR_EDATA);
    CHECK(cr_ui_counts(&ui, counts));
    CHECK_STR(counts, "2 errors, 1 warning");
    CHECK_STR(ui.diag.v[2].at.path, "f.csv");
    CHECK_STR(ui.diag.v[2].msg, "bad");
    /* where it was found: for errors that were handed on, the first place */
    CHECK(strstr(ui.diag.v[0].src, "unit/cli/ui.c") != NULL);
    CHECK(strstr(ui.diag.v[2].src, "unit/cli/ui.c") != NULL);
    CHECK_INT(ui.diag.v[2].src_line, err.src_line);
    cr_ui_clear(&ui);
}

TEST(quotes) {
    cr_ui ui;
    cr_ui_init(&ui, no_cmds);
    CHECK_STR(cr_ui_quote(&ui, "a/b-c.d"), "a/b-c.d");
    CHECK_STR(cr_ui_quote(&ui, "a b"), "'a b'");
    CHECK_STR(cr_ui_quote(&ui, "it's*"), "'it'\\''s*'");
    CHECK_STR(cr_ui_quote(&ui, ""), "''");
    cr_ui_clear(&ui);
}

TEST_MAIN(CASE(progress), CASE(narrow_progress), CASE(findings), CASE(quotes))
