"""What may be said of a load and of a writer: every option with its type, its meaning and its default, once.

The annotations are evaluated, since ``help`` shows them: ``documented`` makes a function's signature and
docstring of them.
"""

import inspect
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, TypeAlias, TypedDict, TypeVar, get_args

Place: TypeAlias = str | os.PathLike[str]
Names: TypeAlias = str | Sequence[str]
Mode: TypeAlias = Literal[
    "append", "create", "create_append", "replace", "truncate", "upsert", "ignore", "update", "delete"
]
Format: TypeAlias = Literal["csv", "tsv", "text", "ndjson", "json", "parquet", "arrow", "binary", "rejects"]
WritePath: TypeAlias = Literal[
    "copy-binary",
    "copy-text",
    "copy-csv",
    "insert-autocommit",
    "insert",
    "insert-prepared",
    "insert-pipelined",
    "insert-rewritten",
    "values",
    "values-prepared",
    "unnest",
    "landing",
]


class Options(TypedDict, total=False):
    """What may be said of a load beside the data, the table and the server. None is as good as nothing."""

    mode: Annotated[Mode | None, "What becomes of a table that is there, or is not. Default: create_append."]
    key: Annotated[
        Names | None,
        "A new table's primary key; in modes that match rows, the columns to match them by. "
        "Default: none; the table's own key.",
    ]
    create_schema: Annotated[bool | None, "Make a new table's schema too. Default: False."]
    evolve: Annotated[
        bool | None,
        "Add the data's columns that the table lacks to it, in the load's transaction. Default: False.",
    ]
    column_compression: Annotated[
        Literal["auto", "lz4", "pglz", "default"] | None,
        "How the server compresses wide values of a new table. Default: 'auto', lz4 where 2 kB are seen.",
    ]
    unlogged: Annotated[
        bool | Literal["then-logged"] | None,
        "New tables are UNLOGGED: faster, emptied by a crash of the server. 'then-logged': any table is, "
        "until its rows are there. Default: False.",
    ]
    dry_run: Annotated[bool | None, "Make the plan and check every record, change nothing. Default: False."]

    format: Annotated[Format | None, "Of files. Default: by the name's ending and the content, else csv."]
    encoding: Annotated[
        str | None, "Of text, PostgreSQL's name or the WHATWG's. Default: a byte order mark, else guessed."
    ]
    delimiter: Annotated[
        str | None,
        "What stands between fields, up to four bytes. Default: guessed, else a comma; a tab in tsv.",
    ]
    null: Annotated[
        str | None, r"What stands for NULL in a file. Default: guessed, else an empty field; \N in text."
    ]
    default: Annotated[str | None, "What stands for a column's DEFAULT in a file. Default: nothing."]
    quote: Annotated[str | None, "The quote of csv and tsv. Default: guessed, else a double quote."]
    escape: Annotated[str | None, "What stands before a quote in quotes. Default: guessed, else the quote."]
    header: Annotated[
        bool | Literal["auto"] | None, "Whether record 1 of a file names the columns. Default: auto."
    ]
    decimal: Annotated[Literal[".", ","] | None, "The decimal point of numeric columns. Default: a point."]
    thousands: Annotated[
        Literal[",", ".", "'", "space"] | None, "What separates thousands in numbers. Default: nothing."
    ]
    booleans: Annotated[
        tuple[str, str] | Sequence[tuple[str, str]] | None,
        "Words for true and false beside PostgreSQL's, in any case: ('ja', 'nein'), or several such pairs. "
        "Default: none.",
    ]
    date_format: Annotated[
        str | None, "How dates are written in a file: %d.%m.%Y. Default: as PostgreSQL reads them."
    ]
    force_null: Annotated[
        Names | None, "Columns in which the NULL string means NULL in quotes too; * for all. Default: none."
    ]
    force_not_null: Annotated[
        Names | None,
        "Columns in which the NULL string means itself without quotes; * for all. Default: none.",
    ]
    hive: Annotated[
        bool | None,
        "Directories such as year=2024 on the way to a file are columns of its rows. Default: False.",
    ]
    skip_lines: Annotated[int | None, "Lines to drop at every file's start. Default: 0."]
    limit: Annotated[int | None, "Load at most so many records. Default: all."]

    columns: Annotated[
        Sequence[str] | None,
        "The columns of the fields, in their order; of JSON and dicts, the keys that are loaded. "
        "Default: by the header's names, else in the table's order.",
    ]
    map: Annotated[
        Mapping[str, str] | None,
        "Columns for names in the data that differ from the table's; in files of JSON also for paths, as "
        "actor.id. Default: none.",
    ]
    skip_columns: Annotated[
        Names | None, "Names in the data, or numbers of fields, that are not loaded. Default: none."
    ]
    types: Annotated[
        Mapping[str, str] | None,
        "Types of columns: a new table gets them, an existing one must have them. Default: found.",
    ]
    infer: Annotated[
        Literal["all", "mostly"] | None,
        "How many values of a file's column must fit the type that it gets in a new table: all, or 99 % with "
        "on_error='ignore', which rejects the others. Default: all.",
    ]
    names: Annotated[
        Literal["keep", "snake"] | None,
        "What a new table and its columns are called: as the file and its columns, or in snake_case. "
        "Default: keep.",
    ]
    file_column: Annotated[
        str | None, "A column of text that gets the name of each row's file. Default: none."
    ]
    allow: Annotated[
        Names | None,
        "Losses that are allowed: nanoseconds cut off, decimals and floats rounded. Default: none.",
    ]

    on_error: Annotated[
        Literal["stop", "ignore"] | None, "What happens at a record that cannot be a row. Default: stop."
    ]
    reject_limit: Annotated[
        int | str | None,
        'The most records that may be rejected: a number, or a share "5%". Default: all.',
    ]
    rejects: Annotated[
        Place | None,
        "Where rejected records go. Default: TABLE.LOAD_ID.rejects.jsonl in the working directory.",
    ]
    overwrite_rejects: Annotated[
        bool | None, "Empty the file of rejects if it holds something. Default: False, refuse to."
    ]
    on_nul: Annotated[
        Literal["error", "strip"] | None,
        "What happens to NUL characters, which PostgreSQL cannot store. Default: error.",
    ]

    jobs: Annotated[int | None, "Connections that write at once. Default: by cores, input and indexes."]
    write_path: Annotated[WritePath | None, "How rows travel: docs/write-paths.md. Default: copy-binary."]
    landing_table: Annotated[
        str | None, "Where rows land first with write_path landing. Default: TABLE_landing."
    ]
    keep_landing: Annotated[bool | None, "Keep the landing table. Default: False."]
    rows_per_statement: Annotated[
        int | None, "Of write paths with many rows in an INSERT. Default: 1000; unnest 5000; rewritten 128."
    ]
    freeze: Annotated[
        bool | None, "COPY FREEZE, into a table made or truncated by this load. Default: False."
    ]
    indexes: Annotated[
        Literal["keep", "rebuild", "auto"] | None,
        "Whether a table's indexes are kept, or dropped and built again behind the rows. Default: 'keep'.",
    ]
    disable_triggers: Annotated[
        bool | None,
        "The table's own triggers do not fire for these rows; foreign keys are checked. Default: False.",
    ]
    sort: Annotated[
        str | None,
        "The order of rows within 16 MiB of input: 'auto', 'none', or a B-tree index. Default: 'auto'.",
    ]
    max_rate: Annotated[int | None, "The most bytes a second that are sent to the server. Default: no limit."]
    lock_timeout: Annotated[
        float | None, "Seconds that a statement may wait for a lock of another session. Default: no limit."
    ]
    load_id: Annotated[str | None, "What all processes that share the load call it. Default: None."]
    share: Annotated[bool | None, "Share the load with processes of the same load_id. Default: False."]
    before: Annotated[Names | None, "SQL before row 1, in the load's transaction. Default: none."]
    after: Annotated[Names | None, "SQL after all rows, in the load's transaction. Default: none."]
    analyze: Annotated[bool | None, "ANALYZE the table after the commit. Default: False."]


