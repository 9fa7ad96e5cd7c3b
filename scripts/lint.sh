#!/usr/bin/env bash
# Checks the format and the lints, with warnings as errors. Run this script before every commit.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
cargo clippy --workspace --all-targets -- -D warnings
