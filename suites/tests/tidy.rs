//! Checks the house style: lengths, file heads, edges between crates, plain words, leftovers.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

mod files;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use files::{root, texts};

/// The crates of the workspace that each crate may depend on: dependencies point one way.
/// Tests may use more.
const EDGES: &[(&str, &[&str])] = &[
    ("framework/clock", &[]),
    ("framework/sorted", &[]),
    ("framework/cel", &["capsize-sorted"]),
    ("clusters/apiserver", &["capsize-cel", "capsize-clock", "capsize-sorted"]),
    ("clusters", &["capsize-apiserver", "capsize-clock", "capsize-sorted"]),
    ("clusters/real", &["capsize-clock", "capsize-clusters", "capsize-sorted"]),
    ("controllers/api", &["capsize-sorted"]),
    ("controllers/rules", &["capsize-api", "capsize-clock", "capsize-sorted"]),
    ("controllers", &["capsize-api", "capsize-clock", "capsize-rules", "capsize-sorted"]),
    ("controllers/manager", &["capsize-clock", "capsize-controllers", "capsize-sorted"]),
    ("framework/history", &["capsize-clock", "capsize-sorted"]),
    ("framework/dialect", &["capsize-cel", "capsize-clock", "capsize-history", "capsize-sorted"]),
    ("framework/judge", &["capsize-history", "capsize-sorted"]),
    ("framework/report", &["capsize-history", "capsize-judge", "capsize-sorted"]),
    (
        "framework/runner",
        &[
            "capsize-clock",
            "capsize-clusters",
            "capsize-history",
            "capsize-judge",
            "capsize-report",
            "capsize-sorted",
        ],
    ),
    (
        "suites",
        &[
            "capsize-apiserver",
            "capsize-clock",
            "capsize-clusters",
            "capsize-controllers",
            "capsize-dialect",
            "capsize-history",
            "capsize-judge",
            "capsize-manager",
            "capsize-mutants",
            "capsize-perturb",
            "capsize-real",
            "capsize-report",
            "capsize-runner",
            "capsize-sorted",
        ],
    ),
    ("suites/mutants", &["capsize-rules", "capsize-sorted"]),
    ("suites/perturb", &["capsize-history", "capsize-judge", "capsize-sorted"]),
];

const LONGEST_FILE: usize = 600;

/// All Rust files of the workspace, with their text.
fn sources() -> Vec<(PathBuf, String)> {
    let folders = EDGES.iter().map(|(folder, _)| root().join(folder));
    let mut files: Vec<_> = folders.flat_map(|folder| texts(&folder, &["rs"])).collect();
    files.sort();
    files.dedup();
    assert!(files.len() > 20, "the sources were moved");
    files
}

