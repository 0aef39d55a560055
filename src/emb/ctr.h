/*
 * ctr.h - the CTR accessor of Paddle's parameter servers: rows that know how often their id was
 * shown and clicked, and that have a second part only when this is worth it.
 *
 *   slot, show, click, embed_w, embedx_w[X]       what a lookup reads; X may be 0
 *   unseen_days, delta_score                      since when, and how much, the row has changed
 *   state of the rule of embed_w, then of embedx_w
 *
 * A row is born brief: without embedx_w and its state, which read as zeros and take no memory. It
 * is extended when its score, (show - click) nonclk_coeff + click click_coeff, has come to
 * embedx_threshold. The gradient of a row has the same columns: the slot times the shows, the
 * shows, the clicks, and the gradients of embed_w and embedx_w (op/ctr.c makes it), each summed
 * over the batch; so shows and clicks travel as gradients do.
 */
#ifndef CR_EMB_CTR_H
#define CR_EMB_CTR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Columns of a lookup before embedx_w. */
enum { CR_CTR_SLOT, CR_CTR_SHOW, CR_CTR_CLICK, CR_CTR_EMBED, CR_CTR_HEAD };

typedef enum cr_ctr_sgd {
    CR_CTR_NAIVE,
    CR_CTR_ADAGRAD,     /* one sum of squares for all weights of the part */
    CR_CTR_STD_ADAGRAD, /* one for each */
    CR_CTR_ADAM,
    CR_CTR_SHARED_ADAM, /* one pair of moments for all weights of the part */
    CR_CTR_RULES
} cr_ctr_sgd;
/* The rule of one part of a row. Its rate is its own: no schedule changes it. */
typedef struct cr_ctr_rule {
    cr_ctr_sgd kind;
    double lr, initial_g2sum, beta1, beta2, epsilon;
    double initial_range; /* first values lie evenly between minus this and this */
    double lowest, highest;
} cr_ctr_rule;
typedef struct cr_ctr_rules {
    bool on; /* the table has an accessor at all */
    cr_ctr_rule embed, embedx;
    double embedx_threshold;
    double nonclk_coeff, click_coeff;
    double base_threshold, delta_threshold, delta_keep_days;
    double decay, delete_threshold, delete_after; /* shrinking */
    bool show_scale; /* gradients are divided by the shows that come with them */
    bool zero_init;  /* embed_w begins with 0 */
} cr_ctr_rules;

/* A row, wherever its parts lie. */
typedef struct cr_ctr_row {
    float *head;   /* slot, show, click, embed_w */
    float *embedx; /* NULL: the row is brief, and has no embedx_state either */
    float *days;   /* unseen_days, delta_score */
    float *embed_state, *embedx_state;
} cr_ctr_row;
enum { CR_CTR_UNSEEN, CR_CTR_DELTA, CR_CTR_DAYS };
/* unseen_days of a row whose id was looked up and has not been pushed yet: it is not there for
 * anyone but the next push. */
#define CR_CTR_UNBORN (-1.0F)

/* cr_ctr_state returns the floats of state of a rule for D weights, cr_ctr_floats those of a
 * record; cr_ctr_at finds the parts of a row in its record. */
int64_t cr_ctr_state(cr_ctr_sgd kind, int64_t D);
int64_t cr_ctr_floats(const cr_ctr_rules *r, int64_t X, bool brief);
cr_ctr_row cr_ctr_at(const cr_ctr_rules *r, int64_t X, bool brief, float *record);

double cr_ctr_score(const cr_ctr_rules *r, double show, double click);
/* cr_ctr_push updates a row by a gradient of CR_CTR_HEAD + X columns; key is the stream of the
 * id's first values. Returns whether a brief row has earned its second part, whose first values
 * cr_ctr_extend gives it. */
bool cr_ctr_push(const cr_ctr_rules *r, int64_t X, cr_ctr_row row, uint64_t key, const float *g);
void cr_ctr_extend(const cr_ctr_rules *r, int64_t X, cr_ctr_row row, uint64_t key);
/* cr_ctr_shrink makes a row a day older in show and click; returns whether it goes. */
bool cr_ctr_shrink(const cr_ctr_rules *r, cr_ctr_row row);
/* What is saved, by Paddle's numbers. cr_ctr_saves: is the row one of them? cr_ctr_saved changes
 * what a save changes in a row that was one of them. */
typedef enum cr_ctr_mode {
    CR_CTR_ALL,        /* a checkpoint: all rows */
    CR_CTR_DELTA_ROWS, /* rows that are worth it and have changed by delta_threshold */
    CR_CTR_BASE,       /* rows that are worth it */
    CR_CTR_BATCH,      /* all rows, which are a day older afterwards */
    CR_CTR_MODES
} cr_ctr_mode;
bool cr_ctr_saves(const cr_ctr_rules *r, cr_ctr_row row, cr_ctr_mode mode);
void cr_ctr_saved(cr_ctr_row row, cr_ctr_mode mode);

/* ---- text (ctr_text.c) ----
 * A line is the id and the values in the order slot, unseen_days, delta_score, show, click,
 * embed_w, its state, and where the row has them embedx_w and its state, with blanks between. A
 * number is the shortest text that reads back as the same float. */
void cr_ctr_write(const cr_ctr_rules *r, int64_t X, int64_t id, cr_ctr_row row, cr_buf *out);
/* cr_ctr_read reads a line of n bytes without its end into a record that is not brief. *brief:
 * the line has no second part. It refuses anything that cr_ctr_write would not write. */
CR_CHECKED cr_code cr_ctr_read(const cr_ctr_rules *r, int64_t X, const char *line, size_t n,
                               int64_t *id, float *record, bool *brief, cr_err *err);
/* cr_ctr_read_file reads a file of lines, which may be compressed, and gives every row to take. A
 * wrong line is named by its number. */
typedef cr_code (*cr_ctr_take)(void *ctx, int64_t id, const float *record, bool brief, cr_err *err);
CR_CHECKED cr_code cr_ctr_read_file(const cr_ctr_rules *r, int64_t X, const char *path,
                                    cr_ctr_take take, void *ctx, cr_err *err);

#endif
