"""Names and texts in SQL, and statements that decide something on the server."""

from __future__ import annotations

import re

_FIRST = re.compile(r'("(?:[^"]|"")*"|[^".]+)\.')


def name(text: str) -> str:
    """Quote a name."""
    return '"' + text.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text, whatever ``standard_conforming_strings`` says."""
    quoted = text.replace("'", "''")
    return f" E'{quoted.replace(chr(92), chr(92) * 2)}'" if "\\" in quoted else f"'{quoted}'"


def names(columns: tuple[str, ...], of: str = "") -> str:
    """Quote the names of columns, ``of`` which table."""
    prefix = f"{of}." if of else ""
    return ", ".join(prefix + name(column) for column in columns)


def quoted(table: str) -> str:
    """Quote both parts of a qualified name, also those that are words of SQL."""
    return ".".join(
        part if part.startswith('"') else name(part) for part in (schema_of(table), last_of(table))
    )


def schema_of(table: str) -> str:
    """Give the schema of a qualified name, quoted as it is there."""
    found = _FIRST.match(table)
    if found is None:
        message = f"{table} has no schema"
        raise ValueError(message)
    return found[1]


def last_of(table: str) -> str:
    """Give a qualified name without its schema, quoted as it is there."""
    return table.removeprefix(f"{schema_of(table)}.")


def block(variables: str, body: str) -> str:
    """Give the statement that runs ``body`` in PL/pgSQL; columns hide variables of their name."""
    tag = "$howdah$"
    while tag in body:
        tag = tag[:-1] + "_$"
    return f"DO {tag}\n#variable_conflict use_column\nDECLARE {variables}\nBEGIN\n{body}\nEND {tag}"


def refusal(code: str, message: str) -> str:
    """Give the statement that ends a block with an error; ``message`` is an expression."""
    return f"RAISE EXCEPTION USING ERRCODE = '{code}', MESSAGE = {message};"
