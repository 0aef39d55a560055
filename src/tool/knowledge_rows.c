/*
 * knowledge_rows.c - rows of PaddleRec's kim: articles with the words of their titles, entities and
 * the neighbours of entities in a graph. The folder of the data has
 *
 *   docs.tsv             article, category, subcategory, title, text, address, entities of the
 *                        title as JSON, those of the text; tabs between them
 *   entity2id.txt        a count, then an entity and its number in each line
 *   KGGraph.json         for each entity a list of its neighbours
 *   glove.840B.300d.txt  a word and its vector in each line
 *   train.tsv, test.tsv  number, user, time, clicked articles, shown articles (N12-1: clicked)
 *
 * A row is label, session, words, entities and neighbours with tabs between them: of the candidates
 * and then of the last clicked articles, with padding in front of fewer of these. A row of training
 * has a clicked article and drawn ones of the others that were shown, and its label is the place of
 * the clicked one; one of an evaluation has one candidate, and 1 or 0 whether it was clicked. Word
 * 0 is padding; so is the last entity, whose vector is 0. Of more entities or neighbours than fit
 * the first are taken.
 *
 * .sizes has the number of entities. .words.safetensors and .entities.safetensors have the first
 * vectors of both tables: those of the file, 0 for other words; drawn ones for the entities.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/shown.h"
#include "ckpt/safetensors.h"
#include "tool/lines.h"
#include "tool/title_words.h"
#include "tool/tool.h"

#define MAX_JSON ((size_t)1 << 30)

typedef struct knowledge {
    const cr_paddle_knowledge *o;
    cr_map words, entities, articles;
    cr_json *graph;
    int64_t *v; /* words, entities, neighbours of each article; article 0 is padding */
    int64_t n, cap, wide, n_entities;
    cr_buf work, out;
    bool test;
    int64_t rows, left_out, sessions;
    int64_t known;  /* shown articles that docs.tsv has */
    float *vectors; /* those of the words */
    bool some;      /* a word has a vector in the file */
} knowledge;

typedef struct piece {
    const char *p;
    size_t n;
} piece;

static piece next_of(piece *rest, char by) {
    const char *q = rest->n ? memchr(rest->p, by, rest->n) : NULL;
    piece first = {rest->p, q ? (size_t)(q - rest->p) : rest->n};
    size_t used = q ? first.n + 1 : first.n;
    *rest = (piece){rest->p + used, rest->n - used};
    return first;
}

static cr_code wrong_line(piece line, cr_loc at, const char *form, cr_err *err) {
    char shown[CR_SHOW];
    return cr_fail_at(err, CR_EDATA, at, "'%s' is not %s; correct the line",
                      cr_show(shown, line.p, line.n), form);
}

/* ---- entities ---- */

static cr_code take_entity(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    knowledge *k = ctx;
    piece line = {p, n}, rest = line, name = next_of(&rest, '\t');
    int64_t id;
    if (at.line == 1) return CR_OK; /* the count */
    if (name.n == 0 || !cr_parse_i64(rest.p, rest.n, &id) || id < 0 || id >= at.line)
        return wrong_line(line, at,
                          "an entity and its number with a tab between them, from 0 on and below "
                          "the number of the line",
                          err);
    (void)cr_map_put(&k->entities, name.p, name.n, id); /* the last one counts */
    if (id >= k->n_entities) k->n_entities = id + 1;
    return CR_OK;
}

static cr_code read_graph(knowledge *k, const char *path, cr_err *err) {
    cr_buf text;
    cr_err why;
    cr_buf_init(&text);
    cr_code code = cr_file_read(path, MAX_JSON, &text, err);
    if (code == CR_OK && cr_json_parse(&k->graph, text.data, text.n, &why) != CR_OK)
        code = cr_fail_at(err, CR_EDATA, ((cr_loc){path, 0, 0}), "%s; correct the file", why.msg);
    if (code == CR_OK && !cr_json_is_obj(k->graph))
        code =
            cr_fail(err, CR_EDATA, "'%s' is not lists of neighbours by entity; correct it", path);
    cr_buf_clear(&text);
    return code;
}

