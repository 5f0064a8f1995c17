use super::*;
use crate::pipelined_copy::PipelinedCopy;

fn messages(all: &[(u8, &[u8])]) -> BytesMut {
    let mut out = BytesMut::new();
    for (tag, body) in all {
        out.put_u8(*tag);
        out.put_u32(u32::try_from(4 + body.len()).unwrap());
        out.put_slice(body);
    }
    out
}

/// The tags and lengths of whole messages.
fn tags(mut bytes: &[u8]) -> Vec<(char, usize)> {
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let length = usize::try_from(u32::from_be_bytes(bytes[1..5].try_into().unwrap())).unwrap();
        out.push((char::from(bytes[0]), length - 4));
        bytes = &bytes[1 + length..];
    }
    out
}

/// A COPY behind a statement that notes it.
fn noted_copy(rows: Vec<Bytes>) -> Sealed {
    let mut copy = PipelinedCopy::new("copy", rows);
    copy.prepare("part", "insert into ledger values ($1)").unwrap();
    copy.execute("part", &[7]).unwrap();
    copy.seal().unwrap()
}

/// After the login, with the state of the transaction in `ready`.
fn logged_in(ready: &[u8]) -> ProtocolInjector {
    let mut injector = ProtocolInjector::default();
    let mut greeting = messages(&[(b'R', &[0; 4]), (b'S', b"TimeZone\0UTC\0"), (b'Z', ready)]);
    assert_eq!(injector.filter_responses(&mut greeting).unwrap(), greeting.len());
    injector
}

/// After the login, with a COPY that waits; and its ticket as the driver sends it.
fn waiting(rows: Vec<Bytes>, ready: &[u8]) -> (ProtocolInjector, BytesMut) {
    let injector = logged_in(ready);
    let sql = injector.slot().offer(noted_copy(rows)).unwrap();
    let ticket = messages(&[(b'Q', format!("{sql}\0").as_bytes())]);
    (injector, ticket)
}

/// While the answer to a COPY without rows is to come.
fn sent_copy() -> ProtocolInjector {
    let (mut injector, ticket) = waiting(Vec::new(), b"I");
    sent(&mut injector, &ticket, ticket.len());
    assert_eq!(injector.slot().verdict(), Verdict::Sent);
    injector
}

/// Everything that goes to the server when the driver's bytes come in pieces of `size`.
fn sent(injector: &mut ProtocolInjector, driver: &[u8], size: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let write = |injector: &mut ProtocolInjector, out: &mut Vec<u8>| loop {
        injector.fill().unwrap();
        assert!(injector.out.len() < 2 * CHUNK_BYTES);
        if injector.out.is_empty() {
            break;
        }
        // The socket does not take everything at once.
        let some = injector.out.len().div_ceil(2);
        out.extend_from_slice(&injector.out.split_to(some));
    };
    for mut piece in driver.chunks(size) {
        while !piece.is_empty() {
            write(injector, &mut out);
            let taken = match injector.route(piece) {
                Disposition::Taken(taken) => taken,
                Disposition::Forward(allowed) => {
                    let written = allowed.div_ceil(2);
                    injector.forwarded(&piece[..written]);
                    out.extend_from_slice(&piece[..written]);
                    written
                }
            };
            piece = &piece[taken..];
        }
    }
    write(injector, &mut out);
    out
}

/// What the driver hears of an answer that comes in pieces of `size`.
fn heard(injector: &mut ProtocolInjector, answer: &[u8], size: usize) -> io::Result<Vec<(char, usize)>> {
    let mut out = Vec::new();
    for piece in answer.chunks(size) {
        let mut piece = piece.to_vec();
        let kept = injector.filter_responses(&mut piece)?;
        out.extend_from_slice(&piece[..kept]);
    }
    Ok(tags(&out))
}

/// What answers all that goes before the COPY.
fn noted() -> BytesMut {
    messages(&[(b'3', b""), (b'1', b""), (b'2', b""), (b'C', b"INSERT 0 1\0")])
}

