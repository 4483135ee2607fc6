package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.device.HostBuffer;
import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;

/** The transposed copy of a parameter, made when it is first asked for. */
final class Transposed implements AutoCloseable {
    private HostBuffer buffer = HostBuffer.of(MemorySegment.NULL);
    private long source;

    /** Address of {@code parameter} [rows, columns] as [columns][rows]. */
    long address(Tensor parameter) {
        if (source != parameter.address()) {
            buffer.close();
            buffer = HugePages.allocate(4L * parameter.rows() * parameter.columns(), "transposed parameter");
            CpuKernels.strata_cpu_transpose(
                    0, parameter.address(), parameter.rows(), parameter.columns(), buffer.address());
            source = parameter.address();
        }
        return buffer.address();
    }

    @Override
    public void close() {
        buffer.close();
    }
}
