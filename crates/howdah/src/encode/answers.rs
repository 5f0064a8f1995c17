//! What the server said of literals that the codecs leave open: remembered, so that each is asked about once.

use std::collections::HashMap;

use crate::encode::question::{Answer, Question};
use crate::plan::Plan;
use crate::plan::row_form::RowForm;

/// Answers are forgotten beyond so many bytes of literals: memory does not grow with the input.
const REMEMBERED_BYTES: usize = 8 * 1024 * 1024;

/// The answers that one encoder knows. A *kind* is a type with its modifier: columns of the same type share answers.
pub(crate) struct Answers {
    /// By kind and literal; `None` while the question is open.
    known: Vec<HashMap<Box<[u8]>, Option<Answer>>>,
    /// Literals to ask about, by kind.
    open: Vec<Vec<Box<[u8]>>>,
    remembered: usize,
}

/// Distinct literals of one kind that only the server can decide.
pub(crate) struct UnsureLiterals {
    kind: usize,
    form: RowForm,
    type_name: String,
    base_type: (u32, i32),
    literals: Vec<Box<[u8]>>,
}

/// What is known of a literal.
pub(crate) enum Known<'a> {
    /// The server will be asked.
    Not,
    Answer(&'a Answer),
}

impl UnsureLiterals {
    /// How many literals.
    pub(crate) fn len(&self) -> usize {
        self.literals.len()
    }

    /// The first column of this kind, for people.
    pub(crate) fn column(&self, plan: &Plan) -> String {
        let column = plan.columns.iter().find(|column| column.kind == self.kind);
        column.map_or_else(String::new, |column| format!("{} ({})", column.name, column.type_name))
    }

    pub(crate) fn question(&self) -> Question {
        Question {
            type_name: self.type_name.clone(),
            base_type: self.base_type,
            form: self.form,
            literals: self.literals.iter().map(|l| String::from_utf8_lossy(l).into_owned()).collect(),
        }
    }
}

impl Answers {
    /// For columns of at most `kinds` kinds.
    pub(crate) fn new(kinds: usize) -> Self {
        Answers {
            known: (0..kinds).map(|_| HashMap::new()).collect(),
            open: vec![Vec::new(); kinds],
            remembered: 0,
        }
    }

    /// What is known of `literal`; if nothing is, it is noted as a question.
    pub(crate) fn look_up(&mut self, kind: usize, literal: &[u8]) -> Known<'_> {
        if !self.known[kind].contains_key(literal) {
            self.remembered += literal.len();
            self.open[kind].push(literal.into());
            self.known[kind].insert(literal.into(), None);
        }
        match self.known[kind].get(literal) {
            Some(Some(answer)) => Known::Answer(answer),
            _ => Known::Not,
        }
    }

    /// The questions noted since the last call.
    pub(crate) fn take_open(&mut self, plan: &Plan, form: RowForm) -> Vec<UnsureLiterals> {
        let mut questions = Vec::new();
        for (kind, literals) in self.open.iter_mut().enumerate() {
            if let Some(column) = plan.columns.iter().find(|column| column.kind == kind)
                && !literals.is_empty()
            {
                let (type_name, literals) = (column.type_name.clone(), std::mem::take(literals));
                questions.push(UnsureLiterals {
                    kind,
                    form,
                    type_name,
                    base_type: column.base_type,
                    literals,
                });
            }
        }
        questions
    }

    /// Takes the answers to `open`, in order.
    pub(crate) fn learn(&mut self, open: UnsureLiterals, answers: Vec<Answer>) {
        for (literal, answer) in open.literals.into_iter().zip(answers) {
            self.known[open.kind].insert(literal, Some(answer));
        }
    }

    /// Forgets that the questions were noted.
    pub(crate) fn withdraw(&mut self, open: &[UnsureLiterals]) {
        for question in open {
            for literal in &question.literals {
                self.known[question.kind].remove(literal);
            }
        }
    }

    /// Forgets all answers when they have become many; between two pieces only.
    pub(crate) fn forget_beyond_bound(&mut self) {
        if self.remembered > REMEMBERED_BYTES {
            self.known.iter_mut().for_each(HashMap::clear);
            self.remembered = 0;
        }
    }
}
