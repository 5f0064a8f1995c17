import java.sql.DriverManager;

public class Migrating {
    public static void main(String[] arguments) throws Exception {
        String url = System.getenv("HOWDAH_URL");
        String user = System.getenv("HOWDAH_USER");
        try (var connection = DriverManager.getConnection(url, user, System.getenv("HOWDAH_PASSWORD"))) {
            connection.setAutoCommit(arguments.length > 0);
            try {
                System.out.println(Shop.applyMigrations(connection));
            } catch (java.sql.SQLException error) {
                System.out.println(error.getSQLState() + " " + error.getMessage().replace('\n', ' '));
            }
            if (connection.getAutoCommit() != arguments.length > 0) {
                System.out.println("another mode");
            }
        }
    }
}
