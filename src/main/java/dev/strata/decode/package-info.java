/**
 * Decode steps: plans for missed experts, drafts of tokens ahead and their verification.
 */
@NullMarked
package dev.strata.decode;

import org.jspecify.annotations.NullMarked;
