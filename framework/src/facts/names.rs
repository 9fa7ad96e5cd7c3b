//! Names that belong together, held as one text: cheap to clone, and compared in one go.

use std::sync::Arc;

/// Between names: before every other character, so that texts are in the order of their names.
const BETWEEN: char = '\0';

/// Some names, always as many in the same place.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Names(Arc<str>);

impl Names {
    pub(super) fn new<const COUNT: usize>(names: [&str; COUNT]) -> Self {
        let mut text = String::with_capacity(names.iter().map(|name| name.len() + 1).sum());
        for (place, name) in names.iter().enumerate() {
            text.extend((place > 0).then_some(BETWEEN));
            text.push_str(name);
        }
        Self(text.into())
    }

    pub(super) fn get(&self, place: usize) -> &str {
        self.0.split(BETWEEN).nth(place).unwrap_or_default()
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
