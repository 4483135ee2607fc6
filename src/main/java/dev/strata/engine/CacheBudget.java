package dev.strata.engine;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.device.AttentionShape;
import dev.strata.device.Batch;
import dev.strata.device.DeltaShape;
import dev.strata.device.IndexerShape;
import dev.strata.device.KvFormat;
import dev.strata.format.ModelFiles;
import dev.strata.model.Hyperparameters;
import dev.strata.model.ModelConfigReader;
import dev.strata.synth.ModelSource;
import java.util.List;

/**
 * Turns a budget in bytes for the prefix cache into tokens and states, before anything is laid out. Sizes are those of the model's layers; what
 * backends add for scales and alignment is a few percent.
 */
final class CacheBudget {
    private CacheBudget() {}

    /** The options with what the budget buys; unchanged without one. */
    static Options apply(Options options) {
        if (options.cacheBytes() == 0) {
            return options;
        }
        try (ModelFiles files = ModelSource.open(options.model())) {
            Hyperparameters sizes = ModelConfigReader.hyperparameters(files);
            return options.withEngine(apply(options.engine(), options.cacheBytes(), sizes));
        }
    }

    /** One state goes with every {@link EngineOptions#checkpointEvery} tokens, as prompts are read. */
    static EngineOptions apply(EngineOptions options, long bytes, Hyperparameters sizes) {
        boolean draft = options.speculation().wantsLayer();
        long page = pageBytes(sizes, options.kv(), draft);
        if (!EngineParts.isRecurrent(sizes.config().architecture())) {
            return options.withCache(tokens(bytes / page), options.checkpoints());
        }
        long state = stateBytes(sizes, draft);
        long pages = Math.ceilDiv(options.checkpointEvery(), Batch.PAGE);
        long states = Math.min(bytes / (state + pages * page), 4096);
        return options.withCache(tokens((bytes - states * state) / page), (int) states);
    }

    private static int tokens(long pages) {
        return (int) Math.min(pages * Batch.PAGE, Integer.MAX_VALUE / 4);
    }

    /** Bytes that one page of tokens takes in all layers. */
    static long pageBytes(Hyperparameters sizes, KvFormat format, boolean draft) {
        AttentionShape attention = sizes.attention();
        double layer = 2 * format.bytesOfAValue() * Batch.PAGE * attention.kvColumns();
        IndexerShape indexer = sizes.indexer();
        if (indexer != null) {
            layer += 4.0 * indexer.headSize() * (Batch.PAGE + Batch.PAGE / indexer.block());
        }
        return Math.max(1, (long) (layer * count(sizes, draft, Hyperparameters.Mixer.ATTENTION)));
    }

    /** Bytes of the recurrent states after one text. */
    static long stateBytes(Hyperparameters sizes, boolean draft) {
        DeltaShape delta = sizes.delta();
        long bytes = 1;
        if (delta != null) {
            long layer = 4L * (delta.kernel() - 1) * delta.channels()
                    + 4L * delta.valueHeads() * delta.keySize() * delta.valueSize();
            bytes += layer * count(sizes, draft, Hyperparameters.Mixer.DELTA_NET);
        }
        return bytes;
    }

    private static long count(Hyperparameters sizes, boolean draft, Hyperparameters.Mixer kind) {
        List<Hyperparameters.Mixer> layers = draft
                ? sizes.mixers()
                : sizes.mixers().subList(0, sizes.config().layers());
        return layers.stream().filter(kind::equals).count();
    }
}
