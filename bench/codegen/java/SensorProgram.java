// Measures generated Java and what one writes by hand with pgjdbc: an action a line, an answer a line.

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;

final class SensorProgram {
    private static final int CALLS = 2_000;
    private static final int PAGES = 50;
    private static final int PAGE = 1_000;

    private interface Action {
        long run() throws SQLException;
    }

    private interface Read {
        long read(long key) throws SQLException;
    }

    private SensorProgram() {
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        Connection connection = connect();
        List<Sensor.SensorReadingsRow> rows = Readings.rows(count);
        long[] keys = Readings.keys(CALLS, count);
        long[] pages = Readings.keys(PAGES, Math.max(1, count - PAGE));
        Sensor sensor = new Sensor(connection);
        HandQueries hand = new HandQueries(connection);
        Map<String, Action> actions = new LinkedHashMap<>();
        actions.put("append generated", () -> committed(connection, () -> sensor.bulkInsertSensorReadingsRow(rows)));
        actions.put("append PgBulkInsert", () -> committed(connection, () -> BulkInsert.append(connection, rows)));
        actions.put("append hand", () -> committed(connection, () -> HandCopy.append(connection, rows)));
        actions.put("one generated", () -> each(keys, key -> Readings.sum(sensor.readingById(key))));
        actions.put("one hand", () -> each(keys, key -> Readings.sum(hand.one(key))));
        actions.put("all generated", () -> each(pages, key -> total(sensor.readingsFrom(key, PAGE))));
        actions.put("all hand", () -> each(pages, key -> total(hand.all(key, PAGE))));
        String names = actions.keySet().stream().map(name -> '"' + name + '"').collect(Collectors.joining(", "));
        System.out.printf("{\"version\": \"Java %s, pgjdbc %s, PgBulkInsert 8.1.5\", \"actions\": [%s]}%n",
            Runtime.version().feature(), connection.getMetaData().getDriverVersion(), names);
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Action action = actions.get(line);
            // What one way left is not to be collected while the other is measured.
            System.gc();
            long cpu = system.getProcessCpuTime();
            long wall = System.nanoTime();
            long check = action.run();
            wall = System.nanoTime() - wall;
            cpu = system.getProcessCpuTime() - cpu;
            System.out.println("{\"wall\": " + wall / 1e9 + ", \"cpu\": " + cpu / 1e9 + ", \"check\": " + check + "}");
        }
    }

    private static Connection connect() throws SQLException {
        Map<String, String> place = System.getenv();
        Properties properties = new Properties();
        properties.setProperty("user", place.get("PGUSER"));
        properties.setProperty("password", place.get("PGPASSWORD"));
        return DriverManager.getConnection(
            "jdbc:postgresql://" + place.get("PGHOST") + ":" + place.get("PGPORT") + "/" + place.get("PGDATABASE"),
            properties);
    }

    /** Appends are a transaction; reads are none. */
    private static long committed(Connection connection, Action action) throws SQLException {
        connection.setAutoCommit(false);
        long count = action.run();
        connection.commit();
        connection.setAutoCommit(true);
        return count;
    }

    private static long each(long[] keys, Read read) throws SQLException {
        long sum = 0;
        for (long key : keys) {
            sum += read.read(key);
        }
        return sum;
    }

    private static long total(List<Sensor.ReadingsFromResult> rows) {
        long sum = 0;
        for (Sensor.ReadingsFromResult row : rows) {
            sum += Readings.sum(row);
        }
        return sum;
    }
}
