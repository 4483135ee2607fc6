package dev.strata.engine;

import dev.strata.device.AttentionShape;
import dev.strata.device.DeltaShape;
import dev.strata.device.Device;
import dev.strata.device.IndexerShape;
import dev.strata.device.KvFormat;
import dev.strata.format.ModelFiles;
import dev.strata.format.TensorEntry;
import dev.strata.format.TensorRole;
import dev.strata.model.Hyperparameters;
import dev.strata.model.ModelConfigReader;
import java.util.OptionalDouble;

/**
 * Bytes that a decode step of one row moves, by count: weights as stored, keys and values of the context, recurrent states in and out.
 *
 * @param weights bytes of weights a token
 * @param context bytes a token of context
 * @param mostContext tokens of context that a step reads at most, where blocks are chosen
 * @param states bytes of recurrent states a token
 * @param bandwidth bytes a second of the device's memory as copies measure it; absent without a device
 */
public record DecodeTraffic(long weights, long context, long mostContext, long states, OptionalDouble bandwidth) {
    /** Counts for the session's model, and measures its device. */
    public static DecodeTraffic of(ModelSession session, KvFormat format) {
        ModelFiles files = session.files();
        Hyperparameters sizes = ModelConfigReader.hyperparameters(files);
        Hyperparameters.Experts experts = sizes.experts();
        long routed = 0;
        for (TensorEntry tensor : files.tensors()) {
            routed += TensorRole.of(tensor.name()) == TensorRole.EXPERTS ? tensor.bytes() : 0;
        }
        long attending = sizes.mixers().stream()
                .filter(mixer -> mixer == Hyperparameters.Mixer.ATTENTION)
                .count();
        AttentionShape attention = sizes.attention();
        DeltaShape delta = sizes.delta();
        long recurrent = sizes.mixers().size() - attending;
        IndexerShape indexer = sizes.indexer();
        Device device = Backends.device(session.backend());
        return new DecodeTraffic(
                DecodeBound.mixerBytes(files) + routed / experts.count() * experts.used(),
                Math.round(2 * attending * attention.kvColumns() * format.bytesOfAValue()),
                indexer == null ? Long.MAX_VALUE : (long) (indexer.budgetBlocks() + 1) * indexer.block(),
                delta == null ? 0 : 2 * recurrent * delta.valueHeads() * delta.valueSize() * delta.keySize() * 4L,
                device == null ? OptionalDouble.empty() : OptionalDouble.of(DecodeBound.vram(device)));
    }

    /** Bytes of a step with so many tokens of context, on average. */
    public double bytes(double tokens) {
        return weights + states + context * Math.min(tokens, mostContext);
    }
}
