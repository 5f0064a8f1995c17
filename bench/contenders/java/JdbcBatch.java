// Loads with JDBC batches: addBatch and executeBatch, in one transaction. With "rewrite", pgjdbc turns a batch into
// INSERTs of many rows (reWriteBatchedInserts=true).

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Types;
import java.util.Collections;
import org.apache.commons.csv.CSVRecord;

final class JdbcBatch {
    public static void main(String[] args) {
        String rewrite = "reWriteBatchedInserts=" + (args.length > 0 && args[0].equals("rewrite"));
        Contract.run(() -> {
            String places = String.join(", ", Collections.nCopies(Contract.COLUMNS.size(), "?"));
            String sql = "INSERT INTO " + Contract.TABLE + " (" + Contract.NAMES + ") VALUES (" + places + ")";
            long rows = 0;
            try (Connection connection = Contract.connect(rewrite);
                    PreparedStatement statement = connection.prepareStatement(sql)) {
                Contract.go();
                try (var records = Contract.records()) {
                    int waiting = 0;
                    for (CSVRecord record : records) {
                        for (int i = 0; i < Contract.COLUMNS.size(); i++) {
                            set(statement, i + 1, Contract.COLUMNS.get(i).type(), record.get(i));
                        }
                        statement.addBatch();
                        if (++waiting == Contract.BATCH) {
                            rows += statement.executeBatch().length;
                            waiting = 0;
                        }
                    }
                    rows += statement.executeBatch().length;
                }
                connection.commit();
            }
            return rows;
        });
    }

    /** Sets a parameter as its column's type. Documents go as text of a type that the server finds out. */
    private static void set(PreparedStatement statement, int place, String type, String field) throws Exception {
        if (field == null) {
            statement.setNull(place, Types.OTHER);
            return;
        }
        switch (type) {
            case "text" -> statement.setString(place, field);
            case "jsonb" -> statement.setObject(place, field, Types.OTHER);
            case "integer" -> statement.setInt(place, Integer.parseInt(field));
            case "bigint" -> statement.setLong(place, Long.parseLong(field));
            case "double precision" -> statement.setDouble(place, Double.parseDouble(field));
            case "boolean" -> statement.setBoolean(place, field.startsWith("t"));
            case "timestamptz" -> statement.setObject(place, Contract.moment(field));
            default -> throw new IllegalArgumentException("no setter for " + type);
        }
    }
}
