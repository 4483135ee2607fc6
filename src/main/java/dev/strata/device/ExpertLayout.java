package dev.strata.device;

import dev.strata.format.QuantType;

/**
 * Shape of the expert blobs of one layer. A blob is [gate | up | down | tail]: gate and up are {@code intermediate x hidden}, down is
 * {@code hidden x intermediate}, each in its stored quantization and back to back; the tail of {@value #TAIL} bytes is there only
 * when {@code scaled} and holds three float32 factors (gate, up, down) and four zero bytes.
 */
public record ExpertLayout(
        int layer,
        int experts,
        int hidden,
        int intermediate,
        QuantType gateType,
        QuantType upType,
        QuantType downType,
        boolean scaled) {
    public static final int TAIL = 16;

    public long gateBytes() {
        return gateType.bytes(hidden) * intermediate;
    }

    public long upBytes() {
        return upType.bytes(hidden) * intermediate;
    }

    public long downBytes() {
        return downType.bytes(intermediate) * hidden;
    }

    public long upOffset() {
        return gateBytes();
    }

    public long downOffset() {
        return gateBytes() + upBytes();
    }

    public long tailOffset() {
        return downOffset() + downBytes();
    }

    /** Bytes of one blob. */
    public long blobBytes() {
        return tailOffset() + (scaled ? TAIL : 0);
    }
}
