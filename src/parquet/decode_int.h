/*
 * decode_int.h - the decoding half of the Parquet library: kernels, encodings, pages.
 *
 * Whatever can be wrong with bytes of a file is returned as a cause: a constant text, NULL when all
 * is well. The cursor adds the place. Kernels may read CR_PQ_PAD bytes behind their input and write
 * CR_PQ_PAD bytes behind their output.
 */
#ifndef CR_PARQUET_DECODE_INT_H
#define CR_PARQUET_DECODE_INT_H

#include "parquet/parquet_int.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Parquet stores little-endian values; this code copies them as they are"
#endif

/* ---- simd.c, simd_x86.c: kernels, one table per CPU level; every level gives the same bytes ----
 */

/* unpackB: n values of bw bits, the lowest bit first, each into B bits (bw <= B).
 * expandB: out[i] = valid[i] ? in[j++] : 0; returns j. in may lie at any byte.
 * gatherB: out[i] = dict[code[i]]; the codes were checked.
 * largest: the largest of n codes. count: how many of n bytes (0 or 1) are 1.
 * equal:  out[i] = in[i] == x; returns how many are.
 * reach:  bit i of out: in[i] >= x, as many whole words as n needs, zeros behind.
 * lists:  for every one in begins, list k: off[k] = first + the ones in items before it, valid[k] =
 * the bit of there; returns how many. *n_items: all ones of items. bits_at: for every one in
 * `where` a byte: the bit of `bits` there; returns how many. walk:   strings as 4 bytes of length
 * and the text, from at up to size; beg and end + base. Gives up to n and returns how many there
 * were; *at moves on. split4, split8: out value i is made of bytes in[i], in[stride + i], ... */
typedef struct cr_pq_kern {
    void (*unpack8)(const uint8_t *in, uint8_t *out, size_t n, int bw);
    void (*unpack32)(const uint8_t *in, uint32_t *out, size_t n, int bw);
    void (*unpack64)(const uint8_t *in, uint64_t *out, size_t n, int bw);
    size_t (*expand8)(uint8_t *out, const uint8_t *in, const uint8_t *valid, size_t n);
    size_t (*expand32)(uint32_t *out, const void *in, const uint8_t *valid, size_t n);
    size_t (*expand64)(uint64_t *out, const void *in, const uint8_t *valid, size_t n);
    void (*gather32)(uint32_t *out, const uint32_t *dict, const uint32_t *code, size_t n);
    void (*gather64)(uint64_t *out, const uint64_t *dict, const uint32_t *code, size_t n);
    uint32_t (*largest)(const uint32_t *code, size_t n);
    size_t (*count)(const uint8_t *v, size_t n);
    size_t (*equal)(const uint8_t *in, uint8_t x, uint8_t *out, size_t n);
    void (*reach)(const uint8_t *in, uint8_t x, size_t n, uint64_t *out);
    size_t (*lists)(const uint64_t *begins, const uint64_t *items, const uint64_t *there,
                    size_t words, int32_t first, int32_t *off, uint8_t *valid, size_t *n_items);
    size_t (*bits_at)(const uint64_t *bits, const uint64_t *where, size_t words, uint8_t *out);
    size_t (*walk)(const uint8_t *page, size_t *at, size_t size, uint32_t base, uint32_t *beg,
                   uint32_t *end, size_t n);
    void (*split4)(const uint8_t *in, size_t stride, uint8_t *out, size_t n);
    void (*split8)(const uint8_t *in, size_t stride, uint8_t *out, size_t n);
    uint32_t (*crc)(const uint8_t *in, size_t n);
} cr_pq_kern;
const cr_pq_kern *cr_pq_kern_for(cr_cpu_level level);
extern const cr_pq_kern cr_pq_kern_c;

/* ---- codec.c ---- */

/* like cr_pq_decompress; *state (NULL at first) keeps what a codec needs from page to page */
CR_CHECKED cr_code cr_pq_decompress_with(void **state, cr_pq_codec codec, const uint8_t *in,
                                         size_t n, uint8_t *out, size_t out_n, cr_err *err);
void cr_pq_codec_state_free(void *state);

/* ---- snappy.c ---- */

/* false: damaged, or not exactly out_n bytes */
bool cr_pq_unsnappy(const uint8_t *in, size_t n, uint8_t *out, size_t out_n);

/* ---- rle.c: runs and bit-packed groups ---- */

