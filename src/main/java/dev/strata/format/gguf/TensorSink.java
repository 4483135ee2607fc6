package dev.strata.format.gguf;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** Takes the bytes of tensors, in any order and from any thread. */
public interface TensorSink {
    /** The tensors that can be written, numbered from 0. */
    List<GgufTensor> tensors();

    /** Writes all remaining bytes of {@code bytes} at {@code offset} of the data of tensor {@code index}. */
    void write(int index, long offset, ByteBuffer bytes) throws IOException;
}
