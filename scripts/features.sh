#!/usr/bin/env bash
# Checks the features that the default build leaves out: the library of the API server with each version of Kubernetes, and
# buckets for the results of a campaign. These builds take too long for every change.
set -euo pipefail
cd "$(dirname "$0")/.."
for version in v1_33 v1_34 v1_35 v1_36 v1_37; do
  printf '\n== the API server with %s\n' "$version"
  cargo check --package capsize-apiserver --lib --features "$version"
done
printf '\n== buckets\n'
cargo clippy --workspace --all-targets --features capsize/object-store -- -D warnings
cargo test --workspace --lib --features capsize/object-store campaign::
