//! Asks the webhooks that match a write, and applies their answers.

use std::sync::Arc;

use serde_json::Value;

use super::consultation::Consultation;
use super::hook::Hook;
use super::review::{self, Verdict};
use super::subject::Subject;
use crate::endpoint::patch;
use crate::http::failure::Failure;
use crate::kind::object::check_metadata_types;
use crate::state::State;
use crate::write::writer::Writer;

/// The failure that stops a write until webhooks have answered. It never reaches a client.
fn waiting() -> Failure {
    Failure::internal("waiting for admission webhooks")
}

impl Writer<'_> {
    /// Calls the mutating webhooks one after another. Returns the resulting object if they changed it.
    ///
    /// # Errors
    /// A denial, a failed call that must not be ignored, or the need to ask webhooks first.
    pub(crate) fn consult_mutating(&mut self, subject: Subject<'_>) -> Result<Option<Value>, Failure> {
        let Some(consultation) = self.consultation.as_deref_mut().filter(|_| !subject.is_exempt()) else {
            return Ok(None);
        };
        let webhooks = consultation.webhooks.clone();
        let mut object = subject.object.cloned();
        let mut before: Vec<&Arc<Hook>> = Vec::new();
        let mut again: Vec<&Arc<Hook>> = Vec::new();
        for hook in &webhooks.mutating {
            let patched = mutate(self.state, consultation, hook, &subject, &mut object)?;
            if patched == Some(true) {
                again.extend(
                    before
                        .iter()
                        .filter(|hook| !again.iter().any(|one| one.id == hook.id))
                        .copied()
                        .collect::<Vec<_>>(),
                );
            }
            if patched.is_some() && hook.reinvoked {
                before.push(hook);
            }
        }
        // Webhooks with the reinvocation policy `IfNeeded` see the changes of later webhooks.
        for hook in webhooks.mutating.iter().filter(|hook| again.iter().any(|one| one.id == hook.id)) {
            mutate(self.state, consultation, hook, &subject, &mut object)?;
        }
        Ok(object.filter(|object| Some(object) != subject.object))
    }

    /// Calls the validating webhooks, all at once.
    ///
    /// # Errors
    /// As [`Writer::consult_mutating`].
    pub(crate) fn consult_validating(&mut self, subject: Subject<'_>) -> Result<(), Failure> {
        let Some(consultation) = self.consultation.as_deref_mut().filter(|_| !subject.is_exempt()) else {
            return Ok(());
        };
        let webhooks = consultation.webhooks.clone();
        let mut failures = Vec::new();
        let mut open = false;
        for hook in &webhooks.validating {
            match consult(self.state, consultation, hook, &subject, false)? {
                ConsultResult::NotCalled => {}
                ConsultResult::Waiting => open = true,
                ConsultResult::Answered(verdict) => {
                    consultation.warnings.extend(verdict.warnings);
                    failures.extend(verdict.denial);
                }
            }
        }
        if open {
            return Err(waiting());
        }
        failures.into_iter().next().map_or(Ok(()), Err)
    }
}

/// The result of consulting a webhook about a write.
enum ConsultResult {
    /// The webhook does not match the write, or its failure is ignored.
    NotCalled,
    /// The webhook has to be asked first.
    Waiting,
    Answered(Verdict),
}

fn consult(
    state: &State,
    consultation: &mut Consultation,
    hook: &Arc<Hook>,
    subject: &Subject<'_>,
    mutating: bool,
) -> Result<ConsultResult, Failure> {
    let webhooks = consultation.webhooks.clone();
    let Some(seen) = subject.matching_kind(hook, &webhooks, state, &consultation.user)? else {
        return Ok(ConsultResult::NotCalled);
    };
    if subject.dry_run && hook.has_side_effects {
        let name = &hook.name;
        return Err(Failure::bad_request(format!("admission webhook {name:?} does not support dry run")));
    }
    let about = review::request(subject, &seen, &consultation.user, &consultation.options);
    let Some((asked, answer)) = consultation.answer(hook, &about) else {
        let is_allowed = consultation.ask(hook, about);
        return if is_allowed {
            Ok(ConsultResult::Waiting)
        } else {
            Err(Failure::modified(subject.kind, subject.name()))
        };
    };
    let verdict = match answer {
        Ok(answer) => review::verdict(hook, mutating, asked, answer),
        Err(error) => Err(error.to_owned()),
    };
    match verdict {
        Ok(verdict) => Ok(ConsultResult::Answered(verdict)),
        Err(_) if !hook.fails_closed => Ok(ConsultResult::NotCalled),
        Err(error) => {
            Err(Failure::internal_error(&format!("failed calling webhook {:?}: {error}", hook.name)))
        }
    }
}

/// Consults a mutating webhook about `object`.
/// Returns true if it changed the object, and `None` if it was not asked.
fn mutate(
    state: &State,
    consultation: &mut Consultation,
    hook: &Arc<Hook>,
    subject: &Subject<'_>,
    object: &mut Option<Value>,
) -> Result<Option<bool>, Failure> {
    let present = Subject { object: object.as_ref(), ..*subject };
    let verdict = match consult(state, consultation, hook, &present, true)? {
        ConsultResult::NotCalled => return Ok(None),
        ConsultResult::Waiting => return Err(waiting()),
        ConsultResult::Answered(verdict) => verdict,
    };
    consultation.warnings.extend(verdict.warnings);
    if let Some(denial) = verdict.denial {
        return Err(denial);
    }
    if verdict.patch.is_empty() {
        return Ok(Some(false));
    }
    let operations: json_patch::Patch = match serde_json::from_slice(&verdict.patch) {
        Ok(operations) => operations,
        Err(_) if !hook.fails_closed => return Ok(Some(false)),
        Err(error) => {
            let name = &hook.name;
            return Err(Failure::internal_error(&format!(
                "failed calling webhook {name:?}: received undecodable patch in webhook response: {error}"
            )));
        }
    };
    if operations.0.is_empty() {
        return Ok(Some(false));
    }
    let Some(object) = object else {
        return Err(Failure::internal_error(&format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name
        )));
    };
    let before = object.clone();
    patch::apply_json(&operations, object).map_err(|error| Failure::internal_error(&error))?;
    check_metadata_types(object)?;
    subject.kind.complete(object);
    Ok(Some(*object != before))
}
