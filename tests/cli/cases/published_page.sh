# the tools that print tables of published configs, over small repositories of our own
tools=$(cd "$CLI/../../tools" && pwd)
binary=$(command -v crank)
published_dir=$(cd "$CLI/../published" && pwd)
mkdir -p repo/tzrec/benchmark/configs/small repo/tzrec/tests/configs repo/examples
echo '__version__ = "9.8.7"' >repo/tzrec/version.py
cp "$published_dir/deepfm.config" repo/tzrec/benchmark/configs/small/good.config
sed 's/^ *deepfm {/    deepfms {/' "$published_dir/deepfm.config" >repo/examples/bad.config
sed '0,/num_buckets: *[0-9]*/s//num_buckets: 300000/' "$published_dir/deepfm.config" >repo/tzrec/tests/configs/large.config
run sh "$tools/published.sh" "$binary" repo
ends 0
has_out "This page lists the configs in the repository of TorchEasyRec 9.8.7 and the result of each one in crank ...: **2 of 3 run ..."
has_out "| bad | ... | refused: line ...: unknown key 'deepfms' ..."
has_out "| small/good | \`deepfm\` | runs |"
has_out "| large | \`deepfm\` | runs ¹ |"
cp "$out" page
run sh "$tools/published.sh" "$binary" repo
same page "$out"
run sh "$tools/published.sh" "$binary" nowhere
ends 2

mkdir -p er/samples/model_config er/examples/configs
easyrec=$(cd "$CLI/../easyrec" && pwd)
cp "$easyrec/dcn.config" er/samples/model_config
sed 's/"DCN"/"CMBF"/' "$easyrec/dcn.config" >er/examples/configs/images.config
run sh "$tools/easyrec_samples.sh" "$binary" er
ends 0
has_out "| dcn | DCN | trains | ... |"
has_out "| images | CMBF | in part | line ...: the model 'CMBF' has no counterpart ... |"