/// Fails with the files for which `wrong` returns a mistake.
fn each_source(wrong: impl Fn(&Path, &str) -> Option<String>) {
    let found: Vec<String> = sources()
        .iter()
        .filter_map(|(path, text)| Some(format!("{}: {}", path.display(), wrong(path, text)?)))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_file_is_longer_than_six_hundred_lines() {
    each_source(|_, text| {
        let lines = text.lines().count();
        (lines > LONGEST_FILE).then(|| format!("{lines} lines: split the file"))
    });
}

#[test]
fn every_file_begins_with_a_doc_comment() {
    each_source(|_, text| (!text.starts_with("//!")).then(|| "does not begin with //!".to_owned()));
}

/// The text of a line of a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

#[test]
fn the_first_line_of_a_doc_comment_has_at_most_a_hundred_characters() {
    each_source(|_, text| {
        let lines = text.lines().zip([""].into_iter().chain(text.lines()));
        let mut first = lines.filter(|(_, before)| doc(before).is_none()).filter_map(|(line, _)| doc(line));
        let long = first.find(|line| line.chars().count() > 100)?;
        Some(format!("end the first line of a comment after its first sentence: {long}"))
    });
}

#[test]
fn a_mod_rs_only_re_exports() {
    each_source(|path, text| {
        let is_mod = path.file_name().is_some_and(|name| name == "mod.rs");
        let item = ["fn ", "struct ", "enum ", "impl ", "trait ", "const ", "static "];
        let found = text.lines().find(|line| {
            let line = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            item.iter().any(|start| line.starts_with(start))
        });
        // Shared code of tests has to be in a mod.rs, or cargo takes the file for a test.
        let of_tests = path.components().any(|part| part.as_os_str() == "tests");
        found.filter(|_| is_mod && !of_tests).map(str::to_owned)
    });
}

/// Types that are named as steps of scenarios.
const STEP_TYPES: &[&str] = &["Placed", "Rejected", "Settled", "Tainted"];

/// Nouns with the ending of participles.
const NOUNS: &[&str] = &["Seed", "Testbed"];

/// Participles without the ending of most others.
const IRREGULAR: &[&str] = &["Caught", "Found", "Held", "Kept", "Known", "Ran", "Sent", "Struck", "Taken"];

/// Returns the name of a type that is a participle without a noun, such as `Checked`.
fn participle(code: &str) -> Option<&str> {
    let is_separator = |c: char| !c.is_alphanumeric() && c != '_';
    let words: Vec<&str> = code.split(is_separator).filter(|word| !word.is_empty()).collect();
    let types = words.windows(2).filter(|pair| ["struct", "enum", "trait"].contains(&pair[0]));
    let mut names =
        types.map(|pair| pair[1]).filter(|name| !STEP_TYPES.contains(name) && !NOUNS.contains(name));
    names.find(|name| {
        let is_one_word = name.chars().filter(|c| c.is_uppercase()).count() == 1;
        IRREGULAR.contains(name) || (is_one_word && name.ends_with("ed"))
    })
}

#[test]
fn no_type_is_named_by_a_participle_alone() {
    each_source(|_, text| {
        let code = code_and_literals(text).0;
        participle(&code).map(|name| format!("add a noun to the name of the type `{name}`"))
    });
    assert_eq!(participle("pub struct CheckedCase; enum Seed {} struct Checked(u8);"), Some("Checked"));
    assert_eq!(participle("struct CheckedCase; enum Seed {} fn checked() -> Checked {}"), None);
}

#[test]
fn nothing_is_left_undone_in_the_code() {
    let marks = [["todo", "!("].concat(), ["unimplemented", "!("].concat(), ["FIX", "ME"].concat()];
    let ignored = ["#[", "ignore"].concat();
    let allow = ["#[", "allow("].concat();
    each_source(|_, text| {
        let mark = marks.iter().chain([&ignored, &allow]).find(|mark| text.contains(mark.as_str()))?;
        Some(format!("{mark} (an expected lint is #[expect(.., reason = \"..\")])"))
    });
}

#[test]
fn dependencies_between_the_crates_point_one_way() {
    for (folder, allowed) in EDGES {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let (_, dependencies) = manifest.split_once("\n[dependencies]").unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        let ours: Vec<&str> = dependencies
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|name| name.starts_with("capsize-"))
            .collect();
        for name in &ours {
            assert!(allowed.contains(name), "{folder} must not depend on {name}");
        }
    }
}

#[test]
fn a_crate_whose_unit_tests_are_switched_off_has_none() {
    let mut switched_off = 0;
    for (folder, _) in EDGES {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        if manifest.contains("\n[lib]\ntest = false\n") {
            switched_off += 1;
            for (path, text) in texts(&root().join(folder).join("src"), &["rs"]) {
                assert!(!text.contains("#[cfg(test)]"), "{}: these tests are never run", path.display());
            }
        }
    }
    assert!(switched_off > 0, "the form of the manifests has changed");
}

#[test]
fn the_guarantees_share_no_code_with_the_controllers() {
    each_source(|path, text| {
        let judges = path.components().any(|part| part.as_os_str() == "framework");
        let shared = ["capsize_controllers", "capsize_rules"].iter().find(|name| text.contains(*name));
        judges.then_some(shared)?.map(|name| format!("shares code with {name}"))
    });
}