/* The entities of an article, and their neighbours; those that have no number are left out. */
static void put_entities(knowledge *k, const cr_json *list, int64_t *to) {
    int64_t N = k->o->entities, n = 0, *near = to + N;
    for (size_t i = 0; i < cr_json_len(list) && n < N; i++) {
        const cr_json *e = cr_json_at(list, i);
        const char *name = cr_json_is_obj(e) ? cr_json_str(cr_json_get(e, "WikidataId")) : NULL;
        int64_t id = name ? cr_map_get(&k->entities, name, strlen(name), -1) : -1, m = 0;
        if (id < 0) continue;
        const cr_json *others = cr_json_get(k->graph, name);
        for (size_t j = 0; others && cr_json_is_arr(others) && j < cr_json_len(others) && m < N;
             j++) {
            const char *other = cr_json_str(cr_json_at(others, j));
            int64_t there = other ? cr_map_get(&k->entities, other, strlen(other), -1) : -1;
            if (there >= 0) near[n * N + m++] = there;
        }
        to[n++] = id;
    }
}

/* ---- articles ---- */

/* A title that is being read. */
typedef struct title {
    knowledge *k;
    int64_t n, *to;
} title;

static void take_word(void *ctx, const char *word, size_t n) {
    title *t = ctx;
    int64_t id = cr_map_get(&t->k->words, word, n, 0);
    if (id == 0) {
        id = (int64_t)t->k->words.n + 1;
        (void)cr_map_put(&t->k->words, word, n, id);
    }
    if (t->n < t->k->o->words) t->to[t->n++] = id;
}

/* Makes room for one more article, which is padding. */
static int64_t *new_article(knowledge *k) {
    if (k->n == k->cap) {
        int64_t cap = 2 * k->cap + 64;
        size_t one = (size_t)k->wide * sizeof *k->v;
        k->v = cr_realloc(k->v, (size_t)k->cap * one, (size_t)cap * one, "articles");
        k->cap = cap;
    }
    int64_t *to = k->v + k->n++ * k->wide;
    for (int64_t i = 0; i < k->wide; i++)
        to[i] = i < k->o->words ? 0 : k->n_entities;
    return to;
}

static cr_code take_article(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    knowledge *k = ctx;
    piece line = {p, n}, rest = line, v[7];
    cr_json *list = NULL;
    cr_err inner;
    for (int i = 0; i < 7; i++)
        v[i] = next_of(&rest, '\t');
    if (v[0].n == 0 || v[6].n == 0 || cr_json_parse(&list, v[6].p, v[6].n, &inner) != CR_OK ||
        !cr_json_is_arr(list)) {
        cr_json_free(list);
        return wrong_line(line, at,
                          "an article with its category, subcategory, title, text, address and "
                          "entities (a list in JSON), tabs between them",
                          err);
    }
    (void)cr_map_put(&k->articles, v[0].p, v[0].n, k->n);
    int64_t *to = new_article(k);
    title t = {k, 0, to};
    cr_title_words(v[3].p, v[3].n, &k->work, take_word, &t);
    put_entities(k, list, to + k->o->words);
    cr_json_free(list);
    return CR_OK;
}

/* ---- rows ---- */

/* Numbers of articles; 0 stands for one that docs.tsv does not have. */
typedef struct numbers {
    int64_t *v;
    int64_t n, cap;
} numbers;

static void push(numbers *l, int64_t x) {
    if (l->n == l->cap) {
        int64_t cap = 2 * l->cap + 64;
        l->v = cr_realloc(l->v, (size_t)l->cap * sizeof x, (size_t)cap * sizeof x, "a session");
        l->cap = cap;
    }
    l->v[l->n++] = x;
}

static int64_t article_of(const knowledge *k, piece name) {
    return cr_map_get(&k->articles, name.p, name.n, 0);
}

/* Writes numbers [from, from + n) of each of these articles. */
static void put_part(knowledge *k, const int64_t *articles, int64_t count, int64_t from,
                     int64_t n) {
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++)
            cr_buf_printf(&k->out, i + j ? " %lld" : "\t%lld",
                          (long long)k->v[articles[i] * k->wide + from + j]);
}

static void put_row(knowledge *k, int64_t label, const int64_t *articles, int64_t count) {
    int64_t S = k->o->words, N = k->o->entities;
    cr_buf_printf(&k->out, "%lld\t%lld", (long long)label, (long long)k->sessions);
    put_part(k, articles, count, 0, S);
    put_part(k, articles, count, S, N);
    put_part(k, articles, count, S + N, N * N);
    cr_buf_char(&k->out, '\n');
    k->rows++;
}

