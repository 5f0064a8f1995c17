//! The cutter and splitter against the reference reader, on any bytes, in any dialect, cut anywhere: the same records,
//! the same faults.
#![no_main]

#[path = "../../crates/howdah/tests/it/reference/mod.rs"]
mod reference;

use std::sync::Arc;

use howdah::source::Progress;
use howdah::source::split::{Span, value};
use howdah::source::{Cutter, Dialect, Family, Input, Splitter};
use howdah_fuzz::write_seed;
use libfuzzer_sys::fuzz_target;
use reference::{Fault, Grammar, Record, hostile};

fuzz_target!(init: write_seeds(), |data: &[u8]| {
    let [dialect, target, bytes @ ..] = data else { return };
    // What is not text is refused before it is split; compressed input and a byte order mark are another story.
    if std::str::from_utf8(bytes).is_err() || bytes.contains(&0) || bytes.starts_with(b"\xEF\xBB\xBF") {
        return;
    }
    let dialects = hostile::dialects();
    let slow = &dialects[usize::from(*dialect) % dialects.len()];
    let fast = Arc::new(Dialect {
        family: if slow.format == Grammar::Csv { Family::Csv } else { Family::Text },
        delimiter: slow.delimiter.into(),
        quote: slow.quote,
        escape: slow.escape,
        null: slow.null.clone(),
        default: None,
    });
    let input = Input::memory("fuzz", bytes.into());
    let mut cutter = Cutter::new(vec![input], fast.clone(), Progress::new(), usize::from(*target) + 1);
    let (mut readings, mut fields, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(piece) = cutter.cut(Vec::new()).expect("memory can be read") {
        let base = usize::try_from(piece.origin.byte_offset).expect("small");
        let place = |span: Span| {
            (base + span.start..base + span.end, piece.origin.first_line + u64::from(span.lines_before))
        };
        let mut splitter = Splitter::new(piece.bytes(), &fast, piece.eol);
        loop {
            readings.push(match splitter.next_record(&mut fields) {
                Ok(None) => break,
                Err(fault) => {
                    let (raw, line) = place(fault.span);
                    Err(Fault { message: fault.reason.as_str(), raw, line })
                }
                Ok(Some(span)) => {
                    let (raw, line) = place(span);
                    let value = |field| value(field, piece.bytes(), &fast, &mut scratch).map(<[u8]>::to_vec);
                    Ok(Record { fields: fields.iter().copied().map(value).collect(), raw, line })
                }
            });
        }
    }
    assert_eq!(readings, reference::read(bytes, slow));
});

fn write_seeds() {
    let dialects = hostile::dialects();
    let handwritten = hostile::handwritten().into_iter().map(|(dialect, bytes)| (dialect, bytes.to_vec()));
    for (n, (dialect, bytes)) in hostile::files(1, 300).into_iter().chain(handwritten).enumerate() {
        let at = dialects.iter().position(|known| *known == dialect).unwrap_or(0);
        let head = [u8::try_from(at).unwrap_or(0), u8::try_from(n % 64).unwrap_or(0)];
        write_seed("cutting", &n.to_string(), &[&head[..], &bytes].concat());
    }
}
