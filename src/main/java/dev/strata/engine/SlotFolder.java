package dev.strata.engine;

import java.nio.file.Path;
import java.util.function.Supplier;

/**
 * Where cached texts are saved, and what tells whose they are.
 *
 * @param maker model, backend and layout for people
 * @param fingerprint the same as {@value SlotFile#FINGERPRINT_BYTES} bytes; may take a moment
 */
record SlotFolder(Path path, String maker, Supplier<byte[]> fingerprint) {}
