/**
 * The command line: the root command that serves, and the verbs.
 */
@NullMarked
package dev.strata.cli;

import org.jspecify.annotations.NullMarked;
