//! `instest`: a number and the same number as text, which is all that study 3 inserts.

use super::value::{Rows, Sink, Value};

/// Names and types, in order.
pub(super) const COLUMNS: [(&str, &str); 2] = [("id", "bigint NOT NULL"), ("value", "text NOT NULL")];

/// 1, 2, 3 … whatever the seed: nothing is drawn.
pub(super) struct Numbers {
    number: i64,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Numbers { number: 0 }
    }
}

impl Rows for Numbers {
    fn advance(&mut self) {
        self.number += 1;
    }

    fn emit(&self, sink: &mut impl Sink) {
        sink.begin(COLUMNS.len());
        sink.put(Value::Bigint(self.number));
        sink.put(Value::Text(itoa::Buffer::new().format(self.number).as_bytes()));
    }
}
