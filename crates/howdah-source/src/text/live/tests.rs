//! Pieces of an input that comes in steps of every size.

use super::*;

fn cutter(dialect: Dialect) -> LiveCutter {
    LiveCutter::new("f".into(), Arc::new(dialect), 0, 1)
}

/// The pieces that come out when `text` comes in steps of `step` bytes, with their places.
fn cut(text: &str, step: usize, dialect: Dialect) -> Vec<(u64, u64, String)> {
    let mut cutter = cutter(dialect);
    let mut pieces = Vec::new();
    let mut keep = |piece: Option<Piece>| {
        if let Some(piece) = piece {
            let text = String::from_utf8_lossy(piece.bytes()).into_owned();
            pieces.push((piece.origin.byte_offset, piece.origin.first_line, text));
        }
    };
    for bytes in text.as_bytes().chunks(step) {
        cutter.held().extend_from_slice(bytes);
        keep(cutter.cut(false).unwrap());
    }
    keep(cutter.cut(true).unwrap());
    pieces
}

#[test]
fn a_record_is_never_cut_however_its_bytes_come() {
    let text = "a,b\r\n1,\"x\r\ny\"\r\n2,\"\"\"\r\n\"\r\nlast";
    let whole: Vec<_> =
        [(0, 1, "a,b\r\n"), (5, 2, "1,\"x\r\ny\"\r\n"), (15, 4, "2,\"\"\"\r\n\"\r\n"), (25, 6, "last")]
            .map(|(at, line, text): (u64, u64, &str)| (at, line, text.to_owned()))
            .into();
    assert_eq!(cut(text, 1, Dialect::default()), whole);
    for step in 2..text.len() + 1 {
        let pieces = cut(text, step, Dialect::default());
        for piece in &pieces {
            assert!(
                whole.iter().any(|(at, line, _)| (at, line) == (&piece.0, &piece.1)),
                "{step}: {piece:?}"
            );
        }
        assert_eq!(pieces.iter().map(|piece| &*piece.2).collect::<String>(), text, "{step}");
    }
}

/// Records and bad lines, by where they stand, when `text` comes in steps of `step` bytes.
fn confined(text: &str, step: usize, most: usize) -> Vec<(u64, bool)> {
    let mut cutter = cutter(Dialect::default());
    cutter.most_confined = most;
    cutter.confine_stray_quotes(Some(Widths { usual: Some(2), ..Widths::default() }));
    let mut found = Vec::new();
    let mut take = |cutter: &mut LiveCutter, is_end| {
        while let Some(piece) = cutter.cut(is_end).unwrap() {
            let mut splitter = Splitter::of(&piece, &cutter.dialect);
            loop {
                let (span, is_good) = match splitter.next_record(&mut Vec::new()) {
                    Ok(None) => break,
                    Ok(Some(span)) => (span, true),
                    Err(fault) => (fault.span, false),
                };
                let line = piece.origin.first_line + u64::from(span.lines_before);
                assert_eq!(
                    text.split_inclusive('\n')
                        .take(usize::try_from(line).unwrap() - 1)
                        .map(str::len)
                        .sum::<usize>(),
                    usize::try_from(piece.origin.byte_offset).unwrap() + span.start
                );
                found.push((line, is_good));
            }
        }
    };
    for bytes in text.as_bytes().chunks(step) {
        cutter.held().extend_from_slice(bytes);
        take(&mut cutter, false);
    }
    take(&mut cutter, true);
    found
}

#[test]
fn a_stray_quote_costs_its_line_however_the_bytes_come() {
    let lines = |good: bool| move |line| (line, good);
    for (text, most, bad, good) in [
        // Never closed; closed by another; good over two lines; at the end.
        ("a,b\n1,\"x\n2,y\n3,z\n", 1000, vec![2], vec![1, 3, 4]),
        ("a,b\n1,\"x\n2,y\n3,\"z\"\n", 1000, vec![2], vec![1, 3, 4]),
        ("a,b\n1,\"x\ny\"\n2,\"z\n", 1000, vec![4], vec![1, 2]),
        ("a,\"b\n1,x\n", 1000, vec![1], vec![2]),
        // Longer than may be held, as a record over several lines and as one.
        ("a,b\n1,\"x\n2,yyyyyyyyyyyy\n3,zzzzzzzzzz\n4,u\n", 16, vec![2], vec![1, 3, 4, 5]),
        ("a,b\n1,\"xxxxxxxxxx\nx\"\n2,y\n", 16, vec![2, 3], vec![1, 4]),
        ("a,b\n1,\"xxxxxxxx\nx\"\n2,y\n", 16, vec![], vec![1, 2, 4]),
        (
            "a,b\n1,\"xxxxxxxxxxxxxxxxxxxxxxx\"\n2,\"yyyyyyyyyyyyyyyyyyyyyy\n3,z\n4,u\n",
            16,
            vec![3],
            vec![1, 2, 4, 5],
        ),
    ] {
        let mut expected: Vec<(u64, bool)> =
            bad.into_iter().map(lines(false)).chain(good.into_iter().map(lines(true))).collect();
        expected.sort();
        for step in 1..text.len() + 1 {
            assert_eq!(confined(text, step, most), expected, "{text:?} by {step}");
        }
    }
}