class WriterOptions(TypedDict, total=False):
    """What may be said of a writer. None is as good as nothing; times are in seconds."""

    columns: Annotated[
        Sequence[str] | None,
        "The columns that rows have values for. Default: all but generated, identity and default columns.",
    ]
    max_rows: Annotated[int | None, "The most rows of a transaction. Default: 5000."]
    max_bytes: Annotated[int | None, "The most bytes of a transaction. Default: 4 MiB."]
    max_age: Annotated[
        float | None, "So long a row waits for company while others are under way. Default: 0.005."
    ]
    connections: Annotated[int | None, "The most connections; opened when they are needed. Default: 2."]
    queue_rows: Annotated[int | None, "The most rows that are not settled yet. Default: 100000."]
    queue_bytes: Annotated[int | None, "The most bytes of such rows. Default: 64 MiB."]
    on_full: Annotated[
        Literal["wait", "fail"] | float | None,
        "When the queue is full, a row waits, is refused, or waits so many seconds before it is refused. "
        "Default: wait.",
    ]
    write_path: Annotated[
        Literal["auto", "copy", "insert"] | None,
        "How rows travel: few by INSERT and many by COPY, or always the same way. Default: auto.",
    ]
    copy_from_rows: Annotated[int | None, "From so many rows on a transaction is a COPY. Default: 20."]
    on_conflict: Annotated[
        Literal["ignore", "update"] | None,
        "What becomes of a row whose key the table has: nothing, or its values replace the old ones. "
        "Default: it is refused.",
    ]
    conflict_key: Annotated[Names | None, "The columns of that key. Default: the primary key."]
    returning: Annotated[
        Names | None, "Columns whose stored values an acknowledgement brings. Default: none."
    ]
    latency_target: Annotated[
        float | None,
        "The 99th percentile of the time to an acknowledgement that is aimed at. Default: none.",
    ]
    adaptive: Annotated[
        bool | None,
        "Find batches and connections by measuring; a latency target implies it. Default: False.",
    ]
    delivery: Annotated[
        Literal["exactly_once", "at_least_once"] | None,
        "How often a row can be in the table when connections break. Default: exactly_once.",
    ]
    retry_for: Annotated[
        float | None, "So long rows are tried again when the server is away; then they fail. Default: 300."
    ]
    discard: Annotated[
        bool | None,
        "Encode, queue and acknowledge rows, and throw them away, to measure a program. Default: False.",
    ]


_F = TypeVar("_F", bound=Callable[..., object])


def documented(options: type) -> Callable[[_F], _F]:
    """Show ``options`` in ``help``: as parameters by keyword, and as a list of meanings."""

    def shown(function: _F) -> _F:
        signature = inspect.signature(function)
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Options:", ""]
        for name, annotation in options.__annotations__.items():
            kind, meaning = get_args(annotation)
            named.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            )
            lines += [f"{name}:", textwrap.fill(meaning, 96, initial_indent="    ", subsequent_indent="    ")]
        function.__doc__ = "\n".join(lines)
        function.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
        return function

    return shown
