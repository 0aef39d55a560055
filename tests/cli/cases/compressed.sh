# gzip and zstd files, several files, globs: the same bytes as one plain file
tiny_config
tiny_data 1200 64
run crank train tiny.yaml --model_dir plain
ends 0
gzip -k train.csv
run crank train tiny.yaml --model_dir gz --train_input_path train.csv.gz
ends 0
same_weights plain gz
mkdir parts
head -n 1 train.csv >parts/b.csv
sed -n 2,501p train.csv | cat parts/b.csv - >parts/a.csv
sed 1,501d train.csv >>parts/b.csv
gzip parts/b.csv
run crank train tiny.yaml --model_dir glob --train_input_path 'parts/*'
ends 0
same_weights plain glob
run crank train tiny.yaml --model_dir list --train_input_path parts/a.csv,parts/b.csv.gz
ends 0
same_weights plain list
# cut off in the middle
head -c 900 train.csv.gz >half.csv.gz
run crank train tiny.yaml --model_dir half --train_input_path half.csv.gz
ends 3
has_err "...half.csv.gz..."
command -v zstd >/dev/null || skip "gzip passed; zstd is not installed"
zstd -q train.csv
run crank train tiny.yaml --model_dir zs --train_input_path train.csv.zst
ends 0
same_weights plain zs
# a window of 2 GiB, as --long=31 makes it of a stream
zstd -q --long=31 <train.csv >long.csv.zst
run crank train tiny.yaml --model_dir long --train_input_path long.csv.zst
ends 0
same_weights plain long
# without the memory for it that is what is told, not that the file is broken
if [ -z "${ASAN_OPTIONS:-}" ]; then
    run sh -c 'ulimit -v 1500000 || exit 77; exec "$@"' sh crank train tiny.yaml --model_dir none --train_input_path long.csv.zst
    [ $code -ne 77 ] || skip "ulimit -v cannot be set here"
    ends 1
    has_err "long.csv.zst: there is no memory for the window of this zstd data; allow more memory, or compress the file again without --long"
fi
