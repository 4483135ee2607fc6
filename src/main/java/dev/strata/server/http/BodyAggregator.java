package dev.strata.server.http;

import dev.strata.api.ApiError;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;

/** Collects request bodies; one that is too large gets a JSON answer and a closed connection, since the rest of it will not be read. */
final class BodyAggregator extends HttpObjectAggregator {
    BodyAggregator(int maxBytes) {
        super(maxBytes);
    }

    @Override
    protected void handleOversizedMessage(ChannelHandlerContext context, HttpMessage oversized) {
        ApiError error = new ApiError(
                ApiError.Kind.INVALID_REQUEST,
                "request_too_large",
                "The request body is larger than " + maxContentLength() + " bytes",
                null);
        byte[] body = Json.bytes(ErrorBody.openAi(413, error));
        FullHttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE, Unpooled.wrappedBuffer(body));
        response.headers()
                .set(HttpHeaderNames.CONTENT_TYPE, "application/json")
                .set(HttpHeaderNames.CONNECTION, "close")
                .setInt(HttpHeaderNames.CONTENT_LENGTH, body.length);
        context.writeAndFlush(response).addListener(ChannelFutureListener.CLOSE);
    }
}
