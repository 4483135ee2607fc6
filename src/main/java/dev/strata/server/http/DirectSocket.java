package dev.strata.server.http;

import dev.strata.os.OperatingSystem;
import io.netty.channel.Channel;
import io.netty.channel.unix.Socket;
import io.netty.channel.unix.UnixChannel;
import io.netty.handler.ssl.SslHandler;
import java.io.IOException;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * A connection's socket under a second descriptor, so that threads beside the event loop can send. The first one is closed on the event loop at any time and its
 * number given to the next connection; this one is closed here, and never while somebody sends. Both share the file, and with it that writing never waits.
 */
final class DirectSocket {
    private final Socket descriptor;
    private boolean closed;

    private DirectSocket(Socket descriptor) {
        this.descriptor = descriptor;
    }

    /** Null where bytes have to go through the pipeline, or no descriptor is left. Called on the event loop; closes with the channel. */
    static @Nullable DirectSocket open(Channel channel) {
        if (!(channel instanceof UnixChannel unix)
                || channel.pipeline().get(SslHandler.class) != null
                || !channel.isActive()) {
            return null;
        }
        OptionalInt second = OperatingSystem.current().duplicate(unix.fd().intValue());
        if (second.isEmpty()) {
            return null;
        }
        DirectSocket socket = new DirectSocket(new Socket(second.getAsInt()));
        channel.closeFuture().addListener(_ -> socket.close());
        return socket;
    }

    /**
     * Sends what the socket takes of the bytes from one offset to the other.
     *
     * @return how many it took; 0 when it is full
     * @throws IOException when the connection is closed
     */
    synchronized int send(long address, int from, int to) throws IOException {
        if (closed) {
            throw new IOException("The connection is closed");
        }
        return descriptor.sendAddress(address, from, to);
    }

    /** The other side is told only when the last descriptor is closed, so this one must not outlive the channel. */
    private synchronized void close() {
        closed = true;
        try {
            descriptor.close();
        } catch (IOException e) {
            // What was sent before could not be delivered: the client has gone.
        }
    }
}
