# a word that is no topic is searched: names, values of enums, activations, flags, texts
run crank help SELU
ends 0
has_out "  nn.SELU ...activation ...1.0507 times ELU..."
run crank help fg_dag
ends 0
has_out "  FG_DAG ...value of fg_mode in DataConfig..."
run crank help lookup
ends 0
has_out "names with 'lookup':"
has_out "  lookup_feature ...feature ...Values of a map column found by keys"
has_out "  sequence_lookup_feature ...feature ..."
has_out "texts with 'lookup':"
has_out "  bench ...command ..."
run crank help sample-rows
ends 0
has_out "  --sample_rows ...flag of crank check..."
run crank help TORCH_MANUAL
ends 0
has_out "  TORCH_MANUAL_SEED ...environment variable ..."
# the whole name of a variable has its whole text
run crank help CRANK_RINGS
ends 0
has_out "  CRANK_RINGS"
has_out "      off: ranks of one machine talk through MPI only, not through shared memory..."
run crank help NUMPY_MANUAL_SEED
ends 0
has_out "variables of TorchEasyRec that have no effect here:"
# what many messages have is one row
run crank help embedding_di
ends 0
has_out "  embedding_dim ...key of ...more..."
[ "$(grep -c '^  embedding_dim ' "$out")" -eq 1 ] || fail "embedding_dim is listed more than once"
# a topic is told with its relatives
run crank help auc
ends 0
has_out "AUC: Chance that a positive row scores above a negative one"
has_out "See also: ...grouped_auc..."
# what stands nowhere
run crank help xyzzy
ends 2
has_err "crank help: nothing is called 'xyzzy'; try ..."
run crank help x
ends 2
has_err "crank help: nothing is called 'x'..."
# the table fits the terminal
COLUMNS=100 run crank help threads
ends 0
[ "$(awk 'length > 100' "$out" | wc -l)" -eq 0 ] || fail "lines are longer than 100 columns"
# several words, in quotes or not, are parts of one name; the last one counts when no name has them all
for words in "early stopping" "'early stopping'"; do
    eval "run crank help $words"
    ends 0
    has_out "  early_stopping_patience  key of EvalConfig ..."
done
run crank help model deepfm
ends 0
has_out "DeepFM: ..."
