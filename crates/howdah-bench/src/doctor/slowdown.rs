//! A state that is built into a server or a table, what the doctor has to find there, and what ends it. All of it is data.

use std::time::Duration;

use super::amount::Weight;
use super::columns::Columns;

/// A state of a server or a table that slows loads down, or lets them fail.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slowdown {
    /// Its name on the command line and in records.
    pub(super) name: &'static str,
    /// What was built, in words.
    pub(super) says: &'static str,
    /// The finding that has to come first.
    pub(super) finding: &'static str,
    /// What has to be in the finding's title, where there may be several of that name.
    pub(super) about: &'static str,
    /// The table that the doctor looks at and that loads go into; None: the server alone is looked at.
    pub(super) columns: Option<Columns>,
    pub(super) weight: Weight,
    /// Settings with which the server starts.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Statements for the database, once the table is there.
    pub(super) built: &'static [&'static str],
    /// Statements after which nothing more is prepared: with them the server may take no more.
    pub(super) last: &'static [&'static str],
    /// The query that says `t` once the state is there; empty: it is there at once.
    pub(super) awaits: &'static str,
    /// Who connects: a role with a password of that name; empty: the server's superuser.
    pub(super) role: &'static str,
    pub(super) around: Around,
    pub(super) look: Look,
    pub(super) claim: Claim,
    pub(super) remedy: Option<Remedy>,
}

/// What goes on while the doctor looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    /// The server is so far away.
    Far(Duration),
    /// Another session has done this in a transaction that stays open.
    Holds(&'static str),
    /// Another session does this all the time.
    Writes(&'static str),
}

/// How the doctor looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// It measures.
    Measure,
    /// It watches who writes.
    Watch,
}

/// The share of a load's time of which the doctor says that it goes with the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// It says none.
    Nothing,
    /// That of the finding.
    Finding,
    /// That of everything together.
    Together,
}

/// What ends a state, and lets loads take the time that they should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Remedy {
    /// Statements for the database into which rows come.
    pub(super) sql: &'static [&'static str],
    /// Statements that take back what outlives that database.
    pub(super) undo: &'static [&'static str],
    /// If true, the server has to be started again after both.
    pub(super) restart: bool,
    /// What the load is told.
    pub(super) load: &'static [&'static str],
}

impl Slowdown {
    const fn new(name: &'static str, says: &'static str, finding: &'static str) -> Slowdown {
        Slowdown {
            name,
            says,
            finding,
            about: "",
            columns: None,
            weight: Weight::Usual,
            settings: &[],
            built: &[],
            last: &[],
            awaits: "",
            role: "",
            around: Around::Nothing,
            look: Look::Measure,
            claim: Claim::Nothing,
            remedy: None,
        }
    }

    /// A state of a server, whichever table rows go into.
    pub(super) const fn of_server(name: &'static str, says: &'static str, finding: &'static str) -> Slowdown {
        Slowdown::new(name, says, finding)
    }

    /// A state of a table.
    pub(super) const fn of_table(
        name: &'static str,
        says: &'static str,
        finding: &'static str,
        columns: Columns,
        built: &'static [&'static str],
    ) -> Slowdown {
        Slowdown { columns: Some(columns), built, ..Slowdown::new(name, says, finding) }
    }

    pub(super) const fn with(self, settings: &'static [(&'static str, &'static str)]) -> Slowdown {
        Slowdown { settings, ..self }
    }

    pub(super) const fn around(self, around: Around) -> Slowdown {
        Slowdown { around, ..self }
    }

    /// Of several findings of that name, it is the one about this.
    pub(super) const fn about(self, about: &'static str) -> Slowdown {
        Slowdown { about, ..self }
    }

    /// A row takes long.
    pub(super) const fn light(self) -> Slowdown {
        Slowdown { weight: Weight::Light, ..self }
    }

    /// The doctor says what goes with these statements; it is true or not.
    pub(super) const fn claims(self, claim: Claim, sql: &'static [&'static str]) -> Slowdown {
        Slowdown { claim, ..self.ends_by(sql, &[]) }
    }

    /// These statements end it; with what takes them back, if they are about the server.
    pub(super) const fn ends_by(
        self,
        sql: &'static [&'static str],
        undo: &'static [&'static str],
    ) -> Slowdown {
        Slowdown { remedy: Some(Remedy { sql, undo, restart: false, load: &[] }), ..self }
    }
}
