//! Templates of users: they begin as ours, get what ours get, and are told their mistakes with a line.

use super::{codegen, out, project, said};

#[test]
fn a_template_begins_as_ours_and_goes_on_as_the_users() {
    let folder = project(&[]);
    let here = folder.path();
    assert_eq!(codegen(here, &["init"]).status.code(), Some(0));
    assert_eq!(codegen(here, &["generate"]).status.code(), Some(0));
    let printed = codegen(here, &["template", "python"]);
    assert_eq!((printed.status.code(), said(&printed)), (Some(0), ""));
    let config = std::fs::read_to_string(here.join("howdah.yaml")).unwrap();
    std::fs::write(here.join("howdah.yaml"), format!("{config}        template: my.jinja\n")).unwrap();
    let with = |text: &str| std::fs::write(here.join("my.jinja"), text).unwrap();

    with(out(&printed));
    let done = codegen(here, &["generate", "--check"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));

    with("# {{ model.project }}\n{% for row in rows %}\n{{ row.name }}\n{% endfor %}\n");
    let done = codegen(here, &["generate"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let text = std::fs::read_to_string(here.join("generated/queries.py")).unwrap();
    assert_eq!(text, "# example\nTasksRow\nTaskByIdRow\nFindTasksRow\n");
    assert!(here.join("generated/howdah_psycopg.py").exists(), "what modules share is as ever");

    with("fine\n\n{{ nothing_of_the_kind }}\n");
    let done = codegen(here, &["generate"]);
    assert_eq!(done.status.code(), Some(1));
    let error = "my.jinja:3:1: error[TEMPLATE_ERROR]: undefined value\n    3 | {{ nothing_of_the_kind }}\n";
    assert!(said(&done).contains(error), "{}", said(&done));
    assert_eq!(std::fs::read_to_string(here.join("generated/queries.py")).unwrap(), text);

    with("{% for %}\n");
    let done = codegen(here, &["check"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(
        said(&done).starts_with("my.jinja:1:1: error[TEMPLATE_ERROR]: syntax error: "),
        "{}",
        said(&done)
    );
    assert_eq!(codegen(here, &["template", "cobol"]).status.code(), Some(2));
}
