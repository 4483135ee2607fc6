/**
 * The HTTP server: {@link dev.strata.server.HttpServer} puts the endpoints of the packages below together. HTTP machinery lies in {@code http}, one package
 * for each dialect beside it.
 */
@NullMarked
package dev.strata.server;

import org.jspecify.annotations.NullMarked;
