/// The release that this program is of.
enum ProgramRelease {
    /// As `countersign --version` and the metrics say it.
    static let version = "0.1.0"
}
