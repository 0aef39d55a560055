/*
 * decode_int.h - the decoding half of the Parquet library: kernels, encodings, pages.
 *
 * A function that finds wrong bytes in a file returns the cause, a constant text, and NULL when all
 * is well. The cursor adds the place. Kernels may read CR_PQ_PAD bytes beyond their input and write
 * CR_PQ_PAD bytes beyond their output.
 */
#ifndef CR_PARQUET_DECODE_INT_H
#define CR_PARQUET_DECODE_INT_H

#include "parquet/parquet_int.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Parquet stores little-endian values; this code copies them as they are"
#endif

/* ---- simd.c, simd_x86.c: kernels, one table per CPU level; all levels give the same bytes ---- */

typedef struct cr_pq_kern {
    /* unpackB reads n values of bw bits, lowest bit first, into B bits each (bw <= B) */
    void (*unpack8)(const uint8_t *in, uint8_t *out, size_t n, int bw);
    void (*unpack32)(const uint8_t *in, uint32_t *out, size_t n, int bw);
    void (*unpack64)(const uint8_t *in, uint64_t *out, size_t n, int bw);
    /* expandB: out[i] = valid[i] ? in[j++] : 0; returns j. `in` may lie at any byte */
    size_t (*expand8)(uint8_t *out, const uint8_t *in, const uint8_t *valid, size_t n);
    size_t (*expand32)(uint32_t *out, const void *in, const uint8_t *valid, size_t n);
    size_t (*expand64)(uint64_t *out, const void *in, const uint8_t *valid, size_t n);
    /* gatherB: out[i] = dict[code[i]]; the codes were checked */
    void (*gather32)(uint32_t *out, const uint32_t *dict, const uint32_t *code, size_t n);
    void (*gather64)(uint64_t *out, const uint64_t *dict, const uint32_t *code, size_t n);
    /* largest of n codes */
    uint32_t (*largest)(const uint32_t *code, size_t n);
    /* how many of n bytes (0 or 1) are 1 */
    size_t (*count)(const uint8_t *v, size_t n);
    /* out[i] = in[i] == x; returns how many are equal */
    size_t (*equal)(const uint8_t *in, uint8_t x, uint8_t *out, size_t n);
    /* bit i of out = in[i] >= x, in as many whole words as n needs; the other bits are 0 */
    void (*reach)(const uint8_t *in, uint8_t x, size_t n, uint64_t *out);
    /* bit j of begins starts list k: off[k] = first + the number of items before bit j, valid[k] =
     * bit j of there. Returns the number of lists; *n_items counts the bits of items */
    size_t (*lists)(const uint64_t *begins, const uint64_t *items, const uint64_t *there,
                    size_t words, int32_t first, int32_t *off, uint8_t *valid, size_t *n_items);
    /* for each bit of `where` writes the same bit of `bits` as a byte; returns how many */
    size_t (*bits_at)(const uint64_t *bits, const uint64_t *where, size_t words, uint8_t *out);
    /* walks strings, 4 bytes of length and the text, from *at up to size; writes begin and end plus
     * base of up to n strings, returns how many there were, and moves *at */
    size_t (*walk)(const uint8_t *page, size_t *at, size_t size, uint32_t base, uint32_t *beg,
                   uint32_t *end, size_t n);
    /* output value i is made of the bytes in[i], in[stride + i], ... */
    void (*split4)(const uint8_t *in, size_t stride, uint8_t *out, size_t n);
    void (*split8)(const uint8_t *in, size_t stride, uint8_t *out, size_t n);
    uint32_t (*crc)(const uint8_t *in, size_t n);
} cr_pq_kern;
const cr_pq_kern *cr_pq_kern_for(cr_cpu_level level);
extern const cr_pq_kern cr_pq_kern_c;

/* ---- codec.c ---- */

/* cr_pq_decompress: out has room for exactly out_n bytes (and CR_PQ_PAD more); a result of another
 * size is an error, whose cause comes without a place. *state (NULL at first) keeps what a codec
 * needs for the next page; state NULL: nothing is kept. */
CR_CHECKED cr_code cr_pq_decompress(void **state, cr_pq_codec codec, const uint8_t *in, size_t n,
                                    uint8_t *out, size_t out_n, cr_err *err);
void cr_pq_codec_state_free(void *state);

/* ---- snappy.c ---- */

/* cr_pq_unsnappy returns false when the data is damaged or does not give exactly out_n bytes. */
bool cr_pq_unsnappy(const uint8_t *in, size_t n, uint8_t *out, size_t out_n);

/* ---- rle.c: runs and bit-packed groups ---- */

