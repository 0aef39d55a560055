/*
 * ask.c - questions to a bound struct: was a field given or refused, and where does it stand?
 */
#include <string.h>

#include "conf/conf_int.h"

static int row_of(const cr_msg *msg, const char *field) {
    for (int i = 0; msg->fields[i].name; i++)
        if (strcmp(msg->fields[i].name, field) == 0) return i;
    return -1;
}

bool cr_conf_refused(const void *conf, const char *field) {
    const cr_conf_base *self = conf;
    int row = row_of(self->msg, field);
    return row >= 0 && cr_fieldset_has(&self->refused, row);
}

bool cr_conf_has(const void *conf, const char *field) {
    const cr_conf_base *self = conf;
    int row = row_of(self->msg, field);
    if (row >= 0) return cr_fieldset_has(&self->set, row);
    /* the name may be that of a oneof's member */
    const cr_field *f;
    const cr_oneof_member *m = cr_msg_member(self->msg, field, &f);
    if (!m || f->offset == CR_NO_STORE) return false;
    cr_choice c;
    memcpy(&c, (const char *)conf + f->offset, sizeof c);
    return c.m == m;
}

/* find_place returns the place of value `item` of a field or oneof member, counting the items of
 * lists; with item < 0 that of the last value. */
static cr_loc find_place(const cr_conf_base *self, const char *field, int64_t item) {
    cr_loc at = self->at;
    if (!self->node || self->node->kind != CR_NODE_MAP) return at;
    const cr_conf_node *map = self->node;
    int64_t k = 0;
    for (size_t i = 0; i < map->n; i++) {
        const cr_oneof_member *m;
        int row = cr_conf_index(self->msg, map, map->v[i].key, &m);
        if (row < 0) continue;
        bool is =
            strcmp(self->msg->fields[row].name, field) == 0 || (m && strcmp(m->key, field) == 0);
        if (!is) continue;
        const cr_conf_node *v = map->v[i].val;
        if (item < 0) {
            at = m ? map->v[i].at : v->at;
        } else if (v->kind == CR_NODE_LIST) {
            if (item < k + (int64_t)v->n) return v->v[item - k].val->at;
            k += (int64_t)v->n;
        } else if (k++ == item) {
            return v->at;
        }
    }
    return at;
}

cr_loc cr_conf_at(const void *conf, const char *field) {
    return find_place(conf, field, -1);
}

cr_loc cr_conf_at_item(const void *conf, const char *field, int64_t i) {
    return find_place(conf, field, i < 0 ? 0 : i);
}
