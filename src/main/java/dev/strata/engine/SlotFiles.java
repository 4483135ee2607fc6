package dev.strata.engine;

import dev.strata.api.ApiError;
import dev.strata.api.ApiException;
import dev.strata.model.Model;
import dev.strata.model.Model.StateSizes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.zip.CRC32C;

/**
 * Writes the cached text of a place to a file and reads it back. The step loop only copies pages between passes; the files are read and
 * written by the callers, so that a large one does not hold up what runs.
 */
final class SlotFiles {
    private final SlotFolder folder;
    private final Model model;
    private final StepLoop loop;
    private final SequenceStore store;

    SlotFiles(SlotFolder folder, Model model, StepLoop loop, SequenceStore store) {
        this.folder = folder;
        this.model = model;
        this.loop = loop;
        this.store = store;
    }

    /** @return tokens written */
    int save(int place, String name) {
        checkPlace(place);
        int[] text = loop.call(() -> store.places().text(place));
        HeldPrefix prefix = loop.call(() -> store.hold(text));
        try {
            if (prefix.length() == 0) {
                throw new ApiException(new ApiError(
                        ApiError.Kind.INVALID_REQUEST, "slot_empty", "nothing is cached of slot " + place, "id_slot"));
            }
            write(
                    name,
                    new SlotFile(
                            folder.fingerprint().get(),
                            folder.maker(),
                            sizes(),
                            Arrays.copyOf(text, prefix.length()),
                            prefix.states()),
                    prefix);
            return prefix.length();
        } catch (IOException e) {
            throw new UncheckedIOException("slot file " + folder.path().resolve(name) + " cannot be written", e);
        } finally {
            run(() -> store.letGo(prefix));
        }
    }

    /** @return tokens read */
    int restore(int place, String name) {
        checkPlace(place);
        try (FileChannel file = FileChannel.open(folder.path().resolve(name), StandardOpenOption.READ)) {
            SlotFile head = SlotFile.read(file, name);
            check(head, file.size(), name);
            HeldPrefix room = loop.call(() -> store.room(head.tokens().length, head.states()))
                    .orElseThrow(() -> noRoom(head.tokens().length));
            boolean whole = false;
            try {
                read(file, head, room, name);
                whole = true;
            } finally {
                boolean good = whole;
                run(() -> {
                    if (good) {
                        store.adopt(head.tokens(), room);
                        store.places().put(place, head.tokens());
                    } else {
                        store.letGo(room);
                    }
                });
            }
            return head.tokens().length;
        } catch (NoSuchFileException e) {
            throw new ApiException(new ApiError(
                    ApiError.Kind.NOT_FOUND,
                    "slot_file_not_found",
                    "there is no slot file '" + name + "'",
                    "filename"));
        } catch (IOException e) {
            throw SlotFile.bad(name, String.valueOf(e.getMessage()));
        }
    }

    private StateSizes sizes() {
        StateSizes sizes = model.stateSizes();
        return store.recurrent() ? sizes : new StateSizes(sizes.page(), 0);
    }

    private static ApiException noRoom(int tokens) {
        return new ApiException(new ApiError(
                ApiError.Kind.BUSY, "no_room", "the prefix cache has no room for " + tokens + " tokens now", null));
    }

    private void checkPlace(int place) {
        if (place >= store.places().count()) {
            throw Errors.invalid(
                    "id_slot",
                    "there is no slot " + place + ": they are numbered from 0 to "
                            + (store.places().count() - 1));
        }
    }

    private void check(SlotFile head, long bytes, String name) {
        if (!head.sizes().equals(sizes())
                || !Arrays.equals(head.fingerprint(), folder.fingerprint().get())) {
            String other =
                    head.maker().equals(folder.maker()) ? "with other weights or another layout" : "not by this one";
            throw SlotFile.bad(
                    name, "it was saved by " + head.maker() + ", " + other + "; this server runs " + folder.maker());
        }
        if (store.recurrent() == head.states().isEmpty()) {
            throw SlotFile.bad(name, "it has " + head.states().size() + " recurrent states");
        }
        if (bytes != head.fileBytes()) {
            throw SlotFile.bad(name, "it should have " + head.fileBytes() + " bytes and has " + bytes);
        }
        for (int token : head.tokens()) {
            if (token < 0 || token >= model.config().vocabulary()) {
                throw SlotFile.bad(name, "token " + token + " is not in the vocabulary");
            }
        }
    }

    private void write(String name, SlotFile head, HeldPrefix prefix) throws IOException {
        Path target = folder.path().resolve(name);
        Path part = Files.createTempFile(folder.path(), name, ".part");
        CRC32C sum = new CRC32C();
        StateSizes sizes = head.sizes();
        try (Arena arena = Arena.ofShared()) {
            try (FileChannel file = FileChannel.open(part, StandardOpenOption.WRITE)) {
                put(file, head.head(), sum);
                MemorySegment buffer = arena.allocate(Math.max(sizes.page(), sizes.slot()));
                for (int page : prefix.pages()) {
                    put(file, fetched(buffer.asSlice(0, sizes.page()), piece -> model.readPage(page, piece)), sum);
                }
                for (HeldPrefix.State state : prefix.states()) {
                    put(
                            file,
                            fetched(buffer.asSlice(0, sizes.slot()), piece -> model.readSlot(state.slot(), piece)),
                            sum);
                }
                put(file, SlotFile.little(4).putInt((int) sum.getValue()).flip(), new CRC32C());
            }
            Files.move(part, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
    }

    private ByteBuffer fetched(MemorySegment piece, Consumer<MemorySegment> copy) {
        run(() -> copy.accept(piece));
        return piece.asByteBuffer();
    }

    /** Runs {@code work} between two passes. */
    private void run(Runnable work) {
        loop.call(Executors.callable(work, true));
    }

    private static void put(FileChannel file, ByteBuffer bytes, CRC32C sum) throws IOException {
        sum.update(bytes.duplicate());
        while (bytes.hasRemaining()) {
            file.write(bytes);
        }
    }

    private void read(FileChannel file, SlotFile head, HeldPrefix room, String name) throws IOException {
        CRC32C sum = new CRC32C();
        sum.update(head.head());
        StateSizes sizes = head.sizes();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment buffer = arena.allocate(Math.max(sizes.page(), sizes.slot()));
            for (int page : room.pages()) {
                MemorySegment piece = buffer.asSlice(0, sizes.page());
                get(file, piece, sum);
                run(() -> model.writePage(page, piece));
            }
            for (HeldPrefix.State state : room.states()) {
                MemorySegment piece = buffer.asSlice(0, sizes.slot());
                get(file, piece, sum);
                if (state.slot() >= 0) {
                    run(() -> model.writeSlot(state.slot(), piece));
                }
            }
            ByteBuffer expected = SlotFile.little(4);
            SlotFile.fill(file, expected);
            if (expected.getInt() != (int) sum.getValue()) {
                throw SlotFile.bad(name, "its checksum is wrong");
            }
        }
    }

    private static void get(FileChannel file, MemorySegment piece, CRC32C sum) throws IOException {
        ByteBuffer bytes = piece.asByteBuffer();
        SlotFile.fill(file, bytes);
        sum.update(bytes);
    }
}
