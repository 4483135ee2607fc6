/**
 * Constrained decoding: JSON schemas and GBNF grammars become a pushdown automaton over bytes, which is run over a trie of the vocabulary
 * and gives the set of tokens that may come next.
 */
@NullMarked
package dev.strata.grammar;

import org.jspecify.annotations.NullMarked;
