/// The operator's terms of use in force.
public struct Terms: Sendable, Equatable {
    /// A word for this version. Another word means other terms.
    public let version: String
    /// The address where people read the terms.
    public let address: String

    /// Creates terms from their version and address.
    public init(version: String, address: String) {
        self.version = version
        self.address = address
    }
}
