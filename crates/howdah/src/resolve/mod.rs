//! The resolver: one extra connection on which the server decides the literals that the codecs leave open.

mod text_only;

use std::collections::HashMap;
use std::sync::Arc;

use howdah_connect::{Connection, Target};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::types::{FromSql, Type};

use crate::catalog::name::quote;
use crate::encode::question::{Answer, LiteralRefusal, Question};
use crate::error::{Error, ErrorKind};
use crate::plan::row_form::RowForm;

use self::text_only::is_text_only;

/// `pg_input_error_info` judges a literal without raising an error.
const HAS_SOFT_ERRORS: i32 = 160_000;

/// Literals in one question: enough that the round trip does not show, few enough that the answer fits in memory.
const LITERALS_A_QUESTION: usize = 5_000;

/// Asks the server. Cheap to clone; the connection is made with the first question and ends with the last clone.
#[derive(Clone)]
pub(crate) struct Resolver(mpsc::Sender<ResolverRequest>);

struct ResolverRequest {
    question: Question,
    reply: oneshot::Sender<Result<Vec<Answer>, Error>>,
}

impl Resolver {
    /// Its connection has the same settings as the load's: they belong to the role and the database. Runs on the caller's
    /// runtime.
    pub(crate) fn start(target: Target, version_num: i32) -> Resolver {
        let (requests, mut inbox) = mpsc::channel::<ResolverRequest>(1);
        tokio::spawn(async move {
            let mut connection = None;
            let mut readers = HashMap::new();
            while let Some(ResolverRequest { question, reply }) = inbox.recv().await {
                let answers = answer(&mut connection, &mut readers, &target, version_num, &question).await;
                // Whoever asks again gets a connection that works.
                connection = connection.filter(|connection: &Connection| !connection.client().is_closed());
                let _ = reply.send(answers);
            }
        });
        Resolver(requests)
    }

    /// An answer for each literal, in order.
    ///
    /// # Errors
    /// The connection cannot be made or broke.
    pub(crate) async fn ask(&self, question: Question) -> Result<Vec<Answer>, Error> {
        let gone = || Error::new(ErrorKind::Internal, "the resolver is gone");
        let (reply, answers) = oneshot::channel();
        self.0.send(ResolverRequest { question, reply }).await.map_err(|_| gone())?;
        answers.await.map_err(|_| gone())?
    }
}

/// SQL expressions that read `t.literal` as a type, by the type's name.
type Readers = HashMap<String, String>;

async fn answer(
    connection: &mut Option<Connection>,
    readers: &mut Readers,
    target: &Target,
    version_num: i32,
    question: &Question,
) -> Result<Vec<Answer>, Error> {
    let connection = match connection {
        Some(connection) => connection,
        none => none.insert(target.connect().await?),
    };
    let Question { type_name, form, literals, .. } = question;
    let reader = match readers.get(type_name) {
        Some(reader) => reader,
        None => {
            let reader = reader(connection, question).await?;
            readers.entry(type_name.clone()).or_insert(reader)
        }
    };
    let mut answers = Vec::with_capacity(literals.len());
    for literals in literals.chunks(LITERALS_A_QUESTION) {
        let together = if version_num >= HAS_SOFT_ERRORS {
            judge(connection, type_name, reader, *form, literals).await?
        } else {
            // One bad literal spoils the whole: then each is asked alone.
            values(connection, reader, *form, literals).await.ok()
        };
        match together {
            Some(found) => answers.extend(found),
            None => {
                for literal in literals {
                    answers.push(ask_alone(connection, reader, *form, literal).await?);
                }
            }
        }
    }
    Ok(answers)
}

/// How SQL reads a literal as COPY does. A cast reads it without the column's modifier and fits the value afterwards: that
/// cuts strings which are too long, and knows limits that rounding would have avoided. Where there is a modifier, the type's
/// input function is called itself.
async fn reader(connection: &Connection, question: &Question) -> Result<String, Error> {
    let (oid, typmod) = question.base_type;
    let cast = format!("t.literal::{}", question.type_name);
    if typmod < 0 {
        return Ok(cast);
    }
    let rows = connection
        .client()
        .query_typed(
            "select n.nspname::text, p.proname::text, p.pronargs,
                    case when y.typelem = 0 then y.oid else y.typelem end
               from pg_catalog.pg_type y join pg_catalog.pg_proc p on p.oid = y.typinput
               join pg_catalog.pg_namespace n on n.oid = p.pronamespace where y.oid = $1",
            &[(&oid, Type::OID)],
        )
        .await?;
    let Some(row) = rows.first().filter(|row| row.get::<_, i16>(2) == 3) else { return Ok(cast) };
    let (schema, function, parameter): (String, String, u32) = (row.get(0), row.get(1), row.get(3));
    Ok(format!(
        "{}.{}(t.literal::pg_catalog.cstring, {parameter}::pg_catalog.oid, {typmod}::pg_catalog.int4)",
        quote(&schema),
        quote(&function)
    ))
}

