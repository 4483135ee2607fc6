@NullMarked
package dev.strata.server;

import org.jspecify.annotations.NullMarked;
