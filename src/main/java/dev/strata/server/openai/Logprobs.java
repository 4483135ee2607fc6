package dev.strata.server.openai;

import dev.strata.api.TokenLogprob;
import dev.strata.server.http.Json;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Log probabilities in the two shapes of the OpenAI API. */
final class Logprobs {
    private Logprobs() {}

    /** {@code {content: [{token, logprob, bytes, top_logprobs}], refusal: null}}. */
    static Map<String, @Nullable Object> chat(List<TokenLogprob> tokens) {
        List<Object> content = new ArrayList<>(tokens.size());
        for (TokenLogprob token : tokens) {
            Map<String, @Nullable Object> entry = entry(token);
            entry.put("top_logprobs", token.top().stream().map(Logprobs::entry).toList());
            content.add(entry);
        }
        return Json.object("content", content, "refusal", null);
    }

    private static Map<String, @Nullable Object> entry(TokenLogprob token) {
        int[] bytes = new int[token.bytes().length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = token.bytes()[i] & 0xff;
        }
        return Json.object("token", token.text(), "logprob", number(token.logprob()), "bytes", bytes);
    }

    /**
     * {@code {tokens, token_logprobs, top_logprobs, text_offset}}; offsets count characters.
     *
     * @param offset of the first token in the answer's text
     */
    static Map<String, @Nullable Object> legacy(List<TokenLogprob> tokens, int offset) {
        List<String> texts = new ArrayList<>();
        List<@Nullable Object> logprobs = new ArrayList<>();
        List<@Nullable Object> tops = new ArrayList<>();
        List<Integer> offsets = new ArrayList<>();
        int at = offset;
        for (TokenLogprob token : tokens) {
            texts.add(legacyText(token));
            logprobs.add(number(token.logprob()));
            tops.add(top(token));
            offsets.add(at);
            at += length(token);
        }
        return Json.object("tokens", texts, "token_logprobs", logprobs, "top_logprobs", tops, "text_offset", offsets);
    }

    /** Characters that the tokens add to the text, in code points. */
    static int length(List<TokenLogprob> tokens) {
        return tokens.stream().mapToInt(Logprobs::length).sum();
    }

    private static int length(TokenLogprob token) {
        return token.text().codePointCount(0, token.text().length());
    }

    private static @Nullable Map<String, @Nullable Object> top(TokenLogprob token) {
        if (token.top().isEmpty()) {
            return null;
        }
        Map<String, @Nullable Object> top = new LinkedHashMap<>();
        for (TokenLogprob alternative : token.top()) {
            top.put(legacyText(alternative), number(alternative.logprob()));
        }
        return top;
    }

    /** Bytes that are no whole characters are written as {@code bytes:\xe2\x80}. */
    private static String legacyText(TokenLogprob token) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(token.bytes()))
                    .toString();
        } catch (CharacterCodingException e) {
            StringBuilder text = new StringBuilder("bytes:");
            for (byte b : token.bytes()) {
                text.append(String.format(Locale.ROOT, "\\x%02x", b & 0xff));
            }
            return text.toString();
        }
    }

    /** The first token of an echoed prompt has no probability; JSON has no NaN or infinity. */
    private static @Nullable Object number(float logprob) {
        return Float.isNaN(logprob) ? null : Float.isInfinite(logprob) ? (Object) (-9999.0f) : (Object) logprob;
    }
}
