import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;

/** Statements of every form. */
final class Statements {
    private Statements() {
    }

    public static void main(String[] arguments) throws Exception {
        try (var connection = Check.connect()) {
            Queries q = new Queries(connection);
            Check.run("statements", () -> statements(q));
            for (boolean autoCommit : new boolean[] {true, false}) {
                connection.setAutoCommit(autoCommit);
                Check.run("streams, autocommit " + autoCommit, () -> streams(connection, q));
            }
        }
    }

    private static void statements(Queries q) throws SQLException {
        Check.that("operators", q.operators("a").equals(List.of("?'?")));
        Check.that("operators of null", q.operators(null).isEmpty());
        Check.that("add", q.add(1, "x") == 1);
        int[] counts = q.addBatch(List.of(new Queries.AddParams(2, null), new Queries.AddParams(3, "?")));
        Check.that("addBatch", Arrays.equals(counts, new int[] {1, 1}));
        Check.that("addReturning", q.addReturning(4, "\u20ac").b().equals("\u20ac"));
        var added = q.addReturningBatch(
            List.of(new Queries.AddReturningParams(5, null), new Queries.AddReturningParams(6, "\n")));
        Check.that("addReturningBatch", added.size() == 2 && added.get(0).b() == null && added.get(1).a() == 6);
        Check.that("touch", q.touch(1) == 0);
        Check.that("touchBatch", q.touchBatch(List.of(1)).length == 1);
        Check.that("twice", q.twice(4, "c").equals(new Queries.Item(8, "c")));
        Check.that("allItems", q.allItems().size() == 6 && q.allItems().get(1).b() == null);
        Check.that("count", q.count() == 6);
        Check.that("allB", q.allB().equals(Arrays.asList("x", null, "?", "\u20ac", null, "\n")));
        Check.that("longest", q.long_() == 70_000);
        try {
            Check.wrong("not null: " + q.notNull(null));
        } catch (NullPointerException expected) {
            Check.that(expected.getMessage(), expected.getMessage().equals("class_"));
        }
    }

    private static void streams(Connection connection, Queries q) throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        try (var stream = q.numbersStream(2499)) {
            Check.that("half of a stream", stream.limit(10).toList().size() == 10);
        }
        Check.that("autocommit after half", connection.getAutoCommit() == autoCommit);
        Check.that("a whole stream", q.numbersStream(2499).toList().size() == 2499);
        Check.that("autocommit after all", connection.getAutoCommit() == autoCommit);
        try (var stream = q.numbersStream(2500)) {
            Check.wrong("a division by zero gives " + stream.count());
        } catch (HowdahJdbc.UncheckedSqlException expected) {
            Check.that(expected.getMessage(), expected.getCause().getSQLState().equals("22012"));
        }
        Check.that("autocommit after an error", connection.getAutoCommit() == autoCommit);
        if (!autoCommit) {
            connection.rollback();
        }
        Check.that("the connection goes on", q.count() == 6);
    }
}
