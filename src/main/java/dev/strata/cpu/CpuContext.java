package dev.strata.cpu;

import dev.strata.cpu.jni.CpuKernels;
import dev.strata.os.OperatingSystem;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/** The native context and the platform threads that serve its jobs. The threads spin for 20 ms after a job, then sleep. */
final class CpuContext implements AutoCloseable {
    private static final long STACK_BYTES = 2L << 20;

    private final long address;
    private final CpuIsa isa;
    private final int threads;
    private final List<Thread> workers = new ArrayList<>();
    private final BitSet bound = new BitSet();
    private boolean open = true;

    private CpuContext(long address, CpuIsa isa, int threads) {
        this.address = address;
        this.isa = isa;
        this.threads = threads;
    }

    static CpuContext open(CpuSettings settings) {
        return open(settings, CpuSettings.processors());
    }

    /** @param processors what worker threads are bound to in turn when the settings ask for it; empty: nothing */
    static CpuContext open(CpuSettings settings, List<Integer> processors) {
        CpuIsa cap = settings.cap();
        long address = CpuKernels.strata_cpu_open(cap == null ? -1 : cap.ordinal(), settings.threads());
        CpuContext context =
                new CpuContext(address, CpuIsa.values()[CpuKernels.strata_cpu_isa(address)], settings.threads());
        for (int index = 1; index < settings.threads(); index++) {
            // The caller's thread is not ours to bind; the first processor is left to it.
            int processor = settings.pin() && !processors.isEmpty() ? processors.get(index % processors.size()) : -1;
            if (processor >= 0) {
                context.bound.set(processor);
            }
            context.start(index, processor);
        }
        return context;
    }

    private void start(int index, int processor) {
        Runnable work = () -> {
            if (processor >= 0) {
                OperatingSystem.current().bindThread(processor);
            }
            CpuKernels.strata_cpu_work(address, index);
        };
        Thread thread = new Thread(null, work, "cpu-" + index, STACK_BYTES);
        thread.setDaemon(true);
        workers.add(thread);
        thread.start();
    }

    long address() {
        return address;
    }

    CpuIsa isa() {
        return isa;
    }

    int threads() {
        return threads;
    }

    /** What worker threads are bound to. */
    BitSet bound() {
        return (BitSet) bound.clone();
    }

    @Override
    public void close() {
        if (!open) {
            return;
        }
        open = false;
        CpuKernels.strata_cpu_stop(address);
        boolean interrupted = false;
        for (Thread worker : workers) {
            while (worker.isAlive()) {
                try {
                    worker.join();
                } catch (InterruptedException stillWaiting) {
                    // The native context must outlive its threads.
                    interrupted = true;
                }
            }
        }
        CpuKernels.strata_cpu_close(address);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
