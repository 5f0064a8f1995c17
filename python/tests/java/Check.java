import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;

/** What the programs of tests share. A program prints what is wrong, a line each. */
final class Check {
    private Check() {
    }

    interface Step {
        void run() throws Exception;
    }

    interface Give<T> {
        T give() throws Exception;
    }

    static Connection connect() throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", System.getenv("HOWDAH_USER"));
        properties.setProperty("password", System.getenv("HOWDAH_PASSWORD"));
        // Results are asked for in binary as soon as pgjdbc can.
        properties.setProperty("prepareThreshold", "1");
        return DriverManager.getConnection(System.getenv("HOWDAH_URL"), properties);
    }

    static void wrong(String what) {
        System.out.println(what.replace('\n', ' '));
    }

    static void that(String what, boolean holds) {
        if (!holds) {
            wrong(what);
        }
    }

    /** All of it is told, whatever goes wrong. */
    static void run(String what, Step step) {
        try {
            step.run();
        } catch (Exception failure) {
            wrong(what + ": " + failure);
        }
    }

    /** A result must be refused, as text, and then in binary. */
    static void refusedTwice(String what, String why, Give<?> give) {
        refused(what, why, give);
        refused(what + " again", why, give);
    }

    /** It must be refused with an {@link SQLException} that says why. */
    static void refused(String what, String why, Give<?> give) {
        try {
            wrong(what + " is " + give.give());
        } catch (SQLException expected) {
            that(what + " says " + expected.getMessage(), String.valueOf(expected.getMessage()).contains(why));
        } catch (Exception other) {
            wrong(what + " throws " + other);
        }
    }
}
