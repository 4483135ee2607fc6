package dev.strata.chat.template;

/**
 * The value of a name, attribute or item that is not there. It prints as nothing, is false and empty; anything else done with it is an error.
 *
 * @param what said in that error, such as "'name' is undefined"
 */
record Undefined(String what) {
    TemplateException error() {
        return new TemplateException(what);
    }
}
