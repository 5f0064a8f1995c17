//! A keyword argument, asked for what it is to be.

use std::path::PathBuf;
use std::time::Duration;

use howdah::{Error, name};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};

/// One keyword argument.
pub(crate) struct Argument<'a, 'py> {
    pub(crate) name: &'a str,
    pub(crate) value: &'a Bound<'py, PyAny>,
}

impl Argument<'_, '_> {
    pub(crate) fn refuse(&self, wanted: &str) -> Error {
        let shown = self.value.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
        Error::usage(format!("{} takes {wanted}, not {shown}", self.name))
    }

    pub(crate) fn text(&self) -> Result<String, Error> {
        self.value.extract().map_err(|_| self.refuse("a string"))
    }

    pub(crate) fn flag(&self) -> Result<bool, Error> {
        self.value.extract().map_err(|_| self.refuse("True or False"))
    }

    pub(crate) fn number(&self) -> Result<u64, Error> {
        match self.value.is_instance_of::<PyBool>() {
            true => Err(self.refuse("a number")),
            false => self.value.extract().map_err(|_| self.refuse("a number that is not negative")),
        }
    }

    pub(crate) fn within(&self, least: u64, most: u64) -> Result<usize, Error> {
        let fits = |number: &u64| (least..=most).contains(number);
        let number = self.number().ok().filter(fits).and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| self.refuse(&format!("a number from {least} to {most}")))
    }

    /// A time in seconds, whole or not.
    pub(crate) fn seconds(&self) -> Result<Duration, Error> {
        let seconds = match self.value.is_instance_of::<PyBool>() {
            true => None,
            false => self.value.extract::<f64>().ok(),
        };
        let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        duration.ok_or_else(|| self.refuse("a number of seconds"))
    }

    pub(crate) fn path(&self) -> Result<PathBuf, Error> {
        self.value.extract().map_err(|_| self.refuse("a path"))
    }

    /// One string, or several in a list; each is a whole name: nothing is folded or taken apart.
    pub(crate) fn names(&self) -> Result<Vec<String>, Error> {
        if let Ok(one) = self.value.cast::<PyString>() {
            return Ok(vec![one.to_string()]);
        }
        self.value.extract().map_err(|_| self.refuse("a string or a list of strings"))
    }

    /// Names of columns that there can be, each once.
    pub(crate) fn columns(&self) -> Result<Vec<String>, Error> {
        let names = self.names()?;
        for (at, column) in names.iter().enumerate() {
            name::check(column)?;
            if names[..at].contains(column) {
                return Err(Error::usage(format!("{} names {column:?} twice", self.name)));
            }
        }
        Ok(names)
    }

    pub(crate) fn pairs(&self) -> Result<Vec<(String, String)>, Error> {
        let refuse = || self.refuse("a dict of strings");
        let dict = self.value.cast::<PyDict>().map_err(|_| refuse())?;
        let mut pairs = Vec::with_capacity(dict.len());
        for (name, value) in dict {
            let name: String = name.extract().map_err(|_| refuse())?;
            let value: String = value.extract().map_err(|_| refuse())?;
            pairs.push((name, value));
        }
        Ok(pairs)
    }

    pub(crate) fn one_of<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, Error> {
        let text = self.text().unwrap_or_default();
        let chosen = choices.iter().find(|(name, _)| *name == text);
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<String> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
            self.refuse(&names.join(" or "))
        })
    }
}
