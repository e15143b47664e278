package golden;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.table.FileStoreTable;

/** Writes the golden tables and what the reference reads from them: {@code Generate DATA_DIR [DB.TABLE…]}. */
public final class Generate {
    /** Writes one table; the name of its database and itself come with it. */
    interface Writer {
        void write(Catalog catalog, String database, String table) throws Exception;
    }

    static final Map<String, Writer> TABLES = new LinkedHashMap<>();
    private static final Pattern MILLIS = Pattern.compile("\"timeMillis\" : \\d+");
    private static final Instant FIRST = Instant.parse("2024-01-01T12:00:00Z");

    private Generate() {}

    public static void main(String[] args) throws Exception {
        FixedRandom.install();
        Path data = Path.of(args[0]).toAbsolutePath().normalize();
        List<String> only = List.of(args).subList(1, args.length);
        for (Class<?> database : List.of(Demo.class, Append.class, Types.class, Evolution.class, Partitioned.class,
                Refs.class, Merge.class, Index.class, Unsupported.class)) {
            database.getDeclaredMethod("register").invoke(null);
        }
        Catalog catalog = Lab.catalog(data.resolve("warehouse").toString());
        int failed = 0;
        for (Map.Entry<String, Writer> table : TABLES.entrySet()) {
            if (only.isEmpty() || only.contains(table.getKey())) {
                String[] name = table.getKey().split("\\.");
                try {
                    generate(catalog, data, name[0], name[1], table.getValue());
                } catch (Exception e) {
                    System.err.println("FAILED " + table.getKey());
                    e.printStackTrace();
                    failed++;
                }
            }
        }
        System.exit(failed == 0 ? 0 : 1); // Paimon's thread pools are not daemons.
    }

    private static void generate(Catalog catalog, Path data, String database, String name, Writer writer) throws Exception {
        Path folder = data.resolve("warehouse").resolve(database + ".db").resolve(name);
        Path expected = data.resolve("expected").resolve(database).resolve(name);
        Expected.delete(folder);
        Expected.delete(expected);
        FixedRandom.seed(database + "." + name);
        writer.write(catalog, database, name);
        fixTimes(folder);

        FileStoreTable main = (FileStoreTable) catalog.getTable(Identifier.create(database, name));
        List<String> branches = new ArrayList<>(main.branchManager().branches());
        Expected.dump(main, expected.resolve("main"));
        for (String branch : branches) {
            FileStoreTable table = (FileStoreTable) catalog.getTable(new Identifier(database, name, branch));
            Expected.dump(table, expected.resolve("branch-" + branch));
        }
        System.out.println(database + "." + name);
    }

    /** Snapshot n, and schema n, are of noon of the n-th day of 2024: the only times a reader can travel by. */
    private static void fixTimes(Path folder) throws Exception {
        try (Stream<Path> walk = Files.walk(folder)) {
            for (Path file : walk.filter(Files::isRegularFile).toList()) {
                String parent = file.getParent().getFileName().toString();
                if (!List.of("snapshot", "schema", "tag").contains(parent)) {
                    continue;
                }
                String text = Files.readString(file);
                if (!text.startsWith("{")) {
                    continue;
                }
                java.util.regex.Matcher id = Pattern.compile("\"id\" : (\\d+)").matcher(text);
                if (!id.find()) {
                    continue;
                }
                long day = parent.equals("schema") ? Long.parseLong(id.group(1)) : Long.parseLong(id.group(1)) - 1;
                long millis = FIRST.plus(Duration.ofDays(day)).toEpochMilli();
                Files.writeString(file, MILLIS.matcher(text).replaceFirst("\"timeMillis\" : " + millis));
            }
        }
    }
}
