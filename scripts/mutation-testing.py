#!/usr/bin/env python3
"""Mutation testing of the rules: finds changes of `controllers/rules/src` that no unit test notices.

    scripts/mutation-testing.py DIRECTORY [FILE]...

cargo-mutants lists the mutants, but would build each of them alone, which takes hours for a few thousand. This script builds
them into one program, in which an environment variable turns one of them on, so each costs only a run of the unit tests. The
crate of the rules is copied to DIRECTORY, with the crates that it needs. Mutants that do not compile beside the others are left
to cargo-mutants itself. With FILEs (`cluster/taints.rs`), only their mutants are tried.

Needs cargo-mutants, and from PyPI tree_sitter and tree_sitter_rust. docs/mutation-testing.md explains the missed mutants.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import tree_sitter
import tree_sitter_rust

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = "capsize-rules"
# Seconds, because a mutant may never end.
LONGEST = 10

SWITCH = """
/// Whether this is the mutant that is turned on.
pub fn mutant(number: u32) -> bool {
    static ON: std::sync::LazyLock<Option<u32>> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").ok()?.parse().ok());
    *ON == Some(number)
}

pub fn and(swapped: bool, one: bool, other: impl FnOnce() -> bool) -> bool {
    if swapped { one || other() } else { one && other() }
}

pub fn or(swapped: bool, one: bool, other: impl FnOnce() -> bool) -> bool {
    if swapped { one && other() } else { one || other() }
}

