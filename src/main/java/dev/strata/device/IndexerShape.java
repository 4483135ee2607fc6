package dev.strata.device;

/**
 * The block selector of sparse attention: complete blocks of {@code block} tokens are scored by pooled keys, the best
 * {@code budgetBlocks} are attended, and always the incomplete tail.
 *
 * @param heads index query heads that share one key head
 * @param block tokens a block; divides {@link Batch#PAGE}
 */
public record IndexerShape(int heads, int headSize, Rope rope, int block, int budgetBlocks, float normEpsilon) {
    public IndexerShape {
        if (Batch.PAGE % block != 0) {
            throw new IllegalArgumentException(
                    "index blocks of " + block + " tokens do not divide a page of " + Batch.PAGE);
        }
    }
}
