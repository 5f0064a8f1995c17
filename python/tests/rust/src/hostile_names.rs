//! Names, labels and texts that want to be code, written and read.

use crate::check::{Outcome, connect, same};
use crate::hostile as q;
use q::Ax22bx27x24x24x5ccx25sx2ax2fX22x22x22X24x7bxx7dX60x202exdxaClass1 as Mood;
use q::Ax22bx27x24x24x5ccx25sx2ax2fX22x22x22X24x7bxx7dX60x202exdxaClass2 as Pair;

const HOSTILE: &str = "a\"b'$$\\c%s*/ \"\"\" ${x} `\u{202e}\r\n class";

pub async fn run() -> Outcome {
    let mut db = connect().await?;
    let labels = Mood::ALL.iter().map(|label| label.as_str()).collect::<Vec<_>>();
    same("labels", &labels, &vec!["happy", "Happy", "", HOSTILE, "class", "None", "mro"]);
    let rows = Mood::ALL.iter().map(|&mood| q::TRow {
        ax22bx27x24x24x5ccx25sx2ax2f_x22x22x22_x24x7bxx7d_x60x202exdxa_class: Some(mood),
        self_: Some(Pair {
            ax22bx27x24x24x5ccx25sx2ax2f_x22x22x22_x24x7bxx7d_x60x202exdxa_class: Some(mood),
            class: Some(1),
        }),
        int: Some(2),
        pg: Some(HOSTILE.to_owned()),
        a_b: None,
        a_b_2: Some(vec![Some(3), None]),
    });
    let rows = rows.collect::<Vec<_>>();
    let transaction = db.transaction().await?;
    same("appended", &q::append_t(&transaction, rows.clone()).await?, &7);
    transaction.commit().await?;
    let some = Some(HOSTILE);
    same("import", &q::import(&db, some).await?, &rows);
    same("get", &q::get(&db, some).await?.as_ref(), &rows.first());
    same("get_2", &q::get_2(&db, some).await?, &rows);
    let batch = [some.map(str::to_owned), None].map(|self_| q::GetParameters { self_ });
    let first = rows.first().cloned();
    same("get_batch", &q::get_batch(&db, batch).await?, &vec![first.clone(), first]);
    let one = q::one(&db, some).await?.and_then(|row| row.x3fcolumnx3f);
    same("one", &one.as_deref(), &some);
    let batch = ["a", "b"].map(|text| q::DoParameters { self_: Some(text.to_owned()) });
    same("do", &q::do__batch(&db, batch).await?.len(), &2);
    // The driver's own methods take and give these types, too.
    let name = HOSTILE.replace('"', "\"\"");
    let query = format!("SELECT $1::\"{name}\".\"{name}2\"");
    let pair = db.query_one(&query, &[&rows[0].self_]).await?.try_get::<_, Option<Pair>>(0)?;
    same("the driver's", &pair, &rows[0].self_);
    Ok(())
}
