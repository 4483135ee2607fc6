package dev.strata.device;

import org.jspecify.annotations.Nullable;

/** The expert that every token uses. With {@code scalarGate} [1, hidden] its result is multiplied by sigmoid(gate . x). */
public record SharedExpert(
        Weight gate, Weight up, Weight down, @Nullable Tensor scalarGate) {}
