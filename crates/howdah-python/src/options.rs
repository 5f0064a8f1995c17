//! The keyword arguments of `howdah.load` in the engine's vocabulary.

use howdah::name::{self, TableName};
use howdah::options::{
    ColumnCompression, ColumnNames, DateFormat, Delimiter, Encoding, Format, HeaderOption, Indexes,
    Inference, Mode, OnError, OnNul, RejectLimit, Thousands, Unlogged, WritePath,
};
use howdah::{Error, LoadOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::argument::Argument;
use crate::error::raised;

/// The options that `given` asks for; what is not in it has its default.
pub(crate) fn read(table: Option<&str>, given: &Bound<'_, PyDict>) -> PyResult<LoadOptions> {
    let py = given.py();
    let read = || -> Result<LoadOptions, Error> {
        let mut options = LoadOptions::default();
        options.target.table = table.map(TableName::parse).transpose()?;
        for (name, value) in given {
            let name = name.to_string();
            set(&mut options, &Argument { name: &name, value: &value })?;
        }
        if options.tolerance.on_error == OnError::Stop
            && (options.tolerance.reject_limit.is_some() || options.tolerance.rejects.is_some())
        {
            return Err(Error::usage("reject_limit and rejects are about rejected records")
                .with_hint("add on_error=\"ignore\""));
        }
        Ok(options)
    };
    read().map_err(|error| raised(py, &error))
}

fn set(options: &mut LoadOptions, given: &Argument<'_, '_>) -> Result<(), Error> {
    let dialect = &mut options.input.dialect;
    match given.name {
        "mode" => options.target.mode = given.mode()?,
        "key" => options.target.key = given.columns()?,
        "create_schema" => options.target.create_schema = given.flag()?,
        "evolve" => options.target.evolve = given.flag()?,
        "column_compression" => {
            let words = ColumnCompression::ALL.map(|how| (how.name(), how));
            options.target.column_compression = given.one_of(&words)?;
        }
        "unlogged" => {
            options.target.unlogged = match given.flag() {
                Ok(unlogged) => unlogged.into(),
                Err(_) => given.one_of(&[(Unlogged::ThenLogged.name(), Unlogged::ThenLogged)])?,
            };
        }
        "dry_run" => options.target.dry_run = given.flag()?,
        "format" => options.input.format = Some(given.format()?),
        "encoding" => options.input.encoding = Some(Encoding::named(&given.text()?)?),
        "delimiter" => dialect.delimiter = Some(Delimiter::new(&given.text()?)?),
        "null" => dialect.null = Some(given.text()?),
        "default" => dialect.default = Some(given.text()?),
        "quote" => dialect.quote = Some(given.byte()?),
        "escape" => dialect.escape = Some(given.byte()?),
        "decimal" => options.input.decimal_comma = given.one_of(&[(".", false), (",", true)])?,
        "thousands" => options.input.thousands = Some(Thousands::parse(&given.text()?)?),
        "booleans" => options.input.booleans = given.booleans()?,
        "date_format" => options.input.date_format = Some(DateFormat::parse(&given.text()?)?),
        "header" => options.columns.header = given.header()?,
        "hive" => options.input.hive_partitions = given.flag()?,
        "force_null" => options.columns.force_null = given.names()?,
        "force_not_null" => options.columns.force_not_null = given.names()?,
        "skip_lines" => options.input.skip_lines = given.number()?,
        "limit" => options.input.limit = Some(given.number()?),
        "columns" => options.columns.column_list = Some(given.columns()?),
        "map" => options.columns.map = given.pairs()?,
        "skip_columns" => options.columns.skip_columns = given.names()?,
        "types" => options.columns.types = given.pairs()?,
        "infer" => {
            options.columns.infer = given.one_of(&Inference::ALL.map(|how| (how.name(), how)))?;
        }
        "names" => {
            options.columns.column_names =
                given.one_of(&[("keep", ColumnNames::Keep), ("snake", ColumnNames::Snake)])?
        }
        "file_column" => {
            let column = given.text()?;
            name::check(&column)?;
            options.columns.file_column = Some(column);
        }
        "on_error" => {
            options.tolerance.on_error =
                given.one_of(&[("stop", OnError::Stop), ("ignore", OnError::Ignore)])?;
        }
        "reject_limit" => options.tolerance.reject_limit = Some(given.reject_limit()?),
        "rejects" => options.tolerance.rejects = Some(given.path()?),
        "overwrite_rejects" => options.tolerance.overwrite_rejects = given.flag()?,
        "on_nul" => {
            options.tolerance.on_nul = given.one_of(&[("error", OnNul::Error), ("strip", OnNul::Strip)])?
        }
        "jobs" => options.writing.jobs = Some(given.within(1, 1024)?),
        "write_path" => options.writing.write_path = given.write_path()?,
        "landing_table" => options.writing.landing_table = Some(TableName::parse(&given.text()?)?),
        "keep_landing" => options.writing.keep_landing = given.flag()?,
        "rows_per_statement" => options.writing.rows_per_statement = Some(given.within(1, 1_000_000)?),
        "freeze" => options.writing.freeze = given.flag()?,
        "indexes" => options.writing.indexes = given.one_of(&Indexes::ALL.map(|of| (of.name(), of)))?,
        "disable_triggers" => options.writing.disable_triggers = given.flag()?,
        "sort" => options.writing.sort = given.text()?.parse()?,
        "max_rate" => options.writing.max_rate = Some(given.within(1, 1 << 50)? as u64),
        "lock_timeout" => options.writing.lock_timeout = Some(given.seconds()?),
        "load_id" => options.target.load_id = Some(given.text()?),
        "share" => options.target.share = given.flag()?,
        "before" => options.target.before = given.names()?,
        "after" => options.target.after = given.names()?,
        "analyze" => options.target.analyze = given.flag()?,
        "allow" => given.allow(options)?,
        unknown => return Err(Error::usage(format!("there is no argument {unknown}"))),
    }
    Ok(())
}

impl Argument<'_, '_> {
    fn byte(&self) -> Result<u8, Error> {
        match self.text()?.as_bytes() {
            [byte] => Ok(*byte),
            _ => Err(self.refuse("one byte")),
        }
    }

    fn mode(&self) -> Result<Mode, Error> {
        self.one_of(&Mode::ALL.map(|mode| (mode.name(), mode)))
    }

    fn format(&self) -> Result<Format, Error> {
        self.one_of(&Format::ALL.map(|format| (format.name(), format)))
    }

    fn write_path(&self) -> Result<WritePath, Error> {
        let name = self.text()?.replace('_', "-");
        WritePath::from_name(&name).ok_or_else(|| {
            let names: Vec<&str> = WritePath::ALL.iter().map(|path| path.name()).collect();
            self.refuse(&format!("one of {}", names.join(", ")))
        })
    }

    fn header(&self) -> Result<HeaderOption, Error> {
        if let Ok(header) = self.value.extract::<bool>() {
            return Ok(if header { HeaderOption::Yes } else { HeaderOption::No });
        }
        match self.text().as_deref() {
            Ok("auto") => Ok(HeaderOption::Auto),
            _ => Err(self.refuse("True, False or \"auto\"")),
        }
    }

    /// A pair of words, or a list of such pairs.
    fn booleans(&self) -> Result<Vec<(String, String)>, Error> {
        if let Ok(pair) = self.value.extract::<(String, String)>() {
            return Ok(vec![pair]);
        }
        self.value
            .extract::<Vec<(String, String)>>()
            .map_err(|_| self.refuse("a pair of words for true and false, or a list of such pairs"))
    }

    /// A number of records, or a share of them as `"5%"`.
    fn reject_limit(&self) -> Result<RejectLimit, Error> {
        if let Ok(rows) = self.number() {
            return Ok(RejectLimit::Rows(rows));
        }
        let text = self.text().unwrap_or_default();
        RejectLimit::parse(&text).ok_or_else(|| self.refuse("a number of records or a share such as \"5%\""))
    }

    fn allow(&self, options: &mut LoadOptions) -> Result<(), Error> {
        for loss in self.names()? {
            match loss.as_str() {
                "nanoseconds" => options.input.allow_loss.nanoseconds = true,
                "decimals" => options.input.allow_loss.decimals = true,
                "floats" => options.input.allow_loss.floats = true,
                _ => return Err(self.refuse("\"nanoseconds\", \"decimals\" or \"floats\"")),
            }
        }
        Ok(())
    }
}
