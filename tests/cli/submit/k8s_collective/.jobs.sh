#!/bin/sh
# .jobs.sh VERB ID - what 'crank jobs' asks the client; change the lines where your client has other words.
eval "$(grep -E '^(ak|sk)=' job.sh)"
unset http_proxy https_proxy
case $1 in
state) paddlecloud job --ak "$ak" --sk "$sk" info "$2" --json |
    sed -n 's/.*"\(jobStatus\|status\)" *: *"\([^"]*\)".*/\2/p' ;;
logs) paddlecloud job --ak "$ak" --sk "$sk" log "$2" ;;
follow) paddlecloud job --ak "$ak" --sk "$sk" log "$2" --follow ;;
stop) paddlecloud job --ak "$ak" --sk "$sk" kill "$2" ;;
esac
