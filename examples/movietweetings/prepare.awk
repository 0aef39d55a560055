# prepare.awk: rows in order of time -> features that use earlier rows only, and the baseline's prediction.
#
#   awk -v n_train=N -v out_train=FILE -v out_test=FILE -f prepare.awk movies.dat sorted_ratings
#
# The first N rows are for training. A row's counters are the state before it: how often, and how far from the
# average, its user and its movie were rated; after row N they stand still, so a test row knows no other test row.
# The label is the rating less the mean of the training ratings, which spares the model to find it.
# The baseline: mean + movie's deviation / (count + 3) + user's deviation from that / (count + 3).
BEGIN {
    FS = "::"
    OFS = ","
    damp = 3
}
FNR == NR { # movie::title (year)::genre|genre
    year = $2
    sub(/.*\(/, "", year)
    sub(/\).*/, "", year)
    years[$1] = year
    genres[$1] = $3
    next
}
{ # user::movie::rating::time
    n++
    u = $1
    m = $2
    movie_dev = movie_sum[m] / (movie_n[m] + damp)
    user_dev = user_sum[u] / (user_n[u] + damp)
    row[n] = u "," m "," genres[m] "," years[m] "," user_n[u] + 0 "," sprintf("%.4f", user_dev) "," \
        movie_n[m] + 0 "," sprintf("%.4f", movie_dev)
    user[n] = u
    movie[n] = m
    rating[n] = $3
    if (n <= n_train) {
        mean = n > 1 ? sum / (n - 1) : $3
        user_sum[u] += $3 - mean - movie_dev
        user_n[u]++
        movie_sum[m] += $3 - mean
        movie_n[m]++
        sum += $3
    }
}
END {
    mean = sum / n_train
    for (i = 1; i <= n_train; i++) {
        base_movie[movie[i]] += rating[i] - mean
    }
    for (i = 1; i <= n_train; i++) {
        m = movie[i]
        base_user[user[i]] += rating[i] - mean - base_movie[m] / (movie_n[m] + damp)
    }
    header = "label,user,movie,genres,year,user_n,user_dev,movie_n,movie_dev"
    print header >out_train
    print header, "rating", "mean", "baseline" >out_test
    for (i = 1; i <= n; i++) {
        if (i <= n_train) {
            print sprintf("%.4f", rating[i] - mean), row[i] >out_train
            continue
        }
        m = movie[i]
        u = user[i]
        base = mean + base_movie[m] / (movie_n[m] + damp) + base_user[u] / (user_n[u] + damp)
        print sprintf("%.4f", rating[i] - mean), row[i], rating[i], sprintf("%.4f", mean), sprintf("%.4f", base) >out_test
    }
}
