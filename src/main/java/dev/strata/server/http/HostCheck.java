package dev.strata.server.http;

import io.netty.util.NetUtil;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Defence against DNS rebinding for servers without a key: a web page may point a name of its own at this machine, but then the browser sends that name as
 * Host. Addresses and localhost can't be rebound; other names have to be configured.
 */
public final class HostCheck {
    private final List<String> allowed;

    public HostCheck(List<String> allowedHosts) {
        allowed =
                allowedHosts.stream().map(host -> host.toLowerCase(Locale.ROOT)).toList();
    }

    boolean permits(@Nullable String hostHeader) {
        if (hostHeader == null || hostHeader.isBlank()) {
            return true; // no browser leaves it out
        }
        String host = name(hostHeader.strip().toLowerCase(Locale.ROOT));
        return host.equals("localhost")
                || host.endsWith(".localhost")
                || NetUtil.isValidIpV4Address(host)
                || NetUtil.isValidIpV6Address(host)
                || allowed.contains(host);
    }

    private static String name(String host) {
        if (host.startsWith("[")) {
            int end = host.indexOf(']');
            return end < 0 ? host : host.substring(1, end);
        }
        int colon = host.lastIndexOf(':');
        return colon < 0 ? host : host.substring(0, colon);
    }
}
