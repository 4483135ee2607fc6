/** The OpenAI dialect: chat completions, completions, responses, embeddings and their mapping to the engine's requests. */
@NullMarked
package dev.strata.server.openai;

import org.jspecify.annotations.NullMarked;
