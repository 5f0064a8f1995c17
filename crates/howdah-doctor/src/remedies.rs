//! Remedies of one form: a setting of the role, one of the server (whoever runs it), an index that goes.

use howdah::facts::{IndexFacts, Service, SettingFacts, TableFacts};
use howdah::message;
use howdah::message::setting;

use crate::case::Case;
use crate::finding::{Action, Effect, Remedy};
use crate::sql;
use crate::undo::Undo;

/// The setting for the role that loads, where it has another value now.
pub(crate) fn for_role(case: &Case<'_>, setting: &SettingFacts, value: &str, price: &str) -> Remedy {
    let role = case.role();
    let place = match setting.source.as_str() {
        "database user" => format!("{role} IN DATABASE {}", sql::name(&case.facts.session.database)),
        _ => role,
    };
    let name = sql::name(&setting.name);
    let undo = match setting.source.as_str() {
        "user" | "database user" => {
            Undo::sql(format!("ALTER ROLE {place} SET {name} = {};", sql::value(setting)))
        }
        _ => Undo::sql(format!("ALTER ROLE {place} RESET {name};")),
    };
    let needs = match setting.context.as_str() {
        "user" => "the role itself may",
        _ => "a superuser",
    };
    let statement = format!("ALTER ROLE {place} SET {name} = {};", sql::literal(value));
    Remedy::sql([statement], undo, price).effect(Effect::NewSessions).needs(needs)
}

/// Settings of the whole server, in the form that whoever runs it takes.
pub(crate) fn for_server(case: &Case<'_>, settings: &[(&str, &str)], price: &str) -> Remedy {
    let listed: Vec<String> = settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let listed = listed.join(", ");
    let is_restart = settings
        .iter()
        .any(|(name, _)| case.setting(name).is_some_and(|found| found.context == "postmaster"));
    let effect = if is_restart { Effect::Restart } else { Effect::AtOnce };
    let elsewhere = |place: &str| {
        let action = Action::Elsewhere(format!("{place}: {listed}"));
        Remedy::new(action, "the value that stands there now", price)
            .effect(effect)
            .needs("whoever runs the instance")
    };
    match case.facts.session.service {
        Some(Service::Rds | Service::Aurora) => elsewhere("in the instance's parameter group"),
        Some(Service::CloudSql | Service::AlloyDb) => elsewhere("in the instance's database flags"),
        Some(Service::Azure) => elsewhere("in the instance's server parameters"),
        Some(service @ (Service::Neon | Service::Supabase | Service::Timescale)) => {
            elsewhere(&format!("in {}'s settings of the database", service.name()))
        }
        None => {
            let mut statements = Vec::new();
            let mut undo = Vec::new();
            for (name, value) in settings {
                let name_in_sql = sql::name(name);
                statements.push(format!("ALTER SYSTEM SET {name_in_sql} = {};", sql::literal(value)));
                undo.push(match case.setting(name) {
                    Some(old) if old.source != "default" && old.is_altered != Some(false) => {
                        format!("ALTER SYSTEM SET {name_in_sql} = {};", sql::value(old))
                    }
                    // What nobody had set, or in another file, is not set here afterwards.
                    _ => format!("ALTER SYSTEM RESET {name_in_sql};"),
                });
            }
            if !is_restart {
                statements.push("SELECT pg_reload_conf();".to_owned());
                undo.push("SELECT pg_reload_conf();".to_owned());
            }
            let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let remedy = Remedy::sql(statements, Undo::Sql(undo), price).effect(effect).needs("a superuser");
            Remedy { settings: settings.collect(), ..remedy }
        }
    }
}

/// Something that is done to the program that writes.
pub(crate) fn in_program(what: &str, price: &str) -> Remedy {
    let action = Action::Elsewhere(what.to_owned());
    Remedy::new(action, "as it was before", price).needs("whoever writes the program")
}

/// Indexes and foreign keys are built again after the load's rows, in its transaction.
pub(crate) fn rebuild(table: &TableFacts) -> Remedy {
    let price =
        "nobody else can get at the table, not even to read it, until the load commits; one connection";
    Remedy::load(message![setting::INDEXES.word("rebuild")], price).needs(owner(table))
}

/// The index goes.
pub(crate) fn drop_index(table: &TableFacts, index: &IndexFacts, price: &str) -> Remedy {
    let concurrently = sql::concurrently(table);
    let statement = format!("DROP INDEX {concurrently}{};", sql::qualified(&index.schema, &index.name));
    let price = match concurrently {
        "" => format!("{price}; all partitions are locked while it goes, and while it is made again"),
        _ => price.to_owned(),
    };
    Remedy::sql([statement], sql::index_again(table, index), price).needs(owner(table))
}

/// Who may change the table.
pub(crate) fn owner(table: &TableFacts) -> String {
    if table.is_owned { "nothing more".to_owned() } else { format!("its owner, {}", sql::name(&table.owner)) }
}
