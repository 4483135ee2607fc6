package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.device.DeviceException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kernels that are compiled where they run. */
class CompiledImagesTest {
    private static final KernelSources SOURCES =
            new KernelSources(Map.of("a.cu", "kernel a", "b_hopper.cu", "kernel b", "words.cuh", "words"));

    @TempDir
    Path folder;

    /** Gives back what it was asked for. */
    private static final class Recorder implements KernelCompiler {
        private final String version;
        private final List<String> asked = Collections.synchronizedList(new ArrayList<>());

        Recorder(String version) {
            this.version = version;
        }

        @Override
        public String version() {
            return version;
        }

        @Override
        public byte[] compile(String name, String source, Map<String, String> headers, List<String> options) {
            asked.add(name);
            if (source.contains("wrong")) {
                throw new DeviceException(DeviceException.Kind.FAILED, name + ": error");
            }
            return (source + headers + options).getBytes(StandardCharsets.UTF_8);
        }
    }

    @Test
    void everyFileIsCompiledOnce() {
        Recorder compiler = new Recorder("one");
        List<KernelImages.Image> first = new CompiledImages(SOURCES, compiler, folder).forComputeCapability(86);
        assertEquals(List.of("a.cu"), compiler.asked);
        assertTrue(new String(first.getFirst().bytes(), StandardCharsets.UTF_8).contains("sm_86"));
        List<KernelImages.Image> again = new CompiledImages(SOURCES, compiler, folder).forComputeCapability(86);
        assertEquals(1, compiler.asked.size());
        assertArrayEquals(first.getFirst().bytes(), again.getFirst().bytes());
    }

    @Test
    void anotherCardCompilerOrHeaderCompilesAgain() {
        Recorder compiler = new Recorder("one");
        new CompiledImages(SOURCES, compiler, folder).forComputeCapability(86);
        new CompiledImages(SOURCES, compiler, folder).forComputeCapability(89);
        assertEquals(2, compiler.asked.size());
        Recorder other = new Recorder("two");
        new CompiledImages(SOURCES, other, folder).forComputeCapability(86);
        KernelSources changed = new KernelSources(Map.of("a.cu", "kernel a", "words.cuh", "other words"));
        new CompiledImages(changed, other, folder).forComputeCapability(86);
        assertEquals(2, other.asked.size());
    }

    @Test
    void filesOfOneGenerationAreLeftOutElsewhere() {
        Recorder compiler = new Recorder("one");
        assertEquals(
                2,
                new CompiledImages(SOURCES, compiler, folder)
                        .forComputeCapability(90)
                        .size());
        assertEquals("sm_90a", CompiledImages.architecture(90));
        assertEquals("sm_80", CompiledImages.architecture(80));
    }

    @Test
    void oldCardsAndRefusedSourcesAreNamed() {
        CompiledImages images = new CompiledImages(SOURCES, new Recorder("one"), folder);
        assertTrue(String.valueOf(assertThrows(DeviceException.class, () -> images.forComputeCapability(75))
                        .getMessage())
                .contains("7.5"));
        CompiledImages wrong =
                new CompiledImages(new KernelSources(Map.of("a.cu", "wrong")), new Recorder("one"), folder);
        assertTrue(String.valueOf(assertThrows(DeviceException.class, () -> wrong.forComputeCapability(86))
                        .getMessage())
                .contains("a.cu"));
    }
}