typedef struct cr_pq_rle {
    const cr_pq_kern *k;
    const uint8_t *p, *end;
    int bw;                    /* bits of a value, 0..32 */
    uint32_t value;            /* value of the run */
    uint64_t run;              /* values left in a run of equal values */
    uint64_t packed;           /* bit-packed values left; they begin in the group of 8 at p */
    unsigned in_group;         /* values of that group that were already returned */
    const uint8_t *packed_end; /* where the next run begins */
} cr_pq_rle;
void cr_pq_rle_init(cr_pq_rle *r, const cr_pq_kern *k, const uint8_t *p, size_t n, int bw);
/* These return how many values there were: fewer than n when the input ends. For get8, bw <= 8. */
size_t cr_pq_rle_get8(cr_pq_rle *r, uint8_t *out, size_t n);
size_t cr_pq_rle_get32(cr_pq_rle *r, uint32_t *out, size_t n);
size_t cr_pq_rle_skip(cr_pq_rle *r, size_t n);
/* cr_pq_rle_run returns how many equal values come next, and puts the value into *value. 0:
 * bit-packed values come next, or the end. */
uint64_t cr_pq_rle_run(cr_pq_rle *r, uint32_t *value);

/* ---- delta.c ---- */

#define CR_PQ_DELTA_STEP 64
typedef struct cr_pq_delta {
    const cr_pq_kern *k;
    const uint8_t *p, *end;
    uint64_t n_left;  /* values not yet decoded */
    uint64_t last;    /* the value decoded last */
    uint64_t min;     /* smallest difference of the block */
    uint64_t n_mini;  /* miniblocks per block */
    uint64_t mini;    /* values per miniblock */
    uint64_t mini_at; /* miniblocks of this block that have begun */
    uint64_t mini_left;
    int bw;
    const uint8_t *bw_of;    /* bit widths of the block's miniblocks */
    const uint8_t *mini_end; /* end of the current miniblock */
    bool at_first;           /* the first value, which the header holds, was not returned yet */
    unsigned buf_at, buf_n;
    uint64_t buf[CR_PQ_DELTA_STEP + CR_PQ_PAD / 8];
} cr_pq_delta;
const char *cr_pq_delta_init(cr_pq_delta *d, const cr_pq_kern *k, const uint8_t *p, size_t n);
/* cr_pq_delta_count returns the number of all values; call it right after init. */
uint64_t cr_pq_delta_count(const cr_pq_delta *d);
const char *cr_pq_delta_get32(cr_pq_delta *d, uint32_t *out, size_t n);
const char *cr_pq_delta_get64(cr_pq_delta *d, uint64_t *out, size_t n);
/* cr_pq_delta_end returns where the bytes after the last value begin, once all values were read. */
const uint8_t *cr_pq_delta_end(const cr_pq_delta *d);

/* ---- levels.c ---- */

#define CR_PQ_LOOK 2048 /* levels of lists are processed in blocks of this size */

typedef enum cr_pq_level_form { CR_PQ_LV_NONE, CR_PQ_LV_RLE, CR_PQ_LV_BITS } cr_pq_level_form;
/* A stream of levels. CR_PQ_LV_NONE: all are 0; CR_PQ_LV_BITS: the old form, the highest bit
 * first. */
typedef struct cr_pq_levels {
    cr_pq_level_form form;
    int max, bw;
    cr_pq_rle rle;
    const uint8_t *bits;
    size_t bit_at, bit_end;
} cr_pq_levels;
int cr_pq_level_bits(int max);
void cr_pq_levels_init(cr_pq_levels *l, const cr_pq_kern *k, cr_pq_level_form form, int max,
                       const uint8_t *p, size_t n);
/* cr_pq_levels_get reads n levels and checks that all are <= max. */
const char *cr_pq_levels_get(cr_pq_levels *l, uint8_t *out, size_t n);
void cr_pq_levels_move(cr_pq_levels *l, ptrdiff_t by); /* tells it that the bytes were moved */

/* The lists around a leaf. For depth r = 1 .. max_rep, the list has an item when def >=
 * item_def[r], and the list is null when def < item_def[r] - 1. */
typedef struct cr_pq_nest {
    int max_def, max_rep;
    int item_def[CR_PQ_MAX_DEPTH + 1];
} cr_pq_nest;
bool cr_pq_nest_of(const cr_pq_meta *m, int node, cr_pq_nest *out);

