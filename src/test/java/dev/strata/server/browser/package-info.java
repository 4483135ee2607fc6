/** Drives a real browser. */
@NullMarked
package dev.strata.server.browser;

import org.jspecify.annotations.NullMarked;