typedef struct cr_pq_rle {
    const cr_pq_kern *k;
    const uint8_t *p, *end;
    int bw;                    /* 0..32 */
    uint32_t value;            /* of the run */
    uint64_t run;              /* left of a run of equal values */
    uint64_t packed;           /* left of bit-packed values, p at the group of 8 they begin in */
    unsigned in_group;         /* values of that group already given */
    const uint8_t *packed_end; /* where the next run begins */
} cr_pq_rle;
void cr_pq_rle_init(cr_pq_rle *r, const cr_pq_kern *k, const uint8_t *p, size_t n, int bw);
/* These return how many values there were: fewer than n when the input ends. get8: bw <= 8. */
size_t cr_pq_rle_get8(cr_pq_rle *r, uint8_t *out, size_t n);
size_t cr_pq_rle_get32(cr_pq_rle *r, uint32_t *out, size_t n);
size_t cr_pq_rle_skip(cr_pq_rle *r, size_t n);
/* cr_pq_rle_run: how many equal values come next (0: bit-packed ones, or the end), and which. */
uint64_t cr_pq_rle_run(cr_pq_rle *r, uint32_t *value);

/* ---- delta.c ---- */

#define CR_PQ_DELTA_STEP 64
typedef struct cr_pq_delta {
    const cr_pq_kern *k;
    const uint8_t *p, *end;
    uint64_t n_left;  /* values not yet decoded */
    uint64_t last;    /* the last decoded one */
    uint64_t min;     /* least difference of the block */
    uint64_t n_mini;  /* miniblocks per block */
    uint64_t mini;    /* values in each */
    uint64_t mini_at; /* miniblocks of this block begun */
    uint64_t mini_left;
    int bw;
    const uint8_t *bw_of;    /* bit widths of the block's miniblocks */
    const uint8_t *mini_end; /* of the miniblock */
    bool at_first;           /* the first value, stored in the header, is still to be given */
    unsigned buf_at, buf_n;
    uint64_t buf[CR_PQ_DELTA_STEP + CR_PQ_PAD / 8];
} cr_pq_delta;
const char *cr_pq_delta_init(cr_pq_delta *d, const cr_pq_kern *k, const uint8_t *p, size_t n);
/* how many values there are in all, asked for right after init */
uint64_t cr_pq_delta_count(const cr_pq_delta *d);
const char *cr_pq_delta_get32(cr_pq_delta *d, uint32_t *out, size_t n);
const char *cr_pq_delta_get64(cr_pq_delta *d, uint64_t *out, size_t n);
/* where the bytes behind the last value begin, once all were got */
const uint8_t *cr_pq_delta_end(const cr_pq_delta *d);

/* ---- levels.c ---- */

#define CR_PQ_LOOK 2048 /* levels of lists are taken in such blocks */

typedef enum cr_pq_level_form { CR_PQ_LV_NONE, CR_PQ_LV_RLE, CR_PQ_LV_BITS } cr_pq_level_form;
/* A stream of levels. CR_PQ_LV_NONE: all 0; CR_PQ_LV_BITS: the old form, the highest bit first. */
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
/* n levels, all of them <= max */
const char *cr_pq_levels_get(cr_pq_levels *l, uint8_t *out, size_t n);
void cr_pq_levels_move(cr_pq_levels *l, ptrdiff_t by); /* the bytes were moved */

/* The lists around a leaf. Depth r = 1 .. max_rep: an item of it is there when def >= item_def[r];
 * the list is null when def < item_def[r] - 1. */
typedef struct cr_pq_nest {
    int max_def, max_rep;
    int item_def[CR_PQ_MAX_DEPTH + 1];
} cr_pq_nest;
bool cr_pq_nest_of(const cr_pq_meta *m, int node, cr_pq_nest *out);

/* Lists under construction: the caller gives room for n more entries at every depth. */
typedef struct cr_pq_lists {
    int32_t *off[CR_PQ_MAX_DEPTH + 1];   /* [r], r = 1 .. max_rep */
    uint8_t *valid[CR_PQ_MAX_DEPTH + 1]; /* always written */
    int64_t n[CR_PQ_MAX_DEPTH + 2];      /* [max_rep + 1]: slots */
    bool has_null[CR_PQ_MAX_DEPTH + 1];
    int last; /* definition level before */
} cr_pq_lists;
/* cr_pq_lists_add: n more levels, at most CR_PQ_LOOK. slot_valid (room for n) gets a byte per slot;
 * *n_slots and *n_valid are those of this call. */
