/*
 * align.c - logs of several programs give the same curve, and the rules of tool/align.h on numbers
 * whose answer is known.
 */
#include "tool/align.h"

#include <math.h>

#include "harness.h"

static cr_arena arena;

static cr_align_log read_text(const char *text, const char *key) {
    cr_align_log log = {0};
    cr_align_read(&arena, text, strlen(text), key, &log);
    cr_align_read_end(&arena, &log);
    return log;
}

/* every format of the same two steps, and the name of the loss in it */
static const struct {
    const char *name, *text;
} formats[] = {
    {"train.loss",
     "{\"event\": \"start\", \"time\": 1.5, \"rank\": 0, \"seed\": 7}\n"
     "{\"event\": \"train\", \"rank\": 0, \"epoch\": 0, \"step\": 100, \"train.loss\": 0.5123}\n"
     "{\"event\": \"train\", \"rank\": 0, \"epoch\": 0, \"step\": 200, \"train.loss\": 0.25}\n"},
    {"train.loss",
     "DLLL {\"timestamp\": \"1735689605.25\", \"datetime\": \"2025-01-01 00:00:05.250000+00:00\", "
     "\"elapsedtime\": \"5.127\", \"type\": \"LOG\", \"step\": \"PARAMETER\", \"data\": "
     "{\"train.loss\": 9}}\n"
     "DLLL {\"timestamp\": \"1735689605.25\", \"datetime\": \"2025-01-01 00:00:05.250000+00:00\", "
     "\"elapsedtime\": \"5.127\", \"type\": \"LOG\", \"step\": [0, 100], \"data\": "
     "{\"train.loss\": "
     "0.5123, \"train.ips\": 81234.5}}\n"
     "DLLL {\"timestamp\": \"1735689606.25\", \"datetime\": \"2025-01-01 00:00:06.250000+00:00\", "
     "\"elapsedtime\": \"6.127\", \"type\": \"LOG\", \"step\": [0, 200], \"data\": "
     "{\"train.loss\": "
     "0.25}}\n"},
    {"train.loss",
     "DLL 2025-01-01 00:00:05.250000 - (0, 100) train.loss : 0.5123  train.ips : 81234.500 "
     "samples/s\n"
     "DLL 2025-01-01 00:00:06.250000 - (0, 200) train.loss : 0.25  train.ips : 81234.500 "
     "samples/s\n"},
    {"train.loss",
     "TCAPPDLL {\"timestamp\": \"1735689605.25\", \"datetime\": \"2025-01-01 00:00:05.250000\", "
     "\"elapsedtime\": \"5.127\", \"type\": \"LOG\", \"step\": [0, 100], \"data\": \"{'rank': '0', "
     "'train.loss': '0.5123', 'train.ips': '81234.5'}\"}\n"
     "TCAPPDLL {\"timestamp\": \"1735689606.25\", \"datetime\": \"2025-01-01 00:00:06.250000\", "
     "\"elapsedtime\": \"6.127\", \"type\": \"LOG\", \"step\": [0, 200], \"data\": \"{'rank': '0', "
     "'train.loss': '0.25', 'train.ips': '81234.5'}\"}\n"},
    /* two ranks, whose lines were joined */
    {"train.loss",
     "TCAPPDLL 2025-01-01 00:00:05.250000 - Epoch: 0 Iteration: 100  rank : 0  train.loss : 0.5123 "
     " train.ips : 81234.5 imgs/s TCAPPDLL 2025-01-01 00:00:05.250000 - Epoch: 0 Iteration: 100  "
     "rank : 1  train.loss : 7  train.ips : 81234.5 imgs/s\n"
     "TCAPPDLL 2025-01-01 00:00:06.250000 - Epoch: 0 Iteration: 200  rank : 0  train.loss : 0.25 "
     " train.ips : 81234.5 imgs/s\n"},
    /* TorchEasyRec */
    {"total_loss",
     "[2026-01-31 12:00:00,123][INFO] Training Epoch 0: 100it [41.27it/s] lr_g0:0.00100 "
     "lr_g1:0.00100 binary_cross_entropy:0.65123 total_loss: 0.5123\n"
     "[2026-01-31 12:00:00,123][INFO] Training Epoch 0: 200it [41.27it/s] lr_g0:0.00100 "
     "lr_g1:0.00100 binary_cross_entropy:0.65123 total_loss: 0.25\n"},
    /* PaddleRec */
    {"loss",
     "2020-12-25 14:13:40,123 - INFO - epoch: 0, batch_id: 100, auc:0.623456, loss:[0.5123], "
     "avg_reader_cost: 0.00012 sec, avg_batch_cost: 0.01234 sec, avg_samples: 512.00000, ips: "
     "41234.56789 ins/s\n"
     "2020-12-25 14:13:41,123 - INFO - epoch: 0, batch_id: 200, auc:0.623456, loss:[0.25], "
     "avg_reader_cost: 0.00012 sec, avg_batch_cost: 0.01234 sec\n"
     "2020-12-25 14:13:41,123 - INFO - epoch: 0 done, auc: 0.654321, epoch time: 12.34 s\n"},
    /* loops of PyTorch */
    {"loss", "epoch=0 step=100 loss=tensor(0.5123, grad_fn=<MeanBackward0>)\n"
             "epoch=0 step=200 loss=tensor(0.2500)\n"},
    {"Loss", "Epoch: [0][ 100/5005]\tTime  0.101 ( 0.11)\tLoss 5.123e-01 (6.0e-01)\n"
             "Epoch: [0][ 200/5005]\tTime  0.101 ( 0.11)\tLoss 2.5e-01 (6.0e-01)\n"},
    {"loss", "Step 100: loss 0.5123.\nStep 200: loss 0.25.\n"},
};

