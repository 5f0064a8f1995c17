"""What DBeaver makes of a script on its own side, before a server sees it.

Its documentation says it on the pages "Client side scripting" and "Dynamic parameter bindings":

- ``@set name = value``, to the end of its line, keeps the value's text; ``${other}`` in it is replaced.
- ``${name}`` is replaced by that text wherever it stands, in quotes and comments too.
- ``:name`` is a parameter where neither quotes nor comments nor another colon say otherwise.
- For a name without a value, it asks the person.
- A statement ends at ``;`` and, as the page on the SQL editor's preferences has it, at a blank line.

Not done, as no file here has it: what is in dollar quotes, commands other than ``@set``.
"""

import re
from collections.abc import Mapping

_SET = re.compile(r"@set\s+(\w+)\s*=\s*(.*)")
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_PARAMETER = re.compile(
    r"""'[^']*' | "[^"]*" | --[^\n]* | /\*.*?\*/ | :: | :(?P<name>[A-Za-z_]\w*)""", re.DOTALL | re.VERBOSE
)


def script(text: str) -> str:
    """Give the statements that the server gets, in order."""
    variables: dict[str, str] = {}
    statements: list[str] = []
    lines: list[str] = []

    def end() -> None:
        statement = _filled("\n".join(lines), variables)
        statements.append(statement if statement.rstrip().endswith(";") else statement + "\n;")
        lines.clear()

    for line in text.splitlines():
        if command := _SET.fullmatch(line):
            end()
            variables[command[1]] = _filled(command[2].strip(), variables)
        elif line.strip():
            lines.append(line)
            if line.rstrip().endswith(";"):
                end()
        else:
            end()
    end()
    return "\n".join(statements)


def _filled(text: str, variables: Mapping[str, str]) -> str:
    """Replace parameters and variables; one that was not set is a KeyError, where DBeaver asks."""
    bound = _PARAMETER.sub(lambda found: variables[found["name"]] if found["name"] else found[0], text)
    return _VARIABLE.sub(lambda found: variables[found[1]], bound)