/* Draws others into the places behind the first candidate: none twice while there are enough. */
static void draw(const knowledge *k, const numbers *others, int64_t *to) {
    uint64_t key = cr_rng_sub(cr_rng_key(0, "shown articles", NULL), (uint64_t)k->rows);
    int64_t n = others->n, *left = cr_alloc((size_t)n * sizeof *left, "shown articles");
    for (int64_t i = 0; i < k->o->others; i++) {
        if (i % n == 0) memcpy(left, others->v, (size_t)n * sizeof *left);
        int64_t still = n - i % n;
        int64_t at = (int64_t)cr_rng_below(key, (uint64_t)i, (uint64_t)still);
        to[i] = left[at];
        left[at] = left[still - 1];
    }
    cr_free(left);
}

static cr_code take_session(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    knowledge *k = ctx;
    piece line = {p, n}, rest = line, v[4];
    int64_t B = k->o->clicked, C = k->test ? 1 : k->o->others + 1;
    numbers clicked = {0}, right = {0}, others = {0};
    cr_code code = CR_OK;
    for (int i = 0; i < 4; i++)
        v[i] = next_of(&rest, '\t');
    while (v[3].n) {
        int64_t a = article_of(k, next_of(&v[3], ' '));
        if (a) push(&clicked, a);
    }
    for (piece all = rest; all.n && code == CR_OK;) {
        piece one = next_of(&all, ' ');
        if (one.n == 0) continue;
        if (one.n < 3 || one.p[one.n - 2] != '-')
            code = wrong_line(one, at, "an article and 1 or 0, such as N55689-1", err);
        else {
            int64_t a = article_of(k, (piece){one.p, one.n - 2});
            push(one.p[one.n - 1] == '1' ? &right : &others, a);
            k->known += a > 0;
        }
    }
    if (code == CR_OK && right.n + others.n == 0)
        code = wrong_line(line, at,
                          "number, user, time, clicked and shown articles with tabs between them",
                          err);
    int64_t *row = CR_OK == code ? cr_alloc((size_t)(C + B) * sizeof *row, "a session") : NULL;
    for (int64_t i = 0; row && i < B; i++)
        row[C + i] = i + clicked.n < B ? 0 : clicked.v[clicked.n - B + i];
    for (int64_t i = 0; row && i < right.n; i++) {
        int64_t place = k->test ? 0 : k->rows % C;
        if (!k->test && others.n == 0) {
            k->left_out++;
            continue;
        }
        if (!k->test) draw(k, &others, row + 1);
        row[0] = row[place];
        row[place] = right.v[i];
        put_row(k, k->test ? 1 : place, row, C + B);
    }
    for (int64_t i = 0; row && k->test && i < others.n; i++) {
        row[0] = others.v[i];
        put_row(k, 0, row, C + B);
    }
    k->sessions++;
    cr_free(row);
    cr_free(clicked.v);
    cr_free(right.v);
    cr_free(others.v);
    return code;
}

/* ---- first vectors ---- */

static cr_code take_vector(void *ctx, const char *p, size_t n, cr_loc at, cr_err *err) {
    knowledge *k = ctx;
    piece line = {p, n}, rest = line, word = next_of(&rest, ' ');
    int64_t id = cr_map_get(&k->words, word.p, word.n, 0);
    if (id == 0) return CR_OK;
    k->some = true;
    for (int64_t i = 0; i < k->o->width; i++) {
        piece one = next_of(&rest, ' ');
        double x;
        if (!cr_parse_f64(one.p, one.n, &x) || (i + 1 < k->o->width) != (rest.n > 0))
            return wrong_line(line, at, "a word and as many numbers as embedding_size says", err);
        k->vectors[id * k->o->width + i] = (float)x;
    }
    return CR_OK;
}

static void get_word(void *ctx, int64_t first, int64_t n, void *out) {
    memcpy(out, ((const knowledge *)ctx)->vectors + first, (size_t)n * sizeof(float));
}

static void get_entity(void *ctx, int64_t first, int64_t n, void *out) {
    const knowledge *k = ctx;
    uint64_t key = cr_rng_key(0, "entities", NULL);
    float *to = out;
    for (int64_t i = first; i < first + n; i++)
        *to++ = i / CR_PADDLE_ENTITY < k->n_entities ? (float)cr_rng_normal(key, (uint64_t)i) : 0;
}

