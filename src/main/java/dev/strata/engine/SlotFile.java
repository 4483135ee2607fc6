package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.device.Batch;
import dev.strata.model.Model.StateSizes;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The head of a file with a cached text, all numbers little-endian: {@code STRATASL}, version 1 (int), number of tokens (int), bytes of a
 * page (long), bytes of a slot (long), number of states (int), fingerprint (32 bytes), length of the maker's name (int), the name (UTF-8),
 * token ids (ints), for each state its position (int) and 1 for the end of a system prompt, else 0 (int). Behind it follow the pages, a slot
 * for each state, and the CRC-32C of all before (int).
 *
 * @param fingerprint of the model, the backend and the layout of its states
 * @param maker the same for people
 * @param tokens the text
 * @param states recurrent states, longest text first; the last token's must be the first one where there are any
 */
record SlotFile(byte[] fingerprint, String maker, StateSizes sizes, int[] tokens, List<HeldPrefix.State> states) {
    static final int FINGERPRINT_BYTES = 32;
    private static final byte[] MAGIC = "STRATASL".getBytes(StandardCharsets.US_ASCII);
    private static final int VERSION = 1;
    private static final int FIXED_BYTES = MAGIC.length + 4 + 4 + 8 + 8 + 4 + FINGERPRINT_BYTES + 4;
    private static final int LONGEST_NAME = 4096;

    int pages() {
        return (tokens.length + Batch.PAGE - 1) / Batch.PAGE;
    }

    ByteBuffer head() {
        byte[] name = maker.getBytes(StandardCharsets.UTF_8);
        ByteBuffer head = little(FIXED_BYTES + name.length + 4 * tokens.length + 8 * states.size());
        head.put(MAGIC)
                .putInt(VERSION)
                .putInt(tokens.length)
                .putLong(sizes.page())
                .putLong(sizes.slot());
        head.putInt(states.size()).put(fingerprint).putInt(name.length).put(name);
        for (int token : tokens) {
            head.putInt(token);
        }
        for (HeldPrefix.State state : states) {
            head.putInt(state.position()).putInt(state.root() ? 1 : 0);
        }
        return head.flip();
    }

    /** Bytes of the whole file. */
    long fileBytes() {
        return head().remaining() + pages() * sizes.page() + states.size() * sizes.slot() + 4;
    }

    /**
     * Reads the head of a file; the channel stands behind it then.
     *
     * @throws ApiException when it is no such file or is cut off
     */
    static SlotFile read(FileChannel file, String name) throws IOException {
        ByteBuffer fixed = little(FIXED_BYTES);
        if (file.size() < FIXED_BYTES + 4) {
            throw bad(name, "it has only " + file.size() + " bytes");
        }
        fill(file, fixed);
        byte[] magic = new byte[MAGIC.length];
        fixed.get(magic);
        if (!Arrays.equals(magic, MAGIC)) {
            throw bad(name, "it does not begin with STRATASL");
        }
        int version = fixed.getInt();
        if (version != VERSION) {
            throw bad(name, "it has version " + version + ", this build reads version " + VERSION);
        }
        int count = fixed.getInt();
        StateSizes sizes = new StateSizes(fixed.getLong(), fixed.getLong());
        int stateCount = fixed.getInt();
        byte[] fingerprint = new byte[FINGERPRINT_BYTES];
        fixed.get(fingerprint);
        int length = fixed.getInt();
        long left = file.size() - FIXED_BYTES;
        if (length < 0
                || length > LONGEST_NAME
                || count < 1
                || stateCount < 0
                || stateCount > count
                || 4L * count + 8L * stateCount > left - length) {
            throw bad(name, "its head speaks of " + count + " tokens, for which it is too short");
        }
        ByteBuffer rest = little(Math.toIntExact(length + 4L * count + 8L * stateCount));
        fill(file, rest);
        byte[] maker = new byte[length];
        rest.get(maker);
        int[] tokens = new int[count];
        rest.asIntBuffer().get(tokens);
        rest.position(rest.position() + 4 * count);
        List<HeldPrefix.State> states = new ArrayList<>();
        int before = count + 1;
        for (int i = 0; i < stateCount; i++) {
            int position = rest.getInt();
            states.add(new HeldPrefix.State(position, rest.getInt() != 0, -1, null));
            if (position < 1 || position >= before || (i == 0 && position != count)) {
                throw bad(name, "its states are not where its text ends");
            }
            before = position;
        }
        return new SlotFile(fingerprint, new String(maker, StandardCharsets.UTF_8), sizes, tokens, states);
    }

    static void fill(FileChannel file, ByteBuffer target) throws IOException {
        while (target.hasRemaining()) {
            if (file.read(target) < 0) {
                throw new EOFException("the file ends too early");
            }
        }
        target.flip();
    }

    static ByteBuffer little(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    static ApiException bad(String name, String why) {
        return new ApiException(new ApiError(
                ApiError.Kind.INVALID_REQUEST,
                "bad_slot_file",
                "'" + name + "' cannot be restored: " + why,
                "filename"));
    }
}
