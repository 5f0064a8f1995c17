//! What the codecs say of literals, for comparison with a server.
//!
//! `verdicts` reads lines `type<TAB>literal`, the literal escaped as in COPY's text format, and prints them with the
//! verdict: `encoded<TAB>hex`, `invalid<TAB>sqlstate<TAB>reason` or `unsure`. `verdicts --generate SEED COUNT` prints
//! such lines for every type. `TimeZone` is taken from the environment variable `PGTZ`, UTC by default, `IntervalStyle`
//! from `PGINTERVALSTYLE`; `lc_monetary` is C.
#![expect(clippy::disallowed_methods, reason = "an example, not the library")]

use howdah_encode::literals::{TYPES, literals, nested_literals, nested_types};
use howdah_encode::{NotEncoded, SessionRules, TextCodec, copy_text};
use std::io::{self, BufRead, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, seed, count] = arguments.as_slice()
        && flag == "--generate"
    {
        for (name, ..) in TYPES {
            for literal in literals(name, seed.parse()?, count.parse()?) {
                write_line(&mut out, &[name.as_bytes(), literal.as_bytes()])?;
            }
        }
        for nested in nested_types() {
            for literal in nested_literals(&nested, seed.parse()?, count.parse()?) {
                write_line(&mut out, &[nested.name.as_bytes(), literal.as_bytes()])?;
            }
        }
        return Ok(out.flush()?);
    }
    let zone = std::env::var("PGTZ").unwrap_or_else(|_| "UTC".to_owned());
    let style = std::env::var("PGINTERVALSTYLE").unwrap_or_else(|_| "postgres".to_owned());
    let rules = SessionRules::from_settings(&zone, "ISO, MDY", &style, "C");
    let nested = nested_types();
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        let tab = line.iter().position(|&byte| byte == b'\t').ok_or("a line is type<TAB>literal")?;
        let name = std::str::from_utf8(&line[..tab])?;
        let mut literal = Vec::new();
        copy_text::unescape(&line[tab + 1..], &mut literal);
        let codec = match TYPES.iter().find(|known| known.0 == name) {
            Some(&(_, oid, typmod)) => TextCodec::for_type(oid, typmod, &rules),
            None => nested
                .iter()
                .find(|known| known.name == name)
                .and_then(|known| TextCodec::of(&known.shape, known.typmod, &rules)),
        };
        let codec = codec.ok_or("no such type")?;
        let mut field = Vec::new();
        let verdict = codec.encode(&literal, &mut field);
        let hex: String = field.iter().map(|byte| format!("{byte:02x}")).collect();
        let (kind, detail, reason) = match &verdict {
            Ok(()) => ("encoded", hex.as_str(), ""),
            Err(NotEncoded::Invalid(invalid)) => ("invalid", invalid.sqlstate, invalid.reason.as_str()),
            Err(NotEncoded::Unsure) => ("unsure", "", ""),
        };
        write_line(
            &mut out,
            &[name.as_bytes(), &literal, kind.as_bytes(), detail.as_bytes(), reason.as_bytes()],
        )?;
    }
    Ok(out.flush()?)
}

fn write_line(out: &mut impl Write, fields: &[&[u8]]) -> io::Result<()> {
    let mut line = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            line.push(b'\t');
        }
        copy_text::put_field(&mut line, field);
    }
    line.push(b'\n');
    out.write_all(&line)
}
