package dev.strata.format;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The opened files of one model: tensors by name, metadata, and their bytes in place. Closing it unmaps the files. */
public interface ModelFiles extends AutoCloseable {
    /** Which container. */
    enum Container {
        GGUF,
        SAFETENSORS
    }

    Container container();

    /** The path the user gave. */
    Path path();

    /** All files of the model, in order. */
    List<Path> files();

    /**
     * Metadata. GGUF: the key-value pairs (numbers as Long or Double, strings, booleans, lists of these). Safetensors: the contents of
     * config.json as nested maps and lists of the same value types.
     */
    Map<String, Object> metadata();

    /** Companion file of a safetensors folder (tokenizer.json, generation_config.json, chat_template.jinja), read as UTF-8. */
    default Optional<String> companion(String fileName) {
        return Optional.empty();
    }

    /** All tensors in file order. */
    List<TensorEntry> tensors();

    Optional<TensorEntry> find(String name);

    /** A shape in the container's own order: GGUF names the innermost dimension first. */
    default String written(List<Long> shape) {
        return (container() == Container.GGUF ? shape.reversed() : shape).toString();
    }

    /** The tensor's bytes, mapped read-only. Valid until the files are closed. */
    MemorySegment data(TensorEntry tensor);

    /**
     * Closes the mapped views of experts, because they are read in another way from now on; segments of them that were given out become
     * invalid, and a later {@link #data} maps anew. Returns how many bytes were mapped.
     */
    default long closeExpertViews() {
        return 0;
    }

    /**
     * Whether tensors are made in memory when {@link #data} asks for them, instead of lying in files. Large ones are better fetched in
     * parts then, to where they are needed.
     */
    default boolean makesTensors() {
        return false;
    }

    /**
     * Copies {@code bytes} bytes of a tensor from {@code offset} on to the start of {@code target}. Both are multiples of a row's bytes
     * where {@link #makesTensors}. Any thread may call it.
     */
    default void copy(TensorEntry tensor, long offset, long bytes, MemorySegment target) {
        MemorySegment.copy(data(tensor), offset, target, 0, bytes);
    }

    @Override
    void close();
}
