# A path that no store serves is an error before anything runs, wherever it stands; file:// is local.
tiny_data
tiny_config

# every flag of every command that names files or folders: all of them are told at once
mkdir ref
crank reference -o ref
awk '/^## crank / { cmd = $3 }
     /^## Flags/ { cmd = "" }
     cmd != "" && match($0, /^\| `--[a-z_]+ (FILE|FILES|PATH|PATHS|DIR)`/) {
         split(substr($0, RSTART + 3, RLENGTH - 4), w, " ")
         if ($0 !~ /not in this version|--easyrec_package_path/) flags[cmd] = flags[cmd] " " w[1] "=afs://b/" substr(w[1], 3)
     }
     END { for (c in flags) print c flags[c] }' ref/commands.md >lines
[ "$(wc -l <lines)" -ge 10 ] || fail "the flags were not found"
while read -r words; do
    n=$(($(echo "$words" | wc -w) - 1))
    case $words in # what the command needs beside its paths
    "bench "*) words="$words train" ;;
    "report "*) words="$words run" ;;
    "tune "*) words="$words --try lr=[0.1]" ;;
    "why "*) words="$words model --row 0" ;;
    "scaffold "*) words="$words deepfm folder" ;;
    "zoo "*) words="$words run --model_name deepfm --device cpu" ;;
    esac
    # shellcheck disable=SC2086
    run crank $words
    ends 2
    [ "$(grep -c "is in an AFS file system, which this version neither reads nor writes; give a local path" "$err")" -eq $n ] ||
        fail "$n paths were given"
done <lines
is_gone "afs:"

# the config's own, together with those of flags, each at its place
sed 's,^model_dir: .*,model_dir: gs://nn/model,; s,^eval_input_path: .*,eval_input_path: "eval.csv\, maxcompute://p/tables/t/ds=1",' tiny.yaml >far.yaml
run crank train far.yaml --train_input_path 'sftp://b/a.csv,gs://b/b.csv' --set train_config.fine_tune_checkpoint=afs://x/y
ends 2
has_err "--train_input_path: 'sftp://b/a.csv' is on another machine, ...; give a local path, and copy the files with scp"
has_err "--train_input_path: 'gs://b/b.csv' is in Google Cloud Storage, ..."
has_err "far.yaml:2:18: 'maxcompute://p/tables/t/ds=1' is a MaxCompute table, ...; write it as odps://project/tables/table"
has_err "far.yaml:3:12: 'gs://nn/model' is in Google Cloud Storage, ...; give a local path, and copy the files with gsutil cp"
has_err "--set:1:...: 'afs://x/y' is in an AFS file system, ..."
[ "$(grep -c 'neither reads' "$err")" -eq 5 ] || fail "each path once"
is_gone gs:

# a block that is refused or ignored as a whole needs no advice about its files
run crank check tiny.yaml --set 'data_config.negative_sampler={input_path: "odps://p/tables/t", num_sample: 3, attr_fields: [item], item_id_field: item}' \
    --set 'train_config.delta_embedding_dump_config={output_dir: d, feature_store_config: {endpoint: "oss://b/d"}}'
ends 2
has_err "--set...: 'negative_sampler' is known but not available in this version; remove it"
has_err "--set...: 'feature_store_config' is known but not available in this version; ..."
no_err "...neither reads nor writes..."

# the same in a config alone, and by check
run crank check far.yaml
ends 2
has_err "far.yaml:3:12: 'gs://nn/model' is in Google Cloud Storage, ..."

# a scheme nobody knows
run crank train tiny.yaml --model_dir blob://x/y
ends 2
has_err "--model_dir: 'blob://x/y' begins with blob://, which this version neither reads nor writes; give a local path"
run crank train tiny.yaml --model_dir file://host/y
ends 2
has_err "--model_dir: 'file://host/y' names a host behind file://; write file:///folder/file, with three slashes, or the path alone"

# file:// works, in flags and in the config, all the way
here=$(pwd)
sed "s,^model_dir: .*,model_dir: file://$here/m,; s,^train_input_path: .*,train_input_path: file://$here/train.csv," tiny.yaml >near.yaml
run crank train "file://$here/near.yaml" --eval_input_path "file://$here/eval.csv" -q
ends 0
is_there m/model.ckpt-39
run crank export m/pipeline.config --export_dir "file://$here/ex"
ends 0
is_there ex/index.json
run crank predict --scripted_model_path "file://$here/ex" --predict_input_path "file://$here/eval.csv" --predict_output_path "file://$here/p"
ends 0
is_there p/part-0.csv
is_gone file:
