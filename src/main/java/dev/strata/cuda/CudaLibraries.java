package dev.strata.cuda;

import dev.strata.device.DeviceException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads the libraries that the CUDA presets are linked against by absolute path, so that their own loading finds them: the driver
 * and libcudart. A copy of libcudart travels in the package; a toolkit's is only looked for when it does not.
 */
final class CudaLibraries {
    private static final Logger LOG = LoggerFactory.getLogger(CudaLibraries.class);
    private static final String RUNTIME = "libcudart.so.13";

    private static boolean loaded;

    private CudaLibraries() {}

    /**
     * Loads both once in a process and turns off what the presets do behind our back: collection of native memory by the Java heap's
     * collector, and its limits.
     *
     * @throws DeviceException of kind UNAVAILABLE, naming every place that was searched
     */
    static synchronized void load(CudaOptions options) {
        if (loaded) {
            return;
        }
        System.setProperty("org.bytedeco.javacpp.nopointergc", "true");
        System.setProperty("org.bytedeco.javacpp.maxBytes", "0");
        System.setProperty("org.bytedeco.javacpp.maxPhysicalBytes", "0");
        options.driver().ifPresent(driver -> System.load(driver.toAbsolutePath().toString()));
        Path runtime = runtime(options.toolkit(), System.getenv("CUDA_HOME"), System.getenv("CUDA_PATH"));
        System.load(runtime.toString());
        LOG.debug("loaded {}", runtime);
        loaded = true;
    }

    private static Path runtime(Optional<Path> toolkit, @Nullable String... homes) {
        List<Path> folders = new ArrayList<>();
        toolkit.ifPresent(folder -> addToolkit(folders, folder));
        Optional<Path> named = first(folders, RUNTIME);
        if (named.isPresent()) {
            return named.get();
        }
        try (InputStream packed = CudaLibraries.class.getResourceAsStream(RUNTIME)) {
            if (packed != null) {
                return unpack(packed);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot unpack " + RUNTIME, e);
        }
        addInstalled(folders, homes);
        return first(folders, RUNTIME)
                .orElseThrow(() -> new DeviceException(
                        DeviceException.Kind.UNAVAILABLE,
                        RUNTIME + " was not found in " + folders + ": set CUDA_HOME to a CUDA 13 toolkit"));
    }

    /** Another library of a toolkit, where there is one. */
    static Optional<Path> find(String library, CudaOptions options) {
        List<Path> folders = new ArrayList<>();
        options.toolkit().ifPresent(folder -> addToolkit(folders, folder));
        addInstalled(folders, System.getenv("CUDA_HOME"), System.getenv("CUDA_PATH"));
        return first(folders, library);
    }

    private static void addInstalled(List<Path> folders, @Nullable String... homes) {
        for (String home : homes) {
            if (home != null && !home.isBlank()) {
                addToolkit(folders, Path.of(home));
            }
        }
        for (Path folder : children(Path.of("/usr/local"), "cuda*")) {
            addToolkit(folders, folder);
        }
        for (Path root :
                List.of(Path.of("/usr/lib/python3/dist-packages"), Path.of("/usr/local/lib"), Path.of("/opt"))) {
            addPip(folders, root);
        }
    }

    private static Optional<Path> first(List<Path> folders, String library) {
        return folders.stream()
                .map(folder -> folder.resolve(library).toAbsolutePath())
                .filter(Files::isReadable)
                .findFirst();
    }

    private static void addToolkit(List<Path> folders, Path toolkit) {
        folders.add(toolkit);
        folders.add(toolkit.resolve("lib64"));
        folders.add(toolkit.resolve("targets/x86_64-linux/lib"));
    }

    /** Python packages keep the runtime in nvidia/cu13/lib or nvidia/cuda_runtime/lib. */
    private static void addPip(List<Path> folders, Path root) {
        for (Path python : children(root, "{python3*,.venv,*}")) {
            for (Path packages : List.of(python.resolve("dist-packages"), python.resolve("site-packages"))) {
                for (Path part : children(packages.resolve("nvidia"), "*")) {
                    folders.add(part.resolve("lib"));
                }
            }
        }
    }

    private static List<Path> children(Path folder, String pattern) {
        List<Path> children = new ArrayList<>();
        if (Files.isDirectory(folder)) {
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder, pattern)) {
                entries.forEach(children::add);
            } catch (IOException e) {
                LOG.debug("cannot list {}", folder, e);
            }
        }
        return children;
    }

    private static Path unpack(InputStream packed) throws IOException {
        Path folder = Files.createTempDirectory("strata-cuda");
        Path file = folder.resolve(RUNTIME);
        Files.copy(packed, file);
        file.toFile().deleteOnExit();
        folder.toFile().deleteOnExit();
        return file;
    }
}
