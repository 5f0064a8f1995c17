#!/usr/bin/env bash
# Loads with pgloader's LOAD CSV. pgloader has no pause between connecting and loading, so all of it runs after GO.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
columns=$(cut -d ' ' -f 1 <<<"$CONTENDER_COLUMNS" | paste -s -d ,)
cat >"$scratch/csv.load" <<LOAD
LOAD CSV
    FROM '$CONTENDER_INPUT' ($columns [null if blanks])
    INTO $CONTENDER_URL
    TARGET TABLE $CONTENDER_TABLE ($columns)
    WITH skip header = 1,
         fields optionally enclosed by '"', fields escaped by double-quote, fields terminated by ',',
         batch rows = $CONTENDER_BATCH,
         workers = $((CONTENDER_CONNECTIONS + 1)), concurrency = $CONTENDER_CONNECTIONS,
         on error stop;
LOAD

echo READY
read -r _
# Rejects go below its root directory, so that none are left behind.
pgloader --quiet --root-dir "$scratch/root" --summary "$scratch/summary.csv" "$scratch/csv.load" >"$scratch/log" 2>&1 || true

# It can end with 0 after a failure: what it counts decides. The summary's second line is the table's:
# name;read;imported;errors;bytes;seconds.
IFS=';' read -r _ read imported errors _ < <(sed -n 2p "$scratch/summary.csv" 2>/dev/null) || true
if [[ ${errors:-1} != 0 || ${read:-0} != "${imported:-}" ]]; then
    echo "FAILED $(grep -E 'ERROR|FATAL' "$scratch/log" | head -n 1 | tr -s '\n\t ' ' ')"
    exit 1
fi
echo "DONE $imported"
