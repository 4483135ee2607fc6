/**
 * Options and the table of STRATA_* variables, with their precedence.
 */
@NullMarked
package dev.strata.config;

import org.jspecify.annotations.NullMarked;
