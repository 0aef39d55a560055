/*
 * title_words.c - the words of an English title, as NLTK's word_tokenize cuts it: in small letters,
 * with signs and quotes by themselves, and with endings such as 's and n't cut off.
 *
 * A period belongs to its word, except at the end of the title or of a sentence in it. What ends a
 * sentence is told by a short list of words that have a period; NLTK's model knows more of them.
 */
#include <ctype.h>
#include <string.h>

#include "tool/title_words.h"

static const char *const quotes[] = {"“", "”", "‘", "’", "«", "»", "„", NULL};
static const char *const endings[] = {"n't", "'ll", "'re", "'ve", "'s", "'m", "'d", "'", NULL};
static const char *const two[][2] = {{"can", "not"}, {"gon", "na"}, {"got", "ta"}, {"wan", "na"},
                                     {"gim", "me"},  {"lem", "me"}, {"'t", "is"},  {"'t", "was"}};
static const char *const short_forms[] = {"mr",  "mrs",  "ms",  "dr",  "st",  "vs",  "jr",   "sr",
                                          "gov", "sen",  "rep", "gen", "lt",  "col", "prof", "inc",
                                          "co",  "corp", "ft",  "mt",  "etc", NULL};

/* Is one of these at the beginning of s? Returns its length, else 0. */
static size_t one_of(const char *const *v, const char *s) {
    for (; *v; v++)
        if (strncmp(s, *v, strlen(*v)) == 0) return strlen(*v);
    return 0;
}

static bool in_set(char c, const char *set) {
    return c && strchr(set, c) != NULL;
}

/* Does the word that ends before s have its period by right? */
static bool is_short(const char *text, const char *s) {
    const char *from = s;
    char word[16] = {0};
    while (from > text && !in_set(from[-1], " ('\"\t"))
        from--;
    size_t n = (size_t)(s - from);
    if (memchr(from, '.', n) || n == 1) return true;
    if (n == 0 || n >= sizeof word) return false;
    memcpy(word, from, n);
    for (const char *const *v = short_forms; *v; v++)
        if (strcmp(*v, word) == 0) return true;
    return false;
}

/* Does the period at s end a sentence? */
static bool ends_sentence(const char *text, const char *s) {
    const char *q = s + 1;
    bool blank = false;
    for (; in_set(*q, "])}>\"' \t"); q++)
        blank = blank || *q == ' ' || *q == '\t';
    return *q == 0 || (blank && !is_short(text, s));
}

/* How many bytes at s are a word by themselves; 0: they belong to one. */
static size_t sign_at(const char *text, const char *s) {
    size_t n = one_of(quotes, s);
    if (n) return n;
    if (in_set(*s, ";@#$%&?!*()[]{}<>\"")) return 1;
    if (strncmp(s, "''", 2) == 0 || strncmp(s, "--", 2) == 0) return 2;
    if (*s == ',' || *s == ':') return isdigit((unsigned char)s[1]) ? 0 : 1;
    if (*s != '.') return 0;
    n = strspn(s, ".");
    return n > 1 ? n : ends_sentence(text, s) ? 1 : 0;
}

static bool is_letter(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* A word without signs: its ending is a word, too. */
static void give_word(const char *s, size_t n, cr_word_fn fn, void *ctx) {
    if (n > 2 && s[0] == '\'' && is_letter(s[1]) && !is_letter(s[2]) && !in_set(s[1], "mtsdn")) {
        fn(ctx, s, 1); /* a quote before a word of one letter */
        give_word(s + 1, n - 1, fn, ctx);
        return;
    }
    if (n == 2 && s[0] == '\'' && is_letter(s[1]) && !in_set(s[1], "mtsdn")) {
        fn(ctx, s, 1);
        fn(ctx, s + 1, 1);
        return;
    }
    for (size_t i = 0; i < sizeof two / sizeof *two; i++) {
        size_t a = strlen(two[i][0]), b = strlen(two[i][1]);
        if (n != a + b || memcmp(s, two[i][0], a) != 0 || memcmp(s + a, two[i][1], b) != 0)
            continue;
        fn(ctx, s, a);
        fn(ctx, s + a, b);
        return;
    }
    for (const char *const *e = endings; *e; e++) {
        size_t k = strlen(*e);
        if (n <= k || memcmp(s + n - k, *e, k) != 0 || s[n - k - 1] == '\'') continue;
        fn(ctx, s, n - k);
        fn(ctx, s + n - k, k);
        return;
    }
    fn(ctx, s, n);
}

void cr_title_words(const char *title, size_t n, cr_buf *work, cr_word_fn fn, void *ctx) {
    cr_buf_reset(work);
    for (size_t i = 0; i < n && title[i]; i++)
        cr_buf_char(work, (char)tolower((unsigned char)title[i]));
    cr_buf_char(work, 0);
    const char *text = work->data;
    for (const char *s = text; *s;) {
        size_t k = sign_at(text, s);
        if (*s == '"') {
            bool opens = s == text || in_set(s[-1], " ([{<");
            fn(ctx, opens ? "``" : "''", 2);
            s++;
        } else if (k) {
            fn(ctx, s, k);
            s += k;
        } else if (isspace((unsigned char)*s)) {
            s++;
        } else {
            const char *from = s++;
            while (*s && !isspace((unsigned char)*s) && !sign_at(text, s))
                s++;
            give_word(from, (size_t)(s - from), fn, ctx);
        }
    }
}
