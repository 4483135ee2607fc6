package dev.strata.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The places of a running engine, which clients know as slots: as many as sequences run at once. Each remembers the text that it held last.
 * Written by the step loop, read by anyone.
 */
final class Places {
    private static final int[] NOTHING = new int[0];

    /**
     * What is in a place.
     *
     * @param running null: nothing runs there now
     * @param text tokens of what ran there last
     */
    private record Place(@Nullable Sequence running, int[] text) {}

    private final AtomicReferenceArray<Place> places;

    Places(int count) {
        places = new AtomicReferenceArray<>(count);
        for (int i = 0; i < count; i++) {
            places.set(i, new Place(null, NOTHING));
        }
    }

    int count() {
        return places.length();
    }

    void enter(Sequence sequence) {
        for (int i = 0; i < places.length(); i++) {
            Place place = places.get(i);
            if (place.running() == null) {
                places.set(i, new Place(sequence, place.text()));
                return;
            }
        }
    }

    void leave(Sequence sequence) {
        for (int i = 0; i < places.length(); i++) {
            if (places.get(i).running() == sequence) {
                places.set(i, new Place(null, Arrays.copyOf(sequence.tokens(), sequence.length())));
            }
        }
    }

    /** The text of a place, that of the running sequence first. Called by the step loop. */
    int[] text(int index) {
        Place place = places.get(index);
        Sequence sequence = place.running();
        return sequence == null ? place.text() : Arrays.copyOf(sequence.tokens(), sequence.length());
    }

    /** A text has been read back for the place. */
    void put(int index, int[] text) {
        places.set(index, new Place(places.get(index).running(), text));
    }

    /** Facts of each place by name; those of running sequences may be a step old. */
    List<Map<String, Object>> facts() {
        List<Map<String, Object>> all = new ArrayList<>();
        for (int i = 0; i < places.length(); i++) {
            Place place = places.get(i);
            Sequence sequence = place.running();
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("is_processing", sequence != null);
            if (sequence == null) {
                facts.put("n_tokens", place.text().length);
            } else {
                facts.put("id_task", sequence.request.number);
                facts.put("n_tokens", sequence.length());
                facts.put("n_prompt_tokens", sequence.promptLength);
                facts.put("n_prompt_tokens_cache", sequence.reused);
                facts.put("n_prompt_tokens_processed", sequence.readTokens);
                facts.put("n_decoded", sequence.generated());
                facts.put("n_remain", Math.max(0, sequence.mostTokens - sequence.generated()));
            }
            all.add(facts);
        }
        return all;
    }
}
