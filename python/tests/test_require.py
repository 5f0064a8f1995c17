"""A run that requires something cannot pass by skipping, and a mistyped name is no permission to skip."""

import pytest
import require


def test_a_list_of_needs_means_what_it_says() -> None:
    assert require.parsed("") == frozenset()
    assert require.parsed("tls, psql,") == {"tls", "psql"}
    assert require.parsed("all") - require.parsed("all,-mounts,-go") == {"mounts", "go"}


@pytest.mark.parametrize("text", ["psql,pgbounce", "all,-mount"])
def test_a_mistyped_need_is_an_error(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="none of"):
        require.parsed(text)


def test_what_is_required_and_missing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(require, "_REQUIRED", frozenset({"tls"}))
    with pytest.raises(pytest.fail.Exception, match="there is no openssl"):
        require.missing("tls", "there is no openssl")
    with pytest.raises(pytest.skip.Exception):  # noqa: TID251 - the one place is tried
        require.missing("stores", "there is no store")
    monkeypatch.setattr(require, "_REQUIRED", frozenset({"libraries"}))
    with pytest.raises(pytest.fail.Exception):
        require.library("no_such_library")
