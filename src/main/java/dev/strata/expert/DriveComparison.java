package dev.strata.expert;

import dev.strata.metrics.Median;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;

/**
 * Rates of reads beside what their drive gives alone. That drifts within seconds, so both take turns, and every rate is compared with the
 * mean of the drive's right before and behind it.
 */
public final class DriveComparison {
    private final DoubleSupplier drive;
    private final List<Double> neighbours = new ArrayList<>();
    private final List<Double> ratios = new ArrayList<>();
    private double before;

    private DriveComparison(DoubleSupplier drive) {
        this.drive = drive;
        before = drive.getAsDouble();
    }

    /** Measures the drive for the first time; {@code drive} gives bytes a second. */
    public static DriveComparison start(DoubleSupplier drive) {
        return new DriveComparison(drive);
    }

    /** The work that has just ended had this rate; measures the drive behind it. */
    public void add(double rate) {
        double behind = drive.getAsDouble();
        double alone = (before + behind) / 2;
        neighbours.add(alone);
        ratios.add(rate / alone);
        before = behind;
    }

    /** What the drive gave alone, the median of all neighbours. */
    public double alone() {
        return Median.of(neighbours);
    }

    /** Share of the drive's rate that the work had, the median. */
    public double share() {
        return Median.of(ratios);
    }

    /** The least of the shares. */
    public double least() {
        return ratios.stream().mapToDouble(Double::doubleValue).min().orElse(0);
    }

    /** The largest of the shares. */
    public double most() {
        return ratios.stream().mapToDouble(Double::doubleValue).max().orElse(0);
    }
}
