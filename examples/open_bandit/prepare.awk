# prepare.awk: one campaign's log -> rows of the click model.
#
#   awk -v campaign=men -f prepare.awk random/men/item_context.csv POLICY/men/men.csv
#
# A log line has one affinity column per item of the campaign: the user's earlier clicks on that item. Two numbers are
# kept: that of the shown item, and the sum over all, which tells whether the user has ever clicked. Items are
# numbered per campaign, so the name goes in front. item_context.csv is taken from the folder random for both policies:
# the same items carry other hashes in the folder bts.
BEGIN { FS = OFS = "," }
FNR == 1 {
    log_file = NR > 1
    split("", col)
    for (i = 1; i <= NF; i++) col[$i] = i
    first = col["user-item_affinity_0"]
    next
}
!log_file {
    id = $col["item_id"]
    context[id] = sprintf("%.4f", $col["item_feature_0"]) "," $col["item_feature_1"] "," $col["item_feature_2"] "," $col["item_feature_3"]
    next
}
{
    id = $col["item_id"]
    history = 0
    for (i = first; i <= NF; i++) history += $i
    print $col["click"], campaign, campaign "_" id, $col["position"], $col["user_feature_0"], $col["user_feature_1"],
        $col["user_feature_2"], $col["user_feature_3"], $(first + id) + 0, history, context[id]
}
