"""Types that a program has of its own, for columns that are numbers in the database."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class UserId:
    value: int


@dataclass(frozen=True)
class Cents:
    count: int

    @classmethod
    def of(cls, amount: Decimal) -> Cents:
        return cls(int(amount * 100))

    def amount(self) -> Decimal:
        return Decimal(self.count) / 100


@dataclass(frozen=True)
class Prices:
    amounts: tuple[Decimal | None, ...]
