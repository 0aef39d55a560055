/*
 * list.h - every command, in the order of `crank help`. A command is one line here, one line of
 * meson.build and one file cmd_<name>.c, which holds its options and cr_cmd_<name>.
 */
#ifndef CR_CLI_LIST_H
#define CR_CLI_LIST_H

#include "cli/cli.h"

#define CR_COMMANDS(X)                                                                             \
    X(train)                                                                                       \
    X(eval)                                                                                        \
    X(export)                                                                                      \
    X(predict)                                                                                     \
    X(launch)                                                                                      \
    X(submit)                                                                                      \
    X(jobs)                                                                                        \
    X(bundle)                                                                                      \
    X(run)                                                                                         \
    X(init)                                                                                        \
    X(profile)                                                                                     \
    X(tune)                                                                                        \
    X(check)                                                                                       \
    X(plan)                                                                                        \
    X(config)                                                                                      \
    X(convert)                                                                                     \
    X(fg)                                                                                          \
    X(create_fg_json)                                                                              \
    X(add_feature_info)                                                                            \
    X(feature_selection)                                                                           \
    X(params)                                                                                      \
    X(diff)                                                                                        \
    X(importance)                                                                                  \
    X(why)                                                                                         \
    X(align)                                                                                       \
    X(board)                                                                                       \
    X(report)                                                                                      \
    X(parquet)                                                                                     \
    X(ls)                                                                                          \
    X(cp)                                                                                          \
    X(bench)                                                                                       \
    X(benchmark)                                                                                   \
    X(synth)                                                                                       \
    X(zoo)                                                                                         \
    X(cruise)                                                                                      \
    X(scaffold)                                                                                    \
    X(completion)                                                                                  \
    X(help)                                                                                        \
    X(version)                                                                                     \
    X(manual)                                                                                      \
    X(reference)

#define CR_CMD_DECLARE(c) extern const cr_cmd cr_cmd_##c;
CR_COMMANDS(CR_CMD_DECLARE)

#endif
