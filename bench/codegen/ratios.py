"""Say how much faster one way is than another, from runs that took turns."""

import random
import statistics

_SAMPLES = 10_000


def paired(reference: list[float], measured: list[float]) -> list[float]:
    """Give a ratio of each round: how many times as fast as the reference what was measured is."""
    return [beside / own for beside, own in zip(reference, measured, strict=True)]


def interval(ratios: list[float]) -> tuple[float, float]:
    """Give the 95 % interval of the median, by bootstrap. It is the same for the same ratios."""
    source = random.Random(1)  # noqa: S311 - nothing is secret here
    medians = sorted(statistics.median(source.choices(ratios, k=len(ratios))) for _ in range(_SAMPLES))
    return medians[_SAMPLES * 25 // 1000], medians[_SAMPLES * 975 // 1000 - 1]
