# a TorchEasyRec user's lines with crank before them
mpi_leaks
tiny_config
tiny_data 640 64
run crank train tiny.yaml --model_dir want
ends 0
run crank torchrun --master_addr=localhost --master_port=32555 --nnodes=1 --nproc-per-node=1 --node_rank=0 \
    -m tzrec.train_eval --pipeline_config_path tiny.yaml --model_dir got --train_input_path train.csv
ends 0
same_weights want got
run crank python -m tzrec.eval --pipeline_config_path got/pipeline.config
ends 0
run crank python -m tzrec.export --pipeline_config_path got/pipeline.config --export_dir e
ends 0
run crank torchrun --standalone -m tzrec.predict --scripted_model_path e --predict_input_path eval.csv --predict_output_path p
ends 0
is_there p/part-0.csv
run crank python -m tzrec.tools.list_distcp_param --checkpoint_path "$(newest got)"
ends 0
run crank train_eval --pipeline_config_path tiny.yaml --model_dir again
ends 0
same_weights want again
# the lines of the guide with two processes: training as two ranks, the rest as one process
if [ -f "$(dirname "$CRANK")/comm-mpich.so" ]; then
    prefix="torchrun --master_addr=localhost --master_port=32555 --nnodes=1 --nproc-per-node=2 --node_rank=0 -m"
    # shellcheck disable=SC2086
    run crank $prefix tzrec.train_eval --pipeline_config_path tiny.yaml --model_dir two --set data_config.batch_size=16
    ends 0
    has_err "...2 ranks on this machine, as the flags say"
    same_weights want two
    # shellcheck disable=SC2086
    run crank $prefix tzrec.eval --pipeline_config_path two/pipeline.config
    ends 0
    # shellcheck disable=SC2086
    run crank $prefix tzrec.export --pipeline_config_path two/pipeline.config --export_dir e2
    ends 0
    is_there e2
fi
run crank torchrun --nnodes=1 --nproc-per-node=x -m tzrec.train_eval --pipeline_config_path tiny.yaml
ends 2
has_err "...--nproc-per-node is 'x' and must be a number from 1 to 1024, auto, cpu or gpu..."
run crank torchrun --nnodes=1 tzrec/tools/convert.py --x y
ends 2
has_err "crank python: 'tzrec/tools/convert.py' is not part of crank..."
run crank torchrun --nnodes=1
ends 2
has_err "crank launch: no command is given..."
run crank python -m tzrec.nothing
ends 2
# lines of the shell and of EasyRec
run crank export CUDA_VISIBLE_DEVICES=0
ends 2
has_err "crank: 'export CUDA_VISIBLE_DEVICES=0' is a line for the shell; leave crank out of it"
run crank python -m easy_rec.python.train_eval --pipeline_config_path old.config
ends 2
has_err "crank python: 'easy_rec.python.train_eval' is not part of crank; it belongs to EasyRec, the predecessor of TorchEasyRec; convert the config with 'crank convert OLD.config -o NEW.config', then run 'crank train NEW.config'"
