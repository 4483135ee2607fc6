package dev.strata.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.strata.api.Delta;
import dev.strata.api.DeltaListener;
import dev.strata.api.GenerateRequest;
import dev.strata.api.Prompt;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A listener that fails costs its own request only. */
class DeliveryTest {
    /** Notes what it is told, and fails at what it is told to fail at. */
    private static final class Listener implements DeltaListener {
        private final List<String> told = new ArrayList<>();
        private final String failsAt;

        Listener(String failsAt) {
            this.failsAt = failsAt;
        }

        @Override
        public void onDelta(Delta delta) {
            tell("delta");
        }

        @Override
        public void onPause() {
            tell("pause");
        }

        private void tell(String what) {
            told.add(what);
            if (what.equals(failsAt)) {
                throw new IllegalStateException("as the test wants it");
            }
        }
    }

    private static ActiveRequest request(Listener listener) {
        GenerateRequest request = EngineFixture.request(new Prompt.Text("x"), 1);
        TextSide.Prepared prompt = new TextSide.Prepared(new int[] {1}, new int[0], 0, false);
        return new ActiveRequest(request, prompt, listener, Long.MAX_VALUE, () -> {});
    }

    @Test
    void othersHearOfTheirPieces() {
        Listener[] listeners = {new Listener("delta"), new Listener("pause"), new Listener("")};
        Delivery delivery = new Delivery();
        List<ActiveRequest> requests = new ArrayList<>();
        for (Listener listener : listeners) {
            ActiveRequest request = request(listener);
            requests.add(request);
            delivery.send(request, new Delta.Content(0, "a", List.of()));
        }
        delivery.flush();
        for (Listener listener : listeners) {
            assertEquals(List.of("delta", "pause"), listener.told);
        }
        assertTrue(requests.get(0).cancelled());
        assertTrue(requests.get(1).cancelled());
        assertFalse(requests.get(2).cancelled());
        delivery.flush();
        assertEquals(List.of("delta", "pause"), listeners[2].told);
    }
}