#[test]
fn no_time_of_the_judge_is_so_long_that_a_sum_overflows() {
    let folders = ["guarantee", "facts", "dialect", "history", "numbers", "report", "record", "diff"];
    let longest = ["Duration", "::MAX"].concat();
    each_source(|path, text| {
        let judges = path.to_string_lossy().contains("framework/")
            && path.components().any(|part| folders.iter().any(|folder| part.as_os_str() == *folder));
        // A signed length is only compared.
        let text = text.replace(&format!("Signed{longest}"), "");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        (judges && code.contains(&longest)).then(|| format!("uses {longest} instead of FOREVER"))
    });
}

/// The path without `.` and `..`, also where it leads through a link.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut normal, part| {
        match part.as_os_str().to_str() {
            Some("..") => drop(normal.pop()),
            Some(".") => {}
            _ => normal.push(part),
        }
        normal
    })
}

#[test]
fn no_crate_embeds_a_file_of_another_folder() {
    // The package of tests stays in the repository.
    let published = || EDGES.iter().map(|(folder, _)| root().join(folder));
    let include = ["include_", "str!(\""].concat();
    each_source(|path, text| {
        let own = published().filter(|own| path.starts_with(own)).max_by_key(|own| own.as_os_str().len())?;
        let is_test = path.strip_prefix(&own).is_ok_and(|path| path.starts_with("tests"));
        let embedded = text.split(&include).skip(1).filter_map(|rest| rest.split('"').next());
        let outside = |file: &&str| !normal(&path.with_file_name(file)).starts_with(&own);
        embedded.filter(|_| !is_test).find(outside).map(|file| format!("embeds {file}, which no package has"))
    });
}

#[test]
fn every_crate_describes_itself_to_those_who_find_its_package() {
    for (folder, _) in EDGES {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        for line in ["description = ", "license.workspace", "keywords.workspace", "categories.workspace"] {
            assert!(manifest.contains(&format!("\n{line}")), "{folder}/Cargo.toml has no `{line}`");
        }
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap().replace('"', "");
        let readme = fs::read_to_string(root().join(folder).join("README.md")).unwrap_or_default();
        assert!(readme.starts_with(&format!("# {name}\n")), "{folder}/README.md is not about {name}");
    }
}

#[test]
fn no_source_names_a_path_of_one_machine() {
    let places = [["\"/", "work/"].concat(), ["/", "tmp/"].concat(), ["/", "root/"].concat()];
    each_source(|_, text| places.iter().find(|place| text.contains(place.as_str())).cloned());
}

/// Files and folders in plain words. A folder that becomes plain is added here, so that it stays plain.
const PLAIN: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "clusters",
    "controllers",
    "docs/README.md",
    "docs/apiserver-in-tests.md",
    "docs/apiserver.md",
    "docs/chaos.md",
    "docs/ci.md",
    "docs/comparison.md",
    "docs/design",
    "docs/dialects.md",
    "docs/failures.md",
    "docs/guarantees.md",
    "docs/glossary.md",
    "docs/histories.md",
    "docs/known-bugs.md",
    "docs/mutation-testing.md",
    "docs/my-controller.md",
    "docs/nodes.md",
    "docs/numbers.md",
    "docs/page.md",
    "docs/perturbations.md",
    "docs/real-clusters.md",
    "docs/real-systems.md",
    "docs/recorded-failover.md",
    "docs/reference-implementation.md",
    "docs/reports.md",
    "docs/simulator.md",
    "docs/targets.md",
    "docs/ten-minutes.md",
    "docs/writing-scenarios.md",
    "framework/cel",
    "framework/clock",
    "framework/dialect",
    "framework/history",
    "framework/judge",
    "framework/report",
    "framework/runner",
    "reports",
    "suites/cases/README.md",
    "suites/mutants",
    "suites/perturb",
    "suites/src",
    "suites/tests",
];

