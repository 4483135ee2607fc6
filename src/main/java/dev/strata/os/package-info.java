/**
 * What the Java library cannot ask of the operating system: page-aligned memory in huge pages, page locks, advice and thread
 * affinity. The only user of the foreign linker; everything else sees {@link dev.strata.os.OperatingSystem}, which has a portable
 * implementation for systems without native calls.
 */
@NullMarked
package dev.strata.os;

import org.jspecify.annotations.NullMarked;
