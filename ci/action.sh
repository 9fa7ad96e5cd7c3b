#!/usr/bin/env bash
# The steps of the GitHub Action (action.yml). Each reads its inputs from the environment, so that no input becomes a command.
#
#   ci/action.sh choose    VERSION, REF                  outputs version, folder, key
#   ci/action.sh install   VERSION, FOLDER, REPOSITORY   puts capsize into the path
#   ci/action.sh run       TARGET, PATHS, SEED, ARGUMENTS, REPORT   outputs report, badge, conforms; each has a default
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

output() { echo "$1=$2" >>"${GITHUB_OUTPUT:-/dev/null}"; }

choose() {
  local version=${VERSION:-}
  if [ -z "$version" ]; then
    version=source
    [[ ${REF:-} =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]] && version=$REF
  fi
  output version "$version"
  output folder "${RUNNER_TEMP:?}/capsize/bin"
  # GitHub unpacks an action without its git folder, so the name of the commit is not at hand.
  output key "$(cd "$source" && find . -path ./target -prune -o -path ./.git -prune -o -type f -print0 |
    LC_ALL=C sort --zero-terminated | xargs --null sha256sum | sha256sum | cut --delimiter=' ' --fields=1)"
}

install() {
  mkdir -p "${FOLDER:?}"
  case ${VERSION:?} in
  source) [ -x "$FOLDER/capsize" ] || build ;;
  *) download ;;
  esac
  "$FOLDER/capsize" --version
  echo "$FOLDER" >>"${GITHUB_PATH:-/dev/null}"
}

build() {
  (cd "$source" && cargo build --release --locked -p capsize --target-dir "$FOLDER/../target")
  mv "$FOLDER/../target/release/capsize" "$FOLDER/capsize"
}

download() {
  local archive folder
  archive=capsize-$(uname -m)-unknown-linux-musl.tar.gz
  folder=${DOWNLOADS:-https://github.com/${REPOSITORY:?}/releases/download}/$VERSION
  (
    cd "$FOLDER"
    curl --fail --silent --show-error --location --retry 3 --remote-name "$folder/$archive" --remote-name "$folder/$archive.sha256"
    sha256sum --check --strict --quiet "$archive.sha256"
    tar --extract --gzip --file "$archive" capsize
    rm "$archive" "$archive.sha256"
  )
}

run() {
  local report=${REPORT:-capsize-report} code=0 paths arguments
  read -ra paths <<<"${PATHS:-}"
  read -ra arguments <<<"${ARGUMENTS:-}"
  capsize run --canary --target "${TARGET:-reference}" --seed "${SEED:-1}" --report "$report" \
    "${arguments[@]}" -- "${paths[@]}" || code=$?
  output report "$report"
  case $code in
  0) output conforms true ;;
  1) output conforms false ;;
  esac
  summary "$report" "$code" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
  badge "$report"
  return "$code"
}

# The summary of the step. GitHub refuses a summary of more than 1 MiB with all that is in it, and a reader more than a page.
summary() {
  local most=90000
  if [ ! -f "$1/summary.md" ]; then
    echo "### capsize ended with exit code $2 before it judged anything"
  elif [ "$(stat --format=%s "$1/summary.md")" -le "$most" ]; then
    cat "$1/summary.md"
  else
    # Half a character at the end would make the whole summary invalid.
    head --bytes="$most" "$1/summary.md" | iconv --from-code=UTF-8 --to-code=UTF-8 -c
    printf '\n```\n\n</details>\n\nThe rest is in `summary.md` of the report.\n'
  fi
}

# The badge, as shields.io reads it from any address. Without a verdict, there is no report.
badge() {
  [ -f "$1/conformance.yaml" ] || return 0
  capsize badge "$1" --format shields >"$1/badge.json"
  output badge "$1/badge.json"
}

case ${1:-} in
choose | install | run) "$1" ;;
*) echo "usage: $0 choose|install|run" >&2 && exit 2 ;;
esac
