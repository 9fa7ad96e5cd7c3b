//! Validation of custom objects by their schema.

use serde_json::Value;

use super::schema::{Node, Schema, Type};
use crate::failure::Cause;

impl Schema {
    /// What is wrong with an object by its schema.
    pub(crate) fn validate(&self, object: &Value) -> Vec<Cause> {
        let mut causes = Vec::new();
        self.root.validate(object, "", &mut causes);
        let blocking = [
            "FieldValueRequired",
            "FieldValueTooLong",
            "FieldValueTooMany",
            "FieldValueTypeInvalid",
            "FieldValueNotSupported",
        ];
        if self.has_rules && causes.iter().any(|cause| blocking.contains(&cause.reason)) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            causes.push(Cause::invalid("<nil>", &Value::Null, detail));
        }
        causes
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// How messages name the type of a value.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl Node {
    fn validate(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        if value.is_null() && self.nullable {
            return;
        }
        if let Some(wanted) = self.type_mismatch(value) {
            let shown = Value::from(type_name(value));
            let detail = format!("{} in body must be of type {wanted}: {shown}", told(path));
            let message = format!("Invalid value: {shown}: {detail}");
            causes.push(Cause::new("FieldValueTypeInvalid", path, message));
            return;
        }
        self.check_enum(value, path, causes);
        match value {
            Value::Object(fields) => {
                for name in self.rules.required.iter().filter(|name| !fields.contains_key(*name)) {
                    causes.push(Cause::required(below(path, name), ""));
                }
                self.check_count(fields.len(), path, causes, ("MinProperties", "MaxProperties"));
                for (name, value) in fields {
                    if let Some(node) = self.properties.get(name).or(self.additional.as_deref()) {
                        node.validate(value, &below(path, name), causes);
                    }
                }
            }
            Value::Array(list) => {
                self.check_items(list, path, causes);
                for (index, item) in list.iter().enumerate() {
                    if let Some(node) = &self.items {
                        node.validate(item, &format!("{path}[{index}]"), causes);
                    }
                }
            }
            Value::String(text) => self.check_text(text, path, causes),
            Value::Number(number) => {
                self.check_number(number.as_f64().unwrap_or_default(), value, path, causes);
            }
            _ => {}
        }
        self.check_combinations(value, path, causes);
    }

