package dev.strata.server.status;

import dev.strata.api.ApiException;
import dev.strata.server.http.Endpoint;
import dev.strata.server.http.HttpFailure;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Status has to come when the engine hangs, above all then: what asks the engine gets a deadline. */
public final class Deadline {
    private final ExecutorService threads;

    public Deadline(ExecutorService threads) {
        this.threads = threads;
    }

    /** An endpoint that replies 200 with the value, or 503 when the engine does not give it in time. */
    public Endpoint json(Callable<Object> value) {
        return exchange ->
                exchange.reply(200, within(exchange.limits().statusTime().toMillis(), value));
    }

    /** The value, or a 503. */
    public <T> T within(long millis, Callable<T> value) throws Exception {
        Future<T> future = threads.submit(value);
        try {
            return future.get(millis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            throw new HttpFailure(
                    503, "engine_not_responding", "The engine did not tell its status within " + millis + " ms");
        } catch (ExecutionException e) {
            if (e.getCause() instanceof ApiException refused) {
                throw refused;
            }
            throw e;
        }
    }
}
