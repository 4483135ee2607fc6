package dev.strata.cuda;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import dev.strata.device.Batch;
import dev.strata.device.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** A backend that one thread made is used by another, as a loaded model is by the engine. */
class OtherThreadTest {
    @Test
    void theThreadNeedNotBeTheOneThatMadeIt() throws Exception {
        try (CudaBackend backend = Cards.open(CudaOptions.defaults())) {
            assertArrayEquals(new float[] {2, 4, 6, 8}, elsewhere(() -> doubled(backend)));
            assertArrayEquals(new float[] {2, 4, 6, 8}, elsewhere(() -> doubled(backend)));
            assertArrayEquals(new float[] {2, 4, 6, 8}, doubled(backend));
        }
    }

    private static float[] doubled(CudaBackend backend) {
        float[] values = {1, 2, 3, 4};
        Tensor addend = backend.tensor(1, 4, "addend");
        Tensor into = backend.tensor(1, 4, "sum");
        Batch batch = new Batch(new int[1], List.of(new Batch.Segment(0, 1, 0, new int[1], 0, new int[0])), false);
        backend.ops().write(MemorySegment.ofArray(values), addend);
        backend.ops().write(MemorySegment.ofArray(values), into);
        backend.ops().pass("sum", batch, () -> backend.ops().add(addend, into));
        float[] sum = new float[4];
        backend.ops().read(into, MemorySegment.ofArray(sum));
        return sum;
    }

    private static float[] elsewhere(Callable<float[]> work) throws Exception {
        FutureTask<float[]> task = new FutureTask<>(work);
        Thread.ofPlatform().start(task);
        return task.get();
    }
}
