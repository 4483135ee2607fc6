package dev.strata.cuda;

import java.nio.file.Path;
import java.util.Optional;

/**
 * How the backend uses a card.
 *
 * @param gpu ordinal of the card, 0 for the first
 * @param vramLimitBytes pretends that the card has no more memory than this; 0 for all
 * @param deterministic one kernel and one order of summation whatever the number of rows
 * @param graphs whether passes of few rows are captured and replayed
 * @param overlap whether a kernel may be launched while the one before it drains (cards from compute capability 9.0 on)
 * @param form how passes of few rows are launched
 * @param decodeBlocks blocks of {@link DecodeForm#PERSISTENT}; 0: one for every multiprocessor
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
        int decodeBlocks,
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
                0,
                TensorCores.AUTO,
                Optional.empty(),
                Optional.empty());
    }

    public CudaOptions withGpu(int ordinal) {
        return new CudaOptions(
                ordinal,
                vramLimitBytes,
                precision,
                deterministic,
                graphs,
                overlap,
                form,
                decodeBlocks,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withVramLimit(long bytes) {
        return new CudaOptions(
                gpu,
                bytes,
                precision,
                deterministic,
                graphs,
                overlap,
                form,
                decodeBlocks,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withPrecision(Precision value) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                value,
                deterministic,
                graphs,
                overlap,
                form,
                decodeBlocks,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withDeterministic(boolean value) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                precision,
                value,
                graphs,
                overlap,
                form,
                decodeBlocks,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withGraphs(boolean value) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                precision,
                deterministic,
                value,
                overlap,
                form,
                decodeBlocks,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withOverlap(boolean value) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                precision,
                deterministic,
                graphs,
                value,
                form,
                decodeBlocks,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withForm(DecodeForm value) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                precision,
                deterministic,
                graphs,
                overlap,
                value,
                decodeBlocks,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withDecodeBlocks(int value) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                precision,
                deterministic,
                graphs,
                overlap,
                form,
                value,
                tensorCores,
                driver,
                toolkit);
    }

    public CudaOptions withDriver(Path library) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                precision,
                deterministic,
                graphs,
                overlap,
                form,
                decodeBlocks,
                tensorCores,
                Optional.of(library),
                toolkit);
    }

    public CudaOptions withTensorCores(TensorCores value) {
        return new CudaOptions(
                gpu,
                vramLimitBytes,
                precision,
                deterministic,
                graphs,
                overlap,
                form,
                decodeBlocks,
                value,
                driver,
                toolkit);
    }
}
