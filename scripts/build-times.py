#!/usr/bin/env python3
"""Builds from an empty target directory, and prints the time it took and the crates that took longest.

    scripts/build-times.py                     the build of README's first command
    scripts/build-times.py test --workspace --no-run
                                               the build of the test command

The arguments are passed to cargo. The machine should be idle meanwhile.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

UNITS = 20
ROOT = Path(__file__).resolve().parent.parent


def units_of(page: str) -> list[dict]:
    """Returns the compiled units that cargo lists in its page of timings."""
    found = re.search(r"const UNIT_DATA = (\[.*?\n?\]);\n", page, re.DOTALL)
    if not found:
        sys.exit("build-times: cargo's page of timings has no UNIT_DATA: the format changed with this cargo")
    return json.loads(found.group(1))


def main() -> None:
    command = sys.argv[1:] or ["build", "--release"]
    with tempfile.TemporaryDirectory(prefix="build-times-") as target:
        subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=ROOT, check=True)
        started = time.monotonic()
        subprocess.run(
            ["cargo", *command, "--locked", "--quiet", "--timings", "--target-dir", target], cwd=ROOT, check=True
        )
        wall = time.monotonic() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        page = (Path(target) / "cargo-timings" / "cargo-timing.html").read_text()
        print(f"cargo {' '.join(command)}: {wall:.0f} s of wall time, {used.ru_utime:.0f} s of CPU time in user mode")
        for unit in sorted(units_of(page), key=lambda unit: -unit["duration"])[:UNITS]:
            print(f"  {unit['duration']:6.1f} s  {unit['name']} {unit['target'].strip()}")
        for binary in sorted(Path(target).glob("*/capsize")):
            print(f"  {binary.stat().st_size / 1e6:6.1f} MB {binary.parent.name}/capsize")


if __name__ == "__main__":
    main()