/* Lists that are being built: the caller makes room for n more entries at every depth. */
typedef struct cr_pq_lists {
    int32_t *off[CR_PQ_MAX_DEPTH + 1];   /* index r = 1 .. max_rep */
    uint8_t *valid[CR_PQ_MAX_DEPTH + 1]; /* always written */
    int64_t n[CR_PQ_MAX_DEPTH + 2];      /* entries at each depth; [max_rep + 1]: slots */
    bool has_null[CR_PQ_MAX_DEPTH + 1];
    int last; /* the previous definition level */
} cr_pq_lists;
/* cr_pq_lists_add adds n levels, at most CR_PQ_LOOK. slot_valid (room for n) gets a byte per slot;
 * *n_slots and *n_valid count the slots and the values of this call. */
const char *cr_pq_lists_add(const cr_pq_kern *k, const cr_pq_nest *nest, cr_pq_lists *l,
                            const uint8_t *rep, const uint8_t *def, size_t n, uint8_t *slot_valid,
                            size_t *n_slots, size_t *n_valid);
/* cr_pq_rows_end returns how many of n levels (at most CR_PQ_LOOK) belong to the next *rows rows,
 * and subtracts each row that begins from *rows. *more: a further row begins after them. */
size_t cr_pq_rows_end(const cr_pq_kern *k, const uint8_t *rep, size_t n, int64_t *rows, bool *more);

/* ---- plain.c ---- */

/* cr_pq_width returns the bytes of a value in a vector; 0 for CR_PQ_BYTES. */
int cr_pq_width(cr_pq_type t, int type_length);
/* cr_pq_unsplit puts n values of `width` bytes together from split streams of `stride` values, from
 * value `at` on. */
void cr_pq_unsplit(const cr_pq_kern *k, const uint8_t *in, size_t stride, size_t at, int width,
                   uint8_t *out, size_t n);
size_t cr_pq_expand(const cr_pq_kern *k, int width, uint8_t *out, const uint8_t *in,
                    const uint8_t *valid, size_t n);
void cr_pq_gather(const cr_pq_kern *k, int width, uint8_t *out, const uint8_t *dict,
                  const uint32_t *code, size_t n);

/* ---- page.c ---- */

/* Memory that grows and is kept; it is always CR_PQ_PAD bytes longer than asked for. */
typedef struct cr_pq_mem {
    uint8_t *p;
    size_t cap;
} cr_pq_mem;
/* cr_pq_mem_need makes room for size bytes and keeps the first `keep`; more than the limit is an
 * error that names `what`. */
CR_CHECKED cr_code cr_pq_mem_need(cr_pq_mem *m, size_t size, size_t keep, size_t limit,
                                  const char *what, cr_err *err);
void cr_pq_mem_free(cr_pq_mem *m);

typedef struct cr_pq_dict {
    int64_t n;
    const uint8_t *v;          /* values of a fixed width */
    const uint32_t *beg, *end; /* CR_PQ_BYTES: begin and end of each in the cursor's text */
} cr_pq_dict;

typedef enum cr_pq_form {
    CR_PQ_F_FIXED,   /* values of a fixed width, side by side */
    CR_PQ_F_BITS,    /* booleans, one bit each */
    CR_PQ_F_RLE,     /* booleans in runs */
    CR_PQ_F_DICT,    /* codes */
    CR_PQ_F_DELTA,   /* DELTA_BINARY_PACKED */
    CR_PQ_F_SPLIT,   /* BYTE_STREAM_SPLIT */
    CR_PQ_F_TEXT,    /* strings, each after its length */
    CR_PQ_F_OFFSETS, /* strings whose places were computed when the page was opened */
    CR_PQ_F_NONE     /* no values at all */
} cr_pq_form;

/* The values of a page: the current place in them, and how to continue from there. */
typedef struct cr_pq_values {
    const cr_pq_kern *k;
    cr_pq_form form;
    cr_pq_type type;
    int width;
    const uint8_t *p, *end; /* FIXED, BITS, SPLIT */
    size_t at, n;           /* BITS, SPLIT, OFFSETS: count values; TEXT: counts bytes of the page */
    cr_pq_rle rle;
    cr_pq_delta delta;
    const cr_pq_dict *dict;
    const uint32_t *beg, *fin; /* OFFSETS: counted from the beginning of the page */
} cr_pq_values;

/* Memory that a cursor lends to its page. */
typedef struct cr_pq_page_mem {
    cr_pq_mem raw;      /* the decompressed page, unless it is text */
    cr_pq_mem text;     /* text of strings: first the dictionary's, then that of pages */
    cr_pq_mem beg, fin; /* OFFSETS */
    cr_pq_mem tmp;
    void *codec; /* state of cr_pq_decompress */
} cr_pq_page_mem;

typedef struct cr_pq_page {
    cr_pq_page_head head;
    int64_t at; /* place in the file */
    cr_pq_levels rep, def;
    cr_pq_values v;
    size_t text_at, text_n; /* its part of the text; 0 bytes: none */
    bool levels_in_text;
} cr_pq_page;

