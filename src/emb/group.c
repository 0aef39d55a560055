/*
 * group.c - a least-significant-digit radix sort of the ids of a batch.
 *
 * What is sorted are words of 64 bits: 32 bits of the id, counted from the smallest one, above the
 * number of the entry. If the distance from the smallest to the largest id has more than 32 bits, a
 * word has as many of its top bits as the number of the entry leaves room for, and is sorted by the
 * highest of them, which mostly differ; where that does not do, by the low half of the ids and then
 * again by the high half. So the work
 * depends on the range of the ids and not on their size. The bits of the range are divided into
 * digits of equal length, as many as cost least. One read takes all histograms, and a pass whose
 * digit is the same in all ids is left out.
 *
 * The sort is stable: the entries of one id stay in lane order, which is the order in which their
 * gradients are summed. The result is written in the order in which it is read, so that a step
 * later, when nothing of it is left in the caches, the CPU can fetch it ahead.
 */
#include "emb/group.h"

#include <string.h>

_Static_assert(CR_MAX_LANES == CR_ENTRY_LANES, "an entry has room for every lane");

#define MAX_DIGIT  12 /* bits */
#define MAX_PASSES 8  /* of one half of the ids */
#define MAX_BINS   8192
#define MORE_TOP   7 /* bits that are sorted beside those that number the entries */
#define MOVES      8 /* moves of an entry, on average, to the place that these bits do not tell */
#define WHAT       "grouping of ids"

void cr_group_clear(cr_group *g) {
    cr_free(g->mem);
    g->mem = NULL;
    g->cap = 0;
}

void cr_group_room_clear(cr_group_room *room) {
    cr_free(room->mem);
    *room = (cr_group_room){0};
}

typedef struct arrays {
    /* the words that are sorted, and room for as many */
    uint64_t *from, *to;
    /* by entry, in the order of collect: lane by lane, inside a lane feature by feature */
    uint64_t *key; /* the id */
    cr_entry *place;
    uint32_t *at; /* its pos */
    /* results */
    int64_t *id;
    uint32_t *seg, *head_seg, *pos;
    cr_entry *entry, *head;
} arrays;

static size_t up64(size_t n) {
    return (n + 63) / 64 * 64;
}

/* Returns for how many ids there must be memory when a batch has n of them. Memory is kept while no
 * batch is larger than all before it. */
static int64_t room_for(const void *mem, int64_t cap, int64_t n) {
    return mem && n <= cap ? cap : n + n / 4 + 64;
}

/* Results of c ids, in one block. */
static size_t size_of(int64_t c) {
    size_t n = (size_t)c + 1;
    return 3 * up64(n * sizeof(uint64_t)) + 3 * up64(n * sizeof(uint32_t));
}
static size_t room_size(int64_t c) {
    size_t n = (size_t)c + 1;
    return 4 * up64(n * sizeof(uint64_t)) + up64(n * sizeof(uint32_t));
}

static void give(void **at, int64_t *cap, void *mem, int64_t c) {
    cr_free(*at);
    *at = mem;
    *cap = c;
}

static arrays carve(cr_group *g, cr_group_room *room, int64_t n) {
    int64_t c = room_for(g->mem, g->cap, n), w = room_for(room->mem, room->cap, n);
    if (c != g->cap) give(&g->mem, &g->cap, cr_alloc(size_of(c), WHAT), c);
    if (w != room->cap) give(&room->mem, &room->cap, cr_alloc(room_size(w), WHAT), w);
    char *p = g->mem;
    arrays m;
#define TAKE(member, T)                                                                            \
    m.member = (T *)(void *)p;                                                                     \
    p += up64(((size_t)c + 1) * sizeof(T))
    TAKE(id, int64_t);
    TAKE(entry, cr_entry);
    TAKE(head, cr_entry);
    TAKE(pos, uint32_t);
    TAKE(seg, uint32_t);
    TAKE(head_seg, uint32_t);
    p = room->mem;
    c = w;
    TAKE(from, uint64_t);
    TAKE(to, uint64_t);
    TAKE(key, uint64_t);
    TAKE(place, cr_entry);
    TAKE(at, uint32_t);
#undef TAKE
    return m;
}

