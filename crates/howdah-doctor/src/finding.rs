//! The one shape of a finding: what, why it matters to a load, what was seen, and what to do, with label, undo and price.

use howdah::message::{Message, Respell, Spelling};
use howdah::report::Durability;
use serde::Serialize;

use crate::attachment::Attachment;
use crate::measured::Measured;
use crate::undo::Undo;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A load fails, or does harm.
    Fails,
    /// A load takes longer.
    Costs,
    /// It is good to know.
    Notice,
}

impl Severity {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Fails => "will fail or hurt",
            Severity::Costs => "costs time",
            Severity::Notice => "good to know",
        }
    }
}

/// Where the judgement comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// It was measured here.
    Measured,
    /// The catalog says so.
    Seen,
    /// The server counted it.
    Counted,
    /// Computed, by a formula that the explanation gives.
    Computed,
    /// Known of PostgreSQL; what it costs here was not measured.
    Known,
}

impl Basis {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Measured => "measured here",
            Basis::Seen => "seen in the catalog",
            Basis::Counted => "counted by the server",
            Basis::Computed => "computed, not measured",
            Basis::Known => "known of PostgreSQL, not measured here",
        }
    }
}

/// When a remedy takes effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// At once.
    #[default]
    AtOnce,
    /// In new sessions.
    NewSessions,
    /// When the server is started again.
    Restart,
}

impl Effect {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Effect::AtOnce => "at once",
            Effect::NewSessions => "for new sessions",
            Effect::Restart => "after a restart of the server",
        }
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "text")]
pub enum Action {
    /// Statements for the database, in this order.
    Sql(Vec<String>),
    /// Something to say to the load.
    Load(Message),
    /// A setting of the load's own sessions, and its value.
    Session(String, String),
    /// Something that is done elsewhere.
    Elsewhere(String),
}

/// A remedy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remedy {
    /// What to do.
    pub action: Action,
    /// What a crash costs with it.
    pub label: Durability,
    /// How it is taken back.
    pub undo: Undo,
    /// What it costs.
    pub price: String,
    /// Who may do it.
    pub needs: String,
    /// When it takes effect.
    pub effect: Effect,
    /// The settings of the server that its statements set, and their values; none: it is about something else.
    #[serde(skip)]
    pub(crate) settings: Vec<(String, String)>,
}

impl Remedy {
    /// A remedy that is durable, at once, and open to the role that looks.
    pub(crate) fn new(action: Action, undo: impl Into<Undo>, price: impl Into<String>) -> Remedy {
        Remedy {
            action,
            label: Durability::Durable,
            undo: undo.into(),
            price: price.into(),
            needs: "nothing more".to_owned(),
            effect: Effect::AtOnce,
            settings: Vec::new(),
        }
    }

    /// Statements.
    pub(crate) fn sql<S: Into<String>>(
        statements: impl IntoIterator<Item = S>,
        undo: Undo,
        price: impl Into<String>,
    ) -> Remedy {
        Remedy::new(Action::Sql(statements.into_iter().map(Into::into).collect()), undo, price)
    }

    /// Something to say to the load, of which nothing stays.
    pub(crate) fn load(say: Message, price: impl Into<String>) -> Remedy {
        Remedy::new(Action::Load(say), "leave it out", price)
    }

    /// A setting of the load's own sessions.
    pub(crate) fn session(setting: &str, value: &str, price: impl Into<String>) -> Remedy {
        Remedy::new(Action::Session(setting.to_owned(), value.to_owned()), "leave it out", price)
    }

    pub(crate) fn needs(mut self, needs: impl Into<String>) -> Remedy {
        self.needs = needs.into();
        self
    }

    pub(crate) fn effect(mut self, effect: Effect) -> Remedy {
        self.effect = effect;
        self
    }

    pub(crate) fn label(mut self, label: Durability) -> Remedy {
        self.label = label;
        self
    }
}

/// Something about server or table that matters to a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The rule that found it.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where the judgement comes from.
    pub basis: Basis,
    /// What it is.
    pub title: String,
    /// The share of a load's time that goes with it, if that was measured. Shares of several findings overlap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Measured>,
    /// What of the table it is about.
    #[serde(skip)]
    pub(crate) attachment: Option<Attachment>,
    /// Why it matters to a load.
    pub why: &'static str,
    /// What was seen.
    pub evidence: Vec<String>,
    /// What can be done; any one of them is enough.
    pub remedies: Vec<Remedy>,
}

impl Finding {
    /// A finding that has yet to be given its rule's name and reason, its evidence and its remedies.
    pub(crate) fn new(severity: Severity, basis: Basis, title: impl Into<String>) -> Finding {
        Finding {
            id: "",
            severity,
            basis,
            title: title.into(),
            cost: None,
            attachment: None,
            why: "",
            evidence: Vec::new(),
            remedies: Vec::new(),
        }
    }

    /// Says what of the table it is about, so that what was measured of it belongs to it.
    pub(crate) fn about(mut self, attachment: Attachment) -> Finding {
        self.attachment = Some(attachment);
        self
    }

    /// Adds what was seen.
    pub(crate) fn seen(mut self, evidence: impl Into<String>) -> Finding {
        self.evidence.push(evidence.into());
        self
    }

    /// Adds what can be done.
    pub(crate) fn remedy(mut self, remedy: Remedy) -> Finding {
        self.remedies.push(remedy);
        self
    }
}

impl Respell for Finding {
    fn respell(&mut self, spelling: &dyn Spelling) {
        for remedy in &mut self.remedies {
            if let Action::Load(say) = &mut remedy.action {
                say.respell(spelling);
            }
        }
    }
}

/// Something that could not be seen, so that nobody knows whether it is fine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// What it is.
    pub what: String,
    /// Why it was not seen.
    pub why: &'static str,
    /// What shows it to the role, done by whoever may: a statement, if that is enough.
    pub shown_by: Option<String>,
}
