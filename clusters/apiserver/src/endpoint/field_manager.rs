//! The name of the field manager of a write.

use http::header;

use crate::http::call::Call;
use crate::http::failure::{Cause, Failure};

/// Returns the field manager of a write.
/// The field manager is the one that the client names, otherwise the first part of the user agent of the client.
pub(crate) fn manager(call: &Call<'_>, options: &str) -> Result<String, Failure> {
    const LONGEST: usize = 128;
    let given = call.query.get("fieldManager");
    if given.len() > LONGEST {
        let message = format!("Too long: may not be more than {LONGEST} bytes");
        let cause = Cause::new("FieldValueTooLong", "fieldManager", message);
        return Err(Failure::invalid_options(options, &[cause]));
    }
    if let Some((at, control)) = given.char_indices().find(|(_, c)| c.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(control));
        let cause = Cause::invalid("fieldManager", &given.into(), &detail);
        return Err(Failure::invalid_options(options, &[cause]));
    }
    let agent = call.parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let agent = agent.and_then(|agent| agent.split('/').next()).unwrap_or("unknown");
    Ok(if given.is_empty() { agent.chars().take(LONGEST).collect() } else { given.to_owned() })
}
