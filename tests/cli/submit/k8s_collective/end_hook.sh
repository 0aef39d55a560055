#!/bin/sh
# end_hook.sh - runs on each node after training.
echo "Run end_hook.sh ..."
