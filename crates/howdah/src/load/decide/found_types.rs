//! What is said about the types that were found for a new table's columns: why one is text, and what to type.

use howdah_message::setting;

use crate::infer::lattice::ColumnLattice;
use crate::infer::spelling_advice::{self, SeenColumn};
use crate::load::Load;
use crate::options::Inference;
use crate::plan::Plan;

impl Load<'_> {
    /// Says which columns of text would be numbers or dates under an option, and keeps it for the report.
    pub(super) fn advise_spelling(&mut self, plan: &Plan, lattices: &[ColumnLattice]) {
        let columns: Vec<SeenColumn<'_>> = plan
            .columns
            .iter()
            .zip(lattices)
            .map(|(column, lattice)| SeenColumn {
                name: &column.name,
                lattice,
                declared: column.is_declared.then_some(column.base_type.0),
            })
            .collect();
        for advice in spelling_advice::of(&columns, &plan.reading.dialect, self.options) {
            let message = advice.message();
            self.control.notice(message.clone());
            self.because.extend(advice.columns.iter().map(|name| ((*name).to_owned(), message.clone())));
        }
    }

    /// Says of every column of text that would have a narrower type but for few values what these are, and keeps it for the
    /// report.
    pub(in crate::load) fn say_what_keeps(&mut self, plan: &Plan, lattices: &[ColumnLattice]) {
        let is_one_input = self.inputs.len() == 1;
        for (column, lattice) in plan.columns.iter().zip(lattices).filter(|(column, _)| !column.is_declared) {
            if let Some(mostly) = lattice.mostly().filter(|_| self.options.columns.infer == Inference::Mostly)
            {
                let said = mostly.rejection(&column.name, is_one_input);
                self.control.notice(said.clone());
                self.because.retain(|of| of.0 != column.name);
                self.because.push((column.name.clone(), said));
                continue;
            }
            if self.because.iter().any(|of| of.0 == column.name) {
                continue;
            }
            // Markers that are frequent are said already, with what to do.
            let Some(kept) = lattice.kept_from().filter(|_| lattice.null_markers().is_none()) else {
                continue;
            };
            let because = kept.message(&column.name, is_one_input);
            self.control.notice(because.clone());
            self.because.push((column.name.clone(), because));
        }
    }

    pub(in crate::load) fn hint_null_markers(&self, plan: &Plan, lattices: &[ColumnLattice]) {
        for (column, lattice) in plan.columns.iter().zip(lattices) {
            if let Some((marker, share)) = lattice.null_markers() {
                let (percent, name) = (share * 100.0, &column.name);
                self.control.notice(message![
                    "{percent:.0} % of column {name:?} are exactly {marker}: if that means NULL, add ",
                    setting::NULL.text(marker)
                ]);
            }
        }
    }
}
