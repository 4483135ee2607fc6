package dev.strata.device;

import java.lang.foreign.MemorySegment;

/** One expert's matrices as they lie in addressable memory (not necessarily back to back), with their factors (1 when unscaled). */
public record ExpertView(
        MemorySegment gate, MemorySegment up, MemorySegment down, float gateScale, float upScale, float downScale) {}
