package golden;

import static golden.Lab.map;
import static golden.Values.one;
import static golden.Values.row;
import static org.apache.paimon.types.DataTypes.*;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.VariantType;

/** Values of every type in every format. */
final class Types {
    private Types() {}

    static void register() {
        for (String format : new String[] {"parquet", "orc", "avro"}) {
            Generate.TABLES.put("types.scalars_" + format, (c, d, t) -> scalars(c, d, t, format));
            Generate.TABLES.put("types.nested_" + format, (c, d, t) -> nested(c, d, t, format));
            Generate.TABLES.put("types.odd_names_" + format, (c, d, t) -> oddNames(c, d, t, format));
        }
        Generate.TABLES.put("types.not_null", Types::notNull);
        Generate.TABLES.put("types.variant", (c, d, t) -> variant(c, d, t, null));
        Generate.TABLES.put("types.variant_shredded", (c, d, t) -> variant(c, d, t, SHREDDING));
    }

    private static void scalars(Catalog c, String d, String t, String format) throws Exception {
        boolean nanos = !format.equals("avro"); // Avro stops at microseconds.
        Lab.Plan plan = Lab.plan()
                .column("label", STRING()).column("c_boolean", BOOLEAN()).column("c_tinyint", TINYINT())
                .column("c_smallint", SMALLINT()).column("c_int", INT()).column("c_bigint", BIGINT())
                .column("c_float", FLOAT()).column("c_double", DOUBLE()).column("c_decimal9", DECIMAL(9, 2))
                .column("c_decimal18", DECIMAL(18, 6)).column("c_decimal38", DECIMAL(38, 10)).column("c_char", CHAR(5))
                .column("c_varchar", VARCHAR(10)).column("c_string", STRING()).column("c_binary", BINARY(4))
                .column("c_varbinary", VARBINARY(8)).column("c_bytes", BYTES()).column("c_date", DATE())
                .column("c_time", TIME(3)).column("c_timestamp0", TIMESTAMP(0)).column("c_timestamp3", TIMESTAMP(3))
                .column("c_timestamp6", TIMESTAMP(6)).column("c_ltz3", TIMESTAMP_WITH_LOCAL_TIME_ZONE(3))
                .column("c_ltz6", TIMESTAMP_WITH_LOCAL_TIME_ZONE(6)).option("file.format", format);
        if (nanos) {
            plan.column("c_timestamp9", TIMESTAMP(9)).column("c_ltz9", TIMESTAMP_WITH_LOCAL_TIME_ZONE(9));
        }
        int columns = nanos ? 26 : 24;
        Object[] nulls = new Object[columns];
        nulls[0] = "all NULL";
        Lab.create(c, d, t, plan)
                .write(cut(columns, "usual", true, 12, 1234, 123456, 1234567890123L, 1.5f, -2.25, "1234.50", "1234567890.123456",
                                "1234567890123456789012345678.0123456789", "abcde", "varchar", "Grüße, 世界 🦀", "bin4", "varbin", "bytes",
                                "2024-02-29", "12:34:56.789", "2024-02-29T12:34:56", "2024-02-29T12:34:56.789",
                                "2024-02-29T12:34:56.789012", "2024-02-29T12:34:56.789", "2024-02-29T12:34:56.789012",
                                "2024-02-29T12:34:56.789012345", "2024-02-29T12:34:56.789012345"),
                        cut(columns, "smallest", false, Byte.MIN_VALUE, Short.MIN_VALUE, Integer.MIN_VALUE, Long.MIN_VALUE,
                                Float.NEGATIVE_INFINITY, Double.NEGATIVE_INFINITY, "-9999999.99", "-999999999999.999999",
                                "-9999999999999999999999999999.9999999999", "", "", "", "\0\0\0\0", "", "", "1900-01-01", "00:00:00",
                                "1969-12-31T23:59:58", "1969-12-31T23:59:58.500", "1969-12-31T23:59:58.500001",
                                "1969-12-31T23:59:58.500", "1969-12-31T23:59:58.500001", "1969-12-31T23:59:58.500000001",
                                "1969-12-31T23:59:58.500000001"))
                .write(nulls,
                        cut(columns, "largest", true, Byte.MAX_VALUE, Short.MAX_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE,
                                Float.MAX_VALUE, Double.MAX_VALUE, "9999999.99", "999999999999.999999",
                                "9999999999999999999999999999.9999999999", "zzzzz", "zzzzzzzzzz", "z".repeat(400),
                                new byte[] {-1, -1, -1, -1}, new byte[] {-1, -1, -1, -1, -1, -1, -1, -1}, new byte[] {-1},
                                "9999-12-31", "23:59:59.999", "9999-12-31T23:59:59", "9999-12-31T23:59:59.999",
                                "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999", "9999-12-31T23:59:59.999999",
                                "2262-04-11T23:47:16.854775807", "2262-04-11T23:47:16.854775807"),
                        cut(columns, "zero", false, 0, 0, 0, 0, -0.0f, -0.0, "0", "0", "0", "0", "0", "0", "0000", "0", "0",
                                "1970-01-01", "00:00:00.001", "1970-01-01T00:00:00", "1970-01-01T00:00:00", "1970-01-01T00:00:00",
                                "1970-01-01T00:00:00", "1970-01-01T00:00:00", "1970-01-01T00:00:00", "1970-01-01T00:00:00"),
                        cut(columns, "not a number", null, -1, -1, -1, -1, Float.NaN, Double.NaN, "-0.01", "-0.000001",
                                "-0.0000000001", "é", "ü", "tab\tline\nquote\"back\\", "\0a\0b", "\0", "\0\0", "1969-12-31",
                                "01:02:03", "1969-12-31T23:59:59", "1969-12-31T23:59:59", "1969-12-31T23:59:59",
                                "1969-12-31T23:59:59", "1969-12-31T23:59:59", "1969-12-31T23:59:59", "1969-12-31T23:59:59"));
    }

