/*
 * map_tensors.h - the maps of tables (zch) as tensors of checkpoints and exports.
 */
#ifndef CR_JOB_MAP_TENSORS_H
#define CR_JOB_MAP_TENSORS_H

#include "ckpt/ckpt.h"
#include "model/model.h"

/* cr_map_tensors lists the tensors of a table's map in v, which has room for cr_map_tensors_max of
 * a model. They read and write map_state of the table (cr_model_maps_save, cr_model_maps_load).
 * training: all of them, else those of an export. Returns how many there are. */
int cr_map_tensors_max(const cr_model *m);
int cr_map_tensors(cr_model_table *t, bool training, cr_arena *a, cr_ckpt_tensor *v);
/* cr_map_sizes gives tables that grow, before they have memory, the number of rows that c has. */
void cr_map_sizes(cr_model *m, const cr_ckpt *c);
/* cr_map_view lets a table read its map in an open export, if it lies there as in memory. */
void cr_map_view(cr_model_table *t, const cr_ckpt *c);

#endif
