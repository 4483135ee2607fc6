/**
 * How much host memory there is and what may be put where: limits of the machine and its containers, and the plan that is printed
 * before loading. A leaf: plans are pure functions over sizes.
 */
@NullMarked
package dev.strata.memory;

import org.jspecify.annotations.NullMarked;
