package golden;

import static golden.Lab.map;
import static golden.Values.one;
import static golden.Values.row;
import static org.apache.paimon.schema.SchemaChange.addColumn;
import static org.apache.paimon.schema.SchemaChange.dropColumn;
import static org.apache.paimon.schema.SchemaChange.renameColumn;
import static org.apache.paimon.schema.SchemaChange.updateColumnPosition;
import static org.apache.paimon.schema.SchemaChange.updateColumnType;
import static org.apache.paimon.types.DataTypes.*;

import java.util.List;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.schema.SchemaChange.Move;
import org.apache.paimon.types.DataType;

/** Schemas that changed while files of earlier ones stayed. */
final class Evolution {
    private Evolution() {}

    static void register() {
        for (String format : new String[] {"parquet", "orc", "avro"}) {
            Generate.TABLES.put("evolution.columns_" + format, (c, d, t) -> columns(c, d, t, format));
            Generate.TABLES.put("evolution.widened_" + format, (c, d, t) -> widened(c, d, t, format));
            Generate.TABLES.put("evolution.nested_" + format, (c, d, t) -> nested(c, d, t, format));
        }
        Generate.TABLES.put("evolution.retyped", Evolution::retyped);
        Generate.TABLES.put("evolution.dropped_and_added", Evolution::droppedAndAdded);
        Generate.TABLES.put("evolution.swapped_names", Evolution::swappedNames);
        Generate.TABLES.put("evolution.partitioned", Evolution::partitioned);
        Generate.TABLES.put("evolution.formats_and_schemas", Evolution::formatsAndSchemas);
        Generate.TABLES.put("evolution.newer_schema", Evolution::newerSchema);
    }

