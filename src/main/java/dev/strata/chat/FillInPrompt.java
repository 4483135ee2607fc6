package dev.strata.chat;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.tokenizer.SpecialTokens;
import dev.strata.tokenizer.Tokenizer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Prompts that ask for the text of a gap. */
public final class FillInPrompt {
    private FillInPrompt() {}

    /**
     * Token ids of {@code prefix before suffix after middle}, with the model's markers.
     *
     * @throws ApiException when the model has no such markers
     */
    public static int[] encode(Tokenizer tokenizer, String before, String after) {
        SpecialTokens.FillInTheMiddle markers = tokenizer
                .specialTokens()
                .fillInTheMiddle()
                .orElseThrow(() -> new ApiException(new ApiError(
                        ApiError.Kind.INVALID_REQUEST,
                        "unsupported_value",
                        "This model has no tokens for filling in the middle; leave out \"suffix\".",
                        "suffix")));
        return Stream.of(
                        new int[] {markers.prefix()},
                        tokenizer.encode(before, false),
                        new int[] {markers.suffix()},
                        tokenizer.encode(after, false),
                        new int[] {markers.middle()})
                .flatMapToInt(IntStream::of)
                .toArray();
    }
}
