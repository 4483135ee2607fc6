/** The chat and monitor page: static files from the class path. */
@NullMarked
package dev.strata.server.web;

import org.jspecify.annotations.NullMarked;
