//! The questions to webhooks, and their answers, during one write.
//!
//! A write runs while the state is locked, and cannot wait. If webhooks have to be asked, the write stops with its
//! questions and releases the lock. The webhooks answer, and the write runs again with the answers. An answer is
//! valid only for an identical question. If the object has changed in the meantime, the webhook is asked again.

use std::sync::Arc;

use bytes::Bytes;
use capsize_clock::Stream;
use futures::future::join_all;
use jiff::Timestamp;
use rand::SeedableRng;
use serde_json::{Value, json};

use super::hook::{Hook, Webhooks};
use super::review;
use super::transport::Transports;
use crate::auth::User;
use crate::http::request::Query;
use crate::kind::object;

/// The number of repeated questions to a webhook about one write whose object changes in the meantime.
const MAX_REPEATS: usize = 5;

/// The state of a write that consults webhooks.
#[derive(Debug)]
pub(crate) struct Consultation {
    pub webhooks: Arc<Webhooks>,
    /// The user of the write, in the form for webhooks.
    pub user: Value,
    /// The options of the operation.
    pub options: Value,
    /// The warnings of the webhooks in the current run.
    pub warnings: Vec<String>,
    /// The start time of the write. Repeated runs of a write share the time and the random stream.
    pub now: Timestamp,
    pub chance: Stream,
    /// The random stream for the uids of requests.
    /// It is separate, because the number of requests differs between runs.
    pub uids: Stream,
    answered: Vec<AnsweredQuestion>,
    pending: Vec<Question>,
}

#[derive(Debug)]
struct Question {
    hook: Arc<Hook>,
    /// The request without its uid.
    about: Value,
    uid: String,
}

#[derive(Debug)]
struct AnsweredQuestion {
    question: Question,
    answer: Result<Value, String>,
}

impl Consultation {
    /// The consultation for a request with this query, sent by `user` and started at `now`.
    pub(crate) fn of(
        query: &Query,
        user: Option<&User>,
        now: Timestamp,
        webhooks: Arc<Webhooks>,
        chance: &mut Stream,
    ) -> Self {
        let mut options = json!({});
        for field in ["fieldManager", "fieldValidation"] {
            if !query.get(field).is_empty() {
                options[field] = query.get(field).into();
            }
        }
        let dry_run: Vec<_> = query.all("dryRun").filter(|value| !value.is_empty()).collect();
        if !dry_run.is_empty() {
            options["dryRun"] = dry_run.into();
        }
        Self {
            webhooks,
            user: user_info(user),
            options,
            warnings: Vec::new(),
            now,
            chance: Stream::from_rng(chance),
            uids: Stream::from_rng(chance),
            answered: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Returns the answer of a webhook to a request, and the uid of the request.
    /// The result is `None` if the webhook has not been asked.
    pub(super) fn answer(&self, hook: &Hook, about: &Value) -> Option<(&str, Result<&Value, &str>)> {
        let same = |answered: &&AnsweredQuestion| {
            answered.question.hook.id == hook.id && answered.question.about == *about
        };
        let found = self.answered.iter().find(same)?;
        Some((&found.question.uid, found.answer.as_ref().map_err(String::as_str)))
    }

    /// Adds a question to a webhook. Returns false if the webhook was asked too often about the object.
    pub(super) fn ask(&mut self, hook: &Arc<Hook>, about: Value) -> bool {
        let name = &about["name"];
        let alike = |answered: &&AnsweredQuestion| {
            answered.question.hook.id == hook.id && answered.question.about["name"] == *name
        };
        // The limit allows for one additional call by the reinvocation policy.
        let is_allowed = self.answered.iter().filter(alike).count() <= MAX_REPEATS + 1;
        if is_allowed {
            let uid = object::uid(&mut self.uids);
            self.pending.push(Question { hook: hook.clone(), about, uid });
        }
        is_allowed
    }

    /// Takes the open questions; `None` if there are none.
    pub(crate) fn questions(&mut self) -> Option<Questions> {
        if self.pending.is_empty() {
            return None;
        }
        self.warnings.clear();
        Some(Questions(std::mem::take(&mut self.pending)))
    }

    /// Records the answers of the webhooks.
    pub(crate) fn record(&mut self, answers: Answers) {
        self.answered.extend(answers.0);
    }
}

/// The user of a write in the form for webhooks.
/// Inside the process, a request without credentials is the administrator's.
fn user_info(user: Option<&User>) -> Value {
    let Some(user) = user else {
        return json!({"username": "system:admin", "groups": ["system:masters", "system:authenticated"]});
    };
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

/// Questions that are being sent.
#[derive(Debug)]
pub(crate) struct Questions(Vec<Question>);

/// The answers to the questions.
#[derive(Debug)]
pub(crate) struct Answers(Vec<AnsweredQuestion>);

impl Questions {
    /// Sends the questions, and waits for all answers.
    pub(crate) async fn ask(self, transports: &Transports) -> Answers {
        let calls = self.0.into_iter().map(|question| async {
            let mut request = question.about.clone();
            request["uid"] = question.uid.as_str().into();
            let review = review::review(question.hook.review_version.unwrap_or("v1"), &request);
            let body = Bytes::from(review.to_string());
            let answer = transports.call(&question.hook, body).await;
            let answer = answer.and_then(|answer| {
                let read = serde_json::from_slice(&answer);
                read.map_err(|error| format!("failed to call webhook: {error}"))
            });
            AnsweredQuestion { question, answer }
        });
        Answers(join_all(calls).await)
    }
}
