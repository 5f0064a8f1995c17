use howdah_source::{Eol, Origin};

use super::*;
use crate::options::{DialectOptions, Format, HeaderOption};
use crate::plan::header_decision::HeaderDecision;

/// What is decided of record 1 of a file of commas.
fn decided(csv: &str) -> HeaderDecision {
    let dialect = Dialect::resolve(Format::Csv, &DialectOptions::default()).unwrap();
    let origin = Origin { source: "t".into(), byte_offset: 0, first_line: 1, lines: None };
    let piece = Piece::of(csv.as_bytes().to_vec(), origin, Eol::Nl, true);
    read(Some(&piece), &dialect, &Spelling::default(), OnNul::Error).header_of_new(HeaderOption::Auto)
}

#[test]
fn headers_that_a_person_sees_at_a_glance_are_headers() {
    for csv in [
        // An index without a name, as pandas and R write it: numbers, or names of rows.
        ",n\n0,1.5\n1,2.5\n",
        ",name\n0,Ada\n1,Grace\n",
        "\"\",\"mpg\",\"cyl\"\n\"Mazda RX4\",21,6\n\"Valiant\",18.1,6\n",
        ",0,1,2\n0,5.1,3.5,1.4\n1,4.9,3.0,1.4\n",
        // Names given twice, or not at all.
        "id,id\n1,2\n3,4\n",
        "name,name\nAnn,Oslo\n",
        "a,,c\n1,2,3\n4,5,6\n",
        // Years, dates and numbers as names.
        "country,2019,2020,2021\nNorway,5,6,7\nSweden,8,9,1\n",
        "country,2021,2020\nNorway,5,6\n",
        "Province/State,Country/Region,Lat,Long,1/22/20,1/23/20\n,Norway,60.4,8.4,0,12\n,Malta,35.9,14.3,0,3\n",
        "team,2024-01-01,2024-02-01\nred,5,6\nblue,7,8\n",
        "sensor,1,2,3,4\na,0.5,0.25,1.5,2.5\nb,0.75,0.5,1.25,3.5\n",
        // Questions of a survey, with answers that are text.
        "Do you celebrate Thanksgiving?,What is typically the main dish at your dinner?\nYes,Turkey\nYes,Tofurkey\nNo,\n",
        // Names that are not like the values below them.
        "Phone,Ip\n555-1234,10.0.0.1\n555-9876,10.0.0.2\n",
        "#,who\n1,Ada\n2,Bob\n",
        // Files one behind the other.
        "id,name\n1,Ada\nid,name\n2,Bob\n",
    ] {
        let decision = decided(csv);
        assert!(decision.is_header(), "{csv:?}: {decision:?}");
    }
}

#[test]
fn a_first_row_that_is_like_the_others_stays_one() {
    for csv in [
        // As openflights' planes, countries and locales, which have no header.
        "\"Aerospatiale (Nord) 262\",\"ND2\",\"N262\"\n\"Airbus A300\",\"AB3\",\\N\n\"Airbus A310\",\"310\",\"A310\"\n\"Boeing 707\",\"703\",\"B703\"\n",
        "\"Saba\",\"BQ\",\"\"\n\"Aruba\",\"AW\",\"AA\"\n\"Angola\",\"AO\",\"AO\"\n\"Albania\",\"AL\",\"AL\"\n",
        "de_DE,Deutsch\nen_US,English\nes_ES,español\nzh_CN,中文\n",
        "1,2\n3,4\n",
        "x,1\ny,2\n",
        // Values of PostgreSQL's that are words.
        "Infinity\n1.5\n2.5\n",
        "Ann,today\nBob,2024-01-02\nCy,2024-01-03\n",
        // A value is missing in the first row, or is no number.
        ",1,2\n5,3,4\n6,7,8\n",
        "1,abc,x\n2,5,y\n3,6,z\n",
        "1,NA,x\n2,5,y\n3,6,z\n",
        "1,\\N,x\n2,5,y\n3,6,z\n",
        // Years and counted numbers that are values.
        "Norway,1990,1991\nSweden,1995,1996\nMalta,2001,2002\n",
        "a,1,2,3\nb,4,5,6\nc,7,8,9\n",
        "Ada,Oslo\nBob,Rome\nAda,Oslo\n",
    ] {
        let decision = decided(csv);
        assert!(!decision.is_header(), "{csv:?}: {decision:?}");
        assert!(decision.doubt().is_some(), "{csv:?}");
    }
}

#[test]
fn what_could_be_a_row_is_said_and_what_could_not_is_not() {
    for csv in [
        "Ada,Oslo\nBob,Rome\n",
        ",name\n0,Ada\n1,Grace\n",
        "country,2019,2020\nNorway,5,6\n",
        "10km,x\n5,y\n",
        // Words in lower case may be values, and so may a record alone.
        "alice\nBob\nDave\n",
        "a,b\nb,c\nc,d\n",
        "alice,bob\n",
    ] {
        let decision = decided(csv);
        assert!(decision.is_header() && decision.doubt().is_some(), "{csv:?}: {decision:?}");
    }
    for csv in ["id,Name\n1,Ada\n", "first_name,city2\nAda,Oslo\n", "id,city\n"] {
        let decision = decided(csv);
        assert!(decision.is_header() && decision.doubt().is_none(), "{csv:?}: {decision:?}");
    }
}
