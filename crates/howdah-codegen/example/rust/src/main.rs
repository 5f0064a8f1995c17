//! Writes three tasks and reads them again, by the code that `howdah codegen generate` made of queries.sql.

use std::error::Error;

use tokio_postgres::NoTls;

mod howdah_postgres;
mod queries;

use queries::TasksRow;

fn task(title: &str, priority: i32, note: Option<&str>) -> TasksRow {
    TasksRow { title: title.to_owned(), priority, note: note.map(str::to_owned) }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (mut client, connection) = tokio_postgres::connect(&std::env::var("DATABASE_URL")?, NoTls).await?;
    tokio::spawn(connection);

    let tasks = [
        task("Water the plants", 1, None),
        task("Pay the rent", 3, Some("by Friday")),
        task("Call Ada", 2, None),
    ];
    let transaction = client.transaction().await?;
    let written = queries::append_tasks(&transaction, tasks).await?;
    transaction.commit().await?;
    println!("{written} tasks written");

    if let Some(first) = queries::task_by_id(&client, 1).await? {
        println!("first: {}", first.title);
    }
    println!("all: {}", queries::find_tasks(&client, None).await?.len());
    for task in queries::find_tasks(&client, Some(2)).await? {
        println!("urgent: {}", task.title);
    }
    Ok(())
}
