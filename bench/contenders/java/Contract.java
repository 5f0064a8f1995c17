// What the Java contenders share: their task, the words READY, GO, DONE and FAILED, and the records of a CSV file.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;

final class Contract {
    record Column(String name, String type) {}

    /** Loads the task and returns how many rows the server acknowledged. */
    interface Load {
        long run() throws Exception;
    }

    static final String TABLE = System.getenv("CONTENDER_TABLE");
    static final Path INPUT = Path.of(System.getenv("CONTENDER_INPUT"));
    static final int BATCH = Integer.parseInt(System.getenv("CONTENDER_BATCH"));
    static final List<Column> COLUMNS = System.getenv("CONTENDER_COLUMNS").lines()
            .map(line -> line.split(" ", 2)).map(pair -> new Column(pair[0], pair[1])).toList();
    static final String NAMES = COLUMNS.stream().map(Column::name).collect(Collectors.joining(", "));

    /** ISO 8601 with a T or a space, and an offset of hours alone. */
    private static final DateTimeFormatter MOMENT = new DateTimeFormatterBuilder()
            .append(DateTimeFormatter.ISO_LOCAL_DATE).appendPattern("[ ]['T']")
            .append(DateTimeFormatter.ISO_LOCAL_TIME).appendOffset("+HH:mm", "Z").toFormatter();

    private static final Pattern ELEMENT = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"|([^,{}]+)", Pattern.DOTALL);
    private static final Pattern ESCAPED = Pattern.compile("\\\\(.)", Pattern.DOTALL);

    /** A connection in a transaction. pgjdbc takes user and password as properties. */
    static Connection connect(String... options) throws SQLException {
        URI url = URI.create(System.getenv("CONTENDER_URL"));
        String[] user = url.getUserInfo().split(":", 2);
        Properties properties = new Properties();
        properties.setProperty("user", user[0]);
        if (user.length > 1) {
            properties.setProperty("password", user[1]);
        }
        Stream.of(options).map(option -> option.split("=", 2)).forEach(o -> properties.setProperty(o[0], o[1]));
        Connection connection = DriverManager.getConnection(
                "jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath(), properties);
        connection.setAutoCommit(false);
        return connection;
    }

    /** The records of the CSV file as text; an empty field is null. */
    static CSVParser records() throws IOException {
        CSVFormat format = CSVFormat.POSTGRESQL_CSV.builder().setEscape(null).setHeader().setSkipHeaderRecord(true).get();
        return CSVParser.parse(Files.newBufferedReader(INPUT), format);
    }

    static OffsetDateTime moment(String text) {
        return OffsetDateTime.parse(text, MOMENT);
    }

    /** The elements of an array's literal, {a,"b c",NULL}. */
    static List<String> texts(String literal) {
        List<String> texts = new ArrayList<>();
        Matcher matcher = ELEMENT.matcher(literal);
        while (matcher.find()) {
            String bare = matcher.group(2);
            String quoted = matcher.group(1);
            if (bare == null) {
                texts.add(quoted.indexOf('\\') < 0 ? quoted : ESCAPED.matcher(quoted).replaceAll("$1"));
            } else {
                texts.add(bare.equals("NULL") ? null : bare);
            }
        }
        return texts;
    }

    static void go() throws IOException {
        System.out.println("READY");
        if (!"GO".equals(new BufferedReader(new InputStreamReader(System.in)).readLine())) {
            throw new IOException("no GO on standard input");
        }
    }

    static void run(Load load) {
        try {
            System.out.println("DONE " + load.run());
        } catch (Exception error) {
            System.out.println("FAILED " + String.valueOf(error).replaceAll("\\s+", " "));
            System.exit(1);
        }
    }
}
