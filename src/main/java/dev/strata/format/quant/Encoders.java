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
                    case Q4_0 -> SimpleEncoders::q4Zero;
                    case Q4_1 -> SimpleEncoders::q4One;
                    case Q5_0 -> SimpleEncoders::q5Zero;
                    case Q5_1 -> SimpleEncoders::q5One;
                    case Q1_0 -> SimpleEncoders::q1Zero;
                    case Q2_0 -> SimpleEncoders::q2Zero;
                    case Q2_K -> AffineKEncoders::q2;
                    case Q3_K -> KEncoders::q3;
                    case Q4_K -> AffineKEncoders::q4;
                    case Q5_K -> AffineKEncoders::q5;
                    case Q6_K -> KEncoders::q6;
                    case IQ4_NL -> KEncoders::iq4nl;
                    case IQ4_XS -> KEncoders::iq4xs;
                    case IQ2_XXS -> GridEncoders::iq2xxs;
                    case IQ2_XS -> GridEncoders::iq2xs;
                    case IQ2_S -> GridEncoders::iq2s;
                    case IQ3_XXS -> GridEncoders::iq3xxs;
                    case IQ3_S -> GridEncoders::iq3s;
                    case MXFP4 -> FourBitFloatEncoders::mxfp4;
                    case NVFP4 -> FourBitFloatEncoders::nvfp4;
                    case IQ1_S, IQ1_M, TQ1_0, TQ2_0, I8, I16, I32, I64, F64 -> null;
                });
    }
}
