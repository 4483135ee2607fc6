/**
 * The vocabulary of computation: memory, streams and events of a device ({@link dev.strata.device.Device}), and the
 * operations of a forward pass ({@link dev.strata.device.Ops}) that every backend implements. Plain Java
 * ({@code device.reference}) is the oracle; {@code cpu} and {@code cuda} are checked against it.
 */
@NullMarked
package dev.strata.device;

import org.jspecify.annotations.NullMarked;
