package dev.strata;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Changes JSON texts at random, for tests that nothing breaks on them. */
public final class JsonBender {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private final Random random;

    public JsonBender(Random random) {
        this.random = random;
    }

    /** One to three changes of the tree, and now and then of the bytes. */
    public byte[] bent(String sample) throws IOException {
        byte[] bytes = MAPPER.writeValueAsBytes(bentTree(sample));
        if (random.nextInt(4) == 0) {
            for (int i = random.nextInt(4); i >= 0; i--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
            }
        }
        return bytes;
    }

    /** One to three changes of the tree. */
    public JsonNode bentTree(String sample) throws IOException {
        JsonNode tree = MAPPER.readTree(sample);
        for (int i = random.nextInt(3); i >= 0; i--) {
            bend(tree);
        }
        return tree;
    }

    private void bend(JsonNode tree) {
        List<JsonNode> inner = new ArrayList<>();
        collect(tree, inner);
        JsonNode chosen = inner.get(random.nextInt(inner.size()));
        if (chosen instanceof ObjectNode object && !object.isEmpty()) {
            List<String> names = new ArrayList<>();
            object.fieldNames().forEachRemaining(names::add);
            String name = names.get(random.nextInt(names.size()));
            if (random.nextInt(4) == 0) {
                object.remove(name);
            } else {
                object.set(name, value());
            }
        } else if (chosen instanceof ArrayNode array) {
            if (!array.isEmpty() && random.nextBoolean()) {
                array.remove(random.nextInt(array.size()));
            } else {
                array.add(value());
            }
        }
    }

    private static void collect(JsonNode node, List<JsonNode> inner) {
        if (node.isContainerNode()) {
            inner.add(node);
            node.forEach(child -> collect(child, inner));
        }
    }

    private JsonNode value() {
        return switch (random.nextInt(14)) {
            case 0 -> NODES.nullNode();
            case 1 -> NODES.booleanNode(random.nextBoolean());
            case 2 -> NODES.numberNode(random.nextInt());
            case 3 -> NODES.numberNode(random.nextLong());
            case 4 -> NODES.numberNode(random.nextDouble());
            case 5 -> NODES.numberNode(1e308 * random.nextDouble());
            case 6 -> NODES.textNode("");
            case 7 -> NODES.textNode("none");
            case 8 -> NODES.textNode("x\u0000\uFFFF\uD83D\uDE00".repeat(random.nextInt(20)));
            case 9 -> NODES.arrayNode();
            case 10 -> NODES.objectNode();
            case 11 -> NODES.arrayNode().add(NODES.arrayNode().add(1)).add("x");
            case 12 -> NODES.objectNode().put("type", "function").put("text", 5);
            default -> deep(random.nextInt(150));
        };
    }

    private static JsonNode deep(int levels) {
        JsonNode node = NODES.numberNode(1);
        for (int i = 0; i < levels; i++) {
            node = NODES.arrayNode().add(node);
        }
        return node;
    }
}
