package dev.strata.server;

import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How event loops reach the sockets.
 *
 * @param name as /v1/status tells it
 * @param reason why it is not the best one; empty when it is
 */
record Transport(String name, IoHandlerFactory handlers, Class<? extends ServerChannel> listening, String reason) {
    private static final Logger LOG = LoggerFactory.getLogger(Transport.class);

    /** Linux's own calls where their library loads: a wake-up and a write cost less there than through Java's selectors. */
    static Transport best() {
        if (Epoll.isAvailable()) {
            return new Transport("epoll", EpollIoHandler.newFactory(), EpollServerSocketChannel.class, "");
        }
        Throwable cause = Epoll.unavailabilityCause();
        Transport plain = portable(cause == null ? "not available" : String.valueOf(cause.getMessage()));
        LOG.info("connections use {}, not epoll: {}", plain.name(), plain.reason());
        return plain;
    }

    /** For /v1/status. */
    Map<String, Object> facts() {
        return reason.isEmpty() ? Map.of("name", name) : Map.of("name", name, "reason", reason);
    }

    /** What every Java has. */
    static Transport portable(String reason) {
        return new Transport("nio", NioIoHandler.newFactory(), NioServerSocketChannel.class, reason);
    }
}
