/// What a sealed value or a code's digest is for. Each purpose has a key of its own, so that no value can stand in for
/// one of another kind.
public struct SealingPurpose: Hashable, Sendable, CustomStringConvertible {
    /// The name that enters the key's derivation. Never changed once values exist.
    public let name: String

    /// Whether its values are opened again and again: what those of lately say is kept at hand. For secrets it is not.
    public let isOpenedOften: Bool

    /// Names a purpose.
    public init(_ name: String, isOpenedOften: Bool = false) {
        self.name = name
        self.isOpenedOften = isOpenedOften
    }

    public var description: String { self.name }
}
