package golden;

import static golden.Values.row;
import static org.apache.paimon.types.DataTypes.ARRAY;
import static org.apache.paimon.types.DataTypes.BIGINT;
import static org.apache.paimon.types.DataTypes.CHAR;
import static org.apache.paimon.types.DataTypes.DOUBLE;
import static org.apache.paimon.types.DataTypes.INT;
import static org.apache.paimon.types.DataTypes.STRING;
import static org.apache.paimon.types.DataTypes.TIMESTAMP;
import static org.apache.paimon.types.DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE;
import static org.apache.paimon.types.RowKind.DELETE;
import static org.apache.paimon.types.RowKind.INSERT;
import static org.apache.paimon.types.RowKind.UPDATE_AFTER;
import static org.apache.paimon.types.RowKind.UPDATE_BEFORE;

import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.types.RowKind;

/** Primary-key tables whose rows come from several versions. A row may begin with its kind. */
final class Merge {
    private Merge() {}

    static void register() {
        for (String format : List.of("parquet", "orc", "avro")) {
            Generate.TABLES.put("merge.partial_update_" + format, (c, d, t) -> partialUpdate(c, d, t, format));
        }
        Generate.TABLES.put("merge.sequence_groups", Merge::sequenceGroups);
        Generate.TABLES.put("merge.remove_on_delete", Merge::removeOnDelete);
        Generate.TABLES.put("merge.remove_on_sequence_group", Merge::removeOnSequenceGroup);
        Generate.TABLES.put("merge.ignore_delete", Merge::ignoreDelete);
        Generate.TABLES.put("merge.aggregation", Merge::aggregation);
        Generate.TABLES.put("merge.aggregation_removes", Merge::aggregationRemoves);
        Generate.TABLES.put("merge.evolved", Merge::evolved);
        Generate.TABLES.put("merge.zero_keys", Merge::zeroKeys);
        Generate.TABLES.put("merge.many_keys", Merge::manyKeys);
        Generate.TABLES.put("merge.chain", (c, d, t) -> chain(c, d, t, Lab.plan().option("write-only", "true")));
        Generate.TABLES.put("merge.chain_aggregated", (c, d, t) -> chain(c, d, t, plan("aggregation")
                .option("fields.v.aggregate-function", "listagg").option("fields.v.ignore-retract", "true")));
        Generate.TABLES.put("merge.early_keys", (c, d, t) -> earlyKeys(c, d, t, plan("deduplicate")));
        Generate.TABLES.put("merge.early_keys_aggregated",
                (c, d, t) -> earlyKeys(c, d, t, plan("aggregation").option("fields.v.aggregate-function", "listagg")
                        .option("fields.v.ignore-retract", "true")));
        Generate.TABLES.put("merge.blank_keys", Merge::blankKeys);
        Generate.TABLES.put("merge.across_partitions", Merge::acrossPartitions);
        Generate.TABLES.put("merge.across_partitions_updated", Merge::acrossPartitionsUpdated);
        Generate.TABLES.put("merge.pages", Merge::pages);
        Generate.TABLES.put("merge.pages_aggregated", Merge::pagesAggregated);
        Generate.TABLES.put("merge.buckets", Merge::buckets);
        for (String format : List.of("parquet", "orc", "avro")) {
            Generate.TABLES.put("merge.sorted_" + format, (c, d, t) -> sorted(c, d, t, format));
        }
        Generate.TABLES.put("merge.sorted_days", Merge::sortedDays);
        Generate.TABLES.put("merge.sequence_of_times", Merge::sequenceOfTimes);
        Generate.TABLES.put("merge.equal_ages", Merge::equalAges);
        Generate.TABLES.put("merge.equal_ages_listed", (c, d, t) -> equalAgesListed(c, d, t, "loser-tree", 60));
        Generate.TABLES.put("merge.equal_ages_heap", (c, d, t) -> equalAgesListed(c, d, t, "min-heap", 1_300));
    }

    private static Lab.Plan plan(String engine) {
        return Lab.plan().primaryKey("id").option("bucket", "1").option("write-only", "true").option("merge-engine", engine);
    }

