/*
 * fuzz_pq_meta.c - any bytes as a Parquet footer, a page header and a page index. What is accepted
 * must be a tree, its chunks must lie in the file, and its names must be found.
 */
#include "parquet/parquet_int.h"
#include "pq_touch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FILE_SIZE 100000
#define BUDGET    ((size_t)4 << 20)

static void inside(const uint8_t *data, size_t size, const uint8_t *p, int n) {
    if (!p) return;
    pq_must(n >= 0 && p >= data && (size_t)(p - data) + (size_t)n <= size, "a value elsewhere");
}

static void check_tree(const cr_pq_meta *m) {
    int leaves = 0;
    char text[100];
    for (int i = 0; i < m->n_nodes; i++) {
        const cr_pq_node *n = &m->nodes[i];
        int children = 0;
        pq_must(n->next > i && n->next <= m->n_nodes, "a subtree outside the tree");
        for (int c = i + 1; c < n->next; c = m->nodes[c].next, children++)
            pq_must(m->nodes[c].parent == i, "a child with another parent");
        pq_must(children == n->n_children, "another number of children");
        pq_must(n->max_rep >= 0 && n->max_rep <= CR_PQ_MAX_DEPTH && n->max_def <= 255, "levels");
        pq_must(n->name && n->path && strlen(n->name) <= strlen(i ? n->path : n->name), "names");
        if (n->leaf >= 0) {
            pq_must(n->leaf == leaves && m->leaves[leaves] == i, "a leaf of another number");
            leaves++;
        }
        cr_pq_type_text(m, i, text, sizeof text);
        pq_must(strlen(text) < sizeof text, "a type that is too long");
    }
    pq_must(leaves == m->n_leaves, "another number of leaves");
    for (int i = 1, k = 0; i < m->n_nodes && k < 100; i = m->nodes[i].next, k++) {
        int found = cr_pq_find(m, m->nodes[i].name);
        pq_must(found > 0 && strcmp(m->nodes[found].name, m->nodes[i].name) == 0, "a name is lost");
        (void)cr_pq_find(m, m->nodes[m->nodes[i].next - 1].path);
    }
}

static void footer(const uint8_t *data, size_t size) {
    cr_arena a;
    cr_pq_meta m;
    cr_err err = {0};
    cr_arena_init(&a, 0);
    if (cr_pq_parse_footer(data, size, FILE_SIZE, BUDGET, &a, &m, &err) != CR_OK) {
        pq_must(err.code == CR_EDATA && err.msg[0], "a refusal without a cause");
        cr_arena_clear(&a);
        return;
    }
    int64_t rows = 0;
    check_tree(&m);
    for (int g = 0; g < m.n_groups; g++) {
        pq_must(m.groups[g].first_row == rows && m.groups[g].n_rows >= 0, "rows of a group");
        rows += m.groups[g].n_rows;
        for (int i = 0; i < m.n_leaves; i++) {
            const cr_pq_chunk *c = &m.groups[g].chunks[i];
            pq_must(c->start >= 0 && c->size >= 0 && c->start + c->size <= FILE_SIZE &&
                        c->data_start >= c->start && c->data_start <= c->start + c->size,
                    "a chunk outside the file");
            pq_must(c->n_values >= 0 && c->raw_size >= 0, "a negative size");
            pq_must(c->offset_index + c->offset_index_size <= FILE_SIZE &&
                        c->column_index + c->column_index_size <= FILE_SIZE,
                    "an index outside the file");
            inside(data, size, c->stats.min, c->stats.min_size);
            inside(data, size, c->stats.max, c->stats.max_size);
            cr_buf out;
            cr_buf_init(&out);
            const cr_pq_node *n = &m.nodes[m.leaves[i]];
            if (c->stats.min) cr_pq_value_json(n, c->stats.min, c->stats.min_size, &out);
            if (c->stats.max) cr_pq_value_json(n, c->stats.max, c->stats.max_size, &out);
            cr_buf_clear(&out);
        }
    }
    pq_must(rows == m.n_rows, "another number of rows");
    for (int i = 0; i < m.n_pairs; i++)
        pq_must(m.pairs[i].key != NULL, "a pair without a key");
    cr_arena_clear(&a);
}

static void page_head(const uint8_t *data, size_t size) {
    cr_pq_page_head h;
    size_t used;
    cr_err err = {0};
    if (cr_pq_parse_page_head(data, size, &h, &used, &err) != CR_OK) {
        pq_must(err.msg[0], "a refusal without a cause");
        return;
    }
    if (!used) return;
    pq_must(used <= size && h.size >= 0 && h.raw_size >= 0, "a header outside its bytes");
    inside(data, size, h.stats.min, h.stats.min_size);
    inside(data, size, h.stats.max, h.stats.max_size);
}

static void page_index(const uint8_t *data, size_t size) {
    static const cr_pq_node node = {.name = "x", .type = CR_PQ_BYTES};
    static const cr_pq_chunk chunk = {.start = 4, .size = FILE_SIZE - 4};
    cr_pq_index ix;
    cr_arena a;
    cr_err err = {0};
    size_t half = size / 2;
    cr_arena_init(&a, 0);
    if (cr_pq_parse_offset_index(data, half, &chunk, 1000, BUDGET, &a, &ix, &err) == CR_OK) {
        for (int i = 0; i < ix.n_pages; i++)
            pq_must(ix.pages[i].offset >= 4 && ix.pages[i].offset + ix.pages[i].size <= FILE_SIZE,
                    "a page outside the chunk");
        if (cr_pq_parse_column_index(data + half, size - half, &node, &ix, &err) != CR_OK)
            pq_must(err.msg[0], "a refusal without a cause");
        for (int i = 0; i < ix.n_pages; i++) {
            inside(data, size, ix.pages[i].stats.min, ix.pages[i].stats.min_size);
            inside(data, size, ix.pages[i].stats.max, ix.pages[i].stats.max_size);
        }
    }
    cr_arena_clear(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* the first byte chooses, so that each of the three grows a corpus of its own */
    if (size < 1) return 0;
    if (data[0] % 3 == 0)
        footer(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        page_head(data + 1, size - 1);
    else
        page_index(data + 1, size - 1);
    return 0;
}