    /// The type that the value should have had.
    fn type_mismatch(&self, value: &Value) -> Option<&'static str> {
        if self.int_or_string {
            let fits = value.is_string() || value.is_i64() || value.is_u64();
            return (!fits).then_some("integer,string");
        }
        let wanted = self.kind?;
        let fits = match wanted {
            Type::Object => value.is_object(),
            Type::Array => value.is_array(),
            Type::String => value.is_string(),
            Type::Boolean => value.is_boolean(),
            Type::Number => value.is_number(),
            Type::Integer => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        };
        (!fits).then(|| wanted.name())
    }

    fn check_enum(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        let allowed = &self.rules.allowed;
        if !allowed.is_empty() && !allowed.contains(value) {
            let allowed: Vec<_> = allowed.iter().map(ToString::to_string).collect();
            let message = format!("Unsupported value: {value}: supported values: {}", allowed.join(", "));
            causes.push(Cause::new("FieldValueNotSupported", path, message));
        }
    }

    fn check_count(&self, count: usize, path: &str, causes: &mut Vec<Cause>, names: (&str, &str)) {
        let rules = &self.rules;
        let (least, most) = if names.0 == "MinItems" {
            (rules.min_items, rules.max_items)
        } else {
            (rules.min_properties, rules.max_properties)
        };
        let what = if names.0 == "MinItems" { "items" } else { "properties" };
        let count = count as u64;
        if let Some(least) = least.filter(|least| count < *least) {
            let detail = format!("{} in body should have at least {least} {what}", told(path));
            causes.push(Cause::invalid(path, &count.into(), &detail));
        }
        if let Some(most) = most.filter(|most| count > *most) {
            let message = format!("Too many: {count}: must have at most {most} {what}");
            causes.push(Cause::new("FieldValueTooMany", path, message));
        }
    }

    fn check_items(&self, list: &[Value], path: &str, causes: &mut Vec<Cause>) {
        self.check_count(list.len(), path, causes, ("MinItems", "MaxItems"));
        let key = |item: &Value| match &self.list {
            super::schema::ListType::Atomic => None,
            super::schema::ListType::Set => Some(item.clone()),
            super::schema::ListType::Map(keys) => {
                Some(keys.iter().map(|key| (key.clone(), item[key].clone())).collect::<Value>())
            }
        };
        let keys: Vec<_> = list.iter().map(key).collect();
        for (index, key) in keys.iter().enumerate() {
            let Some(key) = key else { continue };
            if keys[..index].iter().flatten().any(|earlier| earlier == key) {
                let path = format!("{path}[{index}]");
                causes.push(Cause::new("FieldValueDuplicate", path, format!("Duplicate value: {key}")));
            }
        }
    }

    fn check_text(&self, text: &str, path: &str, causes: &mut Vec<Cause>) {
        let rules = &self.rules;
        let length = text.chars().count() as u64;
        if let Some(least) = rules.min_length.filter(|least| length < *least) {
            let detail = format!("{} in body should be at least {least} chars long", told(path));
            causes.push(Cause::invalid(path, &text.into(), &detail));
        }
        if let Some(most) = rules.max_length.filter(|most| length > *most) {
            let message = format!("Too long: may not be more than {most} bytes");
            causes.push(Cause::new("FieldValueTooLong", path, message));
        }
        if let Some(pattern) = rules.pattern.as_ref().filter(|pattern| !pattern.is_match(text)) {
            let detail = format!("{} in body should match '{}'", told(path), pattern.as_str());
            causes.push(Cause::invalid(path, &text.into(), &detail));
        }
        if rules.format.as_deref().is_some_and(|format| !has_format(text, format)) {
            let format = rules.format.as_deref().unwrap_or_default();
            let detail = format!("{} in body must be of type {format}: {:?}", told(path), text);
            let message = format!("Invalid value: {text:?}: {detail}");
            causes.push(Cause::new("FieldValueTypeInvalid", path, message));
        }
    }

    fn check_number(&self, number: f64, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        let rules = &self.rules;
        let told = told(path);
        let mut wrong = |detail: String| causes.push(Cause::invalid(path, value, &detail));
        if let Some(least) = rules.minimum {
            if rules.exclusive_minimum && number <= least {
                wrong(format!("{told} in body should be greater than {least}"));
            } else if number < least {
                wrong(format!("{told} in body should be greater than or equal to {least}"));
            }
        }
        if let Some(most) = rules.maximum {
            if rules.exclusive_maximum && number >= most {
                wrong(format!("{told} in body should be less than {most}"));
            } else if number > most {
                wrong(format!("{told} in body should be less than or equal to {most}"));
            }
        }
        if let Some(step) = rules.multiple_of.filter(|step| (number / step).fract() != 0.0) {
            wrong(format!("{told} in body should be a multiple of {step}"));
        }
    }

    fn check_combinations(&self, value: &Value, path: &str, causes: &mut Vec<Cause>) {
        let holds = |node: &Self| {
            let mut inner = Vec::new();
            node.validate(value, path, &mut inner);
            inner.is_empty()
        };
        for node in &self.all_of {
            node.validate(value, path, causes);
        }
        let mut wrong = |rule: &str| {
            let detail = format!("{} in body must validate {rule}", told(path));
            causes.push(Cause::invalid(path, value, &detail));
        };
        if !self.any_of.is_empty() && !self.any_of.iter().any(holds) {
            wrong("at least one schema (anyOf)");
        }
        if !self.one_of.is_empty() && self.one_of.iter().filter(|node| holds(node)).count() != 1 {
            wrong("one and only one schema (oneOf)");
        }
        if self.not.as_deref().is_some_and(holds) {
            wrong("not the schema (not)");
        }
    }
}

/// How messages name a path; the root has no name.
fn told(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}

/// Whether a text has the form that a format names. Formats that are not known hold.
fn has_format(text: &str, format: &str) -> bool {
    match format {
        "date-time" => capsize_clock::parse_time(text).is_some(),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        _ => true,
    }
}
