package dev.strata.chat;

/**
 * A conversation as the model reads it.
 *
 * @param text what the template gave
 * @param ids token ids; text from clients holds no control tokens
 * @param insideReasoning whether the text ends inside an open {@code <think>} block, so that the answer begins in it
 */
public record RenderedPrompt(String text, int[] ids, boolean insideReasoning) {}
