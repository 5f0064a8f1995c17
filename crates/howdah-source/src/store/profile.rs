//! What the files of AWS's own tools say of a store: `~/.aws/config` and `~/.aws/credentials`.
//! <https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use ini::{Ini, ParseOption, Properties};

use super::environment::Environment;
use super::failure::Failure;

/// The keys of a profile that make credentials in ways that are not ours, in the order in which AWS's tools ask for them
/// before those that a file holds.
const MADE: [&str; 6] = [
    "role_arn",
    "credential_source",
    "web_identity_token_file",
    "sso_session",
    "sso_start_url",
    "login_session",
];

/// A profile, as the two files have it.
struct Profile<'a> {
    name: &'a str,
    config: Properties,
    credentials: Properties,
}

/// Adds to `environment` what the profile that it names says, or the one called `default`. What the environment itself says
/// counts more; credentials are taken from one place or the other, never mixed.
///
/// # Errors
/// The profile that was named is not there, a file cannot be read, or the profile's credentials are of a kind that AWS's own
/// tools have to make.
pub(super) fn completed(environment: &Environment) -> Result<Environment, Failure> {
    let mut completed = environment.clone();
    let named = environment.get("AWS_PROFILE").or(environment.get("AWS_DEFAULT_PROFILE"));
    let name = named.unwrap_or("default");
    let config = place(environment, "AWS_CONFIG_FILE", "config");
    let credentials = place(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let (config_file, credentials_file) = (parsed(config.as_deref())?, parsed(credentials.as_deref())?);
    let of_config = section(&config_file, "profile", name);
    let of_config =
        of_config.or_else(|| (name == "default").then(|| config_file.section(Some(name))).flatten());
    let of_credentials = credentials_file.section(Some(name));
    if of_config.is_none() && of_credentials.is_none() {
        return match named {
            Some(name) => Err(is_missing(name, &[config, credentials])),
            None => Ok(completed),
        };
    }
    let profile = Profile {
        name,
        config: of_config.cloned().unwrap_or_default(),
        credentials: of_credentials.cloned().unwrap_or_default(),
    };
    if !["AWS_REGION", "AWS_DEFAULT_REGION"].iter().any(|name| environment.get(name).is_some())
        && let Some(region) = profile.get("region")
    {
        completed.set("AWS_REGION", region);
    }
    if !["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"].iter().any(|name| environment.get(name).is_some())
        && !environment.is_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
        && let Some(endpoint) = profile.endpoint(&config_file)
    {
        completed.set("AWS_ENDPOINT_URL", &endpoint);
    }
    let has_own = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE"];
    if !has_own.iter().any(|name| environment.get(name).is_some())
        && !environment.is_true("AWS_SKIP_SIGNATURE")
    {
        profile.give_credentials(&mut completed)?;
    }
    Ok(completed)
}

impl Profile<'_> {
    /// The file of credentials counts more.
    fn get(&self, key: &str) -> Option<&str> {
        self.credentials.get(key).or(self.config.get(key)).filter(|value| !value.is_empty())
    }

    /// Where S3 is: the profile's services say so, or the profile for all of them.
    fn endpoint(&self, config: &Ini) -> Option<String> {
        let services = self.get("services").and_then(|name| section(config, "services", name));
        let of_s3 = services.and_then(|services| nested(services, "s3", "endpoint_url"));
        of_s3.or(self.get("endpoint_url")).map(str::to_owned)
    }

    fn give_credentials(&self, environment: &mut Environment) -> Result<(), Failure> {
        if let Some(made) = MADE.into_iter().find(|key| self.get(key).is_some()) {
            return Err(self.is_made(made));
        }
        let Some(held) = [&self.credentials, &self.config].into_iter().find(|held| {
            ["aws_access_key_id", "aws_secret_access_key"].iter().any(|key| held.contains_key(key))
        }) else {
            return match self.get("credential_process") {
                Some(_) => Err(self.is_made("credential_process")),
                None => Ok(()),
            };
        };
        for (key, variable) in [
            ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
            ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
            ("aws_session_token", "AWS_SESSION_TOKEN"),
        ] {
            match held.get(key) {
                Some(value) => environment.set(variable, value),
                None if key == "aws_session_token" => {}
                None => return Err(Failure::new(format!("AWS profile {:?} has no {key}", self.name))),
            }
        }
        Ok(())
    }

    fn is_made(&self, key: &str) -> Failure {
        let said = format!(
            "the credentials of AWS profile {:?} come from its {key}, which is not followed",
            self.name
        );
        Failure::new(said).with_hint(
            "put them into the environment: `aws configure export-credentials` makes credentials of every kind",
        )
    }
}

/// The file that a variable names, or the one in `~/.aws`.
fn place(environment: &Environment, variable: &str, file: &str) -> Option<PathBuf> {
    match environment.get(variable) {
        Some(named) => match (named.strip_prefix("~/"), environment.home()) {
            (Some(below), Some(home)) => Some(home.join(below)),
            _ => Some(PathBuf::from(named)),
        },
        None => Some(environment.home()?.join(".aws").join(file)),
    }
}

/// A file that is not there says nothing.
fn parsed(path: Option<&Path>) -> Result<Ini, Failure> {
    let Some(path) = path.filter(|path| path.exists()) else { return Ok(Ini::new()) };
    let fail = |error: String| Failure::new(format!("{:?} cannot be used: {error}", path.display()));
    if path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        // Whoever writes to it may never come.
        return Err(fail("it is a pipe".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    // The library knows comments at the start of a line only.
    let is_comment = |line: &&str| line.trim_start().starts_with(['#', ';']);
    let lines: Vec<&str> = text.lines().map(|line| if is_comment(&line) { "" } else { line }).collect();
    let option = ParseOption {
        enabled_quote: false,
        enabled_escape: false,
        enabled_preserve_key_leading_whitespace: true,
        ..ParseOption::default()
    };
    // What the library says has no text of the file in it, which may be a secret.
    let parsed = Ini::load_from_str_opt(&lines.join("\n"), option);
    parsed.map_err(|error| fail(format!("line {}: {}", error.line, error.msg)))
}

/// The section `[kind name]`, whose name stands in quotes where it has spaces.
fn section<'i>(file: &'i Ini, kind: &str, name: &str) -> Option<&'i Properties> {
    let is_it = |header: &str| {
        let Some(named) =
            header.trim().strip_prefix(kind).filter(|named| named.starts_with([' ', '\t', '"', '\'']))
        else {
            return false;
        };
        let named = named.trim();
        let unquoted =
            ['"', '\''].into_iter().find_map(|quote| named.strip_prefix(quote)?.strip_suffix(quote));
        unquoted.unwrap_or(named) == name
    };
    file.iter().find(|(header, _)| header.is_some_and(is_it)).map(|(_, properties)| properties)
}

/// The value of `key` in the indented lines below the line of `parent`.
fn nested<'a>(section: &'a Properties, parent: &str, key: &str) -> Option<&'a str> {
    let below = section.iter().skip_while(|(name, _)| *name != parent).skip(1);
    let mut nested = below.take_while(|(name, _)| name.starts_with([' ', '\t']));
    nested.find(|(name, _)| name.trim_start() == key).map(|(_, value)| value)
}

fn is_missing(name: &str, places: &[Option<PathBuf>]) -> Failure {
    let places: Vec<String> =
        places.iter().flatten().map(|path| format!("{:?}", path.display().to_string())).collect();
    Failure::new(format!("there is no AWS profile {name:?} in {}", places.join(" or ")))
}
