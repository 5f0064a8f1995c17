"""Files, as paths and as objects."""

import gzip
import io
from pathlib import Path

import pytest
from conftest import Database

import howdah

PEOPLE = "id,name\n1,Ada\n2,Grace\n"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def loaded(database: Database, table: str) -> list[str]:
    return database.sql(f"SELECT id, name FROM {table} ORDER BY id")


def test_a_path_is_loaded_whatever_it_is_written_as(database: Database, people: Path) -> None:
    for table, data in (("a", str(people)), ("b", people), ("c", [people]), ("d", (str(people),))):
        assert howdah.load(data, table, database.dsn).rows == 2
        assert loaded(database, table) == ["1|Ada", "2|Grace"]


def test_the_first_file_names_the_table(database: Database, people: Path) -> None:
    assert howdah.load(people, dsn=database.dsn).table == "public.people"
    with pytest.raises(howdah.ProgrammingError, match="name"):
        howdah.load(io.BytesIO(PEOPLE.encode()), dsn=database.dsn)


def test_a_glob_and_a_list_are_loaded_as_one(database: Database, people: Path) -> None:
    people.with_name("more.csv.gz").write_bytes(gzip.compress(b"name,id\nEdsger,3\n"))
    assert howdah.load(str(people.with_name("*.csv*")), "a", database.dsn).rows == 3
    assert howdah.load([people, people.with_name("more.csv.gz")], "b", database.dsn).rows == 3
    file = io.BytesIO(b"id,name\n3,Edsger\n")
    assert howdah.load([people, file], "c", database.dsn).rows == 3
    for table in "abc":
        assert loaded(database, table) == ["1|Ada", "2|Grace", "3|Edsger"]


def test_a_file_object_is_read_as_bytes_or_as_text(database: Database, people: Path) -> None:
    howdah.load(io.BytesIO(PEOPLE.encode("utf-16")), "a", database.dsn)
    howdah.load(io.StringIO(PEOPLE), "b", database.dsn)
    with gzip.open(io.BytesIO(gzip.compress(PEOPLE.encode()))) as unpacked:
        howdah.load(unpacked, "c", database.dsn)
    with people.open(encoding="utf-8") as text:
        howdah.load(text, "d", database.dsn)
    howdah.load(io.BytesIO("id;name\n1;Ad\xe4\n".encode("latin-1")), "e", database.dsn, encoding="latin1")
    for table in "abcd":
        assert loaded(database, table) == ["1|Ada", "2|Grace"]
    assert loaded(database, "e") == ["1|Adä"]


def test_a_large_file_object_arrives_whole(database: Database) -> None:
    lines = "".join(f"{n},{'x' * (n % 50)}\n" for n in range(200_000))
    report = howdah.load(io.StringIO("id,v\n" + lines), "t", database.dsn)
    assert (report.rows, report.bytes_read) == (200_000, len(lines) + 5)
    assert (
        database.value("SELECT count(DISTINCT id), sum(length(v)) FROM t") == f"200000|{200_000 // 50 * 1225}"
    )


def test_text_has_no_encoding_any_more(database: Database) -> None:
    with pytest.raises(howdah.ProgrammingError, match="encoding"):
        howdah.load(io.StringIO(PEOPLE), "t", database.dsn, encoding="latin1")


