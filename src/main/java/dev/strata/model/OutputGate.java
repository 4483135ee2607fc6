package dev.strata.model;

/** Names of the gate on DeltaNet's output. */
final class OutputGate {
    private OutputGate() {}

    /** Whether the gate is sigmoid(z) instead of silu(z). */
    static boolean isSigmoid(Metadata keys, String key, String gate) {
        return switch (gate) {
            case "sigmoid" -> true;
            case "silu", "swish" -> false;
            default -> throw keys.invalid(key, gate, "has to be sigmoid or silu");
        };
    }
}
