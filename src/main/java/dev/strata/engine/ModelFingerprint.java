package dev.strata.engine;

import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Tells models and the layouts of their states apart, so that a cached text never meets another model. */
final class ModelFingerprint {
    /** Bytes looked at in each tensor: finetunes of one model differ in nearly all of them. */
    private static final long SAMPLE = 256;

    private ModelFingerprint() {}

    /**
     * SHA-256 over {@code maker}, the tensors' names, types and shapes, and the first bytes of each.
     *
     * @param maker what else decides how states look: model, backend, key-value format
     */
    static byte[] of(ModelFiles files, String maker) {
        MessageDigest digest = sha256();
        digest.update(maker.getBytes(StandardCharsets.UTF_8));
        for (TensorEntry tensor : files.tensors()) {
            digest.update((tensor.name() + ' ' + tensor.dtype() + tensor.shape()).getBytes(StandardCharsets.UTF_8));
            if (!files.makesTensors()) {
                MemorySegment data = files.data(tensor);
                digest.update(data.asSlice(0, Math.min(SAMPLE, data.byteSize())).asByteBuffer());
            }
        }
        return digest.digest();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }
}
