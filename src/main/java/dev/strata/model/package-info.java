/**
 * Architectures: configuration, weights by role and one forward pass per family, written once in Ops.
 */
@NullMarked
package dev.strata.model;

import org.jspecify.annotations.NullMarked;
