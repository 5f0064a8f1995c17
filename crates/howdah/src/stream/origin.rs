//! Where the bytes of a stream come from: standard input, or a file that grows.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use howdah_source::PIECE_BYTES;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::arrival::{Arrival, cannot_read, read_some};
use super::follow::Follow;
use super::growth::{GrowthWatch, LOOK_EVERY};
use super::place::Saved;
use super::rotated;
use super::trace::FileMark;
use super::waiting::{Told, Waiting};
use crate::control::Control;
use crate::error::Error;

/// An input that goes on.
pub(super) enum Source {
    Stdin(Stdin),
    Follow(Box<Follow>, GrowthWatch),
}

impl Source {
    /// The files of `path`.
    ///
    /// # Errors
    /// See [`Follow::new`].
    pub(super) fn follow(path: &Path, control: &Control, waiting: &Waiting) -> Result<Source, Error> {
        let follow = Box::new(Follow::new(path, control.clone())?);
        Ok(Source::Follow(follow, GrowthWatch::new(waiting, rotated::directory(path))))
    }

    /// Standard input.
    ///
    /// # Errors
    /// It is closed.
    pub(super) fn stdin(waiting: &Waiting) -> Result<Source, Error> {
        let owned = io::stdin().as_fd().try_clone_to_owned().map_err(|error| cannot_read("-", error))?;
        let file = File::from(owned);
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let told = waiting.listen(&file);
        Ok(Source::Stdin(Stdin { file: Arc::new(file), is_file, told }))
    }

    /// Appends what is there to `held`, or what is there after one waiting.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read(&mut self, held: &mut Vec<u8>, waiting: &Waiting) -> Result<Arrival, Error> {
        match self {
            Source::Stdin(stdin) => stdin.read(held, waiting).map_err(|error| cannot_read("-", error)),
            Source::Follow(follow, growth) => follow.read(held, waiting, growth),
        }
    }

    /// Which file is read; `None` where it is none, or none yet.
    pub(super) fn mark(&self) -> Option<FileMark> {
        match self {
            Source::Stdin(stdin) if stdin.is_file => FileMark::of(stdin.file.clone()).ok(),
            Source::Stdin(_) => None,
            Source::Follow(follow, _) => follow.mark(),
        }
    }

    /// Opens what is to be read later, where that may be gone until then.
    ///
    /// # Errors
    /// It cannot be looked for.
    pub(super) fn keep_up(&mut self) -> Result<(), Error> {
        match self {
            Source::Stdin(_) => Ok(()),
            Source::Follow(follow, _) => follow.keep_up(),
        }
    }

    /// Up to where the file was read.
    pub(super) fn at(&self) -> u64 {
        match self {
            Source::Stdin(stdin) => (&*stdin.file).stream_position().unwrap_or(0),
            Source::Follow(follow, _) => follow.at(),
        }
    }

    /// Goes on at `offset` of the file.
    ///
    /// # Errors
    /// It has no places.
    pub(super) fn seek(&mut self, offset: u64) -> Result<(), Error> {
        match self {
            Source::Stdin(stdin) => {
                let sought = (&*stdin.file).seek(SeekFrom::Start(offset));
                sought.map(drop).map_err(|error| cannot_read("-", error))
            }
            Source::Follow(follow, _) => {
                follow.seek(offset);
                Ok(())
            }
        }
    }
}

/// Standard input: a pipe, a terminal, or a file.
pub(super) struct Stdin {
    file: Arc<File>,
    is_file: bool,
    told: Option<Told>,
}

impl Stdin {
    /// Whether it is the file that `saved` tells of.
    pub(super) fn is(&self, saved: &Saved) -> bool {
        self.is_file && FileMark::of(self.file.clone()).is_ok_and(|mark| saved.trace.is_of(&mark))
    }

    /// All that is there, up to a piece or an eighth of what is held: a record of any size is then looked at so seldom that
    /// the looking does not show.
    fn read(&mut self, held: &mut Vec<u8>, waiting: &Waiting) -> io::Result<Arrival> {
        let before = held.len();
        let most = PIECE_BYTES.max(before / 8);
        if !self.is_readable()? {
            let patience = self.told.is_none().then_some(LOOK_EVERY);
            waiting.wait(self.told.as_ref(), patience)?;
        }
        while held.len() - before < most && self.is_readable()? {
            if read_some(&mut &*self.file, held, most)? == 0 {
                // Told again by the next read.
                return Ok(if held.len() == before { Arrival::End } else { Arrival::Bytes });
            }
        }
        Ok(if held.len() == before { Arrival::Nothing } else { Arrival::Bytes })
    }

    fn is_readable(&self) -> io::Result<bool> {
        match poll(&mut [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
