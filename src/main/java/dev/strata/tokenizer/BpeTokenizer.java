package dev.strata.tokenizer;

import dev.strata.format.ModelFormatException;
import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** Byte-level byte-pair encoding over a {@link BpeModel}. */
final class BpeTokenizer implements Tokenizer {
    private final TokenTable vocabulary;
    private final BytePairMerger merger;
    private final AddedTokens addedTokens;
    private final Map<String, Integer> addedIds = new HashMap<>();
    private final Map<Integer, byte[]> addedBytes = new HashMap<>();
    private final BitSet control = new BitSet();
    private final PreTokenizer preTokenizer;
    private final boolean normalized;
    private final boolean ignoreMerges;
    private final SpecialTokens special;
    private final WordCache cache = new WordCache();
    private final int size;
    private final List<String> markup;

    private BpeTokenizer(BpeModel model, BytePairMerger merger) {
        this.vocabulary = model.vocabulary();
        this.merger = merger;
        this.addedTokens = new AddedTokens(model.added());
        this.preTokenizer = model.preTokenizer();
        this.normalized = model.normalized();
        this.ignoreMerges = model.ignoreMerges();
        this.special = model.special();
        int last = vocabulary.size() - 1;
        for (AddedTokens.Added token : model.added()) {
            last = Math.max(last, token.id());
            addedIds.putIfAbsent(token.text(), token.id());
            addedBytes.put(token.id(), token.text().getBytes(StandardCharsets.UTF_8));
            if (token.control()) {
                control.set(token.id());
            }
        }
        this.size = last + 1;
        this.markup = model.added().stream()
                .filter(token -> token.isMarkup() && !token.text().isEmpty())
                .map(AddedTokens.Added::text)
                .distinct()
                .toList();
    }

    /**
     * Builds the tables.
     *
     * @throws ModelFormatException when a merge makes a token that is not there
     */
    static BpeTokenizer of(BpeModel model) {
        TokenTable vocabulary = model.vocabulary();
        int count = model.merges().size() / 2;
        MergeTable merges = new MergeTable(count);
        byte[] both = new byte[64];
        for (int rank = 0; rank < count; rank++) {
            int left = model.merges().get(2 * rank);
            int right = model.merges().get(2 * rank + 1);
            int length = vocabulary.length(left) + vocabulary.length(right);
            if (length > both.length) {
                both = new byte[length * 2];
            }
            vocabulary.copy(left, both, 0);
            vocabulary.copy(right, both, vocabulary.length(left));
            int merged = vocabulary.find(both, 0, length);
            if (merged < 0) {
                throw new ModelFormatException(model.source() + ": merge " + rank + " makes \""
                        + new String(both, 0, length, StandardCharsets.UTF_8) + "\", which is not in the vocabulary.");
            }
            merges.add(left, right, rank, merged);
        }
        int[] byteIds = new int[256];
        for (int value = 0; value < 256; value++) {
            byteIds[value] = vocabulary.find(new byte[] {(byte) value}, 0, 1);
        }
        return new BpeTokenizer(model, new BytePairMerger(merges, byteIds));
    }

    @Override
    public int[] encode(String text, boolean special) {
        return encode(text, special, "");
    }

    @Override
    public int[] encodeMarked(String text, char marker) {
        return encode(text, true, String.valueOf(marker));
    }

    @Override
    public List<String> markup() {
        return markup;
    }

    private int[] encode(String text, boolean special, String dropped) {
        IntList ids = new IntList(text.length() / 3 + 4);
        int at = 0;
        while (at < text.length()) {
            AddedTokens.Match match = addedTokens.find(text, at, special);
            String plain = match == null ? text.substring(at) : text.substring(at, match.from());
            encodePlain(dropped.isEmpty() ? plain : plain.replace(dropped, ""), ids);
            if (match == null) {
                break;
            }
            ids.add(match.token().id());
            at = match.to();
        }
        return ids.toArray();
    }

    private void encodePlain(String text, IntList ids) {
        if (text.isEmpty()) {
            return;
        }
        String normal = normalized && !Normalizer.isNormalized(text, Normalizer.Form.NFC)
                ? Normalizer.normalize(text, Normalizer.Form.NFC)
                : text;
        char[] units = normal.toCharArray();
        preTokenizer.split(units, 0, units.length, (piece, from, to) -> encodePiece(piece, from, to, ids));
    }

    private void encodePiece(char[] text, int from, int to, IntList ids) {
        int[] known = cache.find(text, from, to);
        if (known != null) {
            if (known.length == 1) {
                ids.add(known[0]);
            } else {
                ids.addAll(known);
            }
            return;
        }
        byte[] bytes = new byte[(to - from) * 3];
        int length = Utf8.encode(text, from, to, bytes);
        int whole = ignoreMerges ? vocabulary.find(bytes, 0, length) : -1;
        int before = ids.size();
        if (whole >= 0) {
            ids.add(whole);
        } else {
            merger.merge(bytes, length, ids);
        }
        cache.put(text, from, to, ids.toArray(before));
    }

    @Override
    public byte[] bytes(int id) {
        byte[] added = addedBytes.get(id);
        return added != null ? added.clone() : vocabulary.bytes(id);
    }

    @Override
    public int vocabularySize() {
        return size;
    }

    @Override
    public boolean isControl(int id) {
        return id >= 0 && control.get(id);
    }

    @Override
    public OptionalInt id(String token) {
        Integer added = addedIds.get(token);
        if (added != null) {
            return OptionalInt.of(added);
        }
        byte[] bytes = token.getBytes(StandardCharsets.UTF_8);
        int id = vocabulary.find(bytes, 0, bytes.length);
        return id < 0 ? OptionalInt.empty() : OptionalInt.of(id);
    }

    @Override
    public SpecialTokens specialTokens() {
        return special;
    }
}
