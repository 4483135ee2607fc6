package dev.strata.server.http;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;

/** Names of requests and their parts: a prefix and 24 characters nobody can guess, since they also name what DELETE cancels. */
public final class Ids {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final byte[] ALPHABET =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".getBytes(StandardCharsets.US_ASCII);
    private static final int LENGTH = 24;
    /** Drawn together, since every draw asks the system; each byte is used once. */
    private static final byte[] DRAWN = new byte[1024];

    private static int used = DRAWN.length;

    private Ids() {}

    public static String next(String prefix) {
        byte[] id = new byte[LENGTH];
        fill(id);
        return prefix + new String(id, StandardCharsets.US_ASCII);
    }

    private static synchronized void fill(byte[] id) {
        int length = 0;
        while (length < LENGTH) {
            if (used == DRAWN.length) {
                RANDOM.nextBytes(DRAWN);
                used = 0;
            }
            // Two of 64 values are of no use.
            int six = DRAWN[used++] & 0x3F;
            if (six < ALPHABET.length) {
                id[length++] = ALPHABET[six];
            }
        }
    }
}
