package dev.strata.cuda;

import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Where tests of the backend run: on the machine's card, or on kernels compiled for the host behind a stand-in for the driver. */
public final class Cards {
    private static final Path EMULATED =
            Path.of(System.getProperty("strata.emulated", "target/native/emulated/libcuda.so.1"));

    private static final boolean REAL = CudaProbe.probe().isAvailable();

    private Cards() {}

    /** Whether there is a card. */
    public static boolean real() {
        return REAL;
    }

    /** A backend for suites that would take minutes on emulated kernels: there they run on request. */
    static CudaBackend openForManyCases(CudaOptions options) {
        assumeTrue(
                real() || Boolean.getBoolean("strata.emulated.contract"),
                () -> CudaProbe.probe().reason()
                        + ", and the emulated kernels take minutes: -Dstrata.emulated.contract=true runs them");
        return open(options);
    }

    /** Kernels as on a card that the build has none for. */
    private static KernelImages compiled(CudaOptions options) {
        return new CompiledImages(
                KernelSources.embedded(),
                RuntimeCompiler.open(
                        CudaLibraries.find(RuntimeCompiler.LIBRARY, options).orElseThrow()),
                CompiledImages.userFolder());
    }

    /** A backend whose tiles are made by warp groups whatever the rows; a card that has none is left out. */
    static CudaBackend openForGroups() {
        CudaOptions options = CudaOptions.defaults().withDeterministic(true);
        CudaBackend backend = open(options.withTensorCores(real() ? TensorCores.AUTO : TensorCores.GROUP));
        if (real() && backend.device().computeCapability() != 90) {
            backend.close();
            abort("the card has no products of warp groups");
        }
        return backend;
    }

    /** A backend, or a skipped test with the reason. */
    public static CudaBackend open(CudaOptions options) {
        if (real()) {
            return Boolean.getBoolean("strata.compile.kernels")
                    ? CudaBackend.create(options, compiled(options))
                    : CudaBackend.create(options);
        }
        assumeTrue(
                Files.exists(EMULATED),
                () -> CudaProbe.probe().reason() + ", and the emulated kernels were not built (" + EMULATED + ")");
        return CudaBackend.create(
                options.withDriver(EMULATED.toAbsolutePath()),
                capability -> List.of(new KernelImages.Image("emulated", new byte[64])));
    }
}