static uint32_t add(arrays *m, uint32_t e, int64_t id, int64_t row, int64_t pos, uint32_t at) {
    m->key[e] = (uint64_t)id;
    m->place[e] = (cr_entry){(uint32_t)row, at};
    m->at[e] = (uint32_t)pos;
    return e + 1;
}

/* Finds the rows of a slot that hold the ids of sample r: [*from, returned). Without an axis that
 * is row r itself, otherwise the steps of the sample, as many of them as the axis has. */
static int64_t rows_of(const cr_jagged *j, const int32_t *axis, int64_t r, int64_t *from) {
    *from = axis ? j->steps[r] : r;
    if (!axis) return r + 1;
    int64_t len = j->steps[r + 1] - j->steps[r], most = axis[r + 1] - axis[r];
    return *from + (len < most ? len : most);
}

/* Writes the entries in lane order and returns how many there are. */
static int64_t collect(cr_group *g, const cr_batch *b, const int32_t *const *axes,
                       const cr_lanes *lanes, arrays *m) {
    uint32_t e = 0;
    int64_t all = cr_lanes_all(lanes, b->n_rows, b->global_rows), row0 = cr_lanes_row0(lanes, all);
    for (int lane = 0; lane < lanes->n; lane++) {
        int64_t r0 = cr_lane_begin(all, lanes->all, lanes->first + lane) - row0,
                r1 = cr_lane_begin(all, lanes->all, lanes->first + lane + 1) - row0;
        for (int s = 0; s < g->n_slots; s++) {
            const cr_jagged *j = &b->sparse[g->slots[s].slot];
            const int32_t *axis = g->slots[s].seq ? axes[g->slots[s].seq - 1] : NULL;
            uint32_t at = (uint32_t)(s * CR_ENTRY_LANES + lane);
            if (!j->off && !axis) {
                for (int64_t r = r0; r < r1; r++)
                    e = add(m, e, j->ids[r], r, r, at);
                continue;
            }
            for (int64_t r = r0; r < r1; r++) {
                int64_t from, end = rows_of(j, axis, r, &from), row = axis ? axis[r] : r;
                for (int64_t i = from; i < end; i++, row++)
                    for (int64_t k = j->off ? j->off[i] : i; k < (j->off ? j->off[i + 1] : i + 1);
                         k++)
                        e = add(m, e, j->ids[k], row, k, at);
            }
        }
    }
    return e;
}

/* Writes the lane of each row. */
static void number_lanes(uint16_t *lane_of, const cr_batch *b, const cr_lanes *lanes) {
    int64_t all = cr_lanes_all(lanes, b->n_rows, b->global_rows), row0 = cr_lanes_row0(lanes, all);
    int64_t r = 0;
    for (int lane = 0; lane < lanes->n; lane++)
        for (int64_t end = cr_lane_begin(all, lanes->all, lanes->first + lane + 1) - row0; r < end;
             r++)
            lane_of[r] = (uint16_t)lane;
}

/* Chooses the number of digits for n numbers of so many bits. A pass moves every number, and clears
 * and sums up a bin for each value of the digit, which costs about a third as much per bin. */
static int digits_for(int bits, int64_t n) {
    int best = 0;
    int64_t least = INT64_MAX;
    for (int p = 1; p <= MAX_PASSES && bits > 0; p++) {
        int size = (bits + p - 1) / p;
        int64_t cost = p * (3 * n + ((int64_t)1 << size));
        if (size > MAX_DIGIT || cost >= least) continue;
        least = cost;
        best = p;
    }
    return best;
}

/* One sort by some bits of the ids. */
typedef struct by_bits {
    const uint64_t *key; /* by entry */
    uint64_t low;        /* what is sorted is key - low: */
    bool upper;          /* its upper 32 bits, of words that were sorted by the lower ones */
    int shift;           /* without the lowest bits */
    int entry;           /* bits of a word that number the entry; the others have the key */
    int from;            /* the lowest bit of the word that is sorted */
    int digits, size;    /* number of digits, and bits of each */
} by_bits;

