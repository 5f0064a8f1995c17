//! Lines as rustfmt breaks them, where their length decides.

use unicode_width::UnicodeWidthStr;

/// The columns of a line.
const WIDTH: usize = 100;
/// What arguments and elements of arrays take on one line at the most.
const LIST: usize = 60;
/// Elements of arrays that are no wider are laid out as words of a text are.
const SHORT: usize = 10;
/// What the fields of a struct's expression take on one line at the most.
const STRUCT: usize = 18;

fn one_line(list: &str, before: &str, behind: &str, limit: usize) -> bool {
    list.width() <= limit && before.width() + list.width() + behind.width() <= WIDTH && !list.contains('\n')
}

fn a_line_each(before: &str, items: &[String], behind: &str) -> String {
    let indent = before.len() - before.trim_start().len();
    let indent = " ".repeat(indent);
    let lines = items.iter().map(|item| format!("{indent}    {item},\n")).collect::<String>();
    format!("{before}\n{lines}{indent}{behind}")
}

/// The head of a function: `pub async fn f(` … `) -> T {`.
pub(super) fn head(before: &str, parameters: &[String], behind: &str) -> String {
    let list = parameters.join(", ");
    if one_line(&list, before, behind, WIDTH) {
        return format!("{before}{list}{behind}");
    }
    a_line_each(before, parameters, behind)
}

/// A call, with the indentation before it: `    f(` … `)?;`.
pub(super) fn call(before: &str, arguments: &[String], behind: &str) -> String {
    let list = arguments.join(", ");
    if one_line(&list, before, behind, LIST) {
        return format!("{before}{list}{behind}");
    }
    // What is awaited goes on below its parentheses.
    let indent = " ".repeat(before.len() - before.trim_start().len());
    a_line_each(before, arguments, &behind.replacen(").await", &format!(")\n{indent}.await"), 1))
}

/// An array, with the indentation before it: `    let a = &[` … `];`.
pub(super) fn array(before: &str, elements: &[String], behind: &str) -> String {
    let list = elements.join(", ");
    // A single text of several lines stays beside the brackets, if its first one is short or too long for any line.
    let first = list.lines().next().unwrap_or_default().width();
    let inner = before.len() - before.trim_start().len() + 4;
    let is_text = elements.len() == 1 && list.contains('\n') && (first <= LIST || inner + first >= WIDTH);
    if is_text || one_line(&list, before, behind, LIST) {
        return format!("{before}{list}{behind}");
    }
    if elements.iter().any(|element| element.width() > SHORT) {
        return a_line_each(before, elements, behind);
    }
    let indent = " ".repeat(before.len() - before.trim_start().len());
    let mut lines = vec![format!("{indent}    ")];
    for element in elements {
        if let Some(line) = lines.last_mut() {
            let space = usize::from(line.ends_with(','));
            if line.width() + space + element.width() < WIDTH {
                line.push_str(&format!("{}{element},", " ".repeat(space)));
                continue;
            }
        }
        lines.push(format!("{indent}    {element},"));
    }
    format!("{before}\n{}\n{indent}{behind}", lines.join("\n"))
}

/// A struct as a function's value: `Ok(Self { … })`.
pub(super) fn made(fields: &[String]) -> String {
    let list = fields.join(", ");
    if list.is_empty() {
        "        Ok(Self {})".to_owned()
    } else if list.width() <= STRUCT {
        format!("        Ok(Self {{ {list} }})")
    } else {
        a_line_each("        Ok(Self {", fields, "})")
    }
}

/// A field's declaration.
pub(super) fn field(name: &str, ty: &str) -> String {
    let line = format!("    pub {name}: {ty},");
    if line.width() <= WIDTH { line } else { format!("    pub {name}:\n        {ty},") }
}

/// An arm of a match in a method.
pub(super) fn arm(pattern: &str, value: &str) -> String {
    let line = format!("            {pattern} => {value},");
    let inner = format!("                {value}");
    if line.width() <= WIDTH || inner.width() > WIDTH {
        return line;
    }
    format!("            {pattern} => {{\n{inner}\n            }}")
}

/// A constant that is a string.
pub(super) fn constant(before: &str, literal: &str) -> String {
    assigned(before, literal, ";")
}

/// A string behind its name, with what ends it: `id:` … `,`.
pub(super) fn assigned(before: &str, literal: &str, end: &str) -> String {
    let first = literal.lines().next().unwrap_or_default();
    let behind = usize::from(first.len() == literal.len());
    let indent = before.len() - before.trim_start().len();
    // A text that is too long for any line stays where it is.
    let fits = |indent: usize| indent + first.width() + behind <= WIDTH;
    if fits(before.width() + 1) || !fits(indent + 4) {
        format!("{before} {literal}{end}")
    } else {
        format!("{before}\n{}{literal}{end}", " ".repeat(indent + 4))
    }
}

#[cfg(test)]
mod tests {
    use super::array;

    #[test]
    fn a_text_of_several_lines_stands_where_rustfmt_has_it() {
        for (width, beside) in [(60, true), (61, false), (91, false), (92, true)] {
            let text = format!("\"{}\n\"", "x".repeat(width - 1));
            let laid_out = array("    statements: &[", &[text], "],");
            assert_eq!(laid_out.starts_with("    statements: &[\""), beside, "{width}");
        }
    }
}
