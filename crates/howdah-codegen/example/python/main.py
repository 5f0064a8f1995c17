"""Writes three tasks and reads them again, by the code that `howdah codegen generate` made of queries.sql."""

import os

import psycopg

from generated.queries import Queries, TasksRow

TASKS = [
    TasksRow("Water the plants", 1, None),
    TasksRow("Pay the rent", 3, "by Friday"),
    TasksRow("Call Ada", 2, None),
]

with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    queries = Queries(connection)
    print(queries.bulk_insert_tasks_rows(TASKS), "tasks written")
    print("first:", queries.task_by_id(1))
    print("all:", len(queries.find_tasks()))
    for task in queries.find_tasks(min_priority=2):
        print("urgent:", task.title)
