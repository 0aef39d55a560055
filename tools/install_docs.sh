#!/bin/sh
# install_docs.sh - writes manual pages and completions into the folders of an installation.
#
# Meson calls it at the end of `meson install`, with the folders of the build and of the installation in the environment.
set -eu
crank=${MESON_BUILD_ROOT:?meson sets it}/crank
share=${MESON_INSTALL_DESTDIR_PREFIX:?meson sets it}/share
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
"$crank" manual -o "$share/man/man1"
"$crank" completion bash >"$share/bash-completion/completions/crank"
"$crank" completion zsh >"$share/zsh/site-functions/_crank"
"$crank" completion fish >"$share/fish/vendor_completions.d/crank.fish"
