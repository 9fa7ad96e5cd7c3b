#!/usr/bin/env bash
# Mutation testing of the rules: what of `controllers/src/rules` could be wrong without a unit test noticing.
#
#     scripts/mutation-testing.sh DIR [ARGUMENT OF cargo mutants]...
#
# The rules need nothing of the controllers but the types of the API. So they are copied to DIR as a crate of their own,
# which is built in seconds, where the controllers take a minute for each mutant. Needs cargo-mutants. What the mutants
# that live mean is in docs/mutation-testing.md.
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:?a directory to work in}
shift

rm -rf "$to"/{api,controllers,framework}
mkdir -p "$to"/{api,controllers/src,framework}
cp -r framework/clock "$to"/framework/
cp -r controllers/src/api "$to"/api/src
mv "$to"/api/src/{mod,lib}.rs
cp -r controllers/src/rules "$to"/controllers/src/
cp Cargo.lock rust-toolchain.toml "$to"/
sed '/^members = \[/,/^default-members/c members = ["framework/clock", "api", "controllers"]' Cargo.toml >"$to"/Cargo.toml
sed 's/^name = .*/name = "api"/; /^\[dev-dependencies\]/,$d; /^\[lints\]/,/^$/d' controllers/Cargo.toml >"$to"/api/Cargo.toml
sed '/^capsize-\(apiserver\|clusters\)/d; /^\[lints\]/,/^$/d; s/^\[dependencies\]/&\napi = { path = "..\/api" }/' \
    controllers/Cargo.toml >"$to"/controllers/Cargo.toml
printf '//! The rules, alone.\n\npub use api;\npub mod rules;\n' >"$to"/controllers/src/lib.rs
cd "$to"
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 PROPTEST_CASES=${PROPTEST_CASES:-64}
exec cargo mutants --in-place --package capsize-controllers "$@" -- --lib
