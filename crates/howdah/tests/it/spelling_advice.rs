//! Columns of text that would be numbers or dates under an option are named with it, and none that might be meant otherwise.

use howdah::LoadOptions;
use howdah::options::{Mode, Thousands};
use howdah_testkit::Database;

use crate::common::{options, try_load};

/// What is said of types when `csv` makes a table.
fn said(csv: &str, with: impl Fn(LoadOptions) -> LoadOptions) -> Vec<String> {
    let database = Database::new();
    let wanted = with(options(&database.file("t.csv", csv), "t").dry_run(true));
    let (report, notices) = try_load(&database, &wanted).unwrap();
    let said: Vec<String> = notices.into_iter().filter(|notice| notice.contains("all values are")).collect();
    let columns = report.plan.unwrap().columns;
    let because: Vec<String> =
        columns.iter().filter_map(|column| column.because.as_ref()).map(ToString::to_string).collect();
    for notice in &said {
        assert!(because.contains(notice), "the report lacks {notice}: {because:?}");
    }
    said
}

fn alone(csv: &str) -> Vec<String> {
    said(csv, |wanted| wanted)
}

#[test]
fn one_note_names_the_columns_and_the_option_that_reads_them() {
    assert_eq!(
        alone("id;amount;share;word\n1;1,50;0,5;a,b\n2;12,25;7;x\n3;2;1,125;y\n"),
        ["amount, share: all values are numbers with decimal commas: decimal_comma=true reads them"]
    );
    assert_eq!(
        alone("id;rent;fee\n1;1.682,97;1,5\n2;12,50;2\n3;-1.000.000,25;3\n"),
        ["rent, fee: all values are numbers with decimal commas, and points between thousands: \
          decimal_comma=true thousands=\".\" read them"]
    );
    for (csv, note) in [
        ("a,b\n1,\"1,234.50\"\n2,7\n", "numbers with commas between thousands: thousands=\",\" reads"),
        ("a;b\n1;1'234.50\n2;7\n3;2\n", "numbers with apostrophes between thousands: thousands=\"'\" reads"),
        ("a;b\n1;1 234\n2;7 000 000\n3;2\n", "numbers with spaces between thousands: thousands=space reads"),
        ("a,b\n1,\"1,5\"\n2,\"2,25\"\n", "decimal commas: decimal_comma=true delimiter=\",\" read"),
        ("a,b\n1,31.12.1990\n2,1.2.1991\n", "dates: date_format=\"%d.%m.%Y\" reads"),
        ("a,b\n1,2024.01.31\n2,2024.02.01\n", "dates: date_format=\"%Y.%m.%d\" reads"),
        ("a,b\n1,12/31/1990\n2,1/2/1991\n", "dates: date_format=\"%m/%d/%Y\" reads"),
        ("a,b\n1,3 Sep 2024 07:05\n2,,\n3,4 Oct 2024 17:30\n", "dates: date_format=\"%d %b %Y %H:%M\" reads"),
    ] {
        let said = alone(&csv.replace(",,\n", ",\n"));
        assert_eq!(said.len(), 1, "{csv}: {said:?}");
        assert!(said[0].starts_with("b: all values are ") && said[0].contains(note), "{said:?}");
    }
}

#[test]
fn what_may_be_meant_in_two_ways_is_left_to_the_user() {
    for csv in [
        // A thousand and more, or one and a bit.
        "a;b\n1;1,234\n2;7,000\n3;2\n",
        // Points may be decimal in one row and separate thousands in another.
        "a;b\n1;1.234\n2;1,5\n3;2\n",
        "a;b\n1;1.5\n2;1,5\n3;2\n",
        // Day or month.
        "a,b\n1,1/2/1990\n2,3/4/1991\n",
        // The option would take numbers or dates from other columns.
        "a;b;c\n1;1,5;1.5\n2;2,5;2.5\n3;2;2.5\n",
        "a;b;c\n1;1.234,5;52.123\n2;2,5;13.456\n3;2;14.000\n",
        // The day or the year comes first.
        "a,b\n1,24.12.31\n2,25.01.01\n",
        "a,b,c\n1,31.12.1990,2024-01-01\n2,1.2.1991,2024-01-02\n",
        // No numbers.
        "a;b\n1;1,5\n2;x\n3;2\n",
        "a;b\n1;01,5\n2;2\n3;2\n",
        "a;b\n1;1,5 EUR\n2;2 EUR\n3;3 EUR\n",
    ] {
        assert_eq!(alone(csv), [""; 0], "{csv}");
    }
}