/// Words of the old vocabulary, which neither a comment nor an identifier may use.
const RETIRED: &[&str] = &[
    "accuse",
    "accused",
    "accuses",
    "acquit",
    "acquitted",
    "astray",
    "court",
    "deaf",
    "deed",
    "deeds",
    "door",
    "doors",
    "fate",
    "hear",
    "heard",
    "hears",
    "leash",
    "said",
    "scribe",
    "suspects",
    "tell",
    "telling",
    "tells",
    "tidings",
    "told",
    "unheard",
    "whom",
];

/// Beginnings of sentences with a subject that a reader has to guess.
const RIDDLES: &[&str] = &["Who ", "Whose ", "Whom ", "What ", "So many ", "So long ", "Of which "];

/// The files of [`PLAIN`], with their text.
fn plain() -> Vec<(PathBuf, String)> {
    let paths = PLAIN.iter().map(|name| root().join(name));
    let exist = paths.inspect(|path| assert!(path.exists(), "{} does not exist", path.display()));
    exist.flat_map(|path| texts(&path, &["rs", "md"])).collect()
}

/// The paragraphs of a file: comments of Rust, or Markdown without code and tables.
fn prose(path: &Path, text: &str) -> Vec<String> {
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    let mut is_code = false;
    let mut paragraphs = vec![String::new()];
    for line in text.lines().map(str::trim) {
        let line = match is_rust {
            true => line.strip_prefix("//").map_or("", |line| line.trim_start_matches(['/', '!']).trim()),
            false => {
                is_code ^= line.starts_with("```");
                let is_prose = !is_code && !line.starts_with(['|', '#', '<', '`']);
                if is_prose { line } else { "" }
            }
        };
        match paragraphs.last_mut() {
            Some(last) if !line.is_empty() && !line.starts_with("- ") => {
                last.push(' ');
                last.push_str(line);
            }
            _ => paragraphs.push(line.trim_start_matches("- ").to_owned()),
        }
    }
    let without_code = |paragraph: &String| paragraph.split('`').step_by(2).collect::<Vec<_>>().join("x");
    paragraphs.iter().map(|paragraph| without_code(paragraph).trim().to_owned()).collect()
}

/// The sentences of a paragraph, apart from questions.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    let sentences = paragraph.split_inclusive(&['.', '?', '!'][..]).map(str::trim);
    sentences.filter(|sentence| !sentence.ends_with('?'))
}

/// The code of a Rust file without comments and literals, and the literals without their quotes.
fn code_and_literals(text: &str) -> (String, Vec<&str>) {
    let (mut code, mut literals, mut rest) = (String::new(), Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let is_comment = rest.starts_with("//");
        let skipped = if is_comment { rest.find('\n') } else { literal(rest) };
        let length = skipped.unwrap_or(first.len_utf8());
        if skipped.is_some() && !is_comment {
            let quoted = rest[..length].trim_start_matches(['r', '#']).trim_end_matches('#');
            literals.push(quoted.trim_matches('"'));
        }
        code.push(if skipped.is_some() { ' ' } else { first });
        rest = &rest[length..];
    }
    (code, literals)
}

/// Returns the length of the string literal or character literal at the start of `rest`.
/// Returns `None` if there is no literal.
fn literal(rest: &str) -> Option<usize> {
    let hashes = rest.strip_prefix('r').map_or(0, |rest| rest.len() - rest.trim_start_matches('#').len());
    let raw_start = format!("r{}\"", "#".repeat(hashes));
    if let Some(raw) = rest.strip_prefix(&raw_start) {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(raw_start.len() + raw.find(&end)? + end.len());
    }
    let quote = rest.chars().next().filter(|first| ['"', '\''].contains(first))?;
    let mut is_escaped = false;
    let mut inner = rest.char_indices().skip(1);
    let end = inner.find(|(_, c)| {
        let ends = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    })?;
    // A lifetime has no second quote after one character.
    let is_literal = quote == '"' || rest[1..].starts_with('\\') || rest[1..end.0].chars().count() == 1;
    is_literal.then_some(end.0 + 1)
}

