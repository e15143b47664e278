package golden;

import static golden.Values.row;
import static org.apache.paimon.schema.SchemaChange.addColumn;
import static org.apache.paimon.schema.SchemaChange.renameColumn;
import static org.apache.paimon.types.DataTypes.INT;
import static org.apache.paimon.types.DataTypes.STRING;

import java.time.Duration;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.table.FileStoreTable;

/** Snapshots, tags and branches. */
final class Refs {
    private Refs() {}

    static void register() {
        Generate.TABLES.put("refs.snapshots", Refs::snapshots);
        Generate.TABLES.put("refs.tags", Refs::tags);
        Generate.TABLES.put("refs.branches", Refs::branches);
        Generate.TABLES.put("refs.fallback", Refs::fallback);
    }

    private static Lab.Plan simple() {
        return Lab.plan().column("id", INT()).column("v", STRING());
    }

    /** Five snapshots at noon of five days, a change of schema between the third and the fourth. */
    private static void snapshots(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, simple()).write(row(1, "one")).write(row(2, "two")).write(row(3, "three"))
                .alter(addColumn("w", INT()), renameColumn("v", "name"))
                .write(row(4, "four", 4)).overwrite(java.util.Map.of(), row(5, "five", 5));
    }

    /** Tags with plain and odd names; the snapshots of the first two are gone. */
    private static void tags(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, simple()).write(row(1, "one")).tag("first", 1).write(row(2, "two")).tag("2", 2)
                .overwrite(java.util.Map.of(), row(3, "three")).alter(addColumn("w", INT())).write(row(4, "four", 4))
                .tag("v1.0-rc", 4).write(row(5, "five", 5));
        FileStoreTable table = lab.table();
        table.newExpireSnapshots().config(ExpireConfig.builder().snapshotRetainMax(3).snapshotRetainMin(3)
                .snapshotTimeRetain(Duration.ZERO).build()).expire();
    }

    /** A branch from a tag that went its own way (rows and schema), and one without snapshots. */
    private static void branches(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, simple()).write(row(1, "one")).write(row(2, "two")).tag("start", 1);
        lab.branch("dev", "start").branch("empty", null);
        lab.on("dev").alter(addColumn("only_dev", INT())).write(row(20, "dev", 200)).tag("dev-tag", 2);
        lab.write(row(3, "three"));
    }

    /** Partitions that the table lacks are read from the fallback branch. */
    private static void fallback(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().column("id", INT()).column("p", STRING()).partition("p"));
        lab.branch("fb", null);
        lab.on("fb").write(row(10, "both"), row(11, "only branch"), row(12, null));
        lab.write(row(1, "both"), row(2, "only main")).option("scan.fallback-branch", "fb");
    }
}
