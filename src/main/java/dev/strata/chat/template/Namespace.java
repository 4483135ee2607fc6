package dev.strata.chat.template;

import java.util.LinkedHashMap;
import java.util.Map;

/** What namespace(...) makes: attributes that can be set from inside loops. */
record Namespace(Map<String, Object> attributes) {
    Namespace() {
        this(new LinkedHashMap<>());
    }
}
