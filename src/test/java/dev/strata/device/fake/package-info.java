/**
 * A device in host memory for tests and benchmarks: asynchronous streams run by threads or by a deterministic scheduler, every call
 * recorded, failures on demand.
 */
@NullMarked
package dev.strata.device.fake;

import org.jspecify.annotations.NullMarked;
