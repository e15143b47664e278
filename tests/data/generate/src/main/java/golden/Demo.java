package golden;

import static golden.Values.row;
import static org.apache.paimon.types.DataTypes.BIGINT;
import static org.apache.paimon.types.DataTypes.DECIMAL;
import static org.apache.paimon.types.DataTypes.INT;
import static org.apache.paimon.types.DataTypes.STRING;
import static org.apache.paimon.types.DataTypes.TIMESTAMP;

import java.util.Random;
import org.apache.paimon.catalog.Catalog;

/** What a newcomer queries first. */
final class Demo {
    private static final String[] COUNTRIES = {"DE", "FR", "JP", "US"};
    private static final String[] CUSTOMERS = {"Ada", "Björn", "Chloé", "Dmitri", "Emi", "Farid"};
    private static final String[] PRODUCTS = {"lamp", "desk", "chair", "notebook", "clock"};
    private static final String[] PRICES = {"39.90", "249.00", "119.50", "4.25", "24.99"};

    private Demo() {}

    static void register() {
        Generate.TABLES.put("demo.orders", Demo::orders);
    }

    /** 48 orders of three days, one commit a day; some carry a note. */
    private static void orders(Catalog catalog, String database, String table) throws Exception {
        Lab lab = Lab.create(catalog, database, table, Lab.plan()
                .column("order_id", BIGINT().notNull())
                .column("customer", STRING())
                .column("product", STRING())
                .column("quantity", INT())
                .column("price", DECIMAL(10, 2))
                .column("ordered_at", TIMESTAMP(3))
                .column("note", STRING())
                .column("country", STRING())
                .partition("country")
                .option("file.format", "parquet")
                .comment("Orders of a small shop, one commit a day"));
        Random random = new Random(1);
        for (int day = 0; day < 3; day++) {
            Object[][] rows = new Object[16][];
            for (int i = 0; i < rows.length; i++) {
                int product = random.nextInt(PRODUCTS.length);
                rows[i] = row(1001 + day * 16 + i, CUSTOMERS[random.nextInt(CUSTOMERS.length)], PRODUCTS[product],
                        1 + random.nextInt(4), PRICES[product],
                        String.format("2024-01-%02dT%02d:%02d:00.000", day + 1, 8 + i / 2, random.nextInt(60)),
                        random.nextInt(5) == 0 ? "gift" : null, COUNTRIES[random.nextInt(COUNTRIES.length)]);
            }
            lab.write(rows);
        }
        lab.tag("new-year", 1);
    }
}
