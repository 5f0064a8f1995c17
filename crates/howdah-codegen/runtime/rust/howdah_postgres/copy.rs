//! Appenders: rows go into a table by COPY, all of them or none.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use tokio_postgres::types::Type;
use tokio_postgres::{CopyInSink, Transaction};

use super::Error;
use super::codec::{Encode, Refused, base, item};

/// What is sent at once.
const PART: usize = 1 << 16;
/// The signature of binary COPY, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// A row of a table that can be written.
pub trait WriteRow {
    /// All columns have a binary form.
    const BINARY: bool;

    /// Writes the columns in their order.
    fn put(&self, row: &mut RowWriter<'_>) -> Result<(), Refused>;
}

/// A row of a table that can be appended.
pub trait AppendRow: WriteRow {
    /// `COPY … FROM STDIN`.
    const COPY: &'static str;
    /// A statement with the same columns, which is only described.
    const SELECT: &'static str;
}

/// What takes the columns of a row.
#[derive(Debug)]
pub struct RowWriter<'a> {
    types: &'a [Type],
    out: &'a mut BytesMut,
    binary: bool,
    first: bool,
    /// The columns that were begun, and the last of them.
    begun: usize,
    column: &'static str,
}

impl RowWriter<'_> {
    /// Takes the next column.
    pub fn put<T: Encode>(&mut self, column: &'static str, value: &T) -> Result<(), Refused> {
        self.column = column;
        let ty = self
            .types
            .get(self.begun)
            .ok_or_else(|| Refused::new("the table lacks it"))?;
        self.begun += 1;
        if self.first && !T::accepts(base(ty)) {
            return Err(Refused::new(format!(
                "it is a {ty}, for which this code was not generated"
            )));
        }
        if self.binary {
            return item(value, ty, self.out);
        }
        if self.begun > 1 {
            self.out.put_u8(b'\t');
        }
        if value.is_null() {
            self.out.put_slice(b"\\N");
            return Ok(());
        }
        let mut text = String::new();
        value.literal(base(ty), &mut text)?;
        for byte in text.bytes() {
            match byte {
                b'\\' => self.out.put_slice(b"\\\\"),
                b'\t' => self.out.put_slice(b"\\t"),
                b'\n' => self.out.put_slice(b"\\n"),
                b'\r' => self.out.put_slice(b"\\r"),
                byte => self.out.put_u8(byte),
            }
        }
        Ok(())
    }
}

/// Appends rows to a table by COPY, within a transaction.
///
/// [`Appender::finish`] sends the last rows. Every other way out aborts the COPY and with it the transaction: an
/// error, a bad value, an appender or a future that is dropped. Until then the connection takes no other statement.
pub struct Appender<'a, R> {
    /// None as soon as something went wrong, and while a part is on its way: what is dropped then aborts the COPY.
    sink: Option<Pin<Box<CopyInSink<Bytes>>>>,
    types: Vec<Type>,
    buffer: BytesMut,
    appended: u64,
    rows: PhantomData<fn(&'a R)>,
}

impl<R> fmt::Debug for Appender<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Appender")
            .field("appended", &self.appended)
            .finish_non_exhaustive()
    }
}

impl<'a, R: AppendRow> Appender<'a, R> {
    /// Begins a COPY into the table of the rows.
    pub async fn new(db: &'a Transaction<'_>) -> Result<Self, Error> {
        Self::begin(db, R::SELECT, R::COPY).await
    }
}

impl<'a, R: WriteRow> Appender<'a, R> {
    /// Begins a COPY. The statement beside it has the same columns, and is only described.
    pub(super) async fn begin(
        db: &'a Transaction<'_>,
        select: &str,
        copy: &str,
    ) -> Result<Self, Error> {
        // The driver finds out the types of the columns, and what these are made of.
        let described = db.prepare(select).await?;
        let types = described
            .columns()
            .iter()
            .map(|column| column.type_().clone())
            .collect();
        let sink = db.copy_in(copy).await?;
        let mut buffer = BytesMut::with_capacity(2 * PART);
        if R::BINARY {
            buffer.put_slice(HEADER);
        }
        Ok(Self {
            sink: Some(Box::pin(sink)),
            types,
            buffer,
            appended: 0,
            rows: PhantomData,
        })
    }

    /// Appends a row. A value that its column does not take is refused, and nothing will be there.
    pub async fn append(&mut self, row: &R) -> Result<(), Error> {
        if self.sink.is_none() {
            return Err(Error::Aborted);
        }
        self.put(row).inspect_err(|_| self.sink = None)?;
        if self.buffer.len() >= PART {
            self.send().await?;
        }
        Ok(())
    }

    /// Sends the last rows, and gives their number as the server counted it.
    pub async fn finish(mut self) -> Result<u64, Error> {
        if R::BINARY {
            self.buffer.put_i16(-1);
        }
        self.send().await?;
        let mut sink = self.sink.take().ok_or(Error::Aborted)?;
        let counted = sink.as_mut().finish().await?;
        if counted != self.appended {
            return Err(Error::Count {
                sent: self.appended,
                counted,
            });
        }
        Ok(counted)
    }

    /// A row's bytes are in the buffer when it is complete, or not at all.
    fn put(&mut self, row: &R) -> Result<(), Error> {
        let start = self.buffer.len();
        if R::BINARY {
            let count = i16::try_from(self.types.len());
            self.buffer.put_i16(count.map_err(|_| Error::Aborted)?);
        }
        let mut writer = RowWriter {
            types: &self.types,
            out: &mut self.buffer,
            binary: R::BINARY,
            first: self.appended == 0,
            begun: 0,
            column: "?",
        };
        let put = row.put(&mut writer);
        let column = writer.column;
        if let Err(why) = put {
            self.buffer.truncate(start);
            return Err(Error::Append {
                row: self.appended + 1,
                column,
                why,
            });
        }
        if !R::BINARY {
            self.buffer.put_u8(b'\n');
        }
        self.appended += 1;
        Ok(())
    }

    async fn send(&mut self) -> Result<(), Error> {
        let mut sink = self.sink.take().ok_or(Error::Aborted)?;
        sink.send(self.buffer.split().freeze()).await?;
        self.sink = Some(sink);
        Ok(())
    }
}

/// Appends all rows, or none of them, and gives their number.
pub async fn append_all<R: AppendRow>(
    db: &Transaction<'_>,
    rows: impl IntoIterator<Item = R>,
) -> Result<u64, Error> {
    let mut appender = Appender::new(db).await?;
    for row in rows {
        appender.append(&row).await?;
    }
    appender.finish().await
}
