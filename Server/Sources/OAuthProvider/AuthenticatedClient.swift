/// A client that has proved who it is.
public struct AuthenticatedClient: Sendable, Equatable {
    public let id: String
    /// What people are shown: its name.
    public let name: String
    /// Scheme, host and port of its first redirect address: what people are shown.
    public let origin: String
    /// Whether it may have people's keys deleted.
    public let mayDeregister: Bool
}
