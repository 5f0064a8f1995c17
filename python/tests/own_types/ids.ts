/** Types that a program has of its own, for columns that are numbers in the database. */
export class UserId {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

export class Cents {
  readonly count: number;

  constructor(count: number) {
    this.count = count;
  }

  static of(amount: string): Cents {
    return new Cents(Math.round(Number(amount) * 100));
  }

  amount(): string {
    if (this.count < 0) {
      throw new Error("half a cent");
    }
    return (this.count / 100).toFixed(2);
  }
}
