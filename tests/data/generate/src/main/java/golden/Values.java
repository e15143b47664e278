package golden;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/** Turns plain Java values (text, numbers, lists) into Paimon's internal ones, by their type. */
final class Values {
    private Values() {}

    static Object[] row(Object... values) {
        return values;
    }

    /** A list of one row. */
    static List<Object[]> one(Object... row) {
        return Collections.singletonList(row);
    }

    /** A row; it may begin with its kind. */
    static GenericRow toRow(RowType type, Object[] values) {
        if (values.length > 0 && values[0] instanceof RowKind kind) {
            GenericRow row = toRow(type, Arrays.copyOfRange(values, 1, values.length));
            row.setRowKind(kind);
            return row;
        }
        if (values.length != type.getFieldCount()) {
            throw new IllegalArgumentException(values.length + " values for " + type);
        }
        GenericRow row = new GenericRow(values.length);
        for (int i = 0; i < values.length; i++) {
            row.setField(i, of(type.getTypeAt(i), values[i]));
        }
        return row;
    }

    static Object of(DataType type, Object value) {
        if (value == null) {
            return null;
        }
        return switch (type.getTypeRoot()) {
            case BOOLEAN -> value;
            case TINYINT -> ((Number) value).byteValue();
            case SMALLINT -> ((Number) value).shortValue();
            case INTEGER -> ((Number) value).intValue();
            case BIGINT -> ((Number) value).longValue();
            case FLOAT -> ((Number) value).floatValue();
            case DOUBLE -> ((Number) value).doubleValue();
            case DECIMAL -> decimal((DecimalType) type, value.toString());
            case CHAR, VARCHAR -> BinaryString.fromString((String) value);
            case BINARY, VARBINARY -> value instanceof byte[] b ? b : ((String) value).getBytes(StandardCharsets.UTF_8);
            case DATE -> (int) LocalDate.parse((String) value).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE -> (int) (LocalTime.parse((String) value).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE ->
                    Timestamp.fromLocalDateTime(LocalDateTime.parse((String) value));
            case ARRAY -> array(((ArrayType) type).getElementType(), (List<?>) value);
            case MAP -> map(((MapType) type).getKeyType(), ((MapType) type).getValueType(), (Map<?, ?>) value);
            case MULTISET -> map(((MultisetType) type).getElementType(), DataTypes.INT(), (Map<?, ?>) value);
            case ROW -> toRow((RowType) type, (Object[]) value);
            case VARIANT -> GenericVariant.fromJson((String) value);
            default -> throw new IllegalArgumentException("no values of type " + type);
        };
    }

    private static Decimal decimal(DecimalType type, String text) {
        return Decimal.fromBigDecimal(new BigDecimal(text), type.getPrecision(), type.getScale());
    }

    private static GenericArray array(DataType element, List<?> values) {
        return new GenericArray(values.stream().map(v -> of(element, v)).toArray());
    }

    private static GenericMap map(DataType key, DataType value, Map<?, ?> entries) {
        Map<Object, Object> map = new LinkedHashMap<>();
        entries.forEach((k, v) -> map.put(of(key, k), of(value, v)));
        return new GenericMap(map);
    }
}
