/*
 * slices_out.c - slices and reliability as JSON and as a picture.
 */
#include <math.h>

#include "base/json.h"
#include "explain/charts.h"
#include "explain/slices.h"

static void put_slice(cr_jw *w, const char *key, const cr_slice *s) {
    cr_jw_obj(w, key);
    if (!key) cr_jw_str(w, "value", s->name);
    cr_jw_i64(w, "rows", s->rows);
    cr_jw_i64(w, "positives", s->positives);
    cr_jw_f64(w, "auc", s->auc);
    cr_jw_f64(w, "logloss", s->logloss);
    cr_jw_f64(w, "mean_score", s->mean_score);
    cr_jw_f64(w, "mean_label", s->mean_label);
    cr_jw_f64(w, "calibration", s->calibration);
    cr_jw_end(w);
}

void cr_slices_json(cr_buf *out, const cr_slices *s) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_str(&w, "kind", "slices");
    cr_jw_str(&w, "checkpoint", s->checkpoint);
    cr_jw_arr(&w, "tasks");
    for (int t = 0; t < s->n_tasks; t++) {
        const cr_slices_task *x = &s->tasks[t];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "output", x->name);
        put_slice(&w, "all", &x->all);
        cr_jw_f64(&w, "calibration_error", x->calibration_error);
        cr_jw_arr(&w, "bins");
        for (int k = 0; k < CR_SCORE_BINS; k++) {
            cr_jw_obj(&w, NULL);
            cr_jw_f64(&w, "from", (double)k / CR_SCORE_BINS);
            cr_jw_f64(&w, "to", (double)(k + 1) / CR_SCORE_BINS);
            cr_jw_i64(&w, "rows", x->bins[k].rows);
            cr_jw_i64(&w, "positives", x->bins[k].positives);
            cr_jw_f64(&w, "mean_score", x->bins[k].mean_score);
            cr_jw_f64(&w, "mean_label", x->bins[k].mean_label);
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
        cr_jw_arr(&w, "columns");
        for (int c = 0; c < s->n_columns; c++) {
            cr_jw_obj(&w, NULL);
            cr_jw_str(&w, "column", x->columns[c].name);
            cr_jw_arr(&w, "slices");
            for (int k = 0; k < x->columns[c].n; k++)
                put_slice(&w, NULL, &x->columns[c].v[k]);
            cr_jw_end(&w);
            cr_jw_end(&w);
        }
        cr_jw_end(&w);
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
    cr_buf_char(out, '\n');
}

#define SIDE 320.0 /* of the square of the diagram, in pixels */
#define LEFT 56.0
#define TOP  36.0
#define LOW  90.0 /* height of the histogram */

void cr_slices_svg(cr_buf *out, const cr_slices_task *t) {
    int64_t most = 1;
    for (int k = 0; k < CR_SCORE_BINS; k++)
        if (t->bins[k].rows > most) most = t->bins[k].rows;
    double foot = TOP + SIDE, base = foot + 30 + LOW, width = SIDE / CR_SCORE_BINS;
    cr_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                  "font-family=\"sans-serif\" font-size=\"12\" fill=\"#777\">\n"
                  "<text x=\"8\" y=\"20\" font-size=\"14\">",
                  LEFT + SIDE + 20, base + 30);
    cr_svg_text(out, t->name);
    cr_buf_printf(out,
                  ": reliability (calibration error %.4f) and scores</text>\n"
                  "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" "
                  "stroke=\"#999\"/>\n<path d=\"M%.0f %.0fL%.0f %.0f\" stroke=\"#999\" "
                  "stroke-dasharray=\"4\"/>\n",
                  t->calibration_error, LEFT, TOP, SIDE, SIDE, LEFT, foot, LEFT + SIDE, TOP);
    for (int k = 0; k < CR_SCORE_BINS; k++) {
        const cr_score_bin *b = &t->bins[k];
        double x = LEFT + width * k, h = LOW * (double)b->rows / (double)most;
        cr_buf_printf(out,
                      "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                      "fill=\"#2f7ed8\"/>\n",
                      x, base - h, width - 1, h);
        if (b->rows == 0) continue;
        double e = b->mean_label, p = 1.96 * sqrt(e * (1 - e) / (double)b->rows);
        double cx = LEFT + SIDE * b->mean_score, cy = foot - SIDE * e;
        cr_buf_printf(out,
                      "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#d9822b\"/>\n"
                      "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#d9822b\"/>\n",
                      cx, cy, cx, foot - SIDE * fmin(1, e + p), foot - SIDE * fmax(0, e - p));
    }
    for (int k = 0; k <= 4; k++)
        cr_buf_printf(out,
                      "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.2f</text>\n"
                      "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%.2f</text>\n",
                      LEFT - 6, foot - SIDE * k / 4 + 4, k / 4.0, LEFT + SIDE * k / 4, foot + 16,
                      k / 4.0);
    cr_buf_printf(out,
                  "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%lld</text>\n"
                  "<text x=\"%.0f\" y=\"%.0f\">mean label over mean score; rows per score</text>\n"
                  "</svg>\n",
                  LEFT - 6, base - LOW + 10, (long long)most, LEFT, base + 20);
}
