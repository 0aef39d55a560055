# losses over sessions: the same bytes for any number of threads; what is wrong is one line
tiny_config
tiny_data 640 64
for loss in '{jrc_loss: {session_name: user}}' '{pairwise_loss: {session_name: user, max_negatives: 3}}' \
    '{binary_focal_loss: {}}' '{pairwise_loss: {kind: HINGE}}'; do
    class=1
    case $loss in *jrc*) class=2 ;; esac
    for n in 1 3; do
        rm -rf "m$n"
        run crank train tiny.yaml --model_dir "m$n" --threads $n --set "model_config.losses=[$loss]" \
            --set model_config.num_class=$class --set model_config.embedding_regularization=0.001
        ends 0
        has_err "...embedding_regularization:..."
    done
    same_weights m1 m3
done
# mistakes
run crank check tiny.yaml --set 'model_config.losses=[{jrc_loss: {session_name: user}}]'
ends 2
has_err "...jrc_loss needs num_class 2, it is 1; ..."
run crank check tiny.yaml --set 'model_config.losses=[{jrc_loss: {session_name: usr}}]' --set model_config.num_class=2
ends 2
has_err "...session_name names the unknown feature 'usr'; did you mean 'user'?..."
run crank check tiny.yaml --set 'model_config.losses=[{pairwise_loss: {session_name: price}}]'
ends 2
has_err "...session_name 'price' is a dense feature and has no ids; ..."
run crank check tiny.yaml --set 'model_config.losses=[{jrc_loss: {}}]' --set model_config.num_class=2
ends 2
has_err "...session_name..."