TEST(formats_of_programs) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        cr_align_log log = read_text(formats[i].text, NULL);
        CHECK_STR(log.loss.name, formats[i].name);
        CHECK_INT(log.loss.n, 2);
        CHECK_INT(log.n_metrics, 0);
        if (log.loss.n != 2) {
            printf("format %d\n", (int)i);
            continue;
        }
        CHECK_INT(log.loss.by, CR_ALIGN_STEPS);
        CHECK_INT(log.loss.v[0].step, 100);
        CHECK_INT(log.loss.v[1].step, 200);
        CHECK_NEAR(log.loss.v[0].value, 0.5123, 0, 0);
        CHECK_NEAR(log.loss.v[1].value, 0.25, 0, 0);
    }
}

TEST(evaluations) {
    cr_align_log log = read_text(
        "{\"event\": \"eval\", \"epoch\": 0, \"step\": 10, \"val.rows\": 100, \"val.auc\": 0.7, "
        "\"val.ips\": 3}\n"
        "{\"global_step\": 20, \"auc\": 0.75}\n"
        "DLLL {\"type\": \"LOG\", \"step\": [0, 30, 4], \"data\": {\"AUC\": 0.8, \"loss\": 0.3}}\n"
        "TCAPPDLL 2025-01-01 00:00:06.250000 - Epoch: 0 Iteration: 40 Validation Iteration: 3  "
        "rank : 0  val.loss : 0.2  val.ips : 5 samples/s\n"
        "[INFO] Eval Result: step: 50 auc: 0.9 eval_time: 3\n",
        NULL);
    CHECK_INT(log.loss.n, 0);
    CHECK_INT(log.n_metrics, 2);
    const cr_align_curve *auc = cr_align_metric(&log, "eval_AUC");
    const cr_align_curve *loss = cr_align_metric(&log, "loss");
    CHECK(auc && loss);
    if (!auc || !loss) return;
    CHECK_INT(auc->n, 4);
    CHECK_NEAR(auc->v[3].value, 0.9, 0, 0);
    CHECK_INT(loss->n, 2);
    CHECK_INT(loss->v[1].step, 40);
}

