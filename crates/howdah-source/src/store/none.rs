//! In the place of stores where they are not compiled in: objects that nobody can have.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use howdah_message::Message;

use super::Address;
use crate::Progress;
use crate::error::{Error, ErrorKind};

/// # Errors
/// Always.
pub(crate) fn find(address: &Address, _progress: &Progress) -> Result<Vec<Object>, Error> {
    let name = address.name(&address.key);
    Err(Error::new(
        ErrorKind::Source,
        format!("cannot read {name}: this program was built without object stores (the feature stores)"),
    ))
}

/// What nobody can have.
#[derive(Debug, Clone, Copy)]
enum Never {}

/// An object.
#[derive(Debug, Clone)]
pub struct Object(Never);

/// Its ends.
#[derive(Debug)]
pub struct Ends(Never);

/// Why it cannot be read.
#[derive(Debug)]
pub struct Failure(Never);

impl Object {
    pub fn name(&self) -> &Arc<str> {
        match self.0 {}
    }

    pub fn size(&self) -> u64 {
        match self.0 {}
    }

    pub fn version(&self) -> String {
        match self.0 {}
    }

    pub fn file_name(&self) -> Option<String> {
        match self.0 {}
    }

    pub fn ends(&self) -> io::Result<Ends> {
        match self.0 {}
    }

    pub fn reader(&self, _progress: &Progress) -> Self {
        match self.0 {}
    }

    pub fn ranges(&self, _ranges: &[Range<u64>], _progress: &Progress) -> io::Result<Vec<Bytes>> {
        match self.0 {}
    }
}

impl Read for Object {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl Ends {
    pub fn wait(&self, _progress: &Progress) -> io::Result<Result<Self, Failure>> {
        match self.0 {}
    }

    pub fn bytes(&self, _range: &Range<u64>) -> Option<Bytes> {
        match self.0 {}
    }
}

impl Failure {
    pub fn hint(&self) -> Option<&Message> {
        match self.0 {}
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl std::error::Error for Failure {}
