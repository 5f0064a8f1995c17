// Loads sensor readings with the appender that howdah generated: rows of its record, written as binary COPY.

import java.math.BigDecimal;
import java.sql.Connection;
import java.util.UUID;
import java.util.function.Function;
import org.apache.commons.csv.CSVRecord;

final class GeneratedAppender {
    public static void main(String[] args) {
        Contract.run(() -> {
            try (Connection connection = Contract.connect()) {
                var readings = new Readings(connection);
                Contract.go();
                long rows;
                try (var records = Contract.records(); var appender = readings.createHowdahBenchAppender()) {
                    for (CSVRecord record : records) {
                        appender.append(row(record));
                    }
                    rows = appender.finish();
                }
                connection.commit();
                return rows;
            }
        });
    }

    private static Readings.HowdahBenchRow row(CSVRecord record) {
        return new Readings.HowdahBenchRow(
                value(record, 0, UUID::fromString),
                value(record, 1, Contract::moment),
                value(record, 2, Double::valueOf),
                value(record, 3, Double::valueOf),
                value(record, 4, BigDecimal::new),
                value(record, 5, Short::valueOf),
                value(record, 6, field -> field.startsWith("t")),
                record.get(7),
                value(record, 8, Contract::texts));
    }

    private static <T> T value(CSVRecord record, int place, Function<String, T> parse) {
        String field = record.get(place);
        return field == null ? null : parse.apply(field);
    }
}