    private static Object[] cut(int columns, Object... values) {
        return Arrays.copyOf(values, columns);
    }

    /** NULL, empty and full at each level of lists, maps and rows. */
    private static void nested(Catalog c, String d, String t, String format) throws Exception {
        DataType point = ROW(FIELD(100, "x", INT()), FIELD(101, "y", STRING()));
        Lab.create(c, d, t, Lab.plan().column("id", INT())
                        .column("numbers", ARRAY(INT())).column("words", ARRAY(STRING()))
                        .column("counts", MAP(STRING().notNull(), INT())).column("by_number", MAP(INT().notNull(), STRING()))
                        .column("bag", MULTISET(STRING().notNull())).column("point", point).column("points", ARRAY(point))
                        .column("lists", MAP(STRING().notNull(), ARRAY(DECIMAL(10, 2))))
                        .column("deep", ROW(FIELD(200, "a", ARRAY(ARRAY(INT()))), FIELD(201, "r", point), FIELD(202, "t", TIMESTAMP(3))))
                        .option("file.format", format))
                .write(row(1, List.of(1, 2, 3), List.of("a", "b"), map("k", 1, "l", 2), map(1, "one", 2, "two"), map("x", 1, "y", 3),
                                row(1, "one"), List.of(row(1, "a"), row(2, "b")), map("d", List.of("1.50", "2.25")),
                                row(List.of(List.of(1), List.of(2, 3)), row(7, "seven"), "2024-01-01T00:00:00.001")),
                        row(2, null, null, null, null, null, null, null, null, null),
                        row(3, List.of(), List.of(), map(), map(), map(), row(null, null), List.of(), map(), row(List.of(), null, null)))
                .write(row(4, Arrays.asList(null, 4, null), Arrays.asList("", null), map("n", null), map(-1, null), map("only", 2),
                                row(null, ""), Arrays.asList(null, row(null, "c")), map("e", List.of(), "n", null),
                                row(Arrays.asList(null, List.of(), Arrays.asList(5, null)), row(null, null), null)),
                        row(5, List.of(5), List.of("five"), map("ü", 5), map(5, "five"), map("", 1), row(5, "five"),
                                one(5, null), map("f", Arrays.asList(null, "-0.01")), row(null, row(5, "five"), "1969-12-31T23:59:59.999")));
    }

    private static void oddNames(Catalog c, String d, String t, String format) throws Exception {
        boolean avro = format.equals("avro"); // Avro allows letters, digits and underscores only.
        Lab.create(c, d, t, Lab.plan().column("Upper", INT()).column("upper", INT()).column("select", STRING())
                        .column(avro ? "under_score" : "with blank", INT()).column(avro ? "_first" : "dotted.name", INT())
                        .column(avro ? "d1" : "größe", INT()).column(avro ? "Order" : "q\"uote'd", INT()).option("file.format", format))
                .write(row(1, 2, "three", 4, 5, 6, 7), row(null, 20, null, 40, null, 60, null));
    }

    private static void notNull(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT().notNull()).column("name", STRING().notNull())
                        .column("list", ARRAY(INT().notNull()).notNull())
                        .column("inner", ROW(FIELD(10, "a", INT().notNull()), FIELD(11, "b", STRING())).notNull()))
                .write(row(1, "a", List.of(1, 2), row(1, "x")), row(2, "b", List.of(), row(2, null)));
    }

    private static final String SHREDDING = "{\"type\":\"ROW\",\"fields\":[{\"name\":\"v\",\"type\":{\"type\":\"ROW\",\"fields\":["
            + "{\"name\":\"a\",\"type\":\"BIGINT\"},{\"name\":\"s\",\"type\":\"STRING\"},"
            + "{\"name\":\"o\",\"type\":{\"type\":\"ROW\",\"fields\":[{\"name\":\"x\",\"type\":\"DOUBLE\"}]}}]}}]}";

    /** Rows that fit the shredding schema, fit it partly, and do not fit it. */
    private static void variant(Catalog c, String d, String t, String shredding) throws Exception {
        Lab.Plan plan = Lab.plan().column("id", INT()).column("v", new VariantType()).option("file.format", "parquet");
        if (shredding != null) {
            plan.option("parquet.variant.shreddingSchema", shredding);
        }
        Lab.create(c, d, t, plan)
                .write(row(1, "{\"a\":1,\"s\":\"text\",\"o\":{\"x\":1.5}}"), row(2, "{\"a\":\"not a number\",\"other\":[1,2,{\"k\":null}]}"),
                        row(3, null), row(4, "null"))
                .write(row(5, "[1,\"two\",3.25,true]"), row(6, "\"just text\""), row(7, "42"), row(8, "{}"),
                        row(9, "{\"o\":{\"x\":2.5,\"y\":\"more\"},\"a\":-7}"), row(10, "{\"a\":null,\"s\":\"" + "long ".repeat(20) + "\"}"));
    }
}
