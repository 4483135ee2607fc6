package dev.strata.grammar;

/**
 * From a state inside a JSON string.
 *
 * @param letter the characters that may come
 * @param target the state behind any of them
 */
record LetterStep(LetterClasses letter, GrammarMachine.State target) {}
