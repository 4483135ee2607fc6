/** Load on a server: a generator of event streams, for the short form in the test suite and for the long one by hand. */
@NullMarked
package dev.strata.server.load;

import org.jspecify.annotations.NullMarked;
