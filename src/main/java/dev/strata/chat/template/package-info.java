/**
 * An interpreter for the Jinja templates that model files carry: lexer, parser, tree walker, with Python's semantics of values. Written from
 * the documentation of Jinja 3.1; settings as in transformers (trim_blocks, lstrip_blocks, loop controls, tojson without HTML escapes).
 */
@NullMarked
package dev.strata.chat.template;

import org.jspecify.annotations.NullMarked;
