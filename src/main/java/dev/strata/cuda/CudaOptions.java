package dev.strata.cuda;

import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * How the backend uses a card.
 *
 * @param gpu ordinal of the card, 0 for the first
 * @param vramLimitBytes pretends that the card has no more memory than this; 0 for all
 * @param deterministic one kernel and one order of summation whatever the number of rows
 * @param graphs whether passes of few rows are captured and replayed
 * @param overlap whether a kernel may be launched while the one before it drains (cards from compute capability 9.0 on)
 * @param form how passes of few rows are launched
 * @param tensorCores which products of tiles prompts use
 * @param driver the driver library, when it is not the system's {@code libcuda.so.1}
 * @param toolkit a folder to look for libcudart in first
 */
public record CudaOptions(
        int gpu,
        long vramLimitBytes,
        Precision precision,
        boolean deterministic,
        boolean graphs,
        boolean overlap,
        DecodeForm form,
        TensorCores tensorCores,
        Optional<Path> driver,
        Optional<Path> toolkit) {
    public static CudaOptions defaults() {
        return new CudaOptions(
                0,
                0,
                Precision.MIXED,
                false,
                true,
                true,
                DecodeForm.AUTO,
                TensorCores.AUTO,
                Optional.empty(),
                Optional.empty());
    }

    public CudaOptions withGpu(int ordinal) {
        return with(options -> options.gpu = ordinal);
    }

    public CudaOptions withVramLimit(long bytes) {
        return with(options -> options.vramLimitBytes = bytes);
    }

    public CudaOptions withPrecision(Precision value) {
        return with(options -> options.precision = value);
    }

    public CudaOptions withDeterministic(boolean value) {
        return with(options -> options.deterministic = value);
    }

    public CudaOptions withGraphs(boolean value) {
        return with(options -> options.graphs = value);
    }

    public CudaOptions withOverlap(boolean value) {
        return with(options -> options.overlap = value);
    }

    public CudaOptions withForm(DecodeForm value) {
        return with(options -> options.form = value);
    }

    public CudaOptions withDriver(Path library) {
        return with(options -> options.driver = Optional.of(library));
    }

    public CudaOptions withTensorCores(TensorCores value) {
        return with(options -> options.tensorCores = value);
    }

    /** The same with what {@code change} sets. */
    private CudaOptions with(Consumer<Change> change) {
        Change changed = new Change(this);
        change.accept(changed);
        return new CudaOptions(
                changed.gpu,
                changed.vramLimitBytes,
                changed.precision,
                changed.deterministic,
                changed.graphs,
                changed.overlap,
                changed.form,
                changed.tensorCores,
                changed.driver,
                changed.toolkit);
    }

    /** Options while they are being changed. */
    private static final class Change {
        int gpu;
        long vramLimitBytes;
        Precision precision;
        boolean deterministic;
        boolean graphs;
        boolean overlap;
        DecodeForm form;
        TensorCores tensorCores;
        Optional<Path> driver;
        Optional<Path> toolkit;

        Change(CudaOptions options) {
            gpu = options.gpu;
            vramLimitBytes = options.vramLimitBytes;
            precision = options.precision;
            deterministic = options.deterministic;
            graphs = options.graphs;
            overlap = options.overlap;
            form = options.form;
            tensorCores = options.tensorCores;
            driver = options.driver;
            toolkit = options.toolkit;
        }
    }
}
