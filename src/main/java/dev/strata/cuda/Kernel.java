package dev.strata.cuda;

import org.jspecify.annotations.Nullable;

/** A kernel of a loaded module. */
final class Kernel {
    private static final String ATTENTION = "attention_decode_";

    /**
     * @param code of persistent.cu
     * @param heads head size and format of keys and values where the phase depends on them
     */
    record Phase(int code, @Nullable String heads) {
        private static @Nullable Phase of(String kernel) {
            if (kernel.startsWith(ATTENTION)) {
                return new Phase(5, kernel.substring(ATTENTION.length()));
            }
            return switch (kernel) {
                case "decode_products" -> new Phase(1, null);
                case "decode_route" -> new Phase(2, null);
                case "decode_gate_up" -> new Phase(3, null);
                case "decode_down" -> new Phase(4, null);
                case "attention_merge" -> new Phase(6, null);
                default -> null;
            };
        }
    }

    private final String name;
    private final Object handle;
    private final int firstArgument;
    private final @Nullable Phase phase;

    /** @param firstArgument where the arguments begin in their buffer: not at 0 when the first one's alignment asks for it */
    Kernel(String name, Object handle, int firstArgument) {
        this.name = name;
        this.handle = handle;
        this.firstArgument = firstArgument;
        this.phase = Phase.of(name);
    }

    /** What it is as a phase of a kernel that stays, or null. */
    @Nullable
    Phase phase() {
        return phase;
    }

    int firstArgument() {
        return firstArgument;
    }

    String name() {
        return name;
    }

    Object handle() {
        return handle;
    }
}
