/**
 * Where expert blobs lie: sources (RAM, file, tiers), layouts, caches and the plans that place them.
 */
@NullMarked
package dev.strata.expert;

import org.jspecify.annotations.NullMarked;
