package dev.strata.expert;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.strata.device.ExpertLayout;
import dev.strata.device.ExpertSource;
import java.lang.foreign.MemorySegment;

/** A source whose bytes are a function of layer, expert and position, so that every copy can be checked. */
public class PatternSource implements ExpertSource {
    private final ArenaLayout layout;

    public PatternSource(ArenaLayout layout) {
        this.layout = layout;
    }

    /** The word at {@code word * 8} bytes of a blob. */
    public static long word(int layer, int expert, long word) {
        return ((long) layer << 48 | (long) expert << 32 | word) * 0x9E3779B97F4A7C15L;
    }

    /** Whether {@code memory} starts with the whole blob. */
    public static boolean holds(ExpertLayout layout, int layer, int expert, MemorySegment memory) {
        for (long word = 0; word < layout.blobBytes() / 8; word++) {
            if (memory.get(JAVA_LONG_UNALIGNED, word * 8) != word(layer, expert, word)) {
                return false;
            }
        }
        return true;
    }

    @Override
    public int layers() {
        return layout.layers();
    }

    @Override
    public ExpertLayout layout(int layer) {
        return layout.layout(layer);
    }

    @Override
    public void copyBlob(int layer, int expert, MemorySegment target) {
        for (long word = 0; word < layout(layer).blobBytes() / 8; word++) {
            target.set(JAVA_LONG_UNALIGNED, word * 8, word(layer, expert, word));
        }
    }

    @Override
    public void close() {}
}
