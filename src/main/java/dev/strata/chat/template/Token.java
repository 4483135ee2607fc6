package dev.strata.chat.template;

/**
 * A piece of template source.
 *
 * @param value the text of DATA, NAME, OPERATOR and STRING (unescaped); a Long or Double for NUMBER
 */
record Token(Kind kind, Object value, int line) {
    enum Kind {
        DATA,
        PRINT_BEGIN,
        PRINT_END,
        BLOCK_BEGIN,
        BLOCK_END,
        NAME,
        STRING,
        NUMBER,
        OPERATOR,
        END
    }

    boolean is(Kind wanted, String text) {
        return kind == wanted && value.equals(text);
    }

    boolean isOperator(String text) {
        return is(Kind.OPERATOR, text);
    }

    boolean isName(String text) {
        return is(Kind.NAME, text);
    }

    String describe() {
        return switch (kind) {
            case END -> "the end of the template";
            case DATA -> "text";
            case PRINT_BEGIN -> "'{{'";
            case PRINT_END -> "'}}'";
            case BLOCK_BEGIN -> "'{%'";
            case BLOCK_END -> "'%}'";
            case STRING -> "a string";
            case NAME, NUMBER, OPERATOR -> "'" + value + "'";
        };
    }
}
