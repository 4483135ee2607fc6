package dev.strata.server.http;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.util.concurrent.TimeUnit;

/** The open connections, and whether the server is about to stop. */
public final class Connections {
    private final ChannelGroup open = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private volatile boolean stopping;

    void add(Channel channel) {
        open.add(channel);
    }

    public int count() {
        return open.size();
    }

    public boolean isStopping() {
        return stopping;
    }

    /** From now on connections close after their answer; those without a request close at once. */
    public void stop() {
        stopping = true;
        for (Channel channel : open) {
            channel.eventLoop().execute(() -> {
                ChannelHandlerContext context = channel.pipeline().context(Connection.class);
                if (context != null && context.handler() instanceof Connection connection) {
                    connection.closeIfIdle(context);
                }
            });
        }
    }

    /** Lets last bytes of ended answers leave, then closes every connection. */
    public void closeAll() {
        open.newCloseFuture().awaitUninterruptibly(1, TimeUnit.SECONDS);
        open.close().awaitUninterruptibly(1, TimeUnit.SECONDS);
    }
}
