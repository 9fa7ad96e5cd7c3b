//! A value together with its path in the object, for the messages of rules.
//!
//! A path becomes text only if there is an error.

use serde_json::Value;

use crate::http::failure::Cause;

/// A value of an object, with its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    above: Option<&'a At<'a>>,
    step: Step<'a>,
    pub value: &'a Value,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> At<'a> {
    /// A whole object.
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { above: None, step: Step::Root, value }
    }

    /// The field `name`; its value is null if it is not set.
    pub(crate) fn field<'b>(&'b self, name: &'b str) -> At<'b>
    where
        'a: 'b,
    {
        At { above: Some(self), step: Step::Field(name), value: &self.value[name] }
    }

    /// The value under a key of a map, which a path shows in brackets.
    pub(crate) fn key<'b>(&'b self, key: &'b str) -> At<'b>
    where
        'a: 'b,
    {
        At { above: Some(self), step: Step::Key(key), value: &self.value[key] }
    }

    /// The item at `index` of a list.
    pub(crate) fn item<'b>(&'b self, index: usize) -> At<'b>
    where
        'a: 'b,
    {
        At { above: Some(self), step: Step::Index(index), value: &self.value[index] }
    }

    /// The items of a list.
    pub(crate) fn items<'b>(&'b self) -> impl Iterator<Item = At<'b>>
    where
        'a: 'b,
    {
        (0..self.len()).map(|index| self.item(index))
    }

    /// The number of items or fields.
    pub(crate) fn len(&self) -> usize {
        match self.value {
            Value::Array(list) => list.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        }
    }

    /// The value as text; empty if it is not text.
    pub(crate) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Returns true if the field is set.
    pub(crate) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    /// The path as text, as clients see it.
    pub(crate) fn path(&self) -> String {
        let mut path = self.above.map(At::path).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Field(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Step::Index(index) => path.push_str(&format!("[{index}]")),
            Step::Key(key) => path.push_str(&format!("[{key}]")),
        }
        path
    }

    /// The value is not allowed. Text that is not set is shown as null.
    pub(crate) fn invalid(&self, detail: &str) -> Cause {
        Cause::invalid(self.path(), self.value, detail)
    }

    /// As [`At::invalid`], for text. Unset text is shown as empty.
    pub(crate) fn invalid_text(&self, detail: &str) -> Cause {
        Cause::invalid(self.path(), &self.text().into(), detail)
    }

    /// The value must be set.
    pub(crate) fn required(&self, detail: &str) -> Cause {
        Cause::required(self.path(), detail)
    }

    /// The value must not be set.
    pub(crate) fn forbidden(&self, detail: &str) -> Cause {
        Cause::forbidden(self.path(), detail)
    }

    /// The value is not one of the allowed values.
    pub(crate) fn unsupported(&self, allowed: &[&str]) -> Cause {
        Cause::unsupported(self.path(), self.value, allowed)
    }

    /// The value is a duplicate; `shown` is the part that must be unique.
    pub(crate) fn duplicate(&self, shown: &Value) -> Cause {
        Cause::new("FieldValueDuplicate", self.path(), format!("Duplicate value: {shown}"))
    }

    /// The value has more than `longest` bytes.
    pub(crate) fn too_long(&self, longest: usize) -> Cause {
        let message = format!("Too long: may not be more than {longest} bytes");
        Cause::new("FieldValueTooLong", self.path(), message)
    }

    /// Reports a negative number.
    pub(crate) fn not_negative(&self, causes: &mut Vec<Cause>) {
        if self.value.as_i64().is_some_and(|number| number < 0) {
            causes.push(self.invalid("must be greater than or equal to 0"));
        }
    }

    /// Reports text that is empty or not set.
    pub(crate) fn not_empty(&self, causes: &mut Vec<Cause>) {
        if self.text().is_empty() {
            causes.push(self.required(""));
        }
    }

    /// Reports text that does not have the given form. Empty text is not reported.
    pub(crate) fn in_form(&self, form: fn(&str) -> Vec<String>, causes: &mut Vec<Cause>) {
        if !self.text().is_empty() {
            causes.extend(form(self.text()).iter().map(|why| self.invalid(why)));
        }
    }

    /// Reports text that is not one of `allowed`. Unset text is reported as missing, unless it is optional.
    pub(crate) fn one_of(&self, allowed: &[&str], optional: bool, causes: &mut Vec<Cause>) {
        match self.text() {
            "" if optional => {}
            "" => causes.push(self.required("")),
            text if allowed.contains(&text) => {}
            _ => causes.push(self.unsupported(allowed)),
        }
    }

    /// Reports a value that differs from the old value.
    pub(crate) fn immutable(&self, old: &Value, causes: &mut Vec<Cause>) {
        if self.value != old {
            causes.push(self.invalid("field is immutable"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_is_written_as_clients_write_it() {
        let object = json!({"spec": {"ports": [{"port": 1}], "limits": {"cpu": "1"}}});
        let root = At::root(&object);
        let spec = root.field("spec");
        let (ports, limits) = (spec.field("ports"), spec.field("limits"));
        let port = ports.item(0);
        assert_eq!(port.field("port").path(), "spec.ports[0].port");
        assert_eq!(limits.key("cpu").path(), "spec.limits[cpu]");
        assert_eq!(limits.key("cpu").text(), "1");
    }
}
