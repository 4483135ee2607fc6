package dev.strata.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.config.Variables;
import dev.strata.engine.Backends;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class StrataCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... arguments) {
        return StrataCommand.run(arguments, new PrintWriter(out, true), new PrintWriter(err, true));
    }

    @Test
    void anUnknownFlagIsExitCodeTwoWithTheNearestKnownOne() {
        assertEquals(2, run("--versoin"));
        assertTrue(err.toString().contains("unknown flag --versoin; did you mean --version?"), err.toString());
    }

    @Test
    void versionSaysTheBuildAndTheJava() {
        assertEquals(0, run("--version"));
        assertTrue(out.toString().startsWith("strata "), out.toString());
        assertTrue(
                out.toString().contains("processor kernels for " + Backends.instructionSet(Variables.defaults())),
                out.toString());
        assertTrue(out.toString().contains("java " + Runtime.version()), out.toString());
    }

    @Test
    void aPortInUseIsToldBeforeTheModelIsLoaded() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String port = Integer.toString(taken.getLocalPort());
            assertEquals(1, run("--serve", "--port", port));
            assertTrue(err.toString().contains("Can't listen on 127.0.0.1:" + port), err.toString());
        }
    }

    @Test
    void withoutArgumentsTheUsageIsShown() {
        assertEquals(0, run());
        assertTrue(out.toString().contains("Usage: strata"), out.toString());
    }
}
