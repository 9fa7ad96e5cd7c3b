#!/usr/bin/env python3
"""Kills runs at random moments, and checks whether they leave anything after the next start.

    scripts/kills.py --provider container --kills 200 [--seed 8] [--capsize target/release/capsize] [-- OPTION...]

Each run has two members of the provider and a program as its target, and waits for an hour. It is killed by SIGKILL before,
within 1.2 times the time that it takes to create everything. Then the program of the target and the processes of members
must be gone. `capsize doctor --heal` does the clean-up that the next run would do first. After it, all containers,
networks, volumes, folders and journals must be gone, too. The arguments after `--` are passed to `capsize run`, for example
--kind-image. The script exits with 1 if anything was left. It needs Linux; `capsize doctor` lists the needs of the
provider.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

CASE = """
scenario: waits
about: A run waits for an hour, and is killed meanwhile.
fleet: {members: 2}
then:
  - wait: 1h
"""

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The number of runs after which the time to create everything is measured again, because machines are noisy.
MEASURED_EVERY = 20

# The program of a target is started last, so its start shows that everything is created.
LAST = "86397.5"

# The time that the kernel may take to end a program whose parent is gone.
PATIENCE = 10.0


def target():
    """Returns the profile with the shortest timings, for a program that only sleeps and is found by its number of seconds."""
    text = (ROOT / "suites/targets/capsize-controllers.yaml").read_text()
    before, rest = text.split("start:\n", 1)
    _, after = rest.split("features:\n", 1)
    return before + "start:\n  processes:\n    - {name: idle, command: [sleep, '" + LAST + "']}\nfeatures:\n" + after


def docker(*arguments):
    """Returns the lines that docker prints; an empty list if there is no Docker."""
    ran = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    return ran.stdout.split() if ran.returncode == 0 else []


def made(state):
    """Returns the resources in Docker that belong to the runs with this journal folder."""
    label = f"label=capsize.journal={state}"
    return {
        "containers": docker("ps", "--all", "--quiet", "--filter", label),
        "networks": docker("network", "ls", "--quiet", "--filter", label),
        "volumes": docker("volume", "ls", "--quiet", "--filter", label),
    }


def processes(state, but=None):
    """Returns the processes that were started with the state folder in their environment, except one."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or int(entry.name) == but:
                continue
            if f"CAPSIZE_STATE={state}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            pass
    return found


def start(arguments, folder, environment):
    case = [folder / "case.yaml", "--target", folder / "target.yaml", "--provider", arguments.provider]
    command = [arguments.capsize, "run", *case, *arguments.options]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def until_all_is_made(arguments, folder):
    """Returns the number of seconds until a run has created everything."""
    environment, since = surroundings(folder), time.monotonic()
    run = start(arguments, folder, environment)
    while not any(LAST in words for words in processes(folder / "state", run.pid)):
        if run.poll() is not None:
            sys.exit(f"a run ended with {run.returncode}: {run.communicate()[1].decode()}")
        time.sleep(0.02)
    took = time.monotonic() - since
    run.kill()
    run.communicate()
    subprocess.run([arguments.capsize, "doctor", "--heal"], env=environment, capture_output=True)
    return took


def surroundings(folder):
    """Returns the environment of runs, whose journals and folders are in a place of their own."""
    (folder / "temporary").mkdir(exist_ok=True)
    return {**os.environ, "CAPSIZE_STATE": str(folder / "state"), "TMPDIR": str(folder / "temporary")}


def kill_one(arguments, folder, moment):
    """Kills a run this number of seconds after its start. Returns what it had created, and what is left."""
    state, temporary, environment = folder / "state", folder / "temporary", surroundings(folder)
    run = start(arguments, folder, environment)
    try:
        # A run that ends by itself has failed.
        _, said = run.communicate(timeout=moment)
        sys.exit(f"a run ended with {run.returncode}: {said.decode()}")
    except subprocess.TimeoutExpired:
        pass
    had = {**made(state), "processes": processes(state, run.pid), "folders": list(temporary.iterdir())}
    run.kill()
    run.communicate()
    since = time.monotonic()
    while (outlived := processes(state)) and time.monotonic() - since < PATIENCE:
        time.sleep(0.01)
    healed = subprocess.run([arguments.capsize, "doctor", "--heal"], env=environment, capture_output=True, text=True)
    left = {**made(state), "processes": outlived, "folders": list(temporary.iterdir())}
    left["journals"] = list(state.iterdir()) if state.exists() else []
    return had, left, healed.stdout + healed.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", choices=["embedded", "container", "kind", "process"], required=True)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=8)
    parser.add_argument("--capsize", type=pathlib.Path, default=ROOT / "target/release/capsize")
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    arguments.capsize = arguments.capsize.resolve()
    chance, totals, failures = random.Random(arguments.seed), {}, 0
    with tempfile.TemporaryDirectory(prefix="capsize-kills-") as folder:
        folder = pathlib.Path(folder)
        (folder / "case.yaml").write_text(CASE)
        (folder / "target.yaml").write_text(target())
        for kill in range(1, arguments.kills + 1):
            if kill % MEASURED_EVERY == 1:
                all_made = until_all_is_made(arguments, folder)
            moment = chance.uniform(0.0, all_made * 1.2)
            had, left, said = kill_one(arguments, folder, moment)
            for what, found in had.items():
                totals[what] = totals.get(what, 0) + bool(found)
            left = {what: found for what, found in left.items() if found}
            if left:
                failures += 1
                print(f"kill {kill}, after {moment:.2f} s: left {left}\n{said}", flush=True)
            if kill % MEASURED_EVERY == 0:
                print(f"{kill} runs killed, {failures} left anything, {totals}", flush=True)
    had = ", ".join(f"{count} with {what}" for what, count in totals.items())
    print(f"{arguments.provider}: {arguments.kills} runs killed ({had}); {failures} left anything after the next start")
    sys.exit(1 if failures else 0)


main()
