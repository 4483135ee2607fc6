/**
 * From conversations to prompts and from the model's text back to answers: chat templates, reasoning and tool-call parsers, stop strings.
 */
@NullMarked
package dev.strata.chat;

import org.jspecify.annotations.NullMarked;
