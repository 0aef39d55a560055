# fgcnn of PaddleRec 2.0, whose rows are a matrix in HDF5 files: crank run writes them as lines first
[ -f "$(dirname "$CRANK")/hdf5.so" ] || skip "crank was built without libhdf5"
mkdir -p fgcnn/train fgcnn/test
cat >fgcnn/config.yaml <<END
runner:
  train_data_dir: "train"
  train_reader_path: "reader"
  use_gpu: False
  use_auc: True
  train_batch_size: 8
  epochs: 2
  print_interval: 4
  model_save_path: "output_fgcnn"
  infer_batch_size: 5
  test_data_dir: "test"
  infer_reader_path: "reader"
  infer_load_path: "output_fgcnn"
  infer_start_epoch: 0
  infer_end_epoch: 2
hyper_parameters:
  optimizer:
    class: Adam
    learning_rate: 0.01
  sparse_inputs_slots: 4
  sparse_feature_size: 20
  feature_name: ['I1', 'I2', 'C1', 'C2', 'C3', 'C4']
  dense_inputs_slots: 2
  feature_dim: 4
  conv_kernel_width: [3, 5]
  conv_filters: [3, 2]
  new_maps: [2, 2]
  pooling_width: [2, 2]
  stride: [1, 1]
  dnn_hidden_units: [6, 5]
  dnn_dropout: 0.1
END

# matrix N: six ids and the label, which follows from two of them
matrix() {
    awk -v n="$1" '
    function r(k) { x = (x * 1103515245 + 12345) % 2147483648; return int(x / 65536) % k }
    BEGIN { x = 11; for (i = 0; i < n; i++) { a = r(4); b = r(4); print a, b, r(20), r(20), r(20), r(20), (a + b) % 2 } }'
}
matrix 160 | h5_make fgcnn/train/a.h5 real
matrix 45 | h5_make fgcnn/test/a.hdf5 whole
run crank run -m fgcnn/config.yaml --threads 2
ends 0
has_out "... - INFO - epoch: 0, batch_id: 4, auc:0..., loss:0..., avg_reader_cost: ..."
has_out "... - INFO - epoch: 1 done, auc: 0...,loss:..., epoch time: ... s"
has_err "...output_fgcnn/rows/train holds 160 rows, made from the HDF5 files in fgcnn/train"
matrix 160 | awk '{ print $7, $1, $2, $3, $4, $5, $6 }' | cmp - output_fgcnn/rows/train/rows.txt || fail "other rows"
run crank run -m fgcnn/config.yaml --infer
ends 0
has_out "... - INFO - epoch: 1 done, auc: 0..., epoch time: ... s"
has_err "...output_fgcnn/rows/test holds 45 rows, made from the HDF5 files in fgcnn/test"
matrix 45 | awk '{ print $7, $1, $2, $3, $4, $5, $6 }' | cmp - output_fgcnn/rows/test/rows.txt || fail "other rows of an evaluation"
# two tables per field, and a norm for each picture of a convolution
run crank params output_fgcnn/1
grep -q 'embedding_bags.C4_emb.weight *\[20, 4\]' "$out" || fail "a table of a field"
grep -q 'embedding_bags.C4_fg_emb.weight *\[20, 4\]' "$out" || fail "its table for the convolutions"
grep -q 'blocks.conv0.bn.weight *\[3\]' "$out" || fail "the norm of three pictures"
run crank run -m fgcnn/config.yaml --compat paddlerec -o runner.epochs=1
ends 0
# the hyper-parameters tell the model in another folder, too
mkdir -p mine/train
cp fgcnn/train/a.h5 mine/train/
cp fgcnn/config.yaml mine/
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "...the hyper-parameters are those of PaddleRec's fgcnn, so that is the model..."
# rows that lie in two files, in the order of their names
matrix 24 | h5_make fgcnn/train/b.h5 whole
run crank run -m fgcnn/config.yaml -o runner.epochs=1
ends 0
has_err "...output_fgcnn/rows/train holds 184 rows, ..."