typedef struct cr_pq_page_in {
    const cr_pq_kern *k;
    const cr_pq_node *node;
    cr_pq_codec codec;
    const cr_pq_dict *dict; /* NULL: the chunk has no dictionary */
    size_t budget;
    bool skip_crc;
    size_t text_at;     /* the text is unused from here on */
    double *decompress; /* the seconds it took are added here */
} cr_pq_page_in;
/* cr_pq_page_open opens a page. body has head.size bytes, CR_PQ_PAD readable bytes after them, and
 * must stay valid. err gets a cause without a place. */
CR_CHECKED cr_code cr_pq_page_open(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *body,
                                   cr_pq_page_mem *mem, cr_err *err);
/* cr_pq_dict_open opens a dictionary page; the text of strings, *text_n bytes, goes to the
 * beginning of mem->text. */
CR_CHECKED cr_code cr_pq_dict_open(cr_pq_dict *dict, const cr_pq_page_head *head,
                                   const cr_pq_page_in *in, const uint8_t *body, cr_pq_mem *v,
                                   cr_pq_page_mem *mem, size_t *text_n, cr_err *err);

/* ---- values.c: read the next n values; each function fails when the page has fewer ---- */

/* cr_pq_values_spread reads values of a fixed width into n slots. n_valid of the slots have a
 * value; those where valid is 0 become zeros. */
const char *cr_pq_values_spread(cr_pq_values *v, uint8_t *out, const uint8_t *valid, size_t n,
                                size_t n_valid);
const char *cr_pq_values_codes(cr_pq_values *v, uint32_t *out, size_t n);
/* cr_pq_values_text reads strings; base is where the page's text begins. */
const char *cr_pq_values_text(cr_pq_values *v, const uint8_t *page, uint32_t base, uint32_t *beg,
                              uint32_t *end, size_t n);
const char *cr_pq_values_skip(cr_pq_values *v, const uint8_t *page, size_t n);

/* ---- cursor.c, vector.c ---- */

struct cr_pq_cursor {
    const cr_pq_kern *k;
    const cr_pq_file *f; /* NULL: the cursor is nowhere, or the last call failed */
    int group, leaf;
    const cr_pq_node *node;
    const cr_pq_chunk *chunk;
    cr_pq_nest nest;
    int64_t n_rows; /* rows of the row group */
    int64_t row;    /* the next row to read */

    int64_t pos, end; /* place of the next page, and end of the chunk */
    int64_t hard_end; /* no page may end after this */
    int64_t n_seen;   /* values of pages opened or skipped; -1: not known */
    cr_pq_page page;  /* open while left or look_at < look_n */
    int64_t left;     /* levels of the page that were not read yet */
    bool has_dict;
    cr_pq_dict dict;
    size_t dict_text;  /* bytes of the dictionary's text */
    size_t text_n;     /* bytes of text in use */
    cr_pq_index index; /* read when it was worth it */
    bool has_index;
    cr_arena arena; /* memory of the index */

    cr_pq_mem win; /* bytes of the file from win_at on */
    int64_t win_at;
    size_t win_n;
    cr_pq_page_mem mem;
    cr_pq_mem dict_mem;

    /* the vector that is being filled */
    cr_pq_mem values, valid, beg, fin, code, def, rep;
    cr_pq_mem off[CR_PQ_MAX_DEPTH + 1], list_valid[CR_PQ_MAX_DEPTH + 1];
    bool has_valid; /* valid is written up to here */
    bool coded;     /* all strings so far are codes */
    int64_t n_null;
    const uint8_t *direct; /* values that stay where they are */

    /* levels in def and rep: [0, look_at) belong to this vector, [look_at, look_n) to the next */
    size_t look_at, look_n;
    cr_pq_times times;
};
/* cr_pq_next_page opens the next page that has values. It skips pages of known length while they
 * have at most *skip rows, and subtracts these rows. *end: there is no further page. */
CR_CHECKED cr_code cr_pq_next_page(cr_pq_cursor *c, int64_t *skip, bool *end, cr_err *err);
/* cr_pq_bad_page reports a failure with the place of the open page. */
cr_code cr_pq_bad_page(const cr_pq_cursor *c, const char *cause, cr_err *err);
/* cr_pq_vector reads the next n rows, which the row group must have. */
CR_CHECKED cr_code cr_pq_vector(cr_pq_cursor *c, int64_t n, int how, cr_pq_vec *out, cr_err *err);
/* cr_pq_pass skips n rows. */
CR_CHECKED cr_code cr_pq_pass(cr_pq_cursor *c, int64_t n, cr_err *err);

#endif
