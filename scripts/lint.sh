#!/usr/bin/env bash
# Format and lints, with warnings as errors. Run it before every commit.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
cargo clippy --workspace --all-targets -- -D warnings
