package dev.strata.prefill;

import dev.strata.memory.Bytes;
import java.util.Locale;
import java.util.OptionalInt;

/**
 * How blobs that the device cannot copy itself are staged, and how long the streamed ring is. A pure function of where the bytes lie.
 *
 * @param ringSlots slots of the streamed ring, in widest blobs
 * @param threads copy threads; 0 when everything is pinned
 * @param buffers pinned buffers
 * @param bufferBytes size of one: a piece of a blob, or the widest blob
 * @param batch neighbouring jobs that one claim takes
 * @param ahead copies out of the buffers that are queued at the same time at most: while they run, further neighbours are filled and go in one
 * @param file whether unpinned bytes are read from a drive: then waits are longer
 * @param line what the log says
 */
public record StagerSizing(
        int ringSlots, int threads, int buffers, long bufferBytes, int batch, int ahead, boolean file, String line) {
    /** Where the unpinned bytes lie. */
    public enum Source {
        /** In the arena. */
        RESIDENT,
        /** In a file, read through the page cache. */
        FILE,
        /** In a file, read past the page cache. */
        FILE_UNBUFFERED
    }

    /** {@code STRATA_STAGE_RESIDENT}. */
    public enum StageResident {
        BY_SOURCE,
        OFF,
        FORCED
    }

    /** {@code STRATA_STAGER_SIZING}. */
    public enum Named {
        /** Pieces where they win, else reference. */
        DEFAULT,
        REFERENCE,
        PIECES
    }

    /**
     * What sizes depend on.
     *
     * @param unpinned share of the expert bytes that the device cannot copy itself, 0 to 1
     * @param unpinnedInRam share of those bytes that lies in RAM: 1 for an arena, 0 for a file, between for a tiered source
     * @param source where the others lie
     * @param cpus logical CPUs that the process may use
     * @param blobBytes the widest blob
     * @param slots slots that the cache will have; 0 when that does not matter
     */
    public record Case(double unpinned, double unpinnedInRam, Source source, int cpus, long blobBytes, int slots) {}

    /** What was asked for by hand; an empty number leaves the rule alone. */
    public record Overrides(
            StageResident stageResident,
            Named sizing,
            OptionalInt threads,
            OptionalInt buffers,
            OptionalInt ringSlots,
            OptionalInt batch,
            OptionalInt ahead) {
        public Overrides(
                StageResident stageResident,
                Named sizing,
                OptionalInt threads,
                OptionalInt buffers,
                OptionalInt ringSlots,
                OptionalInt batch) {
            this(stageResident, sizing, threads, buffers, ringSlots, batch, OptionalInt.empty());
        }

        public static final Overrides NONE = new Overrides(
                StageResident.BY_SOURCE,
                Named.DEFAULT,
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty());
    }

    /** Slots of the ring when all bytes are pinned. */
    public static final int RING = 384;

    /**
     * Of a cache with this many slots and more, prompts borrow a ring of two layers: layers that compute for longer than their blobs take
     * give others a lead then, which is worth more than a few residents less.
     */
    public static final int SLOTS_OF_LONG_RING = 16 * RING;

    private static final double SMALL_SHARE = 0.10;
    private static final double TIERED_IN_RAM = 0.90;
    private static final long PIECE = Bytes.MIB;
    private static final int PIECES = 48;
    private static final int MOST_PIECE_THREADS = 12;
    private static final int FILE_BATCH = 8;

    /** One copy runs and the next is queued: measured to be a little faster than three. */
    private static final int PIECE_COPIES = 2;

    private record Base(int ring, int threads, int buffers, boolean resident) {}

    /** The sizes for a case. */
    public static StagerSizing of(Case at, Overrides overrides) {
        int full = full(at, overrides);
        int ring;
        if (at.unpinned <= 0) {
            ring = overrides.ringSlots.orElse(full);
            return new StagerSizing(
                    ring,
                    0,
                    0,
                    0,
                    1,
                    1,
                    false,
                    "prefill: all expert bytes are pinned: the streamed ring has " + ring + " slots");
        }
        Base base = base(at, overrides, full);
        boolean file = at.source != Source.RESIDENT;
        boolean pieces = switch (overrides.sizing) {
            case REFERENCE -> false;
            case PIECES -> !file;
            case DEFAULT -> !file && overrides.stageResident == StageResident.BY_SOURCE;
        };
        int threads = overrides.threads.orElse(pieces ? pieceThreads(at.cpus) : base.threads);
        int buffers = overrides.buffers.orElse(pieces ? PIECES : base.buffers);
        ring = overrides.ringSlots.orElse(base.ring);
        int batch = Math.min(buffers, overrides.batch.orElse(file ? FILE_BATCH : 1));
        long bufferBytes = pieces ? PIECE : at.blobBytes;
        int ahead = Math.min(buffers, overrides.ahead.orElse(pieces ? PIECE_COPIES : buffers));
        String line = line(at, base, threads, buffers, bufferBytes, batch, pieces, ring, full);
        return new StagerSizing(ring, threads, buffers, bufferBytes, batch, ahead, file, line);
    }

    private static int full(Case at, Overrides overrides) {
        boolean measured = overrides.sizing != Named.REFERENCE && overrides.stageResident == StageResident.BY_SOURCE;
        boolean inRam = at.unpinned <= 0 || at.source == Source.RESIDENT;
        return measured && inRam && at.slots >= SLOTS_OF_LONG_RING ? 2 * RING : RING;
    }

    private static Base base(Case at, Overrides overrides, int full) {
        boolean resident = switch (overrides.stageResident) {
            case BY_SOURCE -> at.source == Source.RESIDENT || at.unpinnedInRam > TIERED_IN_RAM;
            case OFF -> false;
            case FORCED -> true;
        };
        if (at.unpinned <= SMALL_SHARE) {
            return new Base(full, 4, 16, resident);
        }
        if (resident) {
            return new Base(full, Math.max(4, Math.min(8, at.cpus / 4)), 64, true);
        }
        if (at.source == Source.FILE_UNBUFFERED) {
            return new Base(RING / 4, 32, 128, false);
        }
        return new Base(RING / 4, 4, 16, false);
    }

    /** Threads of the piece sizing: as many as there are free cores, up to where the link is full. */
    static int pieceThreads(int cpus) {
        return Math.max(1, Math.min(MOST_PIECE_THREADS, cpus - 4));
    }

    private static String line(
            Case at,
            Base base,
            int threads,
            int buffers,
            long bufferBytes,
            int batch,
            boolean pieces,
            int ring,
            int full) {
        String share =
                at.unpinned < 0.01 ? "less than 1%" : String.format(Locale.ROOT, "%d%%", Math.round(at.unpinned * 100));
        String from = switch (at.source) {
            case RESIDENT -> "copies them from resident RAM";
            case FILE -> at.unpinnedInRam > 0 ? "copies them from RAM and the file" : "reads them from the file";
            case FILE_UNBUFFERED ->
                at.unpinnedInRam > 0
                        ? "copies them from RAM and the file (unbuffered)"
                        : "reads them from the file (unbuffered)";
        };
        String what = pieces ? "pieces of " + bufferBytes / 1024 + " KiB" : "buffers";
        String claims = batch > 1 ? " in claims of " + batch : "";
        String ringText = ring == full
                ? "keeps its pinned size (" + ring + " slots)"
                : "has " + ring + " slots instead of " + full;
        return "prefill: " + share + " of the expert bytes are not pinned: the stager " + from + " with " + threads
                + " threads into " + buffers + " pinned " + what + " ("
                + Math.round(buffers * (double) bufferBytes / Bytes.MIB) + " MiB)" + claims + " and the streamed ring "
                + ringText + (base.resident || at.source != Source.RESIDENT ? "" : ", as for a file");
    }
}
