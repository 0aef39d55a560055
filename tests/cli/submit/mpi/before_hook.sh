#!/bin/sh
# before_hook.sh - runs on each node before training: puts crank in its place.
echo "Run before_hook.sh ..."
crank version || exit 1
chmod 600 crank_secret || exit 1
echo "End before_hook.sh ..."
