/*
 * draft_history.c - which lists of a survey are histories of another column. A list of items that a
 * user clicked says most when each of them is compared with the item of the row, so it becomes a
 * sequence with attention (DIN) and shares the ids of that column; every other list is averaged.
 *
 * A history is known by its name: 'hist_item_ids' has a word for the past and the word of
 * 'item_id'. Without such a column, or with values of another kind, a list stays a list.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "tool/draft_int.h"

#define MOST_STEPS 200
#define MAX_WORD   64

/* Takes the next word of a name, without the s of a plural; false: there is none. */
static bool next_word(const char **s, char out[MAX_WORD]) {
    size_t n = 0;
    while (**s && !isalpha((unsigned char)**s))
        (*s)++;
    for (; isalpha((unsigned char)**s); (*s)++)
        if (n < MAX_WORD - 1) out[n++] = (char)tolower((unsigned char)**s);
    if (n > 3 && out[n - 1] == 's') n--;
    out[n] = 0;
    return n > 0;
}

static bool is_one_of(const char *word, const char *const *list) {
    while (*list && strcmp(*list, word) != 0)
        list++;
    return *list != NULL;
}

/* Words that tell of the past, and those that say nothing about what is meant. */
static const char *const past[] = {"hist",     "history",   "seq",     "sequence", "recent",
                                   "last",     "past",      "prev",    "previous", "click",
                                   "clk",      "clicked",   "view",    "viewed",   "visit",
                                   "visited",  "buy",       "bought",  "purchase", "purchased",
                                   "cart",     "watch",     "watched", "play",     "played",
                                   "behavior", "behaviour", "session", NULL};
static const char *const empty[] = {"id", "ids", "list", "the", "of", "name", NULL};

static bool tells_of_past(const char *name) {
    char word[MAX_WORD];
    while (next_word(&name, word))
        if (is_one_of(word, past)) return true;
    return false;
}

/* The place of the last word of the list's name that the other name has too; 0: none. */
static int shared_word(const char *list, const char *other) {
    char a[MAX_WORD], b[MAX_WORD];
    int found = 0;
    for (int at = 1; next_word(&list, a); at++) {
        if (is_one_of(a, past) || is_one_of(a, empty)) continue;
        for (const char *s = other; next_word(&s, b);)
            if (strcmp(a, b) == 0) found = at;
    }
    return found;
}

/* Returns the column that a list is the history of; -1: none. */
static int target_of(const cr_draft *c, const cr_draft_col *x) {
    int best = -1, most = 0;
    for (int i = 0; i < c->s->n_cols; i++) {
        const cr_draft_col *t = &c->cols[i];
        if ((t->use != CR_DRAFT_ID && t->use != CR_DRAFT_HASH) || t->col->kind == CR_SURVEY_LIST ||
            t->col->numbers != x->col->numbers)
            continue;
        int at = shared_word(x->col->name, t->col->name);
        if (at > most) {
            most = at;
            best = i;
        }
    }
    return best;
}

/* Gives both columns one table that has room for the values of both. */
static void share_table(cr_draft_col *x, cr_draft_col *t) {
    double most = fmax(x->col->distinct, t->col->distinct);
    bool dense =
        t->use == CR_DRAFT_ID && x->col->min >= 0 && x->col->max + 1 < cr_draft_dense_end(most);
    if (dense) {
        int64_t n = (int64_t)x->col->max + 1;
        x->buckets = t->buckets = n > t->buckets ? n : t->buckets;
    } else {
        int64_t n = cr_draft_buckets(most), has = t->use == CR_DRAFT_HASH ? t->buckets : 0;
        x->buckets = t->buckets = n > has ? n : has; /* an earlier history may need more */
    }
    x->use = t->use = dense ? CR_DRAFT_ID : CR_DRAFT_HASH;
    t->shares_ids = x->shares_ids = true;
}

void cr_draft_histories(cr_draft *c, cr_arena *a) {
    for (int i = 0; i < c->s->n_cols; i++) {
        cr_draft_col *x = &c->cols[i];
        if (x->use < CR_DRAFT_ID || x->col->kind != CR_SURVEY_LIST || !tells_of_past(x->col->name))
            continue;
        x->target = target_of(c, x);
        if (x->target < 0) continue;
        share_table(x, &c->cols[x->target]);
        x->why = cr_arena_printf(a, "a history, by its name: its steps are compared with '%s'",
                                 c->cols[x->target].col->name);
        x->steps = x->col->max_length < MOST_STEPS ? (int64_t)x->col->max_length : MOST_STEPS;
    }
    /* a second history may have given a target more room than the first one knows of */
    for (int i = 0; i < c->s->n_cols; i++) {
        cr_draft_col *x = &c->cols[i];
        if (x->target < 0) continue;
        x->use = c->cols[x->target].use;
        x->buckets = c->cols[x->target].buckets;
    }
}
