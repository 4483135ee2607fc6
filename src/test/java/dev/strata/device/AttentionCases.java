package dev.strata.device;

import dev.strata.device.OpCase.Kind;
import java.util.ArrayList;
import java.util.List;

/** Attention over paged keys and values: head sizes, groups, page bounds, storage formats, several sequences. */
final class AttentionCases {
    private static final Rope YARN = new Rope(32, 10000, 4, 128, 32, 1);

    private AttentionCases() {}

    static List<OpCase> all() {
        List<OpCase> cases = new ArrayList<>();
        for (KvFormat format : KvFormat.values()) {
            cases.add(attention(shape(4, 2, 64, 64, false), format, 1, 0));
            cases.add(attention(shape(4, 2, 64, 16, true), format, 7, 60));
            cases.add(attention(shape(8, 2, 128, 128, false), format, 1, 63));
            cases.add(attention(shape(6, 1, 256, 64, true), format, 3, 130));
            cases.add(attention(shape(3, 3, 32, 8, false), format, 65, 64));
            cases.add(attention(shape(16, 2, 128, 128, false), format, 1, 300));
        }
        cases.add(attention(shape(8, 2, 64, 64, false), KvFormat.F16, 70, 30));
        cases.add(attention(shape(8, 2, 64, 64, true), KvFormat.Q4, 70, 30));
        cases.add(attention(shape(8, 1, 128, 128, false), KvFormat.F16, 50, 200));
        cases.add(attention(shape(4, 2, 256, 64, true), KvFormat.F16, 90, 10));
        for (int past : new int[] {0, 1, 62, 63, 64, 65, 127, 128}) {
            cases.add(attention(shape(4, 1, 64, 64, false), KvFormat.F32, 2, past));
        }
        cases.add(attention(new AttentionShape(4, 2, 64, YARN, false, 1e-6f), KvFormat.F32, 5, 150));
        cases.add(withoutNorms());
        cases.add(manySequences());
        cases.add(copiedPage());
        for (KvFormat format : KvFormat.values()) {
            cases.add(savedPage(format));
        }
        return cases;
    }

    static AttentionShape shape(int heads, int kvHeads, int headSize, int width, boolean gate) {
        return new AttentionShape(heads, kvHeads, headSize, Rope.plain(width, 1e6), gate, 1e-6f);
    }

    private static Kind kind(KvFormat format) {
        return format == KvFormat.F32 ? Kind.FLOAT : Kind.STORED;
    }

    private static OpCase attention(AttentionShape shape, KvFormat format, int rows, int past) {
        String name = "attention " + shape.heads() + "/" + shape.kvHeads() + " heads of " + shape.headSize() + ", rope "
                + shape.rope().width() + (shape.rope().factor() == 1 ? "" : " yarn")
                + (shape.outputGate() ? ", gated" : "") + ", " + format + ", " + rows + " rows after " + past;
        return new OpCase(name, kind(format), f -> {
            try (AttentionRun run = new AttentionRun(f, shape, format, true)) {
                if (past > 0) {
                    run.pass(OpFixture.batch(past, 0, false));
                }
                return run.pass(OpFixture.batch(rows, past, false));
            }
        });
    }

    private static OpCase withoutNorms() {
        return new OpCase("attention without head norms", Kind.FLOAT, f -> {
            try (AttentionRun run = new AttentionRun(f, shape(4, 2, 32, 32, false), KvFormat.F32, false)) {
                return run.pass(OpFixture.batch(9, 0, false));
            }
        });
    }

    private static OpCase manySequences() {
        return new OpCase("attention of three sequences", Kind.FLOAT, f -> {
            try (AttentionRun run = new AttentionRun(f, shape(4, 2, 64, 16, true), KvFormat.F32, true)) {
                run.pass(new Batch(
                        new int[70 + 5 + 1],
                        List.of(
                                OpFixture.segment(0, 70, 0, 0),
                                OpFixture.segment(70, 5, 0, 1),
                                OpFixture.segment(75, 1, 0, 2)),
                        false));
                return run.pass(new Batch(
                        new int[1 + 3 + 66],
                        List.of(
                                OpFixture.segment(0, 1, 70, 0),
                                OpFixture.segment(1, 3, 5, 1),
                                OpFixture.segment(4, 66, 1, 2)),
                        false));
            }
        });
    }

    /** A page is taken out as bytes, cleared, and put back in another place. */
    private static OpCase savedPage(KvFormat format) {
        return new OpCase("attention over a page put back from bytes, " + format, Kind.FLOAT, f -> {
            try (AttentionRun run = new AttentionRun(f, shape(4, 2, 64, 64, false), format, true)) {
                run.pass(OpFixture.batch(40, 0, false));
                Batch other = new Batch(new int[2], List.of(OpFixture.segment(0, 2, 40, 3)), false);
                StateUnits pages = run.kv().pages();
                int from = OpFixture.segment(0, 1, 0, 0).pages()[0];
                OpFixture.move(pages, from, other.segments().getFirst().pages()[0]);
                return run.pass(other);
            }
        });
    }

    private static OpCase copiedPage() {
        return new OpCase("attention over a copied page", Kind.FLOAT, f -> {
            try (AttentionRun run = new AttentionRun(f, shape(4, 2, 64, 64, false), KvFormat.F32, true)) {
                run.pass(OpFixture.batch(40, 0, false));
                Batch other = new Batch(new int[2], List.of(OpFixture.segment(0, 2, 40, 3)), false);
                run.kv()
                        .pages()
                        .copy(
                                OpFixture.segment(0, 1, 0, 0).pages()[0],
                                other.segments().getFirst().pages()[0]);
                return run.pass(other);
            }
        });
    }
}
