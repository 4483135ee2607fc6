/** The hashed n-gram embedding: which table rows a token reads, and where their values come from. */
@NullMarked
package dev.strata.model.ngram;

import org.jspecify.annotations.NullMarked;
