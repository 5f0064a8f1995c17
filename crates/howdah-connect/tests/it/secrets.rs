//! What is said of a connection string has nothing of its password in it, however the string is written.

use howdah_connect::{ConnectOptions, Environment};
use proptest::prelude::*;

/// A password whose pieces show themselves: what is special in connection strings stands between them.
fn password() -> impl Strategy<Value = String> {
    let between = prop::sample::select(vec![
        "", "@", "/", ":", "?", "=", " ", "'", "\\", "%", "#", "&", ",", "[", "%zz",
    ]);
    (between.clone(), between).prop_map(|(first, second)| format!("kanari{first}vogel{second}gelb"))
}

/// Connection strings as people and programs write them, right and wrong.
fn conninfo() -> impl Strategy<Value = String> {
    let shapes = vec![
        "postgresql://u:P@h/d",
        "postgres://u:P@h:5433/d?sslmode=require",
        "postgresql+asyncpg://u:P@h/d",
        "postgresql+psycopg2://u:P@/d?host=h",
        "mysql://u:P@h/d",
        "jdbc:postgresql://h/d?user=u&password=P",
        "postgresql:/u:P@h/d",
        "postgresql//u:P@h/d",
        "u:P@h/d",
        // Read as it stands; with an @ in the password, what follows it is a host as good as any.
        "postgresql://u:Q/d",
        "postgresql://u:P@",
        "postgresql://h/d?password=P",
        "postgresql://h/d?P",
        "postgresql://h/d?P=1",
        "host=h password=P",
        "host=h password='P",
        "password=P host=h",
        "host=h user=u pasword=P",
        "host=h P",
        "host=h sslmode P=x",
        "Host=h;Password=P",
        // Within the value of an option that is known.
        "host=h;user=u;password=P",
        "host=h;Pwd = P",
        "host=h,password=P",
        "host=h user=u&passwd=P",
        "host=h dbname=d;pass=P",
        "host=h sslmode=require;password=P",
        "host=h connect_timeout=5;password=P",
        "host=h require_auth=x;password=P",
        "host=h client_encoding=x;password=P",
        "postgresql://h;password=P/d",
        "postgresql://h/d;password=P",
        "host=u:P@h",
        "hostaddr=u:P@h",
        "service=u:P@h",
        "dbname=postgresql://u:P@h/d",
        "u/P@h/d",
        "{user: u, password: P}",
    ];
    (prop::sample::select(shapes), password())
        .prop_map(|(shape, password)| shape.replace('P', &password).replace('Q', &password.replace('@', "")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_piece_of_a_password_is_shown(text in conninfo()) {
        let options = ConnectOptions::default().conninfo(text);
        let environment = Environment::from_pairs([("PGUSER", "somebody"), ("HOME", "/nowhere")]);
        let shown = match options.resolve(&environment) {
            Ok(target) => format!("{} {target:?} {:?}", target.describe(), target.notices()),
            Err(error) => format!("{error} {error:?} {:?}", error.hint()),
        };
        for piece in ["kanari", "vogel", "gelb"] {
            prop_assert!(!shown.contains(piece), "{shown}");
        }
    }
}
