import java.util.ArrayList;
import java.util.List;

/** Prints what an observer hears of every form of call. */
final class Observing {
    private Observing() {
    }

    public static void main(String[] arguments) throws Exception {
        List<String> heard = new ArrayList<>();
        HowdahObserver observer = name -> (rows, error) ->
            heard.add(name + " " + rows + (error == null ? "" : " " + error.getMessage().split("\n")[0]));
        try (var connection = Check.connect()) {
            Seen seen = new Seen(connection, observer);
            Check.that("all", seen.numbers().equals(List.of(1, 2, 3, 4, 5)));
            try (var numbers = seen.numbersStream()) {
                Check.that("a stream", numbers.toList().size() == 5);
            }
            try (var numbers = seen.numbersStream()) {
                var two = numbers.iterator();
                two.next();
                two.next();
            }
            Check.that("a row", seen.first(1) == 1);
            Check.that("no row", seen.first(0) == null);
            Check.that("one more", seen.add(7) == 1);
            Check.refused("a key that is there", "duplicate key", () -> seen.add(7));
            Check.that("a batch", seen.addBatch(List.of(8, 9)).length == 2);
            var firsts = List.of(1, 0, 1);
            Check.that("a batch of rows", seen.firstBatch(firsts).size() == 3);
            Check.that("a batch of several", seen.untilBatch(List.of(2, 3)).size() == 2);
            Check.that("a text that varies", seen.varied(true).size() == 2);
            Check.that("appended", seen.bulkInsertTRow(rows(10, 12)) == 3);
            Check.refused("a bad row", "duplicate key", () -> seen.bulkInsertTRow(rows(10, 12)));
            Check.that("by key", seen.upsertT(rows(10, 13)) == 1);
            Check.refused("a stream that fails", "division by zero", () -> {
                try (var broken = seen.brokenStream()) {
                    return broken.toList();
                } catch (HowdahJdbc.UncheckedSqlException failure) {
                    throw failure.getCause();
                }
            });
            Check.that("nobody hears", new Seen(connection).numbers().size() == 5);
        }
        heard.forEach(System.out::println);
    }

    private static List<Seen.TRow> rows(int first, int last) {
        List<Seen.TRow> rows = new ArrayList<>();
        for (int i = first; i <= last; i++) {
            rows.add(new Seen.TRow(i));
        }
        return rows;
    }
}
