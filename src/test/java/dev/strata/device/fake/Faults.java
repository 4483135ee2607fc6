package dev.strata.device.fake;

import dev.strata.device.DeviceException;
import java.util.ArrayList;
import java.util.List;

/** Failures that a {@link FakeDevice} shows on demand. */
public final class Faults {
    private record Fault(FakeCall.Kind kind, int call, int count, boolean later) {}

    private final List<Fault> faults = new ArrayList<>();
    private final int[] seen = new int[FakeCall.Kind.values().length];

    /** The call number {@code call} (from 0) of this kind fails when it is made. */
    public synchronized Faults fail(FakeCall.Kind kind, int call) {
        faults.add(new Fault(kind, call, 1, false));
        return this;
    }

    /** All calls of this kind from number {@code call} on fail when they are made. */
    public synchronized Faults failFrom(FakeCall.Kind kind, int call) {
        faults.add(new Fault(kind, call, Integer.MAX_VALUE, false));
        return this;
    }

    /** The call is accepted and fails when the device runs it; its stream is broken from then on. */
    public synchronized Faults failLater(FakeCall.Kind kind, int call) {
        faults.add(new Fault(kind, call, 1, true));
        return this;
    }

    /** Throws when this call has to fail now; tells whether it has to fail later. */
    synchronized boolean meet(FakeCall.Kind kind, String what) {
        int number = seen[kind.ordinal()]++;
        for (Fault fault : faults) {
            if (fault.kind == kind && number >= fault.call && number - fault.call < fault.count) {
                if (fault.later) {
                    return true;
                }
                throw new DeviceException(kindOf(kind), "fake: " + what + " was refused (call " + number + ")");
            }
        }
        return false;
    }

    private static DeviceException.Kind kindOf(FakeCall.Kind kind) {
        return switch (kind) {
            case ALLOCATE, ALLOCATE_PINNED -> DeviceException.Kind.OUT_OF_MEMORY;
            case REGISTER -> DeviceException.Kind.REGISTRATION_REFUSED;
            case NEW_STREAM, NEW_EVENT, COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE, FILL, LAUNCH, RECORD, WAIT ->
                DeviceException.Kind.FAILED;
        };
    }
}
