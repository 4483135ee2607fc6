package dev.strata.server.http;

import dev.strata.api.ApiError;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslHandler;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Collects request bodies; one that is too large gets a JSON answer and a closed connection. What still comes of it is thrown away for a while: closing at once
 * would reset the connection, and the client would never see the answer.
 */
final class BodyAggregator extends HttpObjectAggregator {
    private static final int LINGER_SECONDS = 5;

    private final BooleanSupplier answering;

    /** @param answering whether the answer to an earlier request is on its way, into which nothing may be written */
    BodyAggregator(int maxBytes, BooleanSupplier answering) {
        super(maxBytes);
        this.answering = answering;
    }

    @Override
    protected void handleOversizedMessage(ChannelHandlerContext context, HttpMessage oversized) {
        if (answering.getAsBoolean()) {
            ChannelFuture _ = context.close();
            return;
        }
        FullHttpResponse response = refusal(HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE);
        response.headers().set(HttpHeaderNames.CONNECTION, "close");
        context.writeAndFlush(response).addListener(_ -> closeSoon(context));
    }

    /** What a client hears that asks before it sends its body: a refusal has a JSON body too. */
    @Override
    protected @Nullable Object newContinueResponse(HttpMessage start, int maxBytes, ChannelPipeline pipeline) {
        Object answer = super.newContinueResponse(start, maxBytes, pipeline);
        if (answer instanceof FullHttpResponse response && answering.getAsBoolean()) {
            // It would stand in the middle of that answer. A client that hears nothing sends its body after a while.
            response.release();
            return null;
        }
        if (answer instanceof FullHttpResponse response
                && response.status().codeClass() == HttpStatusClass.CLIENT_ERROR) {
            response.release();
            return refusal(response.status());
        }
        return answer;
    }

    private FullHttpResponse refusal(HttpResponseStatus status) {
        boolean tooLarge = status.equals(HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE);
        ApiError error = new ApiError(
                ApiError.Kind.INVALID_REQUEST,
                tooLarge ? "request_too_large" : "unknown_expectation",
                tooLarge
                        ? "The request body is larger than " + maxContentLength() + " bytes"
                        : "The only expectation that is met is 100-continue",
                null);
        byte[] body = Json.bytes(ErrorBody.openAi(status.code(), error));
        FullHttpResponse response =
                new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.wrappedBuffer(body));
        response.headers()
                .set("x-request-id", Exchange.nextId())
                .set(HttpHeaderNames.CONTENT_TYPE, "application/json")
                .setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        return response;
    }

    private static void closeSoon(ChannelHandlerContext context) {
        if (context.channel() instanceof DuplexChannel duplex
                && context.pipeline().get(SslHandler.class) == null) {
            ChannelFuture _ = duplex.shutdownOutput();
        }
        Runnable close = () -> {
            ChannelFuture _ = context.channel().close();
        };
        ScheduledFuture<?> _ = context.executor().schedule(close, LINGER_SECONDS, TimeUnit.SECONDS);
    }
}
