//! The questions to webhooks and their answers during one write.
//!
//! A write runs with the state locked, and cannot wait there. So where a webhook is to be asked, the write stops with
//! its questions, the lock is let go, the webhooks are asked, and the write runs again with their answers. An answer
//! holds for exactly what was asked: where an object has changed meanwhile, it is asked about anew.

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

/// How often a webhook is asked about the same write because the object has changed meanwhile.
const MOST_REPEATS: usize = 5;

/// What is known of a write that webhooks are asked about.
#[derive(Debug)]
pub(crate) struct Consultation {
    pub webhooks: Arc<Webhooks>,
    /// Who writes, as webhooks are told.
    pub user: Value,
    /// The options of the operation.
    pub options: Value,
    /// What the webhooks warn of, in the run that goes on.
    pub warnings: Vec<String>,
    /// When the write began. It is the same write, of the same time and chance, however often it runs.
    pub now: Timestamp,
    pub chance: Stream,
    /// What the uids of requests are drawn from, of which not every run has as many.
    pub uids: Stream,
    answered: Vec<Answered>,
    asked: Vec<Question>,
}

#[derive(Debug)]
struct Question {
    hook: Arc<Hook>,
    /// The request without its uid.
    about: Value,
    uid: String,
}

#[derive(Debug)]
struct Answered {
    question: Question,
    answer: Result<Value, String>,
}

impl Consultation {
    /// Of the write that a request with this query asks for, sent by `user` and begun at `now`.
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
            asked: Vec::new(),
        }
    }

    /// What a webhook said to a request, and the request's uid; `None` where it has not been asked that.
    pub(super) fn answer(&self, hook: &Hook, about: &Value) -> Option<(&str, Result<&Value, &str>)> {
        let same =
            |answered: &&Answered| answered.question.hook.id == hook.id && answered.question.about == *about;
        let found = self.answered.iter().find(same)?;
        Some((&found.question.uid, found.answer.as_ref().map_err(String::as_str)))
    }

    /// Notes that a webhook is to be asked; says whether it may be, having been asked of the object before.
    pub(super) fn ask(&mut self, hook: &Arc<Hook>, about: Value) -> bool {
        let name = &about["name"];
        let alike = |answered: &&Answered| {
            answered.question.hook.id == hook.id && answered.question.about["name"] == *name
        };
        // A webhook that is asked twice by policy is not one whose answer has become old.
        let may = self.answered.iter().filter(alike).count() <= MOST_REPEATS + 1;
        if may {
            let uid = object::uid(&mut self.uids);
            self.asked.push(Question { hook: hook.clone(), about, uid });
        }
        may
    }

    /// Asks what is to be asked, all at once. `None` where there is nothing.
    pub(crate) fn questions(&mut self) -> Option<Questions> {
        if self.asked.is_empty() {
            return None;
        }
        self.warnings.clear();
        Some(Questions(std::mem::take(&mut self.asked)))
    }

    /// Notes what the webhooks said.
    pub(crate) fn record(&mut self, answers: Answers) {
        self.answered.extend(answers.0);
    }
}

/// Who writes, as webhooks are told. Who comes without credentials in the process is the administrator.
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

/// Questions that are on their way.
#[derive(Debug)]
pub(crate) struct Questions(Vec<Question>);

/// What was said to them.
#[derive(Debug)]
pub(crate) struct Answers(Vec<Answered>);

impl Questions {
    /// Asks, and waits for all answers.
    pub(crate) async fn ask(self, transports: &Transports) -> Answers {
        let asked = self.0.into_iter().map(|question| async {
            let mut request = question.about.clone();
            request["uid"] = question.uid.as_str().into();
            let review = review::review(question.hook.review_version.unwrap_or("v1"), &request);
            let body = Bytes::from(review.to_string());
            let answer = transports.call(&question.hook, body).await;
            let answer = answer.and_then(|answer| {
                let read = serde_json::from_slice(&answer);
                read.map_err(|error| format!("failed to call webhook: {error}"))
            });
            Answered { question, answer }
        });
        Answers(join_all(asked).await)
    }
}
