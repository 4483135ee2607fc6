package dev.strata.server.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;

/** For how long a client has taken nothing of what waits for it. Used by the channel's event loop. */
final class UnreadBytes {
    /** What was left at the last change; 0: nothing. */
    private long left;

    private long since;

    /**
     * Nanoseconds since the client last took something, as far as calls of this saw it; 0 when nothing waits.
     *
     * @param now in nanoseconds
     */
    long nanos(Channel channel, long now) {
        ChannelOutboundBuffer outbound = channel.unsafe().outboundBuffer();
        long waits = outbound == null ? 0 : outbound.totalPendingWriteBytes() - outbound.currentProgress();
        if (waits <= 0 || waits != left) {
            left = Math.max(0, waits);
            since = now;
        }
        return now - since;
    }
}
