/*
 * config.h - ModelConfig, feature groups, towers, and the structs of model messages that other
 * files read.
 */
#ifndef CR_MODEL_CONFIG_H
#define CR_MODEL_CONFIG_H

#include "layer/config.h"

typedef enum cr_group_type {
    CR_GROUP_DEEP = 0,
    CR_GROUP_WIDE = 1,
    CR_GROUP_SEQUENCE = 2,
    CR_GROUP_JAGGED_SEQUENCE = 3,
} cr_group_type;
/* Is this a group of steps? Sequences are never padded here, so both sequence types mean the
 * same. */
static inline bool cr_group_type_seq(int type) {
    return type == CR_GROUP_SEQUENCE || type == CR_GROUP_JAGGED_SEQUENCE;
}
typedef struct cr_group_conf { /* FeatureGroupConfig */
    cr_conf_base base;
    const char *group_name;
    cr_strs feature_names;
    int group_type;            /* cr_group_type */
    cr_msgs sequence_groups;   /* cr_seq_group_conf */
    cr_msgs sequence_encoders; /* cr_seq_encoder_conf */
    const char *embedding_name_suffix;
} cr_group_conf;

typedef struct cr_seq_group_conf { /* SeqGroupConfig */
    cr_conf_base base;
    const char *group_name;
    cr_strs feature_names;
    const char *embedding_name_suffix;
} cr_seq_group_conf;
typedef struct cr_seq_encoder_conf { /* SeqEncoderConfig; member.type is cr_encoder_type* */
    cr_conf_base base;
    cr_choice seq_module; /* begins with a cr_encoder_conf (encoder_int.h) */
} cr_seq_encoder_conf;
extern const cr_oneof cr_encoder_family;

/* ModelConfig; member.type of the family is a cr_model_type* (model/model.h). */
typedef struct cr_model_type cr_model_type;
typedef struct cr_model_conf {
    cr_conf_base base;
    cr_msgs feature_groups; /* cr_group_conf */
    cr_choice model;
    int64_t num_class;
    cr_msgs losses;                           /* cr_loss_conf */
    cr_msgs metrics;                          /* cr_metric_conf */
    cr_msgs train_metrics;                    /* cr_train_metric_conf */
    double embedding_regularization;          /* crank only */
    bool missing_id_is_zero;                  /* crank only */
    cr_msgs first_values;                     /* first_values.c; crank only */
    cr_variational_conf *variational_dropout; /* NULL: none */
    bool use_pareto_loss_weight;
} cr_model_conf;
extern const cr_msg cr_model_msg, cr_first_values_msg;
extern const cr_oneof cr_model_family;

typedef struct cr_tower_conf { /* Tower */
    cr_conf_base base;
    const char *input;
    cr_mlp_conf *mlp; /* NULL: none */
} cr_tower_conf;
extern const cr_msg cr_tower_msg;

/* The struct of TaskTower; of BayesTaskTower, which also has the relation; and of BlockTower, which
 * has inputs (task.c). */
typedef struct cr_task_conf {
    cr_conf_base base;
    const char *tower_name, *label_name;
    cr_msgs metrics, train_metrics, losses;
    int64_t num_class;
    cr_mlp_conf *mlp; /* NULL: none */
    double weight;
    const char *sample_weight_name, *task_space_indicator_label;
    double in_task_space_weight, out_task_space_weight;
    double pareto_min_loss_weight;
    cr_strs relation_tower_names;
    cr_mlp_conf *relation_mlp; /* NULL: none */
    cr_msgs inputs;            /* the blocks or groups that a backbone's tower reads: BlockInput */
} cr_task_conf;
extern const cr_msg cr_task_tower_msg, cr_bayes_tower_msg, cr_block_tower_msg;
/* cr_is_tower_msg: is msg one of these three messages? */
bool cr_is_tower_msg(const void *msg);
/* cr_model_own_loss: may a block of a backbone bring the loss, so that `losses` say only what the
 * outputs are? */
bool cr_model_own_loss(const cr_model_conf *c);
/* cr_model_tower returns task tower i of a multi-task model, whatever key its message has for them;
 * NULL: i is behind the last. Such a model takes losses and metrics from its towers, not from
 * model_config. */
const cr_task_conf *cr_model_tower(const cr_model_conf *c, int64_t i);

typedef struct cr_multi_tower_conf {
    cr_conf_base base;
    cr_msgs towers; /* cr_tower_conf */
    cr_mlp_conf *final;
} cr_multi_tower_conf;

#endif
