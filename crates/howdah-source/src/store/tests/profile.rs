//! Profiles of AWS's own tools.

use std::path::Path;

use super::*;
use crate::store::address::Kind;
use crate::store::profile::completed;
use crate::store::settings::check;

const CONFIG: &str = "
[default]
region = eu-north-1
  # a comment
[profile dev]
region = us-west-2
aws_access_key_id = of-the-config
aws_secret_access_key = it
s3 =
  endpoint_url = http://not.this.one
  max_concurrent_requests = 20
[profile local]
services = here
endpoint_url = http://for.all.of.them
[services here]
dynamodb =
  endpoint_url = http://not.this.one
s3 =
  endpoint_url = http://s3.here
[profile half]
aws_access_key_id = alone
[profile sso]
sso_session = corp
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = dev
[profile program]
credential_process = /bin/sh -c 'echo {}'
";

const CREDENTIALS: &str = "
[default]
aws_access_key_id = key
aws_secret_access_key = s3cr#t;\\\"'t
aws_session_token = token
[dev]
aws_access_key_id = dev-key
aws_secret_access_key = dev-secret
";

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn home(config: &str, credentials: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    std::fs::write(home.path().join(".aws/config"), config).unwrap();
    std::fs::write(home.path().join(".aws/credentials"), credentials).unwrap();
    home
}

fn settings(home: &Path, variables: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
    let environment = Environment::from_pairs(variables).with_home(home);
    let completed = completed(&environment).map_err(|failure| failure.to_string())?;
    Ok(completed.settings("AWS_").map(|(name, value)| (name, value.to_owned())).collect())
}