    /** NULL never overwrites; nested values are replaced as a whole; some keys have one version. */
    private static void partialUpdate(Catalog c, String d, String t, String format) throws Exception {
        Lab.create(c, d, t, plan("partial-update").column("a", INT()).column("id", BIGINT().notNull()).column("b", STRING())
                        .column("l", ARRAY(INT())).option("file.format", format))
                .write(row(1, 1, null, List.of(1, 2)), row(null, 2, "b2", null), row(3, 3, "b3", List.of()))
                .compactKeys()
                .write(row(null, 1, "x", null), row(20, 2, null, List.of(9)), row(4, 4, "alone", null))
                .write(row(11, 1, null, List.of()), row(null, 5, null, null));
    }

    private static Lab.Plan orc(Lab.Plan plan) {
        return plan.option("file.format", "orc");
    }

    /** Keys are times before 1970 that ORC files have a second late, so that keys of a file do not ascend. */
    private static void earlyKeys(Catalog c, String d, String t, Lab.Plan plan) throws Exception {
        String before = "1969-12-31T23:59:5", after = "1970-01-01T00:00:0";
        Lab.create(c, d, t, orc(plan.column("id", TIMESTAMP(3).notNull()).column("v", STRING())))
                .write(row(before + "8.500", "a1"), row(before + "9.500", "a2"), row(after + "0", "a3"),
                        row(after + "0.300", "a4"), row(after + "2", "a5"))
                .write(row(before + "9.500", "b2"), row(after + "0", "b3"), row(after + "0.500", "b4"), row(after + "2", "b5"))
                .write(row(before + "7.500", "c0"), row(before + "8.500", "c1"), row(after + "0.100", "c3"),
                        row(after + "0.500", "c4"))
                .write(row(DELETE, before + "9.500", "d2"), row(after + "0.500", "d4"));
    }

