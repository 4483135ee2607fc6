package dev.strata.os;

/** Names of the error numbers that our calls meet. */
final class Errno {
    private Errno() {}

    static String describe(int errno) {
        return switch (errno) {
            case 1 -> "EPERM (not permitted; RLIMIT_MEMLOCK or a missing capability)";
            case 4 -> "EINTR (interrupted)";
            case 5 -> "EIO (input/output error)";
            case 11 -> "EAGAIN (a limit or a shortage of memory)";
            case 12 -> "ENOMEM (out of memory, or above RLIMIT_MEMLOCK)";
            case 13 -> "EACCES (permission denied)";
            case 14 -> "EFAULT (bad address)";
            case 22 -> "EINVAL (refused by the kernel)";
            case 38 -> "ENOSYS (not in this kernel)";
            default -> "error number " + errno;
        };
    }
}
