import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Names, labels and texts that want to be code, written and read. */
final class HostileNames {
    private static final String HOSTILE = "a\"b'$$\\c%s*/ \"\"\" ${x} `\u202e\r\n class";
    private static final List<String> LABELS = List.of("happy", "Happy", "", HOSTILE, "class", "None", "mro");

    private HostileNames() {
    }

    public static void main(String[] arguments) throws Exception {
        try (var connection = Check.connect()) {
            Hostile q = new Hostile(connection);
            var row = Hostile.TRow.class.getRecordComponents();
            Class<?> mood = row[0].getType();
            Class<?> pair = row[1].getType();
            Method value = mood.getMethod("getValue");
            List<String> labels = new ArrayList<>();
            List<Hostile.TRow> written = new ArrayList<>();
            for (Object label : mood.getEnumConstants()) {
                labels.add((String) value.invoke(label));
                Object both = pair.getConstructors()[0].newInstance(label, 1);
                written.add((Hostile.TRow) Hostile.TRow.class.getConstructors()[0]
                    .newInstance(label, both, 2, HOSTILE, null, Arrays.asList(3, null)));
            }
            Check.that("labels", labels.equals(LABELS));
            Check.that("appended", q.bulkInsertTRow(written) == written.size());
            Check.that("import_", q.import_(HOSTILE).equals(written));
            Check.that("get", q.get(HOSTILE).equals(written.get(0)));
            Check.that("get_2", q.get_2(HOSTILE).equals(written));
            var batch = Arrays.asList(HOSTILE, null);
            Check.that("getBatch", q.getBatch(batch).equals(List.of(written.get(0), written.get(0))));
            Check.that("one", q.one(HOSTILE).equals(new Hostile.OneResult(HOSTILE)));
            int[] counts = q.do_Batch(List.of("a", "b"));
            Check.that("do_Batch", counts.length == 2);
        }
    }
}
