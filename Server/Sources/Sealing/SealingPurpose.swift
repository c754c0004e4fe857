/// The purpose of a sealed value or of a code's digest. Each purpose has a key of its own, so that no value can take
/// the place of a value of another purpose.
public struct SealingPurpose: Hashable, Sendable, CustomStringConvertible {
    /// The name that enters the key's derivation. The name never changes once values exist.
    public let name: String

    /// `true` if the purpose's values are opened again and again. Then the plaintext of recently opened values is kept
    /// in memory. The flag is `false` for secrets.
    public let isOpenedOften: Bool

    /// Makes a purpose with a name.
    public init(_ name: String, isOpenedOften: Bool = false) {
        self.name = name
        self.isOpenedOften = isOpenedOften
    }

    public var description: String { self.name }
}
