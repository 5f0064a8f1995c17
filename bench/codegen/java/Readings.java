// Makes the rows that every language's program makes, and the sums of what was read.

import java.math.BigDecimal;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

final class Readings {
    private static final OffsetDateTime START = OffsetDateTime.of(2025, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC);
    private static final int DEVICES = 100;
    private static final String[] PLACES = {
        "Hall A", "Hall B", "Roof", "Cellar", "Yard", "Office 1", "Office 2", "Lab", "Dock", "Gate",
    };
    private static final List<List<String>> TAGS = List.of(
        List.of(), List.of("indoor"), List.of("outdoor"), List.of("indoor", "calibrated"), List.of("outdoor", "solar"),
        List.of("test"), List.of("indoor", "critical", "v2"));

    private Readings() {
    }

    /** 32 bits that look random and are the same in every language. */
    static long mixed(long number, int stream) {
        int word = (int) (number + stream * 0x9E3779B9L);
        word ^= word >>> 16;
        word *= 0x7FEB352D;
        word ^= word >>> 15;
        word *= 0x846CA68B;
        return Integer.toUnsignedLong(word ^ word >>> 16);
    }

    static List<Sensor.SensorReadingsRow> rows(int count) {
        UUID[] devices = new UUID[DEVICES];
        for (int n = 0; n < DEVICES; n++) {
            devices[n] = new UUID(mixed(n, 100) << 32 | mixed(n, 101), mixed(n, 102) << 32 | mixed(n, 103));
        }
        List<Sensor.SensorReadingsRow> rows = new ArrayList<>(count);
        for (int n = 0; n < count; n++) {
            rows.add(new Sensor.SensorReadingsRow(
                devices[(int) (mixed(n, 0) % DEVICES)],
                START.plusSeconds(10L * n),
                18.0 + mixed(n, 1) % 1_500_000 / 100_000.0,
                30.0 + mixed(n, 2) % 5_000_000 / 100_000.0,
                BigDecimal.valueOf(98_000 + mixed(n, 3) % 4_000, 2),
                (short) (20 + mixed(n, 4) % 80),
                mixed(n, 5) % 20 == 0,
                PLACES[(int) (mixed(n, 6) % PLACES.length)],
                new ArrayList<>(TAGS.get((int) (mixed(n, 7) % TAGS.size())))));
        }
        return rows;
    }

    /** Keys of rows that are there. */
    static long[] keys(int count, int rows) {
        long[] keys = new long[count];
        for (int n = 0; n < count; n++) {
            keys[n] = mixed(n, 8) % rows + 1;
        }
        return keys;
    }

    /** Something of every column, so that no value is left unread. */
    static long sum(Sensor.ReadingByIdResult row) {
        return row.id() + row.batteryLevel() + (row.isAnomaly() ? 1 : 0) + row.location().length() + row.tags().size()
            + row.timestamp().getSecond() + (row.deviceId().getMostSignificantBits() & 255)
            + row.pressure().unscaledValue().longValue() + (long) (double) row.temperature()
            + (long) (double) row.humidity();
    }

    static long sum(Sensor.ReadingsFromResult row) {
        return row.id() + row.batteryLevel() + (row.isAnomaly() ? 1 : 0) + row.location().length() + row.tags().size()
            + row.timestamp().getSecond() + (row.deviceId().getMostSignificantBits() & 255)
            + row.pressure().unscaledValue().longValue() + (long) (double) row.temperature()
            + (long) (double) row.humidity();
    }
}
