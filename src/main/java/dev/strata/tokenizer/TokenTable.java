package dev.strata.tokenizer;

import java.util.Arrays;

/** The bytes of every token in one array, and the way back from bytes to the id. */
final class TokenTable {
    private final byte[] pool;
    /** Token {@code id} lies in {@code pool[offsets[id], offsets[id + 1])}. */
    private final int[] offsets;
    /** Open addressing: id + 1, or 0 where empty. */
    private final int[] slots;

    /** @param tokens bytes by id; empty for ids without a token, which then cannot be found by their bytes */
    TokenTable(byte[][] tokens) {
        long size = 0;
        for (byte[] token : tokens) {
            size += token.length;
        }
        pool = new byte[Math.toIntExact(size)];
        offsets = new int[tokens.length + 1];
        slots = new int[Integer.highestOneBit(Math.max(8, tokens.length)) << 2];
        int end = 0;
        for (int id = 0; id < tokens.length; id++) {
            System.arraycopy(tokens[id], 0, pool, end, tokens[id].length);
            end += tokens[id].length;
            offsets[id + 1] = end;
            if (tokens[id].length > 0) {
                insert(id, tokens[id]);
            }
        }
    }

    int size() {
        return offsets.length - 1;
    }

    byte[] bytes(int id) {
        return id < 0 || id >= size() ? new byte[0] : Arrays.copyOfRange(pool, offsets[id], offsets[id + 1]);
    }

    int length(int id) {
        return offsets[id + 1] - offsets[id];
    }

    void copy(int id, byte[] target, int at) {
        System.arraycopy(pool, offsets[id], target, at, length(id));
    }

    /** Id of the token with these bytes, or -1. */
    int find(byte[] bytes, int from, int to) {
        int slot = hash(bytes, from, to) & slots.length - 1;
        while (slots[slot] != 0) {
            int id = slots[slot] - 1;
            if (Arrays.equals(pool, offsets[id], offsets[id + 1], bytes, from, to)) {
                return id;
            }
            slot = slot + 1 & slots.length - 1;
        }
        return -1;
    }

    private void insert(int id, byte[] token) {
        int slot = hash(token, 0, token.length) & slots.length - 1;
        while (slots[slot] != 0) {
            slot = slot + 1 & slots.length - 1;
        }
        slots[slot] = id + 1;
    }

    private static int hash(byte[] bytes, int from, int to) {
        int hash = 0x811C9DC5;
        for (int index = from; index < to; index++) {
            hash = (hash ^ bytes[index]) * 0x01000193;
        }
        return hash ^ hash >>> 15;
    }
}
