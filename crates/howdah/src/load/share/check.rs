//! Which options a shared load refuses: what is done once around all rows has no place in it.

use howdah_message::{Message, setting};
use howdah_source::Input;

use crate::error::Error;
use crate::options::{Indexes, LoadOptions, Mode, Unlogged, WritePath};

/// A longer name is none that a person would read.
const LONGEST_ID: usize = 200;

/// Refuses what contradicts sharing, and sharing without what it needs.
///
/// # Errors
/// A usage error that names the option or the input.
pub(in crate::load) fn check(options: &LoadOptions, inputs: &[Input]) -> Result<(), Error> {
    let target = &options.target;
    let id = match (&target.load_id, target.share) {
        (None, false) => return Ok(()),
        (Some(_), false) => {
            return Err(Error::usage(message![
                setting::LOAD_ID,
                " names a load that several processes share: it goes with ",
                setting::SHARE.bool(true)
            ]));
        }
        (None, true) => {
            return Err(Error::usage(message![
                setting::SHARE.bool(true),
                " needs the name that all processes give the load: ",
                setting::LOAD_ID.placeholder("ID")
            ]));
        }
        (Some(id), true) => id,
    };
    if id.is_empty() || id.len() > LONGEST_ID || id.chars().any(char::is_control) {
        return Err(Error::usage(message![
            setting::LOAD_ID,
            format!(" has 1 to {LONGEST_ID} bytes, and no control characters")
        ]));
    }
    if let Some((option, why)) = refused(options) {
        return Err(Error::usage(message![setting::SHARE.bool(true), " cannot be with ", option, why]));
    }
    match inputs.iter().find(|input| input.version().is_none()) {
        None => Ok(()),
        Some(input) => Err(Error::usage(message![
            setting::SHARE.bool(true),
            format!(" is for files and objects, which every process can read: {} is none", input.name)
        ])),
    }
}

/// The first option that a shared load has no place for, and why.
fn refused(options: &LoadOptions) -> Option<(Message, &'static str)> {
    let (target, writing) = (&options.target, &options.writing);
    let adds = ": a shared load adds to a table that is there";
    let each = ": each part is committed by itself, and nothing is done around all of them";
    let once = ": that is for one transaction, and a shared load has one a part";
    let of = |is_given: bool, option: Message, why| is_given.then_some((option, why));
    of(
        !matches!(target.mode, Mode::Append | Mode::CreateAppend),
        message![setting::MODE.word(target.mode.name())],
        adds,
    )
    .or_else(|| of(!target.before.is_empty(), message![setting::BEFORE], each))
    .or_else(|| of(!target.after.is_empty(), message![setting::AFTER], each))
    .or_else(|| {
        let path = writing.write_path;
        let is_apart = path.commits_rows() || path == WritePath::Landing;
        of(is_apart, message![setting::WRITE_PATH.word(path.name())], ": a part is one transaction")
    })
    .or_else(|| {
        let indexes = message![setting::INDEXES.word(writing.indexes.name())];
        of(writing.indexes != Indexes::Keep, indexes, once)
    })
    .or_else(|| of(writing.disable_triggers, message![setting::DISABLE_TRIGGERS], once))
    .or_else(|| of(target.evolve, message![setting::EVOLVE], once))
    .or_else(|| of(target.unlogged == Unlogged::ThenLogged, message![setting::UNLOGGED], once))
    .or_else(|| of(writing.freeze, message![setting::FREEZE], adds))
    .or_else(|| of(options.input.limit.is_some(), message![setting::LIMIT], ": nobody counts all records"))
}
