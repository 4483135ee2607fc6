package dev.strata.cuda;

import dev.strata.device.DeviceException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Kernels compiled on this machine, each once: a folder keeps the results under the hash of the source, everything it may include, the
 * options and the compiler.
 */
final class CompiledImages implements KernelImages {
    private static final Logger LOG = LoggerFactory.getLogger(CompiledImages.class);

    /** Kernels copy asynchronously: compute capability 8.0. */
    private static final int OLDEST_CAPABILITY = 80;

    private final KernelSources sources;
    private final KernelCompiler compiler;
    private final Path folder;

    CompiledImages(KernelSources sources, KernelCompiler compiler, Path folder) {
        this.sources = sources;
        this.compiler = compiler;
        this.folder = folder;
    }

    /** Where results are kept: {@code strata/kernels} in the user's cache. */
    static Path userFolder() {
        String cache = System.getenv("XDG_CACHE_HOME");
        return (cache == null || cache.isBlank() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(cache))
                .resolve("strata")
                .resolve("kernels");
    }

    @Override
    public List<Image> forComputeCapability(int capability) {
        if (capability < OLDEST_CAPABILITY) {
            throw new DeviceException(
                    DeviceException.Kind.UNSUPPORTED,
                    "the card's compute capability " + capability / 10 + "." + capability % 10
                            + " is too old: the kernels need 8.0 (RTX 30 series, A100) or later; use --backend cpu");
        }
        String architecture = architecture(capability);
        List<String> options = List.of("-std=c++17", "--gpu-architecture=" + architecture);
        List<String> units = sources.units(architecture);
        AtomicInteger done = new AtomicInteger();
        List<Future<Image>> pending = new ArrayList<>();
        int threads = Math.clamp(Runtime.getRuntime().availableProcessors(), 1, Math.max(1, units.size()));
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            for (String unit : units) {
                pending.add(pool.submit(() -> {
                    Image image = image(unit, options);
                    LOG.info("kernels for {}: {} of {}", architecture, done.incrementAndGet(), units.size());
                    return image;
                }));
            }
            List<Image> images = new ArrayList<>();
            for (Future<Image> one : pending) {
                images.add(one.get());
            }
            return images;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException("compiling the kernels failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the kernels were compiled", e);
        }
    }

    /** Generations whose own instructions the kernels use or may use are named with an "a". */
    static String architecture(int capability) {
        return "sm_" + capability + (capability >= 90 ? "a" : "");
    }

    private Image image(String unit, List<String> options) {
        Path file = folder.resolve(unit.substring(0, unit.length() - 3) + "-" + key(unit, options) + ".cubin");
        try {
            if (Files.isReadable(file)) {
                return new Image(unit, Files.readAllBytes(file));
            }
            LOG.info("compiling {} with {} {}", unit, compiler.version(), options.getLast());
            byte[] bytes = compiler.compile(unit, sources.text(unit), sources.headers(), options);
            Files.createDirectories(folder);
            Path part = Files.createTempFile(folder, unit, ".part");
            Files.write(part, bytes);
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            return new Image(unit, bytes);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot keep compiled kernels in " + folder, e);
        }
    }

    private String key(String unit, List<String> options) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            add(digest, compiler.version());
            options.forEach(option -> add(digest, option));
            sources.headers().forEach((name, text) -> {
                add(digest, name);
                add(digest, text);
            });
            add(digest, sources.text(unit));
            return HexFormat.of().formatHex(digest.digest(), 0, 12);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    private static void add(MessageDigest digest, String text) {
        digest.update(text.getBytes(StandardCharsets.UTF_8));
        digest.update((byte) 0);
    }
}
