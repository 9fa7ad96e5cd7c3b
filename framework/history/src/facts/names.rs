//! Names that belong together, held as one text: cheap to clone, and compared at once.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::format::digest::{OFFSET, digest};

/// The separator of names.
/// It sorts before every other character, so that texts are in the order of their names.
const BETWEEN: char = '\0';

/// Three names.
#[derive(Clone, Debug, Default, Eq)]
pub(super) struct Names {
    text: Arc<str>,
    /// A digest of the text, so that most different texts are found different at once.
    digest: u64,
    /// The ends of all names except for the last.
    ends: [usize; 2],
}

impl Names {
    pub(super) fn new(names: [&str; 3]) -> Self {
        let mut text = String::with_capacity(names.iter().map(|name| name.len() + 1).sum());
        let [first, second, third] = names;
        text.push_str(first);
        text.push(BETWEEN);
        text.push_str(second);
        text.push(BETWEEN);
        text.push_str(third);
        let ends = [first.len(), first.len() + 1 + second.len()];
        Self { digest: digest(OFFSET, text.as_bytes()), text: text.into(), ends }
    }

    pub(super) fn get(&self, place: usize) -> &str {
        let [first, second] = self.ends;
        let range = [0..first, first + 1..second, second + 1..self.text.len()].into_iter().nth(place);
        range.and_then(|range| self.text.get(range)).unwrap_or_default()
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.text == other.text
    }
}

impl Hash for Names {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest);
    }
}

impl PartialOrd for Names {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Names {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.text, &other.text) { Ordering::Equal } else { self.text.cmp(&other.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_the_first_that_differs() {
        let sorted = [["a", "", "z"], ["a", "b", "c"], ["a", "b", "d"], ["a", "b-c", "a"], ["aa", "", ""]];
        let names: Vec<_> = sorted.map(Names::new).into();
        assert!(names.is_sorted());
        assert!(names.iter().zip(sorted).all(|(names, all)| [0, 1, 2].map(|place| names.get(place)) == all));
    }
}
