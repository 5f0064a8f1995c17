//! The reading side of a stream: bytes as they come, cut into records, encoded, and handed to the writer.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use howdah_source::text::live::LiveCutter;
use howdah_source::{Dialect, Field, Piece, Span};

use super::arrival::Arrival;
use super::intake::Intake;
use super::origin::Source;
use super::positions::Positions;
use super::reading::InputPlan;
use super::row::{RecordRow, SpellingScratch};
use super::settle::{FlowControl, RecordGroup, RecordState, SentRecord};
use super::state_table::SharedTable;
use super::trace::FileMark;
use super::watch::StreamWatch;
use super::{DRAIN, Ended, PATIENCE};
use crate::error::{Committed, Error, ErrorKind};
use crate::options::OnError;
use crate::plan::Plan;
use crate::read::records::Records;
use crate::rows::OpenField;
use crate::writer::{Ack, Tag, Writer};

/// So much memory records may take that are not settled, beside the writer's queue.
const MOST_HELD: usize = 256 * 1024 * 1024;

/// Carries records from the source to the writer.
pub(super) struct Carrier {
    intake: Intake,
    plan: Plan,
    dialect: Arc<Dialect>,
    writer: Arc<Writer>,
    watch: StreamWatch,
    batches: Sender<RecordGroup>,
    between: Arc<FlowControl>,
    fields: Vec<Field>,
    scratch: SpellingScratch,
    row: Vec<u8>,
    open: Vec<OpenField>,
    positions: Positions,
    /// When somebody's wish to stop was noticed.
    stopping: Option<Instant>,
}

/// Whether to go on with the next piece.
enum Proceed {
    Piece,
    End,
}

impl Carrier {
    pub(super) fn new(
        intake: Intake,
        found: InputPlan,
        writer: Arc<Writer>,
        watch: StreamWatch,
        (batches, between): (Sender<RecordGroup>, Arc<FlowControl>),
        table: Option<SharedTable>,
    ) -> Carrier {
        let positions = Positions::new(table, &intake.start, intake.source.at());
        Carrier {
            intake,
            plan: found.plan,
            dialect: found.dialect,
            writer,
            watch,
            batches,
            between,
            fields: Vec::new(),
            scratch: SpellingScratch::default(),
            row: Vec::new(),
            open: Vec::new(),
            positions,
            stopping: None,
        }
    }

    /// Reads until the input ends, somebody says stop, or a record or the writer makes an end of it.
    ///
    /// # Errors
    /// The input cannot be read; the writer takes no more.
    pub(super) fn run(&mut self, on_error: OnError) -> Result<Ended, Error> {
        let name = self.intake.cutter.name();
        let mut file = self.intake.source.mark();
        let mut arrival = Arrival::Bytes;
        loop {
            if arrival == Arrival::Truncated {
                self.tell_of_loss(&name);
            } else {
                while let Some(piece) = self.intake.cutter.cut(arrival == Arrival::End)? {
                    if let Proceed::End = self.piece(piece, file.clone(), on_error)? {
                        return Ok(Ended::Failed);
                    }
                }
            }
            if arrival == Arrival::NextFile {
                if let Some(piece) = self.intake.cutter.cut_ended()
                    && let Proceed::End = self.piece(piece, file.clone(), on_error)?
                {
                    return Ok(Ended::Failed);
                }
                if let Proceed::End = self.torn(file.take(), on_error)? {
                    return Ok(Ended::Failed);
                }
            }
            if arrival == Arrival::End || self.intake.cutter.has_ended() {
                return Ok(Ended::Input);
            }
            if matches!(arrival, Arrival::NextFile | Arrival::Truncated) {
                self.positions.leave();
                self.intake.cutter = LiveCutter::new(name.clone(), self.dialect.clone(), 0, 1);
                self.intake.cutter.confine_stray_quotes(self.plan.reading.widths());
            }
            if self.watch.control().is_cancelled() {
                self.tell_of_rest();
                return Ok(Ended::Stopped);
            }
            if self.between.has_failed() {
                return Ok(Ended::Failed);
            }
            if self.between.held() > MOST_HELD {
                // Rejected records behind a row whose commit takes long: the writer's queue does not bound them.
                std::thread::sleep(PATIENCE / 10);
                self.intake.source.keep_up()?;
                arrival = Arrival::Nothing;
                continue;
            }
            let Intake { source, cutter, waiting, .. } = &mut self.intake;
            let before = cutter.held().len();
            arrival = source.read(cutter.held(), waiting)?;
            let bytes = (cutter.held().len() - before) as u64;
            self.watch.control().progress().add_bytes_read(bytes);
            if arrival == Arrival::Bytes {
                file = source.mark();
                self.positions.read(file.as_ref(), source.at())?;
            }
        }
    }

