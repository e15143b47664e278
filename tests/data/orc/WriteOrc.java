import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDateTime;
import java.util.*;
import org.apache.paimon.data.*;
import org.apache.paimon.format.*;
import org.apache.paimon.fs.*;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.options.Options;
import org.apache.paimon.types.*;

/**
 * Writes the ORC files of this folder with Paimon's own writer, see README.md.
 *
 * Usage: java -Duser.timezone=ZONE WriteOrc timestamps FILE LEGACY   or   java -Duser.timezone=ZONE WriteOrc nested FILE
 * or   java -Duser.timezone=ZONE WriteOrc groups FILE ROWS CODEC
 */
public class WriteOrc {
    static final String[] TIMES = {
        "0001-01-01T00:00:00", "1582-10-15T00:00:00", "1800-06-01T12:00:00.5", "1899-12-31T23:59:59.999999999",
        "1900-01-01T00:00:00", "1900-06-01T00:00:00.123456", "1901-06-01T00:00:00", "1945-05-05T05:05:05",
        "1969-12-31T23:59:58.999999", "1969-12-31T23:59:59.001", "1970-01-01T00:00:00", "1970-01-01T00:00:00.001",
        "1986-06-01T00:00:00", "1986-12-01T00:00:00", "2015-01-01T00:00:00", "2024-02-29T12:34:56.789123456",
        "2024-07-01T00:00:00", "2024-03-10T02:30:00", "2024-11-03T01:30:00", "2037-07-01T00:00:00",
        "2050-07-01T00:00:00", "2150-07-01T00:00:00", "9999-12-31T23:59:59.999999"};

    public static void main(String[] args) throws Exception {
        Options options = new Options();
        if (args[0].equals("timestamps")) {
            options.setString("orc.timestamp-ltz.legacy.type", args[2]);
            timestamps(args[1], options);
        } else if (args[0].equals("groups")) {
            groups(args[1], Integer.parseInt(args[2]), args[3], options);
        } else {
            nested(args[1], options);
        }
    }

    static void timestamps(String file, Options options) throws Exception {
        RowType type = RowType.of(
                new DataType[] {DataTypes.TIMESTAMP(6), DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(6), DataTypes.TIMESTAMP(3)},
                new String[] {"t6", "z6", "t3"});
        List<InternalRow> rows = new ArrayList<>();
        for (String time : TIMES) {
            Timestamp t = Timestamp.fromLocalDateTime(LocalDateTime.parse(time));
            rows.add(GenericRow.of(t, t, Timestamp.fromEpochMillis(t.getMillisecond())));
        }
        write(type, options, file, rows, "zstd");
    }

