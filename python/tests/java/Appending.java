import java.sql.Connection;
import java.sql.SQLException;
import java.util.Iterator;
import java.util.List;
import java.util.function.IntFunction;

/**
 * Everything that ends an appender early. None of its rows is there then, and the connection goes on.
 *
 * <p>Argument: binary or text.
 */
final class Appending {
    private Appending() {
    }

    /** The appenders of both modules. */
    private interface Appender extends AutoCloseable {
        void append(int number) throws SQLException;

        void bad() throws SQLException;

        long finish() throws SQLException;

        @Override
        void close() throws SQLException;
    }

    private static Appender open(boolean binary, Connection connection) throws SQLException {
        return binary ? binary(new FaultsBinary(connection).createTAppender())
            : text(new FaultsText(connection).createTAppender());
    }

    private static Appender binary(HowdahCopy.Appender<FaultsBinary.TRow> appender) {
        return new Appender() {
            @Override
            public void append(int number) throws SQLException {
                appender.append(new FaultsBinary.TRow(number, null, null));
            }

            @Override
            public void bad() throws SQLException {
                appender.append(new FaultsBinary.TRow(1, java.time.LocalDate.MAX, null));
            }

            @Override
            public long finish() throws SQLException {
                return appender.finish();
            }

            @Override
            public void close() throws SQLException {
                appender.close();
            }
        };
    }

    private static Appender text(HowdahCopy.Appender<FaultsText.TRow> appender) {
        return new Appender() {
            @Override
            public void append(int number) throws SQLException {
                appender.append(new FaultsText.TRow(number, null, null));
            }

            @Override
            public void bad() throws SQLException {
                appender.append(new FaultsText.TRow(1, java.time.LocalDate.MAX, null));
            }

            @Override
            public long finish() throws SQLException {
                return appender.finish();
            }

            @Override
            public void close() throws SQLException {
                appender.close();
            }
        };
    }

    private static <T> Iterable<T> failing(IntFunction<T> row) {
        return () -> new Iterator<>() {
            private int given;

            @Override
            public boolean hasNext() {
                return true;
            }

            @Override
            public T next() {
                if (given == 100_000) {
                    throw new IllegalStateException("row k");
                }
                return row.apply(given++);
            }
        };
    }

    private static long left(Connection connection) throws SQLException {
        try (var s = connection.createStatement(); var r = s.executeQuery("SELECT count(*) FROM t")) {
            r.next();
            return r.getLong(1);
        }
    }

