package dev.strata.format.quant;

import dev.strata.format.QuantType;

/** The decoder of each type. */
public final class Decoders {
    private static final BlockDecoder[] BY_TYPE = new BlockDecoder[QuantType.values().length];

    static {
        for (QuantType type : QuantType.values()) {
            BY_TYPE[type.ordinal()] = decoder(type);
        }
    }

    private Decoders() {}

    public static BlockDecoder of(QuantType type) {
        return BY_TYPE[type.ordinal()];
    }

    private static BlockDecoder decoder(QuantType type) {
        return switch (type) {
            case F32 -> PlainTypes::f32;
            case F16 -> PlainTypes::f16;
            case BF16 -> PlainTypes::bf16;
            case F64 -> PlainTypes::f64;
            case I8 -> PlainTypes::i8;
            case I16 -> PlainTypes::i16;
            case I32 -> PlainTypes::i32;
            case I64 -> PlainTypes::i64;
            case Q8_0 -> SimpleDecoders::q8Zero;
            case Q4_0 -> SimpleDecoders::q4Zero;
            case Q4_1 -> SimpleDecoders::q4One;
            case Q5_0 -> SimpleDecoders::q5Zero;
            case Q5_1 -> SimpleDecoders::q5One;
            case Q1_0 -> SimpleDecoders::q1Zero;
            case Q2_0 -> SimpleDecoders::q2Zero;
            case Q2_K -> KDecoders::q2;
            case Q3_K -> KDecoders::q3;
            case Q4_K -> KDecoders::q4;
            case Q5_K -> KDecoders::q5;
            case Q6_K -> KDecoders::q6;
            case IQ2_XXS -> GridDecoders::iq2xxs;
            case IQ2_XS -> GridDecoders::iq2xs;
            case IQ2_S -> GridDecoders::iq2s;
            case IQ3_XXS -> GridDecoders::iq3xxs;
            case IQ3_S -> GridDecoders::iq3s;
            case IQ1_S -> GridDecoders::iq1s;
            case IQ1_M -> GridDecoders::iq1m;
            case IQ4_NL -> NonLinearDecoders::iq4nl;
            case IQ4_XS -> NonLinearDecoders::iq4xs;
            case TQ1_0 -> TernaryDecoders::tq1;
            case TQ2_0 -> TernaryDecoders::tq2;
            case MXFP4 -> FourBitFloatDecoders::mxfp4;
            case NVFP4 -> FourBitFloatDecoders::nvfp4;
        };
    }
}
