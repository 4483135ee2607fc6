package dev.strata.cuda;

import dev.strata.device.DeviceException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Where compiled kernels come from. */
public interface KernelImages {
    /** One compiled file of {@code native/cuda}. */
    record Image(String name, byte[] bytes) {}

    /**
     * The images for a card of this compute capability (times ten).
     *
     * @throws DeviceException of kind UNSUPPORTED when there are none
     */
    List<Image> forComputeCapability(int capability);

    /** Those that the build put into the package. */
    static KernelImages embedded() {
        return EmbeddedImages::load;
    }

    /** The embedded ones; for other cards those that a toolkit's NVRTC compiles from the embedded sources. */
    static KernelImages standard(CudaOptions options) {
        return capability -> {
            try {
                return embedded().forComputeCapability(capability);
            } catch (DeviceException missing) {
                KernelSources sources = KernelSources.embedded();
                Optional<Path> compiler = CudaLibraries.find(RuntimeCompiler.LIBRARY, options);
                if (compiler.isEmpty() || sources.files().isEmpty()) {
                    throw missing;
                }
                return new CompiledImages(sources, RuntimeCompiler.open(compiler.get()), CompiledImages.userFolder())
                        .forComputeCapability(capability);
            }
        };
    }

    /** Cubins among the resources, listed in {@code cubin/ARCHITECTURE/index}. */
    final class EmbeddedImages {
        private EmbeddedImages() {}

        private static List<Image> load(int capability) {
            List<String> candidates = candidates(capability);
            for (String architecture : candidates) {
                List<Image> images = read("cubin/" + architecture + "/");
                if (!images.isEmpty()) {
                    return images;
                }
            }
            throw new DeviceException(
                    DeviceException.Kind.UNSUPPORTED,
                    "this build has no kernels for compute capability " + capability / 10 + "." + capability % 10
                            + " (looked for " + String.join(", ", candidates)
                            + ") and found no " + RuntimeCompiler.LIBRARY
                            + " to make some: install a CUDA 13 toolkit or set CUDA_HOME, build with"
                            + " scripts/build-kernels --all, or use --backend cpu");
        }

        /** A cubin runs on its own minor version and later ones of the same major; those with an "a" on their own only. */
        static List<String> candidates(int capability) {
            List<String> names = new ArrayList<>();
            names.add("sm_" + capability + "a");
            for (int minor = capability; minor >= capability / 10 * 10; minor--) {
                names.add("sm_" + minor);
            }
            return names;
        }

        private static List<Image> read(String folder) {
            List<Image> images = new ArrayList<>();
            try (InputStream index = KernelImages.class.getResourceAsStream(folder + "index")) {
                if (index == null) {
                    return images;
                }
                BufferedReader lines = new BufferedReader(new InputStreamReader(index, StandardCharsets.UTF_8));
                for (String name = lines.readLine(); name != null; name = lines.readLine()) {
                    try (InputStream image = KernelImages.class.getResourceAsStream(folder + name)) {
                        if (image == null) {
                            throw new IOException(folder + name + " is missing");
                        }
                        images.add(new Image(name, image.readAllBytes()));
                    }
                }
            } catch (IOException e) {
                throw new UncheckedIOException("cannot read the embedded kernels", e);
            }
            return images;
        }
    }
}
