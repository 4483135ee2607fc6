package dev.strata.format;

/** Values of stored tensors. */
public final class TensorValues {
    private TensorValues() {}

    /** All values of a tensor, which has to be there. */
    public static float[] floats(ModelFiles files, String name) {
        TensorEntry tensor = files.find(name).orElseThrow();
        float[] values = new float[Math.toIntExact(tensor.elements())];
        Quants.decode(tensor.type(), files.data(tensor), 0, values, 0, values.length);
        return values;
    }
}
