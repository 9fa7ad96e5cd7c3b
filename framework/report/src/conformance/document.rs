//! Reads and writes conformance reports as YAML.

use super::claim::ConformanceReport;
use capsize_history::read_yaml;
use capsize_judge::YamlError;

impl ConformanceReport {
    /// Reads the report in `text`, called `file` in errors.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, Box<YamlError>> {
        read_yaml(text).map_err(|error| Box::new(YamlError::of_yaml(file, text, &error)))
    }

    /// The report as YAML. Equal reports are equal byte for byte.
    ///
    /// # Panics
    /// Never: texts, numbers and lists can always be written.
    #[must_use]
    pub fn yaml(&self) -> String {
        let on_one_line = serde_saphyr::ser_options! { prefer_block_scalars: false };
        let text = serde_saphyr::to_string_with_options(self, on_one_line);
        text.expect("texts, numbers and lists can be written")
    }
}
