package golden;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;

/**
 * Writes the rows that the reference reads, one JSON array a line, sorted, below a line with the columns' names and types.
 *
 * <p>Whole numbers and booleans are JSON's own, text is text. Floats are the hex digits of their bits ("bits:3f800000"),
 * decimals plain digits, binaries hex, dates and times ISO ("2024-01-31", "12:00:00.000", "2024-01-31T12:00:00.000000000").
 * Lists are arrays, rows objects, maps {"map": [[key, value], …]} sorted, variants {"variant": value}.
 */
final class Expected {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSS");
    private static final DateTimeFormatter TIMESTAMP = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSSSSS");

    private Expected() {}

    /** Every snapshot and every tag of one branch; what a plain read gives where that is not the last snapshot's text. */
    static void dump(FileStoreTable table, Path folder) throws Exception {
        Files.createDirectories(folder);
        String last = null;
        Iterator<Snapshot> snapshots = table.snapshotManager().snapshots();
        // What a chain table has are snapshots of other branches.
        boolean chain = table.coreOptions().isChainTable() && folder.endsWith("main");
        while (snapshots.hasNext() && !chain) {
            String id = Long.toString(snapshots.next().id());
            last = rows(table.copy(Map.of("scan.snapshot-id", id)));
            Files.writeString(folder.resolve(id + ".jsonl"), last);
        }
        for (String tag : table.tagManager().allTagNames()) {
            Files.writeString(folder.resolve("tag-" + tag + ".jsonl"), rows(atTag(table, tag)));
        }
        String latest = rows(table);
        if (!latest.equals(last)) {
            Files.writeString(folder.resolve("latest.jsonl"), latest);
        }
    }

    private static FileStoreTable atTag(FileStoreTable table, String tag) {
        if (table.coreOptions().branch().equals("main")) {
            return table.copy(Map.of("scan.tag-name", tag));
        }
        // The reference looks for a branch's tags in the main branch (apache/paimon#9044): go by the tag's snapshot.
        long snapshot = table.tagManager().getOrThrow(tag).trimToSnapshot().id();
        return table.copy(Map.of("scan.snapshot-id", Long.toString(snapshot)));
    }

    private static String rows(FileStoreTable table) throws Exception {
        RowType type = table.rowType();
        List<String> lines = new ArrayList<>();
        ReadBuilder read = table.newReadBuilder();
        try (RecordReaderIterator<InternalRow> rows =
                new RecordReaderIterator<>(read.newRead().createReader(read.newScan().plan()))) {
            while (rows.hasNext()) {
                lines.add(row(type, rows.next(), false));
            }
        }
        Collections.sort(lines);
        lines.add(0, columns(type));
        return String.join("\n", lines) + "\n";
    }

    private static String columns(RowType type) {
        List<String> columns = new ArrayList<>();
        type.getFields().forEach(f -> columns.add("[" + text(f.name()) + ", " + text(f.type().asSQLString()) + "]"));
        return "{\"columns\": [" + String.join(", ", columns) + "]}";
    }

    private static String row(RowType type, InternalRow row, boolean named) {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < type.getFieldCount(); i++) {
            String value = json(type.getTypeAt(i), InternalRow.createFieldGetter(type.getTypeAt(i), i).getFieldOrNull(row));
            parts.add(named ? text(type.getFieldNames().get(i)) + ": " + value : value);
        }
        String all = String.join(", ", parts);
        return named ? "{" + all + "}" : "[" + all + "]";
    }

    private static String json(DataType type, Object value) {
        if (value == null) {
            return "null";
        }
        return switch (type.getTypeRoot()) {
            case BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT -> value.toString();
            case FLOAT -> text(String.format("bits:%08x", Float.floatToRawIntBits((Float) value)));
            case DOUBLE -> text(String.format("bits:%016x", Double.doubleToRawLongBits((Double) value)));
            case DECIMAL -> text(((Decimal) value).toBigDecimal().toPlainString());
            case CHAR, VARCHAR -> text(value.toString());
            case BINARY, VARBINARY -> text("0x" + HexFormat.of().formatHex((byte[]) value));
            case DATE -> text(LocalDate.ofEpochDay((Integer) value).toString());
            case TIME_WITHOUT_TIME_ZONE -> text(LocalTime.ofNanoOfDay((Integer) value * 1_000_000L).format(TIME));
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    text(((Timestamp) value).toLocalDateTime().format(TIMESTAMP));
            case ARRAY -> array(((ArrayType) type).getElementType(), (InternalArray) value);
            case MAP -> map(((MapType) type).getKeyType(), ((MapType) type).getValueType(), (InternalMap) value);
            case MULTISET -> map(((MultisetType) type).getElementType(), DataTypes.INT(), (InternalMap) value);
            case ROW -> row((RowType) type, (InternalRow) value, true);
            case VARIANT -> "{\"variant\": " + ((Variant) value).toJson() + "}";
            default -> throw new IllegalArgumentException("no form for " + type);
        };
    }

    private static String array(DataType element, InternalArray array) {
        return "[" + String.join(", ", elements(element, array)) + "]";
    }

    private static String map(DataType key, DataType value, InternalMap map) {
        List<String> keys = elements(key, map.keyArray());
        List<String> values = elements(value, map.valueArray());
        List<String> entries = new ArrayList<>();
        for (int i = 0; i < keys.size(); i++) {
            entries.add("[" + keys.get(i) + ", " + values.get(i) + "]");
        }
        Collections.sort(entries);
        return "{\"map\": [" + String.join(", ", entries) + "]}";
    }

    private static List<String> elements(DataType type, InternalArray array) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        List<String> out = new ArrayList<>();
        for (int i = 0; i < array.size(); i++) {
            out.add(json(type, getter.getElementOrNull(array, i)));
        }
        return out;
    }

    private static String text(String value) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (var walk = Files.walk(folder)) {
            for (Path path : walk.sorted(Collections.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
