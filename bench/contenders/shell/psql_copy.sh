#!/usr/bin/env bash
# Loads with psql's \copy, one statement: psql connects, prompts for GO and streams the file.
set -euo pipefail

columns=$(cut -d ' ' -f 1 <<<"$CONTENDER_COLUMNS" | paste -s -d ,)
script="\\set ON_ERROR_STOP on
\\echo READY
\\prompt '' go
\\copy $CONTENDER_TABLE ($columns) FROM '$CONTENDER_INPUT' (FORMAT csv, HEADER)
\\echo DONE :ROW_COUNT"

# With -f the prompt reads standard input; --quiet keeps the command tag off the words of the contract.
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
if ! psql --no-psqlrc --quiet --dbname "$CONTENDER_URL" -f <(printf '%s\n' "$script") 2>"$errors"; then
    echo "FAILED $(tr -s '\n\t ' ' ' <"$errors")"
    exit 1
fi
