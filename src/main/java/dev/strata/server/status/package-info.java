/** Endpoints that tell what the server is and does, and the text tools around the tokenizer. */
@NullMarked
package dev.strata.server.status;

import org.jspecify.annotations.NullMarked;