const char *cr_pq_lists_add(const cr_pq_kern *k, const cr_pq_nest *nest, cr_pq_lists *l,
                            const uint8_t *rep, const uint8_t *def, size_t n, uint8_t *slot_valid,
                            size_t *n_slots, size_t *n_valid);
/* cr_pq_rows_end: how many of n levels (at most CR_PQ_LOOK) come before row *rows + 1 begins,
 * counting down *rows for every row that begins; *more: that row is among them. */
size_t cr_pq_rows_end(const cr_pq_kern *k, const uint8_t *rep, size_t n, int64_t *rows, bool *more);

/* ---- plain.c ---- */

/* bytes of a value in a vector; 0: CR_PQ_BYTES */
int cr_pq_width(cr_pq_type t, int type_length);
/* n values of `width` bytes each out of split streams of `stride` values, from value `at` on */
void cr_pq_unsplit(const cr_pq_kern *k, const uint8_t *in, size_t stride, size_t at, int width,
                   uint8_t *out, size_t n);
size_t cr_pq_expand(const cr_pq_kern *k, int width, uint8_t *out, const uint8_t *in,
                    const uint8_t *valid, size_t n);
void cr_pq_gather(const cr_pq_kern *k, int width, uint8_t *out, const uint8_t *dict,
                  const uint32_t *code, size_t n);

/* ---- page.c ---- */

/* memory that grows and is kept; always CR_PQ_PAD bytes longer than asked for */
typedef struct cr_pq_mem {
    uint8_t *p;
    size_t cap;
} cr_pq_mem;
/* cr_pq_mem_need: room for size bytes, the first `keep` of them kept; more than the limit is an
 * error that names `what`. */
CR_CHECKED cr_code cr_pq_mem_need(cr_pq_mem *m, size_t size, size_t keep, size_t limit,
                                  const char *what, cr_err *err);
void cr_pq_mem_free(cr_pq_mem *m);

typedef struct cr_pq_dict {
    int64_t n;
    const uint8_t *v;          /* fixed width */
    const uint32_t *beg, *end; /* CR_PQ_BYTES, in the cursor's text */
} cr_pq_dict;

typedef enum cr_pq_form {
    CR_PQ_F_FIXED,   /* values side by side */
    CR_PQ_F_BITS,    /* booleans, a bit each */
    CR_PQ_F_RLE,     /* booleans in runs */
    CR_PQ_F_DICT,    /* codes */
    CR_PQ_F_DELTA,   /* DELTA_BINARY_PACKED */
    CR_PQ_F_SPLIT,   /* BYTE_STREAM_SPLIT */
    CR_PQ_F_TEXT,    /* strings, each behind its length */
    CR_PQ_F_OFFSETS, /* strings whose places were worked out when the page was opened */
    CR_PQ_F_NONE     /* no value at all */
} cr_pq_form;

/* The values of a page: a place in them, and how to go on from there. */
typedef struct cr_pq_values {
    const cr_pq_kern *k;
    cr_pq_form form;
    cr_pq_type type;
    int width;
    const uint8_t *p, *end; /* FIXED, BITS, SPLIT */
    size_t at, n;           /* BITS, SPLIT, OFFSETS: values; TEXT: bytes of the page */
    cr_pq_rle rle;
    cr_pq_delta delta;
    const cr_pq_dict *dict;
    const uint32_t *beg, *fin; /* OFFSETS: from the page's begin */
} cr_pq_values;

/* what a cursor lends to its page */
typedef struct cr_pq_page_mem {
    cr_pq_mem raw;      /* the page decompressed, unless it is text */
    cr_pq_mem text;     /* of strings: the dictionary's, then those of pages */
    cr_pq_mem beg, fin; /* OFFSETS */
    cr_pq_mem tmp;
    void *codec; /* cr_pq_decompress_with */
} cr_pq_page_mem;

typedef struct cr_pq_page {
    cr_pq_page_head head;
    int64_t at; /* in the file */
    cr_pq_levels rep, def;
    cr_pq_values v;
    size_t text_at, text_n; /* its part of the text; 0 bytes: none */
    bool levels_in_text;
} cr_pq_page;

