package dev.strata.api;

import java.util.List;

/** Log probability of a token with the best alternatives; {@code bytes} are the token's own bytes, possibly part of a character. */
public record TokenLogprob(int id, String text, byte[] bytes, float logprob, List<TokenLogprob> top) {}