    /// What a file ends with that was put aside, if it is no whole record: nobody will write its end, and half of a record may look
    /// like a whole one.
    fn torn(&mut self, file: Option<FileMark>, on_error: OnError) -> Result<Proceed, Error> {
        let Some(piece) = self.intake.cutter.cut(true)? else { return Ok(Proceed::Piece) };
        let bytes = piece.bytes().len();
        if piece.bytes().trim_ascii().is_empty() {
            return Ok(Proceed::Piece);
        }
        let said = format!("{} ends within a record", piece.origin.source);
        self.watch.control().notice(format!("{said}, of which {bytes} bytes were read: it is not written"));
        if on_error == OnError::Stop {
            return Ok(Proceed::Piece);
        }
        let error = Error::new(ErrorKind::Data, "the file ends within the record").with_sqlstate("22P04");
        let span = Span { start: 0, end: bytes, lines_before: 0 };
        self.watch.control().add_rows_read(1);
        let sent = SentRecord { span, state: RecordState::Refused(error) };
        let base = self.positions.base();
        self.send(RecordGroup { piece: Arc::new(piece), file, base, records: vec![sent], is_whole: true })
    }

    fn send(&self, batch: RecordGroup) -> Result<Proceed, Error> {
        self.between.add(&batch);
        // Where nobody listens any more, the failure has been told.
        Ok(if self.batches.send(batch).is_ok() { Proceed::Piece } else { Proceed::End })
    }

    /// The end of a line was overwritten before it was written to the end, or read.
    fn tell_of_loss(&mut self, name: &str) {
        let lost = self.intake.cutter.held().len();
        let said = match lost {
            0 => format!(
                "{name} was cut off: it is read from its start; whether more stood behind what was read cannot be known"
            ),
            lost => format!(
                "{name} was cut off within a record, of which {lost} bytes were read: it is not written"
            ),
        };
        self.watch.control().notice(said);
        self.intake.cutter.held().clear();
    }

    /// A record whose end has not come is none.
    fn tell_of_rest(&mut self) {
        let rest = self.intake.cutter.held().len();
        if rest > 0 {
            let said = format!(
                "the last {rest} bytes were not written: they are the start of a record without an end"
            );
            self.watch.control().notice(said);
        }
    }

    fn piece(&mut self, piece: Piece, file: Option<FileMark>, on_error: OnError) -> Result<Proceed, Error> {
        let piece = Arc::new(piece);
        let mut sent = Vec::new();
        let result = self.records(&piece, on_error, &mut sent);
        let is_whole = matches!(result, Ok(true));
        self.watch.control().add_rows_read(sent.len() as u64);
        let base = self.positions.base();
        let heard = self.send(RecordGroup { piece, file, base, records: sent, is_whole })?;
        Ok(if result? { heard } else { Proceed::End })
    }

    /// Writes the records of a piece; `false`: one of them ends the stream.
    fn records(
        &mut self,
        piece: &Piece,
        on_error: OnError,
        sent: &mut Vec<SentRecord>,
    ) -> Result<bool, Error> {
        let fields = std::mem::take(&mut self.fields);
        let mut records = Records::new(piece, &self.plan, fields)?;
        while let Some(record) = records.next() {
            let span = match &record {
                Ok(record) => record.span,
                Err(bad) => bad.span,
            };
            let tag = self.positions.tag(piece, span);
            let state = match record {
                _ if self.positions.is_settled(tag.as_ref()) => RecordState::Known,
                Err(bad) => RecordState::Refused(bad.error),
                Ok(record) => {
                    let row = RecordRow { plan: &self.plan, record: &record, scratch: &self.scratch };
                    self.row.clear();
                    self.open.clear();
                    match self.writer.shape().encode(&row, &mut self.row, &mut self.open) {
                        Err(error) => RecordState::Refused(error),
                        Ok(()) => {
                            let ack = queue(
                                &self.writer,
                                (&self.row, &self.open, tag),
                                &self.watch,
                                &self.between,
                                &mut self.intake.source,
                                &mut self.stopping,
                            );
                            match ack? {
                                Some(ack) => RecordState::Queued(ack),
                                None => return Ok(false),
                            }
                        }
                    }
                }
            };
            let ends = matches!(state, RecordState::Refused(_)) && on_error == OnError::Stop;
            sent.push(SentRecord { span, state });
            if ends {
                return Ok(false);
            }
        }
        self.fields = records.into_fields();
        Ok(true)
    }
}

/// Hands a row to the writer, however long it has no room; `None`: another record has ended the stream meanwhile.
fn queue(
    writer: &Writer,
    (row, open, tag): (&[u8], &[OpenField], Option<Tag>),
    watch: &StreamWatch,
    between: &FlowControl,
    source: &mut Source,
    stopping: &mut Option<Instant>,
) -> Result<Option<Ack>, Error> {
    loop {
        let queued = match &tag {
            Some(tag) => writer.write_tagged_blocking(row, open, tag.clone()),
            None => writer.write_encoded_blocking(row, open),
        };
        match queued {
            Err(error) if error.kind() == ErrorKind::QueueFull => {}
            other => return other.map(Some),
        }
        // Held up here, files may come and go.
        source.keep_up()?;
        if between.has_failed() {
            return Ok(None);
        }
        if watch.control().is_cancelled() && stopping.get_or_insert_with(Instant::now).elapsed() >= DRAIN {
            return Err(Error::new(
                ErrorKind::PartlyCommitted,
                format!("the server has not taken what was read within {} s", DRAIN.as_secs()),
            )
            .with_visible(Committed::Unknown, "unknown: rows that were sent may be in the table"));
        }
    }
}
