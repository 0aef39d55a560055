#!/bin/sh
# apiserver.sh build CACHE | start CACHE DIR | stop DIR - a private kube-apiserver on this machine, for tests of manifests.
#
# build: kube-apiserver is compiled from the source package of Debian, which has no binary package of it, with Debian's Go; etcd and
# kubectl are unpacked from their packages. Everything lies in the folder CACHE, nothing is installed, no root is needed. A second call
# does nothing. It takes some 7 minutes of one core and 3 GB of disk, of which 200 MB stay.
# start: etcd and the server run on loopback, at free ports, with data, key and token of their own in DIR. Use it by `export
# KUBECONFIG=DIR/kubeconfig PATH=CACHE/bin:$PATH`. There are no nodes: objects are checked and kept, and nothing runs.
# stop: ends the processes whose numbers are in DIR/pids; DIR stays. Exit code 77: this machine cannot run it, and why.
set -u
usage() { echo "usage: apiserver.sh build CACHE | start CACHE DIR | stop DIR" >&2; exit 2; }
[ $# -ge 2 ] || usage
how=$1
cannot() { echo "$*"; exit 77; }
fail() { echo "apiserver.sh: $*" >&2; exit 1; }

# apt with sources of its own: those that this machine has, as packages of source code
apt_() { # apt_ PROGRAM WORDS...
    program=$1
    shift
    "$program" -q -o Dir::Etc::sourcelist="$CACHE/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$CACHE/apt/lists" \
        -o Dir::Cache="$CACHE/apt/cache" -o APT::Sandbox::User=root "$@"
}
get() { # the packages, unpacked: root has those that are compiled, src the source code
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || cannot "apt-get is needed to fetch packages of Debian"
    command -v dpkg-source >/dev/null || cannot "dpkg-source is not installed (package dpkg-dev)"
    mkdir -p "$CACHE/apt/lists/partial" "$CACHE/apt/cache/archives/partial"
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(CREATED_BY)|$(REPO_URI) $(RELEASE) $(COMPONENT)' |
        sed -n 's/^Packages|\(.*\)/deb \1\ndeb-src \1/p' >"$CACHE/apt/sources.list"
    [ -s "$CACHE/apt/sources.list" ] || cannot "apt has no sources of packages"
    apt_ apt-get update >"$CACHE/log" 2>&1 || cannot "the lists of packages cannot be fetched: $(tail -n 2 "$CACHE/log")"
    go=$(apt_ apt-cache depends golang-go 2>/dev/null | sed -n 's/.*Depends: golang-\([0-9.]*\)-go.*/\1/p' | head -n 1)
    (cd "$CACHE" && apt_ apt-get download "golang-${go:-1.19}-go" "golang-${go:-1.19}-src" etcd-server kubernetes-client golang-github-modern-go-reflect2-dev &&
        apt_ apt-get source --download-only kubernetes) >"$CACHE/log" 2>&1 || cannot "the packages cannot be fetched: $(tail -n 2 "$CACHE/log")"
    for deb in "$CACHE"/*.deb; do dpkg -x "$deb" "$CACHE/root" || fail "$deb cannot be unpacked"; done
    rm -rf "$CACHE/src"
    dpkg-source --no-check -x "$CACHE"/kubernetes_*.dsc "$CACHE/src" >"$CACHE/log" 2>&1 || fail "$(tail -n 3 "$CACHE/log")"
    # its copy of this library reads maps as Go did before 1.18, and the server would crash
    lib=github.com/modern-go/reflect2
    rm -rf "$CACHE/src/vendor/$lib"
    cp -rL "$CACHE/root/usr/share/gocode/src/$lib" "$CACHE/src/vendor/$lib" || fail "reflect2 is not in its package"
}
compile() { # the one generated file that the package lacks, and the server
    mkdir -p "$CACHE/src/.go/src/k8s.io" "$CACHE/home" "$CACHE/tmp"
    ln -sfn ../../.. "$CACHE/src/.go/src/k8s.io/kubernetes"
    cd "$CACHE/src/.go/src/k8s.io/kubernetes" || exit 1
    GOROOT=$(echo "$CACHE"/root/usr/lib/go-*)
    PATH=$GOROOT/bin:$PATH HOME=$CACHE/home GOPATH=$CACHE/src/.go GOCACHE=$CACHE/gocache GO111MODULE=off CGO_ENABLED=0 TMPDIR=$CACHE/tmp
    export GOROOT PATH HOME GOPATH GOCACHE GO111MODULE CGO_ENABLED TMPDIR
    unset GOFLAGS
    go build -o "$CACHE/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen || return 1
    # the folders that the package's own Makefile would list
    dirs=$(grep -rl --include='*.go' '+k8s:openapi-gen=' pkg cmd vendor/k8s.io/*/ |
        grep -v -E '^vendor/k8s.io/(code-generator|sample-apiserver|kube-openapi|gengo)/|_test\.go$|/testdata/' |
        xargs -n 1 dirname | LC_ALL=C sort -u | sed 's,^,k8s.io/kubernetes/,' | paste -sd , -)
    "$CACHE/openapi-gen" -i "$dirs" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
        -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r "$CACHE/violations" >"$CACHE/log" 2>&1 || { tail -n 3 "$CACHE/log"; return 1; }
    go build -o "$CACHE/kube-apiserver" ./cmd/kube-apiserver
}
build() {
    [ ! -x "$CACHE/bin/kube-apiserver" ] || return 0
    [ -x "$CACHE/root/usr/bin/etcd" ] && [ -f "$CACHE/src/go.mod" ] || get
    echo "compiling kube-apiserver; this takes some 7 minutes of one core"
    (compile) || fail "kube-apiserver does not compile"
    mkdir -p "$CACHE/bin" && mv "$CACHE/root/usr/bin/etcd" "$CACHE/root/usr/bin/kubectl" "$CACHE/kube-apiserver" "$CACHE/bin/" || exit 1
    chmod -R u+w "$CACHE"
    rm -rf "$CACHE/src" "$CACHE/root" "$CACHE/gocache" "$CACHE/home" "$CACHE/tmp" "$CACHE/apt" "$CACHE/openapi-gen" "$CACHE"/*.deb "$CACHE"/kubernetes_*
}

running() { for p in $(cat "$DIR/pids" 2>/dev/null); do kill -0 "$p" 2>/dev/null && echo "$p"; done; }
stop() {
    # shellcheck disable=SC2046
    kill $(running) 2>/dev/null
    for i in $(seq 100); do
        [ -n "$(running)" ] || break
        sleep 0.1
    done
    for p in $(running); do kill -9 "$p" 2>/dev/null; done
    rm -f "$DIR/pids"
}
daemon() { # daemon NAME COMMAND...: in the background; its number is kept
    name=$1
    shift
    "$@" </dev/null >"$DIR/$name.out" 2>&1 &
    echo $! >>"$DIR/pids"
}
start() {
    [ -x "$CACHE/bin/kube-apiserver" ] || fail "$CACHE has no kube-apiserver; run: apiserver.sh build $CACHE"
    [ ! -f "$DIR/pids" ] || fail "a server runs in $DIR; stop it first"
    command -v openssl >/dev/null || cannot "openssl is not installed"
    command -v perl >/dev/null || cannot "perl is not installed"
    # free ports, all of them held at the same time
    # shellcheck disable=SC2046,SC2016
    set -- $(perl -MIO::Socket::INET -e 'my @s = map { IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 0) } 1 .. 3; print join(" ", map { $_->sockport } @s)')
    [ $# -eq 3 ] || fail "there are no free ports"
    (
        umask 077
        openssl genrsa -out "$DIR/accounts.key" 2048 2>/dev/null
        openssl rand -hex 16 >"$DIR/token"
        echo "$(cat "$DIR/token"),tester,1,system:masters" >"$DIR/tokens"
    )
    : >"$DIR/pids"
    daemon etcd "$CACHE/bin/etcd" --data-dir "$DIR/etcd" --listen-client-urls "http://127.0.0.1:$1" --advertise-client-urls "http://127.0.0.1:$1" \
        --listen-peer-urls "http://127.0.0.1:$2" --initial-advertise-peer-urls "http://127.0.0.1:$2" --initial-cluster "default=http://127.0.0.1:$2"
    daemon apiserver "$CACHE/bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$1" --bind-address 127.0.0.1 --secure-port "$3" --cert-dir "$DIR/certs" \
        --token-auth-file "$DIR/tokens" --authorization-mode AlwaysAllow --service-cluster-ip-range 10.78.0.0/24 --disable-admission-plugins ServiceAccount \
        --service-account-issuer https://127.0.0.1 --service-account-key-file "$DIR/accounts.key" --service-account-signing-key-file "$DIR/accounts.key"
    (umask 077 && cat >"$DIR/kubeconfig") <<END
apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$3", insecure-skip-tls-verify: true}}]
users: [{name: tester, user: {token: "$(cat "$DIR/token")"}}]
contexts: [{name: test, context: {cluster: test, user: tester}}]
END
    for i in $(seq 1200); do
        if "$CACHE/bin/kubectl" --kubeconfig "$DIR/kubeconfig" get namespace default >/dev/null 2>&1; then return 0; fi
        [ "$(running | grep -c .)" -eq 2 ] || break
        sleep 0.1
    done
    tail -n 5 "$DIR/etcd.out" "$DIR/apiserver.out" >&2
    stop
    fail "the server does not start"
}

case $how in
build)
    mkdir -p "$2" && CACHE=$(cd "$2" && pwd) || exit 1
    build
    ;;
start)
    [ $# -eq 3 ] || usage
    mkdir -p "$3" && CACHE=$(cd "$2" && pwd) && DIR=$(cd "$3" && pwd) || exit 1
    start
    ;;
stop)
    DIR=$(cd "$2" && pwd) || exit 1
    stop
    ;;
*) usage ;;
esac
