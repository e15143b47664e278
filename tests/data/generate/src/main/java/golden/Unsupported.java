package golden;

import static golden.Values.row;
import static org.apache.paimon.types.DataTypes.BIGINT;
import static org.apache.paimon.types.DataTypes.INT;
import static org.apache.paimon.types.DataTypes.STRING;

import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/** Tables whose features must be refused by name, or read rightly: never read as if the feature were not there. */
final class Unsupported {
    private Unsupported() {}

    static void register() {
        Generate.TABLES.put("unsupported.primary_key", Unsupported::primaryKey);
        Generate.TABLES.put("unsupported.deletion_vectors", Unsupported::deletionVectors);
        Generate.TABLES.put("unsupported.data_evolution", Unsupported::dataEvolution);
        Generate.TABLES.put("unsupported.csv_files", (c, d, t) ->
                Lab.create(c, d, t, Lab.plan().column("id", INT()).column("v", STRING()).option("file.format", "csv")
                                .option("file.compression", "none"))
                        .write(row(1, "a"), row(2, "b")));
    }

    /** Three versions of the keys, one delete by a newer value: a plain union of the files shows too many rows. */
    private static void primaryKey(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", BIGINT().notNull()).column("v", STRING()).column("n", INT()).primaryKey("id")
                        .option("bucket", "2").option("write-only", "true"))
                .write(row(1, "a", 1), row(2, "b", 2), row(3, "c", 3))
                .write(row(2, "B", 20), row(4, "d", 4))
                .write(row(1, "A", 10));
    }

    /** Two of five rows deleted by a vector. */
    private static void deletionVectors(Catalog c, String d, String t) throws Exception {
        Lab lab = Lab.create(c, d, t, Lab.plan().column("id", INT()).column("v", STRING()).option("deletion-vectors.enabled", "true"))
                .write(row(1, "a"), row(2, "b"), row(3, "c"), row(4, "d"), row(5, "e"));
        deleteOneAndThree(lab);
    }

    /** Deletes rows 1 and 3 of each file by vectors. */
    static void deleteOneAndThree(Lab lab) throws Exception {
        FileStoreTable table = lab.table();
        Snapshot snapshot = table.snapshotManager().latestSnapshot();
        BaseAppendDeleteFileMaintainer maintainer = BaseAppendDeleteFileMaintainer.forUnawareAppend(
                table.store().newIndexFileHandler(), snapshot, BinaryRow.EMPTY_ROW);
        for (Split split : table.newReadBuilder().newScan().plan().splits()) {
            for (DataFileMeta file : ((DataSplit) split).dataFiles()) {
                DeletionVector vector = new BitmapDeletionVector();
                vector.delete(1);
                vector.delete(3);
                maintainer.notifyNewDeletionVector(file.fileName(), vector);
            }
        }
        List<IndexFileMeta> added = new ArrayList<>();
        for (IndexManifestEntry entry : maintainer.persist()) {
            if (entry.kind() == FileKind.ADD) {
                added.add(entry.indexFile());
            }
        }
        CommitMessage message = new CommitMessageImpl(BinaryRow.EMPTY_ROW, 0, -1, DataIncrement.indexIncrement(added),
                CompactIncrement.emptyIncrement());
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            commit.commit(List.of(message));
        }
    }

    /** A column of the first commit's rows written anew by the second one's file. */
    private static void dataEvolution(Catalog c, String d, String t) throws Exception {
        Lab.create(c, d, t, Lab.plan().column("id", INT()).column("a", STRING()).column("b", STRING())
                        .option("row-tracking.enabled", "true").option("data-evolution.enabled", "true"))
                .write(row(1, "a1", "b1"), row(2, "a2", "b2"))
                .writeColumns(0, List.of("b"), row("new b1"), row("new b2"));
    }

    static void assignFirstRowId(List<CommitMessage> messages, long firstRowId) {
        for (CommitMessage message : messages) {
            List<DataFileMeta> files = ((CommitMessageImpl) message).newFilesIncrement().newFiles();
            files.replaceAll(file -> file.assignFirstRowId(firstRowId));
        }
    }
}
