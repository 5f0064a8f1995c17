"""The option ``url``: what psql takes, and what Spark's JDBC writer takes, without a password."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote

from howdah._cluster._rules import has_password, refuse
from howdah.spark._refusal import refuse_password

_JDBC = "jdbc:postgresql:"

# pgjdbc's parameters that libpq has under another name.
_RENAMED = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
}
_SAME = {"user", "sslmode", "sslrootcert", "sslcert", "sslkey"}
# They are about statements that are not sent here.
_WITHOUT_MEANING = {
    "reWriteBatchedInserts",
    "prepareThreshold",
    "preparedStatementCacheQueries",
    "preparedStatementCacheSizeMiB",
    "defaultRowFetchSize",
    "stringtype",
    "tcpKeepAlive",
}
_SETTINGS = {"options", "currentSchema"}
_TARGETS = {"any": "any", "primary": "primary", "master": "primary"}

# A URI's own user, and that among its parameters or among pairs of key=value.
_USER = re.compile(r"^postgres(?:ql)?://[^/?@]+@|[?&\s]user\s*=|^user\s*=")


def dsn(url: str, user: str | None) -> str:
    """Give the connection that ``url`` and ``user`` mean."""
    if has_password(url):
        refuse_password("the url")
    if url.startswith(_JDBC):
        url = _of_jdbc(url.removeprefix(_JDBC))
    elif url.startswith("jdbc:"):
        refuse("howdah writes to PostgreSQL: the url is another database's")
    if user is None or _USER.search(url):
        return url
    if "://" in url:
        return f"{url}{'&' if '?' in url else '?'}user={quote(user, safe='')}"
    if "=" not in url:
        url = f"dbname={_word(url)}"
    return f"{url} user={_word(user)}"


def _word(text: str) -> str:
    escaped = text.replace("\\", r"\\").replace("'", r"\'")
    return f"'{escaped}'"


def _settings(said: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Give all that is said of settings as one parameter, as libpq takes the last of several."""
    settings = " ".join(
        # A blank would end the path.
        value if name == "options" else "-csearch_path=" + re.sub(r"([\\\s])", r"\\\1", value)
        for name, value in said
        if name in _SETTINGS
    )
    return [("options", settings)] if settings else []


def _of_jdbc(rest: str) -> str:
    """Translate what follows ``jdbc:postgresql:``: hosts, database and parameters."""
    place, _, query = rest.partition("?")
    given: list[tuple[str, str]] = []
    unknown = []
    said = parse_qsl(query, keep_blank_values=True)
    for name, value in said:
        if name == "ssl":
            # As pgjdbc: with no sslmode beside it, everything is verified.
            if value != "false" and "sslmode=" not in query:
                given.append(("sslmode", "verify-full"))
        elif name == "targetServerType" and value in _TARGETS:
            given.append(("target_session_attrs", _TARGETS[value]))
        elif name in _SAME or name in _RENAMED:
            given.append((_RENAMED.get(name, name), value))
        elif name not in _WITHOUT_MEANING | _SETTINGS:
            unknown.append(name)
    if unknown:
        refuse(
            f"the url has what only pgjdbc knows: {', '.join(unknown)}",
            "say it as psql does: postgresql://host/database?sslmode=…",
        )
    given += _settings(said)
    # pgjdbc's jdbc:postgresql:shop and jdbc:postgresql:/ are on this machine.
    if not place.startswith("//"):
        place = f"//localhost/{place.removeprefix('/')}"
    parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in given)
    return f"postgresql:{place}{'?' if parameters else ''}{parameters}"