/* Makes the words and counts how often each digit has each value. */
CR_INLINE void make_words(arrays *m, int64_t n, const by_bits *h, const int digits,
                          uint32_t *counts) {
    int size = h->size;
    uint64_t mask = ((uint64_t)1 << size) - 1;
    for (int64_t i = 0; i < n; i++) {
        uint64_t e = h->upper ? (uint32_t)m->from[i] : (uint64_t)i, key = h->key[e] - h->low;
        uint64_t word = (h->upper ? key >> 32 : key >> h->shift) << h->entry | e;
        m->from[i] = word;
        for (int p = 0; p < digits; p++)
            counts[((uint64_t)p << size) + (word >> (h->from + p * size) & mask)]++;
    }
}

/* Sorts the entries by `bits` of their words, and counts the passes. The result is in m->from. */
static void sort_bits(arrays *m, int64_t n, by_bits h, int bits, int *passes) {
    uint32_t counts[MAX_BINS];
    h.digits = digits_for(bits, n);
    h.size = h.digits ? (bits + h.digits - 1) / h.digits : 0;
    uint64_t bins = (uint64_t)1 << h.size, mask = bins - 1;
    memset(counts, 0, (size_t)h.digits * bins * sizeof(*counts));
    switch (h.digits) { /* numbers that the compiler knows */
    case 1: make_words(m, n, &h, 1, counts); break;
    case 2: make_words(m, n, &h, 2, counts); break;
    case 3: make_words(m, n, &h, 3, counts); break;
    default: make_words(m, n, &h, h.digits, counts);
    }
    for (int p = 0; p < h.digits; p++) {
        uint32_t *count = counts + (uint64_t)p * bins, at = 0;
        int shift = h.from + p * h.size;
        const uint64_t *from = m->from;
        uint64_t *to = m->to;
        if (count[from[0] >> shift & mask] == n) continue;
        ++*passes;
        for (uint64_t k = 0; k < bins; k++) {
            uint32_t c = count[k];
            count[k] = at;
            at += c;
        }
        for (int64_t i = 0; i < n; i++)
            to[count[from[i] >> shift & mask]++] = from[i];
        m->to = m->from;
        m->from = to;
    }
}

/* Puts words in order that are nearly so; false: they are not. */
static bool settle(uint64_t *word, int64_t n) {
    int64_t left = MOVES * n;
    for (int64_t i = 1; i < n; i++) {
        uint64_t w = word[i];
        if (w >= word[i - 1]) continue;
        int64_t k = i;
        for (; k > 0 && word[k - 1] > w; k--)
            word[k] = word[k - 1];
        word[k] = w;
        left -= i - k;
        if (left < 0) return false;
    }
    return true;
}

/* What the words hold after the sort. */
typedef struct sorted {
    uint64_t low; /* the smallest id */
    int entry;    /* bits of a word that number the entry; above them lies the id from `low` on, */
    int shift;    /* without this many of its lowest bits, */
    bool large;   /* or a part of it that does not tell it */
} sorted;

/* Sorts ids of more than 32 bits by the top bits of their words alone, some more than it takes to
 * number the entries. Where ids are spread evenly, few share them. Returns false where too many do.
 * The order of words is that of ids, but for ids that have the same bits there. */
static bool sort_top(arrays *m, const uint64_t *key, int64_t n, int bits, sorted *s, int *passes) {
    s->entry = 64 - __builtin_clzll((uint64_t)n);
    int held = 64 - s->entry, top = s->entry + MORE_TOP;
    if (held > bits) held = bits;
    if (top > held) top = held;
    s->shift = bits - held;
    s->large = s->shift > 0;
    by_bits h = {.key = key, .low = s->low, .shift = s->shift, .entry = s->entry};
    h.from = s->entry + held - top;
    sort_bits(m, n, h, top, passes);
    return settle(m->from, n);
}

