package dev.strata.format.convert;

import dev.strata.format.ModelFiles;
import dev.strata.format.ModelFormatException;
import dev.strata.format.QuantType;
import dev.strata.format.TensorRole;
import dev.strata.format.gguf.GgufTensor;
import dev.strata.format.gguf.GgufValue;
import dev.strata.format.gguf.GgufWriter;
import dev.strata.format.gguf.TensorSink;
import dev.strata.format.pack.PackLayout;
import dev.strata.format.pack.PackSink;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A planned conversion with the type of each tensor decided: what {@link #run} will write. */
public final class Conversion {
    /** One tensor of the result; with factors where its type needs some beside it. */
    public static final class Item {
        private final OutputTensor source;
        private final GgufTensor target;
        private final Optional<Factors.Chosen> factors;

        private Item(OutputTensor source, GgufTensor target, Optional<Factors.Chosen> factors) {
            this.source = source;
            this.target = target;
            this.factors = factors;
        }

        public OutputTensor source() {
            return source;
        }

        public GgufTensor target() {
            return target;
        }
    }

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
        if (PackLayout.isPack(files.metadata())) {
            throw new ModelFormatException(files.path()
                    + ": is a pack, whose experts cannot be taken apart again; convert the model it was made from");
        }
        ConversionPlan plan =
                files.container() == ModelFiles.Container.GGUF ? GgufPlan.of(files) : HuggingFacePlan.of(files);
        return of(plan, types);
    }

    /** A plan with the types chosen. */
    public static Conversion of(ConversionPlan plan, TypePlan types) {
        List<Item> items = new ArrayList<>();
        for (OutputTensor tensor : plan.tensors()) {
            QuantType type = types.choose(tensor, tensor.rows().storedType());
            GgufTensor target = new GgufTensor(tensor.name(), type, tensor.shape());
            if (type == QuantType.NVFP4) {
                int slices = tensor.shape().size() == 3
                        ? Math.toIntExact(tensor.shape().getFirst())
                        : 1;
                Factors.Chosen factors = new Factors.Chosen(tensor.rows(), slices);
                items.add(new Item(tensor, target, Optional.of(factors)));
                items.add(factorItem(tensor, factors));
            } else {
                items.add(new Item(tensor, target, Optional.empty()));
            }
        }
        return new Conversion(plan, items);
    }

    /** The factors beside an NVFP4 tensor, one for each expert or one for all; worked out when they are written. */
    private static Item factorItem(OutputTensor tensor, Factors.Chosen factors) {
        String name = tensor.name().replaceFirst("\\.weight$", "") + ".scale";
        int slices = factors.slices();
        Rows rows = new Rows.Derived(
                1, slices, QuantType.F32, (row, target, at) -> System.arraycopy(factors.get(), 0, target, at, slices));
        OutputTensor scale = new OutputTensor(name, List.of((long) slices), rows, TensorRole.PARAMETER, tensor.draft());
        return new Item(scale, new GgufTensor(name, QuantType.F32, scale.shape()), Optional.empty());
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
        try (GgufWriter writer = GgufWriter.create(target, overwrite, metadata(), targets())) {
            encode(writer, threads, progress);
            writer.commit();
        }
    }

    /**
     * Writes the model as a pack: everything that belongs to an expert together, each expert on a border of its own.
     *
     * @throws java.nio.file.FileAlreadyExistsException when the target is there and {@code overwrite} is not set
     */
    public void pack(Path target, boolean overwrite, int threads, Progress progress) throws IOException {
        PackLayout layout = PackLayout.of(targets());
        Map<String, GgufValue> metadata = metadata();
        metadata.putAll(layout.metadata());
        try (GgufWriter writer = GgufWriter.create(target, overwrite, metadata, layout.stored())) {
            encode(new PackSink(layout, writer), threads, progress);
            writer.commit();
        }
    }

    private Map<String, GgufValue> metadata() {
        Map<String, GgufValue> metadata = new LinkedHashMap<>(plan.metadata());
        FileTypes.of(items).ifPresent(type -> metadata.put("general.file_type", GgufValue.uint32(type)));
        return metadata;
    }

    private List<GgufTensor> targets() {
        return items.stream().map(Item::target).toList();
    }

    private void encode(TensorSink sink, int threads, Progress progress) throws IOException {
        try (TensorEncoder encoder = new TensorEncoder(sink, threads, progress)) {
            for (int i = 0; i < items.size(); i++) {
                Item item = items.get(i);
                Rows rows = item.source.rows();
                encoder.encode(
                        i,
                        item.factors
                                .map(factors -> Factors.removed(rows, factors.get()))
                                .orElse(rows));
            }
            encoder.finish();
        }
    }
}
