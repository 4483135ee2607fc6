package dev.strata.server;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A socket that says exactly what a test wants said. */
final class RawClient implements AutoCloseable {
    private final Socket socket;
    private final InputStream in;

    RawClient(int port) throws IOException {
        socket = new Socket("127.0.0.1", port);
        socket.setSoTimeout(20_000);
        in = socket.getInputStream();
    }

    void send(String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
        socket.getOutputStream().flush();
    }

    void post(String path, String json) throws IOException {
        send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                + json.getBytes(StandardCharsets.UTF_8).length + "\r\n\r\n" + json);
    }

    void get(String path) throws IOException {
        send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }

    /** What comes up to and including the mark. */
    String readUntil(String mark) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        while (!bytes.toString(StandardCharsets.UTF_8).endsWith(mark)) {
            int next = in.read();
            if (next < 0) {
                throw new IOException("Closed before '" + mark + "': " + bytes.toString(StandardCharsets.UTF_8));
            }
            bytes.write(next);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }

    /** The next {@code count} bytes, which are dropped. */
    void read(int count) throws IOException {
        in.skipNBytes(count);
    }

    /** Everything until the server closes. */
    String readAll() throws IOException {
        return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }

    /** Closes with a reset, as a killed client does. */
    void reset() throws IOException {
        socket.setSoLinger(true, 0);
        socket.close();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
