//! Patterns for names, as in `--skipped-propagating-namespaces`.
//!
//! karmada-io/karmada `cmd/controller-manager/app/options/options.go` (`SkippedNamespacesRegexps`).

use std::str::FromStr;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// A regular expression that a name has to match from its beginning to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NamePattern {
    text: String,
    whole: Regex,
}

impl NamePattern {
    /// Whether the pattern matches the whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.whole.is_match(name)
    }
}

impl FromStr for NamePattern {
    type Err = regex::Error;

    fn from_str(text: &str) -> Result<Self, regex::Error> {
        Ok(Self { text: text.into(), whole: Regex::new(&format!("^(?:{text})$"))? })
    }
}

impl TryFrom<String> for NamePattern {
    type Error = regex::Error;

    fn try_from(text: String) -> Result<Self, regex::Error> {
        text.parse()
    }
}

impl From<NamePattern> for String {
    fn from(pattern: NamePattern) -> Self {
        pattern.text
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_of_the_whole_name() {
        let cases = [
            ("kube-system", "kube-.*", true),
            ("kube-", "kube-.*", true),
            ("my-kube-system", "kube-.*", false),
            ("shop", "shop", true),
            ("shop-a", "shop", false),
            ("team-a-test", "team-[a-c]-test", true),
            ("team-d-test", "team-[a-c]-test", false),
            ("lab", "shop|lab", true),
            ("laboratory", "shop|lab", false),
            ("anything", ".*", true),
        ];
        for (name, pattern, expected) in cases {
            assert_eq!(pattern.parse::<NamePattern>().unwrap().matches(name), expected, "{name} {pattern}");
        }
        assert!("team-[".parse::<NamePattern>().is_err());
    }

    #[test]
    fn a_pattern_is_its_text() {
        let [one, same, other] = ["a.*", "a.*", "b"].map(|text| text.parse::<NamePattern>().unwrap());
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_eq!(String::from(one), "a.*");
    }
}
