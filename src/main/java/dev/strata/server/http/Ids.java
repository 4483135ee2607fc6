package dev.strata.server.http;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;

/** Names of requests and their parts: a prefix and 24 characters nobody can guess, since they also name what DELETE cancels. */
public final class Ids {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final byte[] ALPHABET =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".getBytes(StandardCharsets.US_ASCII);
    private static final int LENGTH = 24;
    /** Bytes drawn at once; one of 32 is of no use. */
    private static final int DRAWN = 32;

    private Ids() {}

    public static String next(String prefix) {
        byte[] id = new byte[LENGTH];
        byte[] random = new byte[DRAWN];
        int length = 0;
        while (length < LENGTH) {
            RANDOM.nextBytes(random);
            for (int i = 0; i < DRAWN && length < LENGTH; i++) {
                int six = random[i] & 0x3F;
                if (six < ALPHABET.length) {
                    id[length++] = ALPHABET[six];
                }
            }
        }
        return prefix + new String(id, StandardCharsets.US_ASCII);
    }
}