/// Identifiers that files of users contain, so that a plain name would break these files.
const PUBLIC: [&str; 1] = ["TellsDisruption"];

/// The words of the identifiers in the code of a Rust file, split at underscores and capitals.
fn words_of_identifiers(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let code: Vec<char> = code_and_literals(text).0.chars().collect();
    for (place, c) in code.iter().enumerate() {
        let is_upper = |place: usize| code.get(place).is_some_and(|c| c.is_uppercase());
        let is_lower = |place: usize| code.get(place).is_some_and(|c| c.is_lowercase());
        if is_upper(place) && (place == 0 || !is_upper(place - 1) || is_lower(place + 1)) {
            words.push(String::new());
        }
        match words.last_mut() {
            Some(word) if c.is_alphanumeric() => word.extend(c.to_lowercase()),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn plain_folders_stay_plain() {
    let mut found = Vec::new();
    for (path, text) in plain() {
        let mut wrong = |what: String| found.push(format!("{}: {what}", path.display()));
        for paragraph in prose(&path, &text) {
            for sentence in sentences(&paragraph) {
                if let Some(start) = RIDDLES.iter().find(|start| sentence.starts_with(**start)) {
                    wrong(format!("a sentence begins with `{}`: {sentence}", start.trim()));
                }
            }
            let words = paragraph.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
            for word in words.filter(|word| RETIRED.contains(&word.as_str())) {
                wrong(format!("the word `{word}` is retired: {paragraph}"));
            }
        }
        if path.extension().is_some_and(|extension| extension == "rs") {
            let is_test = path.components().any(|part| part.as_os_str() == "tests");
            for sentence in code_and_literals(&text).1.into_iter().flat_map(sentences).filter(|_| !is_test) {
                if RIDDLES.iter().any(|start| sentence.starts_with(start)) {
                    wrong(format!("a message has a sentence without its subject: {sentence}"));
                }
            }
            let own = PUBLIC.iter().fold(text.clone(), |text, public| text.replace(public, "public"));
            let words: BTreeSet<String> = words_of_identifiers(&own).into_iter().collect();
            for word in words.iter().filter(|word| RETIRED.contains(&word.as_str())) {
                wrong(format!("the word `{word}` is retired, and a part of an identifier"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn riddles_and_retired_words_are_found_in_prose_but_not_in_code() {
    let path = Path::new("it.rs");
    let text =
        "/// Reads it. Who reads\n/// it twice waits.\nfn heard_and_told() {}\n// What is `told` here?\n";
    let paragraphs = prose(path, text);
    let riddle = |paragraph: &String| sentences(paragraph).any(|sentence| sentence.starts_with("Who "));
    assert!(paragraphs.iter().any(riddle), "{paragraphs:?}");
    assert!(!paragraphs.iter().any(|paragraph| paragraph.contains("told")), "{paragraphs:?}");
    assert!(!paragraphs.iter().any(|paragraph| sentences(paragraph).any(|one| one.starts_with("What"))));
    let page = "```\nWho is it\n```\nIt is.\n\n| told |\n";
    assert!(prose(Path::new("it.md"), page).iter().all(|one| one.is_empty() || one == "It is."));
}

#[test]
fn messages_are_found_outside_of_comments() {
    let text = "// \"Who is it.\"\nfn it<'a>() { text(\"Who has it.\", 'x', r#\"What it is.\"#) }";
    assert_eq!(code_and_literals(text).1, ["Who has it.", "'x'", "What it is."]);
}

#[test]
fn words_of_identifiers_are_found_outside_of_literals() {
    let text = "// said\nfn seen_and_told<'a>(it: &'a str) -> TheCourt { \"a \\\" door\" + r#\"\"deed\"\"# + '\\'' + 'x' }";
    let words = words_of_identifiers(text);
    let expected = ["fn", "seen", "and", "told", "a", "it", "a", "str", "the", "court"];
    assert_eq!(words, expected);
    assert_eq!(words_of_identifiers("HTTPDoor::X_SAID"), ["http", "door", "x", "said"]);
}
