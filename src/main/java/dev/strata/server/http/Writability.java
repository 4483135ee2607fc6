package dev.strata.server.http;

import io.netty.channel.Channel;
import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Lets a virtual thread wait until a connection's socket takes more bytes. */
final class Writability {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** Called by the event loop whenever writability changed or the connection closed. */
    void signal() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** True when the channel is writable; false when it stayed full for the whole time or was closed. */
    boolean await(Channel channel, Duration longest) {
        if (channel.isWritable()) {
            return true;
        }
        long nanos = longest.toNanos();
        lock.lock();
        try {
            while (channel.isActive() && !channel.isWritable() && nanos > 0) {
                nanos = changed.awaitNanos(nanos);
            }
            return channel.isActive() && channel.isWritable();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }
}
