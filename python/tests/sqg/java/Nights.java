import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import observatory.db.Observatory;

/** A program of SQG's user: its names and signatures are those that SQG documents. */
public final class Nights {
    private static final OffsetDateTime EVENING = OffsetDateTime.parse("2026-01-01T20:00:00Z");

    private Nights() {
    }

    public static void main(String[] arguments) throws Exception {
        String url = System.getenv("HOWDAH_URL");
        String user = System.getenv("HOWDAH_USER");
        List<String> heard = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(url, user, System.getenv("HOWDAH_PASSWORD"))) {
            System.out.println("migrations: " + Observatory.getMigrations().size());
            Observatory.applyMigrations(connection);
            Observatory.applyMigrations(connection, "observatory");
            run(new Observatory(connection));
            var observed = new Observatory(connection, name -> (rows, error) -> heard.add(name + " " + rows));
            observed.allTelescopes();
            observed.removeNight(99);
        }
        System.out.println("heard: " + heard);
    }

    private static void run(Observatory db) throws SQLException {
        db.bulkInsertTelescopesRow(List.of(
            new Observatory.TelescopesRow(1L, "LP", "Cyclops", new BigDecimal("2.50"), List.of("r", "g")),
            new Observatory.TelescopesRow(2L, "LP", "Argus", null, null)));
        // SQG's row has a String for an enum, here it is the enum that methods take.
        db.bulkInsertNightLogRow(List.of(
            new Observatory.NightLogRow(1L, EVENING, Observatory.Sky.CLEAR, 12, null),
            new Observatory.NightLogRow(2L, EVENING.plusDays(1), Observatory.Sky.fromValue("closed"), null, "rain")));
        System.out.println("added: " + db.addNight(1L, EVENING.plusDays(2), Observatory.Sky.PARTLY_CLOUDY, 3, null));
        List<Observatory.TelescopesRow> telescopes = db.allTelescopes();
        for (Observatory.TelescopesRow each : telescopes) {
            System.out.println(each.id() + " " + each.name() + " " + each.aperture() + " " + each.filters());
        }
        List<String> names = db.telescopeNames();
        System.out.println("names: " + names);
        Observatory.Telescope one = db.telescopeById(1L);
        System.out.println("one: " + one.name() + " " + one.aperture());
        System.out.println("none: " + db.telescopeById(3L));
        List<Observatory.Telescope> ofSite = db.telescopesOfSite("LP");
        System.out.println("of LP: " + ofSite.size() + " " + ofSite.get(0).equals(one));
        // SQG has one class here too. It does not know that an aperture that is compared is there.
        List<Observatory.Largest1Result> largest = db.largest1(BigDecimal.ONE);
        System.out.println("largest: " + largest.get(0).name() + " of " + largest.size());
        List<Observatory.NightsBetweenResult> clear = between(db, Observatory.Sky.CLEAR);
        for (Observatory.NightsBetweenResult each : clear) {
            Integer frames = each.frames();
            System.out.println(each.name() + " " + each.began() + " " + each.sky().getValue() + " " + frames);
        }
        OffsetDateTime until = EVENING.plusDays(9);
        try (Stream<Observatory.NightsBetweenResult> stream =
            db.nightsBetweenStream(Observatory.Sky.CLOSED, EVENING, until)) {
            System.out.println("closed: " + stream.map(Observatory.NightsBetweenResult::name).toList());
        }
        try (Stream<String> stream = db.telescopeNamesStream()) {
            System.out.println("streamed: " + stream.count());
        }
        System.out.println("frames: " + db.framesOfSite("LP").frames());
        int renamed = db.renameTelescope(2L, "Argus I");
        int[] again = db.renameTelescopeBatch(List.of(
            new Observatory.RenameTelescopeParams(2L, "Argus II"), new Observatory.RenameTelescopeParams(7L, "Nobody")));
        System.out.println("renamed: " + renamed + " " + Arrays.toString(again));
        System.out.println("removed: " + db.removeNight(1) + " " + Arrays.toString(db.removeNightBatch(List.of(2, 99))));
        Long count = db.countNights();
        System.out.println("nights: " + count);
    }

    private static List<Observatory.NightsBetweenResult> between(Observatory db, Observatory.Sky sky)
        throws SQLException {
        return db.nightsBetween(sky, EVENING, EVENING.plusDays(9));
    }
}
