import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;

/** Rows of types that a program has of its own: they are written and read, and given as parameters. */
final class OwnTypes {
    private OwnTypes() {
    }

    record UserId(long value) {
    }

    record Cents(long count) {
        static Cents of(BigDecimal amount) {
            return new Cents(amount.movePointRight(2).longValueExact());
        }

        BigDecimal amount() throws java.io.IOException {
            if (count < 0) {
                throw new java.io.IOException("half a cent");
            }
            return BigDecimal.valueOf(count, 2);
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (var connection = Check.connect()) {
            Own own = new Own(connection);
            var some = Arrays.asList(new Cents(150), null, new Cents(275));
            own.bulkInsertUsersRow(List.of(
                new Own.UsersRow(new UserId(1), new Cents(150), null, null),
                new Own.UsersRow(new UserId(2), new Cents(275), new Cents(100), some)));
            own.upsertUsers(List.of(new Own.UsersRow(new UserId(3), new Cents(1), new Cents(1), List.of())));
            // pgjdbc asks for binary results from the fifth time on.
            for (int turn = 0; turn < 7; turn++) {
                var rows = own.allUsers();
                Check.that("rows " + turn, rows.equals(List.of(
                    new Own.UsersRow(new UserId(1), new Cents(150), null, null),
                    new Own.UsersRow(new UserId(2), new Cents(275), new Cents(100), some),
                    new Own.UsersRow(new UserId(3), new Cents(1), new Cents(1), List.of()))));
                Check.that("a row", own.getUser(new UserId(2)).price().equals(new Cents(275)));
                Check.that("no row", own.getUser(new UserId(4)) == null);
                Check.that("by null", own.atLeast(null).size() == 3);
                Check.that("by a value", own.atLeast(new Cents(200)).equals(List.of(new UserId(2))));
                Check.that("by an array", own.withPrices(some).equals(List.of(new UserId(2))));
            }
            Check.refused("a value that is none", "half a cent", () -> own.atLeast(new Cents(-1)));
        }
    }
}
