import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Writes the study's rows three ways by generated code, and prints after each what its queries give. */
public final class Writing {
    private static final int ROWS = 1000;
    private static final OffsetDateTime BEGIN = OffsetDateTime.parse("1999-12-31T23:00:00Z");
    private static final List<String> PLACES = Arrays.asList(
            "Halle 3", "", "a\tb\\c\n", "K\u00f6ln \u2603 \ud834\udd1e", "\"quoted\", {braces}", "NULL", null);
    private static final List<List<String>> TAGS = Arrays.asList(
            List.of(),
            List.of("indoor"),
            Arrays.asList("indoor", null, ""),
            List.of("NULL", "a b", "c,d"),
            List.of("x\"y", "\\"),
            null);
    private static final List<String> LITERALS = Arrays.asList(
            "{}", "{indoor}", "{indoor,NULL,\"\"}", "{\"NULL\",\"a b\",\"c,d\"}", "{\"x\\\"y\",\"\\\\\"}", null);
    private static final List<Double> TEMPERATURES = Arrays.asList(null, -0.0, Double.POSITIVE_INFINITY, Double.MIN_VALUE);
    private static final List<Boolean> ANOMALIES = Arrays.asList(true, false, null);

    private Writing() {}

    private interface Way {
        long write(Queries queries, List<Queries.SensorReadingsRow> rows) throws SQLException;
    }

    private static Queries.SensorReadingsRow row(int i) {
        return new Queries.SensorReadingsRow(
                UUID.fromString("00000000-0000-4000-8000-%012x".formatted(i * 7919 % 100)),
                BEGIN.plus(Duration.ofMillis(i * 10007L)),
                i % 11 < TEMPERATURES.size() ? TEMPERATURES.get(i % 11) : Double.valueOf(i * 37 / 7.0 - 100),
                i % 13 == 0 ? null : i * 53 % 1000 / 8.0,
                i % 17 == 0 ? null : BigDecimal.valueOf(i * 7919 % 2000001 - 1000000, 2),
                i % 19 == 0 ? null : (short) (i % 200 - 100),
                ANOMALIES.get(i % 3),
                PLACES.get(i % 7),
                TAGS.get(i % 6));
    }

    private static long insert(Queries queries, List<Queries.SensorReadingsRow> rows) throws SQLException {
        long written = 0;
        for (Queries.SensorReadingsRow row : rows) {
            written += queries.insertReading(
                    row.deviceId(),
                    row.timestamp(),
                    row.temperature(),
                    row.humidity(),
                    row.pressure(),
                    row.batteryLevel(),
                    row.isAnomaly(),
                    row.location(),
                    row.tags());
        }
        return written;
    }

    private static <T> List<T> each(List<Queries.SensorReadingsRow> rows, Function<Queries.SensorReadingsRow, T> column) {
        return rows.stream().map(column).toList();
    }

    private static long unnest(Queries queries, List<Queries.SensorReadingsRow> rows) throws SQLException {
        return queries.insertReadingsUnnest(
                each(rows, Queries.SensorReadingsRow::deviceId),
                each(rows, Queries.SensorReadingsRow::timestamp),
                each(rows, Queries.SensorReadingsRow::temperature),
                each(rows, Queries.SensorReadingsRow::humidity),
                each(rows, Queries.SensorReadingsRow::pressure),
                each(rows, Queries.SensorReadingsRow::batteryLevel),
                each(rows, Queries.SensorReadingsRow::isAnomaly),
                each(rows, Queries.SensorReadingsRow::location),
                IntStream.range(0, rows.size()).mapToObj(i -> LITERALS.get(i % 6)).toList());
    }

    private static String verified(Queries queries) throws SQLException {
        Long count = queries.countReadings();
        Queries.SumsResult sums = queries.sums();
        Queries.ReadingByIdResult one = queries.readingById(count - 499);
        List<Queries.LastReadingsResult> newest = queries.lastReadings();
        return count + " " + sums.batteries() + " " + sums.pressure() + " " + sums.anomalies() + " " + one.deviceId() + " "
                + one.pressure() + " " + one.tags().size() + " " + newest.size() + " "
                + Duration.between(BEGIN, newest.get(0).timestamp()).toMillis();
    }

    public static void main(String[] arguments) throws SQLException {
        String url = System.getenv("HOWDAH_URL");
        String password = System.getenv("HOWDAH_PASSWORD");
        try (Connection connection = DriverManager.getConnection(url, System.getenv("HOWDAH_USER"), password)) {
            System.out.println(Queries.applyMigrations(connection));
            connection.setAutoCommit(false);
            Queries queries = new Queries(connection);
            List<Queries.SensorReadingsRow> rows = IntStream.range(0, ROWS).mapToObj(Writing::row).toList();
            List<Way> ways = List.of(Queries::bulkInsertSensorReadingsRow, Writing::insert, Writing::unnest);
            for (Way way : ways) {
                long written = way.write(queries, rows);
                System.out.println(written + " " + verified(queries));
                connection.commit();
            }
        }
    }
}
