//! The keyword arguments of `howdah.load` in the engine's vocabulary.

use howdah::name::{self, TableName};
use howdah::options::{
    DateFormat, Encoding, Format, HeaderOption, Mode, Names, OnError, OnNul, RejectLimit, WritePath,
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
        let mut options =
            LoadOptions { table: table.map(TableName::parse).transpose()?, ..LoadOptions::default() };
        for (name, value) in given {
            let name = name.to_string();
            set(&mut options, &Argument { name: &name, value: &value })?;
        }
        if options.on_error == OnError::Stop && (options.reject_limit.is_some() || options.rejects.is_some())
        {
            return Err(Error::usage("reject_limit and rejects are about ignored records")
                .with_hint("add on_error=\"ignore\""));
        }
        Ok(options)
    };
    read().map_err(|error| raised(py, &error))
}

fn set(options: &mut LoadOptions, given: &Argument<'_, '_>) -> Result<(), Error> {
    let dialect = &mut options.dialect;
    match given.name {
        "mode" => options.mode = given.mode()?,
        "key" => options.key = given.columns()?,
        "create_schema" => options.create_schema = given.flag()?,
        "unlogged" => options.unlogged = given.flag()?,
        "dry_run" => options.dry_run = given.flag()?,
        "format" => options.format = Some(given.format()?),
        "encoding" => options.encoding = Some(Encoding::named(&given.text()?)?),
        "delimiter" => dialect.delimiter = Some(given.byte()?),
        "null" => dialect.null = Some(given.text()?),
        "default" => dialect.default = Some(given.text()?),
        "quote" => dialect.quote = Some(given.byte()?),
        "escape" => dialect.escape = Some(given.byte()?),
        "decimal" => options.decimal_comma = given.one_of(&[(".", false), (",", true)])?,
        "date_format" => options.date_format = Some(DateFormat::parse(&given.text()?)?),
        "header" => options.header = given.header()?,
        "hive" => options.hive = given.flag()?,
        "force_null" => options.force_null = given.names()?,
        "force_not_null" => options.force_not_null = given.names()?,
        "skip_lines" => options.skip_lines = given.number()?,
        "limit" => options.limit = Some(given.number()?),
        "columns" => options.columns = Some(given.columns()?),
        "map" => options.map = given.pairs()?,
        "skip_columns" => options.skip_columns = given.names()?,
        "types" => options.types = given.pairs()?,
        "names" => options.names = given.one_of(&[("keep", Names::Keep), ("snake", Names::Snake)])?,
        "file_column" => {
            let column = given.text()?;
            name::check(&column)?;
            options.file_column = Some(column);
        }
        "on_error" => {
            options.on_error = given.one_of(&[("stop", OnError::Stop), ("ignore", OnError::Ignore)])?;
        }
        "reject_limit" => options.reject_limit = Some(given.reject_limit()?),
        "rejects" => options.rejects = Some(given.path()?),
        "on_nul" => options.on_nul = given.one_of(&[("error", OnNul::Error), ("strip", OnNul::Strip)])?,
        "jobs" => options.jobs = Some(given.within(1, 1024)?),
        "write_path" => options.write_path = given.write_path()?,
        "landing_table" => options.landing_table = Some(TableName::parse(&given.text()?)?),
        "keep_landing" => options.keep_landing = given.flag()?,
        "rows_per_statement" => options.rows_per_statement = Some(given.within(1, 1_000_000)?),
        "freeze" => options.freeze = given.flag()?,
        "before" => options.before = given.names()?,
        "after" => options.after = given.names()?,
        "analyze" => options.analyze = given.flag()?,
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
                "nanoseconds" => options.allow.nanoseconds = true,
                "decimals" => options.allow.decimals = true,
                "floats" => options.allow.floats = true,
                _ => return Err(self.refuse("\"nanoseconds\", \"decimals\" or \"floats\"")),
            }
        }
        Ok(())
    }
}
