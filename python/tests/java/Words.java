import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;

/** Names that mean something in Java, and texts with its escapes: prints the bytes of each text, twice. */
final class Words {
    private Words() {
    }

    public static void main(String[] arguments) throws Exception {
        try (var connection = Check.connect()) {
            System_ q = new System_(connection);
            for (Object label : List.of(q.enum0(), q.enum1(), q.enum2(), q.enum3())) {
                Check.that("a label", label.toString().startsWith("X2AX2F_"));
            }
            List<String> read = List.of(
                q.text0(), q.text1(), q.text2(), q.text3(), q.text4(), q.text5(), q.text6(), q.text7());
            for (String text : read) {
                System.out.println(HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8)));
            }
            List<String> same = List.of(
                q.same0(), q.same1(), q.same2(), q.same3(), q.same4(), q.same5(), q.same6(), q.same7());
            same.forEach(System.out::println);
        }
    }
}
