package dev.strata.chat;

import dev.strata.api.Tool;
import java.util.List;

/**
 * How an answer has to be read.
 *
 * @param reasoning whether {@code <think>} blocks are split off
 * @param startsInReasoning whether the prompt opened the block already
 * @param tools what the model may call; with none, text that looks like a call is text
 * @param mostCalls calls after that many are dropped
 */
public record OutputSyntax(boolean reasoning, boolean startsInReasoning, List<Tool> tools, int mostCalls) {
    public static final OutputSyntax PLAIN = new OutputSyntax(false, false, List.of(), 0);
}
