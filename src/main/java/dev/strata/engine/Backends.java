package dev.strata.engine;

import dev.strata.config.BackendChoice;
import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.cpu.CpuBackend;
import dev.strata.cpu.CpuExpertWorkers;
import dev.strata.cpu.CpuIsa;
import dev.strata.cpu.CpuSettings;
import dev.strata.cpu.CpuTopology;
import dev.strata.cuda.CudaBackend;
import dev.strata.cuda.CudaOptions;
import dev.strata.cuda.CudaProbe;
import dev.strata.cuda.DecodeForm;
import dev.strata.cuda.Precision;
import dev.strata.device.Backend;
import dev.strata.device.Device;
import dev.strata.device.DeviceException;
import dev.strata.device.ExpertWorkers;
import dev.strata.device.reference.ReferenceBackend;
import dev.strata.memory.Bytes;
import dev.strata.memory.HostMemory;
import dev.strata.os.OperatingSystem;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Chooses where a model runs: the one place that names the backends. */
public final class Backends {
    private static final Logger LOG = LoggerFactory.getLogger(Backends.class);

    /** Cores that the engine and the copies of experts keep beside the pool, whose threads spin while steps run. */
    private static final int SPARED_CORES = 2;

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
            case CUDA -> cuda(options);
            case AUTO -> {
                if (CudaProbe.probe(Optional.empty()) instanceof CudaProbe.Available) {
                    try {
                        yield cuda(options);
                    } catch (DeviceException unusable) {
                        LOG.warn("the card cannot be used ({}): the processor computes", unusable.getMessage());
                    }
                }
                if (CpuBackend.isAvailable()) {
                    yield cpu(options);
                }
                LOG.warn(
                        "the C++ kernels cannot be used ({}): plain Java computes, which is slower",
                        CpuBackend.reason());
                yield reference(options);
            }
        };
    }

    /** Why the C++ kernels cannot be used; empty when they can. */
    public static String whyNoCpu() {
        return CpuBackend.reason();
    }

    /** The memory that experts are placed in, or null for backends that read them where they lie. */
    static @Nullable Device device(Backend backend) {
        return backend instanceof CudaBackend cuda ? cuda.device() : null;
    }

    /** Threads that compute missed experts beside a card. */
    static ExpertWorkers workers(Options options) {
        TierOptions.Misses misses = options.tiers().misses();
        CpuTopology topology = CpuTopology.read(OperatingSystem.current().affinity());
        List<Integer> cores = topology.cores(
                switch (misses.affinity()) {
                    case ALL -> CpuTopology.Choice.ALL;
                    case AUTO -> CpuTopology.Choice.AUTO;
                    case P_CORES -> CpuTopology.Choice.P_CORES;
                });
        int threads = misses.poolWorkers() > 0 ? misses.poolWorkers() : Math.max(1, cores.size() - SPARED_CORES);
        return CpuExpertWorkers.start(settings(options.variables()).withThreads(threads), cores);
    }

    private static Backend cuda(Options options) {
        TierOptions tiers = options.tiers();
        return CudaBackend.create(CudaOptions.defaults()
                .withGpu(tiers.gpu())
                .withVramLimit((long) (tiers.vramLimitGib() * Bytes.GIB))
                .withPrecision(
                        switch (options.engine().precision()) {
                            case DEFAULT -> Precision.MIXED;
                            case F32 -> Precision.F32;
                        })
                .withDeterministic(options.engine().deterministic())
                .withForm(form(options.variables())));
    }

    static DecodeForm form(Variables variables) {
        return DecodeForm.valueOf(
                variables.text(Variable.DECODE_FORM).orElseThrow().toUpperCase(Locale.ROOT));
    }

    /**
     * One thing that was looked at.
     *
     * @param good whether it is there and usable
     */
    public record Finding(String what, boolean good, String text) {}

    /** What this machine has to run models with. */
    public static List<Finding> findings() {
        HostMemory memory = HostMemory.read();
        CudaProbe.Result card = CudaProbe.probe(Optional.empty());
        String cpu = CpuBackend.reason();
        return List.of(
                new Finding("processors", true, Runtime.getRuntime().availableProcessors() + " usable"),
                new Finding(
                        "memory", true, Bytes.gib(memory.usable()) + " GiB usable, limited by " + memory.tightest()),
                new Finding("C++ kernels", cpu.isEmpty(), cpu.isEmpty() ? processor() : cpu),
                new Finding("card", card.isAvailable(), card.reason()));
    }

    private static String processor() {
        try (Backend backend = CpuBackend.create()) {
            return backend.description();
        }
    }

    private static Backend reference(Options options) {
        int threads = options.engine().threads();
        return threads == 0 ? ReferenceBackend.create() : ReferenceBackend.create(threads);
    }

    private static Backend cpu(Options options) {
        return CpuBackend.create(cpuSettings(options));
    }

    /** How the CPU backend is to run. */
    static CpuSettings cpuSettings(Options options) {
        CpuSettings settings = settings(options.variables()).withTailSkip(TierSettings.tailSkip(options));
        if (options.engine().deterministic()) {
            // Products with packed weights add in another order, and what is packed depends on the room that there is.
            settings = settings.withPackedWeights(false);
        }
        if (options.engine().threads() > 0) {
            settings = settings.withThreads(options.engine().threads());
        }
        return settings;
    }

    private static CpuSettings settings(Variables variables) {
        CpuSettings settings = CpuSettings.standard();
        if (variables.isSet(Variable.CPU_ISA)) {
            settings = settings.withCap(
                    CpuIsa.parse(variables.text(Variable.CPU_ISA).orElseThrow()));
        }
        return settings.withHugeWeights(variables.flag(Variable.CPU_HUGE_WEIGHTS))
                .withPackedWeights(variables.flag(Variable.CPU_PACKED_WEIGHTS));
    }

    /** {@link #instructionSet(Variables)} beside a backend that runs already. */
    static String instructionSet(Backend running, Variables variables) {
        return running instanceof CpuBackend cpu ? cpu.isa().label() : instructionSet(variables);
    }

    /** The instruction set that the C++ kernels use here, capped by {@link Variable#CPU_ISA}; {@code none} and why without kernels. */
    public static String instructionSet(Variables variables) {
        if (!CpuBackend.isAvailable()) {
            return "none (" + CpuBackend.reason() + ")";
        }
        try (CpuBackend backend = CpuBackend.create(settings(variables).withThreads(1))) {
            return backend.isa().label();
        }
    }
}
