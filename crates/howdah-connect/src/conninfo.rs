//! libpq's connection strings: URI, keyword/value, or a bare database name.
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING>

use std::collections::BTreeMap;

use crate::error::Error;

/// Keywords with their values, as given. Of a keyword given twice the last value counts.
pub(crate) type Parameters = BTreeMap<&'static str, String>;

/// libpq's keywords that are supported.
const KNOWN: [&str; 35] = [
    "service",
    "servicefile",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "passfile",
    "connect_timeout",
    "client_encoding",
    "options",
    "application_name",
    "fallback_application_name",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
    "sslmode",
    "sslnegotiation",
    "sslcert",
    "sslkey",
    "sslcertmode",
    "sslrootcert",
    "sslcrl",
    "sslsni",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "channel_binding",
    "require_auth",
    "target_session_attrs",
    "load_balance_hosts",
    "gssencmode",
    "sslcompression",
];

/// libpq's keywords that are not supported, each with what to do instead: refused, since ignoring one could weaken a
/// connection.
const NOT_SUPPORTED: [(&str, &str); 19] = [
    ("requirepeer", "leave it out, and let no other account write into the directory of the socket"),
    ("servicefile", "PGSERVICEFILE in the environment names the file"),
    ("replication", "leave it out: rows are loaded over an ordinary connection"),
    (
        "sslpassword",
        "store the key without a password, readable by its owner alone: openssl pkey -in KEY -out PLAIN",
    ),
    (
        "sslcrldir",
        "leave it out where certificates need not be looked up in lists of revoked ones: there are none here",
    ),
    ("sslkeylogfile", "leave it out: keys of sessions are written nowhere"),
    (
        "min_protocol_version",
        "leave it out: connections speak protocol version 3.0, which every server speaks",
    ),
    (
        "max_protocol_version",
        "leave it out: connections speak protocol version 3.0, which every server speaks",
    ),
    ("krbsrvname", "there is no GSSAPI here: use a password or a client certificate"),
    ("gsslib", "there is no GSSAPI here: use a password or a client certificate"),
    ("gssdelegation", "there is no GSSAPI here: use a password or a client certificate"),
    ("scram_client_key", "give the password itself: password, PGPASSWORD or a password file"),
    ("scram_server_key", "give the password itself: password, PGPASSWORD or a password file"),
    ("oauth_issuer", "there is no OAuth here: use a password or a client certificate"),
    ("oauth_client_id", "there is no OAuth here: use a password or a client certificate"),
    ("oauth_client_secret", "there is no OAuth here: use a password or a client certificate"),
    ("oauth_scope", "there is no OAuth here: use a password or a client certificate"),
    ("oauth_ca_file", "there is no OAuth here: use a password or a client certificate"),
    ("authtype", "leave it out: no libpq that is still maintained makes anything of it"),
];

/// What to write instead of a string that is not understood.
const AS_URI: &str = "write postgresql://USER@HOST/DATABASE";

/// What to do with characters that mean something in a URI.
const ESCAPES: &str = "in a user name, password or database name of a URI write %40 for @, %2F for /, %3A for :, %3F for ? and %25 for %";

/// Reads a connection string of any of the three kinds.
///
/// SQLAlchemy's `postgresql+driver://` is the same URI: it names a driver of Python's besides.
///
/// # Errors
/// A configuration error, mostly in libpq's words. Nothing is shown that was not understood: it may be a password, or a
/// piece of one.
pub(crate) fn parse(text: &str) -> Result<Parameters, Error> {
    // A shell or a file leaves a space or a line end around a URI; a database's name may begin with one.
    let trimmed = text.trim();
    // In front of the first `=` or space, so that a value which is a URL does not count.
    let start = trimmed.split(|c: char| c == '=' || c.is_ascii_whitespace()).next().unwrap_or(trimmed);
    match start.split_once("://") {
        Some((scheme, _)) if is_postgresql(scheme) => parse_uri(&trimmed[scheme.len() + "://".len()..]),
        Some(_) => Err(Error::configuration("the connection string is a URI of a kind that is not known")
            .with_hint(AS_URI)),
        None if text.contains('=') => parse_pairs(text),
        // Somebody's name and password, and not a database.
        None if text.contains([':', '@']) => Err(Error::configuration(
            "the connection string is neither a URI, nor pairs of option=value, nor a database's name",
        )
        .with_hint(format!("{AS_URI}; a database with a : or @ in its name is dbname='…'"))),
        None => Ok(Parameters::from([("dbname", text.to_owned())])),
    }
}

