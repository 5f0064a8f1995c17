"""A program of SQG's user: its names and signatures are those that SQG documents."""

import datetime as dt
import os
import sys
from decimal import Decimal

import psycopg
from observatory import (
    FramesOfSiteRow,
    Largest1Row,
    NightLogAppender,
    NightLogRow,
    NightsBetweenRow,
    Observatory,
    Sky,
    Telescope,
    TelescopesAppender,
    TelescopesRow,
)

EVENING = dt.datetime(2026, 1, 1, 20, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)


def say(*values: object) -> None:
    sys.stdout.write(" ".join(map(str, values)) + "\n")


def run(db: Observatory) -> None:
    telescopes: TelescopesAppender = db.create_telescopes_appender()
    with telescopes:
        telescopes.append(
            TelescopesRow(id=1, site="LP", name="Cyclops", aperture=Decimal("2.50"), filters=["r", "g"])
        )
        telescopes.append_many([TelescopesRow(id=2, site="LP", name="Argus", aperture=None, filters=None)])
    nights: NightLogAppender = db.create_night_log_appender()
    with nights:
        # SQG has a str for an enum; here it is a str of its own class.
        nights.append(NightLogRow(telescope=1, began=EVENING, sky=Sky.CLEAR, frames=12, remark=None))
        nights.append(
            NightLogRow(telescope=2, began=EVENING + DAY, sky=Sky("closed"), frames=None, remark="rain")
        )
    db.add_night(telescope=1, began=EVENING + 2 * DAY, sky=Sky.PARTLY_CLOUDY, frames=3, remark=None)
    # SQG's class is AllTelescopesRow: only its Java shares rows.
    rows: list[TelescopesRow] = db.all_telescopes()
    for row in rows:
        say(row.id, row.name, row.aperture, row.filters)
    say("raw:", db.all_telescopes_raw()[1])
    say("names:", db.telescope_names())
    # The same: SQG's are TelescopeByIdRow and TelescopesOfSiteRow.
    one: Telescope | None = db.telescope_by_id(id=1)
    say("one:", one and (one.name, one.aperture))
    say("none:", db.telescope_by_id(id=3), db.telescope_by_id_raw(id=3))
    say("of LP:", [each == one for each in db.telescopes_of_site(site="LP")])
    # SQG parts digits from letters: largest_1.
    largest: list[Largest1Row] = db.largest1(least=Decimal(1))
    say("largest:", largest[0].name, len(largest))
    clear: list[NightsBetweenRow] = db.nights_between(sky=Sky.CLEAR, since=EVENING, until=EVENING + 9 * DAY)
    for night in clear:
        say(night.name, night.began.isoformat(), night.sky == "clear", night.frames)
    frames: FramesOfSiteRow | None = db.frames_of_site(site="LP")
    say("frames:", frames and frames.frames)
    db.rename_telescope(id=2, name="Argus I")
    db.remove_night(id=1)
    count: int | None = db.count_nights()
    say("nights:", count)


def main() -> None:
    with psycopg.connect(os.environ["HOWDAH_DSN"], autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        say("migrations:", len(Observatory.get_migrations()))
        Observatory.apply_migrations(connection)
        Observatory.apply_migrations(connection, "observatory")
        run(Observatory(connection))


if __name__ == "__main__":
    main()
