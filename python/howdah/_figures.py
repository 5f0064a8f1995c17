"""Numbers as a person reads them, the same as the command's."""

_THOUSAND = 1000
_MINUTE = 60
_HOUR = 3600


def counted(number: int, one: str, many: str) -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{number:,} {one if number == 1 else many}"


def size(number: float) -> str:
    """``512 B``, ``3.4 kB``, ``248 MB``."""
    if number < _THOUSAND:
        return f"{number:.0f} B"
    units = ["kB", "MB", "GB", "TB", "PB"]
    number /= _THOUSAND
    # 999.5 would become "1000".
    while number >= 999.5 and len(units) > 1:  # noqa: PLR2004
        number /= _THOUSAND
        del units[0]
    return f"{number:.{1 if number < 9.95 else 0}f} {units[0]}"  # noqa: PLR2004


def seconds(time: float) -> str:
    """``0.043 s``, ``1.42 s``, ``2 min 05 s``, ``1 h 02 min``."""
    for below, digits in ((0.0995, 3), (9.995, 2), (59.95, 1)):
        if time < below:
            return f"{time:.{digits}f} s"
    whole = round(time)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    return f"{whole // _HOUR} h {whole // _MINUTE % _MINUTE:02} min"


def rate(per_second: float) -> str:
    """To three digits: more would be noise."""
    whole = round(max(per_second, 0))
    step = 10 ** max(len(str(whole)) - 3, 0)
    return f"{(whole + step // 2) // step * step:,}"


def visible(text: str) -> str:
    """Text that cannot move a cursor or pass for another line."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
