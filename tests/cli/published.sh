# published.sh - configs of the shapes that are published for TorchEasyRec (tests/published), each on data
# made for it: synth --for, train, eval, export, predict. Read by the cases published_*.
published_dir=$(cd "$CLI/../published" && pwd)
published() { # published CONFIG: without its ending
    config=$published_dir/$1.config
    run crank synth --for "$config" --rows 3k --eval_rows 1k -o "$1"
    ends 0
    run crank train "$1/pipeline.yaml"
    ends 0
    no_err "...warning: feature..."
    run crank eval "$1/model/pipeline.config"
    ends 0
    tail -n 1 "$1/model/eval_result.txt" >metrics
    # there is something to learn, and what is saved has learned it
    auc=$(sed 's/.*auc[_a-z]*": *\([0-9.]*\).*/\1/' metrics)
    awk -v x="$auc" 'BEGIN { exit !(x > 0.6) }' || fail "$1: AUC $auc"
    run crank export "$1/model/pipeline.config" --export_dir "$1/export"
    ends 0
    run crank predict --scripted_model_path "$1/export" --predict_input_path "$1/eval/*.parquet" \
        --predict_output_path "$1/scores" --writer_type CsvWriter
    ends 0
    [ "$(sed 1d "$1/scores/part-0.csv" | wc -l)" -eq 1000 ] || fail "$1: rows are missing"
    case "$(cat "$1/scores/part-0.csv")" in *nan* | *inf*) fail "$1: no numbers" ;; esac
    rm -r "$1"
}
