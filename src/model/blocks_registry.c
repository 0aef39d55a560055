/*
 * blocks_registry.c - the block layers of blocks_list.h as members of Block.
 */
#include "model/blocks_list.h"

#define ENTRY(key, message) {#key, &message, &cr_block_##key},
static const cr_oneof_member members[] = {CR_BLOCKS(ENTRY){NULL, NULL, NULL}};
const cr_oneof cr_block_family = {"layer", false, members};
