//! What is read, at the place where it goes on: the source, the bytes that were read of it and not cut yet, and what is waited with.

use std::path::Path;
use std::sync::Arc;

use howdah_source::text::live::LiveCutter;
use howdah_source::{Dialect, Widths};

use super::arrival::Arrival;
use super::origin::Source;
use super::place::{Place, Saved};
use super::reading;
use super::waiting::Waiting;
use crate::control::Control;
use crate::error::Error;
use crate::options::{Format, LoadOptions, OnError};
use crate::plan::reading::ReadingPlan;

/// An input and where in it one is.
pub(super) struct Intake {
    pub(super) source: Source,
    pub(super) cutter: LiveCutter,
    pub(super) waiting: Waiting,
    /// Where it was taken up.
    pub(super) start: Place,
    /// That is where an earlier stream ended.
    pub(super) is_resumed: bool,
}

/// How an input is read unless its records say otherwise.
pub(super) struct First {
    pub(super) format: Format,
    pub(super) usual: Arc<Dialect>,
    /// There is nothing behind the first record.
    pub(super) is_end: bool,
}

impl Intake {
    /// The growing file, or standard input.
    ///
    /// # Errors
    /// It cannot be read; the options make no dialect.
    pub(super) fn open(
        file: Option<&Path>,
        options: &LoadOptions,
        control: &Control,
    ) -> Result<Intake, Error> {
        let waiting = Waiting::new(control)?;
        let source = match file {
            Some(path) => Source::follow(path, control, &waiting)?,
            None => Source::stdin(&waiting)?,
        };
        let format = reading::format(options, file)?;
        let usual = Arc::new(Dialect::resolve(format.unwrap_or_default(), &options.input.dialect)?);
        let mut cutter = LiveCutter::new(source_name(file), usual, 0, 1);
        cutter.confine_stray_quotes((options.tolerance.on_error == OnError::Ignore).then(Widths::default));
        Ok(Intake {
            source,
            cutter,
            waiting,
            start: Place { line: 1, ..Place::default() },
            is_resumed: false,
        })
    }

    /// Begins at the place that an earlier stream left, in a file with such a base, where that can be found; that it cannot is said.
    ///
    /// # Errors
    /// What is there cannot be read.
    pub(super) fn take_up(&mut self, saved: &Saved, base: i64, control: &Control) -> Result<(), Error> {
        let is_found = match &mut self.source {
            Source::Follow(follow, _) => follow.take_up(&saved.trace)?,
            Source::Stdin(stdin) => stdin.is(saved),
        };
        if is_found {
            self.start = Place { file: self.source.mark(), base, offset: saved.offset(), line: saved.line };
        } else if let Source::Stdin(_) = self.source
            && saved.offset() > 0
        {
            control.notice(format!(
                "standard input is not the file that the state knows (replaced, or cut off): it is read from its start, and what \
                 stood behind byte {} of the other one is not read",
                saved.offset()
            ));
        }
        self.is_resumed = is_found;
        Ok(())
    }

    /// Waits until the first record is whole; `None`: the input has no record, or somebody said stop.
    ///
    /// # Errors
    /// It cannot be read, or is nothing that can be.
    pub(super) fn first(
        &mut self,
        file: Option<&Path>,
        options: &LoadOptions,
        control: &Control,
    ) -> Result<Option<First>, Error> {
        let mut format = reading::format(options, file)?;
        let mut usual = Arc::new(Dialect::resolve(format.unwrap_or_default(), &options.input.dialect)?);
        let Intake { source, cutter, waiting, .. } = self;
        if let (Source::Follow(follow, _), Some(path)) = (&*source, file)
            && !follow.is_there()
        {
            control.notice(format!("waiting for {}", path.display()));
        }
        loop {
            if control.is_cancelled() {
                return Ok(None);
            }
            let before = cutter.held().len();
            let arrival = source.read(cutter.held(), waiting)?;
            control.progress().add_bytes_read((cutter.held().len() - before) as u64);
            let is_end = arrival == Arrival::End;
            match arrival {
                Arrival::Nothing => continue,
                // What was there had no record.
                Arrival::NextFile | Arrival::Truncated => {
                    let lost = cutter.held().trim_ascii().len();
                    if lost > 0 {
                        let name = cutter.name();
                        control.notice(format!(
                            "{name} was replaced or cut off before its first record was whole: {lost} bytes are not written"
                        ));
                    }
                    cutter.restart();
                    continue;
                }
                Arrival::Bytes | Arrival::End => {}
            }
            if format.is_none() && !cutter.held().trim_ascii().is_empty() {
                let said = reading::format_of_start(cutter.held())?;
                usual = Arc::new(Dialect::resolve(said, &options.input.dialect)?);
                cutter.set_dialect(usual.clone());
                format = Some(said);
            }
            if cutter.first(is_end)?.is_some() {
                return Ok(Some(First { format: format.unwrap_or_default(), usual, is_end }));
            }
            if is_end {
                return Ok(None);
            }
        }
    }

    /// Goes from the first record, which is known by now, to the place where reading goes on.
    ///
    /// # Errors
    /// The input has no places.
    pub(super) fn go_on(&mut self, reading: &ReadingPlan, control: &Control) -> Result<(), Error> {
        let Place { offset, line, .. } = self.start;
        if offset > 0 {
            self.source.seek(offset)?;
            // What was read of the start will not be written.
            control.rewind_to(0);
            self.cutter = LiveCutter::new(self.cutter.name(), reading.dialect.clone(), offset, line);
        }
        self.cutter.confine_stray_quotes(reading.widths());
        self.start.file = self.source.mark();
        Ok(())
    }
}

/// What the input is called in messages.
pub(super) fn source_name(file: Option<&Path>) -> Arc<str> {
    file.map_or_else(|| Arc::from("-"), |path| Arc::from(path.to_string_lossy()))
}