#[test]
fn what_is_said_already_is_not_said_again_and_what_is_missing_is() {
    let csv = "a;b\n1;1.682,97\n2;1.250\n3;2\n";
    let said = said(csv, |wanted| wanted.decimal_comma(true));
    assert_eq!(
        said,
        [
            "b: all values are numbers with decimal commas, and points between thousands: thousands=\".\" reads them"
        ]
    );
    let dated = "a,b\n1,31.12.1990\n2,1.2.1991\n";
    assert_eq!(self::said(dated, |wanted| wanted.types([("b", "text")])), [""; 0]);
}

#[test]
fn threads_and_pieces_change_nothing_and_the_option_reads_the_column() {
    let database = Database::new();
    let mut csv = "id;amount;day\n".to_owned();
    for row in 0..60_000 {
        csv.push_str(&format!("{row};{},{:02};{}.{}.2024\n", row * 7, row % 100, row % 28 + 1, row % 12 + 1));
    }
    let file = database.file("t.csv", &csv);
    for jobs in [1, 4] {
        let (_, notices) = try_load(&database, &options(&file, &format!("t{jobs}")).jobs(jobs)).unwrap();
        let said: Vec<&String> = notices.iter().filter(|notice| notice.contains("all values are")).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("amount: all values are numbers with decimal commas"), "{said:?}");
        assert!(said[1].starts_with("day: all values are dates: date_format=\"%d.%m.%Y\""), "{said:?}");
    }
    // One value in the last piece is enough to know that it is the day that comes first, or that it is none.
    let other = csv.replace("59999;", "59999;x");
    let (_, notices) = try_load(&database, &options(&database.file("u.csv", other), "u").jobs(4)).unwrap();
    assert!(notices.iter().any(|notice| notice.starts_with("day: ")), "{notices:?}");
    assert!(!notices.iter().any(|notice| notice.contains("decimal commas")), "{notices:?}");
}

#[test]
fn what_the_options_do_not_reach_is_said_or_refused() {
    let database = Database::new();
    database.sql(
        "CREATE TYPE stay AS (day date, nights int); CREATE TABLE t (id int, days date[], s stay, n text)",
    );
    let file = database.file("t.csv", "id;days;s;n\n1;{2024-02-01};\"(2024-02-01,2)\";1,5\n");
    let format = howdah::options::DateFormat::parse("%d.%m.%Y").unwrap();
    let wanted = options(&file, "t").date_format(format).decimal_comma(true);
    let (_, notices) = try_load(&database, &wanted).unwrap();
    let said = "decimal_comma=true date_format=\"%d.%m.%Y\" does not hold within arrays, ranges and composite \
                values: those of days, s";
    assert!(notices.iter().any(|notice| notice.starts_with(said)), "{notices:?}");
    // A table that was made before the option was known: its columns are text.
    database.sql("CREATE TABLE u (id int, n text)");
    let file = database.file("u.csv", "id;n\n1;1,5\n");
    for mode in [Mode::Append, Mode::Replace] {
        let (_, notices) = try_load(&database, &options(&file, "u").mode(mode).decimal_comma(true)).unwrap();
        let said = "decimal_comma=true changes nothing: no column of public.u that is loaded holds numbers; \
                    mode=replace with types=";
        assert!(notices.iter().any(|notice| notice.starts_with(said)), "{notices:?}");
    }
    let wanted = options(&file, "u").mode(Mode::Replace).decimal_comma(true).types([("n", "numeric")]);
    let (_, notices) = try_load(&database, &wanted).unwrap();
    assert!(!notices.iter().any(|notice| notice.contains("changes nothing")), "{notices:?}");
    assert_eq!(database.sql("SELECT n FROM u"), "1.5");
    // What the server would read by its own locale.
    database.sql("CREATE TABLE v (id int, n money)");
    for wanted in [
        options(&file, "v").decimal_comma(true),
        options(&file, "v").thousands(Thousands::Point).decimal_comma(true),
    ] {
        let error = try_load(&database, &wanted).unwrap_err();
        assert_eq!(
            error.message(),
            "decimal_comma=true cannot hold for column \"n\": the server reads money by its own lc_monetary"
        );
    }
    assert_eq!(database.sql("SELECT count(*) FROM v"), "0");
}