/* steps that begin anew in every epoch, a run that repeats steps, NaN in three spellings */
TEST(steps_and_odd_values) {
    cr_align_log log = read_text("epoch: 0, batch: 1, loss: 1\nepoch: 0, batch: 2, loss: 2\n"
                                 "epoch: 1, batch: 1, loss: 3\n",
                                 NULL);
    CHECK_INT(log.loss.by, CR_ALIGN_PAIRS);
    CHECK_INT(log.loss.n, 3);
    log = read_text("{\"step\": 1, \"train.loss\": 1}\n{\"step\": 2, \"train.loss\": 2}\n"
                    "{\"step\": 2, \"train.loss\": 5}\n{\"step\": 3, \"train.loss\": null}\n",
                    NULL);
    CHECK_INT(log.loss.by, CR_ALIGN_STEPS);
    CHECK_INT(log.loss.n, 3);
    CHECK_NEAR(log.loss.v[1].value, 5, 0, 0);
    CHECK(isnan(log.loss.v[2].value));
    log = read_text("loss: nan\nloss: -inf\nloss=[NaN]\n", NULL);
    CHECK_INT(log.loss.by, CR_ALIGN_ORDER);
    CHECK_INT(log.loss.n, 3);
    CHECK(isnan(log.loss.v[0].value) && isinf(log.loss.v[1].value) && isnan(log.loss.v[2].value));
    /* the summary of a run is no step of it */
    log = read_text("step 1 loss: 1\nstep 2 loss: 2\nmean loss: 1.5\n", NULL);
    CHECK_INT(log.loss.by, CR_ALIGN_STEPS);
    CHECK_INT(log.loss.n, 2);
    /* any value by its name; a better name replaces a worse one */
    log = read_text("step 3 auc 0.7 cost: 1\nstep 4 auc: 0.8 cost: 2 loss: 3\n", "auc");
    CHECK_INT(log.loss.n, 2);
    CHECK_NEAR(log.loss.v[1].value, 0.8, 0, 0);
    log = read_text("step 3 cost: 1\nstep 4 cost: 2 loss: 3\nstep 5 cost: 2\n", NULL);
    CHECK_STR(log.loss.name, "loss");
    CHECK_INT(log.loss.n, 1);
}

static cr_align_result compare(const char *r, const char *c, cr_align_opts o, bool metric) {
    cr_align_log a = read_text(r, NULL), b = read_text(c, NULL);
    return cr_align_compare(&arena, &a.loss, &b.loss, &o, metric);
}

/* The worked example: the absolute errors are exactly at the tolerance, the signed ones cancel. */
TEST(strict_rule) {
    const char *r = "step 1 loss 0.70\nstep 2 loss 0.60\nstep 3 loss 0.50\n";
    const char *c = "step 1 loss 0.707\nstep 2 loss 0.594\nstep 3 loss 0.505\n";
    cr_align_result x = compare(r, c, (cr_align_opts){.tolerance = 0.01}, false);
    CHECK(x.pass);
    CHECK_INT(x.n, 3);
    CHECK_NEAR(x.mean_rel, 0.01, 0, 1e-12);
    CHECK(x.mean_rel > 0.01); /* so the few last bits must not count */
    CHECK_NEAR(x.signed_rel, 0.01 / 3, 0, 1e-9);
    CHECK_NEAR(x.signed_abs, 0.002, 0, 1e-9);
    CHECK(!compare(r, c, (cr_align_opts){.tolerance = 0.0099}, false).pass);
    /* a lower loss is an error as well, although the public rule lets it pass */
    x = compare(r, "step 1 loss 0.1\nstep 2 loss 0.1\nstep 3 loss 0.1\n",
                (cr_align_opts){.tolerance = 0.01}, false);
    cr_buf lines;
    cr_buf_init(&lines);
    CHECK(!x.pass);
    CHECK(cr_align_public(&x, &lines));
    cr_buf_clear(&lines);
}

TEST(public_lines) {
    cr_align_result x = compare("loss: 0.5\nloss: 0.25\n", "loss: 0.625\nloss: 0.25\n",
                                (cr_align_opts){.tolerance = 0.01}, false);
    cr_buf lines;
    cr_buf_init(&lines);
    CHECK(!cr_align_public(&x, &lines));
    CHECK_STR(lines.data, "MeanRelativeError: 0.125\nMeanAbsoluteError: 0.0625\n"
                          "Rule,mean_absolute_error 0.0625\n"
                          "fail mean_relative_error=0.125 > 0.05 and mean_absolute_error=0.0625 > "
                          "0.0002\n");
    CHECK(x.by_order);
    cr_buf_clear(&lines);
}