    /** Keys are CHAR, which ORC files have without blanks at the end. */
    private static void blankKeys(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, orc(plan("deduplicate").column("id", CHAR(4).notNull()).column("v", STRING())))
                .write(row("a", "a1"), row("a\u0001", "a2"), row("a  ", "a3"), row("b", "a4"), row("b ", "a5"), row("c", "a6"))
                .write(row("a ", "b1"), row("a\u0001", "b2"), row("b", "b4"), row("c ", "b6"))
                .write(row(DELETE, "a", "c1"), row("b  ", "c5"), row("d", "c7"));
    }

    private static Lab.Plan acrossPartitions(String engine) {
        return Lab.plan().column("k", INT().notNull()).column("p", STRING()).column("q", INT()).column("v", INT())
                .partition("p", "q").primaryKey("k").option("bucket", "-1").option("write-only", "true")
                .option("merge-engine", engine);
    }

    /**
     * Partition columns outside the key are aggregated, too: they are added up, and a retract makes NULL of them. What
     * compaction writes of that is not read: where nothing is merged, they are the partition's.
     */
    private static void acrossPartitions(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, acrossPartitions("aggregation").option("fields.q.aggregate-function", "sum")
                        .option("fields.v.aggregate-function", "sum"))
                .writeTo(0, row(1, "a", 1, 10), row(2, "a", 1, 20), row(3, "a", 1, 30), row(10, "b", 2, 1), row(20, null, 5, 1))
                .writeTo(0, row(1, "a", 1, 5), row(DELETE, 2, "a", 1, 7), row(DELETE, 20, null, 5, 3), row(11, "b", 3, 2))
                .compactKeys("a", 1)
                .writeTo(0, row(DELETE, 3, "a", 1, 1), row(10, "b", 2, 9))
                .writeTo(0, row(3, "a", 1, 100));
    }

    /** The same of partial updates: a retract of a sequence group makes NULL of the partition column that it governs. */
    private static void acrossPartitionsUpdated(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, acrossPartitions("partial-update").column("g", INT()).option("fields.g.sequence-group", "p,v"))
                .writeTo(0, row(1, "a", 1, 10, 1), row(2, "a", 1, 20, 1), row(3, "a", 1, 30, 3), row(10, "b", 2, 1, 1))
                .writeTo(0, row(1, "a", 1, 11, 2), row(DELETE, 2, "a", 1, 7, 2), row(DELETE, 3, "a", 1, 1, 1))
                .writeTo(0, row(DELETE, 10, "b", 2, 9, 1), row(11, "b", 2, 9, 1))
                .writeTo(0, row(10, "b", 2, 100, 3));
    }

    /** Late rows, NULL sequences and retracts, for columns on both sides of their sequences. */
    private static void sequenceGroups(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("partial-update").column("id", INT().notNull()).column("a", STRING()).column("s1", INT())
                        .column("s2", INT()).column("b", STRING()).column("g", BIGINT()).column("n", STRING())
                        .column("u", STRING()).option("fields.s2,s1.sequence-group", "a,b")
                        .option("fields.g.sequence-group", "n").option("fields.n.aggregate-function", "last_non_null_value"))
                .write(row(1, "a1", 1, 1, "b1", 1, "n1", "u1"), row(2, "a1", 5, null, "b1", null, "n1", "u1"),
                        row(3, "a1", 1, 1, "b1", 1, "n1", "u1"), row(DELETE, 4, "a0", 1, 1, "b0", 1, "n0", "u0"))
                .write(row(1, "late", 9, 0, "late", 0, null, null), row(2, "a2", 4, 0, null, 3, null, null),
                        row(UPDATE_BEFORE, 3, "a2", 2, 1, "b2", 0, "late", "u2"), row(DELETE, 4, "a1", 2, 2, "b1", 2, "n1", "u1"))
                .write(row(1, null, 0, 2, "b3", 5, null, "u3"), row(2, "skipped", null, null, "skipped", 2, "late", "u3"),
                        row(UPDATE_AFTER, 3, "a3", 3, 1, "b3", null, "skipped", null), row(5, "a", 1, 1, "b", 1, "n", "u"))
                .write(row(DELETE, 1, "a4", 1, 2, "b4", 6, null, "u4"), row(4, "late", 1, 1, "late", 2, "n4", "u4"));
    }

    /** A delete empties the row, and lends its values to what comes after it. */
    private static void removeOnDelete(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("partial-update").column("id", INT().notNull()).column("a", STRING()).column("b", STRING())
                        .option("partial-update.remove-record-on-delete", "true"))
                .write(row(1, "a1", "b1"), row(2, "a1", "b1"), row(3, "a1", "b1"), row(DELETE, 4, "a0", "b0"))
                .write(row(DELETE, 1, "a1", null), row(UPDATE_BEFORE, 2, "a1", "b1"), row(DELETE, 3, "a1", "b1"))
                .write(row(1, null, "b3"), row(2, null, "b3"), row(4, "a3", null), row(DELETE, 5, "a", "b"));
    }

    /** A delete of one group removes the row, one of the other only empties its columns. */
    private static void removeOnSequenceGroup(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("partial-update").column("id", INT().notNull()).column("a", STRING()).column("g", INT())
                        .column("h", INT()).column("b", STRING()).option("fields.g.sequence-group", "a")
                        .option("fields.h.sequence-group", "b").option("partial-update.remove-record-on-sequence-group", "g"))
                .write(row(1, "a1", 1, 1, "b1"), row(2, "a1", 1, 1, "b1"), row(3, "a1", 5, 1, "b1"), row(4, "a1", 1, 1, "b1"))
                .write(row(DELETE, 1, "a2", 2, 2, "b2"), row(DELETE, 2, "a2", null, 2, "b2"), row(DELETE, 3, "a2", 4, 2, "b2"),
                        row(UPDATE_BEFORE, 4, "a2", 2, 0, "b2"))
                .write(row(1, null, null, 3, "b3"), row(2, "a3", 3, 3, "b3"), row(3, "a3", 6, null, null));
    }

    /** Deletes from before the option was set; the first version of a key still lends its values. */
    private static void ignoreDelete(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("partial-update").column("id", INT().notNull()).column("a", STRING()).column("b", STRING()))
                .write(row(1, "a1", "b1"), row(DELETE, 2, "a0", "b0"), row(DELETE, 3, "a0", "b0"))
                .option("ignore-delete", "true")
                .write(row(2, null, "b2"), row(1, "a2", null));
    }

    /** The functions that give one of the values; the key in the middle; retracts, some ignored. */
    private static void aggregation(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("aggregation").column("a", STRING()).column("s", INT()).column("id", INT().notNull())
                        .column("b", STRING()).column("i", STRING()).option("sequence.field", "s")
                        .option("fields.a.aggregate-function", "last_value").option("fields.i.ignore-retract", "true"))
                .write(row("a1", 1, 1, "b1", "i1"), row("a1", 5, 2, "b1", "i1"), row(UPDATE_BEFORE, "a", 1, 3, "b", "i"))
                .write(row(null, 2, 1, null, null), row("late", 4, 2, "late", "late"), row(DELETE, "a", 2, 3, "b", "i"))
                .write(row(UPDATE_BEFORE, "a", 3, 1, "b", "i"), row(null, 6, 2, null, "i3"), row("a", 1, 4, "b", "i"))
                .write(row(UPDATE_AFTER, "a4", 4, 1, null, null), row(DELETE, "a", 0, 4, null, "i"));
    }

    /** A delete removes the row, and lends its values to what comes after it. */
    private static void aggregationRemoves(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("aggregation").column("id", INT().notNull()).column("a", STRING()).column("b", STRING())
                        .option("aggregation.remove-record-on-delete", "true")
                        .option("fields.default-aggregate-function", "last_non_null_value"))
                .write(row(1, "a1", "b1"), row(2, "a1", "b1"), row(3, "a1", "b1"))
                .write(row(DELETE, 1, "a2", null), row(DELETE, 2, "a2", "b2"), row(UPDATE_BEFORE, 3, "a1", null))
                .write(row(1, null, "b3"), row(3, null, "b3"), row(DELETE, 4, "a", "b"));
    }

    /** Columns of a group widened and added between overlapping files. */
    private static void evolved(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("partial-update").column("id", INT().notNull()).column("s", INT()).column("a", INT())
                        .option("fields.s.sequence-group", "a"))
                .write(row(1, 2, 20), row(2, 2, 20), row(3, 2, 20))
                .alter(SchemaChange.updateColumnType("a", BIGINT()), SchemaChange.updateColumnType("s", BIGINT()),
                        SchemaChange.addColumn("b", STRING()))
                .write(row(1, 1L << 40, 1L << 41, "b"), row(2, 1, 10, "b"), row(3, null, 10, null));
    }

    /** Floating point keys: a negative zero and a positive one are one key. */
    private static void zeroKeys(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("deduplicate").column("id", DOUBLE().notNull()).column("v", STRING()))
                .write(row(-0.0, "negative"), row(1.5, "one"))
                .write(row(0.0, "positive"), row(-1.5, "two"));
    }

    /** More keys than a batch has rows: a full run, and later ones of every second and third key. */
    private static void manyKeys(Catalog c, String d, String t) throws Exception {
        int keys = 8_500;
        Object[][] full = new Object[keys][];
        Object[][] second = new Object[keys / 2][];
        Object[][] third = new Object[keys / 3][];
        for (int i = 0; i < keys; i++) {
            full[i] = row(i, i % 7, "v" + i);
        }
        for (int i = 0; i < second.length; i++) {
            second[i] = row(2 * i, null, i % 5 == 0 ? null : "w" + i);
        }
        for (int i = 0; i < third.length; i++) {
            third[i] = i % 9 == 0 ? row(DELETE, 3 * i, 0, "x") : row(INSERT, 3 * i, i, null);
        }
        Lab.create(c, d, t, plan("partial-update").column("id", INT().notNull()).column("n", INT()).column("v", STRING())
                        .option("partial-update.remove-record-on-delete", "true"))
                .write(full).compactKeys().write(second).write(third);
    }

    /** Days of two regions: whole ones in one branch, changes in another, with gaps, deletes and late rows. */
    private static void chain(Catalog c, String d, String t, Lab.Plan plan) throws Exception {
        Lab lab = Lab.create(c, d, t, plan.column("id", INT().notNull()).column("v", STRING()).column("seq", INT())
                .column("region", STRING().notNull()).column("dt", STRING().notNull()).partition("region", "dt")
                .primaryKey("region", "dt", "id").option("bucket", "2").option("sequence.field", "seq")
                .option("partition.timestamp-pattern", "$dt")
                .option("partition.timestamp-formatter", "yyyyMMdd").option("chain-table.enabled", "true")
                .option("chain-table.chain-partition-keys", "dt"));
        lab.branch("whole", null).branch("changes", null);
        chained(lab.on("whole"));
        chained(lab.on("changes"));
        lab.on("whole").write(day("eu", 2, 1, "whole", 1), day("eu", 2, 2, "whole", 5), day("eu", 2, 3, "whole", 1),
                        day("us", 1, 1, "us", 1))
                .write(day("eu", 5, 1, "five", 9), day("eu", 5, 8, "five", 9));
        lab.on("changes").write(day("eu", 1, 7, "before any", 1), day("eu", 2, 1, "hidden", 7), day("eu", 3, 1, "three", 2),
                        day("eu", 3, 2, "late", 4), day("eu", 3, 4, "new", 2))
                .write(day(DELETE, "eu", 4, 3, "gone", 3), day("eu", 4, 2, "four", 6), day("eu", 5, 1, "hidden", 10),
                        day("eu", 6, 8, "six", 10), day("us", 3, 2, "us three", 1), day("asia", 1, 1, "asia", 1))
                .write(day("eu", 4, 1, "again", 3), day("asia", 2, 2, "asia two", 1));
        chained(lab);
    }

    private static void chained(Lab branch) throws Exception {
        branch.option("scan.fallback-snapshot-branch", "whole").option("scan.fallback-delta-branch", "changes");
    }

    private static Object[] day(String region, int day, int id, String v, int seq) {
        return row(id, v, seq, region, "2024080" + day);
    }

    private static Object[] day(RowKind kind, String region, int day, int id, String v, int seq) {
        return row(kind, id, v, seq, region, "2024080" + day);
    }

    /** Keys of text and number on many pages, so that parts of them can be read; newer versions and deletes of some. */
    private static void pages(Catalog c, String d, String t) throws Exception {
        int keys = 1_200;
        Object[][] full = new Object[keys][];
        Object[][] second = new Object[keys / 3][];
        Object[][] third = new Object[keys / 4][];
        for (int i = 0; i < keys; i++) {
            full[i] = row(String.format("k%03d", i / 4), i % 4, i, "v" + i);
        }
        for (int i = 0; i < second.length; i++) {
            int k = 3 * i;
            second[i] = row(i % 7 == 0 ? DELETE : INSERT, String.format("k%03d", k / 4), k % 4, -i, "w" + i);
        }
        for (int i = 0; i < third.length; i++) {
            int k = 4 * i + (i > 200 ? 1_000 : 0);
            third[i] = row(i % 11 == 0 ? DELETE : INSERT, String.format("k%03d", k / 4), k % 4, -10 * i, "x" + i);
        }
        paged(c, d, t, Lab.plan().primaryKey("name", "id").option("merge-engine", "deduplicate")
                .column("name", STRING().notNull()).column("id", INT().notNull()).column("n", INT()).column("v", STRING()))
                .write(full).compactKeys().write(second).write(third);
    }

    /** The same for numbers, whose versions are added up. */
    private static void pagesAggregated(Catalog c, String d, String t) throws Exception {
        Object[][] full = new Object[1_000][];
        Object[][] second = new Object[400][];
        Object[][] third = new Object[300][];
        for (int i = 0; i < full.length; i++) {
            full[i] = row(i, i, "v" + i);
        }
        for (int i = 0; i < second.length; i++) {
            second[i] = row(2 * i, 1, i % 3 == 0 ? null : "w" + i);
        }
        for (int i = 0; i < third.length; i++) {
            third[i] = row(5 * i, 1, "x" + i);
        }
        paged(c, d, t, Lab.plan().primaryKey("id").option("merge-engine", "aggregation")
                .option("fields.n.aggregate-function", "sum").option("fields.v.aggregate-function", "max")
                .column("id", BIGINT().notNull()).column("n", INT()).column("v", STRING()))
                .write(full).compactKeys().write(second).write(third);
    }

    /** Three runs in each of four buckets of two days: all of it must be merged. */
    private static void buckets(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().partition("day").primaryKey("day", "id").option("bucket", "4")
                .option("write-only", "true").option("merge-engine", "partial-update").column("day", INT().notNull())
                .column("id", INT().notNull()).column("a", STRING()).column("b", INT()));
        for (int step = 1; step <= 3; step++) {
            List<Object[]> rows = new ArrayList<>();
            for (int day = 1; day <= 2; day++) {
                for (int id = 0; id < 48; id += step) {
                    rows.add(row(day, id, step == 2 ? null : "a" + step + "-" + id, step == 3 ? null : 100 * day + id));
                }
            }
            lab.write(rows.toArray(new Object[0][]));
        }
    }

    /** Files whose keys follow each other, not in the order in which they came: nothing must be merged. */
    private static void sorted(Catalog c, String d, String t, String format) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().primaryKey("k", "n").option("bucket", "1").option("write-only", "true")
                .option("file.format", format).column("v", DOUBLE()).column("k", STRING().notNull())
                .column("n", INT().notNull()));
        for (int first : new int[] {30, 0, 20, 10, 40}) {
            Object[][] rows = new Object[10][];
            for (int i = 0; i < 10; i++) {
                int at = first + i;
                rows[i] = row(at % 7 == 0 ? null : 50.0 - at, String.format("k%02d", at / 4), at % 4 - 2);
            }
            lab.write(rows);
        }
    }

    /** The same in two buckets of each of three days. */
    private static void sortedDays(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().partition("day").primaryKey("day", "id").option("bucket", "2")
                .option("write-only", "true").column("id", BIGINT().notNull()).column("v", STRING())
                .column("day", INT().notNull()));
        for (int day : new int[] {2, 3, 1}) {
            for (int first : new int[] {100, 0}) {
                Object[][] rows = new Object[12][];
                for (int i = 0; i < 12; i++) {
                    rows[i] = row((long) first + i - 6, "v" + day + "-" + i, day);
                }
                lab.write(rows);
            }
        }
    }

    /** The hour that is there twice: as text the later instant is the lesser one where clocks were set back. */
    private static void sequenceOfTimes(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, plan("deduplicate").column("id", INT().notNull()).column("v", STRING())
                        .column("s", TIMESTAMP_WITH_LOCAL_TIME_ZONE(3)).option("sequence.field", "s"))
                .write(row(1, "earlier", "2024-10-27T00:30:00"), row(2, "alone", null))
                .write(row(1, "later", "2024-10-27T01:15:00"))
                .alter(SchemaChange.updateColumnType("s", STRING()));
    }

    /** Five writers that begin from one snapshot, twice: their versions of a key have the same sequence numbers. */
    private static void equalAges(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, plan("deduplicate").column("id", INT().notNull()).column("v", STRING())
                .column("s", INT()).option("sequence.field", "s"));
        for (int round = 0; round < 2; round++) {
            List<Object[][]> writers = new ArrayList<>();
            for (int w = 0; w < 5; w++) {
                List<Object[]> rows = new ArrayList<>();
                for (int id = 7 * w % 11; id < 40 - w; id += 1 + (id + w) % 3) {
                    rows.add(row((id + w) % 6 == 0 ? DELETE : INSERT, id, round + "-" + w + "-" + id, (id * w) % 2));
                }
                writers.add(rows.toArray(new Object[0][]));
            }
            lab.writeBeside(writers);
        }
    }

    /** Four writers that begin from one snapshot; the order in which their versions are merged is what the table shows. */
    private static void equalAgesListed(Catalog c, String d, String t, String engine, int keys) throws Exception {
        List<Object[][]> writers = new ArrayList<>();
        for (int w = 0; w < 4; w++) {
            // The third and the fourth follow each other, and are one run.
            int from = w == 3 ? keys / 2 : 0;
            int to = w == 2 ? keys / 2 : keys;
            List<Object[]> rows = new ArrayList<>();
            for (int id = from; id < to; id++) {
                rows.add(row(id, "" + w));
            }
            // Its batches end at other keys than those of the others.
            for (int id = 1; id <= 10 * w && w < 3; id++) {
                rows.add(row(-id, "" + w));
            }
            writers.add(rows.toArray(new Object[0][]));
        }
        Lab.create(c, d, t, plan("aggregation").column("id", INT().notNull()).column("v", STRING())
                        .option("fields.v.aggregate-function", "listagg").option("sort-engine", engine))
                .writeBeside(writers);
    }

    private static Lab paged(Catalog c, String d, String t, Lab.Plan plan) throws Exception {
        return Lab.create(c, d, t, plan.option("bucket", "1").option("write-only", "true")
                .option("parquet.page.size", "1024").option("parquet.page.row.count.limit", "64")
                .option("parquet.enable.dictionary", "false"));
    }
}
