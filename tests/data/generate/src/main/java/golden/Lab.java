package golden;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.disk.IOManagerImpl;
import org.apache.paimon.options.Options;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.AppendOnlyFileStoreTable;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;

/** One golden table being written: create it, write rows, change its schema. Every write is one commit. */
final class Lab {
    private final Catalog catalog;
    private final Identifier id;
    private String branch = "main";

    private Lab(Catalog catalog, Identifier id) {
        this.catalog = catalog;
        this.id = id;
    }

    static Catalog catalog(String warehouse) {
        Options options = new Options();
        options.set("warehouse", warehouse);
        return CatalogFactory.createCatalog(CatalogContext.create(options));
    }

    /** A table to be: its columns in order, then options. */
    static final class Plan {
        private final Schema.Builder schema = Schema.newBuilder();

        Plan column(String name, DataType type) {
            schema.column(name, type);
            return this;
        }

        Plan partition(String... keys) {
            schema.partitionKeys(keys);
            return this;
        }

        Plan primaryKey(String... keys) {
            schema.primaryKey(keys);
            return this;
        }

        Plan option(String key, String value) {
            schema.option(key, value);
            return this;
        }

        Plan comment(String text) {
            schema.comment(text);
            return this;
        }
    }

    static Plan plan() {
        return new Plan();
    }

    static Lab create(Catalog catalog, String database, String table, Plan plan) throws Exception {
        Identifier id = Identifier.create(database, table);
        catalog.createDatabase(database, true);
        catalog.createTable(id, plan.schema.build(), false);
        return new Lab(catalog, id);
    }

    FileStoreTable table() throws Exception {
        FileStoreTable table = (FileStoreTable) catalog.getTable(id);
        return branch.equals("main") ? table : table.switchToBranch(branch);
    }

    /** The same table, on another branch. */
    Lab on(String branch) {
        Lab other = new Lab(catalog, id);
        other.branch = branch;
        return other;
    }

    Lab write(Object[]... rows) throws Exception {
        return commit(table().newBatchWriteBuilder(), null, rows);
    }

    /** Writes with several writers that know nothing of each other, and commits one after the other. */
    Lab writeBeside(List<Object[][]> writers) throws Exception {
        FileStoreTable table = table();
        List<List<CommitMessage>> written = new ArrayList<>();
        for (Object[][] rows : writers) {
            try (BatchTableWrite write = table.newBatchWriteBuilder().newWrite()) {
                for (Object[] row : rows) {
                    write.write(Values.toRow(table.rowType(), row));
                }
                written.add(write.prepareCommit());
            }
        }
        for (List<CommitMessage> messages : written) {
            try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                commit.commit(messages);
            }
        }
        return this;
    }

    /** Writes to a bucket, whichever the rows would be dealt to; each row to the partition that it names. */
    Lab writeTo(int bucket, Object[]... rows) throws Exception {
        BatchWriteBuilder builder = table().newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            for (Object[] row : rows) {
                write.write(Values.toRow(table().rowType(), row), bucket);
            }
            commit.commit(write.prepareCommit());
        }
        return this;
    }

    /** Replaces what is in the given partition; an empty map replaces the whole table. */
    Lab overwrite(Map<String, String> partition, Object[]... rows) throws Exception {
        return commit(table().newBatchWriteBuilder().withOverwrite(partition), null, rows);
    }

    private Lab commit(BatchWriteBuilder builder, RowType type, Object[]... rows) throws Exception {
        RowType rowType = type == null ? table().rowType() : type;
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            for (Object[] row : rows) {
                write.write(Values.toRow(rowType, row));
            }
            commit.commit(write.prepareCommit());
        }
        return this;
    }

    /** Writes some columns of rows that are there already, found by the number of their first row. */
    Lab writeColumns(long firstRowId, List<String> columns, Object[]... rows) throws Exception {
        RowType type = table().rowType().project(columns);
        BatchWriteBuilder builder = table().newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite().withWriteType(type); BatchTableCommit commit = builder.newCommit()) {
            for (Object[] row : rows) {
                write.write(Values.toRow(type, row));
            }
            List<CommitMessage> messages = write.prepareCommit();
            Unsupported.assignFirstRowId(messages, firstRowId);
            commit.commit(messages);
        }
        return this;
    }

    Lab truncate() throws Exception {
        try (BatchTableCommit commit = table().newBatchWriteBuilder().newCommit()) {
            commit.truncateTable();
        }
        return this;
    }

    /** Unites the small files of an append table. */
    Lab compact() throws Exception {
        AppendOnlyFileStoreTable table = (AppendOnlyFileStoreTable) table();
        List<CommitMessage> messages = new ArrayList<>();
        for (AppendCompactTask task : new AppendCompactCoordinator(table, false).run()) {
            messages.add(task.doCompact(table, table.store().newWrite("golden")));
        }
        if (messages.isEmpty()) {
            throw new IllegalStateException("nothing to compact in " + id);
        }
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            commit.commit(messages);
        }
        return this;
    }

    /** Merges all files of bucket 0 of a partition of a table with a primary key into one on the highest level. */
    Lab compactKeys(Object... partition) throws Exception {
        FileStoreTable table = table().copy(map("write-only", "false"));
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite(); BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(new IOManagerImpl(System.getProperty("java.io.tmpdir")));
            RowType type = table.schema().logicalPartitionType();
            write.compact(new InternalRowSerializer(type).toBinaryRow(Values.toRow(type, partition)).copy(), 0, true);
            commit.commit(write.prepareCommit());
        }
        return this;
    }

    Lab alter(SchemaChange... changes) throws Exception {
        Identifier target = branch.equals("main") ? id : new Identifier(id.getDatabaseName(), id.getTableName(), branch);
        catalog.alterTable(target, Arrays.asList(changes), false);
        return this;
    }

    Lab option(String key, String value) throws Exception {
        return alter(SchemaChange.setOption(key, value));
    }

    Lab tag(String name, long snapshot) throws Exception {
        table().createTag(name, snapshot);
        return this;
    }

    Lab branch(String name, String tag) throws Exception {
        if (tag == null) {
            table().createBranch(name);
        } else {
            table().createBranch(name, tag);
        }
        return this;
    }

    static <K, V> Map<K, V> map(Object... entries) {
        Map<K, V> map = new LinkedHashMap<>();
        for (int i = 0; i < entries.length; i += 2) {
            @SuppressWarnings("unchecked") K key = (K) entries[i];
            @SuppressWarnings("unchecked") V value = (V) entries[i + 1];
            map.put(key, value);
        }
        return map;
    }
}
