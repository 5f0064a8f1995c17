import generated.Queries;
import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;

/** Writes three tasks and reads them again, by the code that `howdah codegen generate` made of queries.sql. */
public final class Main {
    private static final List<Queries.TasksRow> TASKS = List.of(
            new Queries.TasksRow("Water the plants", 1, null),
            new Queries.TasksRow("Pay the rent", 3, "by Friday"),
            new Queries.TasksRow("Call Ada", 2, null));

    private Main() {}

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = connect(URI.create(System.getenv("DATABASE_URL")))) {
            Queries queries = new Queries(connection);
            System.out.println(queries.bulkInsertTasksRow(TASKS) + " tasks written");
            System.out.println("first: " + queries.taskById(1));
            System.out.println("all: " + queries.findTasks(null).size());
            for (Queries.FindTasksResult task : queries.findTasks(2)) {
                System.out.println("urgent: " + task.title());
            }
        }
    }

    /** JDBC writes postgresql://user:password@host/database in its own way. */
    private static Connection connect(URI url) throws SQLException {
        String[] user = url.getUserInfo().split(":", 2);
        String address = "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath();
        return DriverManager.getConnection(address, user[0], user.length > 1 ? user[1] : null);
    }
}