static cr_code write_vectors(knowledge *k, const char *words, const char *entities, cr_err *err) {
    int64_t size;
    uint64_t digest;
    cr_st_out w = {"vectors", CR_DT_F32, 2, {k->o->vocab, k->o->width}, get_word, k};
    cr_st_out e = {"vectors", CR_DT_F32, 2, {k->n_entities + 1, CR_PADDLE_ENTITY}, get_entity, k};
    CR_TRY(cr_st_write(words, &w, 1, NULL, 0, &size, &digest, err));
    return cr_st_write(entities, &e, 1, NULL, 0, &size, &digest, err);
}

/* ---- the whole ---- */

static cr_code read_all(knowledge *k, cr_arena *a, const char *dir, cr_err *err) {
    void *p;
    CR_TRY(cr_each_line(cr_path_join(a, dir, "entity2id.txt"), take_entity, k, err));
    CR_TRY(read_graph(k, cr_path_join(a, dir, "KGGraph.json"), err));
    (void)new_article(k); /* padding */
    CR_TRY(cr_each_line(cr_path_join(a, dir, "docs.tsv"), take_article, k, err));
    if ((int64_t)k->words.n >= k->o->vocab)
        return cr_fail(err, CR_EDATA,
                       "the titles in '%s' have %lld words, and vocab_size is %lld; make it %lld",
                       dir, (long long)k->words.n, (long long)k->o->vocab,
                       (long long)k->words.n + 1);
    CR_TRY(cr_each_line(cr_path_join(a, dir, k->test ? "test.tsv" : "train.tsv"), take_session, k,
                        err));
    if (k->rows == 0)
        return cr_fail(err, CR_EDATA,
                       "the folder '%s' has no session with clicked and other "
                       "articles; name another folder",
                       dir);
    if (k->known == 0)
        return cr_fail(err, CR_EDATA,
                       "docs.tsv in the folder '%s' has none of the articles that the sessions "
                       "show; put in the docs.tsv of these sessions",
                       dir);
    CR_TRY(cr_try_alloc(&p, (size_t)(k->o->vocab * k->o->width) * sizeof(float), "vectors of words",
                        err));
    k->vectors = p;
    CR_TRY(cr_each_line(cr_path_join(a, dir, "glove.840B.300d.txt"), take_vector, k, err));
    if (!k->some)
        CR_WARN("glove.840B.300d.txt in %s has no word of the titles: all begin with 0", dir);
    if (k->n_entities == 0)
        CR_WARN("entity2id.txt in %s has no entity: articles have their words alone", dir);
    return CR_OK;
}

cr_code cr_knowledge_rows(const char *raw_dir, const char *out_dir, const cr_paddle_knowledge *o,
                          bool test, int64_t *rows, int64_t *left_out, cr_err *err) {
    cr_arena a;
    knowledge k = {.o = o, .test = test, .wide = o->words + o->entities * (o->entities + 1)};
    cr_arena_init(&a, 0);
    cr_map_init(&k.words);
    cr_map_init(&k.entities);
    cr_map_init(&k.articles);
    cr_buf_init(&k.work);
    cr_buf_init(&k.out);
    cr_code code = read_all(&k, &a, raw_dir, err);
    const char *sizes = cr_arena_printf(&a, "%lld\n", (long long)k.n_entities);
    if (code == CR_OK) code = cr_mkdirs(out_dir, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, "rows.txt"), k.out.data, k.out.n, err);
    if (code == CR_OK)
        code = cr_file_write(cr_path_join(&a, out_dir, ".sizes"), sizes, strlen(sizes), err);
    if (code == CR_OK)
        code = write_vectors(&k, cr_path_join(&a, out_dir, ".words.safetensors"),
                             cr_path_join(&a, out_dir, ".entities.safetensors"), err);
    *rows = k.rows;
    *left_out = k.left_out;
    cr_map_clear(&k.words);
    cr_map_clear(&k.entities);
    cr_map_clear(&k.articles);
    cr_json_free(k.graph);
    cr_buf_clear(&k.work);
    cr_buf_clear(&k.out);
    cr_free(k.v);
    cr_free(k.vectors);
    cr_arena_clear(&a);
    return code;
}