/// Options whose values nobody is shown.
const NOT_SHOWN: [&str; 4] = ["password", "sslpassword", "options", "application_name"];

/// Refuses a password that stands within the value of another option, as in `host=db;password=…` of other drivers or
/// `host=user:password@db`: that value would be shown as a host, say, or as what is wrong with it.
///
/// # Errors
/// There is one. It is not shown.
pub(crate) fn no_password_within(parameters: &Parameters) -> Result<(), Error> {
    let holds_one =
        |(name, value): &(&&'static str, &String)| !NOT_SHOWN.contains(name) && has_password(value);
    match parameters.iter().find(holds_one) {
        None => Ok(()),
        Some((name, _)) => {
            Err(Error::configuration(format!("there seems to be a password within the value of {name}"))
                .with_hint(format!(
                    "options stand apart by spaces, as in host=HOST password='…'; or {AS_URI}"
                )))
        }
    }
}

/// Whether `password=`, in one of its spellings, or `user:password@` is in the text.
fn has_password(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let is_said = ["password", "passwd", "pass", "pwd"].iter().any(|word| {
        lower.match_indices(word).any(|(at, _)| lower[at + word.len()..].trim_start().starts_with('='))
    });
    let before_at = lower.rsplit_once('@').map_or("", |(before, _)| before);
    is_said || before_at.contains(':')
}

fn is_postgresql(scheme: &str) -> bool {
    let (engine, driver) = scheme.split_once('+').unwrap_or((scheme, "none"));
    matches!(engine, "postgresql" | "postgres")
        && !driver.is_empty()
        && driver.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The keyword, if it is supported.
///
/// # Errors
/// Unknown to libpq, or known and not supported here. A name that is not known is not shown: behind a password with a
/// space in it stands the password's other half.
pub(crate) fn keyword(name: &str) -> Result<&'static str, Error> {
    if let Some(known) = KNOWN.iter().find(|known| **known == name) {
        return Ok(known);
    }
    if let Some((_, instead)) = NOT_SUPPORTED.iter().find(|(known, _)| *known == name) {
        return Err(Error::configuration(format!("the connection option {name:?} is not supported"))
            .with_hint(*instead));
    }
    let error = Error::configuration("invalid connection option");
    let distance = |known: &&&str| strsim::damerau_levenshtein(known, name);
    Err(match KNOWN.iter().min_by_key(distance) {
        Some(meant) if distance(&meant) <= meant.len() / 3 => {
            error.with_hint(format!("perhaps {meant:?} is meant"))
        }
        _ => error.with_hint(IN_QUOTES),
    })
}

/// What to do with a value that is read as several.
const IN_QUOTES: &str = "a value with a space in it stands in quotes, as password='…', and a quote in it behind a backslash; \
                         the options are those of libpq (host, port, dbname, user, password, sslmode, …)";

/// Splits the password off a connection string: a string that otherwise means the same, and the password. `None` where
/// there is no password, where the string cannot be read, and where it names a service, which may have another password.
///
/// ```
/// use howdah_connect::without_password;
///
/// let (bare, password) = without_password("postgresql://app:secret@db/shop").unwrap();
/// assert_eq!((bare.as_str(), password.as_str()), ("dbname=shop host=db user=app", "secret"));
/// assert_eq!(without_password("shop"), None);
/// ```
pub fn without_password(text: &str) -> Option<(String, String)> {
    let mut parameters = parse(text).ok()?;
    let password = parameters.remove("password").filter(|password| !password.is_empty())?;
    if parameters.contains_key("service") {
        return None;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,".contains(c);
    let quoted = |value: &str| match value.is_empty() || !value.chars().all(is_plain) {
        true => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'")),
        false => value.to_owned(),
    };
    let pairs = parameters.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let bare = pairs.collect::<Vec<_>>().join(" ");
    // Of nothing at all but the password, something must be left that is no database's name.
    Some((if bare.is_empty() { "host=''".to_owned() } else { bare }, password))
}

fn parse_pairs(text: &str) -> Result<Parameters, Error> {
    let mut out = Parameters::new();
    let mut chars = text.chars().peekable();
    let is_space = |c: &char| c.is_ascii_whitespace();
    loop {
        while chars.next_if(is_space).is_some() {}
        if chars.peek().is_none() {
            return Ok(out);
        }
        let mut name = String::new();
        while let Some(c) = chars.next_if(|c| *c != '=' && !is_space(c)) {
            name.push(c);
        }
        while chars.next_if(is_space).is_some() {}
        if chars.next() != Some('=') {
            return Err(Error::configuration("missing \"=\" after an option in connection info string")
                .with_hint(IN_QUOTES));
        }
        while chars.next_if(is_space).is_some() {}
        let mut value = String::new();
        let quoted = chars.next_if_eq(&'\'').is_some();
        loop {
            match chars.next() {
                Some('\'') if quoted => break,
                None if quoted => {
                    return Err(Error::configuration("unterminated quoted string in connection info string"));
                }
                None => break,
                // A backslash takes the next character as it is.
                Some('\\') => value.extend(chars.next()),
                Some(c) if !quoted && is_space(&c) => break,
                Some(c) => value.push(c),
            }
        }
        out.insert(keyword(&name)?, value);
    }
}

fn parse_uri(rest: &str) -> Result<Parameters, Error> {
    let mut out = Parameters::new();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A slash inside the brackets of an IPv6 address or after the user's name does not occur unescaped.
    let (authority, dbname) = rest.split_once('/').unwrap_or((rest, ""));
    // libpq takes what stands behind the first `@` for a host, and says so with the rest of a password in it.
    let behind = authority.split_once('@').map_or(authority, |(_, hosts)| hosts);
    if behind.contains('@') || dbname.contains('@') {
        return Err(Error::configuration("the URI has an @ where none is expected").with_hint(ESCAPES));
    }
    let hosts = match authority.split_once('@') {
        None => authority,
        Some((credentials, hosts)) => {
            let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
            put(&mut out, "user", user)?;
            put(&mut out, "password", password)?;
            hosts
        }
    };
    let mut names = Vec::new();
    let mut ports = Vec::new();
    for host in hosts.split(',') {
        let (name, port) = split_host(host)?;
        names.push(name);
        ports.push(port);
    }
    put(&mut out, "host", &names.join(","))?;
    put(&mut out, "port", &ports.join(","))?;
    put(&mut out, "dbname", dbname)?;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Error::configuration("missing key/value separator \"=\" in a URI query parameter")
                .with_hint(ESCAPES));
        };
        if value.contains('=') {
            return Err(Error::configuration("extra key/value separator \"=\" in a URI query parameter")
                .with_hint("inside of a value write %3D for ="));
        }
        match decode(name)?.as_str() {
            // JDBC's spelling, which libpq takes too.
            "ssl" if value == "true" => out.insert("sslmode", "require".to_owned()),
            name => out.insert(keyword(name)?, decode(value)?),
        };
    }
    Ok(out)
}