#[test]
fn the_copy_takes_the_place_of_its_ticket_however_the_driver_writes_it() {
    let later = messages(&[(b'Q', b"select 'S'\0"), (b'Q', b"-- pipelined COPY 2\0"), (b'S', b"")]);
    let row = Bytes::from(vec![9; 1000]);
    for size in 1..=80 {
        let (mut injector, ticket) = waiting(vec![row.clone(), Bytes::new(), row.clone()], b"I");
        let sent = sent(&mut injector, &[&ticket[..], &later[..]].concat(), size);
        let expected = [('C', 6), ('P', 38), ('B', 26), ('E', 5), ('B', 14), ('E', 5)];
        let behind = [('d', 2000), ('c', 0), ('S', 0), ('Q', 11), ('Q', 20), ('S', 0)];
        assert_eq!(tags(&sent), [&expected[..], &behind].concat(), "in pieces of {size}");
        assert_eq!(injector.route(b"untouched"), Disposition::Forward(9));
    }
}

#[test]
fn rows_larger_than_a_message_go_in_several_and_arrive_whole() {
    let row = Bytes::from((0..200_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    let (mut injector, ticket) = waiting(vec![Bytes::from_static(b"first"), row.clone()], b"I");
    let sent = sent(&mut injector, &ticket, ticket.len());
    let (mut copied, mut at) = (Vec::new(), 0);
    for (tag, length) in tags(&sent) {
        if tag == 'd' {
            assert!(length <= CHUNK_BYTES);
            copied.extend_from_slice(&sent[at + 5..at + 5 + length]);
        }
        at += 5 + length;
    }
    assert!(copied == [b"first".as_slice(), &row].concat());
}

#[test]
fn what_only_begins_like_the_ticket_goes_to_the_server() {
    for other in [&b"-- pipelined COPY 11\0"[..], b"-- pipelined COPY 9\0", b"-- pipe\0", b"select 1\0"] {
        let other = messages(&[(b'Q', other), (b'P', b"Q"), (b'S', b"")]);
        for size in 1..=other.len() {
            let (mut injector, ticket) = waiting(Vec::new(), b"I");
            assert_eq!(sent(&mut injector, &other, size), &other[..], "in pieces of {size}");
            // Two requests are open, so the COPY has to wait.
            assert_eq!(sent(&mut injector, &ticket, size), &ticket[..]);
            assert_eq!(injector.slot().verdict(), Verdict::InFlight);
        }
    }
}

#[test]
fn a_copy_that_was_withdrawn_is_not_sent_when_its_ticket_comes_by() {
    for size in [1, 3, 100] {
        let (mut injector, ticket) = waiting(vec![Bytes::from_static(b"row")], b"I");
        let (first, rest) = ticket.split_at(7);
        let mut out = sent(&mut injector, first, size);
        injector.slot().withdraw();
        out.extend(sent(&mut injector, rest, size));
        assert_eq!(out, &ticket[..]);
        assert_eq!(injector.slot().verdict(), Verdict::Waiting);
    }
}

#[test]
fn in_an_open_transaction_nothing_is_sent() {
    for state in [b"T", b"E"] {
        let (mut injector, ticket) = waiting(vec![Bytes::from_static(b"row")], state);
        assert_eq!(sent(&mut injector, &ticket, ticket.len()), &ticket[..]);
        assert_eq!(injector.slot().verdict(), Verdict::InTransaction);
        let answer = messages(&[(b'I', b""), (b'Z', state)]);
        assert_eq!(heard(&mut injector, &answer, 3).unwrap(), [('I', 0), ('Z', 1)]);
    }
}

#[test]
fn while_an_answer_is_to_come_nothing_is_sent_and_afterwards_the_copy_is() {
    for request in [&[(b'Q', &b"select 1\0"[..])][..], &[(b'P', b"x"), (b'D', b"S"), (b'S', b"")]] {
        let (mut injector, ticket) = waiting(vec![Bytes::from_static(b"row")], b"I");
        let driver = [&messages(request)[..], &ticket[..]].concat();
        assert_eq!(sent(&mut injector, &driver, driver.len()), driver);
        assert_eq!(injector.slot().verdict(), Verdict::InFlight);
        let answer = messages(&[(b'C', b"SELECT 1\0"), (b'Z', b"I"), (b'I', b""), (b'Z', b"I")]);
        assert_eq!(heard(&mut injector, &answer, 4).unwrap(), tags(&answer));
        let sql = injector.slot().next_ticket().unwrap();
        let ticket = messages(&[(b'Q', format!("{sql}\0").as_bytes())]);
        assert_eq!(tags(&sent(&mut injector, &ticket, ticket.len())).last(), Some(&('S', 0)));
        assert_eq!(injector.slot().verdict(), Verdict::Sent);
    }
}

/// The server ignores the Sync behind the statement of a COPY of the driver's, so one answer less is to come.
#[test]
fn after_a_copy_of_the_drivers_the_connection_counts_as_idle() {
    let mut injector = logged_in(b"I");
    let statement = messages(&[(b'B', b"x"), (b'E', b"y"), (b'S', b"")]);
    let data = messages(&[(b'd', b"rows"), (b'c', b""), (b'S', b"")]);
    for answers in [[&b"G"[..], b"CZ"], [b"G", b"EZ"], [b"EZ", b"Z"]] {
        for (request, answer) in [&statement, &data].into_iter().zip(answers) {
            sent(&mut injector, request, request.len());
            let bodies = answer.iter().map(|tag| (*tag, if *tag == b'Z' { &b"I"[..] } else { b"" }));
            heard(&mut injector, &messages(&bodies.collect::<Vec<_>>()), 100).unwrap();
        }
        assert_eq!(injector.open_requests, Some(0));
    }
}

#[test]
fn the_driver_hears_what_answers_a_simple_query() {
    let answer = messages(&[
        (b'3', b""),
        (b'1', b""),
        (b'N', b"a notice"),
        (b'2', b""),
        (b'C', b"INSERT 0 1\0"),
        (b'2', b""),
        (b'G', b"\x01\0\0"),
        (b'N', b"another"),
        (b'C', b"COPY 100\0"),
        (b'Z', b"I"),
    ]);
    for size in 1..=answer.len() {
        let mut injector = sent_copy();
        let expected = [('N', 8), ('N', 7), ('C', 9), ('Z', 1)];
        assert_eq!(heard(&mut injector, &answer, size).unwrap(), expected, "in pieces of {size}");
        // Nothing of what comes later is touched.
        let query = messages(&[(b'Q', b"select 1\0")]);
        sent(&mut injector, &query, query.len());
        let later = messages(&[(b'2', b""), (b'C', b"SELECT 1\0"), (b'Z', b"I")]);
        assert_eq!(heard(&mut injector, &later, size).unwrap(), tags(&later));
    }
}

#[test]
fn errors_reach_the_driver_wherever_they_happen() {
    let early = messages(&[(b'3', b""), (b'E', b"relation"), (b'Z', b"I")]);
    let late = [noted(), messages(&[(b'2', b""), (b'G', b""), (b'E', b"row"), (b'Z', b"I")])].concat();
    let last =
        [noted(), messages(&[(b'2', b""), (b'G', b""), (b'C', b"COPY 1\0"), (b'E', b"key"), (b'Z', b"I")])]
            .concat();
    for size in 1..=last.len() {
        for (answer, expected) in [
            (&early[..], &[('E', 8), ('Z', 1)][..]),
            (&late, &[('E', 3), ('Z', 1)]),
            (&last, &[('C', 7), ('E', 3), ('Z', 1)]),
        ] {
            assert_eq!(heard(&mut sent_copy(), answer, size).unwrap(), expected);
        }
    }
}

#[test]
fn rows_that_the_server_did_not_ask_for_do_not_pass_for_written() {
    let answer = [noted(), messages(&[(b'2', b""), (b'C', b"SELECT 1\0"), (b'Z', b"I")])].concat();
    let error = heard(&mut sent_copy(), &answer, answer.len()).unwrap_err();
    assert!(error.to_string().contains("no COPY FROM STDIN"), "{error}");
}

#[test]
fn an_answer_in_another_order_ends_the_connection() {
    let copied = [(b'2', &b""[..]), (b'G', b""), (b'C', b"COPY 1\0"), (b'Z', b"I")];
    for wrong in [
        // A statement before the COPY returned a row.
        messages(&[(b'3', b""), (b'1', b""), (b'2', b""), (b'D', b"row"), (b'C', b"SELECT 1\0")]),
        // An answer is missing, or the whole was cut short.
        messages(&[(b'1', b"")]),
        messages(&[(b'3', b""), (b'Z', b"I")]),
        [noted(), messages(&copied[..2]), messages(&[(b'Z', b"I")])].concat().as_slice().into(),
        // There is one too many.
        [noted(), messages(&copied[..3]), messages(&[(b'C', b"COPY 1\0")])].concat().as_slice().into(),
        [noted(), messages(&copied), messages(&[(b'Z', b"I")])].concat().as_slice().into(),
    ] {
        for size in [1, wrong.len()] {
            let error = heard(&mut sent_copy(), &wrong, size).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
