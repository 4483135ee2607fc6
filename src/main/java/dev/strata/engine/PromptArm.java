package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.config.TierOptions;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.expert.PinSetting;
import dev.strata.prefill.ChunkSetting;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One setting of the prompt path that is compared with others, written {@code PIN/SIZING[@CHUNK][+KEY[=N]...]}: how much of the arena is
 * pinned, how the stager is sized, and what differs besides.
 *
 * @param pinned value of {@code STRATA_ARENA_PIN_GIB}; {@code 0} is all
 * @param sizing {@code old}, {@code reference}, {@code reference8} or {@code pieces}
 * @param chunk tokens of a pass, 0 as the options say
 * @param settings numbers by key: {@code ring}, {@code threads}, {@code buffers}, {@code batch}, {@code ahead}, {@code slots}, {@code cpushare}, {@code timing} and
 *     {@code resident}, which keeps all experts on the card so that only the products count
 */
public record PromptArm(String pinned, String sizing, int chunk, Map<String, Integer> settings) {
    private static final List<String> SIZINGS = List.of("old", "reference", "reference8", "pieces");
    private static final Map<String, Variable> VARIABLES = Map.of(
            "ring", Variable.PREFILL_RING,
            "threads", Variable.STAGER_THREADS,
            "buffers", Variable.STAGER_RING,
            "batch", Variable.STAGER_BATCH,
            "ahead", Variable.STAGER_AHEAD,
            "cpushare", Variable.PREFILL_CPU_SHARE,
            "timing", Variable.PREFILL_TIMING);

    public PromptArm {
        if (!SIZINGS.contains(sizing)) {
            throw new IllegalArgumentException(
                    "an arm's sizing is one of " + String.join(", ", SIZINGS) + ", not " + sizing);
        }
        PinSetting.parse(pinned);
        if (chunk != 0) {
            ChunkSetting.parse(Integer.toString(chunk), ChunkSetting.AUTO_MOST);
        }
        for (String key : settings.keySet()) {
            if (!VARIABLES.containsKey(key) && !key.equals("slots") && !key.equals("resident")) {
                throw new IllegalArgumentException("an arm has no setting " + key
                        + ": it has ring, threads, buffers, batch, ahead, slots, cpushare, timing and resident");
            }
        }
        settings = new LinkedHashMap<>(settings);
    }

    public PromptArm(String pinned, String sizing) {
        this(pinned, sizing, 0, Map.of());
    }

    /** All arms of the table, or of the identity check, or those in a list such as {@code none/pieces,8/old,0/pieces@32768+timing}. */
    public static List<PromptArm> parse(String text) {
        return switch (text) {
            case "all" -> table();
            case "identity" -> identity();
            default -> {
                List<PromptArm> arms = new ArrayList<>();
                for (String name : text.split(",")) {
                    arms.add(one(name.strip()));
                }
                yield arms;
            }
        };
    }

    private static List<PromptArm> table() {
        List<PromptArm> arms = new ArrayList<>();
        for (String pin : List.of("none", "8")) {
            for (String sizing : SIZINGS) {
                arms.add(new PromptArm(pin, sizing));
            }
        }
        arms.add(new PromptArm("0", "pieces"));
        return arms;
    }

    /** Settings that must not change what is computed: the table's, and other rings, threads, buffers, batches, chunks and caches. */
    private static List<PromptArm> identity() {
        List<PromptArm> arms = table();
        arms.addAll(parse("none/pieces+ring=96,none/pieces+ring=777,0/pieces+ring=500,none/pieces+threads=1+buffers=3,"
                + "none/reference+threads=3+buffers=5+ring=200,8/pieces+threads=7+buffers=16+ahead=64,none/old+batch=4,"
                + "none/pieces@2048,none/pieces@32768,0/pieces@32768,0/pieces+slots=1500"));
        return arms;
    }

    private static PromptArm one(String name) {
        String[] parts = name.split("\\+");
        String[] head = parts[0].split("@");
        String[] pin = head[0].split("/");
        if (pin.length != 2 || head.length > 2) {
            throw new IllegalArgumentException(
                    "an arm is written as pin/sizing, pin/sizing@chunk or pin/sizing+ring=96, not " + name);
        }
        Map<String, Integer> settings = new LinkedHashMap<>();
        for (int i = 1; i < parts.length; i++) {
            String[] setting = parts[i].split("=");
            settings.put(setting[0], setting.length == 1 ? 1 : Integer.parseInt(setting[1]));
        }
        return new PromptArm(pin[0], pin[1], head.length == 2 ? Integer.parseInt(head[1]) : 0, settings);
    }

    public String name() {
        StringBuilder name = new StringBuilder(pinned.equals("0") ? "all" : pinned)
                .append('/')
                .append(sizing);
        if (chunk != 0) {
            name.append('@').append(chunk);
        }
        settings.forEach((key, value) -> {
            if (!key.equals("timing")) {
                name.append('+').append(key).append(key.equals("resident") ? "" : "=" + value);
            }
        });
        return name.toString();
    }

    PinSetting pin() {
        return PinSetting.parse(pinned);
    }

    /** Whether all experts stay on the card. */
    boolean resident() {
        return settings.containsKey("resident");
    }

    /** Whether the arm changes nothing but pinning, sizing and chunk. */
    boolean plain() {
        return settings.keySet().stream().allMatch(key -> key.equals("timing"));
    }

    /** The options with this arm's variables. */
    Options apply(Options options) {
        Map<Variable, String> set = new LinkedHashMap<>();
        set.put(Variable.ARENA_PIN_GIB, pinned);
        switch (sizing) {
            case "old" -> set.put(Variable.STAGE_RESIDENT, "0");
            case "reference" -> set.put(Variable.STAGER_SIZING, "reference");
            case "reference8" -> {
                set.put(Variable.STAGER_SIZING, "reference");
                set.put(Variable.STAGER_THREADS, "8");
            }
            default -> set.put(Variable.STAGER_SIZING, "pieces");
        }
        settings.forEach((key, value) -> {
            Variable variable = VARIABLES.get(key);
            if (variable != null) {
                set.put(variable, Integer.toString(value));
            }
        });
        Variables variables = options.variables();
        for (Map.Entry<Variable, String> one : set.entrySet()) {
            variables = variables.with(one.getKey(), one.getValue());
        }
        TierOptions tiers = options.tiers();
        if (chunk != 0) {
            tiers = tiers.withPrefill(Integer.toString(chunk));
        }
        Integer slots = settings.get("slots");
        if (slots != null || resident()) {
            tiers = tiers.withCacheSlots(slots == null ? -1 : slots);
        }
        return options.withVariables(variables).withTiers(tiers);
    }
}