# ---- mistakes of the config ----
run crank run -m fgcnn/config.yaml -o hyper_parameters.dense_inputs_slots=3
ends 2
has_err "fgcnn/config.yaml:...: feature_name lists 6 fields and must list as many as sparse_inputs_slots and dense_inputs_slots say, 7, and at least 2"
sed 's/stride: .*/stride: [2, 1]/' fgcnn/config.yaml >fgcnn/wrong.yaml
run crank run -m fgcnn/wrong.yaml
ends 2
has_err "fgcnn/wrong.yaml:...: stride must be [1, 1]: a convolution keeps the number of fields, and pooling_width makes it smaller"
sed 's/conv_kernel_width: .*/conv_kernel_width: [3]/' fgcnn/config.yaml >fgcnn/wrong.yaml
run crank run -m fgcnn/wrong.yaml
ends 2
has_err "fgcnn/wrong.yaml:...: conv_filters, new_maps and conv_kernel_width have 2, 2 and 1 numbers; give each layer one of each"
sed 's/pooling_width: .*/pooling_width: [2, 4]/' fgcnn/config.yaml >fgcnn/wrong.yaml
run crank run -m fgcnn/wrong.yaml
ends 2
has_err "fgcnn/wrong.yaml:...: layer 2 has 3 lines and pools 4; use fewer layers or smaller pools"

# ---- mistakes of the files ----
rm fgcnn/train/b.h5
wrong() { # wrong KIND MESSAGE: rows on stdin
    h5_make fgcnn/train/a.h5 "$1"
    run crank run -m fgcnn/config.yaml
    ends bad
    has_err "fgcnn/train/a.h5: $2"
}
echo "1 2 3 4 5 6" | wrong real "its rows have 6 columns and must have 7: an id for each of the 6 fields of the config, and the label; correct feature_name or the file"
printf '1 2 3 4 5 6 0\n1 2 3.5 4 5 6 1\n' | wrong real "row 2 has 3.5 in column 3; ids and labels are whole numbers: correct the file"
echo "1 2 1e300 4 5 6 1" | wrong real "row 1 has 1e+300 in column 3; ids and labels are whole numbers: correct the file"
echo "1 2 nan 4 5 6 1" | wrong real "row 1 has nan in column 3; ids and labels are whole numbers: correct the file"
matrix 4 | wrong list "its first data set is not a matrix of rows and columns; it must hold a matrix of ids with the label in its last column"
matrix 4 | wrong text "its first data set is not one of numbers; it must hold a matrix of ids with the label in its last column"
matrix 4 | wrong group "its first object is a group, not a data set; it must hold a matrix of ids with the label in its last column"
matrix 4 | wrong none "it holds no data set; it must hold a matrix of ids with the label in its last column"
matrix 4 | wrong claims "it says that it has more rows than its bytes can hold; copy it anew"
matrix 4 | wrong elsewhere "its rows lie in other files; write them into this one"
echo "no HDF5" >fgcnn/train/a.h5
run crank run -m fgcnn/config.yaml
ends bad
has_err "fgcnn/train/a.h5: it cannot be opened as HDF5: ...; copy it anew"
# compressed rows that are damaged, and a file that was cut off
matrix 45 | h5_make fgcnn/train/a.h5 whole
size=$(wc -c <fgcnn/train/a.h5)
head -c $((size / 2)) fgcnn/train/a.h5 >cut && mv cut fgcnn/train/a.h5
run crank run -m fgcnn/config.yaml
ends bad
has_err "fgcnn/train/a.h5: it cannot be opened as HDF5: ...; copy it anew"
rm fgcnn/train/*
run crank run -m fgcnn/config.yaml
ends bad
has_err "...the folder 'fgcnn/train' holds no rows; they are in files that end in .h5 or .hdf5"
rm -r output_fgcnn
run crank train fgcnn/config.yaml
ends 2
has_err "fgcnn/config.yaml:...: the data is read as rows of one file, which lie in 'output_fgcnn/rows/train' and are not there; 'crank run -m' makes them"
