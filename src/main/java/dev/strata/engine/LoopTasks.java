package dev.strata.engine;

import dev.strata.api.ApiException;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Work of other threads for the thread that uses the model. */
final class LoopTasks {
    private final Queue<FutureTask<?>> tasks = new ConcurrentLinkedQueue<>();

    /**
     * Has {@code work} done by {@code thread} and waits for its result, also when the waiting thread is interrupted: the work may use memory that is freed as
     * soon as this returns.
     *
     * @param wake tells the thread that there is work
     * @throws ApiException what {@code work} threw, or that the engine has stopped
     */
    <T> T call(Callable<T> work, Thread thread, Runnable wake) {
        FutureTask<T> task = new FutureTask<>(work);
        tasks.add(task);
        wake.run();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return task.get(1, TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                } catch (TimeoutException e) {
                    if (!thread.isAlive()) {
                        throw Errors.unavailable("the engine is stopping");
                    }
                } catch (ExecutionException e) {
                    throw e.getCause() instanceof ApiException error ? error : new ApiException(Errors.pass(e));
                } catch (CancellationException e) {
                    throw Errors.unavailable("the engine is stopping");
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Does all there is, {@code before} first each time. */
    void run(Runnable before) {
        FutureTask<?> task;
        while ((task = tasks.poll()) != null) {
            before.run();
            task.run();
        }
    }

    /** Nothing of it will be done. */
    void cancel() {
        FutureTask<?> task;
        while ((task = tasks.poll()) != null) {
            task.cancel(false);
        }
    }
}