#[test]
fn a_stray_quote_in_the_first_line_is_known_before_the_end() {
    for (text, strays, cut) in [
        ("1,\"x\n2,\"y\"\n", 1, "1,\"x\n2,\"y\"\n"),
        ("1,\"x\r\n2,\"y\"\r\n", 1, "1,\"x\r\n2,\"y\"\r\n"),
        ("\"1\nx\",\"y\"\r\n2,", 0, "\"1\nx\",\"y\"\r\n"),
    ] {
        for step in 1..text.len() + 1 {
            let mut cutter = cutter(Dialect::default());
            cutter.confine_stray_quotes(Some(Widths { usual: Some(2), ..Widths::default() }));
            let mut pieces = Vec::new();
            for bytes in text.as_bytes().chunks(step) {
                cutter.held().extend_from_slice(bytes);
                pieces.extend(std::iter::from_fn(|| cutter.cut(false).unwrap()));
            }
            let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes().to_vec()).collect();
            assert_eq!(String::from_utf8(bytes).unwrap(), cut, "{step}");
            assert_eq!(
                pieces.iter().map(|piece| piece.strays.len()).sum::<usize>(),
                strays,
                "{text:?} by {step}"
            );
        }
    }
}

#[test]
fn what_was_open_is_known_at_the_end_and_the_last_record_stays_whole() {
    for (held, cut, strays, left) in [
        ("1,\"x\n2,y\n3", "1,\"x\n2,y\n", vec![0], "3"),
        ("1,\"x\ny", "1,\"x\n", vec![0], "y"),
        // Whole but for its line end, and no other rows.
        ("1,x\n2,\"\n5,6\n\"", "1,x\n", vec![], "2,\"\n5,6\n\""),
        ("2,\"\n5,6\n\"", "", vec![], "2,\"\n5,6\n\""),
        ("1,\"x\n2,\"y\n", "1,\"x\n2,\"y\n", vec![0, 5], ""),
        ("\"a\n1,x\n", "\"a\n1,x\n", vec![0], ""),
    ] {
        for held_before in 0..=held.len() {
            let mut cutter = cutter(Dialect::default());
            cutter.confine_stray_quotes(Some(Widths { usual: Some(2), ..Widths::default() }));
            let (one, other) = held.split_at(held_before);
            cutter.held().extend_from_slice(one.as_bytes());
            let mut pieces: Vec<Piece> = cutter.cut(false).unwrap().into_iter().collect();
            cutter.held().extend_from_slice(other.as_bytes());
            pieces.extend(cutter.cut_ended());
            let found: Vec<usize> = pieces
                .iter()
                .flat_map(|piece| {
                    let from = usize::try_from(piece.origin.byte_offset).unwrap();
                    piece.strays.iter().map(move |at| from + at)
                })
                .collect();
            let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes().to_vec()).collect();
            let rest = String::from_utf8(cutter.held().clone()).unwrap();
            assert_eq!(
                (String::from_utf8(bytes).unwrap().as_str(), found, rest.as_str()),
                (cut, strays.clone(), left),
                "{held:?} at {held_before}"
            );
        }
    }
}

#[test]
fn the_first_record_is_shown_and_stays() {
    let mut cutter = cutter(Dialect::default());
    cutter.held().extend_from_slice(b"\xEF\xBB");
    assert!(cutter.first(false).unwrap().is_none());
    cutter.held().extend_from_slice(b"\xBFa,\"b\n");
    assert!(cutter.first(false).unwrap().is_none());
    cutter.held().extend_from_slice(b"c\"\n1,2\n3");
    assert_eq!(cutter.first(false).unwrap().unwrap().bytes(), b"a,\"b\nc\"\n");
    let piece = cutter.cut(false).unwrap().unwrap();
    assert_eq!((piece.bytes(), piece.origin.byte_offset), (&b"a,\"b\nc\"\n1,2\n"[..], 3));
    assert!(piece.starts_input);
    assert_eq!(cutter.cut(true).unwrap().unwrap().bytes(), b"3");
}

#[test]
fn the_line_that_ends_the_data_of_copy_text_ends_it() {
    let text =
        Dialect { family: Family::Text, delimiter: b'\t'.into(), null: b"\\N".into(), ..Dialect::default() };
    let pieces = cut("1\ta\\\nb\n\\.\nmore\n", 3, text);
    assert_eq!(pieces.iter().map(|piece| &*piece.2).collect::<String>(), "1\ta\\\nb\n");
}
