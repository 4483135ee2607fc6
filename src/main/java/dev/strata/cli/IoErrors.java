package dev.strata.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;

/** Reads text files that flags name, and tells failures of reading and writing in words: the system's own often are a bare path. */
final class IoErrors {
    private IoErrors() {}

    /** What went wrong, with the file and the reason. */
    static String message(Exception error) {
        if (error instanceof UncheckedIOException && error.getCause() instanceof IOException cause) {
            String own = String.valueOf(error.getMessage());
            return own.equals(cause.toString()) ? message(cause) : own + ": " + message(cause);
        }
        if (error instanceof FileSystemException failure && failure.getReason() == null) {
            return failure.getFile() + ": " + reason(failure);
        }
        return String.valueOf(error.getMessage());
    }

    private static String reason(FileSystemException failure) {
        return switch (failure) {
            case NoSuchFileException _ -> "no such file or folder";
            case AccessDeniedException _ -> "this user may not open it";
            case FileAlreadyExistsException _ -> "is already there";
            case NotDirectoryException _ -> "is not a folder";
            case DirectoryNotEmptyException _ -> "is a folder with files in it";
            default -> failure.getClass().getSimpleName();
        };
    }

    /** The text of a file. */
    static String text(Path file) throws IOException {
        try {
            return Files.readString(file);
        } catch (CharacterCodingException e) {
            throw new IOException(file + ": is not text in UTF-8", e);
        }
    }

    /** The lines of a file. */
    static List<String> lines(Path file) throws IOException {
        return text(file).lines().toList();
    }
}
