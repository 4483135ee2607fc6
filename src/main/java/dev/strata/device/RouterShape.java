package dev.strata.device;

/**
 * How experts are chosen: softmax over all in float32, the best {@code used} (ties: lower index first), divided by their sum when
 * {@code renormalise}, times {@code scale}.
 */
public record RouterShape(int experts, int used, boolean renormalise, float scale) {}
