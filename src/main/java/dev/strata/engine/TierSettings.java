package dev.strata.engine;

import dev.strata.config.EngineOptions;
import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.decode.MissSettings;
import dev.strata.decode.PlacementSettings;
import dev.strata.device.Device;
import dev.strata.device.ExpertSource;
import dev.strata.expert.SlotAdaptation;
import dev.strata.expert.TieredExpertSource;
import dev.strata.format.ModelFiles;
import dev.strata.memory.Bytes;
import dev.strata.model.HiddenNorm;
import dev.strata.model.ModelConfigReader;
import dev.strata.model.NgramTables;
import dev.strata.prefill.ChunkSetting;
import dev.strata.prefill.StagerSizing;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Turns flags and variables into the settings of the memory tiers. */
final class TierSettings {
    /** One use since the last round. */
    private static final float MINIMUM_USE = 0.9f;

    /** Small passes, of drafts or of other sequences, that a loan outlives which no prompt has ended. */
    private static final int LOAN_PATIENCE = 256;

    /** Rows from which on the processor has no part in prompts. */
    private static final int SHARED_ROWS = 2048;

    /** Prompt tokens of a pass that reads experts from files. */
    private static final int ROWS_FROM_FILES = 1024;

    /** Float32 values of a row's buffers, in hidden sizes. */
    private static final int ROW_WIDTHS = 42;

    /** What {@code --prefill} says when the size of passes is left to us. */
    static final String AUTO = "auto";

    private TierSettings() {}

    /** How experts are placed on a device. */
    static PlacementSettings placement(Options options) {
        TierOptions tiers = options.tiers();
        Variables variables = options.variables();
        return new PlacementSettings(
                tiers.cacheSlots() < 0 ? Integer.MAX_VALUE : tiers.cacheSlots(),
                tiers.vramReserveMib() * Bytes.MIB,
                (int) variables.whole(Variable.PREFILL_STREAM_MIN).orElse(PlacementSettings.STREAM_FROM),
                tiers.borrow(),
                stager(variables),
                variables.flag(Variable.STAGER_SLEEP),
                variables.flag(Variable.PREFILL_TIMING),
                adaptation(tiers.adaptation()),
                LOAN_PATIENCE,
                null,
                Runtime.getRuntime().availableProcessors());
    }

    static SlotAdaptation adaptation(TierOptions.Adaptation flags) {
        return new SlotAdaptation(flags.every(), flags.swaps(), flags.decay(), flags.minGain(), MINIMUM_USE);
    }

    /** Where the rows of an n-gram table are read. */
    static NgramTables.Access ngram(Options options) {
        return switch (options.tiers().ngram()) {
            case AUTO -> NgramTables.Access.AUTO;
            case DIRECT -> NgramTables.Access.DIRECT;
            case MMAP -> NgramTables.Access.MAPPED;
            case RAM -> NgramTables.Access.RAM;
        };
    }

    /** How experts that decode steps miss are shared; deterministic results need the card for all of them. */
    static MissSettings misses(Options options) {
        Variables variables = options.variables();
        OptionalDouble linkShare = options.tiers().misses().linkShare();
        boolean cardOnly = options.engine().deterministic()
                || linkShare.isPresent() && linkShare.getAsDouble() == 1
                || !Backends.whyNoCpu().isEmpty();
        return new MissSettings(
                variables.flag(Variable.LINK_PULL),
                variables.isSet(Variable.LOOKAHEAD) && variables.flag(Variable.LOOKAHEAD),
                linkShare,
                variables.flag(Variable.PCIE_BALANCE),
                variables.flag(Variable.PREFILL_CPU_SHARE)
                        ? (int) variables.whole(Variable.PREFILL_CPU_SHARE_MAX).orElse(SHARED_ROWS)
                        : 0,
                tailSkip(options),
                cardOnly ? null : () -> Backends.workers(options));
    }

