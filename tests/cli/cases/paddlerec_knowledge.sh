# kim of PaddleRec (2.0): sessions of articles with entities of a graph
mkdir -p kim/data
cat >kim/config.yaml <<END
runner:
  train_data_dir: "./data"
  train_reader_path: "mind_reader"
  use_gpu: False
  use_auc: False
  train_batch_size: 2
  epochs: 2
  print_interval: 1
  model_save_path: "output"
  test_data_dir: "./data"
  infer_reader_path: "mind_reader"
  infer_batch_size: 2
  infer_load_path: "output"
  infer_start_epoch: 1
  infer_end_epoch: 2
  random_emb: true
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.001}
  max_sentence: 5
  max_sents: 3
  max_entity_num: 2
  npratio: 2
  hidden_size: 20
  embedding_size: 3
  vocab_size: 34
END
json() { printf '[{"Label": "%s", "WikidataId": "%s"}, {"Label": "x", "WikidataId": "Q0"}, {"WikidataId": "Q2"}, {"WikidataId": "Q4"}]' "$1" "$1"; }
{
    printf "N1\tnews\tus\tWhy I'm Done: The U.S. Can't (cannot) Stop...\ttext\taddress\t%s\t[]\n" "$(json Q1)"
    printf 'N2\tnews\tus\tIt costs $4.85, or 50%% more. The "best" team wins!\ttext\taddress\t%s\t[]\n' "$(json Q3)"
    printf 'N3\tsport\tball\tA team\ttext\taddress\t[]\t[]\n'
    printf 'N4\tsport\tball\tThe end\ttext\taddress\t[]\t[]\n'
} >kim/data/docs.tsv
printf '6\nQ1\t0\nQ2\t1\nQ1\t2\nQ3\t3\nQ5\t4\nQ4\t5\n' >kim/data/entity2id.txt
echo '{"Q1": ["Q3", "Q9", "Q5", "Q2"], "Q2": ["Q1"]}' >kim/data/KGGraph.json
printf 'the 1 2 3\nteam -1 0.5 2\nunseen 1 1 1\n' >kim/data/glove.840B.300d.txt
{
    printf '1\tU1\t11/11/2019 9:05:58 AM\tN1 N9 N2\tN3-1 N4-0\n'
    printf '2\tU2\t11/11/2019 9:05:58 AM\tN1 N2 N3 N4\tN2-0 N1-0 N4-1 N3-1\n'
    printf '3\tU3\t11/11/2019 9:05:58 AM\t\tN2-1\n'
} | tee kim/data/train.tsv >kim/data/test.tsv
cd kim
run crank python -u trainer.py -m config.yaml -o mode=train
ends 0
has_err "...output/rows/train holds 3 rows, made from the sessions and articles in ./data; clicks that have no other articles: 1"
has_out "... epoch: 1, batch_id: 1, Acc:..., loss:..."
# the label is the place of the clicked article, which moves on; the third session is left out
[ "$(cut -f 1 output/rows/train/rows.txt | tr '\n' ' ')" = "0 1 2 " ] || fail "the places of the clicked articles"
# N3, twice N4, then padding and the clicked articles: 6 of 5 words
[ "$(head -n 1 output/rows/train/rows.txt | cut -f 3)" = "32 29 0 0 0 6 33 0 0 0 6 33 0 0 0 0 0 0 0 0 1 2 3 4 5 16 17 18 19 20" ] || fail "the words"
# the entities of N1 are Q1, whose last number counts, and Q2; padding is number 6
[ "$(head -n 1 output/rows/train/rows.txt | cut -f 4 | cut -d ' ' -f 7-)" = "6 6 2 1 3 1" ] || fail "the entities"
[ "$(head -n 1 output/rows/train/rows.txt | cut -f 5 | cut -d ' ' -f 17-)" = "3 4 2 6 6 6 2 6" ] || fail "their neighbours"
run crank python -u infer.py -m config.yaml -o mode=test
ends 0
has_err "...output/rows/test holds 7 rows, ..."
[ "$(cut -f 1 output/rows/test/rows.txt | tr '\n' ' ')" = "1 0 1 1 0 0 1 " ] || fail "clicked articles first"
has_out "... epoch: 1 done, AUC : ...,  MRR : ..., nDCG5 : ..., nDCG10 : ... epoch time: ... s"
# words begin with the vectors of the file, others with 0; entities stay as they are
run crank params output/0
ends 0
has_out "...title_word_embedding.weight...[34, 3]..."
has_out "...entity_embedding.weight...[7, 100]..."

# the same bits for any number of threads
mv output first
run crank run -m config.yaml --threads 3
ends 0
same_weights first output
# in a folder of another name, the hyper-parameters tell the model
cd ..
cp -r kim mine
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "mine/config.yaml:...: note: the hyper-parameters are those of PaddleRec's kim, so that is the model; ..."

# mistakes
echo 0 >mine/data/entity2id.txt
echo 'unseen 1 1 1' >mine/data/glove.840B.300d.txt
run crank run -m mine/config.yaml -o runner.epochs=1
ends 0
has_err "...glove.840B.300d.txt in mine/./data has no word of the titles: all begin with 0"
has_err "...entity2id.txt in mine/./data has no entity: articles have their words alone"
run crank run -m kim/config.yaml -o runner.random_emb=false
ends 2
has_err "...: random_emb is false, and crank does not read entity_embedding.npy; make it true, ..."
run crank run -m kim/config.yaml -o hyper_parameters.hidden_size=30
ends 2
has_err "...: hidden_size 30 is not a multiple of the 20 heads; make it one"
run crank run -m kim/config.yaml -o hyper_parameters.vocab_size=9
ends 3
has_err "...the titles in 'kim/./data' have ... words, and vocab_size is 9; make it ..."
echo x >output/rows/train/.sizes
run crank train kim/config.yaml
ends 2
has_err "...: the file 'output/rows/train/.sizes' is damaged; 'crank run -m' writes it anew"
echo 'the 1 2' >kim/data/glove.840B.300d.txt
run crank run -m kim/config.yaml
ends 3
has_err "kim/./data/glove.840B.300d.txt:1: 'the 1 2' is not a word and as many numbers as embedding_size says; correct the line"
printf '1\tU1\ttime\tN1\tN3\n' >kim/data/train.tsv
run crank run -m kim/config.yaml
ends 3
has_err "kim/./data/train.tsv:1: 'N3' is not an article and 1 or 0, such as N55689-1; correct the line"
printf '1\tU1\ttime\tN1\tN7-1 N8-0\n' >kim/data/train.tsv
run crank run -m kim/config.yaml
ends 3
has_err "...docs.tsv in the folder 'kim/./data' has none of the articles that the sessions show; put in the docs.tsv of these sessions"
printf 'N1\tnews\n' >kim/data/docs.tsv
run crank run -m kim/config.yaml
ends 3
has_err "kim/./data/docs.tsv:1: 'N1...news' is not an article with its category, ..."
echo '{"Q1": ["Q3"' >kim/data/KGGraph.json
run crank run -m kim/config.yaml
ends 3
has_err "kim/./data/KGGraph.json: not valid JSON at line 2, ...; correct the file"
echo '[]' >kim/data/KGGraph.json
run crank run -m kim/config.yaml
ends 3
has_err "...'kim/./data/KGGraph.json' is not lists of neighbours by entity; correct it"
printf '1\nQ1\t9\n' >kim/data/entity2id.txt
run crank run -m kim/config.yaml
ends 3
has_err "kim/./data/entity2id.txt:2: 'Q1...9' is not an entity and its number with a tab between them, ..."
