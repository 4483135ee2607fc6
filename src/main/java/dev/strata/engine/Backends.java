package dev.strata.engine;

import dev.strata.config.BackendChoice;
import dev.strata.config.Options;
import dev.strata.config.Variable;
import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuIsa;
import dev.strata.cpu.CpuSettings;
import dev.strata.device.Backend;
import dev.strata.device.DeviceException;
import dev.strata.device.reference.ReferenceBackend;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Chooses where a model runs: the one place that names the backends. */
public final class Backends {
    private static final Logger LOG = LoggerFactory.getLogger(Backends.class);

    private Backends() {}

    /**
     * Makes the backend that was asked for, or the fastest one.
     *
     * @throws DeviceException saying why the one that was asked for cannot be used
     */
    public static Backend create(Options options) {
        BackendChoice choice = options.engine().backend();
        return switch (choice) {
            case REFERENCE -> reference(options);
            case CPU -> cpu(options);
            case CUDA ->
                throw new DeviceException(DeviceException.Kind.UNAVAILABLE, "this build has no CUDA backend");
            case AUTO -> {
                if (CpuBackend.isAvailable()) {
                    yield cpu(options);
                }
                LOG.warn("the C++ kernels cannot be used ({}): plain Java computes, which is slower", CpuBackend.reason());
                yield reference(options);
            }
        };
    }

    /** Why the C++ kernels cannot be used; empty when they can. */
    public static String whyNoCpu() {
        return CpuBackend.reason();
    }

    private static Backend reference(Options options) {
        int threads = options.engine().threads();
        return threads == 0 ? ReferenceBackend.create() : ReferenceBackend.create(threads);
    }

    private static Backend cpu(Options options) {
        CpuSettings settings = CpuSettings.standard();
        if (options.engine().threads() > 0) {
            settings = settings.withThreads(options.engine().threads());
        }
        if (options.variables().isSet(Variable.CPU_ISA)) {
            settings = settings.withCap(
                    CpuIsa.parse(options.variables().text(Variable.CPU_ISA).orElseThrow()));
        }
        return CpuBackend.create(settings);
    }
}
