/*
 * charts.h - pictures as SVG, without scripts or fonts of their own, readable on light and dark
 * pages.
 */
#ifndef CR_EXPLAIN_CHARTS_H
#define CR_EXPLAIN_CHARTS_H

#include "base/buf.h"

/* A bar with its interval. */
typedef struct cr_bar {
    const char *name;
    double value, low, high; /* NaN: no bar; low and high NaN: no interval */
} cr_bar;
/* cr_chart_bars draws bars from left to right, in the order given, with names beside them. */
void cr_chart_bars(cr_buf *out, const char *title, const cr_bar *v, int n);
/* cr_svg_text appends a text with what XML reserves escaped; control characters become blanks. */
void cr_svg_text(cr_buf *out, const char *s);

#endif
