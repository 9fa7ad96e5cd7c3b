//! The dialects that ship with Capsize, in the binary.

use std::path::Path;
use std::sync::OnceLock;

use capsize_dialect::{Dialect, DialectError};
use capsize_history::dialect::DialectKind;

const SHIPPED: [(&str, &str); 2] = [
    ("ocm", include_str!("../dialects/ocm.yaml")),
    ("sig-multicluster", include_str!("../dialects/sig-multicluster.yaml")),
];

/// The shipped dialects that were loaded, in the same order.
static LOADED: [OnceLock<Dialect>; SHIPPED.len()] = [const { OnceLock::new() }; SHIPPED.len()];

/// The dialect with this name, or the one in the file at this path. A relative path begins at `folder`.
///
/// # Errors
/// When there is no such dialect, or it is wrong.
pub fn find(name: &str, folder: &Path) -> Result<Dialect, DialectError> {
    let Some(place) = SHIPPED.iter().position(|(shipped, _)| *shipped == name) else {
        return Dialect::read(&folder.join(name));
    };
    if let Some(loaded) = LOADED[place].get() {
        return Ok(loaded.clone());
    }
    let dialect = Dialect::parse(&format!("{name}.yaml"), SHIPPED[place].1)?;
    Ok(LOADED[place].get_or_init(|| dialect).clone())
}

/// The text of a dialect that is a file of the user.
#[must_use]
pub fn text_of_own(dialect: &DialectKind) -> Option<&str> {
    let text = dialect.program()?.text();
    SHIPPED.iter().all(|(_, shipped)| *shipped != text).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_dialect_is_read() {
        for (name, _) in SHIPPED {
            let dialect = find(name, Path::new("")).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(String::from(dialect.kind()), name);
        }
    }
}
