#!/usr/bin/env bash
# Stands in for kube-apiserver where that is not available. It takes the flags that `capsize run --provider process` passes,
# and refuses all others as the real program does. Then it checks the health of etcd and becomes the embedded API server, with the
# same certificate on the same port. Its objects are in memory and not in etcd, so they are lost when it ends.
# CAPSIZE names a built capsize; without it, capsize is beside this script or in PATH.
set -euo pipefail

capsize=${CAPSIZE:-}
[ -n "$capsize" ] || capsize=$(dirname "$0")/capsize
[ -x "$capsize" ] || capsize=$(command -v capsize) || { echo "no capsize: say in CAPSIZE where it is" >&2; exit 1; }

wrong() {
    echo "Error: $1" >&2
    exit 1
}

etcd= address=0.0.0.0 port=6443 certificate= key= tokens=
for argument in "$@"; do
    value=${argument#*=}
    case $argument in
    --version)
        echo "a stand-in: $("$capsize" --version), the embedded API server"
        exit
        ;;
    --etcd-servers=*) etcd=$value ;;
    --bind-address=*) address=$value ;;
    --secure-port=*) port=$value ;;
    --tls-cert-file=*) certificate=$value ;;
    --tls-private-key-file=*) key=$value ;;
    --token-auth-file=*) tokens=$value ;;
    --service-account-key-file=* | --service-account-signing-key-file=*)
        grep -q -- "-----BEGIN \(PUBLIC\|PRIVATE\) KEY-----" "$value" || wrong "$value: there is no key in it"
        ;;
    --service-account-issuer=https://*) ;;
    --authorization-mode=RBAC | --allow-privileged=true | --disable-admission-plugins=ServiceAccount) ;;
    --service-cluster-ip-range=*/*) ;;
    *=*) wrong "unknown flag, or value, for the stand-in: $argument" ;;
    *) wrong "unknown flag: $argument" ;;
    esac
done
[ -n "$etcd" ] || wrong "--etcd-servers must be specified"
[ -n "$certificate" ] && [ -n "$key" ] && [ -n "$tokens" ] || wrong "the stand-in makes no certificates and tokens of its own"

# Like the real program, this one gives up when etcd does not answer.
host=${etcd#http://}
exec 3<>"/dev/tcp/${host%:*}/${host#*:}" || wrong "etcd does not answer at $etcd"
printf 'GET /health HTTP/1.0\r\n\r\n' >&3
grep -q '"health":"true"' <&3 || wrong "etcd at $etcd is not well"
exec 3>&-

exec "$capsize" member --name=kube-apiserver --listen="$address:$port" --bare \
    --tls-cert-file="$certificate" --tls-private-key-file="$key" --token-auth-file="$tokens"
