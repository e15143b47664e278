package golden;

import static golden.Values.row;
import static org.apache.paimon.schema.SchemaChange.addColumn;
import static org.apache.paimon.schema.SchemaChange.dropColumn;
import static org.apache.paimon.schema.SchemaChange.renameColumn;
import static org.apache.paimon.schema.SchemaChange.updateColumnType;
import static org.apache.paimon.types.DataTypes.*;

import org.apache.paimon.catalog.Catalog;

/** Data files with file indexes, in the manifest or beside the data. */
final class Index {
    private static final String[] KINDS = {"bloom-filter", "bitmap", "bsi", "range-bitmap"};

    private Index() {}

    static void register() {
        for (String format : new String[] {"parquet", "orc", "avro"}) {
            Generate.TABLES.put("index.kinds_" + format, (c, d, t) -> kinds(c, d, t, format));
        }
        Generate.TABLES.put("index.bitmap_v1", Index::bitmapV1);
        Generate.TABLES.put("index.embedded", Index::embedded);
        Generate.TABLES.put("index.evolved", Index::evolved);
        Generate.TABLES.put("index.deleted", Index::deleted);
        Generate.TABLES.put("index.versions", Index::versions);
    }

    private static Lab.Plan columns(String format) {
        return Lab.plan().column("id", INT()).column("i", INT()).column("l", BIGINT()).column("s", STRING()).column("d", DATE())
                .column("t", TIMESTAMP(6)).column("m", TIMESTAMP(3)).column("x", DOUBLE()).column("f", FLOAT())
                .column("dec", DECIMAL(10, 2)).column("b", BOOLEAN()).column("small", SMALLINT()).column("tiny", TINYINT())
                .option("file.format", format).option("file-index.in-manifest-threshold", "1 b")
                .option("parquet.block.size", "1024").option("parquet.page.row.count.limit", "20")
                .option("orc.stripe.row.count", "50").option("orc.row.index.stride", "1000");
    }

    /** All values of a column come in each file, so that bounds say nothing; each file lacks some in the middle. */
    private static Object[] mixed(int id, int skip) {
        int v = id * 37 % 50 - 25;
        if (v % 5 == skip) {
            v += 1;
        }
        if (id % 13 == 5) {
            return row(id, null, null, null, null, null, null, null, null, null, null, null, null);
        }
        String day = String.format("20%02d-0%d-11", 20 + (v + 25) % 10, 1 + (v + 25) / 10);
        String time = day + "T01:02:03.000" + String.format("%03d", v + 25);
        double x = v == 0 ? -0.0 : v == 24 ? Double.NaN : v / 4.0;
        return row(id, v, v * 10_000_000_000L, "word " + Integer.toString(v + 25, 7), day, time, day + "T01:02:03.004", x, (float) x,
                v + ".50", v % 3 == 0, v * 100, v);
    }

    private static void kinds(Catalog c, String d, String t, String format) throws Exception {
        Lab.Plan plan = columns(format);
        for (String column : "l,s,d,t,m,f,tiny".split(",")) {
            plan.option("file-index.bloom-filter." + column + ".items", "100");
        }
        Lab lab = Lab.create(c, d, t, plan.option("file-index.bloom-filter.columns", "l,s,d,t,m,f,tiny")
                .option("file-index.bitmap.columns", "i,s,m,b,x").option("file-index.bitmap.i.index-block-size", "64 b")
                .option("file-index.bsi.columns", "l,d,dec,small").option("file-index.range-bitmap.columns", "s,t,x,f,dec,tiny,i")
                .option("file-index.range-bitmap.s.chunk-size", "32 b").option("file-index.range-bitmap.i.chunk-size", "16 b"));
        for (int file = 0; file < 3; file++) {
            Object[][] rows = new Object[120][];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = mixed(file * 1000 + i, file);
            }
            lab.write(rows);
        }
    }

    private static void bitmapV1(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, columns("parquet").option("file-index.bitmap.columns", "i,s,m,b,small")
                .option("file-index.bitmap.i.version", "1").option("file-index.bitmap.s.version", "1")
                .option("file-index.bitmap.m.version", "1").option("file-index.bitmap.b.version", "1")
                .option("file-index.bitmap.small.version", "1"));
        Object[][] rows = new Object[60][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = mixed(i, 1);
        }
        lab.write(rows);
    }

    /** Indexes in the manifest; one file holds only NULLs, one is of before the option was set. */
    private static void embedded(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().column("id", INT()).column("v", INT()).column("s", STRING()))
                .write(row(0, 5, "five"), row(1, 9, "nine"));
        for (String kind : KINDS) {
            lab.option("file-index." + kind + ".columns", kind.equals("bsi") ? "v" : "v,s");
        }
        lab.option("file-index.in-manifest-threshold", "2 kb").option("file-index.bloom-filter.v.items", "10")
                .option("file-index.bloom-filter.s.items", "10");
        lab.write(row(10, 1, "one"), row(11, 9, "nine"), row(12, null, null))
                .write(row(20, 1, "one"), row(21, 5, "five"), row(22, 9, "nine"))
                .write(row(30, null, null), row(31, null, null))
                .write(row(40, -7, ""), row(41, 9, "zzz"));
    }

    /** A column renamed, one widened, one dropped and added again: what the old indexes say of them. */
    private static void evolved(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("a", INT()).column("w", INT()).column("gone", STRING())
                        .option("file-index.bitmap.columns", "a,w,gone").option("file-index.in-manifest-threshold", "1 b"))
                .write(row(1, 1, 1, "x"), row(2, 5, 5, "y"), row(3, 9, 9, "z"))
                .alter(renameColumn("a", "renamed"), updateColumnType("w", BIGINT()), dropColumn("gone"))
                .alter(addColumn("gone", STRING()), addColumn("a", INT()))
                .write(row(4, 1, 1L, "x", 7), row(5, 5, 5_000_000_000L, "new", 8), row(6, 9, 9L, null, 9));
    }

    /** Rows 1 and 3 of five deleted by a vector: positions in the index are those before. */
    private static void deleted(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().column("id", INT()).column("v", STRING()).option("deletion-vectors.enabled", "true")
                        .option("file-index.bitmap.columns", "v").option("file-index.in-manifest-threshold", "1 b"))
                .write(row(1, "a"), row(2, "b"), row(3, "b"), row(4, "c"), row(5, "a"));
        Unsupported.deleteOneAndThree(lab);
    }

    /** Versions of keys: an index of one file must not bring an old one back. */
    private static void versions(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("k", INT().notNull()).column("v", STRING()).column("n", INT()).primaryKey("k")
                        .option("bucket", "1").option("write-only", "true").option("file-index.bitmap.columns", "v")
                        .option("file-index.bsi.columns", "n").option("file-index.in-manifest-threshold", "2 kb"))
                .write(row(1, "a", 1), row(2, "b", 2), row(3, "c", 3), row(9, "a", 9))
                .write(row(2, "B", 20), row(4, "d", 4))
                .write(row(1, "A", 10), row(20, "a", 1), row(21, "z", 2));
    }
}
