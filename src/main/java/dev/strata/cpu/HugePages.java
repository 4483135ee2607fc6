package dev.strata.cpu;

import dev.strata.device.HostBuffer;
import dev.strata.os.HostPages;

/** Zeroed host memory, in huge pages where they can be had. */
final class HugePages {
    private HugePages() {}

    static HostBuffer allocate(long bytes, String purpose) {
        HostPages pages = HostPages.allocate(Math.max(bytes, 1), purpose);
        return HostBuffer.owning(pages.memory(), pages::close);
    }
}
