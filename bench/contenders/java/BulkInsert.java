// Loads with PgBulkInsert: rows of typed values, written as binary COPY.

import de.bytefish.pgbulkinsert.row.SimpleRow;
import de.bytefish.pgbulkinsert.row.SimpleRowWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.util.UUID;
import org.apache.commons.csv.CSVRecord;
import org.postgresql.PGConnection;

final class BulkInsert {
    public static void main(String[] args) {
        Contract.run(() -> {
            String[] names = Contract.COLUMNS.stream().map(Contract.Column::name).toArray(String[]::new);
            var table = new SimpleRowWriter.Table(Contract.TABLE, names);
            long rows = 0;
            try (Connection connection = Contract.connect()) {
                Contract.go();
                try (var writer = new SimpleRowWriter(table, connection.unwrap(PGConnection.class));
                        var records = Contract.records()) {
                    for (CSVRecord record : records) {
                        writer.startRow(row -> {
                            for (int i = 0; i < names.length; i++) {
                                set(row, i, Contract.COLUMNS.get(i).type(), record.get(i));
                            }
                        });
                        rows++;
                    }
                } // The writer ends its COPY when it is closed; it gives no count of the server's.
                connection.commit();
            }
            return rows;
        });
    }

    private static void set(SimpleRow row, int place, String type, String field) {
        boolean isNull = field == null;
        switch (type) {
            case "text" -> row.setText(place, field);
            case "jsonb" -> row.setJsonb(place, field);
            case "uuid" -> row.setUUID(place, isNull ? null : UUID.fromString(field));
            case "numeric(10,2)" -> row.setNumeric(place, isNull ? null : new BigDecimal(field));
            case "text[]" -> {
                if (isNull) {
                    row.setText(place, null); // setTextArray takes no null
                } else {
                    row.setTextArray(place, Contract.texts(field));
                }
            }
            case "smallint" -> row.setShort(place, isNull ? null : Short.valueOf(field));
            case "integer" -> row.setInteger(place, isNull ? null : Integer.valueOf(field));
            case "bigint" -> row.setLong(place, isNull ? null : Long.valueOf(field));
            case "double precision" -> row.setDouble(place, isNull ? null : Double.valueOf(field));
            case "boolean" -> row.setBoolean(place, isNull ? null : field.startsWith("t"));
            case "timestamptz" -> row.setTimeStampTz(place, isNull ? null : Contract.moment(field).toZonedDateTime());
            default -> throw new IllegalArgumentException("no setter for " + type);
        }
    }
}
