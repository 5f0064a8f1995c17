import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Statements of optional lines, in all their combinations. It prints what they find. */
final class OptionalLines {
    private OptionalLines() {
    }

    private static List<Lines.FindItemsParams> combinations() {
        List<Lines.FindItemsParams> all = new ArrayList<>();
        for (String kind : new String[] {"a", null}) {
            for (Integer least : new Integer[] {3, null}) {
                for (boolean present : new boolean[] {true, false}) {
                    for (var op : Lines.FindItemsOp.values()) {
                        all.add(new Lines.FindItemsParams(kind, least, 4, present, op, null));
                        for (var sort : Lines.FindItemsSort.values()) {
                            all.add(new Lines.FindItemsParams(kind, least, 4, present, op, sort));
                        }
                    }
                }
            }
        }
        return all;
    }

    private static void print(String way, List<Integer> ids) {
        System.out.println(way + ": " + ids.stream().map(String::valueOf).collect(Collectors.joining(" ")));
    }

    private static void print(String text) {
        System.out.println("text: " + text.codePoints().mapToObj(String::valueOf).collect(Collectors.joining(" ")));
    }

    private static void find(Lines lines) throws SQLException {
        for (var each : combinations()) {
            print("all", lines.findItems(
                each.kind(), each.least(), each.span(), each.present(), each.op(), each.sort()));
            try (var ids = lines.findItemsStream(
                each.kind(), each.least(), each.span(), each.present(), each.op(), each.sort())) {
                print("stream", ids.toList());
            }
        }
        for (var ids : lines.findItemsBatch(combinations())) {
            print("batch", ids);
        }
    }

    private static void move(Lines lines) throws SQLException {
        List<Integer> counts = new ArrayList<>();
        List<Lines.MoveItemsParams> batch = new ArrayList<>();
        for (var each : combinations()) {
            int by = counts.size() + batch.size();
            if (by < 20) {
                counts.add(lines.moveItems(each.kind(), each.least(), each.span(), each.present(), by));
            } else {
                batch.add(new Lines.MoveItemsParams(each.kind(), each.least(), each.span(), each.present(), by));
            }
        }
        Arrays.stream(lines.moveItemsBatch(batch)).forEach(counts::add);
        System.out.println("moved: " + counts);
    }

    private static void hostile(Lines lines, String value) throws SQLException {
        for (String sql : new String[] {null, value}) {
            for (var text : Lines.HostileRows.values()) {
                print(lines.hostile(sql, text));
            }
        }
        var batch = Arrays.stream(Lines.HostileRows.values()).map(text -> new Lines.HostileParams(null, text));
        lines.hostileBatch(batch.toList()).forEach(OptionalLines::print);
    }

    public static void main(String[] arguments) throws Exception {
        try (var connection = Check.connect()) {
            Lines lines = new Lines(connection);
            find(lines);
            move(lines);
            hostile(lines, arguments[0]);
            Check.that("operators", lines.operators(Lines.OperatorsClass.X3F));
            Check.that("nobody", lines.nobody(false, false) == 1 && lines.nobody(true, true) == 4);
            Check.that("moved", Integer.valueOf(4).equals(lines.movedItem(4, 2, false)));
            Check.that("not moved", lines.movedItem(4, 2, true) == null);
            try {
                lines.findItems(null, null, 1, false, null, null);
                Check.wrong("no operator is taken");
            } catch (NullPointerException expected) {
                Check.that(expected.getMessage(), expected.getMessage().equals("op"));
            }
        }
    }
}
