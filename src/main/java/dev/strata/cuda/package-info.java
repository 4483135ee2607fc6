/**
 * The CUDA backend: finds the driver, keeps memory, streams, events and graphs, and launches the kernels of {@code native/cuda}. The only
 * importer of org.bytedeco.cuda, and of that only {@link dev.strata.cuda.Driver}.
 */
@NullMarked
package dev.strata.cuda;

import org.jspecify.annotations.NullMarked;
