package dev.strata.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ValuesTest {
    @ParameterizedTest
    @CsvSource({
        "flag, 0, true",
        "flag, 1, true",
        "flag, true, false",
        "whole, 2, true",
        "whole, 8, true",
        "whole, 9, false",
        "whole, 1, false",
        "whole, 2.5, false",
        "whole, x, false",
        "real, 0.25, true",
        "real, 1, true",
        "real, 1.01, false",
        "real, NaN, false",
        "choice, a, true",
        "choice, c, false",
        "either, 3, true",
        "either, none, true",
        "either, some, false",
        "text, /tmp, true"
    })
    void acceptsWhatItSays(String kind, String text, boolean accepted) {
        Values values = switch (kind) {
            case "flag" -> new Values.Flag();
            case "whole" -> new Values.Whole(2, 8);
            case "real" -> new Values.Real(0, 1);
            case "choice" -> Values.Choice.of("a", "b");
            case "either" -> new Values.Either(new Values.Whole(2, 8), Values.Choice.of("none"));
            case "text" -> new Values.Text("a folder");
            default -> throw new IllegalArgumentException(kind);
        };
        assertEquals(accepted, values.accepts(text), text);
    }
}
