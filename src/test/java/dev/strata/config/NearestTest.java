package dev.strata.config;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NearestTest {
    @Test
    void countsEdits() {
        assertEquals(0, Nearest.distance("model", "model"));
        assertEquals(2, Nearest.distance("modle", "model"));
        assertEquals(3, Nearest.distance("kitten", "sitting"));
        assertEquals(4, Nearest.distance("", "port"));
    }

    @Test
    void findsTheNearestAndLeavesStrangersAlone() {
        List<String> known = List.of("--model", "--port", "--parallel");
        assertEquals(Optional.of("--model"), Nearest.to("--modle", known));
        assertEquals(Optional.of("--parallel"), Nearest.to("--paralel", known));
        assertEquals(Optional.empty(), Nearest.to("xyzzyxyzzy", known));
    }
}
