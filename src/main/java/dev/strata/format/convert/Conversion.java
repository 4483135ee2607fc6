package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.QuantType;
import dev.strata.format.gguf.GgufTensor;
import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufWriter;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A planned conversion with the type of each tensor decided: what {@link #run} will write. */
public final class Conversion {
    /** One tensor of the result. */
    public record Item(OutputTensor source, GgufTensor target) {}

    private final ConversionPlan plan;
    private final List<Item> items;

    private Conversion(ConversionPlan plan, List<Item> items) {
        this.plan = plan;
        this.items = items;
    }

    /**
     * Plans the conversion of an open model.
     *
     * @throws dev.strata.format.ModelFormatException when it is of an unknown family or incomplete
     */
    public static Conversion of(ModelFiles files, TypePlan types) {
        ConversionPlan plan =
                files.container() == ModelFiles.Container.GGUF ? GgufPlan.of(files) : HuggingFacePlan.of(files);
        List<Item> items = new ArrayList<>();
        for (OutputTensor tensor : plan.tensors()) {
            QuantType type = types.choose(tensor, tensor.rows().storedType());
            items.add(new Item(tensor, new GgufTensor(tensor.name(), type, tensor.shape())));
        }
        return new Conversion(plan, items);
    }

    public ConversionPlan plan() {
        return plan;
    }

    public List<Item> items() {
        return items;
    }

    /** Bytes of tensor data that will be written. */
    public long bytes() {
        return items.stream().mapToLong(item -> item.target.bytes()).sum();
    }

    /** Told how many bytes of tensor data have been written. Any thread may call it. */
    @FunctionalInterface
    public interface Progress {
        void written(long bytes, String tensor);
    }

    /**
     * Writes the model.
     *
     * @throws java.nio.file.FileAlreadyExistsException when the target is there and {@code overwrite} is not set
     */
    public void run(Path target, boolean overwrite, int threads, Progress progress) throws IOException {
        Map<String, GgufValue> metadata = new LinkedHashMap<>(plan.metadata());
        FileTypes.of(items).ifPresent(type -> metadata.put("general.file_type", GgufValue.uint32(type)));
        List<GgufTensor> tensors = items.stream().map(Item::target).toList();
        try (GgufWriter writer = GgufWriter.create(target, overwrite, metadata, tensors);
                TensorEncoder encoder = new TensorEncoder(writer, threads, progress)) {
            for (int i = 0; i < items.size(); i++) {
                encoder.encode(i, items.get(i).source.rows());
            }
            encoder.finish();
            writer.commit();
        }
    }
}
