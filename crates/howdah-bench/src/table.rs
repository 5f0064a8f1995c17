//! Markdown tables whose columns line up, for people at a terminal as well as for a page.

/// A table with a header row.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows yet.
    pub fn new<T: Into<String>>(header: impl IntoIterator<Item = T>) -> Self {
        Table { rows: vec![header.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row of as many cells as the header has.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(|cell| cell.into().replace('|', "\\|")).collect());
    }

    /// The text, with a newline at its end.
    #[must_use]
    pub fn render(&self) -> String {
        let columns = self.rows[0].len();
        let width =
            |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                let padding = " ".repeat(width - cell.chars().count());
                text += &format!("| {cell}{padding} ");
            }
            text += "|\n";
            if index == 0 {
                text += &widths.iter().map(|width| format!("| {} ", "-".repeat(*width))).collect::<String>();
                text += "|\n";
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_a_bar_in_a_cell_does_not_split_it() {
        let mut table = Table::new(["what", "s"]);
        table.row(["a|b", "1.25"]);
        assert_eq!(table.render(), "| what | s    |\n| ---- | ---- |\n| a\\|b | 1.25 |\n");
    }
}
