# train, eval, export, predict on made-up data; the files that each leaves behind
run crank synth census --rows 3000 --seed 3 -o data
ends 0
is_there data/synth.json
is_there data/pipeline.yaml
run crank check data/pipeline.yaml
ends 0
run crank train data/pipeline.yaml --model_dir m --train_input_path 'data/train/*.csv'
ends 0
has_err "...Train and Evaluate Finished."
is_there m/pipeline.config
is_there m/version
is_there m/train_eval_result_v2.txt
ckpt=$(newest m)
is_there "$ckpt/model-00001-of-00001.safetensors"
run crank eval m/pipeline.config
ends 0
has_err "...Evaluate Finished."
is_there m/eval_result.txt
# the same checkpoint gives the same metrics while training and afterwards
tail -n 1 m/train_eval_result_v2.txt >during
tail -n 1 m/eval_result.txt >after
same during after
run crank eval m/pipeline.config --checkpoint_path "$ckpt" --eval_result_filename mine.txt
ends 0
is_there m/mine.txt
run crank export m/pipeline.config --export_dir e
ends 0
is_there e/pipeline.config
is_there e/fg.json
run crank predict --scripted_model_path e --predict_input_path 'data/eval/*.csv' --predict_output_path p \
    --reserved_columns income,age
ends 0
head -n 1 p/part-0.csv >head
says head <<'END'
income,age,logits,probs
END
[ "$(sed 1d p/part-0.csv | wc -l)" -eq "$(cat data/eval/*.csv | grep -vc '^income')" ] || fail "rows are missing"
run crank params "$ckpt"
ends 0
has_out "...embedding_bags.age_emb.weight..."
run crank list_distcp_param --checkpoint_path "$ckpt"
ends 0
