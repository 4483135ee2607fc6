package dev.strata.format.quant;

import dev.strata.format.QuantType;
import java.util.Optional;

/** The encoder of each type that can be written. */
public final class Encoders {
    private Encoders() {}

    /** The encoder, or empty for types that are only read. */
    public static Optional<BlockEncoder> of(QuantType type) {
        return Optional.ofNullable(
                switch (type) {
                    case F32 -> PlainTypes::putF32;
                    case F16 -> PlainTypes::putF16;
                    case BF16 -> PlainTypes::putBf16;
                    case Q8_0 -> SimpleEncoders::q8Zero;
                    default -> null;
                });
    }
}
