/// The release of the product: of the SDK, the server and their programs.
public enum ProductRelease {
    /// The version, by Semantic Versioning. The package, `countersign --version` and the SDK's metadata have this
    /// version; no other file names it.
    public static let version = "0.1.0"
}
