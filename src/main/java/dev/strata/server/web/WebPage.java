package dev.strata.server.web;

import dev.strata.server.http.Exchange;
import dev.strata.server.http.Route;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/**
 * The chat and monitor page. All its files are listed here and read once; nothing else of the class path can be asked for. The policy lets the page load and
 * call nothing but this server.
 */
public final class WebPage {
    private static final List<String> FILES = List.of(
            "index.html",
            "style.css",
            "icon.svg",
            "main.js",
            "api.js",
            "store.js",
            "chat.js",
            "markdown.js",
            "highlight.js",
            "monitor.js",
            "chart.js");
    private static final String POLICY =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

    private WebPage() {}

    /** Routes of the page's files, open to all: the page itself holds no secrets and asks for the key. */
    public static List<Route> routes() {
        List<Route> routes = new ArrayList<>();
        for (String name : FILES) {
            File file = read(name);
            routes.add(Route.get("/" + name, file::reply).withoutKey());
            if (name.equals("index.html")) {
                routes.add(Route.get("/", file::reply).withoutKey());
            }
        }
        return routes;
    }

    private record File(String type, byte[] content, String tag) {
        void reply(Exchange exchange) {
            exchange.responseHeader("etag", tag);
            exchange.responseHeader("cache-control", "no-cache");
            if (tag.equals(exchange.header("if-none-match"))) {
                exchange.reply(304, "", new byte[0]);
                return;
            }
            exchange.responseHeader("content-security-policy", POLICY);
            exchange.responseHeader("x-content-type-options", "nosniff");
            exchange.responseHeader("referrer-policy", "no-referrer");
            exchange.reply(200, type, content);
        }
    }

    private static File read(String name) {
        try (InputStream in = WebPage.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("The page's file " + name + " is missing from the class path");
            }
            byte[] content = in.readAllBytes();
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(content);
            String tag = '"'
                    + Base64.getUrlEncoder()
                            .withoutPadding()
                            .encodeToString(digest)
                            .substring(0, 20)
                    + '"';
            return new File(type(name), content, tag);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java runtime has SHA-256", e);
        }
    }

    private static String type(String name) {
        return switch (name.substring(name.lastIndexOf('.') + 1)) {
            case "html" -> "text/html; charset=utf-8";
            case "css" -> "text/css; charset=utf-8";
            case "js" -> "text/javascript; charset=utf-8";
            default -> "image/svg+xml";
        };
    }
}
