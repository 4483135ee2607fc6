package dev.strata.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The kernels as text, for cards that the build has no compiled kernels for: the files of {@code native/cuda}. */
record KernelSources(Map<String, String> files) {
    KernelSources {
        files = Collections.unmodifiableMap(new TreeMap<>(files));
    }

    /** Those in the package; empty when the build left them out. */
    static KernelSources embedded() {
        Map<String, String> files = new TreeMap<>();
        try {
            for (String name : read("index").lines().toList()) {
                files.put(name, read(name));
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the embedded kernel sources", e);
        }
        return new KernelSources(files);
    }

    private static String read(String name) throws IOException {
        try (InputStream stream = KernelSources.class.getResourceAsStream("source/" + name)) {
            return stream == null ? "" : new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Names of the files that are compiled for an architecture: those named for one generation hold its own instructions. */
    List<String> units(String architecture) {
        List<String> units = new ArrayList<>();
        for (String name : files.keySet()) {
            if (name.endsWith(".cu") && (!name.endsWith("_hopper.cu") || architecture.equals("sm_90a"))) {
                units.add(name);
            }
        }
        return units;
    }

    /** The files that others include. */
    Map<String, String> headers() {
        Map<String, String> headers = new TreeMap<>(files);
        headers.keySet().removeIf(name -> !name.endsWith(".cuh"));
        return headers;
    }

    String text(String name) {
        String text = files.get(name);
        if (text == null) {
            throw new IllegalArgumentException("there is no kernel source " + name);
        }
        return text;
    }
}
