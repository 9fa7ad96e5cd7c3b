#!/usr/bin/env bash
# Builds the image capsize-stand-in-node, which replaces kindest/node where that image is not available. It is Debian with
# systemd, iptables and kubectl. Its kubeadm starts the embedded API server and simulated workloads behind the same files and
# ports. With `base`, only the base image is built, which takes the longest and does not depend on capsize.
# CAPSIZE names a built capsize; without it, one is built. Needs Docker, and debootstrap as root.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=bookworm
base=capsize-stand-in-base:$suite
packages=systemd,systemd-sysv,dbus,iptables,iproute2,kmod,ca-certificates,procps,kubernetes-client

docker version >/dev/null || { echo "Docker does not answer: start it" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! docker image inspect "$base" >/dev/null 2>&1; then
    command -v debootstrap >/dev/null || { echo "debootstrap is not there: apt-get install debootstrap" >&2; exit 3; }
    debootstrap --variant=minbase --include="$packages" "$suite" "$work/root" >"$work/log" 2>&1 || {
        tail -n 20 "$work/log" >&2
        exit 3
    }
    rm -rf "$work/root"/var/cache/apt/archives/*.deb "$work/root"/var/lib/apt/lists/* "$work/root"/usr/share/{doc,man,locale}/*
    tar -C "$work/root" -c . | docker import - "$base" >/dev/null
fi

[ "${1:-}" != base ] || exit 0
if [ -z "${CAPSIZE:-}" ]; then
    cargo build --release
    CAPSIZE=target/release/capsize
fi
mkdir "$work/node"
cp scripts/stand-in-node/* "$work/node"
cp "$CAPSIZE" "$work/node/capsize"
strip "$work/node/capsize" 2>/dev/null || true
docker build --quiet --build-arg "BASE=$base" --tag capsize-stand-in-node "$work/node" >/dev/null
echo "capsize-stand-in-node:latest"
