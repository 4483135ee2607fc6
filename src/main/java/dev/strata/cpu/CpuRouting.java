package dev.strata.cpu;

import dev.strata.device.Buffer;
import dev.strata.device.Routing;
import dev.strata.device.Tensor;

/** Chosen experts in host memory. */
record CpuRouting(int rows, int used, Buffer ids, Tensor weights) implements Routing {}
