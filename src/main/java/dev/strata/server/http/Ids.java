package dev.strata.server.http;

import java.security.SecureRandom;

/** Names of requests and their parts: a prefix and 24 characters nobody can guess, since they also name what DELETE cancels. */
public final class Ids {
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    private static final int LENGTH = 24;

    private Ids() {}

    public static String next(String prefix) {
        StringBuilder id = new StringBuilder(prefix.length() + LENGTH).append(prefix);
        for (int i = 0; i < LENGTH; i++) {
            id.append(ALPHABET.charAt(RANDOM.nextInt(ALPHABET.length())));
        }
        return id.toString();
    }
}
