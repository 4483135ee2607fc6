package dev.strata.engine;

import dev.strata.config.Options;
import dev.strata.config.Variable;
import dev.strata.config.Variables;
import dev.strata.expert.PinSetting;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One setting of the prompt path that is compared with others: how much of the arena is pinned, and how the stager is sized.
 *
 * @param pin value of {@code STRATA_ARENA_PIN_GIB}; {@code 0} is all
 * @param sizing {@code old}, {@code reference}, {@code reference8} or {@code pieces}
 */
public record PromptArm(String pinned, String sizing) {
    private static final List<String> SIZINGS = List.of("old", "reference", "reference8", "pieces");

    public PromptArm {
        if (!SIZINGS.contains(sizing)) {
            throw new IllegalArgumentException(
                    "an arm's sizing is one of " + String.join(", ", SIZINGS) + ", not " + sizing);
        }
        PinSetting.parse(pinned);
    }

    /** All arms, or those named {@code pin/sizing} in a list such as {@code none/pieces,8/old,0/old}. */
    public static List<PromptArm> parse(String text) {
        List<PromptArm> arms = new ArrayList<>();
        if (text.equals("all")) {
            for (String pin : List.of("none", "8")) {
                for (String sizing : SIZINGS) {
                    arms.add(new PromptArm(pin, sizing));
                }
            }
            arms.add(new PromptArm("0", "pieces"));
            return arms;
        }
        for (String name : text.split(",")) {
            String[] parts = name.strip().split("/");
            if (parts.length != 2) {
                throw new IllegalArgumentException("an arm is written as pin/sizing, such as none/pieces, not " + name);
            }
            arms.add(new PromptArm(parts[0], parts[1]));
        }
        return arms;
    }

    public String name() {
        return (pinned.equals("0") ? "all" : pinned) + "/" + sizing;
    }

    PinSetting pin() {
        return PinSetting.parse(pinned);
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
        Variables variables = options.variables();
        for (Map.Entry<Variable, String> one : set.entrySet()) {
            variables = variables.with(one.getKey(), one.getValue());
        }
        return options.withVariables(variables);
    }
}