/* Sorts the entries by id, taken as an unsigned number. */
static sorted sort(arrays *m, const uint64_t *key, int64_t n, bool by_top, int *passes) {
    uint64_t low = n > 0 ? key[0] : 0, high = low;
    for (int64_t i = 0; i < n; i++) {
        low = key[i] < low ? key[i] : low;
        high = key[i] > high ? key[i] : high;
    }
    int bits = high > low ? 64 - __builtin_clzll(high - low) : 0;
    sorted s = {.low = low, .entry = 32};
    *passes = 0;
    if (n == 0) return s;
    if (bits > 32 && by_top && sort_top(m, key, n, bits, &s, passes)) return s;
    *passes = 0;
    s = (sorted){.low = low, .entry = 32, .large = bits > 32};
    by_bits h = {.key = key, .low = low, .entry = 32, .from = 32};
    sort_bits(m, n, h, bits > 32 ? 32 : bits, passes);
    h.upper = true;
    if (bits > 32) sort_bits(m, n, h, bits - 32, passes);
    return s;
}

int64_t cr_group_ids(const cr_batch *b, int slot) {
    const cr_jagged *j = &b->sparse[slot];
    int64_t rows = j->steps ? j->steps[b->n_rows] : b->n_rows;
    return j->off ? j->off[rows] : rows;
}

static int64_t all_ids(const cr_group *g, const cr_batch *b) {
    int64_t n = 0;
    for (int s = 0; s < g->n_slots; s++)
        n += cr_group_ids(b, g->slots[s].slot);
    return n;
}

static cr_code fit(void **mem, int64_t *cap, int64_t n, size_t (*size)(int64_t), cr_err *err) {
    int64_t c = room_for(*mem, *cap, n);
    if (c == *cap) return CR_OK;
    void *more;
    CR_TRY(cr_try_alloc(&more, size(c), WHAT, err));
    give(mem, cap, more, c);
    return CR_OK;
}

cr_code cr_group_fit(cr_group *g, cr_group_room *rooms, int n_rooms, const cr_batch *b,
                     cr_err *err) {
    int64_t n = all_ids(g, b);
    if (n > UINT32_MAX)
        return cr_fail(err, CR_EDATA, "a batch has %lld ids for one table; use smaller batches",
                       (long long)n);
    for (int i = 0; i < n_rooms; i++)
        CR_TRY(fit(&rooms[i].mem, &rooms[i].cap, n, room_size, err));
    return fit(&g->mem, &g->cap, n, size_of, err);
}

/* How entries are found from their numbers. */
typedef enum kind {
    ROWS,       /* a single feature with one id per row: the number is the row */
    OTHER,      /* m->place and m->at have them */
    LARGE,      /* the same, and m->key has the ids */
    LARGE_ROWS, /* as ROWS, and the feature's list has the ids */
} kind;

/* Writes the sorted entries and their heads. What differs between kinds is known to the compiler.
 * Returns false when two ids have the same bits in their words, so that their order is not known.
 */
CR_INLINE bool emit(cr_group *g, const arrays *m, const uint64_t *key, int64_t n, const sorted *s,
                    const kind k) {
    const bool rows = k == ROWS || k == LARGE_ROWS, large = k == LARGE || k == LARGE_ROWS;
    const bool part = large && s->shift == 0;          /* words hold a half of the id */
    const uint16_t *lane = (const uint16_t *)m->place; /* ROWS: by row */
    const int bits = s->entry;
    const uint64_t low = s->low, mask = ((uint64_t)1 << bits) - 1;
    uint32_t u = 0, h = 0, before = UINT32_MAX; /* no entry has this lane and feature */
    uint64_t last = 0, held = 0;
    bool mixed = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = m->from[i];
        uint32_t e = (uint32_t)(word & mask);
        uint64_t id = large ? key[e] : low + (word >> bits);
        cr_entry place = rows ? (cr_entry){e, lane[e]} : m->place[e];
        /* no branches: which id comes next cannot be foretold */
        bool other = id != last, next = (i == 0) | (word >> bits != held) | (part & other);
        if (large) mixed |= !next & other;
        m->entry[i] = place;
        if (!rows) m->pos[i] = m->at[e];
        m->head[h] = place;
        m->id[u] = (int64_t)id;
        m->seg[u] = (uint32_t)i;
        m->head_seg[u] = h;
        h += next || place.at != before;
        u += next;
        before = place.at;
        last = id;
        held = word >> bits;
    }
    m->seg[u] = (uint32_t)n;
    m->head_seg[u] = h;
    g->n = n;
    g->n_uniq = u;
    return !mixed;
}

