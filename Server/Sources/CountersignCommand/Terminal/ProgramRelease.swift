/// The release of this program.
enum ProgramRelease {
    /// The release in `countersign --version` and in the metrics.
    static let version = "0.1.0"
}
