/*
 * train.c - metrics of training batches, smoothed over time.
 *
 * The rows of decay_step steps form one window. When it is full, a metric with value_of (auc)
 * updates an average of its counts, state <- d * state + (1 - d) * window, and shows the value of
 * these counts; any other metric updates its value in the same way. The first window is used as it
 * is. A window without a value (xauc of single rows) changes nothing. With since_epoch the window
 * is the epoch, and its value is shown at any time. With last_steps the counts of each of these
 * steps are kept in a ring, and the value is that of their sum. A checkpoint keeps all these
 * numbers, so a resumed run shows the same values as an unbroken one.
 */
#include "metric/metric.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

struct cr_train_metric {
    const cr_metric_type *type;
    cr_metric *window;
    double rate;
    int64_t decay_step;
    bool since_epoch;
    int64_t steps;   /* steps in the current window */
    int64_t windows; /* windows completed so far */
    double value;
    int64_t n; /* count of numbers in the window's state */
    double *state, *mean;
    /* last_steps: the counts of each step, and which of them comes next. mean is their sum */
    int64_t ring_size, ring_at;
    double *ring;
};

void cr_train_metric_free(cr_train_metric *m) {
    if (!m) return;
    if (m->window) m->type->free_(m->window);
    cr_free(m->state);
    cr_free(m->mean);
    cr_free(m->ring);
    cr_free(m);
}

cr_code cr_train_metric_new(cr_train_metric **out, const cr_train_metric_conf *conf, int64_t K,
                            cr_err *err) {
    cr_train_metric *m = cr_alloc(sizeof *m, "training metric");
    m->type = conf->metric.m->type;
    m->rate = conf->decay_rate;
    m->decay_step = conf->decay_step;
    m->since_epoch = conf->since_epoch;
    cr_code e = m->type->new_(&m->window, conf->metric.conf, K, err);
    if (e != CR_OK) {
        cr_train_metric_free(m);
        return e;
    }
    m->n = m->type->n_state(m->window);
    m->state = cr_alloc((size_t)m->n * sizeof(double), "training metric");
    m->mean = cr_alloc((size_t)m->n * sizeof(double), "training metric");
    m->ring_size = conf->last_steps;
    if (m->ring_size > 0) {
        void *ring = NULL;
        size_t size = (size_t)m->ring_size * (size_t)m->n * sizeof(double);
        e = cr_try_alloc(&ring, size, "the steps of a metric", err);
        if (e != CR_OK) {
            cr_train_metric_free(m);
            return e;
        }
        m->ring = ring;
    }
    *out = m;
    return CR_OK;
}

static double blend(const cr_train_metric *m, double old, double now) {
    return m->windows == 0 ? now : m->rate * old + (1 - m->rate) * now;
}

static void end_window(cr_train_metric *m) {
    double now = m->type->value(m->window);
    m->steps = 0;
    if (!isnan(now)) {
        if (m->type->value_of) {
            m->type->get(m->window, m->state);
            for (int64_t i = 0; i < m->n; i++) {
                m->mean[i] = blend(m, m->mean[i], m->state[i]);
            }
            m->value = m->type->value_of(m->window, m->mean);
        } else {
            m->value = blend(m, m->value, now);
        }
        m->windows++;
    }
    m->type->reset(m->window);
}

/* The rows of one step take the place of those of the oldest. The counts are whole numbers, so the
 * sum is exact. */
static void end_ring_step(cr_train_metric *m) {
    double *old = m->ring + m->ring_at * m->n;
    m->type->get(m->window, m->state);
    for (int64_t i = 0; i < m->n; i++) {
        m->mean[i] += m->state[i] - old[i];
        old[i] = m->state[i];
    }
    m->ring_at = (m->ring_at + 1) % m->ring_size;
    m->type->reset(m->window);
    double now = m->type->value_of(m->window, m->mean);
    m->value = isnan(now) ? 0 : now;
}

cr_code cr_train_metric_step(cr_train_metric *m, const cr_metric_in *in, cr_err *err) {
    CR_TRY(m->type->update(m->window, in, err));
    if (m->ring)
        end_ring_step(m);
    else if (++m->steps >= m->decay_step && !m->since_epoch)
        end_window(m);
    return CR_OK;
}

double cr_train_metric_value(const cr_train_metric *m) {
    if (!m->since_epoch) return m->value;
    double now = m->type->value(m->window);
    return isnan(now) ? 0 : now;
}

void cr_train_metric_epoch(cr_train_metric *m) {
    if (!m->since_epoch) return;
    m->steps = 0;
    m->type->reset(m->window);
}

/* The state is: steps, windows, value, the window, the average, the ring and its next place. */
int64_t cr_train_metric_n_state(const cr_train_metric *m) {
    return 3 + 2 * m->n + (m->ring ? m->ring_size * m->n + 1 : 0);
}

void cr_train_metric_get(const cr_train_metric *m, double *out) {
    out[0] = (double)m->steps;
    out[1] = (double)m->windows;
    out[2] = m->value;
    m->type->get(m->window, out + 3);
    memcpy(out + 3 + m->n, m->mean, (size_t)m->n * sizeof(double));
    if (!m->ring) return;
    memcpy(out + 3 + 2 * m->n, m->ring, (size_t)(m->ring_size * m->n) * sizeof(double));
    out[3 + (2 + m->ring_size) * m->n] = (double)m->ring_at;
}

void cr_train_metric_set(cr_train_metric *m, const double *in) {
    m->steps = (int64_t)in[0];
    m->windows = (int64_t)in[1];
    m->value = in[2];
    m->type->set(m->window, in + 3);
    memcpy(m->mean, in + 3 + m->n, (size_t)m->n * sizeof(double));
    if (!m->ring) return;
    memcpy(m->ring, in + 3 + 2 * m->n, (size_t)(m->ring_size * m->n) * sizeof(double));
    double at = in[3 + (2 + m->ring_size) * m->n];
    m->ring_at = at >= 0 && at < (double)m->ring_size ? (int64_t)at : 0;
}