/* Sorts the entries and writes them; false: the top bits of the ids do not tell their order. */
static bool group(cr_group *g, arrays *m, const uint64_t *key, int64_t n, bool rows, bool by_top) {
    sorted s = sort(m, key, n, by_top, &g->passes);
    if (s.large && rows) return emit(g, m, key, n, &s, LARGE_ROWS);
    if (s.large) return emit(g, m, key, n, &s, LARGE);
    if (rows) return emit(g, m, key, n, &s, ROWS);
    return emit(g, m, key, n, &s, OTHER);
}

void cr_group_run(cr_group *g, cr_group_room *room, const cr_batch *b, const int32_t *const *axes,
                  const cr_lanes *lanes) {
    int64_t n = all_ids(g, b);
    if (n > UINT32_MAX) CR_BUG("a batch has more ids than entries can be numbered");
    if (g->n_slots > CR_ENTRY_SLOTS) CR_BUG("a table has more features than can be numbered");
    arrays m = carve(g, room, n);
    const cr_jagged *j = &b->sparse[g->slots[0].slot];
    bool rows = g->n_slots == 1 && !g->slots[0].seq && !j->off;
    const uint64_t *key = rows ? (const uint64_t *)(const void *)j->ids : m.key;
    if (rows)
        number_lanes((uint16_t *)m.place, b, lanes);
    else
        n = collect(g, b, axes, lanes, &m);
    if (!group(g, &m, key, n, rows, true)) (void)group(g, &m, key, n, rows, false);
    g->id = m.id;
    g->seg = m.seg;
    g->entry = m.entry;
    g->pos = rows ? NULL : m.pos;
    g->head = m.head;
    g->head_seg = m.head_seg;
}

int64_t cr_ids_find(const int64_t *ids, int64_t n, int64_t id) {
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if ((uint64_t)ids[lo + half] < (uint64_t)id) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

/* ---- the lists of features that are grouped ---- */

void cr_groups_clear(cr_groups *gs) {
    for (int i = 0; i < gs->n; i++) {
        cr_group_clear(&gs->v[i]);
        cr_free((void *)(uintptr_t)gs->v[i].slots);
    }
    cr_free(gs->v);
    memset(gs, 0, sizeof(*gs));
}

/* Returns the number of the group of these features; -1: there is none. */
static int find(const cr_groups *gs, const cr_group_slot *slots, int n) {
    for (int i = 0; i < gs->n; i++) {
        bool same = gs->v[i].n_slots == n;
        for (int k = 0; same && k < n; k++)
            same = gs->v[i].slots[k].slot == slots[k].slot && gs->v[i].slots[k].seq == slots[k].seq;
        if (same) return i;
    }
    return -1;
}

const cr_group *cr_groups_same(const cr_groups *gs, const cr_group *g) {
    int i = find(gs, g->slots, g->n_slots);
    return i < 0 ? NULL : &gs->v[i];
}

int cr_groups_find(cr_groups *gs, const cr_group_slot *slots, int n) {
    int found = find(gs, slots, n);
    if (found >= 0) return found;
    if (gs->n == gs->cap) {
        int cap = gs->cap ? 2 * gs->cap : 16;
        gs->v = cr_realloc(gs->v, (size_t)gs->cap * sizeof(cr_group),
                           (size_t)cap * sizeof(cr_group), "id groups");
        gs->cap = cap;
    }
    cr_group_slot *copy = cr_alloc((size_t)n * sizeof(*copy), "id groups");
    memcpy(copy, slots, (size_t)n * sizeof(*copy));
    gs->v[gs->n] = (cr_group){.slots = copy, .n_slots = n};
    return gs->n++;
}
