package dev.strata.format.safetensors;

import dev.strata.format.QuantType;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Element types of safetensors files: bits of one element, and the type with which its bytes are carried here (packed and unsigned
 * numbers as integers of the same width; their meaning is in the dtype).
 */
public enum SafetensorsType {
    BOOL(8, QuantType.I8),
    U8(8, QuantType.I8),
    I8(8, QuantType.I8),
    F8_E5M2(8, QuantType.I8),
    F8_E4M3(8, QuantType.I8),
    F8_E8M0(8, QuantType.I8),
    I16(16, QuantType.I16),
    U16(16, QuantType.I16),
    F16(16, QuantType.F16),
    BF16(16, QuantType.BF16),
    I32(32, QuantType.I32),
    U32(32, QuantType.I32),
    F32(32, QuantType.F32),
    I64(64, QuantType.I64),
    U64(64, QuantType.I64),
    F64(64, QuantType.F64);

    private static final Map<String, SafetensorsType> BY_NAME =
            Arrays.stream(values()).collect(Collectors.toMap(Enum::name, Function.identity()));

    private final int bits;
    private final QuantType carrier;

    SafetensorsType(int bits, QuantType carrier) {
        this.bits = bits;
        this.carrier = carrier;
    }

    public static Optional<SafetensorsType> byName(String name) {
        return Optional.ofNullable(BY_NAME.get(name));
    }

    public int bytes() {
        return bits / 8;
    }

    public QuantType carrier() {
        return carrier;
    }
}
