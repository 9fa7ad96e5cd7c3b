#!/usr/bin/env bash
# Checks the format and the lints, with warnings as errors. Run this script before every commit.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
# The scripts of the page are checked with their types, or else for their syntax.
if command -v tsc >/dev/null; then
  tsc --project framework/report/page/jsconfig.json
elif command -v node >/dev/null; then
  echo "SKIP: there is no tsc (Debian: node-typescript); only the syntax of the scripts of the page is checked"
  for script in framework/report/page/*.js; do node --check "$script"; done
else
  echo "SKIP: there is neither tsc nor node (Debian: node-typescript), so the scripts of the page are not checked"
fi
cargo clippy --workspace --all-targets -- -D warnings