/// Verdicts on all literals at once, then the values of the good ones; `None` when the type's input function raises
/// its errors instead of reporting them.
async fn judge(
    connection: &Connection,
    type_name: &str,
    reader: &str,
    form: RowForm,
    literals: &[String],
) -> Result<Option<Vec<Answer>>, Error> {
    let verdicts = connection
        .client()
        .query_typed(
            "select i.sql_error_code, i.message, i.detail
               from pg_catalog.unnest($1::text[]) with ordinality as t(literal, n)
               cross join lateral pg_catalog.pg_input_error_info(t.literal, $2) as i order by t.n",
            &[(&literals, Type::TEXT_ARRAY), (&type_name, Type::TEXT)],
        )
        .await;
    let verdicts = match verdicts {
        Ok(verdicts) => verdicts,
        Err(error) if error.as_db_error().is_some() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let refusals: Vec<Option<Answer>> = verdicts
        .iter()
        .map(|row| {
            let sqlstate: Option<String> = row.get(0);
            Some(Answer::Refused(Arc::new(LiteralRefusal {
                sqlstate: sqlstate?,
                message: row.get(1),
                detail: row.get(2),
            })))
        })
        .collect();
    let good: Vec<&String> =
        literals.iter().zip(&refusals).filter(|(_, refusal)| refusal.is_none()).map(|(l, _)| l).collect();
    let Ok(found) = values(connection, reader, form, &good).await else { return Ok(None) };
    let mut found = found.into_iter();
    Ok(refusals.into_iter().map(|refusal| refusal.or_else(|| found.next())).collect())
}

/// The values of literals; an error when one of them is none.
async fn values(
    connection: &Connection,
    reader: &str,
    form: RowForm,
    literals: &[impl AsRef<str> + Sync],
) -> Result<Vec<Answer>, tokio_postgres::Error> {
    let literals: Vec<&str> = literals.iter().map(AsRef::as_ref).collect();
    let value = match form {
        RowForm::Binary => reader.to_owned(),
        // Looked at, and nothing sent back.
        RowForm::Text | RowForm::Csv(_) => format!("({reader} is null)"),
    };
    let sql = format!(
        "select {value} from pg_catalog.unnest($1::text[]) with ordinality as t(literal, n) order by t.n"
    );
    let rows = connection.client().query_typed(&sql, &[(&literals, Type::TEXT_ARRAY)]).await?;
    rows.iter()
        .map(|row| {
            let RawField(field) = row.try_get(0)?;
            Ok(match form {
                RowForm::Binary if is_text_only(row.columns()[0].type_(), &field[LENGTH..]) => {
                    Answer::TextOnly
                }
                RowForm::Binary => Answer::Value(field),
                RowForm::Text | RowForm::Csv(_) => Answer::Value(Box::default()),
            })
        })
        .collect()
}

async fn ask_alone(
    connection: &Connection,
    reader: &str,
    form: RowForm,
    literal: &str,
) -> Result<Answer, Error> {
    match values(connection, reader, form, &[literal]).await {
        Ok(mut found) => {
            found.pop().ok_or_else(|| Error::new(ErrorKind::Internal, "the server did not answer"))
        }
        Err(error) => match error.as_db_error() {
            Some(db) => Ok(Answer::Refused(Arc::new(LiteralRefusal {
                sqlstate: db.code().code().to_owned(),
                message: db.message().to_owned(),
                detail: db.detail().map(str::to_owned),
            }))),
            None => Err(error.into()),
        },
    }
}

/// Of a field, in front of the value.
const LENGTH: usize = size_of::<i32>();

/// The bytes of any value as a field of a binary row.
struct RawField(Box<[u8]>);

impl<'a> FromSql<'a> for RawField {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        let length = i32::try_from(raw.len())?;
        Ok(RawField([&length.to_be_bytes(), raw].concat().into_boxed_slice()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