    /** One file of each schema: columns added first, in the middle and last, renamed, moved, dropped. */
    private static void columns(Catalog c, String d, String t, String format) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("a", INT()).column("b", STRING()).column("c", DOUBLE()).option("file.format", format))
                .write(row(1, "one", 1.5), row(2, null, null))
                .alter(addColumn("z", BIGINT(), null, Move.first("z")), addColumn("m", DATE(), null, Move.after("m", "a")),
                        addColumn("last", BOOLEAN()))
                .write(row(30L, 3, "2024-03-03", "three", 3.5, true))
                .alter(renameColumn("b", "text"), updateColumnPosition(Move.last("z")))
                .write(row(4, "2024-04-04", "four", 4.5, false, 40L))
                .alter(dropColumn("m"), dropColumn("c"))
                .write(row(5, "five", null, 50L));
    }

    private static void widened(Catalog c, String d, String t, String format) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("i8", TINYINT()).column("i16", SMALLINT()).column("i32", INT()).column("f32", FLOAT())
                        .column("dec", DECIMAL(9, 2)).column("whole", INT()).column("text", VARCHAR(5)).option("file.format", format))
                .write(row(-128, -32768, Integer.MIN_VALUE, 1.1f, "-1234567.89", 7, "abc"), new Object[7], row(1, 2, 3, 4.0f, "5.00", 6, "7"))
                .alter(updateColumnType("i8", SMALLINT()), updateColumnType("i16", INT()), updateColumnType("i32", BIGINT()),
                        updateColumnType("f32", DOUBLE()), updateColumnType("dec", DECIMAL(20, 4)), updateColumnType("whole", DECIMAL(15, 1)),
                        updateColumnType("text", STRING()))
                .write(row(300, 70000, 5_000_000_000L, 1.1, "1234567890.1234", "7.5", "longer than five"));
    }

    /** Fields inside ROW, ARRAY of ROW and MAP to ROW: added, dropped, renamed, retyped. */
    private static void nested(Catalog c, String d, String t, String format) throws Exception {
        DataType point = ROW(FIELD(0, "x", INT()), FIELD(1, "y", STRING()), FIELD(2, "gone", INT()));
        Lab lab = Lab.create(c, d, t, Lab.plan().column("id", INT()).column("r", point).column("list", ARRAY(point))
                .column("m", MAP(STRING().notNull(), point)).option("file.format", format));
        lab.write(row(1, row(1, "one", 9), one(1, "a", 9), map("k", row(1, "b", 9))), row(2, null, null, null),
                row(3, row(null, null, null), List.of(), map("n", null)));
        lab.alter(updateColumnType(new String[] {"r", "x"}, BIGINT(), false), renameColumn(new String[] {"r", "y"}, "text"),
                dropColumn(new String[] {"r", "gone"}), addColumn(new String[] {"r", "fresh"}, DOUBLE(), null, null),
                addColumn(new String[] {"list", "element", "fresh"}, INT(), null, null), dropColumn(new String[] {"list", "element", "gone"}),
                renameColumn(new String[] {"m", "value", "x"}, "renamed"), dropColumn(new String[] {"m", "value", "gone"}));
        lab.write(row(4, row(5_000_000_000L, "four", 4.5), one(4, "d", 44), map("k", row(4, "four"))), row(5, null, null, null));
    }

    /** Changes that convert values, as far as the reference allows them. */
    private static void retyped(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("int_to_text", INT()).column("bigint_to_int", BIGINT())
                        .column("double_to_int", DOUBLE()).column("decimal_to_text", DECIMAL(9, 2)).column("text_to_int", STRING())
                        .column("date_to_timestamp", DATE()).column("timestamp_to_date", TIMESTAMP(6)).column("boolean_to_text", BOOLEAN())
                        .column("text_to_date", STRING()).column("rescaled", DECIMAL(9, 4)))
                .write(row(1, 42, 7_000_000_000L, 2.9, "12.50", "77", "2024-01-31", "2024-01-31T10:11:12.131415", true, "2024-05-06", "1.2350"),
                        row(2, -1, -1L, -2.9, "-0.01", "-5", "1969-12-31", "1969-12-31T23:00:00", false, "1999-12-31", "-1.2350"),
                        new Object[] {3, null, null, null, null, null, null, null, null, null, null})
                .alter(updateColumnType("int_to_text", STRING()), updateColumnType("bigint_to_int", INT()), updateColumnType("double_to_int", INT()),
                        updateColumnType("decimal_to_text", STRING()), updateColumnType("text_to_int", INT()),
                        updateColumnType("date_to_timestamp", TIMESTAMP(3)), updateColumnType("timestamp_to_date", DATE()),
                        updateColumnType("boolean_to_text", STRING()), updateColumnType("text_to_date", DATE()),
                        updateColumnType("rescaled", DECIMAL(9, 2)))
                .write(row(4, "new", 4, 4, "4", 4, "2024-04-04T04:04:04.004", "2024-04-04", "yes", "2024-04-04", "4.44"));
    }

    /** A name that comes back is another column: its old values stay gone. */
    private static void droppedAndAdded(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("same", STRING()).column("other", STRING()))
                .write(row(1, "old", "old"))
                .alter(dropColumn("same"), dropColumn("other"))
                .alter(addColumn("same", STRING()), addColumn("other", INT()))
                .write(row(2, "new", 2));
    }

    private static void swappedNames(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("a", STRING()).column("b", STRING()))
                .write(row(1, "was a", "was b"))
                .alter(renameColumn("a", "tmp")).alter(renameColumn("b", "a")).alter(renameColumn("tmp", "b"))
                .write(row(2, "is b", "is a"));
    }

    private static void partitioned(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("p", STRING()).column("v", INT()).partition("p"))
                .write(row(1, "x", 1), row(2, "y", 2))
                .alter(renameColumn("v", "value"), addColumn("extra", STRING(), null, Move.first("extra")))
                .alter(updateColumnType("value", BIGINT()))
                .write(row("more", 3, "y", 3L), row(null, 4, null, 4L));
    }

    private static void formatsAndSchemas(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("v", INT()).option("file.format", "avro"))
                .write(row(1, 10)).option("file.format", "orc").alter(updateColumnType("v", BIGINT()))
                .write(row(2, 20L)).option("file.format", "parquet").alter(renameColumn("v", "w"), addColumn("n", STRING()))
                .write(row(3, 30L, "three"));
    }

    /** The newest schema is newer than the newest snapshot. */
    private static void newerSchema(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("v", STRING())).write(row(1, "a")).write(row(2, "b"))
                .alter(addColumn("late", INT()), renameColumn("v", "renamed"));
    }
}
