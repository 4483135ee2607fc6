@NullMarked
package dev.strata.server.http;

import org.jspecify.annotations.NullMarked;
