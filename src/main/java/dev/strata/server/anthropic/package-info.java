/** The Anthropic dialect: messages and their mapping to the engine's requests. */
@NullMarked
package dev.strata.server.anthropic;

import org.jspecify.annotations.NullMarked;
