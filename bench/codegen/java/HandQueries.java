// Reads rows as one writes it by hand with pgjdbc, into the same records.

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

final class HandQueries {
    private static final String COLUMNS = "id, device_id, timestamp, temperature, humidity, pressure, battery_level, "
        + "is_anomaly, location, tags";
    private static final String ONE = "SELECT " + COLUMNS + " FROM sensor_readings WHERE id = ?";
    private static final String ALL = "SELECT " + COLUMNS + " FROM sensor_readings WHERE id >= ? ORDER BY id LIMIT ?";
    private final Connection connection;

    HandQueries(Connection connection) {
        this.connection = connection;
    }

    Sensor.ReadingByIdResult one(long id) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(ONE)) {
            statement.setLong(1, id);
            try (ResultSet row = statement.executeQuery()) {
                if (!row.next()) {
                    return null;
                }
                return new Sensor.ReadingByIdResult(
                    row.getLong(1), row.getObject(2, UUID.class), row.getObject(3, OffsetDateTime.class),
                    number(row, 4), number(row, 5), row.getBigDecimal(6), small(row, 7), flag(row, 8),
                    row.getString(9), texts(row, 10));
            }
        }
    }

    List<Sensor.ReadingsFromResult> all(long id, long count) throws SQLException {
        List<Sensor.ReadingsFromResult> rows = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(ALL)) {
            statement.setLong(1, id);
            statement.setLong(2, count);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    rows.add(new Sensor.ReadingsFromResult(
                        row.getLong(1), row.getObject(2, UUID.class), row.getObject(3, OffsetDateTime.class),
                        number(row, 4), number(row, 5), row.getBigDecimal(6), small(row, 7), flag(row, 8),
                        row.getString(9), texts(row, 10)));
                }
            }
        }
        return rows;
    }

    private static Double number(ResultSet row, int column) throws SQLException {
        double value = row.getDouble(column);
        return row.wasNull() ? null : value;
    }

    private static Short small(ResultSet row, int column) throws SQLException {
        short value = row.getShort(column);
        return row.wasNull() ? null : value;
    }

    private static Boolean flag(ResultSet row, int column) throws SQLException {
        boolean value = row.getBoolean(column);
        return row.wasNull() ? null : value;
    }

    private static List<String> texts(ResultSet row, int column) throws SQLException {
        var array = row.getArray(column);
        return array == null ? null : Arrays.asList((String[]) array.getArray());
    }
}
