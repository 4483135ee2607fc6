package dev.strata.device;

import java.util.Optional;

/**
 * A place to run a model: makes weights, states and scratch memory, and gives the {@link Ops} that work on them. State objects are
 * made for {@code pages} key-value pages and {@code slots} sequences; what is in a slot is undefined until it is cleared.
 */
public interface Backend extends AutoCloseable {
    /** {@code reference}, {@code cpu} or {@code cuda}. */
    String name();

    /** One line for people: processor, instruction set or card, threads. */
    String description();

    Ops ops();

    /** Uninitialised scratch activations. */
    Tensor tensor(int rows, int columns, String purpose);

    /** Makes a matrix usable by products: uploads it, or uses it where it lies when the memory is addressable. */
    Weight weight(HostTensor tensor);

    /** Makes a small parameter (norm, bias, convolution) usable: dequantized to float32, [outputs, inputs]. */
    Tensor parameter(HostTensor tensor);

    /** The experts of one layer, reached through {@code source}. */
    ExpertLayer experts(ExpertSource source, int layer);

    /**
     * The experts of one layer, wherever {@code placement} keeps them.
     *
     * @throws DeviceException of kind UNSUPPORTED on backends whose products read host memory in place
     */
    default ExpertLayer experts(ExpertPlacement placement, int layer) {
        throw new DeviceException(
                DeviceException.Kind.UNSUPPORTED, name() + " reads experts where they lie and takes no placement");
    }

    Routing routing(int rows, int used);

    LayerState.Kv kv(AttentionShape shape, KvFormat format, int pages);

    LayerState.Index index(IndexerShape shape, int pages);

    LayerState.Selection selection(IndexerShape shape, int rows, int contextTokens);

    LayerState.Recurrent recurrent(DeltaShape shape, int slots);

    LayerState.Ngram ngram(NgramWeights weights, int slots);

    /** Memory that only passes of many rows need, where it can be lent to experts between prompts. */
    default Optional<PromptMemory> promptMemory() {
        return Optional.empty();
    }

    /**
     * What follows belongs to a forward pass of {@code rows} rows, until the next call: its activations lie where passes of that size have
     * them, and stay readable until then.
     */
    default void enter(int rows) {}

    /** Before a pass: another one of the same prompt follows it, so that copies for that one may start when this one's are through. */
    default void promptGoesOn() {}

    /** No prompt is being read any more: memory lent to prompts goes back before the next pass. */
    default void promptFinished() {}

    /** Whether a row's results are the same to the last bit whatever other rows a pass has. */
    default boolean batchInvariant() {
        return false;
    }

    @Override
    void close();
}
