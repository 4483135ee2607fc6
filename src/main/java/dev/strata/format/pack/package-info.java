/** The pack: a GGUF file in which all matrices of an expert lie together, each expert on a border of 64 KiB. */
@NullMarked
package dev.strata.format.pack;

import org.jspecify.annotations.NullMarked;
