/*
 * fuzz_tokenizer.c - any bytes as a tokenizer.json ('j' first) or a SentencePiece model (another
 * byte first): nothing may crash, and what is accepted gives ids inside its size, the same twice.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/tok.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool x, const char *what) {
    if (x) return;
    fprintf(stderr, "fuzz_tokenizer: %s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const texts[] = {"abc efg  the 123",
                                        "\xef\xac\x81\xe4\xb8\xad\xe6\x96\x87 don't\t!!",
                                        "\xff\xc3 a\xcc\x81<s> <|endoftext|>", "   "};
    if (size == 0) return 0;
    size_t n = size - 1;
    char *copy = malloc(n ? n : 1); /* of exactly this size: a read past its end is seen */
    if (!copy) return 0;
    if (n) memcpy(copy, data + 1, n);
    cr_tokenizer *t = NULL;
    cr_err err = {0};
    if (cr_tokenizer_new(&t, data[0] == 'j' ? "bpe" : "sentencepiece", copy, n, &err) == CR_OK) {
        cr_tok_run *run = cr_tok_run_new(t);
        cr_tok_ids a = {0}, b = {0};
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
            a.n = b.n = 0;
            bool x = cr_tokenizer_encode(t, run, texts[i], strlen(texts[i]), &a);
            bool y = cr_tokenizer_encode(t, run, texts[i], strlen(texts[i]), &b);
            must(x == y && a.n == b.n, "another number of tokens the second time");
            for (int64_t k = 0; x && k < a.n; k++)
                must(a.v[k] == b.v[k] && a.v[k] >= 0 && a.v[k] < cr_tokenizer_size(t),
                     "an id outside, or another one the second time");
        }
        cr_tok_ids_clear(&a);
        cr_tok_ids_clear(&b);
        cr_tok_run_free(t, run);
        cr_tokenizer_free(t);
    } else {
        must(t == NULL && err.msg[0], "an error without words");
    }
    free(copy);
    return 0;
}
