#!/usr/bin/env bash
# Builds the program for a target with the profile `dist`, checks that it is static and small, and packs it with its checksum:
#
#   ci/dist.sh x86_64-unknown-linux-musl
#
# The archive and the checksum are in target/dist-files. PROFILE names another profile, for a quick trial. Needs musl-gcc
# (Debian: musl-tools), because ring and the allocator contain C.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:?usage: ci/dist.sh TARGET}
profile=${PROFILE:-dist}
# README promises this size.
most=$((60 * 1000 * 1000))

rustup target add "$target"
cargo build --locked --profile "$profile" --target "$target" -p capsize
folder=$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
program=$folder/$target/$profile/capsize

if readelf --program-headers "$program" | grep -q INTERP; then
  echo "$program is not static" >&2
  exit 1
fi
size=$(stat --format=%s "$program")
if [ "$profile" = dist ] && [ "$size" -gt "$most" ]; then
  echo "$program has $size bytes, which is more than $most" >&2
  exit 1
fi
"$program" run --core --canary --quiet

files=$folder/dist-files
mkdir -p "$files"
archive=capsize-$target.tar.gz
# The same commit gives the same archive.
tar --create --gzip --file "$files/$archive" --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@$(git log -1 --format=%ct)" --directory "$(dirname "$program")" capsize --directory "$PWD" LICENSE
(cd "$files" && sha256sum "$archive" >"$archive.sha256")
echo "$files/$archive: a program of $size bytes"
