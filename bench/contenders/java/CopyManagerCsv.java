// Loads with pgjdbc's CopyManager: the CSV file as it is, in one COPY.

import java.io.InputStream;
import java.nio.file.Files;
import java.sql.Connection;
import org.postgresql.PGConnection;

final class CopyManagerCsv {
    public static void main(String[] args) {
        Contract.run(() -> {
            String sql = "COPY " + Contract.TABLE + " (" + Contract.NAMES + ") FROM STDIN (FORMAT csv, HEADER)";
            try (Connection connection = Contract.connect()) {
                Contract.go();
                long rows;
                try (InputStream input = Files.newInputStream(Contract.INPUT)) {
                    rows = connection.unwrap(PGConnection.class).getCopyAPI().copyIn(sql, input, 64 * 1024);
                }
                connection.commit();
                return rows;
            }
        });
    }
}
