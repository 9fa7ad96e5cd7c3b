//! Validates the volumes of a pod.

use std::collections::BTreeSet;

use super::At;
use super::text;
use crate::http::failure::Cause;

/// Validates the volumes of a pod: each has a unique name and one source. Returns the names.
pub(super) fn volumes<'a>(at: &At<'a>, causes: &mut Vec<Cause>) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for (index, value) in at.value.as_array().into_iter().flatten().enumerate() {
        let volume = at.item(index);
        let sources = value.as_object().into_iter().flatten();
        let given: Vec<&String> = sources
            .filter(|(field, value)| *field != "name" && !value.is_null())
            .map(|(field, _)| field)
            .collect();
        match given.as_slice() {
            [] => causes.push(volume.required("must specify a volume type")),
            [source] => one_source(&volume.field(source), source, causes),
            [_, others @ ..] => {
                let detail = "may not specify more than 1 volume type";
                causes.extend(others.iter().map(|source| volume.field(source).forbidden(detail)));
            }
        }
        let name = volume.field("name");
        let problems = text::label(name.text());
        if name.text().is_empty() {
            causes.push(name.required(""));
        } else if !problems.is_empty() {
            causes.extend(problems.iter().map(|why| name.invalid(why)));
        } else if !names.insert(value["name"].as_str().unwrap_or_default()) {
            causes.push(name.duplicate(name.value));
        }
    }
    names
}

fn one_source(at: &At<'_>, source: &str, causes: &mut Vec<Cause>) {
    let needed = match source {
        "configMap" => "name",
        "secret" => "secretName",
        "persistentVolumeClaim" => "claimName",
        "hostPath" => "path",
        _ => return,
    };
    let field = at.field(needed);
    field.not_empty(causes);
    let mode = at.field("defaultMode");
    if mode.value.as_i64().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        causes.push(mode.invalid("must be a number between 0 and 0777 (octal), both inclusive"));
    }
}