/// Compares as the one of the operators says that is turned on, else as the first does.
pub fn compare<T: PartialOrd + ?Sized>(one: &T, operators: &[(u32, &str)], other: &T) -> bool {
    let on = operators[1..].iter().find(|(number, _)| mutant(*number)).unwrap_or(&operators[0]);
    match on.1 {
        "<" => one < other,
        "<=" => one <= other,
        ">" => one > other,
        ">=" => one >= other,
        _ => one == other,
    }
}
"""


def lay_out(to):
    """Copies the crate of the rules, with the functions that turn mutants on, and the crates that it needs."""
    for name in ["controllers", "framework"]:
        shutil.rmtree(to / name, ignore_errors=True)
    crates = ["framework/clock", "framework/sorted", "controllers/api", "controllers/rules"]
    for folder in crates:
        shutil.copytree(REPOSITORY / folder, to / folder)
    with open(to / "controllers/rules/src/lib.rs", "a") as rules:
        rules.write(SWITCH)
    for name in ["Cargo.lock", "rust-toolchain.toml"]:
        shutil.copy(REPOSITORY / name, to / name)
    members = f"members = {json.dumps(crates)}\n"
    workspace = (REPOSITORY / "Cargo.toml").read_text()
    (to / "Cargo.toml").write_text(re.sub(r"members = \[.*?default-members = .*?\n", members, workspace, flags=re.S))
    manifest = to / "controllers/rules/Cargo.toml"
    manifest.write_text(manifest.read_text().replace("[lints]\nworkspace = true\n", ""))


def mutants(to, files):
    """Returns the mutants that cargo-mutants would try."""
    command = ["cargo", "mutants", "--list", "--json", "--package", PACKAGE]
    command += [word for file in files for word in ("--file", f"controllers/rules/src/{file}")]
    listed = json.loads(subprocess.run(command, cwd=to, check=True, capture_output=True).stdout)
    # `lib.rs` has the functions that turn mutants on.
    listed = [mutant for mutant in listed if not mutant["file"].endswith("src/lib.rs")]
    return {number: mutant for number, mutant in enumerate(listed)}


class Source:
    """A file of rules, its tree, and the texts that its mutants put into it."""

    def __init__(self, path):
        self.path, self.text = path, path.read_bytes()
        language = tree_sitter.Language(tree_sitter_rust.language())
        self.tree = tree_sitter.Parser(language).parse(self.text)
        starts = [match.end() for match in re.finditer(b"^", self.text, flags=re.M)]
        self.lines = starts

    def at(self, place):
        line = self.lines[place["line"] - 1]
        text = self.text[line:].split(b"\n")[0].decode()
        return line + len(text[: place["column"] - 1].encode())

    def node(self, start, end, kinds):
        """Returns the smallest node of one of these kinds that contains the text."""
        node = self.tree.root_node.descendant_for_byte_range(start, end)
        while node is not None and node.type not in kinds:
            node = node.parent
        return node


# The order of texts at one place.
ENDS, BODY, BEGINS = range(3)
COMPARISONS, ARITHMETIC = ["<", "<=", ">", ">="], ["+", "-", "*", "/", "%"]


def insertions(source, numbered):
    """Returns the insertions for each mutant: the place, the order at that place, and the text. At one place, ends come before
    beginnings, and inner texts are within outer ones. Mutants without an answer are left to cargo-mutants."""
    compared = collections.defaultdict(list)
    answer = {}
    for number, mutant in numbered:
        start, end = source.at(mutant["span"]["start"]), source.at(mutant["span"]["end"])
        on, new = f"crate::mutant({number})", mutant["replacement"]
        around = lambda node, before, after: [
            (node.start_byte, (BEGINS, -node.end_byte, number), before),
            (node.end_byte, (ENDS, -node.start_byte, -number), after)]
        if mutant["genre"] == "FnValue" and "impl " not in mutant["function"]["return_type"]:
            answer[number] = [(start, (BODY, 0, number), f"if {on} {{ return {new}; }} ")]
        elif mutant["genre"] == "UnaryOperator" and source.text[start:end] == b"!":
            node = source.node(start, end, ["unary_expression"])
            answer[number] = around(node, f"({on} ^ (", "))")
        elif mutant["genre"] == "BinaryOperator":
            node = source.node(start, end, ["binary_expression"])
            if node is None:
                continue
            old = source.text[start:end].decode()
            left, right = (node.child_by_field_name(name) for name in ("left", "right"))
            if node.parent.type == "let_chain" or b"let " in source.text[left.start_byte:right.end_byte]:
                continue
            if (old, new) in [("==", "!="), ("!=", "==")]:
                answer[number] = around(node, f"({on} ^ (", "))")
            elif (old, new) in [("&&", "||"), ("||", "&&")]:
                name = "and" if old == "&&" else "or"
                answer[number] = around(node, f"crate::{name}({on}, ", "))") + [
                    (start, (BODY, 0, number), ", || (/* "), (end, (ENDS, 0, number), " */")]
            elif old in COMPARISONS + ARITHMETIC:
                compared[node.id].append((number, old, new, node, start, end))
        elif mutant["genre"] == "MatchArm":
            arm = source.node(start, end, ["match_arm"])
            if arm.next_named_sibling is None:
                continue
            pattern = arm.child_by_field_name("pattern")
            condition = pattern.child_by_field_name("condition")
            if condition is None:
                answer[number] = [(pattern.end_byte, (BODY, 0, number), f" if !{on}")]
            elif condition.type not in ["let_condition", "let_chain"]:
                answer[number] = around(condition, f"!{on} && (", ")")
        elif mutant["genre"] == "MatchArmGuard":
            node = source.tree.root_node.descendant_for_byte_range(start, end)
            on = f"{on} ||" if new == "true" else f"!{on} &&"
            answer[number] = around(node, f"({on} (", "))")
        elif mutant["genre"] == "StructField":
            node = source.node(start, start + 1, ["field_initializer", "shorthand_field_initializer"])
            bases = [child for child in node.parent.children if child.type == "base_field_initializer"]
            name = source.text[node.start_byte:node.end_byte].decode().split(":")[0].strip()
            base = bases and source.text[bases[0].start_byte + 2:bases[0].end_byte].decode()
            value = node.child_by_field_name("value")
            if base and value is not None:
                answer[number] = around(value, f"if {on} {{ ({base}).{name} }} else {{ ", " }")
    # All replacements of one operator share one text.
    for ways in compared.values():
        first, old, _, node, start, end = ways[0]
        if old in COMPARISONS:
            table = ", ".join([f'(0, "{old}")'] + [f'({number}, "{new}")' for number, _, new, *_ in ways])
            before, between, after = "crate::compare(&(", f"), &[{table}], &(/* ", "))"
        else:
            others = "".join(f"if crate::mutant({number}) {{ one {new} other }} else " for number, _, new, *_ in ways)
            before, between, after = "({ let (one, other) = (", ", /* ", f"); {others}{{ one {old} other }} }})"
        text = [(node.start_byte, (BEGINS, -node.end_byte, first), before), (start, (BODY, 0, first), between),
                (end, (ENDS, 0, first), " */"), (node.end_byte, (ENDS, -node.start_byte, -first), after)]
        answer.update({number: text for number, *_ in ways})
    return answer


def write(source, texts):
    """Inserts all texts into the file. Returns the new place of each text, with its mutants."""
    owners = collections.defaultdict(list)
    for number, all_of in texts.items():
        for text in all_of:
            owners[text].append(number)
    out, last, places = b"", 0, []
    for text in sorted(owners):
        out += source.text[last:text[0]]
        places.append((len(out), len(out) + len(text[2]), owners[text]))
        out += text[2].encode()
        last = text[0]
    source.path.write_bytes(out + source.text[last:])
    return places


def build(to):
    """Returns the program of the unit tests, or the places of errors by file."""
    command = ["cargo", "test", "--package", PACKAGE, "--lib", "--no-run", "--message-format=json"]
    environment = {**os.environ, "CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_DEBUG": "0"}
    ran = subprocess.run(command, cwd=to, env=environment, capture_output=True, text=True)
    messages = [json.loads(line) for line in ran.stdout.splitlines()]
    for message in messages:
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == PACKAGE.replace("-", "_"):
            return message["executable"], []
    spans = [span for message in messages if message["reason"] == "compiler-message"
             and message["message"]["level"] == "error" for span in message["message"]["spans"] if span["is_primary"]]
    if not spans:
        sys.exit(ran.stderr)
    return None, [(to / span["file_name"], span["byte_start"], span["byte_end"]) for span in spans]


def to_blame(places, start, end):
    """Returns the mutants of the innermost text around an error, or of the nearest text."""
    touching = {number for first, last, numbers in places if first <= end and start <= last for number in numbers}
    if touching:
        return touching
    reach = collections.defaultdict(list)
    for first, last, numbers in places:
        for number in numbers:
            reach[number] += [first, last]
    around = {number: max(ends) - min(ends) for number, ends in reach.items() if min(ends) <= start <= max(ends)}
    if around:
        return {min(around, key=around.get)}
    near = {number: min(abs(end - start) for end in ends) for number, ends in reach.items()}
    return {min(near, key=near.get)} if near else set()


def built(to, numbered):
    """Builds as many mutants as compile beside each other. Returns the program and their numbers."""
    by_file = collections.defaultdict(list)
    for number, mutant in numbered.items():
        by_file[to / mutant["file"]].append((number, mutant))
    sources = {path: Source(path) for path in by_file}
    texts = {path: insertions(sources[path], these) for path, these in by_file.items()}
    while True:
        places = {path: write(sources[path], texts[path]) for path in texts}
        program, errors = build(to)
        if program:
            return program, sorted(number for these in texts.values() for number in these)
        blamed = {(path, number) for path, start, end in errors for number in to_blame(places.get(path, []), start, end)}
        print(f"without {', '.join(numbered[number]['name'] for _, number in blamed)}", flush=True)
        if not blamed:
            sys.exit(f"does not compile: {errors}")
        for path, number in blamed:
            texts[path].pop(number, None)


def tried(program, number):
    """Returns the result of the unit tests with this mutant."""
    try:
        # A failure of a mutant must not be kept as a regression of the repository.
        environment = {**os.environ, "MUTANT": str(number), "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
        ran = subprocess.run([program, "-q"], env=environment, capture_output=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return "caught"
    return "missed" if ran.returncode == 0 else "caught"


def totals(numbered, outcomes):
    """Returns the results of the mutants of each file, as a table."""
    files = collections.defaultdict(collections.Counter)
    for number, mutant in numbered.items():
        for file in [mutant["file"].split("/rules/src/")[1], "all"]:
            files[file][outcomes.get(number, "left")] += 1
    rows = [f"| `{file}` | {count['caught']} | {count['missed']} | {count['left']} |" for file, count in files.items()]
    return "\n".join(["| rules | caught | missed | left |", "|---|---|---|---|", *sorted(rows)]) + "\n"


def main():
    to, files = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    to.mkdir(parents=True, exist_ok=True)
    lay_out(to)
    numbered = mutants(to, files)
    program, numbers = built(to, numbered)
    if subprocess.run([program, "-q"]).returncode != 0:
        sys.exit("the unit tests fail without a mutant, so they show nothing")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        outcomes = dict(zip(numbers, workers.map(lambda number: tried(program, number), numbers)))
    left = [mutant["name"] for number, mutant in numbered.items() if number not in outcomes]
    missed = [numbered[number]["name"] for number in numbers if outcomes[number] == "missed"]
    (to / "missed.txt").write_text("".join(f"{name}\n" for name in missed))
    (to / "left.txt").write_text("".join(f"{name}\n" for name in left))
    (to / "outcomes.json").write_text(json.dumps({numbered[n]["name"]: outcome for n, outcome in outcomes.items()}))
    (to / "totals.md").write_text(totals(numbered, outcomes))
    print("\n".join(missed))
    print(f"{len(numbered)} mutants: {len(numbers) - len(missed)} caught, {len(missed)} missed, {len(left)} left to cargo-mutants")


if __name__ == "__main__":
    main()