    private static void left(Connection connection, long rows) throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
        }
        long found = left(connection);
        Check.that("there are " + found + " rows, not " + rows, found == rows);
    }

    public static void main(String[] arguments) throws Exception {
        boolean binary = arguments[0].equals("binary");
        for (boolean autoCommit : new boolean[] {true, false}) {
            try (var connection = Check.connect()) {
                connection.setAutoCommit(autoCommit);
                Check.run("autocommit " + autoCommit, () -> run(binary, connection));
            }
        }
        // pgjdbc cannot close a connection that is gone.
        lost(binary, Check.connect());
        try (var connection = Check.connect()) {
            left(connection, 0);
            finished(binary, connection);
            connection.createStatement().execute("TRUNCATE t");
            dropped(binary, connection);
        }
    }

    private static void run(boolean binary, Connection connection) throws SQLException {
        try {
            if (binary) {
                new FaultsBinary(connection).bulkInsertTRow(failing(n -> new FaultsBinary.TRow(n, null, null)));
            } else {
                new FaultsText(connection).bulkInsertTRow(failing(n -> new FaultsText.TRow(n, null, null)));
            }
            Check.wrong("a producer's error is lost");
        } catch (IllegalStateException expected) {
            Check.that(expected.getMessage(), expected.getMessage().equals("row k"));
        }
        left(connection, 0);

        Check.refused("a bad value", "row 2, column b: ", () -> {
            try (var appender = open(binary, connection)) {
                appender.append(1);
                appender.bad();
                return appender.finish();
            }
        });
        left(connection, 0);

        try (var appender = open(binary, connection)) {
            appender.append(1);
            Check.refused("a bad value", "row 2, column b: ", () -> {
                appender.bad();
                return null;
            });
            Check.refused("a row behind a bad one", "row 2, column b: ", () -> {
                appender.append(3);
                return null;
            });
            Check.refused("the end behind a bad row", "row 2, column b: ", appender::finish);
        }
        left(connection, 0);

        try (var appender = open(binary, connection)) {
            appender.append(1);
        }
        left(connection, 0);

        try (var appender = open(binary, connection)) {
            for (int i = 0; i < 100_000; i++) {
                appender.append(i);
            }
        }
        left(connection, 0);

        Check.refused("a key that is there", "duplicate key", () -> {
            try (var appender = open(binary, connection)) {
                for (int i = 0; i < 100_000; i++) {
                    appender.append(i / 2);
                }
                return appender.finish();
            }
        });
        left(connection, 0);

        beside(binary, connection);

        forget(binary, connection);
        Thread collecting = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                System.gc();
            }
        });
        collecting.start();
        try {
            // The connection takes no statement until the COPY has ended.
            left(connection, 0);
        } finally {
            collecting.interrupt();
        }
    }

    /** pgjdbc would let a statement wait for the end of the COPY, and for ever. */
    private static void beside(boolean binary, Connection connection) throws SQLException {
        FaultsBinary shop = new FaultsBinary(connection);
        List<Check.Give<?>> statements = List.of(
            shop::numbers,
            shop::numbersStream,
            () -> shop.add(1),
            () -> shop.addBatch(List.of(1)),
            shop::createTAppender,
            () -> shop.bulkInsertTRow(List.of()));
        for (Check.Give<?> statement : statements) {
            try (var appender = open(binary, connection)) {
                appender.append(1);
                Check.refused("a statement beside an appender", "an appender is open", statement);
                appender.append(2);
            }
            left(connection, 0);
        }
        Check.refused("a stream beside an appender", "an appender is open", () -> {
            try (var numbers = shop.numbersStream(); var appender = open(binary, connection)) {
                for (var iterator = numbers.iterator(); iterator.hasNext();) {
                    appender.append(iterator.next().i());
                }
                return appender.finish();
            } catch (HowdahJdbc.UncheckedSqlException failure) {
                throw failure.getCause();
            }
        });
        left(connection, 0);
    }

    private static void forget(boolean binary, Connection connection) throws SQLException {
        open(binary, connection).append(1);
    }

    private static void lost(boolean binary, Connection connection) throws Exception {
        int server;
        try (var s = connection.createStatement(); var r = s.executeQuery("SELECT pg_backend_pid()")) {
            r.next();
            server = r.getInt(1);
        }
        Check.refused("an appender without a connection", "", () -> {
            try (var appender = open(binary, connection)) {
                for (int i = 0; i < 1000; i++) {
                    appender.append(i);
                }
                try (var other = Check.connect(); var s = other.createStatement()) {
                    s.execute("SELECT pg_terminate_backend(" + server + ", 10000)");
                }
                for (int i = 1000; i < 1_000_000; i++) {
                    appender.append(i);
                }
                return appender.finish();
            }
        });
    }

    private static void finished(boolean binary, Connection connection) throws SQLException {
        try (var appender = open(binary, connection)) {
            for (int i = 0; i < 100_000; i++) {
                appender.append(i);
            }
            Check.that("the count", appender.finish() == 100_000);
            Check.refused("a row behind the end", "finished", () -> {
                appender.append(-1);
                return null;
            });
            Check.refused("a second end", "finished", appender::finish);
        }
        left(connection, 100_000);
        try (var appender = open(binary, connection)) {
            Check.that("no rows", appender.finish() == 0);
        }
    }

    private static void dropped(boolean binary, Connection connection) throws SQLException {
        try (var s = connection.createStatement()) {
            s.execute("""
                CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                CREATE TRIGGER drop_it BEFORE INSERT ON t FOR EACH ROW WHEN (new.a = 1) EXECUTE FUNCTION nothing()""");
        }
        Check.refused("rows that a trigger dropped", "the server counted 2 of 3 rows", () -> {
            try (var appender = open(binary, connection)) {
                for (int i = 0; i < 3; i++) {
                    appender.append(i);
                }
                return appender.finish();
            }
        });
    }
}
