// Appends rows with PgBulkInsert: a mapping of this table's columns.

import de.bytefish.pgbulkinsert.PgBulkInsert;
import de.bytefish.pgbulkinsert.mapping.AbstractMapping;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.postgresql.PGConnection;

final class BulkInsert {
    private static final class Mapping extends AbstractMapping<Sensor.SensorReadingsRow> {
        Mapping() {
            super("public", "sensor_readings");
            mapUUID("device_id", Sensor.SensorReadingsRow::deviceId);
            mapTimeStampTz("timestamp", row -> row.timestamp().toZonedDateTime());
            mapDouble("temperature", Sensor.SensorReadingsRow::temperature);
            mapDouble("humidity", Sensor.SensorReadingsRow::humidity);
            mapNumeric("pressure", Sensor.SensorReadingsRow::pressure);
            mapShort("battery_level", Sensor.SensorReadingsRow::batteryLevel);
            mapBoolean("is_anomaly", Sensor.SensorReadingsRow::isAnomaly);
            mapText("location", Sensor.SensorReadingsRow::location);
            mapTextArray("tags", Sensor.SensorReadingsRow::tags);
        }
    }

    private BulkInsert() {
    }

    /** It gives no count of the server's: the harness counts the rows. */
    static long append(Connection connection, List<Sensor.SensorReadingsRow> rows) throws SQLException {
        new PgBulkInsert<>(new Mapping()).saveAll(connection.unwrap(PGConnection.class), rows);
        return rows.size();
    }
}