typedef struct cr_pq_page_in {
    const cr_pq_kern *k;
    const cr_pq_node *node;
    cr_pq_codec codec;
    const cr_pq_dict *dict; /* NULL: there is none */
    size_t budget;
    bool skip_crc;
    size_t text_at;     /* the text is free from here on */
    double *decompress; /* seconds are added */
} cr_pq_page_in;
/* cr_pq_page_open: body has head.size bytes and CR_PQ_PAD readable behind them, and must stay. err:
 * a cause. */
CR_CHECKED cr_code cr_pq_page_open(cr_pq_page *page, const cr_pq_page_in *in, const uint8_t *body,
                                   cr_pq_page_mem *mem, cr_err *err);
/* A dictionary page; text of strings goes to the begin of mem->text, of *text_n bytes. */
CR_CHECKED cr_code cr_pq_dict_open(cr_pq_dict *dict, const cr_pq_page_head *head,
                                   const cr_pq_page_in *in, const uint8_t *body, cr_pq_mem *v,
                                   cr_pq_page_mem *mem, size_t *text_n, cr_err *err);

/* ---- values.c: n values on; each fails when the page has fewer ---- */

const char *cr_pq_values_get(cr_pq_values *v, uint8_t *out, size_t n); /* fixed width */
/* like get, into slots: zeros where valid is 0; n_valid of the n slots have a value */
const char *cr_pq_values_spread(cr_pq_values *v, uint8_t *out, const uint8_t *valid, size_t n,
                                size_t n_valid);
const char *cr_pq_values_codes(cr_pq_values *v, uint32_t *out, size_t n);
/* strings; base: where the page's text begins */
const char *cr_pq_values_text(cr_pq_values *v, const uint8_t *page, uint32_t base, uint32_t *beg,
                              uint32_t *end, size_t n);
const char *cr_pq_values_skip(cr_pq_values *v, const uint8_t *page, size_t n);

/* ---- cursor.c, vector.c ---- */

struct cr_pq_cursor {
    const cr_pq_kern *k;
    const cr_pq_file *f; /* NULL: nowhere, or the last call failed */
    int group, leaf;
    const cr_pq_node *node;
    const cr_pq_chunk *chunk;
    cr_pq_nest nest;
    int64_t n_rows; /* of the row group */
    int64_t row;    /* the next to give */

    int64_t pos, end; /* of the next page; of the chunk */
    int64_t hard_end; /* no page may end behind this */
    int64_t n_seen;   /* values of pages begun or passed over; -1: not known */
    cr_pq_page page;  /* open while left or look_at < look_n */
    int64_t left;     /* levels not yet taken from it */
    bool has_dict;
    cr_pq_dict dict;
    size_t dict_text;  /* bytes of its text */
    size_t text_n;     /* bytes of text in use */
    cr_pq_index index; /* read when it was worth it */
    bool has_index;
    cr_arena arena; /* the index */

    cr_pq_mem win; /* bytes of the file from win_at on */
    int64_t win_at;
    size_t win_n;
    cr_pq_page_mem mem;
    cr_pq_mem dict_mem;

    /* the vector */
    cr_pq_mem values, valid, beg, fin, code, def, rep;
    cr_pq_mem off[CR_PQ_MAX_DEPTH + 1], list_valid[CR_PQ_MAX_DEPTH + 1];
    bool has_valid; /* valid is written up to here */
    bool coded;     /* strings so far are codes */
    int64_t n_null;
    const uint8_t *direct; /* values left where they are */

    /* levels in def and rep: [0, look_at) are the vector's, [look_at, look_n) the next one's */
    size_t look_at, look_n;
    cr_pq_times times;
};
/* cr_pq_next_page opens the next page that has values. Pages of known length are passed over while
 * they have at most *skip rows, which are subtracted. *end: there is none. */
CR_CHECKED cr_code cr_pq_next_page(cr_pq_cursor *c, int64_t *skip, bool *end, cr_err *err);
/* cr_pq_bad_page: a failure with the place of the open page */
cr_code cr_pq_bad_page(const cr_pq_cursor *c, const char *cause, cr_err *err);
/* cr_pq_vector reads n rows, which the row group has, from where the cursor is. */
CR_CHECKED cr_code cr_pq_vector(cr_pq_cursor *c, int64_t n, int how, cr_pq_vec *out, cr_err *err);
/* cr_pq_pass goes n rows on. */
CR_CHECKED cr_code cr_pq_pass(cr_pq_cursor *c, int64_t n, cr_err *err);

#endif
