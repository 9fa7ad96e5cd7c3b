//! What real systems did, judged.
use capsize_framework::guarantee::Outcome;
use std::path::Path;

#[test]
fn show() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut paths: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .flat_map(|d| std::fs::read_dir(d.unwrap().path()).unwrap())
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        println!("== {}", path.display());
        let judgement = capsize::check::check(&path, None).unwrap();
        for v in &judgement.verdicts {
            match &v.outcome {
                Outcome::Violated { evidence, held, times } => println!(
                    "  {} VIOLATED {times} (held {held}) {:#?}",
                    v.rule.id,
                    evidence
                        .iter()
                        .map(|e| (&e.subject, e.bound, &e.because, e.at, &e.seen))
                        .collect::<Vec<_>>()
                ),
                Outcome::Held { times, margin } => {
                    println!("  {} held {times} {:?}", v.rule.id, margin.map(|m| m.as_secs_f64()))
                }
                other => println!("  {} {other:?}", v.rule.id),
            }
        }
    }
}
