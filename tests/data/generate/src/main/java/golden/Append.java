package golden;

import static golden.Values.row;
import static org.apache.paimon.types.DataTypes.BIGINT;
import static org.apache.paimon.types.DataTypes.DOUBLE;
import static org.apache.paimon.types.DataTypes.INT;
import static org.apache.paimon.types.DataTypes.STRING;

import java.util.Map;
import org.apache.paimon.catalog.Catalog;

/** How snapshots, manifests and data files of append tables hang together. */
final class Append {
    private Append() {}

    static void register() {
        for (String format : new String[] {"parquet", "orc", "avro"}) {
            Generate.TABLES.put("append.plain_" + format, (c, d, t) -> plain(c, d, t, "file.format", format));
            Generate.TABLES.put("append.manifests_" + format, (c, d, t) -> manifests(c, d, t, format));
            Generate.TABLES.put("append.many_batches_" + format, (c, d, t) -> manyBatches(c, d, t, format));
        }
        Generate.TABLES.put("append.mixed_formats", Append::mixedFormats);
        Generate.TABLES.put("append.codecs_parquet", (c, d, t) -> codecs(c, d, t, "parquet", "none", "snappy", "gzip", "zstd", "lz4"));
        Generate.TABLES.put("append.codecs_orc", (c, d, t) -> codecs(c, d, t, "orc", "none", "snappy", "zlib", "zstd", "lz4"));
        Generate.TABLES.put("append.codecs_avro", (c, d, t) -> codecs(c, d, t, "avro", "null", "snappy", "deflate", "zstd"));
        Generate.TABLES.put("append.overwritten", Append::overwritten);
        Generate.TABLES.put("append.compacted", Append::compacted);
        Generate.TABLES.put("append.bucketed", Append::bucketed);
        Generate.TABLES.put("append.never_written", (c, d, t) -> Lab.create(c, d, t, simple()));
        Generate.TABLES.put("append.no_rows", (c, d, t) -> Lab.create(c, d, t, simple()).write(row(1, "a", 0.5)).truncate());
    }

    private static Lab.Plan simple() {
        return Lab.plan().column("id", INT()).column("name", STRING()).column("score", DOUBLE());
    }

    /** Two commits, NULLs in every column. */
    private static void plain(Catalog c, String d, String t, String key, String value) throws Exception {
        Lab.create(c, d, t, simple().option(key, value))
                .write(row(1, "one", 1.5), row(2, null, -2.25), row(null, "three", null))
                .write(row(4, "", 0.0), row(5, "fünf 🦀", Double.NaN));
    }

    /** Manifests in each format, merged on the way: small manifests are rewritten from the third commit on. */
    private static void manifests(Catalog c, String d, String t, String format) throws Exception {
        Lab lab = Lab.create(c, d, t, simple().column("p", STRING()).partition("p").option("manifest.format", format)
                .option("manifest.merge-min-count", "3"));
        for (int i = 0; i < 5; i++) {
            lab.write(row(i, "n" + i, i / 2.0, "even"), row(i + 100, null, null, i % 2 == 0 ? "odd" : null));
        }
        lab.overwrite(Map.of("p", "odd"), row(200, "new", 7.0, "odd"));
    }

    /** Several row groups, pages, stripes and blocks in a file. */
    private static void manyBatches(Catalog c, String d, String t, String format) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().column("id", BIGINT()).column("word", STRING()).column("score", DOUBLE())
                .option("file.format", format).option("parquet.block.size", "8192").option("parquet.page.size", "1024")
                .option("parquet.page.row.count.limit", "97").option("parquet.dictionary.page.size", "300")
                .option("parquet.enable.dictionary#id", "false").option("orc.stripe.row.count", "1024")
                .option("orc.row.index.stride", "1000").option("orc.compress.size", "4096"));
        Object[][] rows = new Object[2500][];
        for (int i = 0; i < rows.length; i++) {
            rows[i] = row((long) i * i, i % 7 == 0 ? null : "word " + Integer.toString(i * 31 % 997, 36), i % 11 == 0 ? null : i / 8.0);
        }
        lab.write(rows);
    }

    /** One table, three formats: the option is changed between commits. */
    private static void mixedFormats(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, simple().option("file.format", "parquet"))
                .write(row(1, "parquet", 1.0)).option("file.format", "orc")
                .write(row(2, "orc", 2.0), row(3, null, null)).option("file.format", "avro")
                .write(row(4, "avro", 4.0));
    }

    private static void codecs(Catalog c, String d, String t, String format, String... codecs) throws Exception {
        Lab lab = Lab.create(c, d, t, simple().option("file.format", format));
        for (int i = 0; i < codecs.length; i++) {
            lab.option("file.compression", codecs[i]).write(row(i, codecs[i], i * 1.0), row(null, codecs[i] + " " + "x".repeat(300), null));
        }
    }

    /** INSERT OVERWRITE of all, TRUNCATE, and an append after each. */
    private static void overwritten(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, simple())
                .write(row(1, "first", 1.0), row(2, "first", 2.0))
                .overwrite(Map.of(), row(3, "second", 3.0))
                .write(row(4, "third", 4.0))
                .truncate()
                .write(row(5, "fifth", 5.0));
    }

    /** Small files united by a compaction: its snapshot deletes and adds files without changing rows. */
    private static void compacted(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, simple().option("compaction.min.file-num", "3"));
        for (int i = 0; i < 4; i++) {
            lab.write(row(i, "commit " + i, i * 0.5));
        }
        lab.compact().write(row(9, "after", 9.0));
    }

    private static void bucketed(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, simple().option("bucket", "3").option("bucket-key", "id").option("write-only", "true"));
        for (int commit = 0; commit < 2; commit++) {
            Object[][] rows = new Object[12][];
            for (int i = 0; i < rows.length; i++) {
                rows[i] = row(i == 0 ? null : commit * 100 + i, "c" + commit, i * 1.25);
            }
            lab.write(rows);
        }
    }
}