/// Host and port of one entry of a URI's host list.
fn split_host(host: &str) -> Result<(&str, &str), Error> {
    let Some(bracketed) = host.strip_prefix('[') else {
        return Ok(host.split_once(':').unwrap_or((host, "")));
    };
    let Some((address, rest)) = bracketed.split_once(']') else {
        return Err(Error::configuration(
            "end of string reached when looking for matching \"]\" in IPv6 host address in URI",
        ));
    };
    if address.is_empty() {
        return Err(Error::configuration("IPv6 host address may not be empty in URI"));
    }
    match rest.strip_prefix(':') {
        Some(port) => Ok((address, port)),
        None if rest.is_empty() => Ok((address, "")),
        None => Err(Error::configuration(
            "unexpected character after the IPv6 host address in URI (expected \":\" or \"/\")",
        )),
    }
}

fn put(out: &mut Parameters, name: &'static str, value: &str) -> Result<(), Error> {
    if value.chars().any(|c| c != ',') {
        out.insert(name, decode(value)?);
    }
    Ok(())
}

/// Undoes percent-encoding.
fn decode(text: &str) -> Result<String, Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match digits.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(0) => return Err(Error::configuration("forbidden value %00 in percent-encoded value")),
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[2..];
            }
            None => {
                return Err(Error::configuration("invalid percent-encoded token in URI")
                    .with_hint("a % that stands for itself is written %25"));
            }
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::configuration("a percent-encoded value of the URI is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(parameters) => {
                parameters.iter().map(|(k, v)| format!("{k}='{v}'")).collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn a_percent_sign_in_a_password_comes_with_how_it_is_written() {
        for uri in ["postgresql://u:50%@h/d", "postgresql://u:1%zz@h/d", "postgresql://u:a@b@h/d"] {
            let hint = parse(uri).unwrap_err().hint().map(str::to_owned);
            assert!(hint.as_deref().unwrap_or_default().contains("%25"), "{uri}: {hint:?}");
        }
    }

    #[test]
    fn without_its_password_a_string_means_the_same() {
        for (given, bare) in [
            ("host=h password=x user='it\\'s'", "host=h user='it\\'s'"),
            (
                "postgresql://u:p%40ss@h:5433/d%5C?sslmode=require",
                "dbname='d\\\\' host=h port=5433 sslmode=require user=u",
            ),
            ("password=x", "host=''"),
        ] {
            let (got, _) = without_password(given).unwrap();
            assert_eq!(got, bare);
            let mut expected = parse(given).unwrap();
            expected.remove("password");
            let mut again = parse(&got).unwrap();
            again.retain(|_, value| !value.is_empty());
            assert_eq!(again, expected, "{given}");
            assert!(without_password(&got).is_none());
        }
        for kept in ["mydb", "host=h", "service=s password=x", "password='", "password=''"] {
            assert!(without_password(kept).is_none(), "{kept}");
        }
    }

    #[test]
    fn strings_mean_what_libpq_says() {
        for (text, expected) in [
            (
                "postgresql://uri-user:secret@host:12345/db",
                "dbname='db' host='host' password='secret' port='12345' user='uri-user'",
            ),
            ("postgres://host/db", "dbname='db' host='host'"),
            ("postgresql+asyncpg://me:x@host/db", "dbname='db' host='host' password='x' user='me'"),
            ("postgresql+://h/d", "the connection string is a URI of a kind that is not known"),
            ("mysql://me:x@host/db", "the connection string is a URI of a kind that is not known"),
            ("jdbc:postgresql://h/d?user=x", "the connection string is a URI of a kind that is not known"),
            (
                "me:x@host/db",
                "the connection string is neither a URI, nor pairs of option=value, nor a database's name",
            ),
            ("dbname='me:x@host/db'", "dbname='me:x@host/db'"),
            ("application_name=http://x", "application_name='http://x'"),
            ("postgresql://me:x@y@host/db", "the URI has an @ where none is expected"),
            ("postgresql://me:x/y@host/db", "the URI has an @ where none is expected"),
            ("postgresql://", ""),
            ("postgresql://@host", "host='host'"),
            ("postgresql:///db", "dbname='db'"),
            ("postgresql://?hostaddr=127.0.0.1", "hostaddr='127.0.0.1'"),
            ("postgresql://%2Fvar%2Frun/db", "dbname='db' host='/var/run'"),
            ("postgresql:///db?host=/tmp", "dbname='db' host='/tmp'"),
            ("postgresql://[::1]:5433/db", "dbname='db' host='::1' port='5433'"),
            ("postgresql://[2001:db8::1]", "host='2001:db8::1'"),
            ("postgresql://a:1,b:2/db", "dbname='db' host='a,b' port='1,2'"),
            ("postgresql://a,b/db", "dbname='db' host='a,b'"),
            ("postgresql://us%20er:p%40ss@h/d%2Fb", "dbname='d/b' host='h' password='p@ss' user='us er'"),
            (
                "postgresql://h/d?application_name=x%20y&connect_timeout=5",
                "application_name='x y' connect_timeout='5' dbname='d' host='h'",
            ),
            ("postgresql://h/d?ssl=true", "dbname='d' host='h' sslmode='require'"),
            ("postgresql://h?zzz=1", "invalid connection option"),
            ("postgresql://h?zzz", "missing key/value separator \"=\" in a URI query parameter"),
            ("postgresql://h?user=a=b", "extra key/value separator \"=\" in a URI query parameter"),
            ("postgresql://%zz", "invalid percent-encoded token in URI"),
            // A file or a shell leaves a space or a line end around it.
            (" postgresql://h/d\n", "dbname='d' host='h'"),
            (" d", "dbname=' d'"),
            ("postgresql://%00", "forbidden value %00 in percent-encoded value"),
            (
                "postgresql://[::1",
                "end of string reached when looking for matching \"]\" in IPv6 host address in URI",
            ),
            ("postgresql://[]", "IPv6 host address may not be empty in URI"),
            (
                "postgresql://[::1]z",
                "unexpected character after the IPv6 host address in URI (expected \":\" or \"/\")",
            ),
            ("host=h dbname = 'my db'  user='it\\'s'", "dbname='my db' host='h' user='it's'"),
            ("password=a\\ b\\\\c", "password='a b\\c'"),
            ("host= dbname=x", "host='dbname=x'"),
            ("host='' dbname=x", "dbname='x' host=''"),
            ("dbname=a dbname=b", "dbname='b'"),
            ("host h", "dbname='host h'"),
            ("user=x host", "missing \"=\" after an option in connection info string"),
            ("password='open", "unterminated quoted string in connection info string"),
            ("nonsense=1", "invalid connection option"),
            ("sslcrldir=x", "the connection option \"sslcrldir\" is not supported"),
            ("mydb", "dbname='mydb'"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    /// Every keyword of PostgreSQL 18's libpq (`PQconninfoOptions` of its sources).
    const LIBPQ_18: &str = "service servicefile user password passfile channel_binding connect_timeout dbname host \
        hostaddr port client_encoding options application_name fallback_application_name keepalives keepalives_idle \
        keepalives_interval keepalives_count tcp_user_timeout sslmode sslnegotiation sslcompression sslcert sslkey \
        sslcertmode sslpassword sslrootcert sslcrl sslcrldir sslsni requirepeer require_auth min_protocol_version \
        max_protocol_version ssl_min_protocol_version ssl_max_protocol_version gssencmode krbsrvname gsslib \
        gssdelegation replication target_session_attrs load_balance_hosts scram_client_key scram_server_key \
        oauth_issuer oauth_client_id oauth_client_secret oauth_scope sslkeylogfile";

    #[test]
    fn a_keyword_of_libpq_is_taken_or_refused_with_what_to_do_instead() {
        for name in LIBPQ_18.split_whitespace() {
            if let Err(error) = keyword(name) {
                assert!(error.message().contains("is not supported"), "{name}: {error:?}");
                assert!(error.hint().is_some_and(|hint| !hint.is_empty()), "{name}: {error:?}");
            }
        }
    }
}
