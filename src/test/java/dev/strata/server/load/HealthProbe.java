package dev.strata.server.load;

import dev.strata.os.OperatingSystem;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/**
 * Asks /health every 20 ms over one connection and prints median, 99th percentile and maximum in milliseconds. A process of its own, so that other
 * clients' work does not count. {@code HealthProbe URL SECONDS}.
 */
public final class HealthProbe {
    private HealthProbe() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        // Otherwise it would measure when it is let in itself.
        if (!OperatingSystem.current().shortTurns().done()) {
            System.err.println("this process may wait for its own turns");
        }
        URI server = URI.create(arguments[0]);
        int count = (int) (Double.parseDouble(arguments[1]) * 50);
        byte[] ask = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        double[] millis = new double[count];
        try (Socket socket = new Socket(server.getHost(), server.getPort())) {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(60_000);
            InputStream in = socket.getInputStream();
            byte[] answer = new byte[4096];
            // The first ones warm this process up.
            for (int i = -50; i < count; i++) {
                long asked = System.nanoTime();
                socket.getOutputStream().write(ask);
                int length = 0;
                while (length == 0 || answer[length - 1] != '}') {
                    int read = in.read(answer, length, answer.length - length);
                    if (read < 0) {
                        throw new IOException("closed");
                    }
                    length += read;
                }
                if (i >= 0) {
                    millis[i] = (System.nanoTime() - asked) / 1e6;
                }
                TimeUnit.MILLISECONDS.sleep(20);
            }
        }
        Arrays.sort(millis);
        System.out.printf(
                Locale.ROOT, "%.2f %.2f %.2f%n", millis[count / 2], millis[count * 99 / 100], millis[count - 1]);
    }
}
