/*
 * tok.h - tokenizers turn text into ids, following a trained file of the user. There are two kinds:
 * a HuggingFace tokenizer.json with a BPE model (tok_hf.c) and a SentencePiece model (tok_spm.c).
 *
 * A tokenizer is built once and then read by many threads, each with its own cr_tok_run.
 */
#ifndef CR_TEXT_TOK_H
#define CR_TEXT_TOK_H

#include "base/buf.h"

typedef struct cr_tokenizer cr_tokenizer;
typedef struct cr_tok_run cr_tok_run; /* work memory of one thread */
typedef struct cr_tok_ids {           /* a growing list; a zeroed one is empty */
    int64_t *v;
    int64_t n, cap;
} cr_tok_ids;
void cr_tok_ids_put(cr_tok_ids *ids, int64_t id);
void cr_tok_ids_clear(cr_tok_ids *ids);

enum { CR_TOK_TYPE = 1 }; /* cr_err.why: there is no such type */
/* cr_tokenizer_new makes a tokenizer; type is bpe or sentencepiece, data is the content of the
 * file. Mistakes in the file go to err, without the file's name. */
CR_CHECKED cr_code cr_tokenizer_new(cr_tokenizer **out, const char *type, const char *data,
                                    size_t n, cr_err *err);
void cr_tokenizer_free(cr_tokenizer *t);
int64_t cr_tokenizer_size(const cr_tokenizer *t); /* highest id + 1 */
cr_tok_run *cr_tok_run_new(const cr_tokenizer *t);
void cr_tok_run_free(const cr_tokenizer *t, cr_tok_run *run);
/* cr_tokenizer_encode adds the ids of a text, without special tokens around it. Bytes that are no
 * UTF-8 count as U+FFFD. false: the text is too long or takes too much work (limits.h). */
bool cr_tokenizer_encode(const cr_tokenizer *t, cr_tok_run *run, const char *text, size_t n,
                         cr_tok_ids *ids);

#endif