    /** Rank from which on steps leave out missed experts; what the cache holds must not change deterministic answers. */
    static int tailSkip(Options options) {
        return options.engine().deterministic()
                ? 0
                : (int) options.variables().whole(Variable.ROUTE_TAIL_SKIP).orElse(0);
    }

    /** How the draft layer norms several streams. */
    static HiddenNorm hiddenNorm(Options options) {
        return options.variables()
                        .text(Variable.MTP_HIDDEN_NORM)
                        .filter("stream"::equals)
                        .isPresent()
                ? HiddenNorm.PER_STREAM
                : HiddenNorm.WHOLE;
    }

    /** Sizes of the stager that were asked for by hand. */
    static StagerSizing.Overrides stager(Variables variables) {
        return new StagerSizing.Overrides(
                variables.isSet(Variable.STAGE_RESIDENT)
                        ? variables.flag(Variable.STAGE_RESIDENT)
                                ? StagerSizing.StageResident.FORCED
                                : StagerSizing.StageResident.OFF
                        : StagerSizing.StageResident.BY_SOURCE,
                switch (variables.text(Variable.STAGER_SIZING).orElse("")) {
                    case "reference" -> StagerSizing.Named.REFERENCE;
                    case "pieces" -> StagerSizing.Named.PIECES;
                    default -> StagerSizing.Named.DEFAULT;
                },
                number(variables, Variable.STAGER_THREADS),
                number(variables, Variable.STAGER_RING),
                number(variables, Variable.PREFILL_RING),
                number(variables, Variable.STAGER_BATCH),
                number(variables, Variable.STAGER_AHEAD));
    }

    /** Whether neither {@code --prefill} nor {@code --chunk} says how many rows a pass has: a card's passes are as large as fit then. */
    static boolean sizesPasses(Options options) {
        return options.tiers().prefill().isEmpty() && options.engine().chunk() == EngineOptions.DEFAULTS.chunk();
    }

    /** What {@code --prefill} says, or null without it. */
    static @Nullable ChunkSetting prefill(Options options) {
        if (options.tiers().prefill().isEmpty()) {
            return null;
        }
        return prefill(options, options.tiers().prefill().get());
    }

    private static ChunkSetting prefill(Options options, String text) {
        int most = (int) options.variables().whole(Variable.PREFILL_AUTO_MAX).orElse(ChunkSetting.AUTO_MOST);
        return ChunkSetting.parse(text, most);
    }

    /**
     * Most rows of one pass of a prompt: by {@code --prefill}, of which automatic sizing may take less later, or what {@code --chunk}
     * says. Automatic sizing is for devices, and what they do when neither is given.
     */
    static int chunk(Options options, @Nullable Device device) {
        if (device != null && sizesPasses(options)) {
            return prefill(options, AUTO).most();
        }
        ChunkSetting setting = prefill(options);
        if (setting == null) {
            return options.engine().chunk();
        }
        return setting.chunk().orElse(device == null ? options.engine().chunk() : setting.most());
    }

    /**
     * Rows of a pass on the processor when it reads experts from files and nothing was said about their number: every pass reads nearly all of
     * them, so fewer passes are worth longer pauses for the only sequence; 0: as the options say.
     */
    static int rowsFromFiles(Options options, ExpertSource source) {
        boolean fromFiles = source instanceof TieredExpertSource tiered && tiered.rest() != null;
        return fromFiles && sizesPasses(options) && options.engine().parallel() == 1 ? ROWS_FROM_FILES : 0;
    }

    /** About what one row of a pass takes in activations and scratch memory. */
    static long rowBytes(ModelFiles files) {
        return ROW_WIDTHS * 4L * ModelConfigReader.read(files).hidden();
    }

    private static OptionalInt number(Variables variables, Variable variable) {
        OptionalLong value = variables.whole(variable);
        return value.isPresent() ? OptionalInt.of((int) value.getAsLong()) : OptionalInt.empty();
    }
}
