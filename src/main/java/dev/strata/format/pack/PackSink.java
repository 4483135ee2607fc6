package dev.strata.format.pack;

import dev.strata.format.gguf.GgufTensor;
import dev.strata.format.gguf.TensorSink;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/** Takes the tensors of a model as they are and writes them where a pack has them. */
public final class PackSink implements TensorSink {
    private final PackLayout layout;
    private final TensorSink file;

    /** @param file takes the tensors of {@link PackLayout#stored} */
    public PackSink(PackLayout layout, TensorSink file) {
        this.layout = layout;
        this.file = file;
    }

    @Override
    public List<GgufTensor> tensors() {
        return layout.tensors();
    }

    @Override
    public void write(int index, long offset, ByteBuffer bytes) throws IOException {
        PackLayout.Place place = layout.place(index);
        if (place.matrix() == 0) {
            file.write(place.index(), offset, bytes);
            return;
        }
        long at = offset;
        ByteBuffer left = bytes.duplicate();
        while (left.hasRemaining()) {
            long expert = at / place.matrix();
            long inside = at % place.matrix();
            int count = (int) Math.min(left.remaining(), place.matrix() - inside);
            ByteBuffer part = left.slice(left.position(), count);
            file.write(place.index(), expert * place.stride() + place.within() + inside, part);
            left.position(left.position() + count);
            at += count;
        }
        bytes.position(bytes.limit());
    }
}
