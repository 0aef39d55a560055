# data that is not there, or goes away
tiny_config
tiny_data 640 64
run crank train tiny.yaml --train_input_path 'nowhere/*.csv'
ends 1
has_err "...nowhere/*.csv..."
run crank check tiny.yaml --eval_input_path gone.csv
ends 1
has_err "...gone.csv..."
run crank train tiny.yaml
ends 0
mv eval.csv gone.csv
run crank eval model/pipeline.config
ends 1
has_err "...eval.csv..."
mkdir folder.csv
run crank eval model/pipeline.config --eval_input_path folder.csv
ends 1
has_err "...folder.csv..."
: >empty.csv
run crank eval model/pipeline.config --eval_input_path empty.csv
ends 3
has_err "...empty.csv..."
# an empty evaluation set is found before the first step, not after the first checkpoint
run crank train tiny.yaml --model_dir other --eval_input_path empty.csv
ends 3
has_err "...'empty.csv' holds no rows to evaluate..."
[ ! -e other/model.ckpt-0 ] && ! ls other | grep -q model.ckpt || fail "trained before looking"
