//! Which server describes a project: the one that was typed or that a variable names, else a throwaway one.

use howdah::Error;
use howdah::connect::{ConnectOptions, Environment};
use howdah_codegen::project::ServerChoice;

use crate::args::DescribingServer;
use crate::own_server::existing;
use crate::password_argument;

/// What stands for `-d`, ours before SQG's.
const VARIABLES: [&str; 2] = ["HOWDAH_CODEGEN_URL", "SQG_POSTGRES_URL"];

/// Chooses a server, of throwaway ones the one that stands ready; and says, behind its name, which variable named it. `PGHOST` and the like choose none: nobody's data are
/// needed here, and a server should be touched on purpose.
pub(super) fn choose(
    typed: &DescribingServer,
    ready: Option<&ServerChoice>,
) -> Result<(ServerChoice, String), Error> {
    if let Some(name) = &typed.server {
        let options = ConnectOptions::default().conninfo(existing(name)?.conninfo());
        return Ok((
            ServerChoice::Server(Box::new(options.resolve(&Environment::default())?)),
            String::new(),
        ));
    }
    let mut options = ConnectOptions::default();
    options.conninfo.clone_from(&typed.dbname);
    options.host.clone_from(&typed.host);
    options.port.clone_from(&typed.port);
    options.user.clone_from(&typed.username);
    let mut from = String::new();
    if !options.is_given(&Environment::default()) {
        match VARIABLES.into_iter().find_map(|name| Some((name, variable(name)?))) {
            Some((name, value)) => {
                options.conninfo = Some(value);
                from = format!(", from {name}");
            }
            None => return Ok((ready.cloned().unwrap_or(ServerChoice::Throwaway), from)),
        }
    } else if let Some(conninfo) = &typed.dbname {
        password_argument::take_out(conninfo);
    }
    Ok((ServerChoice::Server(Box::new(options.resolve(&Environment::from_process())?)), from))
}

#[expect(
    clippy::disallowed_methods,
    reason = "these variables are an option of this command, which only this file knows"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