def test_what_a_file_object_raises_is_raised_again(database: Database) -> None:
    class Torn(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            message = f"no {size} bytes here"
            raise TimeoutError(message)

    with pytest.raises(TimeoutError, match="bytes here"):
        howdah.load(Torn(), "t", database.dsn)


def test_a_file_that_gives_no_bytes_is_refused(database: Database) -> None:
    class Odd:
        def read(self, size: int = -1, /) -> int:
            return size

    with pytest.raises(TypeError, match="read"):
        howdah.load(Odd(), "t", database.dsn)  # type: ignore[arg-type]


def test_options_mean_what_they_mean_to_the_command(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "# noise\nID;Day;Price;Paid;Junk\n1;31.12.2024;1,5;Ja;x\nzwei;1.1.2025;2;ja;y\n3;-;1.003;nein;z\n"
    )
    report = howdah.load(
        path,
        'public."T"',
        database.dsn,
        mode="create",
        key="ID",
        jobs=1,
        delimiter=";",
        null="-",
        decimal=",",
        thousands=".",
        booleans=("ja", "nein"),
        date_format="%d.%m.%Y",
        header=True,
        skip_lines=1,
        map={"Day": "day"},
        skip_columns=["Junk"],
        types={"ID": "int", "Price": "numeric(6,2)"},
        on_error="ignore",
        reject_limit="50%",
        rejects=tmp_path / "bad.jsonl",
        limit=3,
        before="SET LOCAL work_mem = '1MB'",
        after=["COMMENT ON TABLE \"T\" IS 'done'"],
        analyze=True,
        unlogged=False,
    )
    assert (report.rows, report.rows_rejected, report.rejects_path) == (2, 1, str(tmp_path / "bad.jsonl"))
    assert database.sql('SELECT * FROM "T" ORDER BY 1') == ["1|2024-12-31|1.50|t", "3|∅|1003.00|f"]
    assert database.types('"T"') == {
        "ID": "integer",
        "day": "date",
        "Price": "numeric(6,2)",
        "Paid": "boolean",
    }


def test_map_takes_paths_into_objects_of_json(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text('[{"id": 1, "actor": {"id": 7}, "a.b": true}, {"id": 2, "actor": null}]')
    report = howdah.load(path, "t", database.dsn, map={"actor.id": "actor_id", "a.b": "flag"})
    assert report.rows == 2
    assert database.sql("SELECT * FROM t ORDER BY id") == ["1|7|t", "2|∅|∅"]
    assert database.types("t") == {"id": "bigint", "actor_id": "bigint", "flag": "boolean"}
    path.write_text('{"id": 3, "actor": {"id": 7}}\n{"id": 4, "actor": "x"}\n')
    with pytest.raises(howdah.Error, match=r"the path actor\.id leads into a string.*") as caught:
        howdah.load(path, "t", database.dsn, map={"actor.id": "actor_id"})
    assert caught.value.location is not None
    assert caught.value.location.line == 2


def test_triggers_of_the_table_can_be_kept_out_of_the_way(database: Database, people: Path) -> None:
    database.sql(
        "CREATE TABLE t (id int, name text);"
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER no BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION no()"
    )
    assert howdah.load(people, "t", database.dsn).rows_dropped == 2
    report = howdah.load(people, "t", database.dsn, disable_triggers=True)
    assert (report.rows, report.rows_dropped) == (2, 0)
    assert report.plan is not None
    assert report.plan["disabled_triggers"] == ["no"]
    with pytest.raises(howdah.ProgrammingError, match="triggers cannot be disabled"):
        howdah.load(people, "t", database.dsn, mode="replace", disable_triggers=True)


def test_columns_that_the_data_brings_are_added_to_the_table(database: Database, people: Path) -> None:
    database.sql("CREATE TABLE t (id int)")
    with pytest.raises(howdah.Error, match="is not a column"):
        howdah.load([{"id": 1, "size": 5}], "t", database.dsn)
    report = howdah.load([{"id": 1, "size": 5}, {"id": 2, "size": None}], "t", database.dsn, evolve=True)
    assert report.plan is not None
    assert report.plan["alter_table"] == 'ALTER TABLE "public"."t" ADD COLUMN "size" bigint'
    assert howdah.load(people, "t", database.dsn, evolve=True).rows == 2
    assert database.types("t") == {"id": "integer", "size": "bigint", "name": "text"}
    assert database.sql("SELECT * FROM t ORDER BY id, size, name")[0] == "1|5|∅"
    with pytest.raises(howdah.ProgrammingError, match="columns cannot be added"):
        howdah.load(people, "t", database.dsn, mode="delete", evolve=True)


def test_a_new_table_s_wide_values_can_be_compressed_otherwise(database: Database, people: Path) -> None:
    howdah.load(people, "t", database.dsn, mode="create", column_compression="pglz")
    named = "SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attcompression = 'p'"
    assert database.sql(named) == ["name"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "merge"},
        {"jobs": 0},
        {"jobs": True},
        {"delimiter": "====="},
        {"reject_limit": "many", "on_error": "ignore"},
        {"reject_limit": 1},
        {"columns": 5},
        {"columns": ["a", "a"]},
        {"map": ["a"]},
        {"types": {"a": 5}},
        {"limit": -1},
        {"header": "match"},
        {"write_path": "carrier-pigeon"},
        {"allow": ["everything"]},
        {"format": "excel"},
        {"column_compression": "zstd"},
    ],
)
def test_an_argument_that_makes_no_sense_is_named(
    database: Database, people: Path, wrong: dict[str, object]
) -> None:
    with pytest.raises(howdah.ProgrammingError, match=next(iter(wrong))):
        howdah.load(people, "t", database.dsn, **wrong)  # type: ignore[arg-type]


def test_an_argument_that_there_is_not_is_a_type_error(people: Path) -> None:
    with pytest.raises(TypeError, match="colums"):
        howdah.load(people, "t", colums=["a"])  # type: ignore[call-arg]


def test_none_is_as_good_as_nothing(database: Database, people: Path) -> None:
    assert howdah.load(people, "t", database.dsn, mode=None, jobs=None, columns=None).rows == 2


@pytest.mark.parametrize("data", [b"id\n1\n", 5, None, object()])
def test_what_is_no_data_is_refused_with_a_hint(database: Database, data: object) -> None:
    with pytest.raises(howdah.ProgrammingError, match="cannot be loaded") as caught:
        howdah.load(data, "t", database.dsn)  # type: ignore[arg-type]
    assert caught.value.hint
