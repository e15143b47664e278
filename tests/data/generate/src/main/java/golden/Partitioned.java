package golden;

import static golden.Values.row;
import static org.apache.paimon.types.DataTypes.*;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.types.DataType;

/** Partition values and how their folders are spelled. */
final class Partitioned {
    private Partitioned() {}

    static void register() {
        put("p_string", STRING(), "plain", "=", "/", "a b", ":", "%", "100%25", "ü", "{}[]", "\"'\\", "#?*", "世", "\u0001");
        put("p_blank", STRING(), null, "", " ", "\t", "__DEFAULT_PARTITION__x");
        put("p_int", INT(), 0, -7, Integer.MAX_VALUE, null);
        put("p_bigint", BIGINT(), Long.MIN_VALUE, 42L, null);
        put("p_boolean", BOOLEAN(), true, false, null);
        put("p_date", DATE(), "1969-12-31", "2024-02-29", null);
        put("p_decimal", DECIMAL(10, 2), "1.50", "-0.05", "100.00", null);
        put("p_decimal38", DECIMAL(38, 10), "12345678901234567890.0123456789", "-1", null);
        put("p_float", FLOAT(), 1.0f, 1e10f, -0.5f, 0.1f);
        put("p_double", DOUBLE(), 1.0, 1e10, -0.001, 0.1);
        put("p_timestamp0", TIMESTAMP(0), "2024-02-29T12:00:00", "1969-12-31T23:59:59", null);
        put("p_timestamp3", TIMESTAMP(3), "2024-02-29T12:34:56.789", "2024-02-29T12:34:00", null);
        put("p_timestamp9", TIMESTAMP(9), "2024-02-29T12:34:56.789012345", "2024-02-29T12:00:00", null);
        put("p_ltz3", TIMESTAMP_WITH_LOCAL_TIME_ZONE(3), "2024-02-29T12:34:56.789", "1970-01-01T00:00:00");
        Generate.TABLES.put("partitioned.legacy_off", Partitioned::legacyOff);
        Generate.TABLES.put("partitioned.levels", Partitioned::levels);
        Generate.TABLES.put("partitioned.dynamic_overwrite", Partitioned::dynamicOverwrite);
        Generate.TABLES.put("partitioned.default_name", (c, d, t) ->
                Lab.create(c, d, t, Lab.plan().column("id", INT()).column("p", STRING()).partition("p").option("partition.default-name", "nothing"))
                        .write(row(1, null), row(2, "nothing"), row(3, "x")));
    }

    /** One row for each value; the partition column stands in the middle. */
    private static void put(String name, DataType type, Object... values) {
        Generate.TABLES.put("partitioned." + name, (c, d, t) -> {
            List<Object[]> rows = new ArrayList<>();
            for (int i = 0; i < values.length; i++) {
                rows.add(row(i, values[i], "row " + i));
            }
            Lab.create(c, d, t, Lab.plan().column("id", INT()).column("p", type).column("v", STRING()).partition("p"))
                    .write(rows.toArray(Object[][]::new));
        });
    }

    /** Folders that carry dates and times as SQL spells them. */
    private static void legacyOff(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("day", DATE()).column("at", TIMESTAMP(3)).partition("day", "at")
                        .option("partition.legacy-name", "false"))
                .write(row(1, "2024-02-29", "2024-02-29T12:34:56.789"), row(2, "1969-12-31", "2024-02-29T12:00:00"), row(3, null, null));
    }

    /** Two levels in another order than the columns, NULL at each. */
    private static void levels(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("hour", INT()).column("id", BIGINT()).column("day", STRING()).column("v", DOUBLE())
                        .partition("day", "hour"))
                .write(row(1, 1L, "mon", 0.5), row(2, 2L, "mon", 1.5), row(1, 3L, "tue", 2.5))
                .write(row(null, 4L, "mon", null), row(1, 5L, null, 4.5), row(null, 6L, null, 5.5), row(1, 7L, "mon", 6.5));
    }

    /** INSERT OVERWRITE that replaces just the partitions which get rows. */
    private static void dynamicOverwrite(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("p", STRING()).partition("p"))
                .write(row(1, "a"), row(2, "b"), row(3, "c"))
                .overwrite(java.util.Map.of(), row(20, "b"), row(40, "d"));
    }
}
