# rates.awk: scores to compare with, one line per row of test.csv: the baseline and the rule.
#
#   awk -f rates.awk train.csv test.csv
#
# Baseline: smoothed click rate of the item times that of the position; a rate is (clicks + k * p) / (shows + k), p
# being the rate of all: k shows of the average are added to each. Rule: has the user clicked anything before?
BEGIN {
    FS = ","
    k = 500
}
FNR == 1 {
    file++
    for (i = 1; i <= NF; i++) col[$i] = i
    next
}
{
    item = $col["item"]
    pos = $col["position"]
}
file == 1 {
    click = $col["label"]
    shows++
    clicks += click
    item_shows[item]++
    item_clicks[item] += click
    pos_shows[pos]++
    pos_clicks[pos] += click
    next
}
{
    p = clicks / shows
    rate = (item_clicks[item] + k * p) / (item_shows[item] + k) * (pos_clicks[pos] + k * p) / (pos_shows[pos] + k) / p
    printf "%.9f %d\n", rate, ($col["history"] > 0)
}
