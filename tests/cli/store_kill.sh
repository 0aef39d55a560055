# store_kill.sh - kill -9 between the requests that write checkpoints to a store, for the cases store_s3, store_oss and store_hdfs.
#
# killed_writing BASE FLAGS...: trains tiny.yaml with the flags into folders below BASE, is killed before or after some request that
# changes the store, and looks at what is there: each checkpoint that counts (it has its manifest, which is written last) can be read, and
# the run goes on to the weights of the model_dir `local`.
killed_writing() {
    base=$1
    shift
    may_be_killed=yes
    for point in send:3 sent:6 send:10 sent:15; do
        dir=$base/killed_$(echo $point | tr : _)
        CRANK_TEST_KILL=$point run crank train tiny.yaml "$@" --model_dir "$dir" --set train_config.save_checkpoints_steps=10
        ends 137
        run crank cp -r "$dir" left # there may be nothing yet
        ends any
        for c in left/model.ckpt-*; do
            [ -f "$c/manifest.json" ] || continue
            run crank params "$c"
            ends 0
        done
        rm -rf left
        run crank train tiny.yaml "$@" --model_dir "$dir" --continue_train --set train_config.save_checkpoints_steps=10
        ends 0
        run crank cp -r "$dir" left
        same_weights local left
        rm -rf left
    done
}