    static void nested(String file, Options options) throws Exception {
        DataType ab = RowType.of(new DataType[] {DataTypes.INT(), DataTypes.ARRAY(DataTypes.BIGINT())}, new String[] {"a", "b"});
        DataType zw = RowType.of(new DataType[] {DataTypes.CHAR(5), DataTypes.TIMESTAMP(9)}, new String[] {"z", "w"});
        DataType xy = RowType.of(new DataType[] {DataTypes.DECIMAL(20, 5), zw}, new String[] {"x", "y"});
        RowType type = RowType.of(
                new DataType[] {DataTypes.INT(), DataTypes.ARRAY(DataTypes.STRING()), DataTypes.MAP(DataTypes.STRING(), ab),
                    DataTypes.MULTISET(DataTypes.STRING()), xy, DataTypes.DECIMAL(38, 10), DataTypes.STRING(),
                    DataTypes.TIME(3), DataTypes.BYTES()},
                new String[] {"id", "arr", "m", "ms", "r", "d", "s", "tm", "bin"});
        List<InternalRow> rows = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            rows.add(nestedRow(i));
        }
        write(type, options, file, rows, "none");
    }

    /** Every type in stripes of several row groups; small chunks, so that runs and values cross their borders. */
    static void groups(String file, int count, String codec, Options options) throws Exception {
        options.setString("orc.row.index.stride", "1000");
        options.setString("orc.stripe.row.count", "4096");
        options.setString("orc.compress.size", "1024");
        options.setString("orc.dictionary.key.threshold", "0.5");
        DataType ab = RowType.of(new DataType[] {DataTypes.INT(), DataTypes.ARRAY(DataTypes.BIGINT())}, new String[] {"a", "b"});
        RowType type = RowType.of(
                new DataType[] {DataTypes.INT().notNull(), DataTypes.BOOLEAN(), DataTypes.TINYINT(), DataTypes.SMALLINT(),
                    DataTypes.BIGINT(), DataTypes.FLOAT(), DataTypes.DOUBLE(), DataTypes.DECIMAL(10, 2), DataTypes.STRING(),
                    DataTypes.STRING(), DataTypes.CHAR(5), DataTypes.BYTES(), DataTypes.DATE(), DataTypes.TIMESTAMP(6),
                    DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3), DataTypes.TIME(3), DataTypes.ARRAY(DataTypes.STRING()),
                    DataTypes.MAP(DataTypes.STRING(), ab), ab},
                new String[] {"id", "flag", "i8", "i16", "i64", "f32", "f64", "dec", "text", "word", "code", "bin", "day", "t6",
                    "z3", "tm", "arr", "m", "r"});
        List<InternalRow> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            rows.add(groupsRow(i));
        }
        write(type, options, file, rows, codec);
    }

    /** Row groups without a NULL (`i16`), of NULLs alone (`dec`, `word`), and with some; runs of all lengths. */
    static InternalRow groupsRow(int i) {
        int group = i / 1000, mixed = i * 7919 % 10007;
        Object arr = null, m = null, r = null;
        if (i % 5 != 0) {
            Object[] e = new Object[group == 2 ? 0 : i % 3];
            for (int j = 0; j < e.length; j++) {
                e[j] = (i + j) % 6 == 0 ? null : text("e" + (i + j) % 40);
            }
            arr = new GenericArray(e);
        }
        if (i % 7 == 0) {
            Map<Object, Object> entries = new LinkedHashMap<>();
            for (int j = 0; j < i % 3; j++) {
                Object[] b = {(long) i, null};
                entries.put(text("k" + j), (i + j) % 5 == 0 ? null : GenericRow.of(i * j, new GenericArray(b)));
            }
            m = new GenericMap(entries);
        }
        if (i % 6 != 0) {
            r = GenericRow.of(i % 4 == 0 ? null : mixed, i % 10 == 1 ? new GenericArray(new Object[] {(long) mixed}) : null);
        }
        Timestamp t = Timestamp.fromEpochMillis(1700000000000L + 37L * i, i % 50 * 1000);
        return GenericRow.of(i, i % 11 == 0 ? null : i % 3 == 0, (byte) (i / 90), (short) (i % 40 < 20 ? group : mixed),
                i % 13 == 0 ? null : (long) mixed * (i % 100 == 7 ? 1L << 40 : 1), i % 200 < 100 ? null : i / 4f,
                i % 9 == 0 ? null : (i % 64) / 8.0,
                group == 1 ? null : Decimal.fromBigDecimal(BigDecimal.valueOf(i * 3L - 900, 2), 10, 2),
                i % 17 == 0 ? null : text("text " + i), group == 3 ? null : text("word" + mixed % 30), text("c" + i % 10 + " "),
                i % 8 == 0 ? null : new byte[i % 3], i % 4 == 0 ? null : group * 100 - 50, i % 3 == 0 ? null : t,
                Timestamp.fromEpochMillis(86400000L * group), i % 2 == 0 ? null : i * 1000, arr, m, r);
    }

    static InternalRow nestedRow(int i) {
        Object arr = null, m = null, r = null;
        if (i % 5 != 0) {
            Object[] e = new Object[i % 4];
            for (int j = 0; j < e.length; j++) {
                e[j] = (i + j) % 6 == 0 ? null : text("e" + i + "-" + j);
            }
            arr = new GenericArray(e);
        }
        if (i % 7 != 0) {
            Map<Object, Object> entries = new LinkedHashMap<>();
            for (int j = 0; j < i % 3; j++) {
                Object[] b = {(long) i, null, (long) -j};
                entries.put(text("k" + j), (i + j) % 5 == 0 ? null : GenericRow.of(i * j, new GenericArray(b)));
            }
            m = new GenericMap(entries);
        }
        if (i % 6 != 0) {
            Object w = i % 3 == 0 ? null : Timestamp.fromEpochMillis(1000L * 86400 * i, 123456);
            Object y = i % 4 == 0 ? null : GenericRow.of(text("c" + i % 10 + " "), w);
            r = GenericRow.of(Decimal.fromBigDecimal(BigDecimal.valueOf(i * 12345L - 1000000, 5), 20, 5), y);
        }
        BigInteger d = BigInteger.TEN.pow(37).add(BigInteger.valueOf(i));
        d = i % 2 == 1 ? d.negate() : d;
        GenericMap ms = new GenericMap(Collections.singletonMap(text("x"), i % 9 + 1));
        return GenericRow.of(i, arr, m, ms, r, Decimal.fromBigDecimal(new BigDecimal(d, 10), 38, 10),
                text("word" + i % 3), i * 1000, i % 8 == 0 ? null : new byte[] {(byte) i, 0});
    }

    static BinaryString text(String s) {
        return BinaryString.fromString(s);
    }

    static void write(RowType type, Options options, String file, List<InternalRow> rows, String codec) throws Exception {
        FileFormat format = FileFormat.fromIdentifier("orc", options);
        try (PositionOutputStream out = LocalFileIO.create().newOutputStream(new Path(file), true)) {
            FormatWriter writer = format.createWriterFactory(type).create(out, codec);
            for (InternalRow row : rows) {
                writer.addElement(row);
            }
            writer.close();
        }
    }
}