TEST(steps_that_differ) {
    const char *r = "step 1 loss 1\nstep 2 loss 1\nstep 4 loss 1\n";
    const char *c = "step 2 loss 1\nstep 3 loss 1\nstep 4 loss 2\n";
    cr_align_result x = compare(r, c, (cr_align_opts){.tolerance = 1}, false);
    CHECK(!x.pass);
    CHECK_INT(x.n, 2);
    CHECK_INT(x.only_a, 1);
    CHECK_INT(x.first_a, 1);
    CHECK_INT(x.only_b, 1);
    CHECK_INT(x.first_b, 3);
    x = compare(r, c, (cr_align_opts){.tolerance = 1, .match = CR_ALIGN_COMMON}, false);
    CHECK(x.pass);
    CHECK_NEAR(x.mean_rel, 0.5, 0, 0);
    CHECK_INT(x.worst, 1);
    x = compare(r, c, (cr_align_opts){.tolerance = 0, .match = CR_ALIGN_IN_ORDER, .last = 1},
                false);
    CHECK_INT(x.n, 1);
    CHECK_NEAR(x.max_rel, 1, 0, 0);
    x = compare(r, c, (cr_align_opts){.match = CR_ALIGN_IN_ORDER, .skip = 5}, false);
    CHECK_INT(x.n, 0);
    CHECK(!x.pass && isnan(x.mean_rel));
    /* a metric must agree at every evaluation, a loss in the mean */
    r = "loss 1\nloss 1\n", c = "loss 1\nloss 1.015\n";
    CHECK(compare(r, c, (cr_align_opts){.tolerance = 0.01}, false).pass);
    CHECK(!compare(r, c, (cr_align_opts){.tolerance = 0.01}, true).pass);
    /* NaN on both sides agrees with nothing; a zero reference is told */
    x = compare("loss nan\nloss 0\n", "loss nan\nloss 0\n", (cr_align_opts){.tolerance = 1}, false);
    CHECK(!x.pass);
    CHECK_INT(x.not_finite, 1);
    CHECK_INT(x.tiny, 1);
}

/* the image has no number that is none, and no text that would end an element */
TEST(plot) {
    static const char *const logs[] = {"loss 1\nloss 2\nloss nan\nloss 3\n", "loss 1\n",
                                       "loss nan\n", "loss 1e300\nloss -1e300\n",
                                       "loss 1\nloss 1\n"};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        cr_align_result x = compare(logs[i], logs[i], (cr_align_opts){.tolerance = 0}, false);
        cr_buf out;
        cr_buf_init(&out);
        cr_align_plot(&x, 1, "a<b>&\n", "b", 0, &out);
        CHECK(strncmp(out.data, "<svg ", 5) == 0);
        CHECK(strstr(out.data, "a&lt;b&gt;&amp; <"));
        for (const char *p = out.data; (p = strstr(p, "=\"nan")) != NULL;)
            CHECK(!p++);
        for (const char *p = out.data; (p = strstr(p, ",nan")) != NULL;)
            CHECK(!p++);
        CHECK(out.n < 20000);
        cr_buf_clear(&out);
    }
}

/* no bytes break the reader */
TEST(any_bytes) {
    unsigned seed = 1;
    static const char *const words[] = {"loss",      "step",        ": ",   "=",
                                        "[",         "\"step\": [", "0.5",  "e",
                                        "-",         "nan",         "\n",   "epoch",
                                        "DLL 2",     " - (",        "val.", "rank ",
                                        "TCAPPDLL ", ",",           "12it", "tensor(",
                                        "'"};
    for (int i = 0; i < 3000; i++) {
        cr_buf b;
        cr_buf_init(&b);
        for (int k = 0; k < 24; k++) {
            seed = seed * 1103515245u + 12345u;
            unsigned w = seed >> 16;
            if (w % 8 == 0)
                cr_buf_char(&b, (char)(w >> 3));
            else
                cr_buf_str(&b, words[(w >> 3) % (sizeof words / sizeof *words)]);
        }
        /* exactly as long as the memory, so that a read past the end is found */
        char *exact = malloc(b.n);
        memcpy(exact, b.data, b.n);
        cr_align_log log = {0};
        cr_align_read(&arena, exact, b.n, i % 3 ? NULL : "step", &log);
        cr_align_read_end(&arena, &log);
        CHECK(log.loss.n >= 0);
        free(exact);
        cr_buf_clear(&b);
    }
}

int main(int argc, char **argv) {
    static const t_case cases[] = {CASE(formats_of_programs),
                                   CASE(evaluations),
                                   CASE(steps_and_odd_values),
                                   CASE(strict_rule),
                                   CASE(public_lines),
                                   CASE(steps_that_differ),
                                   CASE(plot),
                                   CASE(any_bytes)};
    cr_arena_init(&arena, 0);
    int rc = t_run(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
    cr_arena_clear(&arena);
    return rc;
}
