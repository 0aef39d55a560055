/*
 * run_rows.c - makes the rows that a run of PaddleRec reads, where its sample has them in several
 * files, in lines of another kind or not at all. A kind of rows has one function here, which calls
 * its maker in tool/ and tells what was made.
 */
#include "base/log.h"
#include "cli/run_int.h"
#include "tool/tool.h"

static cr_code sessions(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n;
    CR_TRY(cr_log_sessions(x->raw, x->dir, &n, err));
    CR_INFO("%s holds the sessions of %lld users, made from the log in %s", x->dir, (long long)n,
            x->raw);
    return CR_OK;
}

static cr_code pasted(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n;
    CR_TRY(cr_paste_labels(x->raw, x->dir, &n, err));
    CR_INFO("%s holds %lld rows, made from the ids and labels in %s", x->dir, (long long)n, x->raw);
    return CR_OK;
}

static cr_code news(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n, left_out;
    CR_TRY(cr_news_rows(x->raw, x->dir, &x->news, &n, &left_out, err));
    CR_INFO("%s holds %lld rows, made from the articles in %s; %lld lines have too few others",
            x->dir, (long long)n, x->raw, (long long)left_out);
    return CR_OK;
}

static cr_code matrix(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n;
    CR_TRY(cr_matrix_rows(x->raw, x->dir, x->fields, &n, err));
    CR_INFO("%s holds %lld rows, made from the HDF5 files in %s", x->dir, (long long)n, x->raw);
    return CR_OK;
}

static cr_code masked(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n;
    CR_TRY(cr_masked_rows(x->raw, x->dir, &x->masked, &n, err));
    CR_INFO("%s holds %lld rows, made from the sessions in %s", x->dir, (long long)n, x->raw);
    return CR_OK;
}

static cr_code intervals(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n;
    CR_TRY(cr_interval_rows(x->raw, x->dir, &x->interval, r->infer, &n, err));
    CR_INFO("%s holds %lld rows, made from the log in %s", x->dir, (long long)n, x->raw);
    return CR_OK;
}

static cr_code tasks(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n, count;
    if (r->infer)
        CR_TRY(cr_task_rows_test(x->raw, x->dir, &x->tasks, &n, &count, err));
    else
        CR_TRY(cr_task_rows_train(x->raw, x->dir, &x->tasks, &n, &count, err));
    CR_INFO("%s holds %lld rows of %lld tasks, made from the frame in %s", x->dir, (long long)n,
            (long long)count, x->raw);
    return CR_OK;
}

static cr_code steps(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n;
    CR_TRY(cr_session_rows(x->raw, x->dir, &x->sessions, &n, err));
    CR_INFO("%s holds %lld rows, made from the pickles in %s", x->dir, (long long)n, x->raw);
    return CR_OK;
}

static cr_code pictures(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n;
    CR_TRY(cr_picture_rows(x->raw, x->dir, &x->pictures, r->infer, &n, err));
    CR_INFO("%s holds %lld rows of %lld tasks, made from the pictures in %s", x->dir, (long long)n,
            (long long)x->pictures.tasks, x->raw);
    return CR_OK;
}

static cr_code digits(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n;
    CR_TRY(cr_digit_rows(x->raw, x->dir, x->fields, &n, err));
    CR_INFO("%s holds %lld rows, made from the pictures in %s", x->dir, (long long)n, x->raw);
    return CR_OK;
}

static cr_code users(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n;
    CR_TRY(cr_user_rows(x->raw, x->dir, r->infer, &n, err));
    CR_INFO("%s holds %lld rows, users with all of their items, made from the pairs in %s", x->dir,
            (long long)n, x->raw);
    return CR_OK;
}

static cr_code knowledge(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n, left_out;
    CR_TRY(cr_knowledge_rows(x->raw, x->dir, &x->knowledge, r->infer, &n, &left_out, err));
    CR_INFO("%s holds %lld rows, made from the sessions and articles in %s; clicks that have no "
            "other articles: %lld",
            x->dir, (long long)n, x->raw, (long long)left_out);
    return CR_OK;
}

static cr_code social(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n;
    CR_TRY(cr_social_rows(x->ratings, x->relations, x->dir, r->infer, &n, err));
    CR_INFO("%s holds %lld ratings and the graph of all users, made from %s and %s", x->dir,
            (long long)n, x->ratings, x->relations);
    return CR_OK;
}

static cr_code packages(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    (void)r;
    int64_t n;
    CR_TRY(cr_package_rows(x->raw, x->dir, &x->packages, &n, err));
    CR_INFO("%s holds %lld rows, users with packages, made from the lines in %s", x->dir,
            (long long)n, x->raw);
    return CR_OK;
}

static cr_code ratings(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n, left_out;
    CR_TRY(cr_rating_rows(r->infer ? x->known : x->raw, r->infer ? x->raw : NULL, x->dir, x->items,
                          &n, &left_out, err));
    CR_INFO("%s holds %lld rows, users with their ratings, made from the files in %s", x->dir,
            (long long)n, x->raw);
    if (left_out)
        CR_WARN("%lld ratings in %s are left out: %s does not have their users or items",
                (long long)left_out, x->raw, x->known);
    return CR_OK;
}

static cr_code lists(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err) {
    int64_t n;
    CR_TRY(cr_list_rows(x->dir, r->infer ? "test" : "train", &x->lists, &n, err));
    CR_INFO("%s holds %lld rows of %lld lists, which are drawn: PaddleRec has no data for this "
            "model",
            x->dir, (long long)n, (long long)x->lists.count);
    return CR_OK;
}

typedef cr_code (*rows_fn)(const cr_paddle_run *r, const cr_paddle_rows *x, cr_err *err);

static const rows_fn makers[] = {
    [CR_ROWS_SESSIONS] = sessions, [CR_ROWS_PASTED] = pasted,     [CR_ROWS_NEWS] = news,
    [CR_ROWS_MATRIX] = matrix,     [CR_ROWS_MASKED] = masked,     [CR_ROWS_INTERVALS] = intervals,
    [CR_ROWS_TASKS] = tasks,       [CR_ROWS_STEPS] = steps,       [CR_ROWS_PICTURES] = pictures,
    [CR_ROWS_DIGITS] = digits,     [CR_ROWS_USERS] = users,       [CR_ROWS_KNOWLEDGE] = knowledge,
    [CR_ROWS_SOCIAL] = social,     [CR_ROWS_PACKAGES] = packages, [CR_ROWS_RATINGS] = ratings,
    [CR_ROWS_LISTS] = lists,
};

cr_code cr_run_make_rows(const cr_paddle_run *r, cr_err *err) {
    size_t kind = (size_t)r->rows.kind;
    rows_fn make = kind < sizeof makers / sizeof *makers ? makers[kind] : NULL;
    return make ? make(r, &r->rows, err) : CR_OK;
}
