package dev.strata.device;

/**
 * Sizes of one attention layer. Query head h reads key-value head {@code h / (heads / kvHeads)}; scores are scaled by
 * {@code 1/sqrt(headSize)}.
 *
 * @param outputGate the query projection yields per head [query | gate] (2 x headSize), and the result is multiplied by sigmoid(gate)
 * @param normEpsilon for the RMS norm of query and key heads
 */
public record AttentionShape(int heads, int kvHeads, int headSize, Rope rope, boolean outputGate, float normEpsilon) {
    public int queryColumns() {
        return heads * headSize;
    }

    public int kvColumns() {
        return kvHeads * headSize;
    }

    /** Columns of the query projection: twice the query columns with an output gate. */
    public int projectedColumns() {
        return queryColumns() * (outputGate ? 2 : 1);
    }

    public float scale() {
        return (float) (1 / Math.sqrt(headSize));
    }
}