#[test]
fn a_profile_gives_what_the_environment_does_not() {
    let home = home(CONFIG, CREDENTIALS);
    let cases: [(Pairs<'_>, Pairs<'_>); 7] = [
        (
            &[],
            &[
                ("aws_access_key_id", "key"),
                ("aws_region", "eu-north-1"),
                ("aws_secret_access_key", "s3cr#t;\\\"'t"),
                ("aws_session_token", "token"),
            ],
        ),
        (
            &[("AWS_PROFILE", "dev")],
            &[
                ("aws_access_key_id", "dev-key"),
                ("aws_profile", "dev"),
                ("aws_region", "us-west-2"),
                ("aws_secret_access_key", "dev-secret"),
            ],
        ),
        (
            &[("AWS_DEFAULT_PROFILE", "local"), ("AWS_REGION", "mars-1")],
            &[
                ("aws_default_profile", "local"),
                ("aws_endpoint_url", "http://s3.here"),
                ("aws_region", "mars-1"),
            ],
        ),
        (
            &[("AWS_PROFILE", "local"), ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")],
            &[("aws_ignore_configured_endpoint_urls", "true"), ("aws_profile", "local")],
        ),
        // The token belongs to the profile's keys.
        (
            &[("AWS_ACCESS_KEY_ID", "mine"), ("AWS_SECRET_ACCESS_KEY", "too")],
            &[("aws_access_key_id", "mine"), ("aws_region", "eu-north-1"), ("aws_secret_access_key", "too")],
        ),
        (&[("AWS_SKIP_SIGNATURE", "true")], &[("aws_region", "eu-north-1"), ("aws_skip_signature", "true")]),
        // Whoever has keys needs no profile that can make them.
        (
            &[("AWS_PROFILE", "sso"), ("AWS_ACCESS_KEY_ID", "mine"), ("AWS_SECRET_ACCESS_KEY", "too")],
            &[("aws_access_key_id", "mine"), ("aws_profile", "sso"), ("aws_secret_access_key", "too")],
        ),
    ];
    for (variables, wanted) in cases {
        let wanted: Vec<_> =
            wanted.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(settings(home.path(), variables), Ok(wanted), "{variables:?}");
    }
}

#[test]
fn a_profile_that_cannot_be_used_is_named() {
    let home = home(CONFIG, CREDENTIALS);
    for (name, said) in [
        ("sso", "the credentials of AWS profile \"sso\" come from its sso_session, which is not followed"),
        ("role", "the credentials of AWS profile \"role\" come from its role_arn, which is not followed"),
        (
            "program",
            "the credentials of AWS profile \"program\" come from its credential_process, which is not followed",
        ),
        ("half", "AWS profile \"half\" has no aws_secret_access_key"),
    ] {
        assert_eq!(settings(home.path(), &[("AWS_PROFILE", name)]), Err(said.to_owned()));
    }
    let missing = settings(home.path(), &[("AWS_PROFILE", "nobody")]).unwrap_err();
    let place = home.path().join(".aws").display().to_string();
    let said = format!("there is no AWS profile \"nobody\" in \"{place}/config\" or \"{place}/credentials\"");
    assert_eq!(missing, said);
    std::fs::write(home.path().join(".aws/credentials"), format!("[default]\n{SECRET}\n")).unwrap();
    let broken = settings(home.path(), &[]).unwrap_err();
    assert!(broken.contains("credentials\" cannot be used: line ") && !broken.contains(SECRET), "{broken}");
}

#[test]
fn without_files_nothing_is_said_and_others_can_be_named() {
    let nothing = tempfile::tempdir().unwrap();
    assert_eq!(settings(nothing.path(), &[]), Ok(Vec::new()));
    let home = home(CONFIG, CREDENTIALS);
    std::fs::rename(home.path().join(".aws/credentials"), home.path().join("keys")).unwrap();
    for named in ["~/keys", &home.path().join("keys").display().to_string()] {
        let found = settings(home.path(), &[("AWS_SHARED_CREDENTIALS_FILE", named)]).unwrap();
        assert!(found.contains(&("aws_access_key_id".to_owned(), "key".to_owned())), "{found:?}");
    }
}

#[test]
fn an_object_is_read_with_the_keys_of_a_profile() {
    let server = Server::start();
    server.put("lake/x.csv", "a\n1\n");
    let config = format!("[profile dev]\nregion = us-west-2\nendpoint_url = http://{}\n", server.address);
    let home = home(&config, CREDENTIALS);
    let environment = Environment::from_pairs(&[("AWS_PROFILE", "dev")]).with_home(home.path());
    let address = Address::parse("s3://lake/x.csv").unwrap().unwrap();
    let found = find_by(&address, &environment, &Progress::new()).unwrap();
    assert_eq!(read(&found[0]), Ok(b"a\n1\n".to_vec()));
    let authorization = server.authorization().unwrap();
    assert!(authorization.contains("Credential=dev-key/"), "{authorization}");
    assert!(authorization.contains("/us-west-2/s3/"), "{authorization}");
}

#[test]
fn a_name_with_spaces_stands_in_quotes() {
    let key = "aws_access_key_id = k\naws_secret_access_key = s\n";
    let config = format!(
        "[profile \"with space\"]\n{key}services = 'of me'\n[services 'of me']\ns3 =\n  endpoint_url = https://here\n[profiles]\n[profile  two]\n{key}"
    );
    let home = home(&config, "");
    let found = settings(home.path(), &[("AWS_PROFILE", "with space")]).unwrap();
    assert!(found.contains(&("aws_access_key_id".to_owned(), "k".to_owned())), "{found:?}");
    assert!(settings(home.path(), &[("AWS_PROFILE", "two")]).unwrap().len() > 1);
    let missing = settings(home.path(), &[("AWS_PROFILE", "s")]).unwrap_err();
    assert!(missing.contains("there is no AWS profile \"s\""), "{missing}");
}

#[test]
fn a_pipe_is_not_waited_for() {
    let home = home("", "");
    let pipe = home.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let error = settings(home.path(), &[("AWS_CONFIG_FILE", pipe.to_str().unwrap())]).unwrap_err();
    assert!(error.ends_with("cannot be used: it is a pipe"), "{error}");
    assert_eq!(settings(home.path(), &[("AWS_CONFIG_FILE", "/dev/null")]).map(|found| found.len()), Ok(1));
}

#[test]
fn what_cannot_stand_in_a_request_is_refused_by_its_name() {
    for (kind, name, value, is_fine) in [
        (Kind::S3, "AWS_ENDPOINT_URL", "not a url", false),
        (Kind::S3, "AWS_ENDPOINT_URL_S3", "localhost:9000", false),
        (Kind::S3, "AWS_ENDPOINT_URL", "file:///etc", false),
        (Kind::S3, "AWS_ENDPOINT_URL", "http://127.0.0.1:9000", true),
        (Kind::S3, "AWS_SESSION_TOKEN", "SECRET\nB", false),
        (Kind::S3, "AZURE_ENDPOINT", "not a url", true),
        (Kind::Azure, "AZURE_ENDPOINT", "not a url", false),
        (Kind::Google, "GOOGLE_BUCKET", "a\tb", false),
        (Kind::Http, "AWS_ENDPOINT_URL", "not a url", true),
    ] {
        let checked = check(kind, &Environment::from_pairs(&[(name, value)]));
        assert_eq!(checked.is_ok(), is_fine, "{name}={value}");
        let Err(failure) = checked else { continue };
        let said = failure.to_string();
        assert!(said.starts_with(name) && !said.contains(value) && !said.contains("SECRET"), "{said}");
    }
}
