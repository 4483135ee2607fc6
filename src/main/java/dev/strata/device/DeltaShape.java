package dev.strata.device;

/**
 * Sizes of a gated DeltaNet layer. Channels of the convolution are [queries | keys | values].
 *
 * @param tiledHeads value head j uses key head {@code j % keyHeads} (true: GGUF of qwen35moe and qwen4exp) or
 *     {@code j / (valueHeads / keyHeads)} (false: Hugging Face order)
 * @param sigmoidGate the normed result is multiplied by sigmoid(z) instead of silu(z)
 * @param normEpsilon of the norm over each value head
 */
public record DeltaShape(
        int keyHeads,
        int valueHeads,
        int keySize,
        int valueSize,
        int kernel,
        boolean tiledHeads,
        boolean sigmoidGate,
        float normEpsilon) {
    public int keyColumns() {
        return keyHeads * keySize;
    }

    public int valueColumns() {
        return valueHeads * valueSize;
    }

    /** Channels of the convolution: queries, keys and values. */
    public int channels() {
        return 2 * keyColumns() + valueColumns();
    }

    public int keyHeadOf(int valueHead) {
        return tiledHeads ? valueHead % keyHeads : valueHead / (valueHeads / keyHeads);
    }
}
